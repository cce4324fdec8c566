package jobs_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"candor/db"
	"candor/internal/delivery"
	"candor/internal/domain"
	"candor/internal/outbox"
	"candor/internal/platform/blob"
	"candor/internal/statement"
	"candor/internal/statement/statementtest"
	"candor/internal/testkit/hooktest"
	"candor/internal/testkit/s3test"
	"candor/internal/vault"
	"candor/internal/webhook"
	"candor/jobs"
	"candor/views/pdf"
)

// harness is a hooktest.Harness with all that jobs need.
type harness struct {
	*hooktest.Harness
	inserter *jobs.Inserter
	blobs    blob.Place
	vault    *vault.Vault
}

func newHarness(t testing.TB) *harness {
	t.Helper()
	h := &harness{Harness: hooktest.New(t)}
	var err error
	h.inserter, err = jobs.NewInserter(h.DB, discard)
	h.OK(err)
	h.Outbox = outbox.New(h.inserter, nil)
	h.blobs = s3test.Place(t)
	h.vault = vault.New(h.Ring, h.blobs)
	return h
}

var discard = slog.New(slog.DiscardHandler)

// config is what a worker and its dispatcher are made by.
type config struct {
	jobs.Config
	schedule webhook.Schedule
	observer delivery.Observer
}

// worker is a jobs.Worker with its dispatcher.
type worker struct {
	jobs       *jobs.Worker
	dispatcher *delivery.Dispatcher
}

// start runs a new worker until the test ends.
func (h *harness) start(change ...func(*config)) {
	h.Helper()
	w := h.startWorker(change...)
	h.Cleanup(func() {
		ctx, cancel := context.WithTimeout(h.Ctx, 10*time.Second)
		defer cancel()
		if err := w.stop(ctx); err != nil {
			h.Errorf("stop: %v", err)
		}
	})
}

// startWorker runs a new worker until the test stops it.
func (h *harness) startWorker(change ...func(*config)) *worker {
	h.Helper()
	fonts, err := fonts()
	h.OK(err)
	client := webhook.NewClient(webhook.Policy{Development: true})
	h.Cleanup(client.Close)
	c := config{schedule: webhook.DefaultSchedule(), Config: jobs.Config{
		DB: h.DB, DSN: h.DSN, Outbox: h.Outbox, Ring: h.Ring, Blobs: h.blobs, Fonts: fonts,
		BaseURL: "https://candor.example", Clock: domain.SystemClock, Logger: discard,
		SweepEvery: time.Hour, RescueAfter: 2 * time.Minute, PDFWorkers: 2,
	}}
	for _, f := range change {
		f(&c)
	}
	c.Dispatcher = delivery.New(delivery.Config{
		DB: h.DB, Ring: h.Ring, Client: client, Schedule: c.schedule, Clock: c.Clock, Logger: c.Logger, Observer: c.observer,
		PollEvery: c.SweepEvery, RescueAfter: c.RescueAfter,
	})
	w, err := jobs.NewWorker(h.Ctx, c.Config)
	h.OK(err)
	h.OK(w.Start(h.Ctx))
	c.Dispatcher.Start()
	return &worker{w, c.Dispatcher}
}

func (w *worker) stop(ctx context.Context) error {
	w.dispatcher.Stop(ctx)
	return w.jobs.Stop(ctx)
}

var fonts = sync.OnceValues(func() (*pdf.Fonts, error) { return pdf.LoadFonts("") })

func schedule(t testing.TB, text string) func(*config) {
	t.Helper()
	s, err := webhook.ParseSchedule(text)
	if err != nil {
		t.Fatal(err)
	}
	return func(c *config) { c.schedule = s }
}

func sweeping(c *config) { c.SweepEvery = 100 * time.Millisecond }

// completed makes a session with a full statement that was completed at the
// given time.
func (h *harness) completed(url string, at time.Time) *domain.Session {
	h.Helper()
	return h.completedWith(statementtest.Full(), url, at)
}

// completedWith is completed with other answers.
func (h *harness) completedWith(answers *statement.Statement, url string, at time.Time) *domain.Session {
	h.Helper()
	s := h.Session(url, at)
	h.Tx(func(tx *db.Tx) error {
		for _, section := range answers.Sections(at) {
			answers, err := section.MarshalJSON()
			h.OK(err)
			_, err = h.vault.SaveSection(h.Ctx, tx, s, nil, section.Name, answers, at)
			h.OK(err)
		}
		if _, err := tx.OpenSession(h.Ctx, s.ID, at); err != nil {
			return err
		}
		s.Status, s.CompletedAt, s.SectionsCompleted = domain.Completed, &at, statement.SectionsTotal
		return tx.CompleteSession(h.Ctx, s)
	})
	return s
}
