package sso

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service/audit"
	"candor/internal/service/staff/attempts"
)

// byProvider is who an entry of the audit log is by, if a provider did it.
var byProvider = domain.Actor{Kind: domain.ActorSystem, ID: "sso", Name: "company sign-in"}

// auditedRefusals is how many refusals of an account are in its audit log in 15 minutes.
const auditedRefusals = 20

// refused writes into the account's audit log why its provider's answer let someone not in:
// once for each person, reason and network in 15 minutes, because strangers can cause it.
func (s *Service) refused(ctx context.Context, c *domain.SSOConnection, who, reason string, from domain.Visitor) {
	by := domain.Actor{Kind: domain.ActorStranger, Name: "Not signed in", Address: from.IPAddress}
	account := c.AccountID.String()
	err := s.DB.InTx(context.WithoutCancel(ctx), func(tx *db.Tx) error {
		once := attempts.Counter(1, "sso audit", account, who, reason, domain.Network(from.IPAddress))
		err := tx.CountAttempt(ctx, s.Clock.Now(), once, attempts.Counter(auditedRefusals, "sso audits", account))
		if _, often := errors.AsType[*db.RefusedAttempt](err); often {
			return nil
		}
		return errors.Join(err, s.Audit.Record(ctx, tx, c.AccountID, by, audit.Entry{Action: domain.AuditSSORefused, TargetID: account,
			TargetName: who, After: map[string]string{"reason": reason}}))
	})
	if err != nil {
		s.Logger.ErrorContext(ctx, "a refused sign-in is not in the audit log", "error", err)
	}
}

// confirm proves that the user of the session is there, by a sign-in at the provider that
// began after the flow.
func (s *Service) confirm(ctx context.Context, c *domain.SSOConnection, f *flow, who *domain.SSOIdentity,
	session *domain.StaffSession, from domain.Visitor) (string, error) {
	if session == nil || session.SessionID != f.Session {
		return "", errRefused
	}
	staff, err := s.DB.SSOStaff(ctx, c.AccountID, who.Subject)
	var why string
	switch {
	case err != nil && !errors.Is(err, db.ErrNotFound):
		return "", err
	case err != nil || staff.ID != session.ID:
		why = "another person answered"
	case who.AuthTime.IsZero():
		why = "the provider doesn’t say when it asked who is there (auth_time)"
	case who.AuthTime.Before(f.At.Add(-clockSkew)):
		why = "the provider didn’t ask again who is there"
	default:
		return s.Auth.ConfirmBySSO(ctx, session)
	}
	s.refused(ctx, c, session.Email, why, from)
	return "", errRefused
}

// enter opens a session for the person, who joins the team if they are new (D141).
func (s *Service) enter(ctx context.Context, c *domain.SSOConnection, who *domain.SSOIdentity, from domain.Visitor) (token string,
	err error) {
	var why refusal
	token, err = s.Auth.EnterBySSO(ctx, c, who, from, func(tx *db.Tx) (*domain.Staff, error) {
		staff, err := s.member(ctx, tx, c, who)
		if err != nil {
			return nil, err
		}
		return staff, tx.ForgetAttempts(ctx, s.starts(from))
	})
	if !errors.As(err, &why) {
		return token, err
	}
	return "", s.turnAway(ctx, c, who, string(why), from)
}

// turnAway refuses who answered, nil if that isn't sure. Other browsers of the person leave, too
// (D142).
func (s *Service) turnAway(ctx context.Context, c *domain.SSOConnection, who *domain.SSOIdentity, why string,
	from domain.Visitor) error {
	if who == nil {
		s.refused(ctx, c, "company sign-in", why, from)
		return errRefused
	}
	s.refused(ctx, c, cmp.Or(who.Email, "company sign-in"), why, from)
	err := s.DB.InTx(ctx, func(tx *db.Tx) error { return s.endSessions(ctx, tx, c.AccountID, who.Subject, "") })
	return cmp.Or(err, error(errRefused))
}

// member returns the person as a member of the team: known by the subject, or at the first
// time by the address, or new. It holds the team.
func (s *Service) member(ctx context.Context, tx *db.Tx, was *domain.SSOConnection, who *domain.SSOIdentity) (
	*domain.Staff, error) {
	if err := tx.LockTeam(ctx, was.AccountID); err != nil {
		return nil, err
	}
	c, err := tx.HoldSSOConnection(ctx, was.AccountID)
	if err != nil {
		return nil, db.MissingAs(err, refusal("the connection was changed"))
	}
	if c.Issuer != was.Issuer || c.ClientID != was.ClientID {
		return nil, refusal("the connection was changed")
	}
	of, err := tx.SSOConnectionOf(ctx, domain.EmailDomain(who.Email))
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		return nil, err
	}
	if of.AccountID != c.AccountID {
		return nil, refusal("the email address isn’t of a verified domain")
	}
	role, ok, err := roleOf(c, who.Groups)
	if err != nil {
		return nil, err
	}
	staff, err := tx.SSOStaff(ctx, c.AccountID, who.Subject)
	if errors.Is(err, db.ErrNotFound) {
		staff, err = s.link(ctx, tx, c, who, role, ok)
	}
	if err != nil {
		return nil, err
	}
	return staff, s.setRole(ctx, tx, c, staff, role, ok)
}

// link makes the subject a member of the team that has its address, or a new one, with the role
// of an invitation if groups give none; the invitation ends. Someone of another account stays
// there.
func (s *Service) link(ctx context.Context, tx *db.Tx, c *domain.SSOConnection, who *domain.SSOIdentity, role domain.Role,
	admitted bool) (*domain.Staff, error) {
	mayDownload := false
	invited, err := tx.TakeInvitation(ctx, c.AccountID, who.Email)
	switch {
	case err == nil && c.GroupsClaim == "" && !invited.Expired(s.Clock.Now()):
		role, mayDownload, admitted = invited.Role, invited.MayDownload, true
	case err != nil && !errors.Is(err, db.ErrNotFound):
		return nil, err
	}
	action := domain.AuditSSOLinked
	found, err := tx.StaffByEmail(ctx, who.Email)
	switch {
	case errors.Is(err, db.ErrNotFound) && !admitted:
		return nil, refusal("no group has a role")
	case errors.Is(err, db.ErrNotFound):
		action = domain.AuditSSOJoined
		name, broken := domain.CleanName(who.Name, form.Rule{Code: "person_name"}, "person")
		if broken != (form.Rule{}) {
			name = ""
		}
		found = &db.StaffPassword{Staff: domain.Staff{ID: domain.NewStaffID(), AccountID: c.AccountID, Email: who.Email, Name: name,
			Role: role, MayDownload: mayDownload, CreatedAt: s.Clock.Now()}}
		err := tx.InsertStaff(ctx, &found.Staff, "")
		if errors.Is(err, db.ErrEmailTaken) {
			return nil, refusal("the email address belongs to another account") // joined it just now
		}
		if err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	case found.AccountID != c.AccountID:
		return nil, refusal("the email address belongs to another account")
	}
	err = tx.InsertSSOIdentity(ctx, c.AccountID, who.Subject, found.ID)
	if errors.Is(err, db.ErrEmailTaken) {
		return nil, refusal("the email address belongs to another person at the provider")
	}
	if err != nil {
		return nil, err
	}
	return &found.Staff, s.Audit.Record(ctx, tx, c.AccountID, byProvider, audit.Entry{Action: action, TargetID: found.ID.String(),
		TargetName: found.Email, After: audit.Rights{Role: found.Role, MayDownload: found.MayDownload}})
}

// roleOf is the role of the first line that fits, or the default one; ok is false without
// one.
func roleOf(c *domain.SSOConnection, groups []string) (role domain.Role, ok bool, err error) {
	var lines []domain.GroupRole
	if err := json.Unmarshal(c.GroupRoles, &lines); err != nil {
		return "", false, fmt.Errorf("sso: stored groups: %w", err)
	}
	role = c.DefaultRole
	for _, line := range lines {
		if slices.Contains(groups, line.Group) {
			role = line.Role
			break
		}
	}
	return role, slices.Contains(domain.Roles, role), nil
}

// setRole gives a member the role of their groups. Who keeps the password and the last owner
// stay what they are; without groups so does everyone.
func (s *Service) setRole(ctx context.Context, tx *db.Tx, c *domain.SSOConnection, staff *domain.Staff, role domain.Role,
	ok bool) error {
	if c.GroupsClaim == "" {
		return nil
	}
	keep, err := tx.BreakGlass(ctx, c.AccountID)
	if err != nil || slices.Contains(keep, staff.ID) {
		return err
	}
	others, err := tx.OtherOwners(ctx, c.AccountID, staff.ID)
	if err != nil || staff.Role == domain.RoleOwner && others == 0 {
		return err
	}
	if !ok {
		return refusal("no group has a role")
	}
	if staff.Role == role {
		return nil
	}
	before := audit.Rights{Role: staff.Role, MayDownload: staff.MayDownload}
	staff.Role, staff.MayDownload = role, false
	if err := tx.SetRole(ctx, staff.ID, role, false); err != nil {
		return err
	}
	if !staff.May(domain.ManageAccount) {
		if err := s.Team.EndInvitationsBy(ctx, tx, byProvider, staff.ID); err != nil {
			return err
		}
	}
	return s.Audit.Record(ctx, tx, c.AccountID, byProvider, audit.Entry{Action: domain.AuditRoleChanged, TargetID: staff.ID.String(),
		TargetName: staff.Email, Before: before, After: audit.Rights{Role: role}})
}
