package auth

import (
	"context"
	"errors"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/service/audit"
)

// Sessions returns the browsers in which the user is signed in, the
// latest first.
func (s *Service) Sessions(ctx context.Context, session *domain.StaffSession) ([]domain.StaffSession, error) {
	return s.DB.StaffSessions(ctx, session.ID, s.Clock.Now())
}

var errNoStaffSession = domain.Errorf(domain.CodeNotFound, "This browser is signed out already.")

// EndSession signs the user out in one of the user's browsers.
func (s *Service) EndSession(ctx context.Context, session *domain.StaffSession, id string, from domain.Visitor) error {
	other, err := domain.ParseStaffSessionID(id)
	if err != nil {
		return errNoStaffSession
	}
	return s.DB.InTx(ctx, func(tx *db.Tx) error {
		if err := tx.DeleteStaffSession(ctx, session.ID, other); err != nil {
			return db.MissingAs(err, errNoStaffSession)
		}
		return s.auditEnded(ctx, tx, session, 1, from)
	})
}

// EndOtherSessions signs the user out in all browsers but this one.
func (s *Service) EndOtherSessions(ctx context.Context, session *domain.StaffSession, from domain.Visitor) error {
	return s.DB.InTx(ctx, func(tx *db.Tx) error {
		n, err := tx.DeleteOtherStaffSessions(ctx, session.ID, session.SessionID)
		if err != nil || n == 0 {
			return err
		}
		return s.auditEnded(ctx, tx, session, n, from)
	})
}

func (s *Service) auditEnded(ctx context.Context, tx *db.Tx, session *domain.StaffSession, n int, from domain.Visitor) error {
	return s.Audit.Record(ctx, tx, session.AccountID, session.ActorAt(from.IPAddress), audit.Entry{
		Action: domain.AuditSessionsEnded, TargetID: session.ID.String(), TargetName: session.Email,
		Before: struct {
			Sessions int `json:"sessions"`
		}{n},
	})
}

// renewSession gives the session a new token after what its user has proven,
// forgets the attempts at it and ends all of the user's other sessions.
func (s *Service) renewSession(ctx context.Context, tx *db.Tx, session *domain.StaffSession, tokenHash []byte,
	tries db.Counter) error {
	if err := tx.ConfirmStaffSession(ctx, session.SessionID, tokenHash, s.Clock.Now()); err != nil {
		return db.MissingAs(err, domain.ErrSignedOut)
	}
	_, endErr := tx.DeleteOtherStaffSessions(ctx, session.ID, session.SessionID)
	return errors.Join(endErr, tx.ForgetAttempts(ctx, tries))
}
