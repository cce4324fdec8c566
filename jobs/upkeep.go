package jobs

import (
	"context"
	"errors"
	"time"

	"github.com/riverqueue/river"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/platform/blob"
)

const (
	// upkeepTimeout bounds one periodic run.
	upkeepTimeout = time.Minute
	// strandedAfter is how long a PDF is overdue before its job is taken for
	// lost; a job that merely waits keeps its place anyway.
	strandedAfter = time.Minute
	// garbageAfter is more than any upload takes, after which a blob without a
	// document is garbage.
	garbageAfter = time.Hour
	// idempotencyRetention is how long a POST's answer is replayed.
	idempotencyRetention = 24 * time.Hour
	// requestBatch is how many lines of the log of API requests go at once.
	requestBatch = 5000
	// requestRetention is how long an invitation is listed after it expired.
	requestRetention = 7 * 24 * time.Hour
)

func upkeepOpts() river.InsertOpts {
	return river.InsertOpts{Queue: queueUpkeep, MaxAttempts: 1}
}

// rescueArgs asks for new jobs for PDFs whose job was lost.
type rescueArgs struct{}

// Kind names the job.
func (rescueArgs) Kind() string { return "stranded_work" }

// InsertOpts: the next run comes anyway.
func (rescueArgs) InsertOpts() river.InsertOpts { return upkeepOpts() }

type rescueWorker struct {
	river.WorkerDefaults[rescueArgs]
	db       *db.DB
	enqueuer *Enqueuer
	clock    domain.Clock
}

// Timeout bounds one run.
func (w *rescueWorker) Timeout(*river.Job[rescueArgs]) time.Duration { return upkeepTimeout }

// Work gives new jobs to missing PDFs and to redeliveries whose job is gone:
// River discards a job whose process died on its last run without a word.
func (w *rescueWorker) Work(ctx context.Context, _ *river.Job[rescueArgs]) error {
	return errors.Join(w.pdfs(ctx, w.clock.Now().Add(-strandedAfter)), w.rescueRedeliveries(ctx))
}

func (w *rescueWorker) pdfs(ctx context.Context, overdue time.Time) error {
	missing, err := w.db.SessionsWithoutPDF(ctx, overdue, sweepBatch)
	if err != nil {
		return err
	}
	for _, id := range missing {
		err := w.db.InTx(ctx, func(tx *db.Tx) error { return w.enqueuer.PDF(ctx, tx, id) })
		if err != nil {
			return err
		}
	}
	return nil
}

// retireArgs asks for the end of what is past its retention.
type retireArgs struct{}

// Kind names the job.
func (retireArgs) Kind() string { return "retention" }

// InsertOpts: the next run comes anyway.
func (retireArgs) InsertOpts() river.InsertOpts { return upkeepOpts() }

type retireWorker struct {
	river.WorkerDefaults[retireArgs]
	db    *db.DB
	blobs blob.Store
	clock domain.Clock
}

// Timeout bounds one run.
func (w *retireWorker) Timeout(*river.Job[retireArgs]) time.Duration { return upkeepTimeout }

// Work deletes PDFs, documents and answers when their account's retention is over,
// events with their deliveries after 90 days, blobs without a document,
// idempotent answers after 24 hours, previous webhook secrets when their time is
// over, what is left of staff who signed in, or asked to, and API requests after
// 7 days; and it folds the counters of days gone by.
func (w *retireWorker) Work(ctx context.Context, _ *river.Job[retireArgs]) error {
	now := w.clock.Now()
	return errors.Join(
		inBatches(ctx, func() (n int, err error) {
			err = w.db.InTx(ctx, func(tx *db.Tx) error {
				n, err = tx.RetireSessions(ctx, now, sweepBatch)
				return err
			})
			return n, err
		}),
		w.retireData(ctx, domain.UnsubmittedRetention, now),
		w.retireData(ctx, domain.AnswerRetention, now),
		inBatches(ctx, func() (int, error) {
			return w.db.DeleteEvents(ctx, now.Add(-domain.EventRetention), sweepBatch)
		}),
		inBatches(ctx, func() (int, error) {
			return w.db.DeleteRedeliveries(ctx, now.Add(-domain.EventRetention), sweepBatch)
		}),
		w.db.ErasePreviousSecrets(ctx, now),
		w.deleteBlobs(ctx, now.Add(-garbageAfter)),
		inBatches(ctx, func() (int, error) {
			return w.db.DeleteStoredResponses(ctx, now.Add(-idempotencyRetention), sweepBatch)
		}),
		w.deleteSignIns(ctx, now),
		inBatches(ctx, func() (n int, err error) {
			err = w.db.InTx(ctx, func(tx *db.Tx) error {
				n, err = tx.FoldSessionCounts(ctx, now.AddDate(0, 0, -1), sweepBatch)
				return err
			})
			return n, err
		}),
		w.deleteRequests(ctx, now.Add(-domain.RequestRetention)),
	)
}

// retireData erases what was entered if its retention is over.
func (w *retireWorker) retireData(ctx context.Context, kind domain.RetentionKind, now time.Time) error {
	return inBatches(ctx, func() (n int, err error) {
		err = w.db.InTx(ctx, func(tx *db.Tx) error {
			n, err = tx.RetireData(ctx, kind, now, sweepBatch)
			return err
		})
		return n, err
	})
}

// deleteRequests deletes what is older from the log of API requests, and the
// deleted keys that it told of.
func (w *retireWorker) deleteRequests(ctx context.Context, before time.Time) error {
	return errors.Join(
		inBatches(ctx, func() (int, error) { return w.db.DeleteAPIRequests(ctx, before, requestBatch) }),
		inBatches(ctx, func() (int, error) { return w.db.ForgetAPIKeys(ctx, before, sweepBatch) }),
	)
}

// deleteSignIns deletes staff sessions that have ended, counters of attempts
// whose window is over, requests and invitations whose links have expired, and
// what staff sessions keep for a short time: held forms and results of test
// events.
func (w *retireWorker) deleteSignIns(ctx context.Context, now time.Time) error {
	return errors.Join(
		inBatches(ctx, func() (int, error) { return w.db.DeleteEndedStaffSessions(ctx, now, sweepBatch) }),
		inBatches(ctx, func() (int, error) { return w.db.DeletePasskeyChallenges(ctx, now, sweepBatch) }),
		inBatches(ctx, func() (int, error) { return w.db.DeleteAttempts(ctx, now, sweepBatch) }),
		inBatches(ctx, func() (int, error) { return w.db.DeleteHeldForms(ctx, now, sweepBatch) }),
		inBatches(ctx, func() (int, error) {
			return w.db.DeleteTestEvents(ctx, now.Add(-domain.TestEventRetention), sweepBatch)
		}),
		inBatches(ctx, func() (int, error) { return w.db.DeleteExpiredRequests(ctx, now.Add(-requestRetention), sweepBatch) }),
	)
}

func (w *retireWorker) deleteBlobs(ctx context.Context, before time.Time) error {
	return inBatches(ctx, func() (int, error) {
		garbage, err := w.db.BlobGarbage(ctx, before, sweepBatch)
		for _, id := range garbage {
			if err != nil {
				break
			}
			if err = w.blobs.Delete(ctx, id.String()); err == nil {
				err = w.db.ForgetBlob(ctx, id)
			}
		}
		return len(garbage), err
	})
}
