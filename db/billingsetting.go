package db

import (
	"context"
	"errors"
	"time"

	"github.com/lib/pq"

	"candor/internal/domain"
	"candor/internal/statement"
)

// Buyer returns what an account sets about itself for its invoices, the zero
// value for nothing.
func (q *Queries) Buyer(ctx context.Context, account domain.AccountID) (domain.Buyer, error) {
	var b domain.Buyer
	err := q.get(ctx, &b, `SELECT buyer FROM billing_setting WHERE account_id = $1`, account)
	if err = wrap(err, "get buyer"); errors.Is(err, ErrNotFound) {
		return domain.Buyer{}, nil
	}
	return b, err
}

// SetBuyer stores what an account sets about itself for its invoices.
func (tx *Tx) SetBuyer(ctx context.Context, account domain.AccountID, b domain.Buyer) error {
	_, err := tx.exec(ctx, `
		INSERT INTO billing_setting (account_id, buyer) VALUES ($1, $2)
		ON CONFLICT (account_id) DO UPDATE SET buyer = excluded.buyer`, account, b)
	return wrap(err, "set buyer")
}

// spendRow is an account's spend limits as they are stored.
type spendRow struct {
	AccountID domain.AccountID `db:"account_id"`
	Cap       *statement.Cents `db:"spend_cap_cents"`
	Alerts    pq.Int64Array    `db:"alert_cents"`
}

func (r *spendRow) limits() domain.SpendLimits {
	out := domain.SpendLimits{Cap: r.Cap}
	for _, cents := range r.Alerts {
		out.Alerts = append(out.Alerts, statement.Cents(cents))
	}
	return out
}

// SpendLimits returns an account's spend limits, the zero value for none.
func (q *Queries) SpendLimits(ctx context.Context, account domain.AccountID) (domain.SpendLimits, error) {
	var r spendRow
	err := q.get(ctx, &r, `SELECT account_id, spend_cap_cents, alert_cents FROM billing_setting WHERE account_id = $1`, account)
	if err = wrap(err, "get spend limits"); errors.Is(err, ErrNotFound) {
		return domain.SpendLimits{}, nil
	}
	return r.limits(), err
}

// SetSpendLimits stores an account's spend limits.
func (tx *Tx) SetSpendLimits(ctx context.Context, account domain.AccountID, l domain.SpendLimits) error {
	alerts := pq.Int64Array{} // nil would be stored as null
	for _, cents := range l.Alerts {
		alerts = append(alerts, int64(cents))
	}
	_, err := tx.exec(ctx, `
		INSERT INTO billing_setting (account_id, spend_cap_cents, alert_cents) VALUES ($1, $2, $3)
		ON CONFLICT (account_id) DO UPDATE SET spend_cap_cents = excluded.spend_cap_cents, alert_cents = excluded.alert_cents`,
		account, l.Cap, alerts)
	return wrap(err, "set spend limits")
}

// LockSpendCap returns the account's spend cap, nil for none. Transactions that
// call it for one account take turns.
func (tx *Tx) LockSpendCap(ctx context.Context, account domain.AccountID) (*statement.Cents, error) {
	var limit *statement.Cents
	err := tx.get(ctx, &limit, `SELECT spend_cap_cents FROM billing_setting WHERE account_id = $1 FOR NO KEY UPDATE`, account)
	if err = wrap(err, "lock spend cap"); errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	return limit, err
}

// SpendingAccounts returns the accounts with spend limits that have used what
// their plan includes in the open period, or have changed the plan in it.
func (q *Queries) SpendingAccounts(ctx context.Context, now time.Time) (map[domain.AccountID]domain.SpendLimits, error) {
	var rows []spendRow
	err := q.all(ctx, &rows, `
		SELECT b.account_id, b.spend_cap_cents, b.alert_cents
		FROM billing_setting b
		JOIN subscription s ON s.account_id = b.account_id AND s.closes_at IS NOT NULL AND (s.effective_at IS NULL
			OR s.effective_at > $1)
		JOIN plan p ON p.id = s.plan_id AND p.sessions_included IS NOT NULL
		WHERE (b.spend_cap_cents IS NOT NULL OR b.alert_cents <> '{}')
			AND ((SELECT coalesce(sum(sessions), 0) + CASE WHEN s.billed_to = s.started_at THEN s.carried_sessions ELSE 0 END
					FROM subscription_usage u WHERE u.account_id = s.account_id AND u.period_start = s.billed_to) >= p.sessions_included
				OR EXISTS (SELECT 1 FROM plan_change c WHERE c.subscription_id = s.id AND c.period_start = s.billed_to))`, now)
	out := make(map[domain.AccountID]domain.SpendLimits, len(rows))
	for _, r := range rows {
		out[r.AccountID] = r.limits()
	}
	return out, wrap(err, "list spending accounts")
}

// SpendNotices returns the spend notices that an account got in a period.
func (q *Queries) SpendNotices(ctx context.Context, account domain.AccountID, periodStart time.Time) ([]domain.SpendNotice,
	error) {
	var out []domain.SpendNotice
	err := q.all(ctx, &out, `
		SELECT account_id, period_start, cap, cents FROM spend_notice WHERE account_id = $1
			AND period_start = $2`, account, periodStart)
	return out, wrap(err, "list spend notices")
}

// InsertSpendNotice records that an account gets a notice. It returns
// false if it was before.
func (tx *Tx) InsertSpendNotice(ctx context.Context, n domain.SpendNotice, now time.Time) (bool, error) {
	result, err := tx.exec(ctx, `
		INSERT INTO spend_notice (account_id, period_start, cap, cents, at) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`,
		n.AccountID, n.PeriodStart, n.Cap, n.Cents, now)
	inserted, err := affected(result, err, "insert spend notice")
	return inserted > 0, err
}

// BilledSessions returns up to limit of the account's live sessions that were
// created in a period, oldest first, from the one after last on; nil for the
// oldest.
func (q *Queries) BilledSessions(ctx context.Context, account domain.AccountID, p domain.Period, last *domain.BilledSession,
	limit int) ([]domain.BilledSession, error) {
	var out []domain.BilledSession
	if last == nil {
		err := q.all(ctx, &out, `
			SELECT id, reference_id, created_at FROM session
			WHERE account_id = $1 AND livemode AND created_at >= $2 AND created_at < $3
			ORDER BY created_at, id LIMIT $4`, account, p.Start, p.End, limit)
		return out, wrap(err, "list billed sessions")
	}
	err := q.all(ctx, &out, `
		SELECT id, reference_id, created_at FROM session
		WHERE account_id = $1 AND livemode AND created_at < $2 AND (created_at, id) > ($3, $4)
		ORDER BY created_at, id LIMIT $5`, account, p.End, last.CreatedAt, last.ID, limit)
	return out, wrap(err, "list billed sessions")
}
