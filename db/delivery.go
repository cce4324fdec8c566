package db

import (
	"context"
	"errors"
	"time"

	"github.com/lib/pq"

	"candor/internal/domain"
)

const deliveryColumns = `id, account_id, livemode, event_id, type, endpoint_id, session_id, sequence, url, state,
	cycle, attempts, attempts_total, first_attempt_at, next_attempt_at, finished_at, last_status_code, last_error_class, created_at`

const attemptListColumns = `delivery_id, number, started_at, duration_ms, status_code, error_class, error, request_headers, response`

// InsertDelivery stores the deliveries of an event, in one statement: those after the
// first are further ones, which the event doesn't name.
func (tx *Tx) InsertDelivery(ctx context.Context, first *domain.Delivery, further ...*domain.Delivery) error {
	all := append([]*domain.Delivery{first}, further...)
	ids, endpoints, urls := make([]string, len(all)), make([]string, len(all)), make([]string, len(all))
	for i, d := range all {
		ids[i], endpoints[i], urls[i] = d.ID.UUID.String(), d.EndpointID.UUID.String(), d.URL
	}
	_, err := tx.exec(ctx, `
		INSERT INTO delivery (id, endpoint_id, url, further, account_id, livemode, event_id, type, session_id, sequence, state,
			next_attempt_at, created_at)
		SELECT id, endpoint_id, url, place > 1, $4, $5, $6, $7, $8, $9, $10, $11, $12
		FROM unnest($1::uuid[], $2::uuid[], $3::text[]) WITH ORDINALITY AS d (id, endpoint_id, url, place)`,
		pq.Array(ids), pq.Array(endpoints), pq.Array(urls),
		first.AccountID, first.Livemode, first.EventID, first.EventType, first.SessionID, first.Sequence, first.State,
		first.NextAttemptAt, first.CreatedAt)
	tx.Announce(domain.Scope{AccountID: first.AccountID, Livemode: first.Livemode}, domain.DeliveryChanged, first.SessionID)
	return wrap(err, "insert deliveries")
}

// ClaimedDelivery is a delivery that this process may attempt until its lease
// ends, with all that an attempt needs.
type ClaimedDelivery struct {
	domain.Delivery
	LeaseUntil time.Time `db:"lease_until"` // by the database's clock
	Body       []byte    `db:"body"`
}

// ClaimDeliveries claims up to limit of an endpoint's deliveries that are due
// at now, for as long as lease; none of one that is held (D110). A session's event isn't claimed before those
// ahead of it had their first attempt, so that receivers see them in order
// while they answer. Any number of processes can claim at once: leases are
// counted by the database's clock, so theirs need not agree.
//
// Statistics know nothing of a burst, so the text leaves the planner one index
// for each step, and an array's ids are sought one by one.
func (d *DB) ClaimDeliveries(ctx context.Context, endpoint domain.EndpointID, now time.Time, lease time.Duration,
	limit int) ([]ClaimedDelivery, error) {
	var out []ClaimedDelivery
	err := d.all(ctx, &out, `
		WITH due AS MATERIALIZED (
			SELECT c.id FROM delivery c
			WHERE c.endpoint_id = $1 AND c.next_attempt_at <= $2
				AND (c.lease_until IS NULL OR c.lease_until <= now())
				AND NOT EXISTS (SELECT 1 FROM webhook_endpoint e WHERE e.id = $1 AND `+heldEndpoint+`)
				AND (c.attempts_total > 0 OR c.session_id IS NULL OR NOT EXISTS (
					SELECT 1 FROM delivery ahead
					WHERE ahead.session_id = c.session_id AND ahead.endpoint_id = c.endpoint_id AND ahead.sequence < c.sequence
						AND ahead.finished_at IS NULL AND ahead.attempts_total = 0))
			ORDER BY c.next_attempt_at, c.sequence
			LIMIT $4
			FOR UPDATE SKIP LOCKED
		), claimed AS (
			UPDATE delivery d SET lease_until = now() + $3 * interval '1 microsecond'
			WHERE d.id = ANY (ARRAY(SELECT id FROM due)) RETURNING d.*
		)
		SELECT c.id, c.account_id, c.livemode, c.event_id, c.type, c.endpoint_id, c.session_id, c.sequence, c.url, c.state,
			c.cycle, c.attempts, c.attempts_total, c.first_attempt_at, c.next_attempt_at, c.finished_at,
				c.last_status_code, c.last_error_class, c.created_at,
			c.lease_until, e.body
		FROM claimed c JOIN event e ON e.id = c.event_id
		ORDER BY c.next_attempt_at, c.sequence`,
		endpoint, now, lease.Microseconds(), limit)
	return out, wrap(err, "claim deliveries")
}

// ReleaseDeliveries gives up the claim on deliveries that weren't attempted.
// A claim that has ended, and that another process may hold by now, stays.
func (q *Queries) ReleaseDeliveries(ctx context.Context, claimed []ClaimedDelivery) error {
	if len(claimed) == 0 {
		return nil
	}
	ids, leases := make([]string, len(claimed)), make([]time.Time, len(claimed))
	for i := range claimed {
		ids[i], leases[i] = claimed[i].ID.UUID.String(), claimed[i].LeaseUntil
	}
	_, err := q.exec(ctx, `
		UPDATE delivery d SET lease_until = NULL
		FROM unnest($1::uuid[], $2::timestamptz[]) AS c (id, lease_until)
		WHERE d.id = c.id AND d.lease_until = c.lease_until`, pq.Array(ids), pq.Array(leases))
	return wrap(err, "release deliveries")
}

// StillClaimed returns which of the claimed deliveries may still be attempted:
// none that was cancelled, finished or erased since, that another process holds, or
// whose endpoint is held.
//
// The state stands in a CASE, as in RecordAttempts.
func (q *Queries) StillClaimed(ctx context.Context, claimed []ClaimedDelivery) ([]domain.DeliveryID, error) {
	var ids []string
	var cycles []int64
	var leases []time.Time
	for i := range claimed {
		ids, cycles, leases = append(ids, claimed[i].ID.UUID.String()), append(cycles, int64(claimed[i].Cycle)), append(leases,
			claimed[i].LeaseUntil)
	}
	var out []domain.DeliveryID
	err := q.all(ctx, &out, `
		SELECT d.id FROM unnest($1::uuid[], $2::int[], $3::timestamptz[]) AS c (id, cycle, lease_until) JOIN delivery d ON d.id = c.id
			JOIN webhook_endpoint e ON e.id = d.endpoint_id AND NOT `+heldEndpoint+`
		WHERE CASE d.state WHEN 'pending' THEN d.cycle = c.cycle AND d.lease_until = c.lease_until ELSE false END`,
		pq.Array(ids), pq.Array(cycles), pq.Array(leases))
	return out, wrap(err, "look at claimed deliveries again")
}

// AttemptOutcome is an attempt and what the delivery has come to by it.
type AttemptOutcome struct {
	domain.DeliveryAttempt
	Scope     domain.Scope // the delivery's
	SessionID *domain.SessionID
	Cycle     int // that the attempt was claimed in
	State     domain.DeliveryState
	Next      *time.Time // when the next attempt is due, nil for none
}

// RecordAttempts stores attempts, what their deliveries have come to and
// their endpoints' health, all in one transaction. An attempt that another
// process has recorded already changes nothing, nor does a batch the second time. One that was under way while
// its delivery was cancelled or started again is recorded; it ends a cancelled
// delivery only by success, and one that started again not at all.
//
// The state stands in a CASE so that the rows are sought by their ids, and not
// among all that is pending.
func (d *DB) RecordAttempts(ctx context.Context, outcomes []AttemptOutcome, health []EndpointHealth) error {
	var c attemptColumns
	for i := range outcomes {
		c.add(&outcomes[i])
	}
	return d.InTx(ctx, func(tx *Tx) error {
		result, err := tx.exec(ctx, `
			WITH made AS (
				SELECT * FROM unnest($1::uuid[], $2::int[], $3::text[], $4::timestamptz[], $5::timestamptz[], $6::int[],
					$7::int[], $8::text[], $9::text[], $10::text[], $11::text[], $12::int[])
					AS m (id, number, state, next, started_at, duration_ms, code, class, error, headers, response, cycle)
			), advanced AS (
				UPDATE delivery d SET attempts_total = m.number, lease_until = NULL,
					first_attempt_at = coalesce(d.first_attempt_at, m.started_at), last_status_code = m.code, last_error_class = m.class,
					attempts = d.attempts + (d.cycle = m.cycle)::int,
					state = CASE WHEN d.cycle <> m.cycle OR d.state = 'cancelled' AND m.state <> 'delivered' THEN d.state ELSE m.state END,
					next_attempt_at = CASE WHEN d.cycle <> m.cycle THEN d.next_attempt_at WHEN d.state = 'pending' THEN m.next END,
					finished_at = CASE WHEN d.cycle = m.cycle AND (m.state = 'delivered' OR m.state = 'failed' AND d.state = 'pending')
						THEN m.started_at + m.duration_ms * interval '1 millisecond' ELSE d.finished_at END
				FROM made m
				WHERE d.id = m.id AND d.attempts_total = m.number - 1
					AND CASE d.state WHEN 'pending' THEN true WHEN 'cancelled' THEN d.cycle = m.cycle ELSE false END
				RETURNING d.id
			)
			INSERT INTO delivery_attempt (delivery_id, number, started_at, duration_ms, status_code, error_class, error, request_headers,
				response)
			SELECT m.id, m.number, m.started_at, m.duration_ms, m.code, m.class, m.error, m.headers::jsonb, m.response
			FROM made m JOIN advanced a ON a.id = m.id`,
			pq.Array(c.ids), pq.Array(c.numbers), pq.Array(c.states), pq.Array(c.nexts), pq.Array(c.started), pq.Array(c.durations),
			pq.Array(c.codes), pq.Array(c.classes), pq.Array(c.errors), pq.Array(c.headers), pq.Array(c.responses), pq.Array(c.cycles))
		recorded, err := affected(result, err, "record attempts")
		if err != nil {
			return err
		}
		for i := range outcomes {
			tx.Announce(outcomes[i].Scope, domain.DeliveryChanged, outcomes[i].SessionID)
		}
		if recorded == 0 && len(outcomes) > 0 {
			return nil // the commit of a former try wasn't answered: it has counted them, too
		}
		return tx.CountAttempts(ctx, outcomes, health)
	})
}

// attemptColumns are the outcomes column by column, as unnest takes them.
type attemptColumns struct {
	ids, states, headers       []string
	numbers, cycles, durations []int64
	started                    []time.Time
	nexts                      []*time.Time
	codes                      []*int
	classes, errors, responses []*string
}

func (c *attemptColumns) add(o *AttemptOutcome) {
	c.ids = append(c.ids, o.DeliveryID.UUID.String())
	c.numbers = append(c.numbers, int64(o.Number))
	c.cycles = append(c.cycles, int64(o.Cycle))
	c.states = append(c.states, string(o.State))
	c.nexts = append(c.nexts, o.Next)
	c.started = append(c.started, o.StartedAt)
	c.durations = append(c.durations, o.DurationMS)
	c.codes = append(c.codes, o.StatusCode)
	c.classes = append(c.classes, o.ErrorClass)
	c.errors = append(c.errors, o.Error)
	c.headers = append(c.headers, string(o.RequestHeaders))
	c.responses = append(c.responses, o.Response)
}

// Deliveries returns the deliveries of a session's events, oldest first.
func (q *Queries) Deliveries(ctx context.Context, session domain.SessionID) ([]domain.Delivery, error) {
	var out []domain.Delivery
	err := q.all(ctx, &out, `
		SELECT `+deliveryColumns+` FROM delivery
		WHERE event_id IN (SELECT id FROM event WHERE session_id = $1)
		ORDER BY sequence`, session)
	return out, wrap(err, "list deliveries")
}

// Attempts returns a delivery's attempts, first one first.
func (q *Queries) Attempts(ctx context.Context, id domain.DeliveryID) ([]domain.DeliveryAttempt, error) {
	var out []domain.DeliveryAttempt
	err := q.all(ctx, &out, `
		SELECT `+attemptListColumns+`
		FROM delivery_attempt WHERE delivery_id = $1 ORDER BY number`, id)
	return out, wrap(err, "list attempts")
}

// What follows stores what happened in the past, for the demonstration account. The
// product writes the same rows step by step.

// copyRows stores n rows by a COPY statement.
func (tx *Tx) copyRows(ctx context.Context, query sqlText, n int, row func(i int) []any) (err error) {
	stmt, err := tx.prepare(ctx, query)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stmt.Close()) }()
	for i := range n {
		if _, err := stmt.ExecContext(ctx, row(i)...); err != nil {
			return err
		}
	}
	_, err = stmt.ExecContext(ctx)
	return err
}

// InsertDeliveries stores deliveries with what has become of them.
func (tx *Tx) InsertDeliveries(ctx context.Context, deliveries []*domain.Delivery) error {
	err := tx.copyRows(ctx, "COPY delivery ("+deliveryColumns+") FROM STDIN", len(deliveries), func(i int) []any {
		d := deliveries[i]
		return []any{d.ID, d.AccountID, d.Livemode, d.EventID, d.EventType, d.EndpointID, d.SessionID, d.Sequence, d.URL, d.State,
			d.Cycle, d.Attempts, d.AttemptsTotal, d.FirstAttemptAt, d.NextAttemptAt, d.FinishedAt, d.LastStatusCode, d.LastErrorClass,
			d.CreatedAt}
	})
	return wrap(err, "insert deliveries")
}

// InsertAttempts stores attempts of deliveries that are stored.
func (tx *Tx) InsertAttempts(ctx context.Context, attempts []domain.DeliveryAttempt) error {
	err := tx.copyRows(ctx, "COPY delivery_attempt ("+attemptListColumns+") FROM STDIN", len(attempts), func(i int) []any {
		a := &attempts[i]
		return []any{a.DeliveryID, a.Number, a.StartedAt, a.DurationMS, a.StatusCode, a.ErrorClass, a.Error, string(a.RequestHeaders),
			a.Response}
	})
	return wrap(err, "insert attempts")
}

// InsertSequence stores the last event number of a scope that has none. One
// transaction that takes many numbers gets slower with each.
func (tx *Tx) InsertSequence(ctx context.Context, scope domain.Scope, last int64) error {
	_, err := tx.exec(ctx, `
		INSERT INTO event_sequence (account_id, livemode, last) VALUES ($1, $2, $3)`, scope.AccountID, scope.Livemode, last)
	return wrap(err, "insert event sequence")
}
