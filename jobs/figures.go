package jobs

import (
	"context"

	"github.com/riverqueue/river"

	"candor/db"
	"candor/internal/domain"
)

// figuresArgs counts the figures of days whose sessions changed.
type figuresArgs struct{ upkeepArgs }

// Kind names the job.
func (figuresArgs) Kind() string { return "figures" }

type figuresWorker struct {
	upkeepWorker[figuresArgs]
	db    *db.DB
	clock domain.Clock
}

// Work counts them.
func (w *figuresWorker) Work(ctx context.Context, _ *river.Job[figuresArgs]) error {
	now := w.clock.Now()
	return inBatches(ctx, func() (int, error) { return w.db.CountFigures(ctx, now, sweepBatch) })
}
