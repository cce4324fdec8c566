package db

import (
	"context"
	"time"

	"github.com/lib/pq"

	"candor/internal/domain"
)

const (
	planColumns = `p.id AS plan_id, p.name AS plan_name, p.rank AS plan_rank, p.sessions_included, p.overage_cents`

	subscriptionColumns = planColumns + `, s.id, s.account_id, s.status, s.started_at, s.effective_at, s.reason, s.billed_to, s.closes_at, s.next_plan_id,
		s.carried_sessions, s.carried_until`
)

// Plans lists the plans, the smallest first.
func (q *Queries) Plans(ctx context.Context) ([]domain.Plan, error) {
	var out []domain.Plan
	err := q.all(ctx, &out, `SELECT `+planColumns+` FROM plan p ORDER BY rank`)
	return out, wrap(err, "list plans")
}

// Plan returns a plan, or ErrNotFound.
func (q *Queries) Plan(ctx context.Context, id string) (*domain.Plan, error) {
	var p domain.Plan
	err := q.get(ctx, &p, `SELECT `+planColumns+` FROM plan p WHERE id = $1`, id)
	return &p, wrap(err, "get plan")
}

// InsertSubscription starts an account's subscription.
func (tx *Tx) InsertSubscription(ctx context.Context, s *domain.Subscription) error {
	_, err := tx.exec(ctx, `
		INSERT INTO subscription (id, account_id, plan_id, status, started_at, billed_to, closes_at, carried_sessions, carried_until)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
		s.SubscriptionID, s.AccountID, s.Plan.ID, s.Status, s.StartedAt, s.BilledTo, s.ClosesAt, s.CarriedSessions, s.CarriedUntil)
	return wrap(err, "insert subscription")
}

// Subscription returns the account's subscription at now, or ErrNotFound
// where there is none or it is past its effective date (D43).
func (q *Queries) Subscription(ctx context.Context, account domain.AccountID, now time.Time) (*domain.Subscription, error) {
	return q.subscription(ctx, account, &now, "")
}

// HoldSubscription returns the account's subscription at now and keeps its plan
// and periods as they are until the transaction ends; others can hold it, too.
// ErrNotFound where there is none.
func (tx *Tx) HoldSubscription(ctx context.Context, account domain.AccountID, now time.Time) (*domain.Subscription, error) {
	return tx.subscription(ctx, account, &now, "FOR KEY SHARE OF s")
}

// LockSubscription locks the account's newest subscription that isn't fully
// invoiced FOR UPDATE. Check Ended with a time read after the lock. Returns
// ErrNotFound if there is none.
func (tx *Tx) LockSubscription(ctx context.Context, account domain.AccountID) (*domain.Subscription, error) {
	return tx.subscription(ctx, account, nil, "FOR UPDATE OF s")
}

// LastSubscription returns the account's newest subscription, ended or not, or
// ErrNotFound.
func (tx *Tx) LastSubscription(ctx context.Context, account domain.AccountID) (*domain.Subscription, error) {
	var s domain.Subscription
	err := tx.get(ctx, &s, `
		SELECT `+subscriptionColumns+` FROM subscription s JOIN plan p ON p.id = s.plan_id
		WHERE s.account_id = $1
		ORDER BY s.started_at DESC, s.effective_at DESC
		LIMIT 1`, account)
	return &s, wrap(err, "get the last subscription")
}

// subscription is read in one statement: a lock that was waited for shows the
// row as it is then. The plan is joined after it, or it would be that of the
// row as it was before. What is invoiced to its end has ended, whatever now says;
// without now nothing else has.
func (q *Queries) subscription(ctx context.Context, account domain.AccountID, now *time.Time,
	lock sqlText) (*domain.Subscription, error) {
	var s domain.Subscription
	err := q.get(ctx, &s, `
		WITH s AS MATERIALIZED (
			SELECT * FROM subscription s
			WHERE account_id = $1 AND closes_at IS NOT NULL AND ($2::timestamptz IS NULL OR effective_at IS NULL OR effective_at > $2)
			ORDER BY started_at DESC
			LIMIT 1
			`+lock+`)
		SELECT `+subscriptionColumns+` FROM s JOIN plan p ON p.id = s.plan_id`,
		account, now)
	return &s, wrap(err, "get subscription")
}

// LockClosing locks a subscription, except those in without, whose period has
// ended before the time and isn't invoiced. It skips locked ones. Returns
// ErrNotFound if there is none.
func (tx *Tx) LockClosing(ctx context.Context, before time.Time, without []domain.SubscriptionID) (*domain.Subscription, error) {
	var s domain.Subscription
	err := tx.get(ctx, &s, `
		WITH s AS MATERIALIZED (
			SELECT * FROM subscription s
			WHERE closes_at <= $1 AND id <> ALL ($2::uuid[])
			ORDER BY closes_at
			LIMIT 1
			FOR UPDATE SKIP LOCKED)
		SELECT `+subscriptionColumns+` FROM s JOIN plan p ON p.id = s.plan_id`, before,
		pq.Array(append([]domain.SubscriptionID{}, without...))) // nil would be null
	return &s, wrap(err, "find period to close")
}

// UpdateSubscription stores what can change of a locked subscription.
func (tx *Tx) UpdateSubscription(ctx context.Context, s *domain.Subscription) error {
	result, err := tx.exec(ctx, `
		UPDATE subscription SET plan_id = $2, status = $3, effective_at = $4, reason = $5, billed_to = $6, closes_at = $7,
			next_plan_id = $8
		WHERE id = $1`,
		s.SubscriptionID, s.Plan.ID, s.Status, s.EffectiveAt, s.Reason, s.BilledTo, s.ClosesAt, s.NextPlanID)
	return changedOne(result, err, "update subscription")
}

// InsertPlanChange notes that a locked subscription moves to another plan
// within its open period, of which used sessions were used before.
func (tx *Tx) InsertPlanChange(ctx context.Context, s *domain.Subscription, to string, used int, now time.Time) error {
	_, err := tx.exec(ctx, `
		INSERT INTO plan_change (subscription_id, number, period_start, at, from_plan_id, to_plan_id, used)
		SELECT $1, 1 + count(*), $2, $3, $4, $5, $6 FROM plan_change WHERE subscription_id = $1 AND period_start = $2`,
		s.SubscriptionID, s.BilledTo, now, s.Plan.ID, to, used)
	return wrap(err, "insert plan change")
}

// PlanStretches returns the parts of a subscription's open period by plan.
func (q *Queries) PlanStretches(ctx context.Context, s *domain.Subscription) ([]domain.PlanStretch, error) {
	var changes []struct {
		domain.Plan
		Used int `db:"used"`
	}
	err := q.all(ctx, &changes, `
		SELECT `+planColumns+`, c.used FROM plan_change c JOIN plan p ON p.id = c.from_plan_id
		WHERE c.subscription_id = $1 AND c.period_start = $2 ORDER BY c.number`, s.SubscriptionID, s.BilledTo)
	if err != nil {
		return nil, wrap(err, "list plan changes")
	}
	var out []domain.PlanStretch
	carried := s.CarriedIn(s.BilledTo)
	from := carried
	for _, c := range changes {
		out = append(out, domain.PlanStretch{Plan: c.Plan, From: from})
		from = carried + c.Used
	}
	return append(out, domain.PlanStretch{Plan: s.Plan, From: from}), nil
}

// CountLiveSession counts one live session as used in the billing period
// that starts at periodStart (D42).
func (tx *Tx) CountLiveSession(ctx context.Context, account domain.AccountID, periodStart time.Time) error {
	_, err := tx.exec(ctx, `
		INSERT INTO subscription_usage AS u (account_id, period_start, shard, sessions)
		VALUES ($1, $2, pg_backend_pid() % 16, 1)
		ON CONFLICT (account_id, period_start, shard) DO UPDATE SET sessions = u.sessions + 1`,
		account, periodStart)
	return wrap(err, "count live session")
}

// UsedSessions returns how many live sessions were counted in the billing
// period that starts at periodStart.
func (q *Queries) UsedSessions(ctx context.Context, account domain.AccountID, periodStart time.Time) (int, error) {
	var n int
	err := q.get(ctx, &n, `
		SELECT coalesce(sum(sessions), 0) FROM subscription_usage WHERE account_id = $1 AND period_start = $2`,
		account, periodStart)
	return n, wrap(err, "sum used sessions")
}

// LatestLiveSession returns when the newest of the account's live sessions was
// created that are counted since the time, or ErrNotFound.
func (tx *Tx) LatestLiveSession(ctx context.Context, account domain.AccountID, since time.Time) (time.Time, error) {
	var at time.Time
	err := tx.get(ctx, &at, `
		SELECT created_at FROM session WHERE account_id = $1 AND livemode AND created_at >= $2
		ORDER BY created_at DESC LIMIT 1`, account, since)
	return at.UTC(), wrap(err, "find the latest live session")
}

// recountInvoices is for how long after it was made an invoice is recounted, as
// the last recount of its period was up to a day before its end.
const recountInvoices = 3 * 24 * time.Hour

// UsageDrifts recounts the open period of each subscription that isn't past
// its effective date at now, and what was invoiced in the last three days, and
// returns what differs.
func (q *Queries) UsageDrifts(ctx context.Context, now time.Time) ([]domain.UsageDrift, error) {
	var out []domain.UsageDrift
	err := q.all(ctx, &out, `
		SELECT s.account_id, s.billed_to AS period_start, c.counted, n.sessions
		FROM subscription s
		CROSS JOIN LATERAL (
			SELECT coalesce(sum(sessions), 0) AS counted FROM subscription_usage u WHERE u.account_id = s.account_id
				AND u.period_start = s.billed_to) c
		CROSS JOIN LATERAL (
			SELECT count(*) AS sessions FROM session n
			WHERE n.account_id = s.account_id AND n.livemode AND n.created_at >= s.billed_to AND n.created_at < s.closes_at) n
		WHERE s.closes_at IS NOT NULL AND (s.effective_at IS NULL OR s.effective_at > $1) AND c.counted <> n.sessions
		UNION ALL
		SELECT i.account_id, i.period_start, i.sessions_used AS counted, n.sessions
		FROM invoice i
		CROSS JOIN LATERAL (
			SELECT count(*) AS sessions FROM session n
			WHERE n.account_id = i.account_id AND n.livemode AND n.created_at >= i.period_start AND n.created_at < i.period_end) n
		WHERE i.issued_at > $2 AND i.sessions_used <> n.sessions
		ORDER BY account_id, period_start`, now, now.Add(-recountInvoices))
	return out, wrap(err, "recount usage")
}
