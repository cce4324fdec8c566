package jobs

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"candor/db"
	"candor/internal/domain"
)

const (
	// redeliverEvery is the time between two steps of a redelivery; a step does
	// what the rate permits since the one before.
	redeliverEvery = 100 * time.Millisecond
	// redeliverTimeout bounds one step.
	redeliverTimeout = 10 * time.Second
)

// redeliverArgs asks for the steps of a redelivery, until it ends.
type redeliverArgs struct {
	RedeliveryID domain.RedeliveryID `json:"redelivery_id"`
}

// Kind names the job.
func (redeliverArgs) Kind() string { return "webhook_redelivery" }

// InsertOpts: beside the wakes, which take no time, so that steps don't wait
// for upkeep.
func (redeliverArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: queueWebhooks, MaxAttempts: maxRuns}
}

type redeliverWorker struct {
	river.WorkerDefaults[redeliverArgs]
	db         *db.DB
	dispatcher *dispatcher
	clock      domain.Clock
}

// Timeout bounds one step.
func (w *redeliverWorker) Timeout(*river.Job[redeliverArgs]) time.Duration { return redeliverTimeout }

// NextRetry spaces steps that failed on our side.
func (w *redeliverWorker) NextRetry(job *river.Job[redeliverArgs]) time.Time {
	return retryAt(job.Attempt)
}

// Work makes one step and comes again until the redelivery has ended. All it
// knows is in the database: a second job for the same redelivery, as after a
// crash, makes it no faster.
func (w *redeliverWorker) Work(ctx context.Context, job *river.Job[redeliverArgs]) error {
	step, err := w.db.StepRedelivery(ctx, job.Args.RedeliveryID, w.clock.Now())
	if err != nil {
		return err
	}
	for _, id := range step.Endpoints {
		w.dispatcher.wake(id)
	}
	if step.Ended {
		return nil
	}
	return river.JobSnooze(redeliverEvery)
}

// Redeliver asks for the steps of a redelivery that the transaction starts.
func (e *Enqueuer) Redeliver(ctx context.Context, tx *db.Tx, id domain.RedeliveryID) error {
	_, err := e.insert(ctx, tx, redeliverArgs{RedeliveryID: id})
	return err
}

// Wake says that the transaction makes something due at an endpoint.
func (e *Enqueuer) Wake(ctx context.Context, tx *db.Tx, id domain.EndpointID) error {
	_, err := e.insert(ctx, tx, wakeArgs{EndpointID: id})
	return err
}

// rescueRedeliveries gives new jobs to redeliveries that nobody works on.
func (w *rescueWorker) rescueRedeliveries(ctx context.Context) error {
	stalled, err := w.db.StalledRedeliveries(ctx, strandedAfter)
	for _, id := range stalled {
		if err != nil {
			break
		}
		err = w.db.InTx(ctx, func(tx *db.Tx) error { return w.enqueuer.Redeliver(ctx, tx, id) })
	}
	return err
}
