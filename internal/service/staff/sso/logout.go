package sso

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/service/audit"
	"candor/internal/service/staff/attempts"
)

// logoutEvent is what a logout token says (OpenID Connect Back-Channel Logout 1.0, 2.4).
const logoutEvent = "http://schemas.openid.net/event/backchannel-logout"

// logoutLife is how old a logout token can be.
const logoutLife = 10 * time.Minute

// logoutClaims are those of a logout token beside an ID token's.
type logoutClaims struct {
	Events map[string]json.RawMessage `json:"events"`
	ID     string                     `json:"jti"`
	SID    string                     `json:"sid"`
	Nonce  *string                    `json:"nonce"`
	Sub    string                     `json:"sub"`
}

var errLogout = domain.Errorf(domain.CodeValidation, "This logout token isn’t valid.")

// Logout ends the sessions that the provider’s logout token names (D142). Error:
// validation_error.
func (s *Service) Logout(ctx context.Context, account, raw string, from domain.Visitor) error {
	id, err := domain.ParseAccountID(account)
	if err != nil {
		return errLogout
	}
	c, err := s.DB.SSOConnection(ctx, id)
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		return err
	}
	// Of one network, since a provider's machines serve many companies; c is empty if there is none.
	tries := attempts.Counter(logoutsOfOne, "sso logout", c.AccountID.String(), domain.Network(from.IPAddress))
	if limit := s.Attempts.Count(ctx, tries); limit != nil {
		return limit
	}
	if err != nil {
		return errLogout
	}
	token, err := s.logoutToken(ctx, c, raw)
	if err != nil {
		s.Logger.WarnContext(ctx, "a logout token was refused", "account_id", c.AccountID, "error", brief(err))
		return errLogout
	}
	return s.DB.InTx(ctx, func(tx *db.Tx) error {
		first, err := tx.UseOnce(ctx, domain.HashToken("logout "+account+" "+token.ID), s.Clock.Now().Add(2*logoutLife))
		if err != nil {
			return err
		}
		if !first {
			return errLogout
		}
		if err := s.endSessions(ctx, tx, c.AccountID, token.Sub, token.SID); err != nil {
			return err
		}
		return tx.ForgetAttempts(ctx, tries)
	})
}

// logoutsOfOne is how many logout tokens of an account fail in 15 minutes, of one network.
const logoutsOfOne = 300

// endSessions ends the sessions of a subject or of a session of the provider.
func (s *Service) endSessions(ctx context.Context, tx *db.Tx, account domain.AccountID, subject, sid string) error {
	n, err := tx.EndSSOSessions(ctx, account, subject, sid)
	if err != nil || n == 0 {
		return err
	}
	e := audit.Entry{Action: domain.AuditSSOEnded, TargetID: account.String(), TargetName: "company sign-in",
		Before: map[string]int{"sessions": n}}
	if staff, err := tx.SSOStaff(ctx, account, subject); err == nil {
		e.TargetID, e.TargetName = staff.ID.String(), staff.Email
	}
	return s.Audit.Record(ctx, tx, account, byProvider, e)
}

// logoutToken checks a logout token (2.6).
func (s *Service) logoutToken(ctx context.Context, c *domain.SSOConnection, raw string) (*logoutClaims, error) {
	p, err := s.provider(ctx, c.Issuer)
	if err != nil {
		return nil, err
	}
	token, err := s.verify(ctx, c, p, raw)
	if err != nil {
		return nil, err
	}
	var said logoutClaims
	if err := token.Claims(&said); err != nil {
		return nil, err
	}
	var event map[string]any
	switch {
	case json.Unmarshal(said.Events[logoutEvent], &event) != nil:
		return nil, errors.New("sso: no logout event")
	case said.Nonce != nil:
		return nil, errors.New("sso: a logout token has no nonce")
	case said.ID == "" || said.Sub == "" && said.SID == "" || len(said.ID)+len(said.Sub)+len(said.SID) > 3*maxText:
		return nil, errors.New("sso: jti, sub or sid isn’t usable")
	case token.IssuedAt.Before(s.Clock.Now().Add(-logoutLife)):
		return nil, errors.New("sso: the logout token is old")
	}
	return &said, nil
}
