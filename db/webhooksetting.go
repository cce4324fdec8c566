package db

import (
	"context"
	"time"

	"candor/internal/domain"
)

// WebhookSetting is what is stored of a scope's webhooks; the secrets are
// sealed. Secret signs; NextSecret, being deployed by the partner, signs along
// with it (D35); PreviousSecret signs nothing and may be restored until its
// time, erased or not (D36).
type WebhookSetting struct {
	DefaultURL          *string    `db:"default_url"`
	Secret              []byte     `db:"secret"`
	NextSecret          []byte     `db:"next_secret"`
	NextSecretAt        *time.Time `db:"next_secret_at"`
	PreviousSecret      []byte     `db:"previous_secret"`
	PreviousSecretUntil *time.Time `db:"previous_secret_until"`
}

// InsertWebhookSetting stores a scope's webhook setting, with its current
// secret alone.
func (tx *Tx) InsertWebhookSetting(ctx context.Context, scope domain.Scope, w *WebhookSetting) error {
	_, err := tx.exec(ctx, `
		INSERT INTO webhook_setting (account_id, livemode, default_url, secret)
		VALUES ($1, $2, $3, $4)`,
		scope.AccountID, scope.Livemode, w.DefaultURL, w.Secret)
	return wrap(err, "insert webhook setting")
}

// WebhookSetting returns a scope's webhook setting, or ErrNotFound.
func (q *Queries) WebhookSetting(ctx context.Context, scope domain.Scope) (*WebhookSetting, error) {
	var w WebhookSetting
	err := q.get(ctx, &w, `
		SELECT default_url, secret, next_secret, next_secret_at, previous_secret, previous_secret_until
		FROM webhook_setting
		WHERE account_id = $1 AND livemode = $2`,
		scope.AccountID, scope.Livemode)
	return &w, wrap(err, "get webhook setting")
}

// SetDefaultURL sets where a scope's events go that no session's own URL
// takes (D33); nil sends them nowhere.
func (tx *Tx) SetDefaultURL(ctx context.Context, scope domain.Scope, url *string) error {
	result, err := tx.exec(ctx, `
		UPDATE webhook_setting SET default_url = $3 WHERE account_id = $1 AND livemode = $2`,
		scope.AccountID, scope.Livemode, url)
	return changedOne(result, err, "set default webhook URL")
}

// SetNextSecret stores a next secret. Returns ErrState if there is one, which the
// partner may be deploying.
func (tx *Tx) SetNextSecret(ctx context.Context, scope domain.Scope, next []byte, now time.Time) error {
	result, err := tx.exec(ctx, `
		UPDATE webhook_setting SET next_secret = $3, next_secret_at = $4
		WHERE account_id = $1 AND livemode = $2 AND next_secret IS NULL`,
		scope.AccountID, scope.Livemode, next, now)
	return changedState(result, err, "set next webhook secret")
}

// SwitchSecret makes the next secret the current one, and the current one the
// previous one until the given time. An older previous secret is lost. Returns
// ErrState if there is no next secret.
func (tx *Tx) SwitchSecret(ctx context.Context, scope domain.Scope, until time.Time) error {
	result, err := tx.exec(ctx, `
		UPDATE webhook_setting SET secret = next_secret, next_secret = NULL, next_secret_at = NULL,
			previous_secret = secret, previous_secret_until = $3
		WHERE account_id = $1 AND livemode = $2 AND next_secret IS NOT NULL`,
		scope.AccountID, scope.Livemode, until)
	return changedState(result, err, "switch webhook secret")
}

// RestoreSecret makes the previous secret the current one, and the current one
// the next. Returns ErrState if the previous secret has expired at now, if there
// is none, or if there is a next secret, which would be lost.
func (tx *Tx) RestoreSecret(ctx context.Context, scope domain.Scope, now time.Time) error {
	result, err := tx.exec(ctx, `
		UPDATE webhook_setting SET secret = previous_secret, previous_secret = NULL, previous_secret_until = NULL,
			next_secret = secret, next_secret_at = $3
		WHERE account_id = $1 AND livemode = $2 AND previous_secret_until > $3 AND next_secret IS NULL`,
		scope.AccountID, scope.Livemode, now)
	return changedState(result, err, "restore webhook secret")
}

// AbandonNextSecret erases the next secret. Returns ErrState if there is none.
func (tx *Tx) AbandonNextSecret(ctx context.Context, scope domain.Scope) error {
	result, err := tx.exec(ctx, `
		UPDATE webhook_setting SET next_secret = NULL, next_secret_at = NULL
		WHERE account_id = $1 AND livemode = $2 AND next_secret IS NOT NULL`,
		scope.AccountID, scope.Livemode)
	return changedState(result, err, "abandon next webhook secret")
}

// ErasePreviousSecrets erases the previous secrets whose time is over at now.
func (q *Queries) ErasePreviousSecrets(ctx context.Context, now time.Time) error {
	_, err := q.exec(ctx, `
		UPDATE webhook_setting SET previous_secret = NULL, previous_secret_until = NULL
		WHERE previous_secret IS NOT NULL AND previous_secret_until <= $1`, now)
	return wrap(err, "erase previous webhook secrets")
}
