package jobs_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"candor/db"
	"candor/internal/testkit/hooktest"
)

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
