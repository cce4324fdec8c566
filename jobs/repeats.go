package jobs

import (
	"context"

	"github.com/riverqueue/river"

	"candor/db"
	"candor/internal/domain"
)

// repeatArgs writes what the audit log has counted (D89).
type repeatArgs struct{ upkeepArgs }

// Kind names the job.
func (repeatArgs) Kind() string { return "audit_repeats" }

type repeatWorker struct {
	upkeepWorker[repeatArgs]
	db    *db.DB
	clock domain.Clock
}

// Work writes entries that have been counted for a minute, each as one.
func (w *repeatWorker) Work(ctx context.Context, _ *river.Job[repeatArgs]) error {
	return w.db.RecordRepeats(ctx, w.clock.Now().Add(-repeatsEvery))
}
