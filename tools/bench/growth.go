package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"candor/tools/harness"
)

const (
	fewSessions = 10_000
	// growthTarget is how many times as long an operation may take with many sessions.
	growthTarget = 1.3
	growthTurns  = 300 // of a request
	growthBlock  = 10  // requests before the other database has its turn
	jobTurns     = 9   // of a job
	dueWebhooks  = 1000
)

// grown are two databases of one PostgreSQL, each with a process that serves it.
type grown struct {
	small, large *environment
	n            int // sessions of the large one when it was filled
}

// both are the databases in the order of a turn: the one that was first comes second.
func (g *grown) both(turn int) []*environment {
	if turn%2 == 0 {
		return []*environment{g.small, g.large}
	}
	return []*environment{g.large, g.small}
}

// growth measures each operation with 10,000 sessions and with many, in turn.
func (b *bench) growth(ctx context.Context) error {
	g, err := b.openGrown(ctx)
	if err != nil {
		return err
	}
	defer g.stop()
	if err := b.growthSizes(ctx, g); err != nil {
		return err
	}
	for _, e := range g.both(0) {
		if err := e.Serve(ctx); err != nil {
			return err
		}
		if err := e.idle(ctx); err != nil {
			return err
		}
	}
	if err := b.growthRequests(ctx, g); err != nil {
		return err
	}
	if err := b.growthJobs(ctx, g); err != nil {
		return err
	}
	return b.growthContents(ctx, g.small)
}

// openGrown fills two databases, or finds them filled in the folder that is kept.
func (b *bench) openGrown(ctx context.Context) (_ *grown, err error) {
	folder := func(name string) string {
		if b.keep == "" {
			return ""
		}
		return filepath.Join(b.keep, name)
	}
	options := harness.Options{
		Name: "small", Dir: folder("small"), MaxConnections: 100,
		Environ: []string{"CANDOR_RATE_PER_MINUTE=1000000000", "CANDOR_RATE_BURST=1000000000", "CANDOR_FORM_RATE_PER_MINUTE=1000000",
			"CANDOR_STAFF_RATE_PER_MINUTE=1000000", "CANDOR_DB_CONNECTIONS=16", "CANDOR_SWEEP_INTERVAL=10m"},
	}
	small, err := harness.Start(ctx, binary, options)
	if err != nil {
		return nil, err
	}
	g := &grown{small: &environment{small}}
	defer func() {
		if err != nil {
			g.stop()
		}
	}()
	options.Name, options.Dir, options.Beside = "large", folder("large"), small
	large, err := harness.Start(ctx, binary, options)
	if err != nil {
		return nil, err
	}
	g.large = &environment{large}
	if err := g.fill(ctx, b.history); err != nil {
		return nil, err
	}
	return g, nil
}

func (g *grown) stop() {
	if g.large != nil {
		g.large.Stop()
	}
	g.small.Stop()
}

// fill fills both databases without durability, unless the folder says that they are.
func (g *grown) fill(ctx context.Context, n int) error {
	done := filepath.Join(g.large.Dir, "filled")
	text, err := os.ReadFile(done)
	if err == nil {
		if g.n, err = strconv.Atoi(string(text)); err != nil {
			return err
		}
		return g.operate(ctx)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, setting := range []string{
		"fsync = off", "full_page_writes = off", "synchronous_commit = off", "wal_level = minimal", "max_wal_senders = 0",
		"autovacuum = off", "max_wal_size = '3GB'", "checkpoint_timeout = '30min'",
	} {
		if _, err := g.small.DB.Raw().ExecContext(ctx, "ALTER SYSTEM SET "+setting); err != nil {
			return err
		}
	}
	if err := g.restart(ctx); err != nil {
		return err
	}
	began := time.Now()
	if err := g.small.fillGrowth(ctx, fewSessions); err != nil {
		return err
	}
	if err := g.large.fillGrowth(ctx, n); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "filled in %s\n", time.Since(began).Round(time.Second))
	if err := g.operate(ctx); err != nil {
		return err
	}
	g.n = n
	return os.WriteFile(done, []byte(strconv.Itoa(n)), 0o600)
}

// operate restarts PostgreSQL with its own settings instead of those of a fill, and with
// the memory that an operator would give to so many sessions.
func (g *grown) operate(ctx context.Context) error {
	for _, statement := range []string{"ALTER SYSTEM RESET ALL", "ALTER SYSTEM SET shared_buffers = '4GB'"} {
		if _, err := g.small.DB.Raw().ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return g.restart(ctx)
}

// restart restarts PostgreSQL for settings that need it.
func (g *grown) restart(ctx context.Context) error {
	if err := g.small.Postgres.Stop(); err != nil {
		return err
	}
	if err := g.small.StartPostgres(ctx, 100); err != nil {
		return err
	}
	g.large.Postgres = g.small.Postgres
	for _, e := range g.both(0) {
		for range 8 { // each of the pool's connections learns that it is broken
			_ = e.DB.Raw().PingContext(ctx)
		}
		if err := e.DB.Raw().PingContext(ctx); err != nil {
			return err
		}
	}
	return nil
}

// idle waits until the jobs that a start begins with have ended.
func (e *environment) idle(ctx context.Context) error {
	return e.until(ctx, 5*time.Minute, `SELECT count(*) = 0 FROM river_job WHERE state IN ('available', 'running')`)
}

// until waits until a query returns true.
func (e *environment) until(ctx context.Context, patience time.Duration, query string, args ...any) error {
	var err error
	yes := harness.Eventually(ctx, patience, func() (now bool) {
		err = e.DB.Raw().GetContext(ctx, &now, query, args...)
		return now || err != nil
	})
	if !yes {
		return fmt.Errorf("not within %s: %s", patience, query)
	}
	return err
}

// growthSizes prints what a session takes in each table and its indexes.
func (b *bench) growthSizes(ctx context.Context, g *grown) error {
	var tables []struct {
		Name    string  `db:"name"`
		Rows    float64 `db:"rows"`
		Table   float64 `db:"table_bytes"`
		Indexes float64 `db:"index_bytes"`
	}
	err := g.large.DB.Raw().SelectContext(ctx, &tables, `
		SELECT relname AS name, reltuples AS rows, pg_table_size(oid) AS table_bytes, pg_indexes_size(oid) AS index_bytes
		FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND pg_total_relation_size(oid) > 1000000
			ORDER BY pg_total_relation_size(oid) DESC`)
	if err != nil {
		return err
	}
	n := float64(g.n)
	for _, t := range tables {
		b.add(row{
			what: "Table " + t.Name, figure: fmt.Sprintf("%.0f bytes, indexes %.0f bytes a session", t.Table/n, t.Indexes/n),
			yardstick: fmt.Sprintf("%.2f rows a session", t.Rows/n),
			ratio:     fmt.Sprintf("%.1f GB", (t.Table+t.Indexes)/1e9), target: "stated", met: true,
		})
	}
	return nil
}
