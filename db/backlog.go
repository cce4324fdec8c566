package db

import (
	"context"
	"time"
)

// maxCounted bounds what counting the pending deliveries may cost.
const maxCounted = 100_000

// DeliveryBacklog is what waits to be delivered.
type DeliveryBacklog struct {
	Pending int64 `db:"pending"` // deliveries that haven't come to an end; 100,000 stands for that and more
	// when the oldest of them was made, without redeliveries and what is held (D110); nil for
	// none among the 10,000 oldest of each scope
	OldestPending *time.Time `db:"oldest_pending"`
	// due time of the oldest unclaimed delivery at an endpoint that isn't paused; nil for none
	OldestDue    *time.Time `db:"oldest_due"`
	DueEndpoints int64      `db:"due_endpoints"` // endpoints that have such a delivery
}

// DeliveryBacklog returns what waits to be delivered at now. It steps through
// the indexes of pending deliveries: what was delivered costs nothing.
func (q *Queries) DeliveryBacklog(ctx context.Context, now time.Time) (DeliveryBacklog, error) {
	var b DeliveryBacklog
	err := q.get(ctx, &b, `
		WITH RECURSIVE `+pendingEndpoints+`, due AS (
			SELECT (
				SELECT d.next_attempt_at FROM delivery d
				WHERE d.endpoint_id = p.endpoint_id AND d.next_attempt_at <= $1
					AND (d.lease_until IS NULL OR d.lease_until <= $1)
				ORDER BY d.next_attempt_at, d.sequence
				LIMIT 1) AS since
			FROM pending p WHERE p.endpoint_id IS NOT NULL
				AND NOT EXISTS (SELECT 1 FROM webhook_endpoint e WHERE e.id = p.endpoint_id AND `+heldEndpoint+`)
		), scope AS (
			(SELECT account_id, livemode FROM delivery WHERE state = 'pending' ORDER BY account_id, livemode LIMIT 1)
			UNION ALL
			SELECT next.account_id, next.livemode FROM scope s CROSS JOIN LATERAL (
				SELECT account_id, livemode FROM delivery
				WHERE state = 'pending' AND (account_id, livemode) > (s.account_id, s.livemode)
				ORDER BY account_id, livemode LIMIT 1) next
		), oldest AS (
			SELECT (
				SELECT d.created_at FROM (
					SELECT created_at, cycle, endpoint_id, sequence FROM delivery
					WHERE account_id = s.account_id AND livemode = s.livemode AND state = 'pending'
					ORDER BY sequence
					LIMIT 10000) d
				WHERE d.cycle = 1
					AND (SELECT true FROM webhook_endpoint e WHERE e.id = d.endpoint_id AND `+heldEndpoint+`) IS NULL
				ORDER BY d.sequence
				LIMIT 1) AS made_at
			FROM scope s
		)
		SELECT
			(SELECT count(*) FROM (
				SELECT FROM delivery WHERE next_attempt_at IS NOT NULL ORDER BY endpoint_id, next_attempt_at, sequence
					LIMIT $2) p) AS pending,
			(SELECT min(made_at) FROM oldest) AS oldest_pending,
			(SELECT min(since) FROM due) AS oldest_due,
			(SELECT count(since) FROM due) AS due_endpoints`,
		now, maxCounted)
	return b, wrap(err, "read delivery backlog")
}
