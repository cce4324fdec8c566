package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
	// garbagePatience is how long a run waits for a store that deletes nothing.
	garbagePatience = 20 * time.Second
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
	events, requests := now.Add(-domain.EventRetention), now.Add(-domain.RequestRetention)
	err := inBatches(ctx,
		inTx(ctx, w.db, func(tx *db.Tx) (int, error) { return tx.RetireSessions(ctx, now, sweepBatch) }),
		inTx(ctx, w.db, func(tx *db.Tx) (int, error) { return tx.RetireData(ctx, domain.UnsubmittedRetention, now, sweepBatch) }),
		inTx(ctx, w.db, func(tx *db.Tx) (int, error) { return tx.RetireData(ctx, domain.AnswerRetention, now, sweepBatch) }),
		func() (int, error) { return w.db.CancelHeld(ctx, events, now, sweepBatch) },
		rowsBefore(ctx, events, w.db.DeleteEvents),
		rowsBefore(ctx, events, w.db.DeleteLinkUses),
		rowsBefore(ctx, events, w.db.DeleteRedeliveries),
		rowsBefore(ctx, events, w.db.DeleteOutages),
		rowsBefore(ctx, now.AddDate(0, 0, -domain.EndpointDays), w.db.DeleteEndpointDays),
		rowsBefore(ctx, now.Add(-domain.AlertRetention), w.db.DeleteAlerts),
		rowsBefore(ctx, now.Add(-domain.KeyNetworkRetention), w.db.DeleteKeyNetworks),
		func() (int, error) { return 0, w.db.ErasePreviousSecrets(ctx, now) },
		rowsBefore(ctx, now.Add(-idempotencyRetention), w.db.DeleteStoredResponses),
		inTx(ctx, w.db, func(tx *db.Tx) (int, error) { return tx.FoldSessionCounts(ctx, now.AddDate(0, 0, -1), sweepBatch) }),
		func() (int, error) { return w.db.DeleteAPIRequests(ctx, requests, requestBatch) },
		rowsBefore(ctx, requests, w.db.ForgetAPIKeys),
		rowsBefore(ctx, now, w.db.DeleteEndedStaffSessions),
		rowsBefore(ctx, now, w.db.DeletePasskeyChallenges),
		rowsBefore(ctx, now, w.db.DeleteUsed),
		rowsBefore(ctx, now, w.db.DeleteAttempts),
		rowsBefore(ctx, now, w.db.DeleteHeldForms),
		rowsBefore(ctx, now.Add(-domain.TestEventRetention), w.db.DeleteTestEvents),
		rowsBefore(ctx, now.Add(-requestRetention), w.db.DeleteExpiredRequests),
		w.blobGarbage(ctx, now),
	)
	// One, and last: its foreign key looks through all deliveries, which have no index for it.
	_, endpointErr := w.db.DeleteEndpointRows(ctx, events, 1)
	return errors.Join(err, endpointErr)
}

// rowsBefore is a step that deletes a batch of rows from before a time.
func rowsBefore(ctx context.Context, at time.Time, rows func(context.Context, time.Time, int) (int, error)) func() (int, error) {
	return func() (int, error) { return rows(ctx, at, sweepBatch) }
}

// blobGarbage deletes blobs without a document. What can't be deleted is tried again
// after an hour, and keeps no other one: a store can refuse one blob or all of them.
func (w *retentionWorker) blobGarbage(ctx context.Context, now time.Time) func() (int, error) {
	var first error
	failed, failing := 0, time.Duration(0)
	return func() (int, error) {
		garbage, err := w.db.BlobGarbage(ctx, now.Add(-garbageAfter), sweepBatch)
		for _, id := range garbage {
			begun := time.Now()
			failure := w.blobs.Delete(ctx, id.String())
			switch err = ctx.Err(); {
			case failure == nil:
				err = w.db.ForgetBlob(ctx, id)
			case err == nil:
				failed, failing, first = failed+1, failing+time.Since(begun), cmp.Or(first, failure)
				err = w.db.PostponeBlob(ctx, id, now)
			}
			if err != nil || failing > garbagePatience {
				break
			}
		}
		if more := len(garbage) == sweepBatch && err == nil && failing <= garbagePatience; more || failed == 0 {
			return len(garbage), err
		}
		return 0, errors.Join(err, fmt.Errorf("jobs: %d blobs can't be deleted, the first: %w", failed, first))
	}
}
