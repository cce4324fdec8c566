package jobs

import (
	"context"
	"log/slog"
	"time"

	"github.com/riverqueue/river"

	"candor/db"
	"candor/internal/domain"
)

// recountArgs checks the counters of used sessions.
type recountArgs struct{ upkeepArgs }

// Kind names the job.
func (recountArgs) Kind() string { return "usage_recount" }

type recountWorker struct {
	river.WorkerDefaults[recountArgs]
	db       *db.DB
	clock    domain.Clock
	logger   *slog.Logger
	observer Observer
}

// Timeout bounds one run, which reads a month of sessions.
func (w *recountWorker) Timeout(*river.Job[recountArgs]) time.Duration { return 10 * time.Minute }

// Work counts the live sessions of open periods and recent invoices and compares
// them with the counters kept at creation. It only reports a difference: an
// operator must find out its cause before correcting it.
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
