package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"
	"unicode"

	"github.com/jmoiron/sqlx"

	"candor/internal/domain"
	"candor/internal/platform/batch"
	"candor/internal/platform/tracing"
)

// Queries are the statements that run on a DB and in a Tx alike. Both embed it.
// A statement that is only correct together with others is a method of Tx.
type Queries struct{ on runner }

// runner is what sqlx's DB and Tx have in common.
type runner interface {
	GetContext(ctx context.Context, dest any, query string, args ...any) error
	SelectContext(ctx context.Context, dest any, query string, args ...any) error
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// patientPool is the pool with the patience of requests.
type patientPool struct{ *sqlx.DB }

// GetContext reads one row.
func (p patientPool) GetContext(ctx context.Context, dest any, query string, args ...any) error {
	patient, end := domain.Patiently(ctx)
	defer end()
	return inTime(ctx, patient, p.DB.GetContext(patient, dest, query, args...))
}

// SelectContext reads all rows.
func (p patientPool) SelectContext(ctx context.Context, dest any, query string, args ...any) error {
	patient, end := domain.Patiently(ctx)
	defer end()
	return inTime(ctx, patient, p.DB.SelectContext(patient, dest, query, args...))
}

// ExecContext runs a statement.
func (p patientPool) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	patient, end := domain.Patiently(ctx)
	defer end()
	result, err := p.DB.ExecContext(patient, query, args...)
	return result, inTime(ctx, patient, err)
}

// inTime says so if err is the end of a request's patience.
func inTime(ctx, patient context.Context, err error) error {
	if err == nil || ctx.Err() != nil || !errors.Is(patient.Err(), context.DeadlineExceeded) ||
		errors.Is(err, domain.ErrOutcomeUnknown) {
		return err
	}
	return fmt.Errorf("%w: %w in time: %w", domain.ErrUnavailable, errNoAnswer, err)
}

// get reads one row into dest, a pointer to a struct or a single value.
func (q *Queries) get(ctx context.Context, dest any, query sqlText, args ...any) error {
	ctx, step := tracing.Step(ctx, caller)
	err := q.on.GetContext(ctx, dest, string(query), args...)
	step.End(hasFailed(err))
	return err
}

// all reads every row into dest, a pointer to a slice.
func (q *Queries) all(ctx context.Context, dest any, query sqlText, args ...any) error {
	ctx, step := tracing.Step(ctx, caller)
	err := q.on.SelectContext(ctx, dest, string(query), args...)
	step.End(hasFailed(err))
	return err
}

// row reads one row column by column.
func (tx *Tx) row(ctx context.Context, query sqlText, args ...any) *sql.Row {
	ctx, step := tracing.Step(ctx, caller)
	row := tx.tx.QueryRowContext(ctx, string(query), args...)
	step.End(hasFailed(row.Err()))
	return row
}

// exec runs a statement that returns no rows.
func (q *Queries) exec(ctx context.Context, query sqlText, args ...any) (sql.Result, error) {
	ctx, step := tracing.Step(ctx, caller)
	result, err := q.on.ExecContext(ctx, string(query), args...)
	step.End(hasFailed(err))
	return result, err
}

// deleteOld deletes up to limit rows of a table whose time is no later than before, the
// oldest first, and returns how many. Rows that another transaction holds wait for the next
// time.
func (q *Queries) deleteOld(ctx context.Context, table, key, at sqlText, before time.Time, limit int, doing string) (int, error) {
	result, err := q.exec(ctx, `
		DELETE FROM `+table+` WHERE `+key+` IN (
			SELECT `+key+` FROM `+table+` WHERE `+at+` <= $1 ORDER BY `+at+` LIMIT $2 FOR UPDATE SKIP LOCKED)`, before, limit)
	return affected(result, err, doing)
}

// execNamed runs a statement whose parameters are fields of arg.
func (tx *Tx) execNamed(ctx context.Context, query sqlText, arg any) (sql.Result, error) {
	ctx, step := tracing.Step(ctx, caller)
	result, err := tx.tx.NamedExecContext(ctx, string(query), arg)
	step.End(hasFailed(err))
	return result, err
}

// prepare prepares a statement, which COPY needs.
func (tx *Tx) prepare(ctx context.Context, query sqlText) (*sql.Stmt, error) {
	return tx.tx.PrepareContext(ctx, string(query))
}

// caller names a statement by the exported method that runs it, such as
// db.InsertEvent.
func caller() string {
	var counters [16]uintptr
	frames := runtime.CallersFrames(counters[:runtime.Callers(3, counters[:])])
	for {
		frame, more := frames.Next()
		_, name, ours := strings.Cut(frame.Function, "candor/db.")
		if i := strings.LastIndex(name, ")."); i >= 0 {
			name = name[i+2:]
		}
		name, _, _ = strings.Cut(name, ".") // a function in it
		if ours && name != "" && unicode.IsUpper(rune(name[0])) {
			return "db." + name
		}
		if !more || !ours && frame.Function != "" && !strings.HasPrefix(frame.Function, "candor/internal/platform/tracing.") {
			return "db"
		}
	}
}

// hasFailed reports whether a statement failed. That it found nothing is no failure.
func hasFailed(err error) bool { return err != nil && !errors.Is(err, sql.ErrNoRows) }

// wrap says what failed. A missing row becomes ErrNotFound.
func wrap(err error, doing string) error { return wrapMissing(err, ErrNotFound, doing) }

// wrapChange is wrap for a change that its row's state must allow. Without such
// a row the error is ErrState.
func wrapChange(err error, doing string) error { return wrapMissing(err, ErrState, doing) }

func wrapMissing(err, missing error, doing string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, sql.ErrNoRows):
		err = missing
	case isUnavailable(err):
		err = fmt.Errorf("%w: %w", domain.ErrUnavailable, err)
	}
	return fmt.Errorf("db: %s: %w", doing, err)
}

// affected returns how many rows a statement changed.
func affected(result sql.Result, err error, doing string) (int, error) {
	if err != nil {
		return 0, wrap(err, doing)
	}
	n, err := result.RowsAffected()
	return int(n), wrap(err, doing)
}

// changedOne returns ErrNotFound if an update or delete found no row.
func changedOne(result sql.Result, err error, doing string) error {
	return oneRow(result, err, ErrNotFound, doing)
}

// changedState returns ErrState if an update found no row in the state it needs.
func changedState(result sql.Result, err error, doing string) error {
	return oneRow(result, err, ErrState, doing)
}

func oneRow(result sql.Result, err, missing error, doing string) error {
	n, err := affected(result, err, doing)
	if err == nil && n == 0 {
		return fmt.Errorf("db: %s: %w", doing, missing)
	}
	return err
}

// batches are the statements of a DB that requests share which come at the same time
// (ADR 38): most of the time of a small statement is its way to PostgreSQL and back, in
// both processes, and of a small change its commit.
type batches struct {
	principals      *batch.Batcher[[]byte, *principalRow]
	keysAndSessions *batch.Batcher[keyAndSession, *keyAndSessionRow]
	newSessions     *batch.Batcher[newSession, *insertedSession]
}

func newBatches(d *DB) batches {
	read := batch.Options{Running: runtime.GOMAXPROCS(0), Size: 64, Linger: 20 * time.Millisecond, Alone: IsRefused}
	write := read
	write.Running = 1 // each waits for the disk: one at once takes the most with it
	return batches{batch.New(read, d.principals), batch.New(read, d.keysAndSessions), batch.New(write, d.insertNewSessions)}
}

func (b *batches) close() {
	b.principals.Close()
	b.keysAndSessions.Close()
	b.newSessions.Close()
}

// share returns the row of an item, or sql.ErrNoRows, in a statement with others.
func share[I, R any](ctx context.Context, b *batch.Batcher[I, *R], item I) (row *R, err error) {
	_, step := tracing.Step(ctx, caller)
	defer func() { step.End(hasFailed(err)) }()
	patient, end := domain.Patiently(ctx)
	defer end()
	if row, err = b.Do(patient, item); err == nil && row == nil {
		err = sql.ErrNoRows
	}
	return row, inTime(ctx, patient, err)
}
