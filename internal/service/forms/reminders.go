package forms

import (
	"context"
	"errors"

	"candor/db"
	"candor/internal/domain"
)

// CheckReminders reports whether token is that of the link that stops a session's reminders
// (D104).
func (s *Service) CheckReminders(id domain.SessionID, token string) bool {
	return s.Ring.CheckToken(domain.ReminderSubject(id), token)
}

// StopReminders stops a session's reminders for good.
func (s *Service) StopReminders(ctx context.Context, session *domain.Session) error {
	return s.DB.InTx(ctx, func(tx *db.Tx) error { return tx.StopReminders(ctx, session, s.Clock.Now()) })
}

// RemindersStopped reports whether the customer has stopped a session's reminders.
func (s *Service) RemindersStopped(ctx context.Context, session *domain.Session) (bool, error) {
	delivery, err := s.DB.LinkDelivery(ctx, session.ID)
	if errors.Is(err, db.ErrNotFound) { // erased: none comes
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return delivery.StoppedAt != nil, nil
}

// ChooseLanguage notes the language of emails to the customer of an open session (D125).
func (s *Service) ChooseLanguage(ctx context.Context, session *domain.Session, l domain.Language) error {
	if !session.Status.Open() {
		return nil
	}
	return s.DB.ChooseLanguage(ctx, session.ID, l)
}
