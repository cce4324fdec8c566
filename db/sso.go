package db

import (
	"context"
	"errors"
	"time"

	"github.com/lib/pq"

	"candor/internal/domain"
)

const ssoColumns = `account_id, issuer, client_id, client_secret, default_role, groups_claim, group_roles, trusts_email, only_sso,
	created_at`

// ErrDomainTaken says that the domain is another account's.
var ErrDomainTaken = errors.New("another account has verified this domain")

// SSOConnection returns an account's connection, or ErrNotFound.
func (q *Queries) SSOConnection(ctx context.Context, account domain.AccountID) (*domain.SSOConnection, error) {
	var c domain.SSOConnection
	err := q.get(ctx, &c, `SELECT `+ssoColumns+` FROM sso_connection WHERE account_id = $1`, account)
	return &c, wrap(err, "get sso connection")
}

// HoldSSOConnection is SSOConnection that stays so until the transaction ends.
func (tx *Tx) HoldSSOConnection(ctx context.Context, account domain.AccountID) (*domain.SSOConnection, error) {
	var c domain.SSOConnection
	err := tx.get(ctx, &c, `SELECT `+ssoColumns+` FROM sso_connection WHERE account_id = $1 FOR SHARE`, account)
	return &c, wrap(err, "hold sso connection")
}

// SSOConnectionOf returns the connection of the account that has verified the domain,
// or ErrNotFound.
func (q *Queries) SSOConnectionOf(ctx context.Context, name string) (*domain.SSOConnection, error) {
	var c domain.SSOConnection
	err := q.get(ctx, &c, `
		SELECT `+ssoColumns+` FROM sso_connection
		WHERE account_id = (SELECT account_id FROM sso_domain WHERE domain = $1 AND verified_at IS NOT NULL)`, name)
	return &c, wrap(err, "find sso connection by domain")
}

// InsertSSOConnection stores a connection in place of the account's former one, whose
// identities and sessions end.
func (tx *Tx) InsertSSOConnection(ctx context.Context, c *domain.SSOConnection) error {
	if err := tx.DeleteSSOConnection(ctx, c.AccountID); err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	_, err := tx.exec(ctx, `
		INSERT INTO sso_connection (`+ssoColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
		c.AccountID, c.Issuer, c.ClientID, c.ClientSecret, c.DefaultRole, c.GroupsClaim, string(c.GroupRoles), c.TrustsEmail, c.OnlySSO,
		c.CreatedAt)
	return wrap(err, "insert sso connection")
}

// UpdateSSOConnection stores what can change without another provider.
func (tx *Tx) UpdateSSOConnection(ctx context.Context, c *domain.SSOConnection) error {
	result, err := tx.exec(ctx, `
		UPDATE sso_connection SET client_secret = $2, default_role = $3, groups_claim = $4, group_roles = $5, trusts_email = $6
		WHERE account_id = $1`,
		c.AccountID, c.ClientSecret, c.DefaultRole, c.GroupsClaim, string(c.GroupRoles), c.TrustsEmail)
	return changedOne(result, err, "update sso connection")
}

// DeleteSSOConnection deletes an account's connection with its identities and
// sessions, or returns ErrNotFound. Passwords work again.
func (tx *Tx) DeleteSSOConnection(ctx context.Context, account domain.AccountID) error {
	result, err := tx.exec(ctx, `
		WITH passwords AS (UPDATE staff_user SET break_glass = false WHERE account_id = $1 AND break_glass)
		DELETE FROM sso_connection WHERE account_id = $1`, account)
	return changedOne(result, err, "delete sso connection")
}

// SetOnlySSO stores whether the account's staff sign in only with their company, and who
// keeps the password; then the other sessions end.
func (tx *Tx) SetOnlySSO(ctx context.Context, account domain.AccountID, only bool, keep []domain.StaffID) error {
	result, err := tx.exec(ctx, `UPDATE sso_connection SET only_sso = $2 WHERE account_id = $1`, account, only)
	if err := changedOne(result, err, "set only sso"); err != nil {
		return err
	}
	// It waits for sign-ins that hold their user, so none slips through.
	_, err = tx.exec(ctx, `UPDATE staff_user SET break_glass = coalesce(id = ANY ($2), false) WHERE account_id = $1`, account,
		pq.Array(keep))
	if err != nil || !only {
		return wrap(err, "set who keeps the password")
	}
	_, err = tx.exec(ctx, `
		DELETE FROM staff_session s USING staff_user u
		WHERE u.id = s.staff_id AND u.account_id = $1 AND NOT u.break_glass AND s.sso_account_id IS NULL`, account)
	return wrap(err, "end sessions without sso")
}

// BreakGlass lists who of the account keeps the password, which works with an app alone. Whom
// the company brought has none.
func (q *Queries) BreakGlass(ctx context.Context, account domain.AccountID) ([]domain.StaffID, error) {
	var out []domain.StaffID
	err := q.all(ctx, &out, `
		SELECT id FROM staff_user
		WHERE account_id = $1 AND break_glass AND totp_secret IS NOT NULL AND password_hash IS NOT NULL ORDER BY id`, account)
	return out, wrap(err, "list who keeps the password")
}

// SSODomains lists an account's domains.
func (q *Queries) SSODomains(ctx context.Context, account domain.AccountID) ([]domain.SSODomain, error) {
	var out []domain.SSODomain
	err := q.all(ctx, &out, `
		SELECT account_id, domain, token, verified_at FROM sso_domain WHERE account_id = $1 ORDER BY domain`, account)
	return out, wrap(err, "list sso domains")
}

// InsertSSODomain stores a domain; one that the account has already stays as it is.
func (tx *Tx) InsertSSODomain(ctx context.Context, d *domain.SSODomain) error {
	_, err := tx.exec(ctx, `
		INSERT INTO sso_domain (account_id, domain, token) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`, d.AccountID, d.Domain, d.Token)
	return wrap(err, "insert sso domain")
}

// VerifySSODomain stores that the domain is the account's. Returns ErrDomainTaken, or
// ErrNotFound.
func (tx *Tx) VerifySSODomain(ctx context.Context, account domain.AccountID, name string, now time.Time) error {
	result, err := tx.exec(ctx, `
		UPDATE sso_domain SET verified_at = coalesce(verified_at, $3) WHERE account_id = $1 AND domain = $2`, account, name, now)
	if ConstraintViolated(err, "sso_domain_verified_key") {
		return ErrDomainTaken
	}
	return changedOne(result, err, "verify sso domain")
}

// DeleteSSODomain deletes a domain with all sessions by the account's connection, or returns
// ErrNotFound. The provider can have named another address than the stored one, so no session
// tells by which domain it was admitted. One that wasn't verified has admitted none.
func (tx *Tx) DeleteSSODomain(ctx context.Context, account domain.AccountID, name string) error {
	result, err := tx.exec(ctx, `
		WITH sessions AS (
			DELETE FROM staff_session
			WHERE sso_account_id = $1
				AND EXISTS (SELECT FROM sso_domain WHERE account_id = $1 AND domain = $2 AND verified_at IS NOT NULL))
		DELETE FROM sso_domain WHERE account_id = $1 AND domain = $2`, account, name)
	return changedOne(result, err, "delete sso domain")
}

// SSOStaff returns who a subject of the account's provider is, or ErrNotFound.
func (q *Queries) SSOStaff(ctx context.Context, account domain.AccountID, subject string) (*domain.Staff, error) {
	var s domain.Staff
	err := q.get(ctx, &s, `
		SELECT `+staffColumns+` FROM staff_user
		WHERE id = (SELECT staff_id FROM sso_identity WHERE account_id = $1 AND subject = $2)`, account, subject)
	return &s, wrap(err, "find staff user by subject")
}

// InsertSSOIdentity stores who a subject is. Returns ErrEmailTaken if the person or the
// subject has another one.
func (tx *Tx) InsertSSOIdentity(ctx context.Context, account domain.AccountID, subject string, staff domain.StaffID) error {
	result, err := tx.exec(ctx, `
		INSERT INTO sso_identity (account_id, subject, staff_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`, account, subject, staff)
	n, err := affected(result, err, "insert sso identity")
	if err == nil && n == 0 {
		return ErrEmailTaken
	}
	return err
}

// UseOnce stores that a value was used, and reports whether it was the first time.
func (tx *Tx) UseOnce(ctx context.Context, hash []byte, expires time.Time) (first bool, err error) {
	result, err := tx.exec(ctx, `INSERT INTO sso_used (hash, expires_at) VALUES ($1, $2) ON CONFLICT DO NOTHING`, hash, expires)
	n, err := affected(result, err, "use once")
	return n > 0, err
}

// DeleteUsed deletes up to limit values that have expired at now, and returns how many.
func (q *Queries) DeleteUsed(ctx context.Context, now time.Time, limit int) (int, error) {
	return q.deleteOld(ctx, "sso_used", "hash", "expires_at", now, limit, "delete used values")
}

// EndSSOSessions ends the sessions of a subject, or of one session of the provider, and
// returns how many. A session whose sid isn't known is the subject's.
func (tx *Tx) EndSSOSessions(ctx context.Context, account domain.AccountID, subject, sid string) (int, error) {
	result, err := tx.exec(ctx, `
		DELETE FROM staff_session s
		WHERE s.sso_account_id = $1
			AND ($2 = '' OR s.staff_id = (SELECT i.staff_id FROM sso_identity i WHERE i.account_id = $1 AND i.subject = $2))
			AND ($3 = '' OR s.sso_sid = $3 OR $2 <> '' AND s.sso_sid IS NULL)`, account, subject, sid)
	return affected(result, err, "end sso sessions")
}
