package db

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"database/sql/driver"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"time"

	"github.com/lib/pq"
	"github.com/pressly/goose/v3"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"
	"github.com/riverqueue/river/rivermigrate"

	"candor/internal/platform/postgres"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migrateLock is the advisory lock that lets one process migrate at a time.
const migrateLock = 4_702_119_053

const migrateLockPoll = 50 * time.Millisecond

// tableLockWait is how long a migration waits for a table. While it waits for one
// that a long statement reads, such as a backup's, every statement after it waits, too.
// So it gives up soon, lets them pass, and tries again after tableLockPause. It waits for
// longer than deadlock_timeout, by default a second: an autovacuum is interrupted then.
const (
	tableLockWait  = "1500ms"
	tableLockPause = time.Second
)

// Migrate brings the schema of dsn's database up to date: our own migrations,
// then River's. Any number of processes may call it at once. dsn must not lead through
// a pooler in transaction mode, because the lock is the connection's.
func Migrate(ctx context.Context, dsn string) error {
	connector, err := postgres.NewConnector(dsn, false, postgres.NewServers())
	if err != nil {
		return err
	}
	// Without the statement cache: the schema changes under every statement.
	patient := openPool(connector, 4)
	defer patient.Close()
	unlock, err := lockMigrations(ctx, patient)
	if err != nil {
		return err
	}
	defer unlock()

	hasty := openPool(hastyConnector{connector}, 2)
	defer hasty.Close()
	if err := migrateOurs(ctx, patient, hasty); err != nil {
		return fmt.Errorf("db: migrate: %w", err)
	}
	rivers, err := riverMigrations(hasty)
	if err != nil {
		return err
	}
	err = untilLocked(ctx, func() error {
		_, err := rivers.Migrate(ctx, rivermigrate.DirectionUp, nil)
		return err
	})
	if err != nil {
		return fmt.Errorf("db: migrate River's tables: %w", err)
	}
	return nil
}

// A hastyConnector gives connections whose statements wait for a lock for tableLockWait
// at most. It sets that by a statement: poolers refuse connections that ask for it.
type hastyConnector struct{ driver.Connector }

func (c hastyConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	execer, ok := conn.(driver.ExecerContext)
	if !ok {
		return nil, errors.Join(fmt.Errorf("db: a %T runs no statement", conn), conn.Close())
	}
	if _, err := execer.ExecContext(ctx, "SET lock_timeout = '"+tableLockWait+"'", nil); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// migrateOurs runs the migrations that the database has not had. One without a
// transaction builds an index beside running statements: it waits for the older ones as
// long as it takes, which stops no other, and isn't begun twice.
func migrateOurs(ctx context.Context, patient, hasty *sql.DB) error {
	waiting, err := ourMigrations(patient)
	if err != nil {
		return err
	}
	trying, err := ourMigrations(hasty)
	if err != nil {
		return err
	}
	at, err := waiting.GetDBVersion(ctx)
	if err != nil {
		return err
	}
	sources := waiting.ListSources()
	for i, source := range sources {
		alone, err := outsideTransaction(source)
		if err != nil {
			return err
		}
		if alone && source.Version > at {
			// First those before it, in transactions.
			if i > 0 {
				before := sources[i-1].Version
				if err := untilLocked(ctx, func() error { _, err := trying.UpTo(ctx, before); return err }); err != nil {
					return err
				}
			}
			if _, err := waiting.UpTo(ctx, source.Version); err != nil {
				return err
			}
		}
	}
	return untilLocked(ctx, func() error { _, err := trying.Up(ctx); return err })
}

// outsideTransaction reports whether a migration runs without a transaction.
func outsideTransaction(source *goose.Source) (bool, error) {
	content, err := migrationFiles.ReadFile("migrations/" + source.Path)
	if err != nil {
		return false, fmt.Errorf("db: read migration: %w", err)
	}
	return bytes.Contains(content, []byte("-- +goose NO TRANSACTION")), nil
}

// untilLocked repeats work, whose transaction was rolled back, as long as it doesn't
// get a lock in time.
func untilLocked(ctx context.Context, work func() error) error {
	for {
		err := work()
		var e *pq.Error
		if !errors.As(err, &e) || e.Code != codeLockNotAvailable && e.Code != codeDeadlockDetected {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("a table is in use: %w", ctx.Err())
		case <-time.After(tableLockPause):
		}
	}
}

// MigrationsPending reports whether this program knows a migration that the
// database has not had. It only reads.
func MigrationsPending(ctx context.Context, d *DB) (bool, error) {
	ours, err := ourMigrations(d.pool.DB)
	if err != nil {
		return false, err
	}
	var begun bool
	if err := d.get(ctx, &begun, `SELECT to_regclass('goose_db_version') IS NOT NULL`); err != nil {
		return false, fmt.Errorf("db: look for the migrations' table: %w", err)
	}
	if !begun {
		return true, nil
	}
	var applied []int64
	if err := d.all(ctx, &applied, `SELECT version_id FROM goose_db_version WHERE is_applied`); err != nil {
		return false, fmt.Errorf("db: read applied migrations: %w", err)
	}
	for _, source := range ours.ListSources() {
		if !slices.Contains(applied, source.Version) {
			return true, nil
		}
	}
	rivers, err := riverMigrations(d.pool.DB)
	if err != nil {
		return false, err
	}
	result, err := rivers.Validate(ctx, nil)
	if err != nil {
		return false, fmt.Errorf("db: check River's migrations: %w", err)
	}
	return !result.OK, nil
}

// SchemaFingerprint identifies the schema that Migrate makes: it changes with
// any of our migrations and with River's. In hexadecimal.
func SchemaFingerprint() (string, error) {
	h := sha256.New()
	names, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		return "", fmt.Errorf("db: list migrations: %w", err)
	}
	for _, name := range names {
		b, err := migrationFiles.ReadFile(name)
		if err != nil {
			return "", fmt.Errorf("db: read migration: %w", err)
		}
		fmt.Fprintf(h, "%s %d\n%s", name, len(b), b)
	}
	rivers, err := riverMigrations(nil)
	if err != nil {
		return "", err
	}
	for _, m := range rivers.AllVersions() {
		fmt.Fprintf(h, "river %d %d\n%s", m.Version, len(m.SQLUp), m.SQLUp)
	}
	return hex.EncodeToString(h.Sum(nil)[:8]), nil
}

// lockMigrations waits for the lock by asking again and again: a session that
// waits inside pg_advisory_lock holds a snapshot, for which CREATE INDEX
// CONCURRENTLY in the lock's holder would wait in turn, for ever.
func lockMigrations(ctx context.Context, pool *sql.DB) (unlock func(), err error) {
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("db: connect to migrate: %w", err)
	}
	for {
		var got bool
		if err := conn.QueryRowContext(ctx, "SELECT pg_try_advisory_lock($1)", int64(migrateLock)).Scan(&got); err != nil {
			_ = conn.Close()
			return nil, fmt.Errorf("db: lock migrations: %w", err)
		}
		if got {
			break
		}
		select {
		case <-ctx.Done():
			_ = conn.Close()
			return nil, fmt.Errorf("db: another process is still migrating: %w", ctx.Err())
		case <-time.After(migrateLockPoll):
		}
	}
	return func() {
		// Should it fail, the lock ends with the pool that Migrate closes.
		_, _ = conn.ExecContext(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", int64(migrateLock))
		_ = conn.Close()
	}, nil
}

func ourMigrations(pool *sql.DB) (*goose.Provider, error) {
	files, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return nil, fmt.Errorf("db: migrations: %w", err)
	}
	p, err := goose.NewProvider(goose.DialectPostgres, pool, files,
		goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return nil, fmt.Errorf("db: migrations: %w", err)
	}
	return p, nil
}

func riverMigrations(pool *sql.DB) (*rivermigrate.Migrator[*sql.Tx], error) {
	m, err := rivermigrate.New(riverdatabasesql.New(pool), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, fmt.Errorf("db: River's migrations: %w", err)
	}
	return m, nil
}
