package jobs_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/testkit"
	"candor/internal/testkit/hooktest"
)

// redeliver starts a redelivery of all failed deliveries, that many a second.
func (h *harness) redeliver(rate int) *domain.Redelivery {
	h.Helper()
	since := hooktest.Now().Add(-time.Hour)
	f := domain.DeliveryFilter{Since: &since}
	r := domain.NewRedelivery(h.Scope, f, rate, "a test", hooktest.Now())
	h.Tx(func(tx *db.Tx) error {
		if err := tx.InsertRedelivery(h.Ctx, r, f); err != nil {
			return err
		}
		return h.Outbox.Redeliver(h.Ctx, tx, r.ID)
	})
	return r
}

// failed has n deliveries of a session fail. Their receiver accepts them once up is true.
func (h *harness) failed(n int, change ...func(*config)) (hook *hooktest.Receiver, old *domain.Session, up *atomic.Bool) {
	h.Helper()
	up = new(atomic.Bool)
	hook = hooktest.NewReceiver(h, func(_ int, w http.ResponseWriter, _ *http.Request) {
		if !up.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	h.start(append(change, schedule(h, "0s"))...)
	old = h.Session(hook.URL, hooktest.Now())
	for i := range n {
		h.Emit(old, i)
	}
	testkit.Await(h, "all failed", func() bool {
		return h.Count("SELECT count(*) FROM delivery WHERE state = 'failed'") == n
	})
	return hook, old, up
}

// TestRedelivery: an endpoint that was down gets all failed deliveries again, at the
// requested rate and with the same ids. New events don't wait for them.
func TestRedelivery(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := newHarness(t)
	const failed, rate = 30, 20
	hook, old, up := h.failed(failed)
	ids := map[string]bool{}
	for _, r := range hook.Requests() {
		ids[r.Header.Get("X-Webhook-Id")] = true
	}
	up.Store(true)
	began := time.Now()
	r := h.redeliver(rate)
	if r.Matched != failed {
		t.Errorf("matched %d, want %d", r.Matched, failed)
	}
	fresh := h.Session(hook.URL, hooktest.Now())
	h.Emit(fresh, 1)
	testkit.Await(h, "all delivered", func() bool {
		return h.Count("SELECT count(*) FROM delivery WHERE state = 'delivered'") == failed+1
	})
	if least := time.Duration(failed-1) * time.Second / rate; time.Since(began) < least {
		t.Errorf("%d at %d a second took %s, want %s at least", failed, rate, time.Since(began), least)
	}
	again := hook.Requests()[failed:]
	place := 0
	for _, r := range again {
		delete(ids, r.Header.Get("X-Webhook-Id"))
		of := hooktest.Data[domain.SectionCompletedPayload](t, r.Body)
		if of.SessionID != old.ID {
			if place == failed {
				t.Error("a new event arrived only after the whole redelivery")
			}
			continue
		}
		// Up to 16 attempts run side by side, so neighbours may change places.
		if place-of.SectionNumber > 16 || of.SectionNumber-place > 16 {
			t.Errorf("event %d arrived again as number %d", of.SectionNumber, place)
		}
		place++
	}
	if len(again) != failed+1 || len(ids) != 0 {
		t.Errorf("%d requests, want %d; %d ids didn't arrive again", len(again), failed+1, len(ids))
	}
	testkit.Await(h, "the end", func() bool {
		got, err := h.DB.Redelivery(h.Ctx, h.Scope, r.ID)
		h.OK(err)
		return got.State == domain.RedeliveryDone && got.Requeued == failed
	})
}

// TestRedeliveryIsStopped: deliveries that are pending again still arrive, and no
// others.
func TestRedeliveryIsStopped(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := newHarness(t)
	const failed = 100 // ten seconds' worth
	hook, _, up := h.failed(failed)
	up.Store(true)
	r := h.redeliver(10)
	hook.Wait("", failed+2)
	var stopped *domain.Redelivery
	h.OK(h.DB.InTx(h.Ctx, func(tx *db.Tx) (err error) {
		stopped, err = tx.StopRedelivery(h.Ctx, h.Scope, r.ID, hooktest.Now())
		return err
	}))
	h.OK(h.DB.ForgetRedeliveryItems(h.Ctx, r.ID))
	if stopped.Requeued < 2 || stopped.Requeued == failed {
		t.Errorf("%d were made again before the stop, of %d at 10 a second", stopped.Requeued, failed)
	}
	testkit.Await(h, "the end of its job", func() bool {
		return h.Count("SELECT count(*) FROM river_job WHERE kind = 'webhook_redelivery' AND state = 'completed'") == 1
	})
	testkit.Await(h, "the last one made again", func() bool {
		return h.Count("SELECT count(*) FROM delivery WHERE state = 'pending'") == 0
	})
	if n := h.Count("SELECT count(*) FROM delivery WHERE state = 'delivered'"); n != int(stopped.Requeued) ||
		len(hook.Requests()) != failed+n {
		t.Errorf("%d delivered by %d requests, want %d and no more", n, len(hook.Requests())-failed, stopped.Requeued)
	}
}

// TestRedeliveryWithoutItsJob: a redelivery whose job was lost gets another job.
func TestRedeliveryWithoutItsJob(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := newHarness(t)
	_, s, up := h.failed(1, sweeping, func(c *config) { c.SweepEvery = 100 * time.Millisecond })
	up.Store(true)
	since := hooktest.Now().Add(-time.Hour)
	f := domain.DeliveryFilter{Since: &since}
	r := domain.NewRedelivery(h.Scope, f, 10, "a test", hooktest.Now())
	h.Tx(func(tx *db.Tx) error { return tx.InsertRedelivery(h.Ctx, r, f) })
	_, err := h.DB.Raw().ExecContext(h.Ctx, `UPDATE redelivery SET paced_until = now() - interval '1 hour' WHERE id = $1`, r.ID)
	h.OK(err)
	h.Delivery(s, domain.DeliveryDelivered)
}
