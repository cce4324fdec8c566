package db

import (
	"context"
	"time"

	"candor/internal/domain"
)

// EndpointSecrets is what an endpoint's webhooks are signed with, sealed, and its URL.
// Secret signs; NextSecret, being deployed by the partner, signs along with it (D35);
// PreviousSecret signs nothing and may be restored until its time, erased or not (D36).
type EndpointSecrets struct {
	URL                 *string    `db:"url"` // nil for none
	Secret              []byte     `db:"secret"`
	NextSecret          []byte     `db:"next_secret"`
	NextSecretAt        *time.Time `db:"next_secret_at"`
	PreviousSecret      []byte     `db:"previous_secret"`
	PreviousSecretUntil *time.Time `db:"previous_secret_until"`
}

// The methods of this file are about an endpoint of a scope that was set up: that of
// the id, or the default endpoint for nil. withSecrets is their condition.
const withSecrets = `account_id = $1 AND livemode = $2 AND secret IS NOT NULL AND (id = $3 OR $3::uuid IS NULL AND is_default)` //nolint:gosec // a condition, no credential

// EndpointSecrets returns an endpoint's secrets, or ErrNotFound.
func (q *Queries) EndpointSecrets(ctx context.Context, scope domain.Scope, id *domain.EndpointID) (*EndpointSecrets, error) {
	var s EndpointSecrets
	err := q.get(ctx, &s, `
		SELECT url, secret, next_secret, next_secret_at, previous_secret, previous_secret_until
		FROM webhook_endpoint WHERE `+withSecrets,
		scope.AccountID, scope.Livemode, id)
	return &s, wrap(err, "get webhook secrets")
}

// SigningSecrets returns what the webhooks of a scope's endpoint are signed with, the
// current secret and the next one: its own, or those of the default endpoint if it
// stands for URLs of sessions (D33). ErrNotFound if it was deleted.
func (q *Queries) SigningSecrets(ctx context.Context, scope domain.Scope, id domain.EndpointID) (*EndpointSecrets, error) {
	var s EndpointSecrets
	err := q.get(ctx, &s, `
		SELECT secret, next_secret FROM webhook_endpoint
		WHERE account_id = $1 AND livemode = $2 AND secret IS NOT NULL
			AND (id = $3 OR is_default AND NOT EXISTS (SELECT 1 FROM webhook_endpoint d WHERE d.id = $3 AND d.deleted_at IS NOT NULL))
		ORDER BY id = $3 DESC LIMIT 1`,
		scope.AccountID, scope.Livemode, id)
	return &s, wrap(err, "get signing secrets")
}

// SetNextSecret stores a next secret. Returns ErrState if there is one, which the
// partner may be deploying.
func (tx *Tx) SetNextSecret(ctx context.Context, scope domain.Scope, id *domain.EndpointID, next []byte, now time.Time) error {
	result, err := tx.exec(ctx, `
		UPDATE webhook_endpoint SET next_secret = $4, next_secret_at = $5
		WHERE next_secret IS NULL AND `+withSecrets,
		scope.AccountID, scope.Livemode, id, next, now)
	return changedState(result, err, "set next webhook secret")
}

// SwitchSecret makes the next secret the current one, and the current one the
// previous one until the given time. An older previous secret is lost. Returns
// ErrState if there is no next secret.
func (tx *Tx) SwitchSecret(ctx context.Context, scope domain.Scope, id *domain.EndpointID, until time.Time) error {
	result, err := tx.exec(ctx, `
		UPDATE webhook_endpoint SET secret = next_secret, next_secret = NULL, next_secret_at = NULL,
			previous_secret = secret, previous_secret_until = $4
		WHERE next_secret IS NOT NULL AND `+withSecrets,
		scope.AccountID, scope.Livemode, id, until)
	return changedState(result, err, "switch webhook secret")
}

// RestoreSecret makes the previous secret the current one, and the current one
// the next. Returns ErrState if the previous secret has expired at now, if there
// is none, or if there is a next secret, which would be lost.
func (tx *Tx) RestoreSecret(ctx context.Context, scope domain.Scope, id *domain.EndpointID, now time.Time) error {
	result, err := tx.exec(ctx, `
		UPDATE webhook_endpoint SET secret = previous_secret, previous_secret = NULL, previous_secret_until = NULL,
			next_secret = secret, next_secret_at = $4
		WHERE previous_secret_until > $4 AND next_secret IS NULL AND `+withSecrets,
		scope.AccountID, scope.Livemode, id, now)
	return changedState(result, err, "restore webhook secret")
}

// AbandonNextSecret erases the next secret. Returns ErrState if there is none.
func (tx *Tx) AbandonNextSecret(ctx context.Context, scope domain.Scope, id *domain.EndpointID) error {
	result, err := tx.exec(ctx, `
		UPDATE webhook_endpoint SET next_secret = NULL, next_secret_at = NULL
		WHERE next_secret IS NOT NULL AND `+withSecrets,
		scope.AccountID, scope.Livemode, id)
	return changedState(result, err, "abandon next webhook secret")
}

// ErasePreviousSecrets erases the previous secrets whose time is over at now.
func (q *Queries) ErasePreviousSecrets(ctx context.Context, now time.Time) error {
	_, err := q.exec(ctx, `
		UPDATE webhook_endpoint SET previous_secret = NULL, previous_secret_until = NULL
		WHERE previous_secret IS NOT NULL AND previous_secret_until <= $1`, now)
	return wrap(err, "erase previous webhook secrets")
}
