package jobs_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"candor/db"
)

// BenchmarkCommitToWebhook measures the time from an event's commit to the
// arrival of its webhook, on an idle service: the goal is a p99 below 100 ms.
func BenchmarkCommitToWebhook(b *testing.B) {
	bench := newBench(b)
	arrived := make(chan time.Time, 1)
	hook := newReceiver(b, func(int, http.ResponseWriter, *http.Request) { arrived <- time.Now() })
	bench.start()
	warm := bench.session(hook.URL, now())
	bench.emit(warm, 1)
	<-arrived
	var took []time.Duration
	for b.Loop() {
		s := bench.session(hook.URL, now())
		var committed time.Time
		bench.tx(func(tx *db.Tx) error {
			defer func() { committed = time.Now() }()
			return bench.enqueuer.SessionEvent(bench.ctx, tx, s, section(s, 1), now())
		})
		took = append(took, (<-arrived).Sub(committed))
		<-time.After(15 * time.Millisecond) // idle: past the clients' fetch cooldown
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
	b.ReportMetric(0, "ns/op")
}
