package jobs

import (
	"context"

	"github.com/riverqueue/river"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/outbox"
)

// expireArgs expires the sessions past their expiry (D11), and cancels those that staff
// cancelled and didn't keep (D126).
type expireArgs struct{ sweepArgs }

// Kind names the job.
func (expireArgs) Kind() string { return "session_expiry" }

type expireWorker struct {
	upkeepWorker[expireArgs]
	db     *db.DB
	outbox *outbox.Outbox
	clock  domain.Clock
}

// Work cancels and expires sessions in batches. Each batch commits with its audit entries or
// events.
func (w *expireWorker) Work(ctx context.Context, _ *river.Job[expireArgs]) error {
	err := inBatches(ctx, inTx(ctx, w.db, func(tx *db.Tx) (int, error) {
		return tx.CarryOutCancels(ctx, w.clock.Now(), sweepBatch)
	}))
	if err != nil {
		return err
	}
	return inBatches(ctx, inTx(ctx, w.db, func(tx *db.Tx) (int, error) {
		now := w.clock.Now()
		sessions, err := tx.ExpireSessions(ctx, now, sweepBatch)
		for i := range sessions {
			if err == nil {
				err = w.outbox.Expired(ctx, tx, &sessions[i], now)
			}
		}
		return len(sessions), err
	}))
}
