package jobs_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/jobs"
)

// redeliver starts a redelivery of all that failed, at so many a second.
func (b *bench) redeliver(rate int) *domain.Redelivery {
	b.Helper()
	since := now().Add(-time.Hour)
	f := domain.DeliveryFilter{Since: &since}
	r := domain.NewRedelivery(b.scope, f, rate, "a test", now())
	b.tx(func(tx *db.Tx) error {
		if err := tx.InsertRedelivery(b.ctx, r, f); err != nil {
			return err
		}
		return b.enqueuer.Redeliver(b.ctx, tx, r.ID)
	})
	return r
}

// TestRedelivery: an endpoint that was down gets all that failed, at the rate
// that was asked for, under the same ids; what happens meanwhile isn't held up.
func TestRedelivery(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var up atomic.Bool
	hook := newReceiver(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		if !up.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	b.start(schedule(t, "0s"))
	const failed, rate = 30, 20
	old := b.session(hook.URL, now())
	for i := range failed {
		b.emit(old, i)
	}
	b.eventually("all failed", func() bool {
		return b.count("SELECT count(*) FROM delivery WHERE state = 'failed'") == failed
	})
	ids := map[string]bool{}
	for _, r := range hook.requests() {
		ids[r.header.Get("X-Webhook-Id")] = true
	}
	up.Store(true)
	began := time.Now()
	r := b.redeliver(rate)
	if r.Matched != failed {
		t.Errorf("matched %d, want %d", r.Matched, failed)
	}
	fresh := b.session(hook.URL, now())
	b.emit(fresh, 1)
	b.delivery(fresh, domain.DeliveryDelivered)
	if left := b.count("SELECT count(*) FROM delivery WHERE state = 'failed'"); left == 0 {
		t.Error("a new event came only after all that was made again")
	}
	b.eventually("all delivered", func() bool {
		return b.count("SELECT count(*) FROM delivery WHERE state = 'delivered'") == failed+1
	})
	if least := time.Duration(failed-1) * time.Second / rate; time.Since(began) < least {
		t.Errorf("%d at %d a second took %s, want %s at least", failed, rate, time.Since(began), least)
	}
	again := hook.requests()[failed:]
	place := 0
	for _, r := range again {
		delete(ids, r.header.Get("X-Webhook-Id"))
		of := data[domain.SectionCompletedPayload](t, []byte(r.body))
		if of.SessionID != old.ID {
			continue
		}
		// Up to 16 attempts run side by side, so neighbours may change places.
		if place-of.SectionNumber > 16 || of.SectionNumber-place > 16 {
			t.Errorf("event %d came again as number %d", of.SectionNumber, place)
		}
		place++
	}
	if len(again) != failed+1 || len(ids) != 0 {
		t.Errorf("%d requests, want %d; %d ids didn't come again", len(again), failed+1, len(ids))
	}
	b.eventually("the end", func() bool {
		got, err := b.db.Redelivery(b.ctx, b.scope, r.ID)
		b.ok(err)
		return got.State == domain.RedeliveryDone && got.Requeued == failed
	})
}

// TestRedeliveryIsStopped: what was made pending still arrives, and nothing
// after it.
func TestRedeliveryIsStopped(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var up atomic.Bool
	hook := newReceiver(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		if !up.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	b.start(schedule(t, "0s"))
	const failed = 20
	old := b.session(hook.URL, now())
	for i := range failed {
		b.emit(old, i)
	}
	b.eventually("all failed", func() bool {
		return b.count("SELECT count(*) FROM delivery WHERE state = 'failed'") == failed
	})
	up.Store(true)
	r := b.redeliver(10)
	b.received(hook, failed+2)
	var stopped *domain.Redelivery
	b.ok(b.db.InTx(b.ctx, func(tx *db.Tx) (err error) {
		stopped, err = tx.StopRedelivery(b.ctx, b.scope, r.ID, now())
		return err
	}))
	b.ok(b.db.ForgetRedeliveryItems(b.ctx, r.ID))
	if stopped.Requeued < 2 || stopped.Requeued > failed/2 {
		t.Errorf("%d were made again before the stop, of %d at 10 a second", stopped.Requeued, failed)
	}
	b.eventually("the end of its job", func() bool {
		return b.count("SELECT count(*) FROM river_job WHERE kind = 'webhook_redelivery' AND state = 'completed'") == 1
	})
	b.eventually("the last one made again", func() bool {
		return b.count("SELECT count(*) FROM delivery WHERE state = 'pending'") == 0
	})
	if n := b.count("SELECT count(*) FROM delivery WHERE state = 'delivered'"); n != int(stopped.Requeued) || len(hook.requests()) != failed+n {
		t.Errorf("%d delivered by %d requests, want %d and no more", n, len(hook.requests())-failed, stopped.Requeued)
	}
}

// TestRedeliveryWithoutItsJob: a redelivery whose job was lost gets another.
func TestRedeliveryWithoutItsJob(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var up atomic.Bool
	hook := newReceiver(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		if !up.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	s := b.session(hook.URL, now())
	b.emit(s, 1)
	b.start(schedule(t, "0s"), sweeping, func(c *jobs.Config) { c.SweepEvery = 100 * time.Millisecond })
	b.delivery(s, domain.DeliveryFailed)
	up.Store(true)
	since := now().Add(-time.Hour)
	f := domain.DeliveryFilter{Since: &since}
	r := domain.NewRedelivery(b.scope, f, 10, "a test", now())
	b.tx(func(tx *db.Tx) error { return tx.InsertRedelivery(b.ctx, r, f) })
	_, err := b.db.Raw().ExecContext(b.ctx, `UPDATE redelivery SET paced_until = now() - interval '1 hour' WHERE id = $1`, r.ID)
	b.ok(err)
	b.delivery(s, domain.DeliveryDelivered)
}
