package team

import (
	"context"
	"errors"
	"slices"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/service/audit"
	"candor/internal/service/staff/attempts"
)

// AskForAccess emails the account's owners that the staff user asks for what the
// capability opens, once in 24 hours (D136); false if that was asked already. Error:
// forbidden for what isn't refused to the user.
func (s *Service) AskForAccess(ctx context.Context, staff *domain.StaffSession, by domain.Actor,
	wanted domain.Capability) (bool, error) {
	if !slices.Contains(domain.Capabilities, wanted) || staff.May(wanted) {
		return false, domain.Errorf(domain.CodeForbidden, "You can’t ask for this here. Open the page that you need, and ask there.")
	}
	team, err := s.List(ctx, staff.AccountID)
	if err != nil {
		return false, err
	}
	now := s.Clock.Now()
	err = s.DB.InTx(ctx, func(tx *db.Tx) error {
		if err := tx.CountAttempt(ctx, now, asking(staff, wanted)); err != nil {
			return err
		}
		for _, member := range team {
			if member.Role != domain.RoleOwner {
				continue
			}
			if err := s.Outbox.AccessEmail(ctx, tx, member.ID, staff.ID, wanted); err != nil {
				return err
			}
		}
		return s.Audit.Record(ctx, tx, staff.AccountID, by, audit.Entry{
			Action: domain.AuditAccessAsked, TargetID: staff.ID.String(), TargetName: staff.Email,
			After: map[string]string{"for": wanted.Words()},
		})
	})
	if _, refused := errors.AsType[*db.RefusedAttempt](err); refused {
		return false, nil
	}
	return err == nil, err
}

// HasAsked reports whether the staff user asked for it in the last 24 hours.
func (s *Service) HasAsked(ctx context.Context, staff *domain.StaffSession, wanted domain.Capability) (bool, error) {
	free, err := s.DB.Admits(ctx, s.Clock.Now(), asking(staff, wanted))
	return !free && err == nil, err
}

func asking(staff *domain.StaffSession, wanted domain.Capability) db.Counter {
	once := attempts.Counter(1, "access", staff.ID.String(), string(wanted))
	once.Window = 24 * time.Hour
	return once
}
