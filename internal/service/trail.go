package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/platform/keyring"
)

// SessionSlice is one screen of a list of sessions.
type SessionSlice struct {
	Sessions []domain.Session
	Total    int  // of the whole list
	OrMore   bool // than Total: it was counted no further
	More     bool // older ones follow
}

// SessionsBefore returns limit of the scope's sessions that match the filter,
// newest first, from the one after the session of that id on; nil for the
// newest. Error: session_not_found for an unknown one.
func (s *Service) SessionsBefore(ctx context.Context, scope domain.Scope, f domain.SessionFilter, before *domain.SessionID, limit int) (*SessionSlice, error) {
	var last *domain.Session
	if before != nil {
		var err error
		if last, err = s.Session(ctx, scope, *before); err != nil {
			return nil, err
		}
	}
	now := s.Clock.Now()
	sessions, err := s.DB.SessionsBefore(ctx, scope, f, last, limit+1, now)
	if err != nil {
		return nil, err
	}
	slice := &SessionSlice{Sessions: sessions[:min(limit, len(sessions))], Total: len(sessions), More: len(sessions) > limit}
	if slice.More || before != nil {
		slice.Total, err = s.DB.CountSessions(ctx, scope, f, now, CountMost)
		slice.OrMore = slice.Total == CountMost && !f.Counted()
	}
	return slice, err
}

// exportPage is how many sessions an export reads at once.
const exportPage = 1000

// ExportSessions calls row for each of the scope's sessions that match the
// filter, newest first, however many they are. What is created meanwhile isn't
// among them.
func (s *Service) ExportSessions(ctx context.Context, scope domain.Scope, f domain.SessionFilter, by domain.Actor, row func(*domain.Session) error) error {
	err := s.DB.InTx(ctx, func(tx *db.Tx) error {
		return s.audit(ctx, tx, scope.AccountID, by, deed{
			Action: domain.AuditSessionsExported, Livemode: &scope.Livemode, TargetID: scope.AccountID.String(), TargetName: "sessions",
		})
	})
	if err != nil {
		return err
	}
	var last *domain.Session
	for {
		page, err := s.DB.SessionsBefore(ctx, scope, f, last, exportPage, s.Clock.Now())
		if err != nil {
			return err
		}
		for i := range page {
			if err := row(&page[i]); err != nil {
				return err
			}
		}
		if len(page) < exportPage {
			return nil
		}
		last = &page[len(page)-1]
	}
}

// CreateSessionByHand makes a session for a staff user, as CreateSession does
// for a key.
func (s *Service) CreateSessionByHand(ctx context.Context, scope domain.Scope, wish domain.NewSession) (created *domain.Session, err error) {
	wish.FormType = domain.FinancialStatement
	err = s.DB.InTx(ctx, func(tx *db.Tx) error {
		if created, err = s.CreateSession(ctx, tx, scope, wish); err != nil {
			return err
		}
		return s.audit(ctx, tx, scope.AccountID, wish.By, sessionDeed(domain.AuditSessionCreated, created))
	})
	return created, err
}

// ExtendSession lets an open session's link work for that many times 24 hours
// from now, 1 to 90. Errors: validation_error on days, the conflict of a
// session that isn't open, session_not_found.
func (s *Service) ExtendSession(ctx context.Context, scope domain.Scope, id domain.SessionID, days int, by domain.Actor) (*domain.Session, error) {
	session, err := s.Session(ctx, scope, id)
	if err != nil {
		return nil, err
	}
	now := s.Clock.Now()
	to := now.Add(time.Duration(days) * 24 * time.Hour)
	switch {
	case session.Conflict(now) != nil:
		return nil, session.Conflict(now)
	case days < 1 || days > domain.MaxExpiresInDays:
		return nil, domain.FieldError(domain.CodeValidation, "days", fmt.Sprintf("Enter a number of days from 1 to %d", domain.MaxExpiresInDays))
	case !to.After(session.ExpiresAt):
		return nil, domain.FieldError(domain.CodeValidation, "days", "The link works longer than that already")
	}
	var extended *domain.Session
	err = s.DB.InTx(ctx, func(tx *db.Tx) error {
		if extended, err = tx.ExtendSession(ctx, scope, id, to, now); err != nil {
			return err
		}
		d := sessionDeed(domain.AuditSessionExtended, extended)
		d.Before, d.After = map[string]time.Time{"expires_at": session.ExpiresAt}, map[string]time.Time{"expires_at": to}
		return s.audit(ctx, tx, scope.AccountID, by, d)
	})
	if errors.Is(err, db.ErrState) { // it was closed or extended meanwhile
		return s.Session(ctx, scope, id)
	}
	return extended, err
}

// SessionTrail is all that happened to a session.
type SessionTrail struct {
	Session    *domain.Session // its status as it is now
	Events     []domain.Event
	Deliveries []domain.Delivery
	Audit      []domain.AuditEntry // who read or changed it, the latest first
	Documents  []domain.Document
	Retained   bool       // PDF and documents are still to be had
	DataUntil  *time.Time // when retention erases what was entered; nil: never, or not known yet
	DataGone   bool       // what was entered is erased, or as good as that
}

// maxTrail is how many reads and changes of a session are shown.
const maxTrail = 200

// SessionTrail returns all that happened to a session of the scope, or
// session_not_found.
func (s *Service) SessionTrail(ctx context.Context, scope domain.Scope, id domain.SessionID) (*SessionTrail, error) {
	session, err := s.Session(ctx, scope, id)
	if err != nil {
		return nil, err
	}
	trail := &SessionTrail{Session: session}
	account, err := s.Account(ctx, scope.AccountID)
	if err != nil {
		return nil, err
	}
	now := s.Clock.Now()
	trail.Retained = session.Retained(now, account.Retention())
	trail.DataUntil, trail.DataGone = session.DataKeptUntil(account, now), session.DataGone(account, now)
	// Deliveries first: the events they are of are then among the events.
	if trail.Deliveries, err = s.DB.Deliveries(ctx, id); err != nil {
		return nil, err
	}
	if trail.Events, err = s.DB.Events(ctx, id); err != nil {
		return nil, err
	}
	if trail.Audit, err = s.DB.AuditOf(ctx, scope.AccountID, id.String(), maxTrail); err != nil {
		return nil, err
	}
	if trail.DataGone {
		return trail, nil
	}
	trail.Documents, err = s.Vault.Documents(ctx, s.DB, id)
	if errors.Is(err, keyring.ErrSealed) { // the rest of the page is still of use
		s.Logger.ErrorContext(ctx, "names of documents can't be opened", "session_id", id, "error", err)
		trail.Documents, err = s.DB.Documents(ctx, id)
		for i := range trail.Documents {
			trail.Documents[i].FileName = "A document whose name can’t be read now"
		}
	}
	return trail, err
}
