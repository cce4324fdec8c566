package jobs

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"candor/db"
	"candor/internal/domain"
)

// expireArgs asks for a sweep over the sessions past their expiry (D11).
type expireArgs struct{}

// Kind names the job.
func (expireArgs) Kind() string { return "session_expiry" }

// InsertOpts: the next sweep comes anyway, so a failed one isn't repeated.
func (expireArgs) InsertOpts() river.InsertOpts { return upkeepOpts() }

// sweepBatch is how many rows one transaction of a sweep takes.
const sweepBatch = 200

type expireWorker struct {
	river.WorkerDefaults[expireArgs]
	db       *db.DB
	enqueuer *Enqueuer
	clock    domain.Clock
}

// Work expires what is due, batch by batch, each with its events.
func (w *expireWorker) Work(ctx context.Context, _ *river.Job[expireArgs]) error {
	return inBatches(ctx, func() (n int, err error) {
		now := w.clock.Now()
		err = w.db.InTx(ctx, func(tx *db.Tx) error {
			sessions, err := tx.ExpireSessions(ctx, now, sweepBatch)
			n = len(sessions)
			for i := range sessions {
				if err != nil {
					break
				}
				err = w.enqueuer.SessionEvent(ctx, tx, &sessions[i], domain.NewExpiredPayload(&sessions[i]), now)
			}
			return err
		})
		return n, err
	})
}

// inBatches calls work until it did less than a whole batch.
func inBatches(ctx context.Context, work func() (int, error)) error {
	for {
		n, err := work()
		if err != nil || n < sweepBatch {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// Timeout bounds one sweep; the next one goes on where it ended.
func (w *expireWorker) Timeout(*river.Job[expireArgs]) time.Duration { return upkeepTimeout }
