package jobs

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"candor/db"
	"candor/internal/delivery"
	"candor/internal/domain"
)

const (
	// redeliverEvery is the time between two steps of a redelivery.
	redeliverEvery = 100 * time.Millisecond
	// redeliverIdle is the time to a step after one that found no room: the endpoint is
	// paused, or has answered nothing since the step before.
	redeliverIdle = 300 * time.Millisecond
	// redeliverTimeout bounds one step.
	redeliverTimeout = 10 * time.Second
)

// redeliverArgs makes the steps of a redelivery until it has ended.
type redeliverArgs struct {
	RedeliveryID domain.RedeliveryID `json:"redelivery_id"`
}

// Kind names the job.
func (redeliverArgs) Kind() string { return "webhook_redelivery" }

// InsertOpts puts steps into the queue of the wakes, which take no time, so that
// steps don't wait for upkeep.
func (redeliverArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: queueWebhooks, MaxAttempts: maxRuns}
}

// Redeliver starts the steps of a redelivery that the transaction stores.
func (i *Inserter) Redeliver(ctx context.Context, tx *db.Tx, id domain.RedeliveryID) error {
	return i.insert(ctx, tx, redeliverArgs{RedeliveryID: id})
}

type redeliverWorker struct {
	river.WorkerDefaults[redeliverArgs]
	dispatcher *delivery.Dispatcher
}

// Timeout bounds one step.
func (w *redeliverWorker) Timeout(*river.Job[redeliverArgs]) time.Duration { return redeliverTimeout }

// NextRetry spaces failed steps.
func (w *redeliverWorker) NextRetry(job *river.Job[redeliverArgs]) time.Time {
	return retryAt(job.Attempt)
}

// Work makes one step and snoozes until the redelivery has ended. A second job
// for the same redelivery, as after a crash, makes it no faster.
func (w *redeliverWorker) Work(ctx context.Context, job *river.Job[redeliverArgs]) error {
	step, err := w.dispatcher.Redeliver(ctx, job.Args.RedeliveryID)
	if err != nil || step.Ended {
		return err
	}
	if step.Idle {
		return river.JobSnooze(redeliverIdle)
	}
	return river.JobSnooze(redeliverEvery)
}
