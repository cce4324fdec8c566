package jobs

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"candor/db"
	"candor/internal/domain"
)

// repeatArgs writes what the audit log has counted (D89).
type repeatArgs struct{}

// Kind names the job.
func (repeatArgs) Kind() string { return "audit_repeats" }

// InsertOpts: the next run retries a failed one.
func (repeatArgs) InsertOpts() river.InsertOpts { return upkeepOpts() }

type repeatWorker struct {
	river.WorkerDefaults[repeatArgs]
	db    *db.DB
	clock domain.Clock
}

// Timeout bounds one run.
func (w *repeatWorker) Timeout(*river.Job[repeatArgs]) time.Duration { return upkeepTimeout }

// Work writes entries that have been counted for a minute, each as one.
func (w *repeatWorker) Work(ctx context.Context, _ *river.Job[repeatArgs]) error {
	return w.db.RecordRepeats(ctx, w.clock.Now().Add(-repeatsEvery))
}
