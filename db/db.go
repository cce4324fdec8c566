// Package db keeps everything Candor stores, in PostgreSQL: sessions, accounts,
// events, deliveries. Each entity's SQL stands in the methods of its own file.
//
// It is the only package that knows tables and constraint names. It must not know HTTP, jobs
// or use cases, and it reads no environment of the service's own.
package db

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"time"

	"github.com/jmoiron/sqlx"

	"candor/internal/domain"
	"candor/internal/platform/postgres"
	"candor/internal/platform/tracing"
)

const (
	defaultMaxOpenConns = 20
	connMaxIdleTime     = 5 * time.Minute
	maxTxRetries        = 3
)

// Options tune the connection pool. The zero value is usable.
type Options struct {
	// MaxOpenConns is the size of the pool. Zero: 20.
	MaxOpenConns int
	// StatementCache is the number of statements each connection keeps
	// prepared. Zero: 256. Negative: none.
	StatementCache int
	// DirectURL leads to PostgreSQL itself. Set it if the database is opened through
	// a pooler in transaction mode: each statement with its parameters is then one
	// message, none is prepared, and LISTEN has a connection of its own.
	DirectURL string
	// Beside is a DB that is watched: its servers are those of this one, too.
	Beside *DB
}

// DB is the database, safe for concurrent use.
type DB struct {
	Queries
	pool       *sqlx.DB
	dsn        string
	servers    *postgres.Servers
	watch      *postgres.Watch // nil before Watch
	announcers *announcers
	listener   *listener
	batches    batches
}

// Tx is a transaction, given to the function passed to DB.InTx.
type Tx struct {
	Queries
	tx         *sqlx.Tx
	announcers *announcers
	committed  []func()
}

// AfterCommit calls fn after the transaction is committed. If it is rolled back,
// fn isn't called.
func (tx *Tx) AfterCommit(fn func()) { tx.committed = append(tx.committed, fn) }

func (tx *Tx) done() {
	for _, fn := range tx.committed {
		fn()
	}
}

// Open connects to the database of dsn (a URL or key=value pairs) and checks
// that it answers. Sessions speak UTC unless dsn sets another timezone. Errors
// never contain the password.
func Open(ctx context.Context, dsn string, opts Options) (*DB, error) {
	if opts.DirectURL != "" {
		opts.StatementCache = -1
	}
	all := postgres.NewServers()
	if opts.Beside != nil {
		all = opts.Beside.servers
	}
	connector, err := postgres.NewConnector(dsn, opts.DirectURL != "", all)
	if err != nil {
		return nil, err
	}
	pool := openPool(postgres.Pooled(connector, opts.StatementCache, opts.DirectURL != ""), opts.MaxOpenConns)
	if err := pool.PingContext(ctx); err != nil {
		_ = pool.Close() // the ping's error is the one to tell
		return nil, fmt.Errorf("db: connect to PostgreSQL: %w", err)
	}
	return newDB(sqlx.NewDb(pool, "postgres"), dsn, opts.DirectURL, all), nil
}

func newDB(pool *sqlx.DB, dsn, direct string, all *postgres.Servers) *DB {
	direct = cmp.Or(direct, dsn)
	q := Queries{on: patientPool{pool}}
	d := &DB{Queries: q, pool: pool, dsn: dsn, servers: all, announcers: newAnnouncers(&q), listener: newListener(direct, all)}
	d.batches = newBatches(d)
	return d
}

// Close closes all connections.
func (d *DB) Close() error {
	if d.watch != nil {
		d.watch.Close()
	}
	d.batches.close()
	d.listener.close()
	d.announcers.close()
	return d.pool.Close()
}

// Watch begins to follow the servers until Close. While a commit has waited for a replica
// for longer than late, requests begin no transaction: each would leave another one waiting.
func (d *DB) Watch(late time.Duration) (err error) {
	d.watch, err = d.servers.Watch(d.dsn, late)
	return err
}

// CommitWaits returns the commits that wait for a replica. Without Watch there are none.
func (d *DB) CommitWaits() postgres.CommitWaits {
	if d.watch == nil {
		return postgres.CommitWaits{}
	}
	return d.watch.CommitWaits(time.Now())
}

// CommitAcknowledged says that a commit that was tried is acknowledged.
func (d *DB) CommitAcknowledged() {
	if d.watch != nil {
		d.watch.Acknowledged(time.Now())
	}
}

// admits returns an error if a request may not begin a change now.
func (d *DB) admits(ctx context.Context) error {
	if domain.HasPatience(ctx) && d.CommitWaits().Late {
		return fmt.Errorf("%w: commits wait for a replica", domain.ErrUnavailable)
	}
	return nil
}

// Dial opens a connection of this process's that isn't of the pool, such as a worker's. It
// is cut off with those of the pool.
func (d *DB) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	return d.servers.DialContext(ctx, network, address)
}

// Ping reports whether the database answers.
func (d *DB) Ping(ctx context.Context) error { return d.pool.PingContext(ctx) }

// Stats returns the figures of the connection pool.
func (d *DB) Stats() sql.DBStats { return d.pool.Stats() }

// Raw is for tests and tools, which look into tables and set them up. Product
// code calls methods of this package; TestNoStringBecomesSQL checks that.
func (d *DB) Raw() *sqlx.DB { return d.pool }

// Raw is DB.Raw in the transaction.
func (tx *Tx) Raw() *sqlx.Tx { return tx.tx }

func openPool(connector driver.Connector, maxOpen int) *sql.DB {
	if maxOpen <= 0 {
		maxOpen = defaultMaxOpenConns
	}
	pool := sql.OpenDB(connector)
	pool.SetMaxOpenConns(maxOpen)
	// Idle connections hold the prepared statements: keep all of them for a while.
	pool.SetMaxIdleConns(maxOpen)
	pool.SetConnMaxIdleTime(connMaxIdleTime)
	return pool
}

// InTx runs fn in a transaction: committed when fn returns nil, rolled back
// when it returns an error or panics. If the database asks for the transaction
// to be repeated (serialization failure, deadlock, a stale prepared statement), if
// it takes no writes, or if the connection is lost before the commit, fn is run
// again, at most three more times: it must have no effect outside the transaction.
// fn's error is returned as it is. A request's patience bounds it (domain.WithPatience).
func (d *DB) InTx(ctx context.Context, fn func(tx *Tx) error) error {
	if err := d.admits(ctx); err != nil {
		return err
	}
	patient, end := domain.Patiently(ctx)
	defer end()
	return inTime(ctx, patient, d.inTx(patient, nil, fn))
}

// inSnapshot runs reads that see the database as it is at the first of them.
func (d *DB) inSnapshot(ctx context.Context, read func(q *Queries) error) error {
	patient, end := domain.Patiently(ctx)
	defer end()
	snapshot := &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}
	return inTime(ctx, patient, d.inTx(patient, snapshot, func(tx *Tx) error { return read(&tx.Queries) }))
}

func (d *DB) inTx(ctx context.Context, options *sql.TxOptions, fn func(tx *Tx) error) error {
	for retry := 0; ; retry++ {
		err := d.runTx(ctx, options, fn)
		if err == nil || retry == maxTxRetries || ctx.Err() != nil || !isRetryable(err) {
			return err
		}
		// Unequal pauses keep two losers from colliding again.
		pause := time.Duration(1+rand.IntN(10<<retry)) * time.Millisecond
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
}

func (d *DB) runTx(ctx context.Context, options *sql.TxOptions, fn func(tx *Tx) error) (err error) {
	begun, err := d.pool.BeginTxx(ctx, options)
	if err != nil {
		return wrap(err, "begin")
	}
	tx := &Tx{Queries: Queries{on: begun}, tx: begun, announcers: d.announcers}
	committing := false
	defer func() {
		if committing {
			return // a failed commit has ended the transaction too
		}
		// Also on the way of a panic or runtime.Goexit.
		if rollback := tx.tx.Rollback(); rollback != nil && !errors.Is(rollback, sql.ErrTxDone) && err != nil {
			err = fmt.Errorf("%w (and rollback failed: %w)", err, rollback)
		}
	}()
	if err := fn(tx); err != nil {
		return err
	}
	committing = true
	_, step := tracing.Step(ctx, func() string { return "db.Commit" })
	err = tx.tx.Commit()
	step.End(err != nil)
	if errors.Is(err, sql.ErrTxDone) && ctx.Err() != nil {
		err = ctx.Err() // the end of the request rolled it back
	}
	if postgres.Lost(err) {
		return fmt.Errorf("db: commit: %w (%v)", domain.ErrOutcomeUnknown, err) //nolint:errorlint // what is lost here must not be repeated
	} else if err != nil {
		return fmt.Errorf("db: commit: %w", err)
	}
	tx.done()
	return nil
}
