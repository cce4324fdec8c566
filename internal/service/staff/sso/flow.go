package sso

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service/staff/attempts"
)

// flow is a way to the provider and back, sealed in a cookie.
type flow struct {
	Account  domain.AccountID      `json:"account"`
	Issuer   string                `json:"issuer"`
	State    string                `json:"state"`
	Nonce    string                `json:"nonce"`
	Verifier string                `json:"verifier"` // PKCE
	Then     string                `json:"then"`
	Session  domain.StaffSessionID `json:"session"` // that is to be confirmed; zero for signing in
	At       time.Time             `json:"at"`
}

const flowOwner = "sso flow"

// FlowSeconds is how long the cookie of a Start lives.
const FlowSeconds = int(flowLife / time.Second)

// A Start leads a browser to a provider.
type Start struct {
	URL    string
	Cookie string
	Host   string // of the provider, for people
}

var (
	errNotHere = domain.Breaks(domain.CodeUnauthorized, "email", form.Rule{Code: "sso_unknown"})
	errRefused = domain.Errorf(domain.CodeUnauthorized,
		"Your company’s sign-in didn’t work. Try again. If that doesn’t help, ask an owner of your Candor account: its audit log has the reason.")
	errCancelled = domain.Errorf(domain.CodeUnauthorized,
		"Your company’s sign-in let no one in. Try again, or ask the people who run it.")
)

// Of returns the connection of the address's domain. It is the same for every address of a
// domain. Errors: unauthorized on email, rate_limit_exceeded.
func (s *Service) Of(ctx context.Context, email string, from domain.Visitor) (*domain.SSOConnection, error) {
	if err := s.Attempts.Count(ctx, s.starts(from)); err != nil {
		return nil, err
	}
	c, err := s.DB.SSOConnectionOf(ctx, domain.EmailDomain(email))
	return c, db.MissingAs(err, errNotHere)
}

// starts counts the ways to a provider that don't end in a session, of a known user or else of
// the network.
func (s *Service) starts(from domain.Visitor) db.Counter {
	c := attempts.Counter(attempts.PasskeysPerNetwork, "sso", domain.Network(from.IPAddress))
	if user := s.Auth.KnownDevice(from.Device); user != "" {
		c = attempts.Counter(attempts.PasskeysPerNetwork, "device sso", user)
	}
	c.Shared = true
	return c
}

// Begin leads to the connection's provider. It can take as long as the provider takes to
// answer. Error: service_unavailable.
func (s *Service) Begin(ctx context.Context, c *domain.SSOConnection, then string) (*Start, error) {
	return s.begin(ctx, c, flow{Then: then})
}

// BeginConfirm leads who is signed in by the company to the provider, which asks who is
// there.
func (s *Service) BeginConfirm(ctx context.Context, session *domain.StaffSession, then string) (*Start, error) {
	if !session.BySSO() {
		return nil, errRefused
	}
	if err := s.Attempts.Count(ctx, attempts.Counter(attempts.ForOne, "sso confirm", session.SessionID.String())); err != nil {
		return nil, err
	}
	c, err := s.DB.SSOConnection(ctx, session.AccountID)
	if err != nil {
		return nil, db.MissingAs(err, errRefused)
	}
	return s.begin(ctx, c, flow{Then: then, Session: session.SessionID}, oauth2.SetAuthURLParam("prompt", "login"),
		oauth2.SetAuthURLParam("max_age", "0"))
}

func (s *Service) begin(ctx context.Context, c *domain.SSOConnection, f flow, options ...oauth2.AuthCodeOption) (*Start, error) {
	p, err := s.provider(ctx, c.Issuer)
	if err != nil {
		return nil, domain.Errorf(domain.CodeServiceUnavailable,
			"Your company’s sign-in doesn’t answer. Try again in a few minutes, or ask the people who run it.")
	}
	f.Account, f.Issuer, f.At, f.Verifier = c.AccountID, c.Issuer, s.Clock.Now(), oauth2.GenerateVerifier()
	f.State, _ = domain.NewToken()
	f.Nonce, _ = domain.NewToken()
	plain, err := json.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("sso: flow: %w", err)
	}
	to := s.client(c, p, "").AuthCodeURL(f.State, append(options, oidc.Nonce(f.Nonce), oauth2.S256ChallengeOption(f.Verifier),
		oauth2.SetAuthURLParam("claims", `{"id_token":{"auth_time":{"essential":true}}}`))...) // Google needs to be asked
	at, err := url.Parse(to)
	if err != nil {
		return nil, fmt.Errorf("sso: authorization endpoint: %w", err)
	}
	return &Start{URL: to, Host: at.Hostname(), Cookie: base64.RawURLEncoding.EncodeToString(s.Ring.Seal(flowOwner, plain))}, nil
}

// An Answer is what a provider's redirect brought.
type Answer struct {
	Account string // of the path
	Cookie  string
	Query   url.Values
	Session *domain.StaffSession // of who is signed in; nil for no one
}

// Finish opens a session for the person whom the provider names, or confirms theirs, and
// returns its token and the page that follows. Error: unauthorized.
func (s *Service) Finish(ctx context.Context, a Answer, from domain.Visitor) (token, then string, err error) {
	t := attempts.Trial{Outcome: domain.AttemptSSORefused, From: from}
	f, err := s.flowOf(a)
	if err != nil {
		return "", "", s.Attempts.Fail(ctx, t, err)
	}
	c, err := s.DB.SSOConnection(ctx, f.Account)
	if err == nil && c.Issuer != f.Issuer {
		err = errRefused
	}
	if err != nil {
		return "", "", s.Attempts.Fail(ctx, t, db.MissingAs(err, errRefused))
	}
	if err := s.useOnce(ctx, "state "+f.State, f.At.Add(flowLife)); err != nil {
		return "", "", s.Attempts.Fail(ctx, t, err)
	}
	who, problem := s.ask(ctx, c, f, a.Query)
	if problem != nil {
		s.Logger.WarnContext(ctx, "a provider's answer was refused", "account_id", c.AccountID, "error", brief(problem))
		return "", "", s.Attempts.Fail(ctx, t, s.turnAway(ctx, c, who, reasonOf(problem), from))
	}
	if f.Session != (domain.StaffSessionID{}) {
		token, err = s.confirm(ctx, c, f, who, a.Session, from)
	} else {
		token, err = s.enter(ctx, c, who, from)
	}
	return token, f.Then, s.Attempts.Fail(ctx, t, err)
}

// flowOf is the flow that the browser's cookie and the answer belong to.
func (s *Service) flowOf(a Answer) (*flow, error) {
	var f flow
	sealed, err := base64.RawURLEncoding.DecodeString(a.Cookie)
	if err != nil {
		return nil, errRefused
	}
	plain, err := s.Ring.Open(flowOwner, sealed)
	if err != nil || json.Unmarshal(plain, &f) != nil {
		return nil, errRefused
	}
	state := a.Query.Get("state")
	switch {
	case s.Clock.Now().Sub(f.At) > flowLife, f.Account.String() != a.Account,
		subtle.ConstantTimeCompare([]byte(state), []byte(f.State)) != 1:
		return nil, errRefused
	case a.Query.Get("error") != "":
		return nil, errCancelled
	}
	return &f, nil
}

// useOnce refuses what was used before.
func (s *Service) useOnce(ctx context.Context, what string, until time.Time) error {
	return s.DB.InTx(ctx, func(tx *db.Tx) error {
		first, err := tx.UseOnce(ctx, domain.HashToken(what), until)
		if err == nil && !first {
			return errRefused
		}
		return err
	})
}

// A refusal is why a person whom the provider names isn't let in, for the audit log.
type refusal string

// Error implements error.
func (r refusal) Error() string { return "sso: " + string(r) }

func reasonOf(err error) string {
	if r, ok := errors.AsType[refusal](err); ok {
		return string(r)
	}
	return "the provider’s answer wasn’t valid"
}

// claims are what tokens and the userinfo endpoint say of a person.
type claims struct {
	Nonce         string          `json:"nonce"`
	AuthorizedFor string          `json:"azp"`
	AuthTime      int64           `json:"auth_time"`
	SID           string          `json:"sid"`
	Email         string          `json:"email"`
	EmailVerified json.RawMessage `json:"email_verified"` // some send it as text
	Name          string          `json:"name"`
}

func (c *claims) verified() bool { return strings.Trim(string(c.EmailVerified), `"`) == "true" }

// ask exchanges the code for the person's identity, and checks it. With an error the identity is
// that of a person who is refused, nil if that isn't sure.
func (s *Service) ask(ctx context.Context, c *domain.SSOConnection, f *flow, query url.Values) (*domain.SSOIdentity, error) {
	p, err := s.provider(ctx, c.Issuer)
	if err != nil {
		return nil, err
	}
	if iss := query.Get("iss"); iss != c.Issuer && (iss != "" || p.metadata.SendsIssuer) {
		return nil, refusal("the answer is another provider’s")
	}
	secret, err := s.Ring.Open(domain.SSOSecretOwner(c.AccountID), c.ClientSecret)
	if err != nil {
		return nil, err
	}
	ctx = s.outgoing(ctx)
	tokens, err := s.client(c, p, string(secret)).Exchange(ctx, query.Get("code"), oauth2.VerifierOption(f.Verifier))
	if err != nil {
		return nil, err
	}
	raw, _ := tokens.Extra("id_token").(string)
	token, err := s.verify(ctx, c, p, raw)
	if err != nil {
		return nil, err
	}
	var said claims
	if err := token.Claims(&said); err != nil {
		return nil, err
	}
	if token.Subject == "" || subtle.ConstantTimeCompare([]byte(said.Nonce), []byte(f.Nonce)) != 1 {
		return nil, refusal("the answer belongs to another sign-in")
	}
	if len(token.Audience) > 1 && said.AuthorizedFor != c.ClientID {
		return nil, refusal("the token is for another client")
	}
	return s.identify(ctx, c, p, tokens, token, said)
}

// brief is an error of a provider without the pages that it sent, which can have anything in
// them.
func brief(err error) string {
	if e, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		return fmt.Sprintf("sso: the provider refused the code: %d %.40s", e.Response.StatusCode, e.ErrorCode)
	}
	return fmt.Sprintf("%.200s", err)
}

// identify reads the person's address and groups; what the token lacks is asked for.
func (s *Service) identify(ctx context.Context, c *domain.SSOConnection, p discovered, tokens *oauth2.Token, token *oidc.IDToken,
	said claims) (*domain.SSOIdentity, error) {
	groups, err := groupsIn(token.Claims, c.GroupsClaim)
	if err != nil {
		return nil, err
	}
	if (said.Email == "" || c.GroupsClaim != "" && groups == nil) && p.UserInfoEndpoint() != "" {
		info, err := p.UserInfo(ctx, oauth2.StaticTokenSource(tokens))
		if err != nil {
			return nil, err
		}
		if info.Subject != token.Subject {
			return nil, refusal("the provider names two people")
		}
		if said.Email == "" {
			var more claims
			if err := info.Claims(&more); err != nil {
				return nil, err
			}
			said.Email, said.EmailVerified, said.Name = more.Email, more.EmailVerified, more.Name
		}
		if groups == nil {
			if groups, err = groupsIn(info.Claims, c.GroupsClaim); err != nil {
				return nil, err
			}
		}
	}
	who := &domain.SSOIdentity{Subject: token.Subject, SID: said.SID, Email: strings.TrimSpace(said.Email), Name: said.Name,
		Groups: groups}
	if said.AuthTime > 0 {
		who.AuthTime = time.Unix(said.AuthTime, 0).UTC()
	}
	switch {
	case len(said.SID) > maxText:
		return nil, refusal("the provider’s answer is too long")
	case !form.ValidEmail(who.Email):
		who.Email = ""
		return who, refusal("the provider gave no email address")
	case !said.verified() && !c.TrustsEmail:
		return who, refusal("the provider hasn’t verified the email address")
	}
	return who, nil
}

// groupsIn are the groups of a claim, nil without one: a list of names, or one name.
func groupsIn(read func(any) error, claim string) ([]string, error) {
	var all map[string]json.RawMessage
	if claim == "" {
		return nil, nil
	}
	if err := read(&all); err != nil {
		return nil, err
	}
	raw, ok := all[claim]
	if !ok {
		return nil, nil
	}
	var one string
	groups := []string{}
	if json.Unmarshal(raw, &one) == nil {
		return []string{one}, nil
	}
	if json.Unmarshal(raw, &groups) != nil || len(groups) > maxGroups {
		return nil, refusal("the list of groups isn’t usable")
	}
	return groups, nil
}
