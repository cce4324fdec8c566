package jobs

import (
	"context"
	"log/slog"
	"time"

	"github.com/riverqueue/river"

	"candor/db"
	"candor/internal/billing"
	"candor/internal/domain"
)

// billingArgs asks for what is due: periods to be closed, payments, notices.
type billingArgs struct{}

// Kind names the job.
func (billingArgs) Kind() string { return "billing" }

// InsertOpts: the next run comes anyway. A payment provider that is slow holds
// up no other upkeep.
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

// Work does what is due.
func (w *billingWorker) Work(ctx context.Context, _ *river.Job[billingArgs]) error {
	return w.runner.Run(ctx, w.clock.Now())
}

// recountArgs asks whether usage is counted rightly.
type recountArgs struct{}

// Kind names the job.
func (recountArgs) Kind() string { return "usage_recount" }

// InsertOpts: the next run comes anyway.
func (recountArgs) InsertOpts() river.InsertOpts { return upkeepOpts() }

type recountWorker struct {
	river.WorkerDefaults[recountArgs]
	db       *db.DB
	clock    domain.Clock
	logger   *slog.Logger
	observer Observer
}

// Timeout bounds one run: it reads a month of sessions.
func (w *recountWorker) Timeout(*river.Job[recountArgs]) time.Duration { return 10 * time.Minute }

// Work counts the live sessions of open periods and recent invoices anew and
// reports where that isn't what was counted when they were created. It mends nothing: an operator must
// know how it came to that.
func (w *recountWorker) Work(ctx context.Context, _ *river.Job[recountArgs]) error {
	drifts, err := w.db.UsageDrifts(ctx, w.clock.Now())
	if err != nil {
		return err
	}
	w.observer.UsageRecounted(len(drifts))
	for _, d := range drifts {
		w.logger.ErrorContext(ctx, "used sessions are counted wrongly", "account_id", d.AccountID.String(),
			"period_start", d.PeriodStart, "counted", d.Counted, "sessions", d.Sessions)
	}
	return nil
}
