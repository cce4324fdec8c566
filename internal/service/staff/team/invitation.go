package team

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service/audit"
	"candor/internal/service/staff/attempts"
)

// InvitationParams are who is invited, and as what.
type InvitationParams struct {
	Email       string
	Role        domain.Role
	MayDownload bool // of support
}

// Invite sends an invitation to the account's team by email. An earlier invitation
// to the same address ends. The caller doesn't learn whether the address is in
// another account's team. Errors: validation_error by field email or role,
// rate_limit_exceeded.
func (s *Service) Invite(ctx context.Context, account domain.AccountID, by domain.Actor,
	params InvitationParams) (*domain.Invitation, error) {
	params.Email = strings.TrimSpace(params.Email)
	switch {
	case !form.ValidEmail(params.Email):
		return nil, domain.ErrInvalidEmail
	case !slices.Contains(domain.Roles, params.Role):
		return nil, domain.Breaks(domain.CodeValidation, "role", form.Rule{Code: "role"})
	}
	staff, err := s.DB.StaffByEmail(ctx, params.Email)
	switch {
	case err == nil && staff.AccountID == account:
		return nil, domain.Breaks(domain.CodeValidation, "email", form.Rule{Code: "in_team", Value: staff.Email})
	case err != nil && !errors.Is(err, db.ErrNotFound):
		return nil, err
	}
	if err := s.countInvitation(ctx, account); err != nil {
		return nil, err
	}
	now := s.Clock.Now()
	i := &domain.Invitation{
		ID: domain.NewInvitationID(), AccountID: account, Email: params.Email, Role: params.Role,
		MayDownload: params.MayDownload && params.Role == domain.RoleSupport, InvitedBy: by.Name, CreatedAt: now,
		ExpiresAt: now.Add(domain.InvitationLife),
	}
	err = s.DB.InTx(ctx, func(tx *db.Tx) error {
		if i.SenderID, err = s.sender(ctx, tx, account, by); err != nil {
			return err
		}
		if err := canJoin(ctx, tx, account, i.Email); err != nil {
			return err
		}
		if err := tx.PutInvitation(ctx, i); err != nil {
			return err
		}
		if err := s.Outbox.InvitationEmail(ctx, tx, i.ID); err != nil {
			return err
		}
		return s.Audit.Record(ctx, tx, account, by, audit.Entry{
			Action: domain.AuditInvited, TargetID: i.ID.String(), TargetName: i.Email, After: audit.Rights{Role: i.Role,
				MayDownload: i.MayDownload},
		})
	})
	return i, err
}

// sender returns which staff user the invitation is from, nil for an operator.
// It locks the team, so that a sender who is being removed can't leave an
// invitation behind.
func (s *Service) sender(ctx context.Context, tx *db.Tx, account domain.AccountID, by domain.Actor) (*domain.StaffID, error) {
	if by.Kind != domain.ActorStaff {
		return nil, nil
	}
	id, err := domain.ParseStaffID(by.ID)
	if err != nil {
		return nil, err
	}
	if err := tx.LockTeam(ctx, account); err != nil {
		return nil, err
	}
	member, err := tx.TeamMember(ctx, account, id)
	if err != nil {
		return nil, db.MissingAs(err, domain.ErrSignedOut)
	}
	if !member.May(domain.ManageAccount) {
		return nil, domain.Errorf(domain.CodeForbidden, "You may no longer invite people to this account. Ask an owner.")
	}
	return &id, nil
}

// canJoin refuses an address of another account's company, which could not sign its owner in any
// more, and one that the account's company can't sign in, if only the company does.
func canJoin(ctx context.Context, tx *db.Tx, account domain.AccountID, email string) error {
	of, err := tx.SSOConnectionOf(ctx, domain.EmailDomain(email))
	switch {
	case err == nil && of.AccountID == account:
		return nil
	case err == nil:
		return domain.Breaks(domain.CodeValidation, "email", form.Rule{Code: "sso_elsewhere"})
	case !errors.Is(err, db.ErrNotFound):
		return err
	}
	c, err := tx.SSOConnection(ctx, account)
	if err == nil && c.OnlySSO {
		return domain.Breaks(domain.CodeValidation, "email", form.Rule{Code: "sso_outside"})
	}
	return db.MissingAs(err, nil)
}

// EndInvitationsBy ends the open invitations of a staff user who leaves the
// team or may no longer manage the account: each could bring in someone whom
// only that user knows.
func (s *Service) EndInvitationsBy(ctx context.Context, tx *db.Tx, by domain.Actor, sender domain.StaffID) error {
	ended, err := tx.DeleteInvitationsBy(ctx, sender, s.Clock.Now())
	if err != nil {
		return err
	}
	for _, i := range ended {
		err := s.Audit.Record(ctx, tx, i.AccountID, by, audit.Entry{
			Action: domain.AuditInvitationRevoked, TargetID: i.ID.String(), TargetName: i.Email,
			Before: audit.Rights{Role: i.Role, MayDownload: i.MayDownload},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Invitations lists the account's invitations that weren't accepted.
func (s *Service) Invitations(ctx context.Context, account domain.AccountID) ([]domain.Invitation, error) {
	return s.DB.Invitations(ctx, account)
}

// Again makes an open invitation of the account again, as it was, and sends it by
// email. The former link stops working. Errors: not_found, those of Invite.
func (s *Service) Again(ctx context.Context, account domain.AccountID, by domain.Actor, id string) error {
	former, err := s.invitationOf(ctx, account, id)
	if err != nil {
		return err
	}
	_, err = s.Invite(ctx, account, by, InvitationParams{Email: former.Email, Role: former.Role, MayDownload: former.MayDownload})
	return err
}

// Copy makes an invitation of the account again, and returns it with the token of its
// link, which is stored nowhere. No email has it, and the former link stops working. Who
// copies it can accept it for that person, so an account that no operator has approved can't.
// Errors: not_found, validation_error on email, rate_limit_exceeded.
func (s *Service) Copy(ctx context.Context, account domain.AccountID, by domain.Actor, id string) (*domain.Invitation,
	string, error) {
	i, err := s.invitationOf(ctx, account, id)
	if err != nil {
		return nil, "", err
	}
	of, err := s.DB.Account(ctx, account)
	if err != nil {
		return nil, "", err
	}
	if of.ApprovedAt == nil {
		return nil, "", domain.Breaks(domain.CodeValidation, "email", form.Rule{Code: "invitation_link"})
	}
	if err := s.countInvitation(ctx, account); err != nil {
		return nil, "", err
	}
	now := s.Clock.Now()
	former := i.ID
	i.ID, i.InvitedBy, i.CreatedAt, i.ExpiresAt = domain.NewInvitationID(), by.Name, now, now.Add(domain.InvitationLife)
	token, hash := domain.NewToken()
	err = s.DB.InTx(ctx, func(tx *db.Tx) error {
		if i.SenderID, err = s.sender(ctx, tx, account, by); err != nil {
			return err
		}
		if err := canJoin(ctx, tx, account, i.Email); err != nil {
			return err
		}
		if _, err := tx.DeleteInvitation(ctx, account, former); err != nil { // accepted or withdrawn just now
			return db.MissingAs(err, errNoInvitation)
		}
		if err := tx.PutInvitation(ctx, i); err != nil {
			return err
		}
		if err := tx.SetInvitationToken(ctx, i.ID, hash); err != nil {
			return err
		}
		return s.Audit.Record(ctx, tx, account, by, audit.Entry{
			Action: domain.AuditInvitationCopied, TargetID: i.ID.String(), TargetName: i.Email,
		})
	})
	return i, token, err
}

// invitationOf returns an invitation of the account that wasn't accepted, or not_found.
func (s *Service) invitationOf(ctx context.Context, account domain.AccountID, id string) (*domain.Invitation, error) {
	invitation, err := domain.ParseInvitationID(id)
	if err != nil {
		return nil, errNoInvitation
	}
	i, err := s.DB.Invitation(ctx, invitation)
	if err == nil && i.AccountID != account {
		return nil, errNoInvitation
	}
	return i, db.MissingAs(err, errNoInvitation)
}

var errNoInvitation = domain.Errorf(domain.CodeNotFound, "This invitation was accepted or withdrawn already.")

// Revoke withdraws an invitation of the account: its link ends at
// once. Error: not_found.
func (s *Service) Revoke(ctx context.Context, account domain.AccountID, by domain.Actor, id string) error {
	invitation, err := domain.ParseInvitationID(id)
	if err != nil {
		return errNoInvitation
	}
	return s.DB.InTx(ctx, func(tx *db.Tx) error {
		i, err := tx.DeleteInvitation(ctx, account, invitation)
		if err != nil {
			return db.MissingAs(err, errNoInvitation)
		}
		return s.Audit.Record(ctx, tx, account, by, audit.Entry{
			Action: domain.AuditInvitationRevoked, TargetID: i.ID.String(), TargetName: i.Email,
			Before: audit.Rights{Role: i.Role, MayDownload: i.MayDownload},
		})
	})
}

// countInvitation counts an invitation of an account. Before an operator approves
// the account it can send few, so that strangers can't use Candor to send email
// (D52).
func (s *Service) countInvitation(ctx context.Context, id domain.AccountID) error {
	account, err := s.DB.Account(ctx, id)
	if err != nil {
		return err
	}
	if account.ApprovedAt != nil {
		return s.Attempts.Count(ctx, attempts.Counter(attempts.Invitations, "invitations", id.String()))
	}
	few := attempts.Counter(attempts.FirstInvitations, "first invitations", id.String())
	few.Window = 24 * time.Hour
	err = s.Attempts.Count(ctx, few)
	if errors.Is(err, &domain.Error{Code: domain.CodeRateLimitExceeded}) {
		return domain.Breaks(domain.CodeValidation, "email", form.Rule{Code: "invitations", Max: attempts.FirstInvitations})
	}
	return err
}
