package jobs

import (
	"context"
	"errors"
	"time"

	"github.com/riverqueue/river"

	"candor/db"
)

const (
	// retentionEvery is the time between two runs of retention and clean-up.
	retentionEvery = 10 * time.Minute
	// reconcileEvery is the time between two checks of finished sessions.
	reconcileEvery = 5 * time.Minute
	// repeatsEvery is the time between two runs that write repeated audit entries.
	repeatsEvery = time.Minute
	// billingEvery is the time between two billing runs.
	billingEvery = time.Minute
	// recountEvery is the time between two recounts of used sessions.
	recountEvery = 24 * time.Hour

	// upkeepTimeout bounds one run.
	upkeepTimeout = time.Minute
	// sweepBatch is how many rows one transaction of a run takes.
	sweepBatch = 200
)

// periodicJobs are the jobs that no transaction inserts.
func periodicJobs(sweepEvery time.Duration) []*river.PeriodicJob {
	run := func(every time.Duration, args river.JobArgs) *river.PeriodicJob {
		return river.NewPeriodicJob(river.PeriodicInterval(every),
			func() (river.JobArgs, *river.InsertOpts) { return args, nil },
			&river.PeriodicJobOpts{RunOnStart: true})
	}
	return []*river.PeriodicJob{
		run(sweepEvery, expireArgs{}),
		run(sweepEvery, rescueArgs{}),
		run(sweepEvery, linkSweepArgs{}),
		run(sweepEvery, figuresArgs{}),
		run(alertEvery, alertArgs{}),
		run(retentionEvery, retentionArgs{}),
		run(reconcileEvery, reconcileArgs{}),
		run(billingEvery, billingArgs{}),
		run(repeatsEvery, repeatArgs{}),
		run(recountEvery, recountArgs{}),
	}
}

// upkeepArgs is in the arguments of each periodic job of upkeep.
type upkeepArgs struct{}

// InsertOpts: the next run retries a failed one.
func (upkeepArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: queueUpkeep, MaxAttempts: 1}
}

// sweepArgs is in those of periodic jobs that people wait for, such as cancelled sessions
// (D126): retention and reconciliation can take both places of upkeep for a minute.
type sweepArgs struct{}

// InsertOpts: as for upkeep.
func (sweepArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: queueSweeps, MaxAttempts: 1}
}

// upkeepWorker is in the workers of both.
type upkeepWorker[A river.JobArgs] struct{ river.WorkerDefaults[A] }

// Timeout bounds one run. The next one continues.
func (upkeepWorker[A]) Timeout(*river.Job[A]) time.Duration { return upkeepTimeout }

// inTx is a step that works in a transaction.
func inTx(ctx context.Context, data *db.DB, work func(*db.Tx) (int, error)) func() (int, error) {
	return func() (n int, err error) {
		err = data.InTx(ctx, func(tx *db.Tx) error {
			n, err = work(tx)
			return err
		})
		return n, err
	}
}

// inBatches calls each of the steps until it takes less than a whole batch, or fails. They
// take turns, so that none waits for one that has more to do than the time of a run.
func inBatches(ctx context.Context, steps ...func() (int, error)) (err error) {
	for len(steps) > 0 {
		var unfinished []func() (int, error)
		for _, step := range steps {
			if ctx.Err() != nil {
				return errors.Join(err, ctx.Err())
			}
			n, failure := step()
			err = errors.Join(err, failure)
			if failure == nil && n >= sweepBatch {
				unfinished = append(unfinished, step)
			}
		}
		steps = unfinished
	}
	return err
}
