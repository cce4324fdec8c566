package jobs_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"candor/db"
	"candor/internal/testkit"
	"candor/internal/testkit/hooktest"
)

// A burst at one receiver takes one run of each wake.
func TestWakesRunOnce(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	hook := hooktest.NewReceiver(t, nil)
	h.start()
	for range 25 {
		h.Emit(h.Session(hook.URL, hooktest.Now()), 1)
	}
	testkit.Await(h, "all deliveries", func() bool {
		return h.Count("SELECT count(*) FROM delivery WHERE state = 'delivered'") == 25
	})
	if n := h.Count("SELECT count(*) FROM river_job WHERE attempt > 1 OR errors IS NOT NULL"); n != 0 {
		t.Errorf("%d jobs took more than one run", n)
	}
}

// BenchmarkCommitToWebhook measures the time from an event's commit to the
// arrival of its webhook, on an idle service: the goal is a p99 below 100 ms.
func BenchmarkCommitToWebhook(b *testing.B) {
	h := newHarness(b)
	arrived := make(chan time.Time, 1)
	hook := hooktest.NewReceiver(b, func(int, http.ResponseWriter, *http.Request) { arrived <- time.Now() })
	h.start()
	warm := h.Session(hook.URL, hooktest.Now())
	h.Emit(warm, 1)
	<-arrived
	var took []time.Duration
	for b.Loop() {
		s := h.Session(hook.URL, hooktest.Now())
		var committed time.Time
		h.Tx(func(tx *db.Tx) error {
			defer func() { committed = time.Now() }()
			return h.Outbox.SessionEvent(h.Ctx, tx, s, hooktest.SectionCompleted(s, 1), hooktest.Now())
		})
		took = append(took, (<-arrived).Sub(committed))
		<-time.After(15 * time.Millisecond) // idle: past the clients' fetch cooldown
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
	b.ReportMetric(0, "ns/op")
}
