package db

import (
	"cmp"
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
	// outageUnused is how long nothing is sent until an outage has ended, as pages say.
	outageUnused = "interval '7 days'"
	// outageWatch is longer than most of an outage's events take to be tried.
	outageWatch = "interval '1 day'"
)

// latestOutages is a table of the latest outages of endpoint e. An endpoint that fails now and
// then can have had thousands.
const latestOutages = "LATERAL (SELECT * FROM outage WHERE endpoint_id = e.id ORDER BY started_at DESC LIMIT 50)"

const outageColumns = `id, account_id, livemode, endpoint_id, started_at, last_failure_at, answered_at, confirmed_at,
	first_sequence, last_sequence, answers`

// countOutages tells the outages of attempts that were recorded (D137). The endpoints'
// rows are locked, so those of an endpoint are told one by one. watched are the
// endpoints that had an outage lately.
func (tx *Tx) countOutages(ctx context.Context, outcomes []AttemptOutcome, health []EndpointHealth,
	watched []domain.EndpointID) error {
	var failed failedAttempts
	var arrived, answering []string
	var answeredAt []time.Time
	late := len(watched) > 0
	for i := range outcomes {
		a := &outcomes[i].DeliveryAttempt
		if a.ErrorClass == nil {
			arrived = append(arrived, a.DeliveryID.UUID.String())
			late = late || a.Number > 1
		} else {
			failed.add(a)
		}
	}
	for _, h := range health {
		if h.Failures == 0 && h.SuccessAt != nil {
			answering, answeredAt = append(answering, h.ID.UUID.String()), append(answeredAt, cmp.Or(h.AnsweredAt, *h.SuccessAt))
		}
	}
	if err := tx.extendOutages(ctx, failed, health); err != nil {
		return err
	}
	if len(arrived) == 0 || !late && len(failed.ids) == 0 {
		return nil
	}
	_, err := tx.exec(ctx, `
		WITH arrived AS MATERIALIZED (
			SELECT d.endpoint_id AS id, d.sequence, d.finished_at FROM delivery d WHERE d.id = ANY ($1::uuid[])
		), confirmed AS (
			SELECT o.id, max(e.finished_at) AS at
			FROM arrived e CROSS JOIN `+latestOutages+` o
			WHERE e.sequence BETWEEN o.first_sequence AND o.last_sequence GROUP BY o.id
		), answered AS (
			SELECT o.id, e.at FROM unnest($2::uuid[], $3::timestamptz[]) AS e (id, at) CROSS JOIN `+latestOutages+` o
			WHERE o.answered_at IS NULL
		)
		UPDATE outage o SET answered_at = coalesce(o.answered_at, t.answered), confirmed_at = greatest(o.confirmed_at, t.confirmed)
		FROM (SELECT id, a.at AS answered, c.at AS confirmed FROM answered a FULL JOIN confirmed c USING (id)) t WHERE t.id = o.id`,
		pq.Array(arrived), pq.Array(answering), pq.Array(answeredAt))
	return wrap(err, "tell what arrived of outages")
}

// failedAttempts are those of a batch, column by column.
type failedAttempts struct {
	ids, answers []string
	times        []time.Time
}

func (f *failedAttempts) add(a *domain.DeliveryAttempt) {
	answer := *a.ErrorClass
	if a.StatusCode != nil {
		answer = strconv.Itoa(*a.StatusCode)
	}
	f.ids, f.answers, f.times = append(f.ids, a.DeliveryID.UUID.String()), append(f.answers, answer), append(f.times, a.StartedAt)
}

// extendOutages counts failed attempts. One of an event that an outage has belongs to it,
// another to the one that hasn't ended or has ended a moment ago, else to a new one of its
// endpoint.
func (tx *Tx) extendOutages(ctx context.Context, failed failedAttempts, health []EndpointHealth) error {
	if len(failed.ids) == 0 {
		return nil
	}
	var endpoints, fresh []string
	for _, h := range health {
		endpoints, fresh = append(endpoints, h.ID.UUID.String()), append(fresh, domain.NewOutageID().UUID.String())
	}
	_, err := tx.exec(ctx, `
		WITH failed AS MATERIALIZED (
			SELECT d.account_id, d.livemode, e.id AS endpoint_id, d.sequence, f.at, f.answer, coalesce(latest.id, e.fresh) AS outage
			FROM unnest($1::uuid[], $2::timestamptz[], $3::text[]) AS f (id, at, answer) JOIN delivery d ON d.id = f.id
				JOIN unnest($4::uuid[], $5::uuid[]) AS e (id, fresh) ON e.id = d.endpoint_id
				LEFT JOIN LATERAL (
					SELECT o.id FROM `+latestOutages+` o
					WHERE d.sequence BETWEEN o.first_sequence AND o.last_sequence OR
						coalesce(o.answered_at + `+outageRest+`, o.last_failure_at + `+outageUnused+`) > f.at
					ORDER BY d.sequence BETWEEN o.first_sequence AND o.last_sequence DESC, o.started_at DESC LIMIT 1) latest ON true
		), answers AS (
			SELECT outage, jsonb_object_agg(answer, n) AS answers
			FROM (SELECT outage, answer, count(*) AS n FROM failed GROUP BY 1, 2) a GROUP BY outage
		)
		INSERT INTO outage AS o (id, account_id, livemode, endpoint_id, started_at, last_failure_at, first_sequence, last_sequence,
			answers)
		SELECT outage, f.account_id, f.livemode, f.endpoint_id, least(min(f.at), min(e.failing_since)), max(f.at), min(f.sequence),
			max(f.sequence), a.answers
		FROM failed f JOIN answers a USING (outage) JOIN webhook_endpoint e ON e.id = f.endpoint_id
		GROUP BY outage, f.account_id, f.livemode, f.endpoint_id, a.answers
		ON CONFLICT (id) DO UPDATE SET answered_at = NULL, last_failure_at = greatest(o.last_failure_at, excluded.last_failure_at),
			first_sequence = least(o.first_sequence, excluded.first_sequence),
			last_sequence = greatest(o.last_sequence, excluded.last_sequence),
			answers = (
				SELECT jsonb_object_agg(key, n) FROM (
					SELECT key, sum(value::bigint) AS n
					FROM (SELECT * FROM jsonb_each_text(o.answers) UNION ALL SELECT * FROM jsonb_each_text(excluded.answers)) b
					GROUP BY key) s)`,
		pq.Array(failed.ids), pq.Array(failed.times), pq.Array(failed.answers), pq.Array(endpoints), pq.Array(fresh))
	return wrap(err, "count failed attempts of outages")
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
	var rows []outageRow
	err := q.all(ctx, &rows, `
		SELECT o.* FROM unnest($1::uuid[]) e (id) CROSS JOIN LATERAL (
			SELECT `+outageColumns+` FROM outage WHERE endpoint_id = e.id ORDER BY started_at DESC LIMIT $2) o`,
		pq.Array(endpoints), limit)
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
	return q.deleteOld(ctx, "outage", "id", "last_failure_at", before, limit, "delete outages")
}
