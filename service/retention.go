package service

import (
	"context"
	"fmt"
	"time"

	"candor/db"
	"candor/intake"
)

// SetDefaultExpiry sets how many days the links of sessions work that are made
// without a number of days, 1 to 90. Sessions that are there keep theirs.
// Error: validation_error on default_expires_in_days.
func (s *Service) SetDefaultExpiry(ctx context.Context, id intake.AccountID, by intake.Actor, days int) error {
	if err := daysError("default_expires_in_days", days, intake.MaxExpiresInDays); err != nil {
		return err
	}
	return s.DB.InTx(ctx, func(tx *db.Tx) error {
		account, err := tx.LockAccount(ctx, id)
		if err != nil {
			return orCode(err, errAccountNotFound)
		}
		before := account.DefaultExpiresInDays
		if before == days {
			return nil
		}
		account.DefaultExpiresInDays = days
		return s.updateAccount(ctx, tx, account, by, map[string]any{"default_expires_in_days": before}, map[string]any{"default_expires_in_days": days})
	})
}

func daysError(field string, days, most int) error {
	if days < 1 || days > most {
		return intake.FieldError(intake.CodeValidation, field, fmt.Sprintf("Enter a number of days from 1 to %d", most))
	}
	return nil
}

// A RetentionChange is what another retention would do to an account.
type RetentionChange struct {
	From, To  int       // days after completion
	Completed time.Time // what completed then or before is deleted
	Sessions  int       // whose PDF and documents are deleted, in both modes; at most CountMost
}

// PreviewRetention says what ChangeRetention would do now, and does nothing.
// Error: validation_error on retention_days.
func (s *Service) PreviewRetention(ctx context.Context, id intake.AccountID, days int) (*RetentionChange, error) {
	if err := daysError("retention_days", days, intake.MaxRetentionDays); err != nil {
		return nil, err
	}
	account, err := s.Account(ctx, id)
	if err != nil {
		return nil, err
	}
	change := &RetentionChange{From: account.RetentionDays, To: days, Completed: s.Clock.Now().Add(-time.Duration(days) * 24 * time.Hour)}
	if days < account.RetentionDays {
		change.Sessions, err = s.DB.CountRetained(ctx, id, change.Completed, CountMost)
	}
	return change, err
}

// ChangeRetention sets after how many times 24 hours the PDFs and documents of
// completed sessions are deleted, 1 to 90, stored ones too: they can't be had
// any more at once, and retention deletes them. It takes the number that it
// was when someone agreed to that, and changes nothing and reports false where
// it is another by now. Error: validation_error on retention_days.
func (s *Service) ChangeRetention(ctx context.Context, id intake.AccountID, by intake.Actor, from, to int) (changed bool, err error) {
	if err := daysError("retention_days", to, intake.MaxRetentionDays); err != nil {
		return false, err
	}
	err = s.DB.InTx(ctx, func(tx *db.Tx) error {
		account, err := tx.LockAccount(ctx, id)
		if err != nil {
			return orCode(err, errAccountNotFound)
		}
		if changed = account.RetentionDays == from; !changed || from == to {
			return nil
		}
		account.RetentionDays = to
		return s.updateAccount(ctx, tx, account, by, map[string]any{"retention_days": from}, map[string]any{"retention_days": to})
	})
	return changed && err == nil, err
}
