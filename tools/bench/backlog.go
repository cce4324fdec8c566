package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"candor/db"
	"candor/internal/domain"
)

const (
	backlogSize = 10_000
	// backlogTurns is how often each backlog is delivered. The median counts.
	backlogTurns = 3
	// eventsPerSession makes deliveries wait for earlier ones of their session, as
	// real ones do.
	eventsPerSession = 10
	// manyDeliveries are those of events that go to manyEndpoints each.
	manyDeliveries = 8 * backlogSize
	manyEndpoints  = 20
)

// compareBacklog delivers due deliveries, runs River's no-op jobs and pgbench's inserts.
// It returns how many deliveries a second were delivered.
func (b *bench) compareBacklog(ctx context.Context, e *environment) (delivered float64, err error) {
	rates, err := e.backlogsInTurn(ctx, e.oneReceiver(ctx),
		func() (float64, error) { return e.runRiver(ctx, backlogSize) },
		func() (float64, error) { return e.insertRate(ctx) })
	if err != nil {
		return 0, err
	}
	delivered, river, inserts := median(rates[0]), slices.Max(rates[1]), median(rates[2])
	b.add(row{
		what: fmt.Sprintf("Backlog of %d due deliveries", backlogSize), figure: fmt.Sprintf("%.0f deliveries/s", delivered),
		yardstick: fmt.Sprintf("River, no-op jobs: %.0f/s", river), ratio: percent(delivered / river),
		target: "≥ 50 %", met: delivered >= river/2,
	})
	b.add(row{
		what: "The same beside pgbench", figure: fmt.Sprintf("%.0f deliveries/s", delivered),
		yardstick: fmt.Sprintf("pgbench, single inserts: %.0f/s", inserts), ratio: percent(delivered / inserts),
		target: "≥ 2000/s per 7000/s (29 %)", met: delivered >= inserts*2/7,
	})
	return delivered, nil
}

// oneReceiver delivers a backlog to one receiver.
func (e *environment) oneReceiver(ctx context.Context) func() (float64, error) {
	return func() (float64, error) { return e.deliverBacklog(ctx, backlogSize, targets{1, 1}) }
}

// backlogsInTurn measures rates after a warm-up, in turn, so that a slow spell of the
// machine hits all of them.
func (e *environment) backlogsInTurn(ctx context.Context, measures ...func() (float64, error)) ([][]float64, error) {
	if err := e.warmUp(ctx); err != nil {
		return nil, err
	}
	rates := make([][]float64, len(measures))
	for range backlogTurns {
		for i, measure := range measures {
			rate, err := measure()
			if err != nil {
				return nil, err
			}
			rates[i] = append(rates[i], rate)
		}
	}
	return rates, nil
}

// warmUp delivers one backlog that doesn't count and then vacuums, as autovacuum
// does within its minute. Without it the plans of empty tables would be measured,
// and the first writes to pages after a checkpoint.
func (e *environment) warmUp(ctx context.Context) error {
	if _, err := e.deliverBacklog(ctx, backlogSize, targets{1, 1}); err != nil {
		return err
	}
	if _, err := e.runRiver(ctx, backlogSize); err != nil {
		return err
	}
	_, err := e.DB.Raw().ExecContext(ctx, `VACUUM ANALYZE session, event, delivery, delivery_attempt, webhook_endpoint, river_job`)
	return err
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// endpoints compares a backlog of events that go to many endpoints each with one of as
// many deliveries at as many endpoints, of an event each, in turn: what one more endpoint
// costs beside one more event. It has more deliveries than the others: a claim takes one
// event of a session at most, and with few sessions claims would be measured.
func (b *bench) endpoints(ctx context.Context, e *environment) error {
	to := func(to targets) func() (float64, error) {
		return func() (float64, error) { return e.deliverBacklog(ctx, manyDeliveries, to) }
	}
	rates, err := e.backlogsInTurn(ctx, e.oneReceiver(ctx), to(targets{manyEndpoints, 1}), to(targets{manyEndpoints, manyEndpoints}))
	if err != nil {
		return err
	}
	one, each, many := median(rates[0]), median(rates[1]), median(rates[2])
	b.add(row{
		what: fmt.Sprintf("Backlog of %d deliveries of %d events to %d endpoints", manyDeliveries, manyDeliveries/manyEndpoints,
			manyEndpoints),
		figure:    fmt.Sprintf("%.0f deliveries/s", many),
		yardstick: fmt.Sprintf("an event each: %.0f/s; at one endpoint: %.0f/s", each, one),
		ratio:     percent(many / each), target: "≥ 90 %", met: many >= 0.9*each,
	})
	return nil
}

// targets are how many endpoints there are, and how many of them get an event.
type targets struct{ endpoints, ofEvent int }

// deliverBacklog makes n deliveries due at the same time, and returns how many a second were
// delivered and recorded, counted from the first arrival.
func (e *environment) deliverBacklog(ctx context.Context, n int, to targets) (float64, error) {
	r, err := newReceiver(0)
	if err != nil {
		return 0, err
	}
	defer r.close()
	if err := e.makeDue(ctx, r.url, n, to); err != nil {
		return 0, err
	}
	arrived, err := r.await(n/to.ofEvent, 2*time.Minute) // an event has one body
	if err != nil {
		return 0, err
	}
	first := time.Now()
	for _, at := range arrived {
		if at.Before(first) {
			first = at
		}
	}
	for pending := 1; pending > 0; {
		if err := e.DB.Raw().GetContext(ctx, &pending, `SELECT count(*) FROM delivery WHERE state = 'pending'`); err != nil {
			return 0, err
		}
	}
	if again := r.again - (n - n/to.ofEvent); again > 0 {
		return 0, fmt.Errorf("%d deliveries arrived more than once", again)
	}
	return float64(n) / time.Since(first).Seconds(), nil
}

// makeDue commits n deliveries to url at once, with real bodies.
func (e *environment) makeDue(ctx context.Context, url string, n int, to targets) error {
	many := n / to.ofEvent
	sessions, err := e.newSessions(ctx, url, many/eventsPerSession)
	if err != nil {
		return err
	}
	scope, err := e.scope()
	if err != nil {
		return err
	}
	now := domain.SystemClock.Now()
	at := make([]domain.EndpointID, to.endpoints)
	var last int64
	err = e.DB.InTx(ctx, func(tx *db.Tx) error {
		for i := range at {
			origin := domain.Origin(url)
			if i > 0 {
				origin = fmt.Sprintf("https://bench-%d.example", i) // a queue of its own
			}
			if at[i], err = tx.EndpointFor(ctx, scope, origin, now); err != nil {
				return err
			}
		}
		last, err = tx.NextSequence(ctx, scope)
		return err
	})
	if err != nil {
		return err
	}
	var events, deliveries [][]any
	for i := range many {
		s := sessions[i%len(sessions)]
		event, err := domain.NewEvent(scope, &s.ID, last+int64(i)+1, sectionEvent(s, i), now)
		if err != nil {
			return err
		}
		mine := at
		if to.ofEvent == 1 { // a session's events at one endpoint
			mine = at[i%len(sessions)%len(at):][:1]
		}
		events = append(events, []any{event.ID.UUID, scope.AccountID.UUID, scope.Livemode, s.ID.UUID, event.Sequence,
			string(event.Type), event.Body, url, mine[0].UUID, now})
		for j, endpoint := range mine {
			d := domain.NewDelivery(event, endpoint, url, now)
			deliveries = append(deliveries, []any{d.ID.UUID, scope.AccountID.UUID, scope.Livemode, string(event.Type), event.ID.UUID,
				endpoint.UUID, s.ID.UUID, d.Sequence, url, string(d.State), now, now, j > 0})
		}
	}
	return e.copyRows(ctx, scope, last+int64(many), events, deliveries)
}

// copyRows stores events and deliveries in one transaction, so that they are due
// at the same time.
func (e *environment) copyRows(ctx context.Context, scope domain.Scope, last int64, events, deliveries [][]any) (err error) {
	conn, err := pgx.Connect(ctx, e.DSN)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		columns := []string{"id", "account_id", "livemode", "session_id", "sequence", "type", "body", "url", "endpoint_id",
			"created_at"}
		if _, err := tx.CopyFrom(ctx, pgx.Identifier{"event"}, columns, pgx.CopyFromRows(events)); err != nil {
			return err
		}
		columns = []string{"id", "account_id", "livemode", "type", "event_id", "endpoint_id", "session_id", "sequence", "url", "state",
			"next_attempt_at", "created_at", "further"}
		if _, err := tx.CopyFrom(ctx, pgx.Identifier{"delivery"}, columns, pgx.CopyFromRows(deliveries)); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `UPDATE event_sequence SET last = $1 WHERE account_id = $2 AND livemode = $3`, last,
			scope.AccountID.UUID, scope.Livemode)
		return err
	})
}

// noopArgs are River's yardstick: a job that does nothing.
type noopArgs struct {
	Number int `json:"number"`
}

// Kind names the job.
func (noopArgs) Kind() string { return "bench_noop" }

type noopWorker struct {
	river.WorkerDefaults[noopArgs]
	left atomic.Int64
	done chan struct{} // closed when none is left
}

// Work counts.
func (w *noopWorker) Work(context.Context, *river.Job[noopArgs]) error {
	if w.left.Add(-1) == 0 {
		close(w.done)
	}
	return nil
}

const benchQueue = "bench"

// runRiver returns how many no-op jobs a second River runs and records with 100
// workers in this process.
func (e *environment) runRiver(ctx context.Context, n int) (_ float64, err error) {
	pool, err := pgxpool.New(ctx, e.DSN+"&pool_max_conns=16")
	if err != nil {
		return 0, err
	}
	defer pool.Close()
	worker := &noopWorker{done: make(chan struct{})}
	worker.left.Store(int64(n))
	workers := river.NewWorkers()
	river.AddWorker(workers, worker)
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		FetchCooldown: 10 * time.Millisecond, FetchPollInterval: 200 * time.Millisecond, Logger: slog.New(slog.DiscardHandler),
		Queues: map[string]river.QueueConfig{benchQueue: {MaxWorkers: 100}}, Workers: workers,
	})
	if err != nil {
		return 0, err
	}
	args := make([]river.InsertManyParams, n)
	for i := range args {
		args[i] = river.InsertManyParams{Args: noopArgs{Number: i}, InsertOpts: &river.InsertOpts{Queue: benchQueue}}
	}
	if _, err := client.InsertManyFast(ctx, args); err != nil {
		return 0, err
	}
	began := time.Now()
	if err := client.Start(ctx); err != nil {
		return 0, err
	}
	select {
	case <-worker.done:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	for left := 1; left > 0; {
		if err := e.DB.Raw().GetContext(ctx, &left, `SELECT count(*) FROM river_job WHERE queue = $1 AND state <> 'completed'`,
			benchQueue); err != nil {
			return 0, err
		}
	}
	took := time.Since(began)
	if err := client.Stop(ctx); err != nil {
		return 0, err
	}
	// Finished jobs would slow down the next measurement.
	for _, statement := range []string{`DELETE FROM river_job WHERE queue = '` + benchQueue + `'`, `VACUUM river_job`} {
		if _, err := e.DB.Raw().ExecContext(ctx, statement); err != nil {
			return 0, err
		}
	}
	return float64(n) / took.Seconds(), nil
}

// insertRate is how many rows a second pgbench inserts one by one.
func (e *environment) insertRate(ctx context.Context) (float64, error) {
	if _, err := e.DB.Raw().ExecContext(ctx,
		`CREATE TABLE IF NOT EXISTS bench_insert (id uuid PRIMARY KEY, body text NOT NULL, created_at timestamptz NOT NULL)`); err != nil {
		return 0, err
	}
	return e.pgbench(ctx, `INSERT INTO bench_insert (id, body, created_at) VALUES (gen_random_uuid(), repeat('x', 400), now());
`, 8, 3*time.Second)
}
