package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"candor/db"
	"candor/internal/billing"
	"candor/internal/domain"
	"candor/internal/platform/blob"
	"candor/internal/platform/keyring"
	"candor/internal/platform/mail"
	"candor/internal/vault"
	"candor/internal/webhook"
	"candor/views/pdf"
)

// The queues: each has workers of its own, so that PDFs and upkeep never wait
// behind a dead webhook receiver.
const (
	queueWebhooks = "webhooks"
	queuePDF      = "pdf"
	queueUpkeep   = "upkeep"
	queueBilling  = "billing"
	queueMail     = "mail"
)

const (
	// wakeWorkers only pass a word on.
	wakeWorkers = 20
	// mailWorkers wait for the mail server.
	mailWorkers = 4
	// maxRuns is how often a job may fail on our side before the sweep for
	// stranded work must take over.
	maxRuns = 25
	// fetchCooldown is how long a worker waits between two fetches.
	fetchCooldown = 10 * time.Millisecond
	// pollInterval finds jobs when a notification was missed, and those that
	// come due.
	pollInterval = 200 * time.Millisecond
	// minConnections lets five queues fetch and jobs complete while one
	// connection listens.
	minConnections = 8
	// minSweepEvery keeps a mistaken setting from sweeping without a pause.
	minSweepEvery = 50 * time.Millisecond
)

// Config is what the workers need.
type Config struct {
	DB          *db.DB
	DSN         string // of the same database, for the workers' own connections
	Enqueuer    *Enqueuer
	Ring        *keyring.Keyring
	Blobs       blob.Store
	Fonts       *pdf.Fonts
	Client      *webhook.Client
	Terms       billing.Terms
	Payments    billing.Provider // nil for billing.Manual
	Mail        mail.Sender      // nil: letters stay unsent, and fail
	Schedule    webhook.Schedule
	BaseURL     string
	Clock       domain.Clock
	Logger      *slog.Logger
	Observer    Observer      // nil for none
	SweepEvery  time.Duration // expiry and stranded work
	RescueAfter time.Duration // what a process that died was at starts again after this
	PDFWorkers  int           // drawing takes a core
}

// Worker works off the jobs.
type Worker struct {
	client     *river.Client[pgx.Tx]
	pool       *pgxpool.Pool
	dispatcher *dispatcher
	lookOut    time.Duration
}

// NewWorker connects the workers; Start sets them to work.
func NewWorker(ctx context.Context, c Config) (*Worker, error) {
	c.Observer = observed(c.Observer)
	poolConfig, err := pgxpool.ParseConfig(c.DSN)
	if err != nil {
		return nil, errors.New("jobs: the database's connection string is not valid")
	}
	poolConfig.MaxConns = max(poolConfig.MaxConns, minConnections)
	pool, err := pgxpool.NewWithConfig(ctx, poolConfig)
	if err != nil {
		return nil, fmt.Errorf("jobs: connect the workers: %w", err)
	}
	dispatcher := newDispatcher(c)
	rescueAfter := max(c.RescueAfter, time.Second)
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		FetchCooldown:        fetchCooldown,
		FetchPollInterval:    pollInterval,
		JobTimeout:           rescueAfter, // never used: each worker has a timeout of its own, which rescue respects
		RescueStuckJobsAfter: rescueAfter,
		Logger:               c.Logger,
		ErrorHandler:         &errorLog{c.Logger},
		PeriodicJobs:         periodicJobs(max(c.SweepEvery, minSweepEvery)),
		Queues: map[string]river.QueueConfig{
			queueWebhooks: {MaxWorkers: wakeWorkers},
			queuePDF:      {MaxWorkers: max(1, c.PDFWorkers)},
			queueUpkeep:   {MaxWorkers: 2},
			queueBilling:  {MaxWorkers: 2},
			queueMail:     {MaxWorkers: mailWorkers},
		},
		Workers:    workers(c, dispatcher),
		Middleware: []rivertype.Middleware{river.WorkerMiddlewareFunc(countJobs(c.Observer))},
	})
	if err != nil {
		pool.Close()
		return nil, fmt.Errorf("jobs: client for working: %w", err)
	}
	return &Worker{client: client, pool: pool, dispatcher: dispatcher, lookOut: min(lookOutEvery, max(c.SweepEvery, minSweepEvery))}, nil
}

func workers(c Config, d *dispatcher) *river.Workers {
	all := river.NewWorkers()
	river.AddWorker(all, &wakeWorker{dispatcher: d})
	river.AddWorker(all, &redeliverWorker{db: c.DB, dispatcher: d, clock: c.Clock})
	safe := vault.New(c.Ring, c.Blobs)
	river.AddWorker(all, &pdfWorker{
		db: c.DB, vault: safe, enqueuer: c.Enqueuer, fonts: c.Fonts, baseURL: c.BaseURL, clock: c.Clock, logger: c.Logger,
	})
	if c.Mail == nil {
		c.Mail = mail.Nowhere{}
	}
	river.AddWorker(all, &letterWorker{db: c.DB, ring: c.Ring, sender: c.Mail, baseURL: c.BaseURL, clock: c.Clock})
	river.AddWorker(all, &expireWorker{db: c.DB, enqueuer: c.Enqueuer, clock: c.Clock})
	river.AddWorker(all, &rescueWorker{db: c.DB, enqueuer: c.Enqueuer, clock: c.Clock})
	river.AddWorker(all, &reconcileWorker{db: c.DB, vault: safe, enqueuer: c.Enqueuer, clock: c.Clock, logger: c.Logger, observer: c.Observer})
	river.AddWorker(all, &retireWorker{db: c.DB, blobs: c.Blobs, clock: c.Clock})
	river.AddWorker(all, &sealWorker{db: c.DB, vault: safe})
	if c.Payments == nil {
		c.Payments = billing.Manual{}
	}
	river.AddWorker(all, &billingWorker{clock: c.Clock, runner: &billing.Runner{
		DB: c.DB, Ledger: &billing.Ledger{Events: c.Enqueuer, Terms: c.Terms}, Provider: c.Payments, Logger: c.Logger,
	}})
	river.AddWorker(all, &billingLetterWorker{db: c.DB, sender: c.Mail, payments: c.Payments, baseURL: c.BaseURL})
	river.AddWorker(all, &recountWorker{db: c.DB, clock: c.Clock, logger: c.Logger, observer: c.Observer})
	return all
}

const (
	// retireEvery spaces the runs of retention and clean-up.
	retireEvery = 10 * time.Minute
	// reconcileEvery spaces the looks for what should never be missing.
	reconcileEvery = 5 * time.Minute
	// billEvery spaces the looks for what is due.
	billEvery = time.Minute
	// recountEvery spaces the recounts of used sessions.
	recountEvery = 24 * time.Hour
)

func periodicJobs(sweepEvery time.Duration) []*river.PeriodicJob {
	at := func(every time.Duration, args river.JobArgs) *river.PeriodicJob {
		return river.NewPeriodicJob(river.PeriodicInterval(every),
			func() (river.JobArgs, *river.InsertOpts) { return args, nil },
			&river.PeriodicJobOpts{RunOnStart: true})
	}
	return []*river.PeriodicJob{
		at(sweepEvery, expireArgs{}),
		at(sweepEvery, rescueArgs{}),
		at(retireEvery, retireArgs{}),
		at(retireEvery, sealArgs{}),
		at(reconcileEvery, reconcileArgs{}),
		at(billEvery, billingArgs{}),
		at(recountEvery, recountArgs{}),
	}
}

// Start sets the workers to work until Stop.
func (w *Worker) Start(ctx context.Context) error {
	// River stops hard when its context ends; a drain is Stop's to begin.
	if err := w.client.Start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("jobs: start: %w", err)
	}
	w.dispatcher.start(w.lookOut)
	return nil
}

// Stop lets running jobs finish until ctx ends, then cancels them; what was
// cancelled is worked again by the next process.
func (w *Worker) Stop(ctx context.Context) error {
	defer w.pool.Close()
	dispatched := make(chan struct{})
	go func() {
		defer close(dispatched)
		w.dispatcher.stop(ctx)
	}()
	err := w.client.Stop(ctx)
	<-dispatched
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

// retryAt spaces runs that failed on our side: seconds at first, a minute at
// most.
func retryAt(attempt int) time.Time {
	return time.Now().Add(min(time.Duration(attempt)*time.Second, time.Minute))
}

// countJobs tells the observer of each job. One that comes again later hasn't
// failed.
func countJobs(o Observer) func(context.Context, *rivertype.JobRow, func(context.Context) error) error {
	return func(ctx context.Context, job *rivertype.JobRow, work func(context.Context) error) error {
		err := work(ctx)
		var later *river.JobSnoozeError
		o.Worked(job.Kind, err != nil && !errors.As(err, &later))
		return err
	}
}

// errorLog reports failing jobs; arguments are ids only, so nothing personal
// is in them.
type errorLog struct{ logger *slog.Logger }

// HandleError logs a job's error.
func (l *errorLog) HandleError(ctx context.Context, job *rivertype.JobRow, err error) *river.ErrorHandlerResult {
	l.logger.ErrorContext(ctx, "job failed", "kind", job.Kind, "job_id", job.ID, "attempt", job.Attempt, "error", err)
	return nil
}

// HandlePanic logs a job's panic.
func (l *errorLog) HandlePanic(ctx context.Context, job *rivertype.JobRow, panicValue any, trace string) *river.ErrorHandlerResult {
	l.logger.ErrorContext(ctx, "job panicked", "kind", job.Kind, "job_id", job.ID, "attempt", job.Attempt, "panic", fmt.Sprint(panicValue), "trace", trace)
	return nil
}
