package jobs

import (
	"context"
	"errors"
	"time"

	"github.com/riverqueue/river"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/outbox"
)

// strandedAfter is when the job of an overdue PDF, or of a redelivery without a
// step, counts as lost. A job that only waits stays in its queue and is unique.
const strandedAfter = time.Minute

// rescueArgs inserts lost jobs again.
type rescueArgs struct{ sweepArgs }

// Kind names the job.
func (rescueArgs) Kind() string { return "stranded_work" }

type rescueWorker struct {
	upkeepWorker[rescueArgs]
	db     *db.DB
	outbox *outbox.Outbox
	clock  domain.Clock
}

// Work inserts new jobs for missing PDFs and stalled redeliveries. River calls no
// hook when it discards a job whose process died on its last run.
func (w *rescueWorker) Work(ctx context.Context, _ *river.Job[rescueArgs]) error {
	return errors.Join(w.pdfs(ctx, w.clock.Now().Add(-strandedAfter)), w.redeliveries(ctx))
}

func (w *rescueWorker) pdfs(ctx context.Context, overdue time.Time) error {
	missing, err := w.db.SessionsWithoutPDF(ctx, overdue, sweepBatch)
	return errors.Join(err, insertEach(ctx, w.db, missing, w.outbox.PDF))
}

func (w *rescueWorker) redeliveries(ctx context.Context) error {
	stalled, err := w.db.StalledRedeliveries(ctx, strandedAfter)
	return errors.Join(err, insertEach(ctx, w.db, stalled, w.outbox.Redeliver))
}

// insertEach inserts a job for each, until one fails.
func insertEach[ID any](ctx context.Context, data *db.DB, ids []ID, insert func(context.Context, *db.Tx, ID) error) error {
	for _, id := range ids {
		if err := data.InTx(ctx, func(tx *db.Tx) error { return insert(ctx, tx, id) }); err != nil {
			return err
		}
	}
	return nil
}
