package db

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/lib/pq"

	"candor/internal/domain"
)

const endpointColumns = `id, account_id, livemode, site AS origin, is_default, url, description, event_types, paused_at, deleted_at,
	consecutive_failures, failing_since, last_success_at, last_failure_at, last_status_code, last_error_class, gone, created_at`

const (
	// heldEndpoint is the condition that nothing is sent to endpoint e (D110, D111).
	heldEndpoint = `(e.paused_at IS NOT NULL OR ` + deletedEndpoint + `)`
	// deletedEndpoint is the condition that endpoint e was deleted, as domain.Endpoint has it.
	deletedEndpoint = `(e.deleted_at IS NOT NULL OR e.is_default AND e.url IS NULL)`
)

// pendingEndpoints are the endpoints with pending deliveries, one after the other by their
// index, and a row without one.
const pendingEndpoints = `pending AS (
			(SELECT endpoint_id FROM delivery WHERE next_attempt_at IS NOT NULL ORDER BY endpoint_id LIMIT 1)
			UNION ALL
			SELECT (SELECT endpoint_id FROM delivery WHERE next_attempt_at IS NOT NULL AND endpoint_id > p.endpoint_id
				ORDER BY endpoint_id LIMIT 1)
			FROM pending p WHERE p.endpoint_id IS NOT NULL
		)`

// InsertDefaultEndpoint stores a scope's default endpoint, without a URL yet, with its
// sealed secret.
func (tx *Tx) InsertDefaultEndpoint(ctx context.Context, scope domain.Scope, secret []byte, now time.Time) error {
	_, err := tx.exec(ctx, `
		INSERT INTO webhook_endpoint (id, account_id, livemode, origin, is_default, secret, created_at)
		VALUES ($1::uuid, $2, $3, '#' || $1::uuid, true, $4, $5)`,
		domain.NewEndpointID(), scope.AccountID, scope.Livemode, secret, now)
	return wrap(err, "insert default webhook endpoint")
}

// InsertEndpoint stores an endpoint that was set up, with its sealed secret.
func (tx *Tx) InsertEndpoint(ctx context.Context, e *domain.Endpoint, secret []byte) error {
	_, err := tx.exec(ctx, `
		INSERT INTO webhook_endpoint (id, account_id, livemode, origin, url, description, event_types, paused_at, secret, created_at)
		VALUES ($1::uuid, $2, $3, $4::text || '#' || $1::uuid, $5, $6, $7, $8, $9, $10)`,
		e.ID, e.AccountID, e.Livemode, e.Origin, e.URL, e.Description, e.EventTypes, e.PausedAt, secret, e.CreatedAt)
	return wrap(err, "insert webhook endpoint")
}

// LockEndpoints keeps other transactions from setting up or changing endpoints of the
// scope until this one ends, and returns the default one, set up or not, and those that
// are set up. ErrNotFound says that there is no such scope.
func (tx *Tx) LockEndpoints(ctx context.Context, scope domain.Scope) (first *domain.Endpoint, setUp []domain.Endpoint,
	err error) {
	first = &domain.Endpoint{}
	err = tx.get(ctx, first, `
		SELECT `+endpointColumns+` FROM webhook_endpoint WHERE account_id = $1 AND livemode = $2 AND is_default FOR NO KEY UPDATE`,
		scope.AccountID, scope.Livemode)
	if err != nil {
		return nil, nil, wrap(err, "lock webhook endpoints")
	}
	setUp, err = tx.EndpointsSetUp(ctx, scope)
	return first, setUp, err
}

// DefaultEndpoint returns the scope's default endpoint, set up or not, or ErrNotFound.
func (q *Queries) DefaultEndpoint(ctx context.Context, scope domain.Scope) (*domain.Endpoint, error) {
	var e domain.Endpoint
	err := q.get(ctx, &e, `
		SELECT `+endpointColumns+` FROM webhook_endpoint WHERE account_id = $1 AND livemode = $2 AND is_default`,
		scope.AccountID, scope.Livemode)
	return &e, wrap(err, "get default webhook endpoint")
}

// EndpointsSetUp returns the scope's endpoints that are set up, the default one first,
// then in the order in which they were made.
func (q *Queries) EndpointsSetUp(ctx context.Context, scope domain.Scope) ([]domain.Endpoint, error) {
	var out []domain.Endpoint
	err := q.all(ctx, &out, `
		SELECT `+endpointColumns+` FROM webhook_endpoint WHERE account_id = $1 AND livemode = $2 AND url IS NOT NULL
		ORDER BY is_default DESC, created_at, id`, scope.AccountID, scope.Livemode)
	return out, wrap(err, "list endpoints that are set up")
}

// UpdateEndpoint stores what an endpoint is set up as. One without a URL exists no more:
// call DeleteEndpoint.
func (tx *Tx) UpdateEndpoint(ctx context.Context, e *domain.Endpoint) error {
	result, err := tx.exec(ctx, `
		UPDATE webhook_endpoint SET origin = $2::text || '#' || id, url = $3, description = $4, event_types = $5, paused_at = $6
			WHERE id = $1`,
		e.ID, e.Origin, e.URL, e.Description, e.EventTypes, e.PausedAt)
	return changedOne(result, err, "update webhook endpoint")
}

// DeleteEndpoint takes away an endpoint's URL and what else it was set up as. The row
// stays for its deliveries. The default endpoint keeps its secrets and can get a URL
// again; others lose theirs. Call CancelHeld to cancel what is pending.
func (tx *Tx) DeleteEndpoint(ctx context.Context, id domain.EndpointID, now time.Time) error {
	result, err := tx.exec(ctx, `
		UPDATE webhook_endpoint SET url = NULL, description = '', event_types = NULL, paused_at = NULL,
			deleted_at = CASE WHEN NOT is_default THEN $2::timestamptz END,
			secret = CASE WHEN is_default THEN secret END, next_secret = CASE WHEN is_default THEN next_secret END,
			next_secret_at = CASE WHEN is_default THEN next_secret_at END, previous_secret = CASE WHEN is_default THEN previous_secret END,
			previous_secret_until = CASE WHEN is_default THEN previous_secret_until END
		WHERE id = $1`, id, now)
	return changedOne(result, err, "delete webhook endpoint")
}

// A Destination is an endpoint and the URL there that an event goes to.
type Destination struct {
	ID  domain.EndpointID `db:"id"`
	URL string            `db:"url"`
}

// Destinations returns where the scope's events of a type go that have no URL of a
// session, the default endpoint first (D109).
func (q *Queries) Destinations(ctx context.Context, scope domain.Scope, t domain.EventType) ([]Destination, error) {
	var out []Destination
	err := q.all(ctx, &out, `
		SELECT id, url FROM webhook_endpoint
		WHERE account_id = $1 AND livemode = $2 AND url IS NOT NULL AND (event_types IS NULL OR $3 = ANY (event_types))
		ORDER BY is_default DESC, created_at, id`, scope.AccountID, scope.Livemode, t)
	return out, wrap(err, "find destinations of event")
}

// EndpointFor returns the scope's endpoint that stands for URLs of sessions at that
// origin, made where it is new.
func (tx *Tx) EndpointFor(ctx context.Context, scope domain.Scope, origin string, now time.Time) (domain.EndpointID, error) {
	var id domain.EndpointID
	err := tx.get(ctx, &id, `
		SELECT id FROM webhook_endpoint WHERE account_id = $1 AND livemode = $2 AND origin = $3`,
		scope.AccountID, scope.Livemode, origin)
	if err = wrap(err, "find webhook endpoint"); !errors.Is(err, ErrNotFound) {
		return id, err
	}
	// The update of nothing returns the row that another transaction made.
	err = tx.get(ctx, &id, `
		INSERT INTO webhook_endpoint AS e (id, account_id, livemode, origin, created_at)
		VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (account_id, livemode, origin) DO UPDATE SET origin = e.origin
		RETURNING id`,
		domain.NewEndpointID(), scope.AccountID, scope.Livemode, origin, now)
	return id, wrap(err, "insert webhook endpoint")
}

// Endpoint returns an endpoint, or ErrNotFound.
func (q *Queries) Endpoint(ctx context.Context, id domain.EndpointID) (*domain.Endpoint, error) {
	var e domain.Endpoint
	err := q.get(ctx, &e, `SELECT `+endpointColumns+` FROM webhook_endpoint WHERE id = $1`, id)
	return &e, wrap(err, "get webhook endpoint")
}

// Endpoints returns the scope's endpoints by origin: those that are set up, those that
// stand for URLs of sessions, and deleted ones that are still known. If there are more than
// domain.EndpointsMost, it returns more than that, too: the newest, those that failed last, those
// that are set up, and chosen unless it is nil.
func (q *Queries) Endpoints(ctx context.Context, scope domain.Scope, chosen *domain.EndpointID) ([]domain.Endpoint, error) {
	var out []domain.Endpoint
	err := q.all(ctx, &out, `
		SELECT `+endpointColumns+` FROM webhook_endpoint WHERE account_id = $1 AND livemode = $2 AND site <> '' AND id = ANY (ARRAY(
			(SELECT id FROM webhook_endpoint WHERE account_id = $1 AND livemode = $2 AND site <> '' ORDER BY created_at DESC LIMIT $4)
			UNION ALL
			(SELECT id FROM webhook_endpoint WHERE account_id = $1 AND livemode = $2 AND failing_since IS NOT NULL
				ORDER BY last_failure_at DESC LIMIT $4)
			UNION ALL
			SELECT id FROM webhook_endpoint WHERE account_id = $1 AND livemode = $2 AND url IS NOT NULL
			UNION ALL
			SELECT $3::uuid))
		ORDER BY site, id`, scope.AccountID, scope.Livemode, chosen, domain.EndpointsMost+1)
	return out, wrap(err, "list webhook endpoints")
}

// EndpointLoads returns the scope's endpoints by origin, with what didn't
// arrive. It reads all that is pending or failed in the scope.
func (q *Queries) EndpointLoads(ctx context.Context, scope domain.Scope) ([]domain.EndpointLoad, error) {
	var out []domain.EndpointLoad
	err := q.all(ctx, &out, `
		SELECT `+qualified("e", endpointColumns)+`, coalesce(p.n, 0) AS pending, coalesce(f.n, 0) AS failed
		FROM webhook_endpoint e
			LEFT JOIN (
				SELECT endpoint_id, count(*) AS n FROM delivery WHERE account_id = $1 AND livemode = $2 AND state = 'pending' GROUP BY 1
			) p ON p.endpoint_id = e.id
			LEFT JOIN (
				SELECT endpoint_id, count(*) AS n FROM delivery WHERE account_id = $1 AND livemode = $2 AND state = 'failed' GROUP BY 1
			) f ON f.endpoint_id = e.id
		WHERE e.account_id = $1 AND e.livemode = $2 AND e.site <> ''
		ORDER BY e.site, e.id`, scope.AccountID, scope.Livemode)
	return out, wrap(err, "count what didn't arrive at webhook endpoints")
}

// DueEndpoints returns the endpoints that have a delivery due at now and not
// claimed, and that aren't held. It steps from endpoint to endpoint through the index, so a long
// backlog at one costs no more than a short one.
func (q *Queries) DueEndpoints(ctx context.Context, now time.Time) ([]domain.EndpointID, error) {
	var out []domain.EndpointID
	err := q.all(ctx, &out, `
		WITH RECURSIVE `+pendingEndpoints+`
		SELECT p.endpoint_id FROM pending p
		WHERE p.endpoint_id IS NOT NULL AND (
			SELECT true FROM delivery d
			WHERE d.endpoint_id = p.endpoint_id AND d.next_attempt_at <= $1 AND (d.lease_until IS NULL OR d.lease_until <= now())
			ORDER BY d.next_attempt_at, d.sequence
			LIMIT 1)
			AND NOT EXISTS (SELECT 1 FROM webhook_endpoint e WHERE e.id = p.endpoint_id AND `+heldEndpoint+`)`, now)
	return out, wrap(err, "find due endpoints")
}

// EndpointHealth is what an endpoint's latest attempts came to.
type EndpointHealth struct {
	ID         domain.EndpointID
	Failures   int        // consecutive ones at the end
	SuccessAt  *time.Time // of the last success among them
	At         time.Time  // of the last one
	FailingAt  time.Time  // of the first of Failures; zero for At
	AnsweredAt time.Time  // of the first success after the last failure; zero for SuccessAt
	StatusCode int        // 0 without a response
	ErrorClass string     // "" after a success

	Counted domain.EndpointMonth // of the day of At
}

// CountAttempts stores the endpoints' health, and tells their outages by the attempts.
// Failures in a row are added up; a success ends them.
func (tx *Tx) CountAttempts(ctx context.Context, outcomes []AttemptOutcome, health []EndpointHealth) error {
	if len(health) == 0 {
		return nil
	}
	var ids, classes, times []string
	var failures, codes, attempts, delivered []int64
	var ats, failing []time.Time
	var successes []*time.Time
	for _, h := range health {
		ids, classes = append(ids, h.ID.UUID.String()), append(classes, h.ErrorClass)
		failures, codes = append(failures, int64(h.Failures)), append(codes, int64(h.StatusCode))
		ats, failing, successes = append(ats, h.At), append(failing, cmp.Or(h.FailingAt, h.At)), append(successes, h.SuccessAt)
		attempts, delivered = append(attempts, h.Counted.Attempts), append(delivered, h.Counted.Delivered)
		times = append(times, counts(h.Counted.Times).String())
	}
	var watched []domain.EndpointID
	err := tx.all(ctx, &watched, `
		WITH counted AS (
		UPDATE webhook_endpoint e SET
			consecutive_failures = CASE WHEN h.success IS NULL THEN e.consecutive_failures ELSE 0 END + h.failures,
			failing_since = CASE WHEN h.failures > 0 THEN coalesce(CASE WHEN h.success IS NULL THEN e.failing_since END, h.failing) END,
			last_success_at = coalesce(h.success, e.last_success_at),
			last_failure_at = CASE WHEN h.failures = 0 THEN e.last_failure_at ELSE h.at END,
			last_status_code = nullif(h.code, 0), last_error_class = nullif(h.class, ''), gone = h.code = 410
		FROM unnest($1::uuid[], $2::int[], $3::timestamptz[], $4::int[], $5::text[], $6::timestamptz[], $7::timestamptz[]) AS h (id,
			failures, at, code, class, success, failing)
		WHERE e.id = h.id RETURNING e.id, h.at)
		SELECT id FROM counted e WHERE EXISTS (SELECT FROM `+latestOutages+` o
			WHERE o.answered_at IS NULL OR o.last_failure_at > e.at - `+outageWatch+`)`,
		pq.Array(ids), pq.Array(failures), pq.Array(ats), pq.Array(codes), pq.Array(classes), pq.Array(successes), pq.Array(failing))
	if err != nil {
		return wrap(err, "update endpoint health")
	}
	if err := tx.countOutages(ctx, outcomes, health, watched); err != nil {
		return err
	}
	_, err = tx.exec(ctx, `
		INSERT INTO endpoint_day AS e (endpoint_id, day, attempts, delivered, times)
		SELECT id, (at AT TIME ZONE 'UTC')::date, attempts, delivered, times::bigint[]
		FROM unnest($1::uuid[], $2::timestamptz[], $3::bigint[], $4::bigint[], $5::text[]) AS h (id, at, attempts, delivered, times)
		ON CONFLICT (endpoint_id, day) DO UPDATE SET
			attempts = e.attempts + excluded.attempts, delivered = e.delivered + excluded.delivered,
			times = ARRAY(SELECT coalesce(a, 0) + coalesce(b, 0) FROM unnest(e.times, excluded.times) WITH ORDINALITY AS t (a, b, n)
				ORDER BY n)`,
		pq.Array(ids), pq.Array(ats), pq.Array(attempts), pq.Array(delivered), pq.Array(times))
	return wrap(err, "count attempts of endpoints")
}

// EndpointMonths returns the attempts at the endpoints within
// domain.EndpointDays, today included. An endpoint without attempts is left
// out.
func (q *Queries) EndpointMonths(ctx context.Context, endpoints []domain.EndpointID,
	now time.Time) (map[domain.EndpointID]*domain.EndpointMonth, error) {
	var rows []struct {
		Endpoint  domain.EndpointID `db:"endpoint_id"`
		Attempts  int64             `db:"attempts"`
		Delivered int64             `db:"delivered"`
		Times     counts            `db:"times"`
		Ago       int               `db:"ago"`
	}
	err := q.all(ctx, &rows, `
		SELECT endpoint_id, attempts, delivered, times, $3::date - day AS ago FROM endpoint_day
		WHERE endpoint_id = ANY($1::uuid[]) AND day > $2::date`, pq.Array(endpoints), day(now.AddDate(0, 0, -domain.EndpointDays)),
		day(now))
	out := map[domain.EndpointID]*domain.EndpointMonth{}
	for _, r := range rows {
		if out[r.Endpoint] == nil {
			out[r.Endpoint] = &domain.EndpointMonth{}
		}
		out[r.Endpoint].Add(r.Ago, r.Attempts, r.Delivered, r.Times)
	}
	return out, wrap(err, "read attempts of endpoints")
}

// DeleteEndpointDays deletes up to limit days of endpoints from before the given
// time, and returns how many.
func (q *Queries) DeleteEndpointDays(ctx context.Context, before time.Time, limit int) (int, error) {
	result, err := q.exec(ctx, `
		DELETE FROM endpoint_day WHERE (endpoint_id, day) IN (
			SELECT endpoint_id, day FROM endpoint_day WHERE day < $1::date ORDER BY day
				LIMIT $2 FOR UPDATE SKIP LOCKED)`, day(before), limit)
	return affected(result, err, "delete days of endpoints")
}

// CancelHeld cancels up to limit pending deliveries that won't be sent: those at deleted
// endpoints, and those at paused ones that were due before the given time (D110). It
// returns how many.
func (q *Queries) CancelHeld(ctx context.Context, before, now time.Time, limit int) (int, error) {
	result, err := q.exec(ctx, `
		WITH RECURSIVE `+pendingEndpoints+`
		UPDATE delivery d SET state = 'cancelled', next_attempt_at = NULL, finished_at = $2
		WHERE CASE d.state WHEN 'pending' THEN true ELSE false END AND d.id IN (
			SELECT h.id FROM pending p JOIN webhook_endpoint e ON e.id = p.endpoint_id CROSS JOIN LATERAL (
				SELECT c.id FROM delivery c
				WHERE c.endpoint_id = e.id
					AND c.next_attempt_at <= CASE WHEN `+deletedEndpoint+` THEN 'infinity' ELSE $1::timestamptz END
				LIMIT $3) h
			WHERE `+heldEndpoint+`
			LIMIT $3)`, before, now, limit)
	return affected(result, err, "cancel held deliveries")
}

// CancelPending cancels up to limit pending deliveries of before the given time to an
// endpoint, and returns how many.
func (d *DB) CancelPending(ctx context.Context, scope domain.Scope, id domain.EndpointID, before time.Time, limit int) (n int,
	err error) {
	err = d.InTx(ctx, func(tx *Tx) error {
		tx.Announce(scope, domain.DeliveryChanged, nil)
		result, err := tx.exec(ctx, `
			UPDATE delivery d SET state = 'cancelled', next_attempt_at = NULL, finished_at = $2
			WHERE CASE d.state WHEN 'pending' THEN true ELSE false END AND d.id IN (
				SELECT id FROM delivery WHERE endpoint_id = $1 AND next_attempt_at IS NOT NULL AND created_at <= $2 LIMIT $3)`,
			id, before, limit)
		n, err = affected(result, err, "cancel an endpoint's deliveries")
		return err
	})
	return n, err
}

// DeleteEndpointRows deletes up to limit endpoints that were deleted before the given time
// and have no delivery left, and returns how many.
func (q *Queries) DeleteEndpointRows(ctx context.Context, before time.Time, limit int) (int, error) {
	result, err := q.exec(ctx, `
		DELETE FROM webhook_endpoint WHERE id IN (
			SELECT id FROM webhook_endpoint e
			WHERE e.deleted_at <= $1 AND (e.paused_at IS NOT NULL OR e.deleted_at IS NOT NULL) -- as the index
				AND NOT EXISTS (SELECT 1 FROM event WHERE endpoint_id = e.id)
				AND NOT EXISTS (SELECT 1 FROM delivery WHERE endpoint_id = e.id AND further)
				AND NOT EXISTS (SELECT 1 FROM delivery WHERE endpoint_id = e.id AND next_attempt_at IS NOT NULL)
			LIMIT $2)`, before, limit)
	return affected(result, err, "delete rows of webhook endpoints")
}
