package jobs

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"candor/internal/billing"
	"candor/internal/domain"
)

// billingArgs does a billing run: it closes periods, collects payments and sends
// usage emails.
type billingArgs struct{}

// Kind names the job.
func (billingArgs) Kind() string { return "billing" }

// InsertOpts: the next run retries a failed one. The queue is its own, so that a
// slow payment provider can't hold up upkeep.
func (billingArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: queueBilling, MaxAttempts: 1}
}

type billingWorker struct {
	river.WorkerDefaults[billingArgs]
	runner *billing.Runner
	clock  domain.Clock
}

// Timeout bounds one run.
func (w *billingWorker) Timeout(*river.Job[billingArgs]) time.Duration {
	return billing.RunTimeout
}

// Work does the run.
func (w *billingWorker) Work(ctx context.Context, _ *river.Job[billingArgs]) error {
	return w.runner.Run(ctx, w.clock.Now())
}
