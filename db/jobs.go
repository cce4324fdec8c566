package db

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"
	"github.com/riverqueue/river/rivertype"

	"candor/internal/domain"
	"candor/internal/platform/tracing"
)

// JobDriver is River's driver on this database, for a client that inserts jobs.
func (d *DB) JobDriver() *riverdatabasesql.Driver { return riverdatabasesql.New(d.pool.DB) }

// A JobClient is River's client. The interface keeps its generic code out of the
// packages that only pass a Tx on: they would compile all of it again.
type JobClient interface {
	InsertTx(ctx context.Context, tx *sql.Tx, args river.JobArgs, opts *river.InsertOpts) (*rivertype.JobInsertResult, error)
}

// jobTrace is what a job's metadata has of the trace that inserts it, if one is
// recorded.
type jobTrace struct {
	Parent   string `json:"traceparent"`
	Delivery string `json:"trace_delivery,omitempty"`
}

// InsertJob inserts a job that exists if the transaction commits. The job continues
// ctx's trace.
func (tx *Tx) InsertJob(ctx context.Context, client JobClient, args river.JobArgs) error {
	var opts *river.InsertOpts
	if parent := tracing.Parent(ctx); parent != "" {
		metadata, err := json.Marshal(jobTrace{Parent: parent, Delivery: tracing.Delivery(ctx)})
		if err != nil {
			return fmt.Errorf("db: a job's trace: %w", err)
		}
		opts = &river.InsertOpts{Metadata: metadata}
	}
	_, err := client.InsertTx(ctx, tx.tx.Tx, args, opts)
	return wrap(err, "insert job "+args.Kind())
}

// WaitingLinks counts the links of an account that wait to be emailed, up to limit, without
// those that the sweep looks at.
func (tx *Tx) WaitingLinks(ctx context.Context, account domain.AccountID, limit int) (n int, err error) {
	err = tx.get(ctx, &n, `
		SELECT count(*) FROM (
			SELECT FROM river_job
			WHERE state = 'available' AND queue = 'mail' AND priority < 4 AND kind = 'session_email' AND args ->> 'account_id' = $1
			LIMIT $2) waiting`, account.String(), limit)
	return n, wrap(err, "count waiting links")
}

// JobTrace returns the trace that inserted a job, by its metadata, or "".
func JobTrace(metadata []byte) string {
	var t jobTrace
	_ = json.Unmarshal(metadata, &t) // what isn't ours has no trace
	return t.Parent
}

// DeliveryTrace returns the trace that last made a delivery due, or "": it isn't
// recorded, or its job was cleaned up after a day. River indexes the metadata.
func (q *Queries) DeliveryTrace(ctx context.Context, id domain.DeliveryID) (string, error) {
	about, err := json.Marshal(map[string]string{"trace_delivery": id.String()})
	if err != nil {
		return "", fmt.Errorf("db: a delivery's trace: %w", err)
	}
	var parent string
	err = q.get(ctx, &parent, `
		SELECT coalesce((array_agg(metadata ->> 'traceparent' ORDER BY id DESC))[1], '')
		FROM river_job WHERE metadata @> $1::jsonb`, string(about))
	return parent, wrap(err, "find a delivery's trace")
}

const (
	// workerDeadAfter is how long a worker shows no sign of life before others take its
	// jobs. A job that runs twice leaves one PDF, one email, one payment.
	workerDeadAfter = 10 * time.Second
	// workerSteadyFor is how long who says that has shown them itself: while no worker could
	// reach the database, none of them was dead.
	workerSteadyFor = 5 * time.Second
)

// WorkerLives notes a sign of life of a worker. Its commit needn't reach the disk or a
// replica: the next one follows.
func (d *DB) WorkerLives(ctx context.Context, id string) error {
	_, err := d.exec(ctx, `
		WITH quick AS (SELECT set_config('synchronous_commit', 'off', true))
		INSERT INTO worker (id, alive_at, since) SELECT $1::text, clock_timestamp(), clock_timestamp() FROM quick
		ON CONFLICT (id) DO UPDATE SET alive_at = excluded.alive_at,
			since = CASE WHEN worker.alive_at < excluded.alive_at - make_interval(secs => $2) THEN excluded.since ELSE worker.since END`,
		id, workerSteadyFor.Seconds())
	return wrap(err, "note that a worker lives")
}

// TakeJobsOfDead makes the running jobs of dead workers available again, and returns how
// many. The worker that asks must live. A job on its last try is River's to discard.
func (d *DB) TakeJobsOfDead(ctx context.Context, id string) (int, error) {
	result, err := d.exec(ctx, `
		WITH asks AS (SELECT FROM worker WHERE id = $1 AND since <= clock_timestamp() - make_interval(secs => $2)),
		dead AS (DELETE FROM worker USING asks WHERE alive_at < clock_timestamp() - make_interval(secs => $3) RETURNING id)
		UPDATE river_job SET state = 'available'
		WHERE state = 'running' AND attempt < max_attempts AND attempted_by[cardinality(attempted_by)] IN (SELECT id FROM dead)`,
		id, workerSteadyFor.Seconds(), workerDeadAfter.Seconds())
	return affected(result, err, "take the jobs of dead workers")
}

// WorkerEnds forgets a worker that has ended its jobs.
func (d *DB) WorkerEnds(ctx context.Context, id string) error {
	_, err := d.exec(ctx, `DELETE FROM worker WHERE id = $1`, id)
	return wrap(err, "forget a worker")
}
