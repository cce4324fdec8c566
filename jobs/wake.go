package jobs

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"candor/internal/domain"
)

// wakeArgs says that an endpoint has a delivery due. It commits with the
// event, and its arrival starts the delivery within milliseconds; the delivery
// itself is a row that the dispatcher claims.
type wakeArgs struct {
	EndpointID domain.EndpointID `json:"endpoint_id"`
}

// Kind names the job.
func (wakeArgs) Kind() string { return "webhook_wake" }

// InsertOpts: a lost wake is made good by the dispatcher's own look-out, so
// it isn't repeated.
func (wakeArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: queueWebhooks, MaxAttempts: 1}
}

type wakeWorker struct {
	river.WorkerDefaults[wakeArgs]
	dispatcher *dispatcher
}

// Timeout bounds one run, which takes no time.
func (w *wakeWorker) Timeout(*river.Job[wakeArgs]) time.Duration { return time.Second }

// Work wakes the endpoint's drain.
func (w *wakeWorker) Work(_ context.Context, job *river.Job[wakeArgs]) error {
	w.dispatcher.wake(job.Args.EndpointID)
	return nil
}
