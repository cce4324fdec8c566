package accounts

import (
	"context"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/form"
)

// A RetentionChange is what another retention would do to an account.
type RetentionChange struct {
	From, To int       // days after a session's end; 0: until they are erased
	EndedBy  time.Time // what ended then or before is deleted
	Sessions int       // of which something is deleted, in both modes; at most domain.CountMost
}

// retentionError is on the kind's field.
func retentionError(kind domain.RetentionKind, days int) error {
	if kind.Accepts(days) {
		return nil
	}
	least, most := kind.Bounds()
	if kind.Accepts(0) {
		return domain.Breaks(domain.CodeValidation, string(kind), form.Rule{Code: "days_or_none", Min: least, Max: most})
	}
	return domain.Breaks(domain.CodeValidation, string(kind), form.Rule{Code: form.RuleRange, Min: least, Max: most})
}

// PreviewRetention says what ChangeRetention would do now, and does nothing.
// Error: validation_error on the kind.
func (s *Service) PreviewRetention(ctx context.Context, id domain.AccountID, kind domain.RetentionKind,
	days int) (*RetentionChange, error) {
	if err := retentionError(kind, days); err != nil {
		return nil, err
	}
	account, err := s.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	from := *kind.DaysOf(account)
	change := &RetentionChange{From: from, To: days, EndedBy: s.Clock.Now().Add(-time.Duration(days) * 24 * time.Hour)}
	if days != 0 && (from == 0 || days < from) {
		change.Sessions, err = s.DB.CountRetained(ctx, id, kind, change.EndedBy, domain.CountMost)
	}
	return change, err
}

// ChangeRetention sets after how many times 24 hours something of sessions that
// ended is deleted, of stored ones too: it can't be read from then on, and the
// sweep deletes it. It takes the number that it was when someone agreed to that,
// and changes nothing and reports false if it is neither of them by now. Error:
// validation_error on the kind.
func (s *Service) ChangeRetention(ctx context.Context, id domain.AccountID, by domain.Actor, kind domain.RetentionKind, from,
	to int) (changed bool, err error) {
	if err := retentionError(kind, to); err != nil {
		return false, err
	}
	err = s.DB.InTx(ctx, func(tx *db.Tx) error {
		account, err := tx.LockAccount(ctx, id)
		if err != nil {
			return db.MissingAs(err, domain.ErrAccountNotFound)
		}
		days := kind.DaysOf(account)
		changed = *days == from || *days == to
		if !changed || *days == to {
			return nil
		}
		*days = to
		return s.updateAccount(ctx, tx, account, by, map[string]any{string(kind): from}, map[string]any{string(kind): to})
	})
	return changed && err == nil, err
}
