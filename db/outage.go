package db

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/lib/pq"

	"candor/internal/domain"
)

const (
	// outageRest is how long an endpoint answers until a failure is another outage, as
	// it is reported to have recovered.
	outageRest = "interval '10 minutes'"
	// outageWatch is longer than most of an outage's events take to be tried.
	outageWatch = "interval '1 day'"
)

const outageColumns = `id, account_id, livemode, endpoint_id, started_at, last_failure_at, answered_at, confirmed_at,
	first_sequence, last_sequence, answers`

// countOutages tells the outages of attempts that were recorded (D137). The endpoints'
// rows are locked, so those of an endpoint are told one by one. watched are the
// endpoints that had an outage lately.
func (tx *Tx) countOutages(ctx context.Context, outcomes []AttemptOutcome, health []EndpointHealth,
	watched []domain.EndpointID) error {
	var failed, arrived, answers, answering []string
	var times, answeredAt []time.Time
	late := len(watched) > 0
	for i := range outcomes {
		a := &outcomes[i].DeliveryAttempt
		switch {
		case a.ErrorClass == nil:
			arrived = append(arrived, a.DeliveryID.UUID.String())
			late = late || a.Number > 1
		case a.StatusCode != nil:
			failed, times, answers = append(failed, a.DeliveryID.UUID.String()), append(times, a.StartedAt),
				append(answers, strconv.Itoa(*a.StatusCode))
		default:
			failed, times, answers = append(failed, a.DeliveryID.UUID.String()), append(times, a.StartedAt),
				append(answers, *a.ErrorClass)
		}
	}
	for _, h := range health {
		if h.Failures == 0 && h.SuccessAt != nil {
			answering, answeredAt = append(answering, h.ID.UUID.String()), append(answeredAt, *h.SuccessAt)
		}
	}
	for _, h := range health {
		if h.Counted.Attempts == h.Counted.Delivered {
			continue // none of the failed attempts were made there
		}
		if err := tx.extendOutage(ctx, h.ID, failed, times, answers); err != nil {
			return err
		}
	}
	if len(arrived) == 0 || !late && len(failed) == 0 {
		return nil
	}
	_, err := tx.exec(ctx, `
		WITH arrived AS MATERIALIZED (
			SELECT d.endpoint_id, d.sequence, d.finished_at FROM delivery d WHERE d.id = ANY ($1::uuid[])
		), answering AS (
			SELECT * FROM unnest($2::uuid[], $3::timestamptz[]) AS a (id, at)
		), told AS (
			SELECT o.id, (SELECT a.at FROM answering a WHERE a.id = o.endpoint_id) AS answered, (
				SELECT max(a.finished_at) FROM arrived a
				WHERE a.endpoint_id = o.endpoint_id AND a.sequence BETWEEN o.first_sequence AND o.last_sequence) AS confirmed
			FROM outage o WHERE o.endpoint_id IN (SELECT endpoint_id FROM arrived)
		)
		UPDATE outage o SET answered_at = coalesce(o.answered_at, t.answered), confirmed_at = greatest(o.confirmed_at, t.confirmed)
		FROM told t WHERE t.id = o.id AND (o.answered_at IS NULL AND t.answered IS NOT NULL OR t.confirmed IS NOT NULL)`,
		pq.Array(arrived), pq.Array(answering), pq.Array(answeredAt))
	return wrap(err, "tell what arrived of outages")
}

// extendOutage counts those of the failed attempts that were made at the endpoint. One of
// an event that an outage has belongs to it, another to the one that hasn't ended or has
// ended a moment ago, else to a new one.
func (tx *Tx) extendOutage(ctx context.Context, id domain.EndpointID, failed []string, times []time.Time,
	answers []string) error {
	_, err := tx.exec(ctx, `
		WITH failed AS MATERIALIZED (
			SELECT d.account_id, d.livemode, d.sequence, f.at, f.answer, coalesce((
				SELECT o.id FROM outage o
				WHERE o.endpoint_id = $1 AND d.sequence BETWEEN o.first_sequence AND o.last_sequence
				ORDER BY o.started_at DESC LIMIT 1), (
				SELECT o.id FROM outage o
				WHERE o.endpoint_id = $1 AND (o.answered_at IS NULL OR o.answered_at > f.at - `+outageRest+`)
				ORDER BY o.started_at DESC LIMIT 1), $5::uuid) AS outage
			FROM unnest($2::uuid[], $3::timestamptz[], $4::text[]) AS f (id, at, answer) JOIN delivery d ON d.id = f.id
			WHERE d.endpoint_id = $1
		), answers AS (
			SELECT outage, jsonb_object_agg(answer, n) AS answers
			FROM (SELECT outage, answer, count(*) AS n FROM failed GROUP BY 1, 2) a GROUP BY outage
		)
		INSERT INTO outage AS o (id, account_id, livemode, endpoint_id, started_at, last_failure_at, first_sequence, last_sequence,
			answers)
		SELECT f.outage, f.account_id, f.livemode, $1,
			least(min(f.at), (SELECT failing_since FROM webhook_endpoint WHERE id = $1)), max(f.at), min(f.sequence), max(f.sequence),
			(SELECT a.answers FROM answers a WHERE a.outage = f.outage)
		FROM failed f GROUP BY f.outage, f.account_id, f.livemode
		ON CONFLICT (id) DO UPDATE SET answered_at = NULL, last_failure_at = greatest(o.last_failure_at, excluded.last_failure_at),
			first_sequence = least(o.first_sequence, excluded.first_sequence),
			last_sequence = greatest(o.last_sequence, excluded.last_sequence),
			answers = (
				SELECT jsonb_object_agg(key, n) FROM (
					SELECT key, sum(value::bigint) AS n
					FROM (SELECT * FROM jsonb_each_text(o.answers) UNION ALL SELECT * FROM jsonb_each_text(excluded.answers)) b
					GROUP BY key) s)`,
		id, pq.Array(failed), pq.Array(times), pq.Array(answers), domain.NewOutageID())
	return wrap(err, "count failed attempts of outage")
}

// outageRow is a stored outage.
type outageRow struct {
	domain.Outage
	Answers []byte `db:"answers"`
}

func outages(rows []outageRow) ([]domain.Outage, error) {
	var out []domain.Outage
	for i := range rows {
		o := rows[i].Outage
		if err := json.Unmarshal(rows[i].Answers, &o.Answers); err != nil {
			return nil, wrap(err, "read answers of outage")
		}
		out = append(out, o)
	}
	return out, nil
}

// Outage returns one of the scope's outages, or ErrNotFound.
func (q *Queries) Outage(ctx context.Context, scope domain.Scope, id domain.OutageID) (*domain.Outage, error) {
	var row outageRow
	err := q.get(ctx, &row, `SELECT `+outageColumns+` FROM outage WHERE id = $1 AND account_id = $2 AND livemode = $3`,
		id, scope.AccountID, scope.Livemode)
	if err != nil {
		return nil, wrap(err, "get outage")
	}
	out, err := outages([]outageRow{row})
	if err != nil {
		return nil, err
	}
	return &out[0], nil
}

// Outages returns up to limit of each of the endpoints' outages, newest first.
func (q *Queries) Outages(ctx context.Context, endpoints []domain.EndpointID, limit int) (map[domain.EndpointID][]domain.Outage,
	error) {
	ids := make([]string, len(endpoints))
	for i, id := range endpoints {
		ids[i] = id.UUID.String()
	}
	var rows []outageRow
	err := q.all(ctx, &rows, `
		SELECT o.* FROM unnest($1::uuid[]) e (id) CROSS JOIN LATERAL (
			SELECT `+outageColumns+` FROM outage WHERE endpoint_id = e.id ORDER BY started_at DESC LIMIT $2) o`,
		pq.Array(ids), limit)
	if err != nil {
		return nil, wrap(err, "list outages")
	}
	all, err := outages(rows)
	out := map[domain.EndpointID][]domain.Outage{}
	for _, o := range all {
		out[o.EndpointID] = append(out[o.EndpointID], o)
	}
	return out, err
}

// OutageCounts counts an outage's deliveries by what became of them, each to most and no
// further, as of one moment.
func (q *Queries) OutageCounts(ctx context.Context, o *domain.Outage, most int) (domain.OutageCounts, error) {
	var c domain.OutageCounts
	err := q.get(ctx, &c, `
		SELECT (SELECT count(*) FROM (
				SELECT FROM event WHERE endpoint_id = $1 AND sequence BETWEEN $2 AND $3 LIMIT $6) n) + (SELECT count(*) FROM (
				SELECT FROM delivery WHERE endpoint_id = $1 AND further AND sequence BETWEEN $2 AND $3 LIMIT $6) n) AS deliveries,
			(SELECT count(*) FROM (SELECT FROM delivery
				WHERE endpoint_id = $1 AND next_attempt_at IS NOT NULL AND sequence BETWEEN $2 AND $3 LIMIT $6) n) AS waiting,
			(SELECT count(*) FROM (SELECT FROM delivery
				WHERE endpoint_id = $1 AND next_attempt_at IS NOT NULL AND sequence > $3 LIMIT $6) n) AS behind,
			(SELECT count(*) FROM (SELECT FROM delivery WHERE account_id = $4 AND livemode = $5 AND state = 'failed'
				AND sequence BETWEEN $2 AND $3 AND endpoint_id = $1 LIMIT $6) n) AS failed,
			(SELECT count(*) FROM (SELECT FROM delivery WHERE account_id = $4 AND livemode = $5 AND state = 'cancelled'
				AND sequence BETWEEN $2 AND $3 AND endpoint_id = $1 LIMIT $6) n) AS cancelled,
			(SELECT coalesce(min(sequence), $3 + 1) FROM event WHERE account_id = $4 AND livemode = $5) AS oldest`,
		o.EndpointID, o.First, o.Last, o.AccountID, o.Livemode, most)
	return c, wrap(err, "count deliveries of outage")
}

// DeleteOutages deletes up to limit outages whose last failure was before the given time,
// and returns how many.
func (q *Queries) DeleteOutages(ctx context.Context, before time.Time, limit int) (int, error) {
	result, err := q.exec(ctx, `
		DELETE FROM outage WHERE id IN (
			SELECT id FROM outage WHERE last_failure_at <= $1 ORDER BY last_failure_at LIMIT $2 FOR UPDATE SKIP LOCKED)`, before, limit)
	return affected(result, err, "delete outages")
}
