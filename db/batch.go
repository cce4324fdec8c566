package db

import (
	"context"
	"database/sql"
	"runtime"
	"time"

	"candor/internal/domain"
	"candor/internal/platform/batch"
	"candor/internal/platform/tracing"
)

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
