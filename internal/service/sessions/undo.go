package sessions

import (
	"context"
	"errors"
	"time"

	"candor/db"
	"candor/internal/domain"
)

// UndoFor is how long a cancellation by staff can be undone before a worker carries it out.
const UndoFor = 10 * time.Second

// RequestCancel has an open session cancelled in UndoFor, if that isn't undone (D126). If the
// session isn't open, it returns the conflict of D12.
func (s *Service) RequestCancel(ctx context.Context, scope domain.Scope, id domain.SessionID, by domain.Actor) error {
	now := s.Clock.Now()
	err := s.DB.InTx(ctx, func(tx *db.Tx) error { return tx.RequestCancel(ctx, scope, id, by, now.Add(UndoFor), now) })
	if !errors.Is(err, db.ErrState) {
		return err
	}
	return s.conflict(ctx, scope, id, now)
}

// UndoCancel keeps a session that was to be cancelled, and reports whether that was still
// possible.
func (s *Service) UndoCancel(ctx context.Context, scope domain.Scope, id domain.SessionID) (kept bool, err error) {
	if _, err := s.Get(ctx, scope, id); err != nil {
		return false, err
	}
	err = s.DB.InTx(ctx, func(tx *db.Tx) error { return tx.DropCancel(ctx, scope, id) })
	if errors.Is(err, db.ErrState) {
		return false, nil
	}
	return err == nil, err
}
