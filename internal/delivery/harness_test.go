package delivery_test

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"candor/db"
	"candor/internal/delivery"
	"candor/internal/domain"
	"candor/internal/outbox"
	"candor/internal/testkit/hooktest"
	"candor/internal/webhook"
)

// harness is a hooktest.Harness whose commits wake its dispatchers directly.
type harness struct {
	*hooktest.Harness
	wakes waker
}

func newHarness(t testing.TB) *harness {
	t.Helper()
	h := &harness{Harness: hooktest.New(t)}
	h.Outbox = outbox.New(&h.wakes, nil)
	return h
}

var discard = slog.New(slog.DiscardHandler)

// waker stands for the job that wakes dispatchers after a commit.
type waker struct {
	outbox.Jobs // no other job is inserted

	mu          sync.Mutex
	dispatchers []*delivery.Dispatcher
	asked       atomic.Int64
}

// Wake wakes all dispatchers at the commit.
func (w *waker) Wake(_ context.Context, tx *db.Tx, id domain.EndpointID, others ...domain.EndpointID) error {
	w.asked.Add(1)
	tx.AfterCommit(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, d := range w.dispatchers {
			for _, one := range append([]domain.EndpointID{id}, others...) {
				d.Wake(one)
			}
		}
	})
	return nil
}

// dispatcher makes a dispatcher that is not started yet.
func (h *harness) dispatcher(change ...func(*delivery.Config)) *delivery.Dispatcher {
	h.Helper()
	client := webhook.NewClient(webhook.Policy{Development: true})
	h.Cleanup(client.Close)
	config := delivery.Config{
		DB: h.DB, Ring: h.Ring, Client: client, Schedule: webhook.DefaultSchedule(), Clock: domain.SystemClock, Logger: discard,
		PollEvery: time.Hour, RescueAfter: 2 * time.Minute,
	}
	for _, f := range change {
		f(&config)
	}
	d := delivery.New(config)
	h.wakes.mu.Lock()
	defer h.wakes.mu.Unlock()
	h.wakes.dispatchers = append(h.wakes.dispatchers, d)
	return d
}

// start runs a new dispatcher until the test ends.
func (h *harness) start(change ...func(*delivery.Config)) {
	h.Helper()
	d := h.dispatcher(change...)
	d.Start()
	h.Cleanup(func() { stopWithin(h, d, 10*time.Second) })
}

// stopWithin stops a dispatcher, and cuts off what runs after that time.
func stopWithin(h *harness, d *delivery.Dispatcher, patience time.Duration) {
	h.Helper()
	ctx, cancel := context.WithTimeout(h.Ctx, patience)
	defer cancel()
	d.Stop(ctx)
}

func schedule(t testing.TB, text string) func(*delivery.Config) {
	t.Helper()
	s, err := webhook.ParseSchedule(text)
	if err != nil {
		t.Fatal(err)
	}
	return func(c *delivery.Config) { c.Schedule = s }
}
