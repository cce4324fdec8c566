package jobs

import (
	"context"
	"errors"
	"time"

	"github.com/riverqueue/river"

	"candor/db"
	"candor/internal/domain"
)

// figuresArgs counts the figures of days whose sessions changed.
type figuresArgs struct{}

// Kind names the job.
func (figuresArgs) Kind() string { return "figures" }

type figuresWorker struct {
	upkeepWorker[figuresArgs]
	db    *db.DB
	clock domain.Clock
}

// InsertOpts: after an upgrade a run can last, and others wait for no second one.
func (figuresArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: queueUpkeep, MaxAttempts: 1, UniqueOpts: unfinished}
}

// figuresTime is how long a run counts. The next one continues.
const figuresTime = 20 * time.Second

// Work counts them, until they are counted or the time is over.
func (w *figuresWorker) Work(ctx context.Context, _ *river.Job[figuresArgs]) error {
	ctx, cancel := context.WithTimeout(ctx, figuresTime)
	defer cancel()
	err := inBatches(ctx, func() (int, error) { return w.db.CountFigures(ctx, w.clock.Now(), sweepBatch) })
	if ctx.Err() != nil && errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}
