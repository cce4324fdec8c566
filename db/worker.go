package db

import (
	"context"
	"time"
)

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
