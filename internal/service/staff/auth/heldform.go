package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/platform/keyring"
)

// heldForms is how many forms of one staff session wait for the password: one
// for each of a few tabs.
const heldForms = 5

var errNoHeldForm = domain.Errorf(domain.CodeNotFound, "This request has expired or was cancelled. Nothing was done.")

// HoldForm keeps a form for domain.HeldFormLife, until the user of the session
// has typed the password, and sets its ID. A session keeps its newest few.
func (s *Service) HoldForm(ctx context.Context, session *domain.StaffSession, f *domain.HeldForm) error {
	f.ID = domain.NewHeldFormID()
	f.ExpiresAt = s.Clock.Now().Add(domain.HeldFormLife)
	plain, err := json.Marshal(f)
	if err != nil {
		return fmt.Errorf("auth: held form: %w", err)
	}
	sealed := s.Ring.Seal(f.SealOwner(session.SessionID), plain)
	err = s.DB.InTx(ctx, func(tx *db.Tx) error {
		return tx.HoldForm(ctx, f.ID, session.SessionID, sealed, f.ExpiresAt, heldForms)
	})
	return db.MissingAs(err, domain.ErrSignedOut)
}

// HeldForm returns a form that the session holds. Returns not_found if it has
// expired, was cancelled, or belongs to another session.
func (s *Service) HeldForm(ctx context.Context, session *domain.StaffSession, id string) (*domain.HeldForm, error) {
	parsed, err := domain.ParseHeldFormID(id)
	if err != nil {
		return nil, errNoHeldForm
	}
	sealed, expires, err := s.DB.HeldForm(ctx, parsed, session.SessionID, s.Clock.Now())
	if err != nil {
		return nil, db.MissingAs(err, errNoHeldForm)
	}
	f := &domain.HeldForm{ID: parsed, ExpiresAt: expires, Done: sealed == nil}
	if f.Done {
		return f, nil
	}
	return f, s.openHeldForm(session, sealed, f)
}

// TakeHeldForm returns a form that the session holds, once: later calls return
// not_found.
func (s *Service) TakeHeldForm(ctx context.Context, session *domain.StaffSession, id domain.HeldFormID) (*domain.HeldForm,
	error) {
	sealed, err := s.DB.TakeHeldForm(ctx, id, session.SessionID, s.Clock.Now())
	if err != nil {
		return nil, db.MissingAs(err, errNoHeldForm)
	}
	f := &domain.HeldForm{ID: id}
	return f, s.openHeldForm(session, sealed, f)
}

// CancelHeldForm forgets a form that the session holds. It is no error if there
// is none.
func (s *Service) CancelHeldForm(ctx context.Context, session *domain.StaffSession, id string) error {
	parsed, err := domain.ParseHeldFormID(id)
	if err != nil {
		return nil
	}
	return s.DB.DropHeldForm(ctx, parsed, session.SessionID)
}

// openHeldForm fills in what was sealed. A form whose key was retired is gone.
func (s *Service) openHeldForm(session *domain.StaffSession, sealed []byte, f *domain.HeldForm) error {
	plain, err := s.Ring.Open(f.SealOwner(session.SessionID), sealed)
	if errors.Is(err, keyring.ErrSealed) {
		return errNoHeldForm
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(plain, f); err != nil {
		return fmt.Errorf("auth: held form: %w", err)
	}
	return nil
}
