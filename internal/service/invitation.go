package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/form"
)

// NewInvitation is who is asked into a team.
type NewInvitation struct {
	Email       string
	Role        domain.Role
	MayDownload bool // of support
}

// invitationState is what the audit log says of an invitation.
type invitationState struct {
	Role        domain.Role `json:"role"`
	MayDownload bool        `json:"may_download,omitempty"`
}

// Invite asks somebody into the account's team by a letter; an earlier
// invitation to the same address ends. Whether the address is in another
// account's team isn't told. Errors: validation_error by field email or role,
// rate_limit_exceeded.
func (s *Service) Invite(ctx context.Context, account domain.AccountID, by domain.Actor, wish NewInvitation) (*domain.Invitation, error) {
	wish.Email = strings.TrimSpace(wish.Email)
	switch {
	case !form.ValidEmail(wish.Email):
		return nil, errEmail
	case !slices.Contains(domain.Roles, wish.Role):
		return nil, domain.FieldError(domain.CodeValidation, "role", "Choose a role")
	}
	staff, err := s.DB.StaffByEmail(ctx, wish.Email)
	switch {
	case err == nil && staff.AccountID == account:
		return nil, domain.FieldError(domain.CodeValidation, "email", staff.Email+" is in the team already")
	case err != nil && !errors.Is(err, db.ErrNotFound):
		return nil, err
	}
	if err := s.countInvitation(ctx, account); err != nil {
		return nil, err
	}
	now := s.Clock.Now()
	i := &domain.Invitation{
		ID: domain.NewInvitationID(), AccountID: account, Email: wish.Email, Role: wish.Role,
		MayDownload: wish.MayDownload && wish.Role == domain.RoleSupport, InvitedBy: by.Name, CreatedAt: now, ExpiresAt: now.Add(domain.InvitationLife),
	}
	err = s.DB.InTx(ctx, func(tx *db.Tx) error {
		if i.SenderID, err = s.sender(ctx, tx, account, by); err != nil {
			return err
		}
		if err := tx.PutInvitation(ctx, i); err != nil {
			return err
		}
		if err := s.Outbox.InvitationEmail(ctx, tx, i.ID); err != nil {
			return err
		}
		return s.audit(ctx, tx, account, by, deed{
			Action: domain.AuditInvited, TargetID: i.ID.String(), TargetName: i.Email, After: invitationState{i.Role, i.MayDownload},
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
		return nil, orCode(err, errSignedOut)
	}
	if !member.May(domain.ManageAccount) {
		return nil, errMayNotInvite
	}
	return &id, nil
}

var errMayNotInvite = domain.Errorf(domain.CodeForbidden, "You may no longer invite people to this account. Ask an owner.")

// endInvitationsBy ends the open invitations of a staff user who leaves the
// team or may no longer manage the account: each could bring in someone whom
// only that user knows.
func (s *Service) endInvitationsBy(ctx context.Context, tx *db.Tx, by domain.Actor, sender domain.StaffID) error {
	ended, err := tx.DeleteInvitationsBy(ctx, sender, s.Clock.Now())
	if err != nil {
		return err
	}
	for _, i := range ended {
		err := s.audit(ctx, tx, i.AccountID, by, deed{
			Action: domain.AuditInvitationRevoked, TargetID: i.ID.String(), TargetName: i.Email, Before: invitationState{i.Role, i.MayDownload},
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

var errNoInvitation = domain.Errorf(domain.CodeNotFound, "This invitation was accepted or withdrawn already.")

// RevokeInvitation withdraws an invitation of the account: its link ends at
// once. Error: not_found.
func (s *Service) RevokeInvitation(ctx context.Context, account domain.AccountID, by domain.Actor, id string) error {
	invitation, err := domain.ParseInvitationID(id)
	if err != nil {
		return errNoInvitation
	}
	return s.DB.InTx(ctx, func(tx *db.Tx) error {
		i, err := tx.DeleteInvitation(ctx, account, invitation)
		if err != nil {
			return orCode(err, errNoInvitation)
		}
		return s.audit(ctx, tx, account, by, deed{
			Action: domain.AuditInvitationRevoked, TargetID: i.ID.String(), TargetName: i.Email, Before: invitationState{i.Role, i.MayDownload},
		})
	})
}

// Invitation returns the live invitation of a link's token, or not_found.
func (s *Service) Invitation(ctx context.Context, token string) (*domain.Invitation, error) {
	i, err := s.DB.InvitationByToken(ctx, domain.HashToken(token), s.Clock.Now())
	return i, orCode(err, errLinkGone)
}

// AcceptInvitation makes the invited person a staff user and signs them in: it
// returns the new session's token. Errors: not_found for a link that works no
// more, validation_error by field name or new_password.
func (s *Service) AcceptInvitation(ctx context.Context, token, name, password string, from Visitor) (string, error) {
	hashing, err := s.queue(from)
	if err != nil {
		return "", err
	}
	defer hashing.leave()
	i, err := s.Invitation(ctx, token)
	if err != nil {
		return "", err
	}
	name, err = checkPerson(name, refusePassword(password, i.Email, name, i.AccountName))
	if err != nil {
		return "", err
	}
	hash, err := hashing.hash(ctx, password)
	if err != nil {
		return "", err
	}
	staff := domain.Staff{
		ID: domain.NewStaffID(), AccountID: i.AccountID, Email: i.Email, Name: name, Role: i.Role, MayDownload: i.MayDownload, CreatedAt: s.Clock.Now(),
	}
	session := s.newStaffSession(staff, from)
	cookie, tokenHash := domain.NewToken()
	err = s.DB.InTx(ctx, func(tx *db.Tx) error {
		if _, err := tx.DeleteInvitation(ctx, i.AccountID, i.ID); err != nil {
			return orCode(err, errLinkGone)
		}
		if err := tx.InsertStaff(ctx, &staff, hash); err != nil {
			return err
		}
		if err := s.startStaffSession(ctx, tx, session, tokenHash, from); err != nil {
			return err
		}
		if _, err := tx.NoteKnownBrowser(ctx, session.ID, session.StartedAt); err != nil {
			return err
		}
		return s.audit(ctx, tx, i.AccountID, session.Actor(), deed{
			Action: domain.AuditJoined, TargetID: staff.ID.String(), TargetName: staff.Email, After: invitationState{i.Role, i.MayDownload},
		})
	})
	if errors.Is(err, db.ErrEmailTaken) {
		return "", errLinkGone // joined another team in the meantime
	}
	if err != nil {
		return "", err
	}
	return cookie, nil
}

// checkPerson returns the name as it is kept, and what is wrong with it and
// with the password.
func checkPerson(name, passwordProblem string) (string, error) {
	name, wrong := ownName(name)
	return name, fieldProblems(wrong, field{"new_password", passwordProblem})
}

// ownName returns a person's name as it is kept, and what is wrong with it.
func ownName(name string) (string, field) {
	name, problem := form.CleanText(name, maxName)
	switch {
	case problem != "":
		problem = "Your name " + problem
	case name == "":
		problem = "Enter your name"
	case linkProblem(name) != "":
		problem = "Your name " + linkProblem(name)
	}
	return name, field{"name", problem}
}

// maxName is the longest name of a person or a company, in characters.
const maxName = 200

// field is what is wrong with a field, "" for nothing.
type field struct{ name, problem string }

// fieldProblems is a validation_error about the fields that have a problem.
func fieldProblems(fields ...field) error {
	e := domain.Errorf(domain.CodeValidation, "Some fields aren’t right.")
	for _, f := range fields {
		if f.problem != "" {
			e.Fields = append(e.Fields, form.Error{Field: f.name, Message: f.problem})
		}
	}
	if len(e.Fields) == 0 {
		return nil
	}
	return e
}

// countInvitation counts an invitation of an account. One that no operator has
// approved yet sends few, so that strangers can't use Candor to send email
// (D52).
func (s *Service) countInvitation(ctx context.Context, id domain.AccountID) error {
	account, err := s.Account(ctx, id)
	if err != nil {
		return err
	}
	if account.ApprovedAt != nil {
		return s.countAttempt(ctx, counter(invitationsOfOne, "invitations", id.String()))
	}
	few := counter(invitationsOfNew, "first invitations", id.String())
	few.Window = 24 * time.Hour
	err = s.countAttempt(ctx, few)
	if errors.Is(err, &domain.Error{Code: domain.CodeRateLimitExceeded}) {
		return domain.FieldError(domain.CodeValidation, "email", fmt.Sprintf("Until your account is approved for live mode, you can send %d invitations a day", invitationsOfNew))
	}
	return err
}
