package db

import (
	"context"
	"errors"
	"time"

	"github.com/lib/pq"

	"candor/internal/domain"
)

const (
	// redeliveryRoom is how many deliveries redeliveries may have made pending
	// at an endpoint that weren't attempted yet. New events wait behind
	// so many at most, however slowly the endpoint answers.
	redeliveryRoom = 32
	// redeliveryCatchUp is the longest pause, in seconds, after which the rate
	// is made up for: longer ones are lost, so that there is no burst.
	redeliveryCatchUp = 2
)

// RedeliveryStep is what one step of a redelivery did.
type RedeliveryStep struct {
	Endpoints []domain.EndpointID // that have something due now
	Ended     bool                // it is done, stopped or unknown
	Idle      bool                // its rate permits more, but no endpoint has room
}

// StepRedelivery makes pending, due at now, as many of a redelivery's
// deliveries as its rate permits since the step before, oldest first, and no
// more than their endpoints have room for. What it has dealt with leaves the
// redelivery in the same transaction, so each is dealt with once, whatever
// crashes. Of steps side by side one works and the others do nothing.
func (d *DB) StepRedelivery(ctx context.Context, id domain.RedeliveryID, now time.Time) (RedeliveryStep, error) {
	var step RedeliveryStep
	err := d.InTx(ctx, func(tx *Tx) error {
		step = RedeliveryStep{}
		budget, err := tx.takeRate(ctx, id)
		switch {
		case errors.Is(err, ErrState):
			step.Ended, err = tx.redeliveryEnded(ctx, id)
			return err
		case err != nil:
			return err
		}
		if step.Endpoints, err = tx.requeue(ctx, id, budget, now); err != nil {
			return err
		}
		scope, err := tx.RedeliveryScope(ctx, id)
		if err != nil {
			return err
		}
		tx.Announce(scope, domain.DeliveryChanged, nil)
		step.Ended, err = tx.finishRedelivery(ctx, id, now)
		step.Idle = budget > 0 && len(step.Endpoints) == 0 && !step.Ended
		return err
	})
	return step, err
}

// takeRate locks a running redelivery and returns how many deliveries its
// rate permits now, which are taken from it. The database's clock is the one
// that all workers have in common. Returns ErrState if the redelivery doesn't
// run or another step has locked it.
func (tx *Tx) takeRate(ctx context.Context, id domain.RedeliveryID) (int, error) {
	var budget int
	err := tx.get(ctx, &budget, `
		WITH r AS (
			SELECT id, rate, t.now, greatest(least(paced_until, t.now), t.now - $2 * interval '1 second') AS paced
			FROM redelivery, (SELECT clock_timestamp() AS now) t
			WHERE id = $1 AND state = 'running' FOR UPDATE OF redelivery SKIP LOCKED
		), due AS (
			SELECT id, rate, paced, floor(extract(epoch FROM now - paced) * rate)::int AS budget FROM r
		)
		UPDATE redelivery SET paced_until = due.paced + due.budget * interval '1 second' / due.rate
		FROM due WHERE redelivery.id = due.id
		RETURNING due.budget`, id, redeliveryCatchUp)
	return budget, wrapChange(err, "take redelivery rate")
}

// redeliveryEnded tells a redelivery that doesn't run from one that another
// step has.
func (tx *Tx) redeliveryEnded(ctx context.Context, id domain.RedeliveryID) (bool, error) {
	var runs bool
	err := tx.get(ctx, &runs, `SELECT EXISTS (SELECT 1 FROM redelivery WHERE id = $1 AND state = 'running')`, id)
	return !runs, wrap(err, "get redelivery state")
}

// requeue deals with up to limit deliveries and returns their endpoints. One that
// neither failed nor waits for its next attempt, that is being attempted, that was
// deleted or whose endpoint was is skipped (D107).
func (tx *Tx) requeue(ctx context.Context, id domain.RedeliveryID, limit int, now time.Time) ([]domain.EndpointID, error) {
	if limit == 0 {
		return nil, nil
	}
	var endpoints []string
	err := tx.get(ctx, pq.Array(&endpoints), `
		WITH RECURSIVE theirs AS ( -- endpoints with items, one after the other by the key, and a row without one
			(SELECT endpoint_id AS id FROM redelivery_item WHERE redelivery_id = $1 ORDER BY endpoint_id LIMIT 1)
			UNION ALL
			SELECT (SELECT endpoint_id FROM redelivery_item WHERE redelivery_id = $1 AND endpoint_id > t.id ORDER BY endpoint_id LIMIT 1)
			FROM theirs t WHERE t.id IS NOT NULL
		), room AS MATERIALIZED (
			SELECT t.id, greatest(0, $4 - (
				SELECT count(*) FROM delivery d
				WHERE d.endpoint_id = t.id AND d.finished_at IS NULL AND d.attempts = 0 AND d.redelivery_id IS NOT NULL)) AS free
			FROM theirs t WHERE t.id IS NOT NULL
		), next AS MATERIALIZED (
			SELECT i.endpoint_id, i.delivery_id
			FROM room CROSS JOIN LATERAL (
				SELECT * FROM redelivery_item WHERE redelivery_id = $1 AND endpoint_id = room.id ORDER BY delivery_id LIMIT room.free) i
			ORDER BY i.delivery_id LIMIT $2
		), kept AS MATERIALIZED ( -- events that retention isn't deleting
			SELECT d.id AS delivery_id FROM next JOIN delivery d ON d.id = next.delivery_id JOIN event e ON e.id = d.event_id
			FOR KEY SHARE OF e SKIP LOCKED
		), locked AS MATERIALIZED (
			SELECT d.id FROM delivery d JOIN kept ON kept.delivery_id = d.id
			WHERE NOT EXISTS (SELECT 1 FROM webhook_endpoint e WHERE e.id = d.endpoint_id AND `+deletedEndpoint+`)
				AND CASE d.state WHEN 'failed' THEN true WHEN 'pending' THEN d.attempts > 0 AND (d.lease_until IS NULL
					OR d.lease_until <= now()) ELSE false END
			ORDER BY d.id FOR UPDATE OF d
		), requeued AS (
			UPDATE delivery d SET state = 'pending', cycle = cycle + 1, attempts = 0, next_attempt_at = $3, finished_at = NULL,
				redelivery_id = $1, url = `+presentURL+`
			FROM locked WHERE d.id = locked.id
			RETURNING d.endpoint_id
		), dealt AS (
			DELETE FROM redelivery_item i USING next
			WHERE i.redelivery_id = $1 AND i.endpoint_id = next.endpoint_id AND i.delivery_id = next.delivery_id
		)
		UPDATE redelivery SET requeued = requeued + (SELECT count(*) FROM requeued),
			skipped = skipped + (SELECT count(*) FROM next) - (SELECT count(*) FROM requeued)
		WHERE id = $1
		RETURNING (SELECT coalesce(array_agg(DISTINCT endpoint_id), '{}') FROM requeued)`, id, limit, now, redeliveryRoom)
	if err != nil {
		return nil, wrap(err, "requeue deliveries")
	}
	out := make([]domain.EndpointID, len(endpoints))
	for i, text := range endpoints {
		if err := out[i].Scan(text); err != nil {
			return nil, wrap(err, "requeue deliveries")
		}
	}
	return out, nil
}

// finishRedelivery marks a redelivery done that has nothing more to do.
func (tx *Tx) finishRedelivery(ctx context.Context, id domain.RedeliveryID, now time.Time) (bool, error) {
	result, err := tx.exec(ctx, `
		UPDATE redelivery SET state = 'done', finished_at = $2
		WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM redelivery_item WHERE redelivery_id = $1)`, id, now)
	n, err := affected(result, err, "finish redelivery")
	return n > 0, err
}
