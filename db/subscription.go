package db

import (
	"context"
	"time"

	"github.com/google/uuid"

	"candor/intake"
)

// InsertSubscription starts an account's subscription to a plan.
func (tx *Tx) InsertSubscription(ctx context.Context, account intake.AccountID, planID string, startedAt time.Time) error {
	_, err := tx.ExecContext(ctx, `
		INSERT INTO subscription (id, account_id, plan_id, status, started_at)
		VALUES ($1, $2, $3, 'active', $4)`,
		uuid.Must(uuid.NewV7()), account, planID, startedAt)
	return wrap(err, "insert subscription")
}

// Subscription returns the account's subscription at now, or ErrNotFound
// where there is none or it is past its effective date (D43).
func (d *DB) Subscription(ctx context.Context, account intake.AccountID, now time.Time) (*intake.Subscription, error) {
	return subscription(ctx, d, account, now)
}

// Subscription returns the account's subscription at now, or ErrNotFound.
func (tx *Tx) Subscription(ctx context.Context, account intake.AccountID, now time.Time) (*intake.Subscription, error) {
	return subscription(ctx, tx, account, now)
}

func subscription(ctx context.Context, q Queryer, account intake.AccountID, now time.Time) (*intake.Subscription, error) {
	var s intake.Subscription
	err := q.GetContext(ctx, &s, `
		SELECT s.plan_id, p.name AS plan_name, p.sessions_included, p.overage_cents, s.status, s.started_at, s.effective_at
		FROM subscription s JOIN plan p ON p.id = s.plan_id
		WHERE s.account_id = $1 AND (s.effective_at IS NULL OR s.effective_at > $2)
		ORDER BY s.started_at DESC
		LIMIT 1`,
		account, now)
	return &s, wrap(err, "get subscription")
}

// CountLiveSession counts one live session as used in the billing period
// that starts at periodStart (D42).
func (tx *Tx) CountLiveSession(ctx context.Context, account intake.AccountID, periodStart time.Time) error {
	_, err := tx.ExecContext(ctx, `
		INSERT INTO subscription_usage AS u (account_id, period_start, shard, sessions)
		VALUES ($1, $2, pg_backend_pid() % 16, 1)
		ON CONFLICT (account_id, period_start, shard) DO UPDATE SET sessions = u.sessions + 1`,
		account, periodStart)
	return wrap(err, "count live session")
}

// UsedSessions returns how many live sessions were counted in the billing
// period that starts at periodStart.
func (d *DB) UsedSessions(ctx context.Context, account intake.AccountID, periodStart time.Time) (int, error) {
	var n int
	err := d.GetContext(ctx, &n, `
		SELECT coalesce(sum(sessions), 0) FROM subscription_usage WHERE account_id = $1 AND period_start = $2`,
		account, periodStart)
	return n, wrap(err, "sum used sessions")
}
