package db

import (
	"context"
	"time"

	"candor/internal/domain"
)

// presentURL is where delivery d goes when it is sent again: to the URL that its endpoint
// has now, or to its own if that was a session's (D109).
const presentURL = `coalesce((SELECT e.url FROM webhook_endpoint e WHERE e.id = d.endpoint_id), d.url)`

// Redeliver makes a delivery due at now, at its endpoint's present URL: a finished one from the start of the
// schedule under the same id, a pending one within the schedule it is in. A
// claim on it stays, so that an attempt under way isn't made twice; it counts as one
// from before, and another one follows (D99).
// ErrNotFound says that the scope has no such delivery, ErrState that its endpoint was
// deleted.
func (tx *Tx) Redeliver(ctx context.Context, scope domain.Scope, id domain.DeliveryID, now time.Time) (*domain.Delivery, error) {
	// Its event mustn't be deleted under it.
	var event domain.EventID
	err := tx.get(ctx, &event, `
		SELECT id FROM event WHERE id = (SELECT event_id FROM delivery WHERE id = $1 AND account_id = $2
			AND livemode = $3) FOR KEY SHARE`,
		id, scope.AccountID, scope.Livemode)
	if err != nil {
		return nil, wrap(err, "redeliver")
	}
	var out domain.Delivery
	err = tx.get(ctx, &out, `
		UPDATE delivery d SET next_attempt_at = $4, state = 'pending', finished_at = NULL, url = `+presentURL+`,
			cycle = cycle + (state <> 'pending' OR coalesce(lease_until > now(), false))::int, attempts = CASE
				WHEN state = 'pending' THEN attempts ELSE 0 END,
			redelivery_id = CASE WHEN state = 'pending' THEN redelivery_id END
		WHERE id = $1 AND account_id = $2 AND livemode = $3
			AND NOT EXISTS (SELECT 1 FROM webhook_endpoint e WHERE e.id = endpoint_id AND `+deletedEndpoint+`)
		RETURNING `+deliveryColumns, id, scope.AccountID, scope.Livemode, now)
	tx.Announce(scope, domain.DeliveryChanged, out.SessionID)
	return &out, wrapChange(err, "redeliver")
}

// CancelDelivery cancels a pending delivery of the scope at now. Returns ErrState
// if it isn't pending.
func (tx *Tx) CancelDelivery(ctx context.Context, scope domain.Scope, id domain.DeliveryID,
	now time.Time) (*domain.Delivery, error) {
	var out domain.Delivery
	err := tx.get(ctx, &out, `
		UPDATE delivery SET state = 'cancelled', next_attempt_at = NULL, finished_at = $4
		WHERE id = $1 AND account_id = $2 AND livemode = $3 AND state = 'pending'
		RETURNING `+deliveryColumns, id, scope.AccountID, scope.Livemode, now)
	tx.Announce(scope, domain.DeliveryChanged, out.SessionID)
	return &out, wrapChange(err, "cancel delivery")
}

// redelivered are the sources of what a redelivery with the filter makes again: those of an
// outage, or failing deliveries if it asks for them, else all failed ones.
func redelivered(f domain.DeliveryFilter) []deliverySource {
	if f.Undelivered != nil {
		return []deliverySource{{state: domain.DeliveryPending, failing: true}, {state: domain.DeliveryFailed}}
	}
	if f.Failing {
		f.Session = nil // which no redelivery is about
		return deliverySources(f)
	}
	return []deliverySource{{state: domain.DeliveryFailed}}
}

// CountFailed returns how many deliveries of the scope a redelivery with the filter,
// started now, would be about, to each endpoint, most first. Only the first are
// counted, up to limit, 0 for all.
func (q *Queries) CountFailed(ctx context.Context, scope domain.Scope, f domain.DeliveryFilter,
	limit int) ([]domain.FailedAt, error) {
	c := deliveryConditions(scope, f)
	if err := q.boundSequence(ctx, scope, f, c); err != nil {
		return nil, err
	}
	l := list{conditions: *c, columns: "endpoint_id, sequence", order: "sequence"}
	for _, source := range redelivered(f) {
		l.from("delivery", source.where())
	}
	if len(l.sources) == 0 {
		return nil, nil
	}
	most := sqlText("ALL")
	if limit > 0 {
		most = l.arg(limit)
	}
	var out []domain.FailedAt
	err := q.all(ctx, &out, `
		SELECT n.endpoint_id, e.site AS origin, n.count
		FROM (SELECT endpoint_id, count(*) FROM (`+l.first(most)+`) m GROUP BY endpoint_id) n
			JOIN webhook_endpoint e ON e.id = n.endpoint_id
		ORDER BY n.count DESC, e.site`, l.args...)
	return out, wrap(err, "count failed deliveries")
}

// RedeliveryOutcome says in which state how many deliveries are that a
// redelivery has made again, each counted to most and no further. Those that
// were made again by hand since aren't its own any more.
func (q *Queries) RedeliveryOutcome(ctx context.Context, id domain.RedeliveryID, most int) (map[domain.DeliveryState]int, error) {
	var rows []struct {
		State domain.DeliveryState `db:"state"`
		Count int                  `db:"count"`
	}
	err := q.all(ctx, &rows, `
		SELECT s.state, (
			SELECT count(*) FROM (
				SELECT 1 FROM delivery d
				WHERE d.redelivery_id > '00000000-0000-0000-0000-000000000000' AND d.redelivery_id = $1 AND d.state = s.state LIMIT $2) n
		) AS count
		FROM unnest(ARRAY['pending', 'delivered', 'failed', 'cancelled']) AS s (state)`, id, most)
	out := make(map[domain.DeliveryState]int, len(rows))
	for _, row := range rows {
		out[row.State] = row.Count
	}
	return out, wrap(err, "count what became of redelivery")
}

const redeliveryColumns = `id, account_id, livemode, since, until, endpoint_id, type, status, rate, state, matched, requeued, skipped,
	created_by, created_at, finished_at,
	coalesce((SELECT e.site FROM webhook_endpoint e WHERE e.id = endpoint_id), '') AS origin`

// InsertRedelivery stores a redelivery with the deliveries that CountFailed counts now,
// and sets how many they are.
func (tx *Tx) InsertRedelivery(ctx context.Context, r *domain.Redelivery, f domain.DeliveryFilter) error {
	_, err := tx.exec(ctx, `
		INSERT INTO redelivery (id, account_id, livemode, since, until, endpoint_id, type, status, rate, state, matched, paced_until,
			created_by, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0, clock_timestamp(), $11, $12)`,
		r.ID, r.AccountID, r.Livemode, r.Since, r.Until, r.EndpointID, r.EventType, r.Status, r.Rate, r.State, r.CreatedBy, r.CreatedAt)
	if err != nil {
		return wrap(err, "insert redelivery")
	}
	c := deliveryConditions(domain.Scope{AccountID: r.AccountID, Livemode: r.Livemode}, f)
	id := c.arg(r.ID)
	var parts []sqlText
	for _, source := range redelivered(f) {
		parts = append(parts, "SELECT "+id+"::uuid, endpoint_id, id FROM delivery WHERE "+c.where(source.where()))
	}
	err = tx.get(ctx, &r.Matched, `
		WITH items AS (
			INSERT INTO redelivery_item (redelivery_id, endpoint_id, delivery_id)
			`+joined(parts, " UNION ALL ")+`
			RETURNING 1
		)
		UPDATE redelivery SET matched = (SELECT count(*) FROM items) WHERE id = `+id+`::uuid RETURNING matched`, c.args...)
	return wrap(err, "insert redelivery items")
}

// Redelivery returns one of the scope's redeliveries, or ErrNotFound.
func (q *Queries) Redelivery(ctx context.Context, scope domain.Scope, id domain.RedeliveryID) (*domain.Redelivery, error) {
	var r domain.Redelivery
	err := q.get(ctx, &r, `SELECT `+redeliveryColumns+` FROM redelivery WHERE id = $1 AND account_id = $2 AND livemode = $3`,
		id, scope.AccountID, scope.Livemode)
	return &r, wrap(err, "get redelivery")
}

// RedeliveryScope returns the scope that a redelivery belongs to, or
// ErrNotFound.
func (q *Queries) RedeliveryScope(ctx context.Context, id domain.RedeliveryID) (domain.Scope, error) {
	var scope domain.Scope
	err := q.get(ctx, &scope, `SELECT account_id, livemode FROM redelivery WHERE id = $1`, id)
	return scope, wrap(err, "find redelivery")
}

// Redeliveries returns the scope's latest redeliveries, newest first.
func (q *Queries) Redeliveries(ctx context.Context, scope domain.Scope, limit int) ([]domain.Redelivery, error) {
	var out []domain.Redelivery
	err := q.all(ctx, &out, `
		SELECT `+redeliveryColumns+` FROM redelivery WHERE account_id = $1 AND livemode = $2 ORDER BY created_at DESC LIMIT $3`,
		scope.AccountID, scope.Livemode, limit)
	return out, wrap(err, "list redeliveries")
}

// StopRedelivery stops a running redelivery of the scope at now and returns it.
// After the commit it makes no delivery pending. Call ForgetRedeliveryItems to
// delete the items that are left. Returns ErrState if it doesn't run.
func (tx *Tx) StopRedelivery(ctx context.Context, scope domain.Scope, id domain.RedeliveryID,
	now time.Time) (*domain.Redelivery, error) {
	var r domain.Redelivery
	err := tx.get(ctx, &r, `
		UPDATE redelivery SET state = 'stopped', finished_at = $4 WHERE id = $1 AND account_id = $2 AND livemode = $3
			AND state = 'running'
		RETURNING `+redeliveryColumns, id, scope.AccountID, scope.Livemode, now)
	tx.Announce(scope, domain.DeliveryChanged, nil)
	return &r, wrapChange(err, "stop redelivery")
}

// ForgetRedeliveryItems deletes what a redelivery hadn't dealt with when it was
// stopped: on its own, so that many items don't hold up the stop.
func (q *Queries) ForgetRedeliveryItems(ctx context.Context, id domain.RedeliveryID) error {
	_, err := q.exec(ctx, `
		DELETE FROM redelivery_item WHERE redelivery_id = $1 AND EXISTS (SELECT 1 FROM redelivery WHERE id = $1
			AND state <> 'running')`, id)
	return wrap(err, "delete redelivery items")
}

// HoldRedeliveries lets one transaction at a time start a redelivery of the scope, and returns how
// many run: starts at the same time would all pass a limit. No row is locked, since many
// deliveries take long.
func (tx *Tx) HoldRedeliveries(ctx context.Context, scope domain.Scope) (running int, err error) {
	_, err = tx.exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended(concat_ws(' ', 'redelivery', $1::text, $2::bool), 0))`,
		scope.AccountID, scope.Livemode)
	if err != nil {
		return 0, wrap(err, "hold redeliveries")
	}
	err = tx.get(ctx, &running, `SELECT count(*) FROM redelivery WHERE account_id = $1 AND livemode = $2 AND state = 'running'`,
		scope.AccountID, scope.Livemode)
	return running, wrap(err, "count running redeliveries")
}

// StalledRedeliveries returns the running redeliveries that no worker has
// stepped for the time.
func (q *Queries) StalledRedeliveries(ctx context.Context, idle time.Duration) ([]domain.RedeliveryID, error) {
	var out []domain.RedeliveryID
	err := q.all(ctx, &out, `
		SELECT id FROM redelivery WHERE state = 'running' AND paced_until < clock_timestamp() - $1 * interval '1 microsecond'`,
		idle.Microseconds())
	return out, wrap(err, "find stalled redeliveries")
}

// DeleteRedeliveries deletes up to limit redeliveries that were started before
// the given time and have ended, and returns how many.
func (q *Queries) DeleteRedeliveries(ctx context.Context, before time.Time, limit int) (int, error) {
	result, err := q.exec(ctx, `
		DELETE FROM redelivery WHERE id IN (
			SELECT id FROM redelivery WHERE created_at <= $1 AND state <> 'running' ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED)`,
		before, limit)
	return affected(result, err, "delete redeliveries")
}
