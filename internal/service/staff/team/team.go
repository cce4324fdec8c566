// Package team holds what owners do with the staff of their account: inviting,
// changing roles and removing.
package team

import (
	"context"
	"slices"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/outbox"
	"candor/internal/service/audit"
	"candor/internal/service/staff/attempts"
)

// Config is what teams need.
type Config struct {
	DB       *db.DB
	Clock    domain.Clock
	Outbox   *outbox.Outbox
	Audit    *audit.Service
	Attempts *attempts.Service
}

// Service holds the use cases of teams. It is safe for concurrent use.
type Service struct{ Config }

// New returns a Service.
func New(c Config) *Service { return &Service{c} }

var (
	errNoMember     = domain.Errorf(domain.CodeNotFound, "There is no one with this id in the team.")
	errLastOwner    = domain.Breaks(domain.CodeValidation, "role", form.Rule{Code: "last_owner"})
	errLastPassword = domain.Breaks(domain.CodeValidation, "role", form.Rule{Code: "last_password"})
	errOneself      = domain.Breaks(domain.CodeValidation, "role", form.Rule{Code: "oneself"})
)

// List lists an account's staff users, by name.
func (s *Service) List(ctx context.Context, account domain.AccountID) ([]domain.TeamMember, error) {
	return s.DB.Team(ctx, account)
}

// ChangeRole changes what a staff user may do, at once; mayDownload is looked
// at for support alone. Errors: validation_error on role, also for the last
// owner, not_found. The open invitations of a user who may no longer manage the
// account end.
func (s *Service) ChangeRole(ctx context.Context, account domain.AccountID, by domain.Actor, id domain.StaffID, role domain.Role,
	mayDownload bool) error {
	mayDownload = mayDownload && role == domain.RoleSupport
	return s.changeTeam(ctx, account, id, func(tx *db.Tx, member *domain.Staff) error {
		if !slices.Contains(domain.Roles, role) {
			return domain.Breaks(domain.CodeValidation, "role", form.Rule{Code: "role"})
		}
		if member.Role == role && member.MayDownload == mayDownload {
			return nil
		}
		if role != domain.RoleOwner {
			if err := keepOwner(ctx, tx, member); err != nil {
				return err
			}
		}
		if err := tx.SetRole(ctx, id, role, mayDownload); err != nil {
			return err
		}
		after := domain.Staff{Role: role, MayDownload: mayDownload}
		if !after.May(domain.ManageAccount) {
			if err := s.EndInvitationsBy(ctx, tx, by, id); err != nil {
				return err
			}
		}
		return s.Audit.Record(ctx, tx, account, by, audit.Entry{
			Action: domain.AuditRoleChanged, TargetID: id.String(), TargetName: member.Email,
			Before: audit.Rights{Role: member.Role, MayDownload: member.MayDownload}, After: audit.Rights{Role: role,
				MayDownload: mayDownload},
		})
	})
}

// Remove takes a staff user out of the team: all their sessions and open
// invitations end at once. Errors: validation_error on role for oneself and the last owner,
// not_found.
func (s *Service) Remove(ctx context.Context, account domain.AccountID, by domain.Actor, id domain.StaffID) error {
	return s.changeTeam(ctx, account, id, func(tx *db.Tx, member *domain.Staff) error {
		if by.Kind == domain.ActorStaff && by.ID == id.String() {
			return errOneself
		}
		if err := keepOwner(ctx, tx, member); err != nil {
			return err
		}
		if err := s.EndInvitationsBy(ctx, tx, by, id); err != nil {
			return err
		}
		if err := tx.DeleteStaff(ctx, id); err != nil {
			return err
		}
		return s.Audit.Record(ctx, tx, account, by, audit.Entry{
			Action: domain.AuditStaffRemoved, TargetID: id.String(), TargetName: member.Email, Before: audit.Rights{Role: member.Role,
				MayDownload: member.MayDownload},
		})
	})
}

// changeTeam locks the team and runs change on a member.
func (s *Service) changeTeam(ctx context.Context, account domain.AccountID, id domain.StaffID,
	change func(tx *db.Tx, member *domain.Staff) error) error {
	return s.DB.InTx(ctx, func(tx *db.Tx) error {
		if err := tx.LockTeam(ctx, account); err != nil {
			return db.MissingAs(err, domain.ErrAccountNotFound)
		}
		member, err := tx.TeamMember(ctx, account, id)
		if err != nil {
			return db.MissingAs(err, errNoMember)
		}
		return change(tx, member)
	})
}

// keepOwner refuses a change if the member is the last owner, or the last who keeps the
// password of an account that signs in only with its company.
func keepOwner(ctx context.Context, tx *db.Tx, member *domain.Staff) error {
	if member.Role != domain.RoleOwner {
		return nil
	}
	others, err := tx.OtherOwners(ctx, member.AccountID, member.ID)
	if err == nil && others == 0 {
		return errLastOwner
	}
	if err != nil {
		return err
	}
	keep, err := tx.BreakGlass(ctx, member.AccountID)
	if err == nil && len(keep) == 1 && keep[0] == member.ID {
		return errLastPassword
	}
	return err
}
