// Package jobs is Candor's background work on River: PDFs, expiry, retention,
// emails, billing, and the wakes of webhook deliveries. One file holds a job: its
// arguments, worker and retry policy, and the Inserter's method if a use case
// inserts it. The package knows nothing of HTTP requests.
//
// Jobs are inserted through database/sql in the transaction that causes them, and
// run on pgx, whose LISTEN starts them within milliseconds.
package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"candor/db"
	"candor/internal/billing"
	"candor/internal/delivery"
	"candor/internal/domain"
	"candor/internal/outbox"
	"candor/internal/platform/blob"
	"candor/internal/platform/keyring"
	"candor/internal/platform/mail"
	"candor/internal/platform/pdfsign"
	"candor/internal/platform/tracing"
	"candor/internal/vault"
	"candor/views/pdf"
)

// The queues. Each has its own workers, so that a slow mail server or payment
// provider holds up nothing else, and no one waits for upkeep.
const (
	queueWebhooks = "webhooks"
	queuePDF      = "pdf"
	queueSweeps   = "sweeps"
	queueUpkeep   = "upkeep"
	queueBilling  = "billing"
	queueMail     = "mail"
)

const (
	// wakeWorkers only wake the dispatcher.
	wakeWorkers = 20
	// mailWorkers wait for the mail server.
	mailWorkers = 4
	// maxRuns is how often a job may fail on our side. After that the rescue job
	// inserts another.
	maxRuns = 25
	// fetchCooldown is how long a worker waits between two fetches.
	fetchCooldown = 10 * time.Millisecond
	// pollInterval is how often workers look for jobs whose notification was
	// missed, and for scheduled ones.
	pollInterval = 200 * time.Millisecond
	// minSweepEvery keeps a wrong setting from sweeping without a pause.
	minSweepEvery = 50 * time.Millisecond
)

// Config is what the workers need.
type Config struct {
	DB          *db.DB
	DSN         string // of the same database, for the workers' own connections
	DirectDSN   string // PostgreSQL itself if DSN leads to a pooler in transaction mode; "" else
	Outbox      *outbox.Outbox
	Dispatcher  *delivery.Dispatcher // started and stopped by the caller
	Ring        *keyring.Keyring
	Blobs       blob.Store
	Fonts       *pdf.Fonts
	Signer      *pdfsign.Signer // of PDFs; nil: they aren't signed
	Terms       billing.Terms
	Payments    billing.Provider // nil for billing.Manual
	Mail        mail.Sender      // nil: every email fails
	BaseURL     string
	Clock       domain.Clock
	Logger      *slog.Logger
	Observer    Observer        // nil for none
	Tracer      *tracing.Tracer // nil for none
	SweepEvery  time.Duration   // between sweeps of expired sessions and lost jobs
	RescueAfter time.Duration   // a dead process's jobs run again after this
	PDFWorkers  int             // drawing takes a core
}

// An Observer counts what happens. It must not block.
type Observer interface {
	// Repaired is called when reconciliation has repaired a session that lacked
	// an "event" or a "delivery".
	Repaired(what string)
	// UsageRecounted is called after a recount of used sessions with the number
	// of accounts whose counters differ.
	UsageRecounted(drifts int)
	// Undrawn is called each time that a statement waits for a font.
	Undrawn()
	// LinkEmailed is called when an email with a session's link has come to a state (D105).
	LinkEmailed(kind domain.LinkEmailKind, state domain.LinkEmailState)
	// Worked is called after each job.
	Worked(kind string, failed bool)
}

// unobserved is the Observer of a Config without one.
type unobserved struct{}

func (unobserved) Repaired(string)    {}
func (unobserved) UsageRecounted(int) {}
func (unobserved) Undrawn()           {}

func (unobserved) LinkEmailed(domain.LinkEmailKind, domain.LinkEmailState) {}
func (unobserved) Worked(string, bool)                                     {}

// Worker runs the jobs.
type Worker struct {
	client interface { // River's client, see db.JobClient
		Start(ctx context.Context) error
		Stop(ctx context.Context) error
		StopAndCancel(ctx context.Context) error
	}
	pools     *pools
	heartbeat *heartbeat
}

// NewWorker connects the workers. Start starts them.
func NewWorker(ctx context.Context, c Config) (*Worker, error) {
	if c.Observer == nil {
		c.Observer = unobserved{}
	}
	pools, err := connect(ctx, c)
	if err != nil {
		return nil, err
	}
	rescueAfter := max(c.RescueAfter, time.Second)
	client, err := river.NewClient(pools.driver(), &river.Config{
		FetchCooldown:        fetchCooldown,
		FetchPollInterval:    pollInterval,
		JobTimeout:           rescueAfter, // not used: each worker has its own timeout, which rescue respects
		RescueStuckJobsAfter: rescueAfter,
		Logger:               c.Logger,
		ErrorHandler:         &errorLog{c.Logger},
		PeriodicJobs:         periodicJobs(max(c.SweepEvery, minSweepEvery)),
		Queues: map[string]river.QueueConfig{
			queueWebhooks: {MaxWorkers: wakeWorkers},
			queuePDF:      {MaxWorkers: max(1, c.PDFWorkers)},
			queueSweeps:   {MaxWorkers: 2},
			queueUpkeep:   {MaxWorkers: 2},
			queueBilling:  {MaxWorkers: 2},
			queueMail:     {MaxWorkers: mailWorkers},
		},
		Workers: workers(c),
		Middleware: []rivertype.Middleware{river.WorkerMiddlewareFunc(traceJobs(c.Tracer)),
			river.WorkerMiddlewareFunc(countJobs(c.Observer))},
	})
	if err != nil {
		pools.close()
		return nil, fmt.Errorf("jobs: client for working: %w", err)
	}
	return &Worker{client: client, pools: pools, heartbeat: &heartbeat{db: c.DB, id: client.ID(), logger: c.Logger}}, nil
}

func workers(c Config) *river.Workers {
	all := river.NewWorkers()
	river.AddWorker(all, &wakeWorker{dispatcher: c.Dispatcher})
	river.AddWorker(all, &redeliverWorker{dispatcher: c.Dispatcher})
	safe := vault.New(c.Ring, c.Blobs)
	river.AddWorker(all, &pdfWorker{
		db: c.DB, vault: safe, outbox: c.Outbox, fonts: c.Fonts, signer: c.Signer, baseURL: c.BaseURL, clock: c.Clock, logger: c.Logger,
		observer: c.Observer,
	})
	if c.Mail == nil {
		c.Mail = mail.Nowhere{}
	}
	river.AddWorker(all, &staffEmailWorker{db: c.DB, ring: c.Ring, sender: c.Mail, baseURL: c.BaseURL, clock: c.Clock})
	river.AddWorker(all, &accessEmailWorker{db: c.DB, sender: c.Mail, baseURL: c.BaseURL})
	river.AddWorker(all, &receiptEmailWorker{db: c.DB, vault: safe, sender: c.Mail, clock: c.Clock})
	river.AddWorker(all, &linkEmailWorker{db: c.DB, vault: safe, ring: c.Ring, sender: c.Mail, baseURL: c.BaseURL, clock: c.Clock,
		observer: c.Observer})
	river.AddWorker(all, &figuresWorker{db: c.DB, clock: c.Clock})
	river.AddWorker(all, &linkSweepWorker{db: c.DB, outbox: c.Outbox, clock: c.Clock})
	river.AddWorker(all, &expireWorker{db: c.DB, outbox: c.Outbox, clock: c.Clock})
	river.AddWorker(all, &alertWorker{db: c.DB, outbox: c.Outbox, clock: c.Clock})
	river.AddWorker(all, &alertEmailWorker{db: c.DB, sender: c.Mail, baseURL: c.BaseURL})
	river.AddWorker(all, &rescueWorker{db: c.DB, outbox: c.Outbox, clock: c.Clock})
	river.AddWorker(all, &reconcileWorker{db: c.DB, vault: safe, outbox: c.Outbox, clock: c.Clock, logger: c.Logger,
		observer: c.Observer})
	river.AddWorker(all, &retentionWorker{db: c.DB, blobs: c.Blobs, clock: c.Clock})
	river.AddWorker(all, &repeatWorker{db: c.DB, clock: c.Clock})
	if c.Payments == nil {
		c.Payments = billing.Manual{}
	}
	river.AddWorker(all, &billingWorker{clock: c.Clock, runner: &billing.Runner{
		DB: c.DB, Ledger: &billing.Ledger{Events: c.Outbox, Terms: c.Terms}, Provider: c.Payments, Logger: c.Logger,
	}})
	river.AddWorker(all, &billingEmailWorker{
		db: c.DB, sender: c.Mail, payments: c.Payments, fonts: c.Fonts, baseURL: c.BaseURL, clock: c.Clock,
	})
	river.AddWorker(all, &recountWorker{db: c.DB, clock: c.Clock, logger: c.Logger, observer: c.Observer})
	return all
}

// Start runs jobs until Stop.
func (w *Worker) Start(ctx context.Context) error {
	if err := w.heartbeat.start(ctx); err != nil {
		return fmt.Errorf("jobs: start: %w", err)
	}
	// River cancels jobs when this context ends. Stop lets them finish first.
	if err := w.client.Start(context.WithoutCancel(ctx)); err != nil {
		w.heartbeat.stop(ctx)
		return fmt.Errorf("jobs: start: %w", err)
	}
	return nil
}

// Stop waits for running jobs until ctx ends, then cancels them. Another process
// runs cancelled jobs again.
func (w *Worker) Stop(ctx context.Context) error {
	defer w.pools.close()
	defer w.heartbeat.stop(ctx)
	err := w.client.Stop(ctx)
	if err != nil && ctx.Err() != nil {
		hard, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		err = w.client.StopAndCancel(hard)
	}
	if err != nil {
		return fmt.Errorf("jobs: stop: %w", err)
	}
	return nil
}

// retryAt spaces failed runs: one second at first, a minute at most.
func retryAt(attempt int) time.Time {
	return time.Now().Add(min(time.Duration(attempt)*time.Second, time.Minute))
}

// countJobs reports each job to the observer. A snoozed job hasn't failed.
func countJobs(o Observer) func(context.Context, *rivertype.JobRow, func(context.Context) error) error {
	return func(ctx context.Context, job *rivertype.JobRow, work func(context.Context) error) error {
		failed := true // also if it panics
		defer func() { o.Worked(job.Kind, failed) }()
		err := work(ctx)
		failed = hasFailed(err)
		return err
	}
}

func hasFailed(err error) bool {
	var later *river.JobSnoozeError
	return err != nil && !errors.As(err, &later)
}

// traceJobs records each job in the trace that inserted it. A periodic job begins one.
func traceJobs(t *tracing.Tracer) func(context.Context, *rivertype.JobRow, func(context.Context) error) error {
	return func(ctx context.Context, job *rivertype.JobRow, work func(context.Context) error) error {
		ctx, span := t.Continue(ctx, db.JobTrace(job.Metadata), tracing.Job, "job "+job.Kind)
		span.Number(tracing.Attempt, job.Attempt)
		err := work(ctx)
		span.End(hasFailed(err))
		return err
	}
}

// errorLog logs failing jobs.
type errorLog struct{ logger *slog.Logger }

// HandleError logs a job's error. An email that the mail server may have isn't sent again:
// else one that answers too late would send it ten times.
func (l *errorLog) HandleError(ctx context.Context, job *rivertype.JobRow, err error) *river.ErrorHandlerResult {
	l.logger.ErrorContext(ctx, "job failed", "kind", job.Kind, "job_id", job.ID, "attempt", job.Attempt, "error", err)
	return &river.ErrorHandlerResult{SetCancelled: errors.Is(err, mail.ErrUnanswered)}
}

// HandlePanic logs a job's panic.
func (l *errorLog) HandlePanic(ctx context.Context, job *rivertype.JobRow, panicValue any,
	trace string) *river.ErrorHandlerResult {
	l.logger.ErrorContext(ctx, "job panicked", "kind", job.Kind, "job_id", job.ID, "attempt", job.Attempt, "panic",
		fmt.Sprint(panicValue), "trace", trace)
	return nil
}
