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
	// garbageAfter is longer than any upload takes. An older blob without a
	// document is garbage.
	garbageAfter = time.Hour
	// idempotencyRetention is how long a POST's response is replayed.
	idempotencyRetention = 24 * time.Hour
	// requestBatch is how many API requests one statement deletes from the log.
	requestBatch = 5000
	// requestRetention is how long an expired invitation is listed.
	requestRetention = 7 * 24 * time.Hour
)

// retentionArgs deletes what is past its retention.
type retentionArgs struct{ upkeepArgs }

// Kind names the job.
func (retentionArgs) Kind() string { return "retention" }

type retentionWorker struct {
	upkeepWorker[retentionArgs]
	db    *db.DB
	blobs blob.Store
	clock domain.Clock
}

// Work deletes PDFs, documents and answers when their account's retention is
// over, events and deliveries after 90 days, blobs without a document, stored
// responses after 24 hours, expired webhook secrets, expired rows of staff
// sign-ins, and API requests after 7 days. It also folds the counters of past
// days.
func (w *retentionWorker) Work(ctx context.Context, _ *river.Job[retentionArgs]) error {
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
			return w.db.CancelHeld(ctx, now.Add(-domain.EventRetention), now, sweepBatch)
		}),
		inBatches(ctx, func() (int, error) {
			return w.db.DeleteEvents(ctx, now.Add(-domain.EventRetention), sweepBatch)
		}),
		inBatches(ctx, func() (int, error) {
			return w.db.DeleteEndpointRows(ctx, now.Add(-domain.EventRetention), sweepBatch)
		}),
		inBatches(ctx, func() (int, error) { return w.db.DeleteLinkUses(ctx, now.Add(-domain.EventRetention), sweepBatch) }),
		inBatches(ctx, func() (int, error) {
			return w.db.DeleteRedeliveries(ctx, now.Add(-domain.EventRetention), sweepBatch)
		}),
		inBatches(ctx, func() (int, error) { return w.db.DeleteOutages(ctx, now.Add(-domain.EventRetention), sweepBatch) }),
		inBatches(ctx, func() (int, error) {
			return w.db.DeleteEndpointDays(ctx, now.AddDate(0, 0, -domain.EndpointDays), sweepBatch)
		}),
		inBatches(ctx, func() (int, error) { return w.db.DeleteAlerts(ctx, now.Add(-domain.AlertRetention), sweepBatch) }),
		inBatches(ctx, func() (int, error) {
			return w.db.DeleteKeyNetworks(ctx, now.Add(-domain.KeyNetworkRetention), sweepBatch)
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

// retireData erases answers whose retention is over.
func (w *retentionWorker) retireData(ctx context.Context, kind domain.RetentionKind, now time.Time) error {
	return inBatches(ctx, func() (n int, err error) {
		err = w.db.InTx(ctx, func(tx *db.Tx) error {
			n, err = tx.RetireData(ctx, kind, now, sweepBatch)
			return err
		})
		return n, err
	})
}

// deleteRequests deletes API requests from the log that are older, and the
// deleted keys that only the log named.
func (w *retentionWorker) deleteRequests(ctx context.Context, before time.Time) error {
	return errors.Join(
		inBatches(ctx, func() (int, error) { return w.db.DeleteAPIRequests(ctx, before, requestBatch) }),
		inBatches(ctx, func() (int, error) { return w.db.ForgetAPIKeys(ctx, before, sweepBatch) }),
	)
}

// deleteSignIns deletes expired staff sessions, passkey challenges, counters of
// attempts, held forms, results of test events, requests and invitations.
func (w *retentionWorker) deleteSignIns(ctx context.Context, now time.Time) error {
	return errors.Join(
		inBatches(ctx, func() (int, error) { return w.db.DeleteEndedStaffSessions(ctx, now, sweepBatch) }),
		inBatches(ctx, func() (int, error) { return w.db.DeletePasskeyChallenges(ctx, now, sweepBatch) }),
		inBatches(ctx, func() (int, error) { return w.db.DeleteUsed(ctx, now, sweepBatch) }),
		inBatches(ctx, func() (int, error) { return w.db.DeleteAttempts(ctx, now, sweepBatch) }),
		inBatches(ctx, func() (int, error) { return w.db.DeleteHeldForms(ctx, now, sweepBatch) }),
		inBatches(ctx, func() (int, error) {
			return w.db.DeleteTestEvents(ctx, now.Add(-domain.TestEventRetention), sweepBatch)
		}),
		inBatches(ctx, func() (int, error) { return w.db.DeleteExpiredRequests(ctx, now.Add(-requestRetention), sweepBatch) }),
	)
}

func (w *retentionWorker) deleteBlobs(ctx context.Context, before time.Time) error {
	return inBatches(ctx, func() (int, error) {
		garbage, err := w.db.BlobGarbage(ctx, before, sweepBatch)
		for _, id := range garbage { // one that can't be deleted doesn't keep the others
			failure := w.blobs.Delete(ctx, id.String())
			if failure == nil {
				failure = w.db.ForgetBlob(ctx, id)
			}
			err = errors.Join(err, failure)
			if errors.Is(failure, blob.ErrUnavailable) || ctx.Err() != nil {
				break
			}
		}
		return len(garbage), err
	})
}
