package sso

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service/audit"
	"candor/internal/webhook"
)

// Params are what an owner types to connect the company's provider.
type Params struct {
	Issuer, ClientID, Secret string // Secret is "" to keep it
	DefaultRole              domain.Role
	GroupsClaim              string
	GroupRoles               string // a line for each, "group = role"
	TrustsEmail              bool
}

// State is what the settings show of an account.
type State struct {
	Connection  *domain.SSOConnection // nil for none
	Domains     []domain.SSODomain
	Keep        []domain.StaffID // who keeps the password
	RedirectURL string
	LogoutURL   string
}

var (
	errNoConnection = domain.Errorf(domain.CodeNotFound, "There is no company sign-in to change. Reload the page.")
	errNoDomain     = domain.Errorf(domain.CodeNotFound, "This domain was removed already.")
	errLastKey      = domain.Breaks(domain.CodeValidation, "keep", form.Rule{Code: "sso_keep"})
)

// State returns the account's connection and domains.
func (s *Service) State(ctx context.Context, account domain.AccountID) (*State, error) {
	out := &State{RedirectURL: s.RedirectURL(account), LogoutURL: s.LogoutURL(account)}
	c, err := s.DB.SSOConnection(ctx, account)
	if err == nil {
		out.Connection = c
	} else if !errors.Is(err, db.ErrNotFound) {
		return nil, err
	}
	if out.Domains, err = s.DB.SSODomains(ctx, account); err != nil {
		return nil, err
	}
	out.Keep, err = s.DB.BreakGlass(ctx, account)
	return out, err
}

// onTeam makes a change while the account's team stays as it is.
func (s *Service) onTeam(ctx context.Context, account domain.AccountID, change func(*db.Tx) error) error {
	return s.DB.InTx(ctx, func(tx *db.Tx) error {
		if err := tx.LockTeam(ctx, account); err != nil {
			return db.MissingAs(err, domain.ErrAccountNotFound)
		}
		return change(tx)
	})
}

// Connect stores the account's provider, after asking it. Another issuer or client needs its
// secret, and ends the identities and sessions of the former one. Errors: validation_error by
// field.
func (s *Service) Connect(ctx context.Context, account domain.AccountID, by domain.Actor, p Params) error {
	lines, linesRule := groupRoles(p.GroupRoles)
	var roleRule form.Rule
	if p.DefaultRole == domain.RoleOwner || p.DefaultRole != "" && !slices.Contains(domain.Roles, p.DefaultRole) {
		roleRule = form.Rule{Code: "role"}
	}
	err := domain.Invalid(
		form.Error{Field: "issuer", Rule: textRule(p.Issuer, form.Rule{Code: "sso_issuer"})},
		form.Error{Field: "client_id", Rule: textRule(p.ClientID, form.Rule{Code: "sso_client"})},
		form.Error{Field: "default_role", Rule: roleRule},
		form.Error{Field: "groups_claim", Rule: claimRule(p, lines)}, form.Error{Field: "group_roles", Rule: linesRule})
	if err != nil {
		return err
	}
	if _, err := s.discover(ctx, p.Issuer); err != nil {
		return s.badIssuer(ctx, account, err)
	}
	return s.store(ctx, account, by, p, lines)
}

// badIssuer says what is wrong with a provider that can't be asked.
func (s *Service) badIssuer(ctx context.Context, account domain.AccountID, err error) error {
	s.Logger.InfoContext(ctx, "a provider of sign-in can't be asked", "account_id", account, "error", brief(err))
	if refused, ok := errors.AsType[*webhook.TargetError](err); ok {
		return domain.Breaks(domain.CodeValidation, "issuer", form.Rule{Code: "target", Value: refused.Message})
	}
	return domain.Breaks(domain.CodeValidation, "issuer", form.Rule{Code: "sso_discovery"})
}

func (s *Service) store(ctx context.Context, account domain.AccountID, by domain.Actor, p Params,
	lines []domain.GroupRole) error {
	roles, err := json.Marshal(lines)
	if err != nil {
		return fmt.Errorf("sso: groups: %w", err)
	}
	return s.onTeam(ctx, account, func(tx *db.Tx) error {
		before, err := tx.SSOConnection(ctx, account)
		if err != nil && !errors.Is(err, db.ErrNotFound) {
			return err
		}
		c := &domain.SSOConnection{AccountID: account, Issuer: p.Issuer, ClientID: p.ClientID, ClientSecret: before.ClientSecret,
			DefaultRole: p.DefaultRole, GroupsClaim: p.GroupsClaim, GroupRoles: roles, TrustsEmail: p.TrustsEmail,
			CreatedAt: s.Clock.Now()}
		if p.Secret != "" {
			c.ClientSecret = s.Ring.Seal(domain.SSOSecretOwner(account), []byte(p.Secret))
		}
		entry := audit.Entry{Action: domain.AuditSSOChanged, TargetID: account.String(), TargetName: "company sign-in",
			After: audited(c)}
		if err == nil {
			entry.Before = audited(before)
		}
		change := tx.InsertSSOConnection
		switch same := before.Issuer == p.Issuer && before.ClientID == p.ClientID; {
		case same:
			change = tx.UpdateSSOConnection
		case before.OnlySSO:
			return domain.Breaks(domain.CodeValidation, "issuer", form.Rule{Code: "sso_only"})
		case p.Secret == "":
			return domain.Breaks(domain.CodeValidation, "client_secret", form.Rule{Code: "sso_secret"})
		}
		if err := change(ctx, c); err != nil {
			return err
		}
		return s.Audit.Record(ctx, tx, account, by, entry)
	})
}

// audited is a connection as the audit log has it.
func audited(c *domain.SSOConnection) map[string]any {
	return map[string]any{"issuer": c.Issuer, "client_id": c.ClientID, "default_role": c.DefaultRole, "groups_claim": c.GroupsClaim,
		"group_roles": json.RawMessage(c.GroupRoles), "trusts_email": c.TrustsEmail}
}

// Disconnect removes the account's provider: its sessions end, and passwords work again.
func (s *Service) Disconnect(ctx context.Context, account domain.AccountID, by domain.Actor) error {
	return s.onTeam(ctx, account, func(tx *db.Tx) error {
		if err := tx.DeleteSSOConnection(ctx, account); err != nil {
			return db.MissingAs(err, errNoConnection)
		}
		return s.Audit.Record(ctx, tx, account, by, audit.Entry{Action: domain.AuditSSORemoved, TargetID: account.String(),
			TargetName: "company sign-in"})
	})
}

// textRule is the rule if it is broken by an empty text or a long one.
func textRule(text string, broken form.Rule) form.Rule {
	if text == "" || len(text) > maxText || strings.ContainsAny(text, "\r\n\x00") {
		return broken
	}
	return form.Rule{}
}

// claimRule is broken by groups without a claim that names them, and by a claim without groups.
func claimRule(p Params, lines []domain.GroupRole) form.Rule {
	if (p.GroupsClaim == "") != (len(lines) == 0) || len(p.GroupsClaim) > maxText {
		return form.Rule{Code: "sso_claim"}
	}
	return form.Rule{}
}

// groupRoles reads lines of "group = role".
func groupRoles(text string) ([]domain.GroupRole, form.Rule) {
	lines := []domain.GroupRole{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		at := strings.LastIndexByte(line, '=')
		if at < 0 || len(lines) == MaxGroupRoles {
			return nil, form.Rule{Code: "sso_groups"}
		}
		one := domain.GroupRole{Group: strings.TrimSpace(line[:at]), Role: domain.Role(strings.ToLower(strings.TrimSpace(line[at+1:])))}
		if one.Group == "" || len(one.Group) > maxText || !slices.Contains(domain.Roles, one.Role) {
			return nil, form.Rule{Code: "sso_groups"}
		}
		lines = append(lines, one)
	}
	return lines, form.Rule{}
}

// AddDomain stores a domain, which counts once it is verified. Error: validation_error on
// domain.
func (s *Service) AddDomain(ctx context.Context, account domain.AccountID, by domain.Actor, name string) error {
	name = strings.ToLower(strings.TrimSpace(name))
	if suffix, err := publicsuffix.EffectiveTLDPlusOne(name); err != nil || suffix == "" || !form.ValidEmail("a@"+name) ||
		net.ParseIP(name) != nil {
		return domain.Breaks(domain.CodeValidation, "domain", form.Rule{Code: "sso_domain"})
	}
	random := make([]byte, 20)
	_, _ = rand.Read(random) // never fails
	return s.onTeam(ctx, account, func(tx *db.Tx) error {
		list, err := tx.SSODomains(ctx, account)
		if err != nil {
			return err
		}
		if len(list) >= MaxDomains {
			return domain.Breaks(domain.CodeValidation, "domain", form.Rule{Code: "sso_domains", Max: MaxDomains})
		}
		d := &domain.SSODomain{AccountID: account, Domain: name, Token: hex.EncodeToString(random)}
		if err := tx.InsertSSODomain(ctx, d); err != nil {
			return err
		}
		return s.auditDomain(ctx, tx, account, by, domain.AuditSSODomainAdded, name)
	})
}

func (s *Service) auditDomain(ctx context.Context, tx *db.Tx, account domain.AccountID, by domain.Actor,
	action domain.AuditAction, name string) error {
	return s.Audit.Record(ctx, tx, account, by, audit.Entry{Action: action, TargetID: account.String(), TargetName: name})
}

// CheckDomain verifies a domain by its DNS record. Errors: not_found, validation_error on
// domain.
func (s *Service) CheckDomain(ctx context.Context, account domain.AccountID, by domain.Actor, name string) error {
	list, err := s.DB.SSODomains(ctx, account)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(list, func(d domain.SSODomain) bool { return d.Domain == name })
	if at < 0 {
		return errNoDomain
	}
	dns, cancel := context.WithTimeout(ctx, dnsTimeout)
	defer cancel()
	records, err := s.Resolver.LookupTXT(dns, list[at].RecordName()+".")
	if err != nil || !slices.Contains(records, list[at].Record()) {
		return domain.Breaks(domain.CodeValidation, "domain", form.Rule{Code: "sso_record"})
	}
	return s.verifyDomain(ctx, account, by, name)
}

// VerifyDomain verifies a domain for an operator, who has made sure whose it is.
func (s *Service) VerifyDomain(ctx context.Context, account domain.AccountID, by domain.Actor, name string) error {
	if err := s.AddDomain(ctx, account, by, name); err != nil {
		return err
	}
	return s.verifyDomain(ctx, account, by, strings.ToLower(strings.TrimSpace(name)))
}

func (s *Service) verifyDomain(ctx context.Context, account domain.AccountID, by domain.Actor, name string) error {
	err := s.DB.InTx(ctx, func(tx *db.Tx) error {
		if err := tx.VerifySSODomain(ctx, account, name, s.Clock.Now()); err != nil {
			return db.MissingAs(err, errNoDomain)
		}
		return s.auditDomain(ctx, tx, account, by, domain.AuditSSODomainVerified, name)
	})
	if errors.Is(err, db.ErrDomainTaken) {
		return domain.Breaks(domain.CodeValidation, "domain", form.Rule{Code: "sso_taken"})
	}
	return err
}

// RemoveDomain removes a domain: no one with such an address signs in any more. If it was
// verified, all whom the company signed in are signed out; those of other domains can sign in
// again at once.
func (s *Service) RemoveDomain(ctx context.Context, account domain.AccountID, by domain.Actor, name string) error {
	return s.onTeam(ctx, account, func(tx *db.Tx) error {
		if err := tx.DeleteSSODomain(ctx, account, name); err != nil {
			return db.MissingAs(err, errNoDomain)
		}
		return s.auditDomain(ctx, tx, account, by, domain.AuditSSODomainRemoved, name)
	})
}

// RequireSSO lets the account's staff in only by the company, but for those who keep the
// password, and ends their other sessions. Who turns it on has just signed in by the
// company, and those who keep the password are owners who have one and codes of an
// authenticator app.
// Errors: validation_error on only or keep.
func (s *Service) RequireSSO(ctx context.Context, session *domain.StaffSession, by domain.Actor, keep []string) error {
	if !session.BySSO() || s.Clock.Now().Sub(session.StartedAt) >= domain.StaffConfirmed {
		return domain.Breaks(domain.CodeValidation, "only", form.Rule{Code: "sso_first"})
	}
	return s.onTeam(ctx, session.AccountID, func(tx *db.Tx) error {
		team, err := tx.Team(ctx, session.AccountID)
		if err != nil {
			return err
		}
		var ids []domain.StaffID
		var names []string
		for _, m := range team {
			if !slices.Contains(keep, m.ID.String()) {
				continue
			}
			if m.Role != domain.RoleOwner {
				return errLastKey
			}
			ids, names = append(ids, m.ID), append(names, m.Email)
		}
		if err := s.setOnly(ctx, tx, session.AccountID, by, true, ids, names); err != nil {
			return err
		}
		kept, err := tx.BreakGlass(ctx, session.AccountID)
		if err == nil && (len(kept) == 0 || len(kept) < len(ids)) {
			return errLastKey
		}
		return err
	})
}

// ReleaseSSO lets passwords and passkeys in again.
func (s *Service) ReleaseSSO(ctx context.Context, account domain.AccountID, by domain.Actor) error {
	return s.onTeam(ctx, account, func(tx *db.Tx) error {
		return s.setOnly(ctx, tx, account, by, false, nil, nil)
	})
}

func (s *Service) setOnly(ctx context.Context, tx *db.Tx, account domain.AccountID, by domain.Actor, only bool,
	keep []domain.StaffID, names []string) error {
	if err := tx.SetOnlySSO(ctx, account, only, keep); err != nil {
		return db.MissingAs(err, errNoConnection)
	}
	return s.Audit.Record(ctx, tx, account, by, audit.Entry{Action: domain.AuditSSOOnly, TargetID: account.String(),
		TargetName: "company sign-in", After: map[string]any{"only": only, "keep_password": names}})
}
