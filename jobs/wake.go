package jobs

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"candor/db"
	"candor/internal/delivery"
	"candor/internal/domain"
)

// wakeArgs wakes the workers of an event's endpoints. The job commits with the event and starts
// the delivery within milliseconds. The delivery itself is a row, which the
// dispatcher claims.
type wakeArgs struct {
	EndpointID domain.EndpointID   `json:"endpoint_id"`
	Others     []domain.EndpointID `json:"others,omitempty"`
}

// Kind names the job.
func (wakeArgs) Kind() string { return "webhook_wake" }

// InsertOpts: a lost wake isn't retried, as the dispatcher polls for due
// deliveries.
func (wakeArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: queueWebhooks, MaxAttempts: 1}
}

// Wake tells the dispatchers that endpoints have a delivery due.
func (i *Inserter) Wake(ctx context.Context, tx *db.Tx, id domain.EndpointID, others ...domain.EndpointID) error {
	return i.insert(ctx, tx, wakeArgs{EndpointID: id, Others: others})
}

type wakeWorker struct {
	river.WorkerDefaults[wakeArgs]
	dispatcher *delivery.Dispatcher
}

// Timeout bounds one run, which takes no time.
func (w *wakeWorker) Timeout(*river.Job[wakeArgs]) time.Duration { return time.Second }

// Work wakes the endpoints' workers.
func (w *wakeWorker) Work(_ context.Context, job *river.Job[wakeArgs]) error {
	w.dispatcher.Wake(job.Args.EndpointID)
	for _, id := range job.Args.Others {
		w.dispatcher.Wake(id)
	}
	return nil
}
