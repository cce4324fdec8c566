package jobs_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"candor/internal/domain"
	"candor/internal/testkit"
)

// 410 Gone shows the endpoint as gone; its deliveries follow the schedule all
// the same, and a success clears it.
func TestGoneEndpoint(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var back atomic.Bool
	hook := newReceiver(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		if !back.Load() {
			w.WriteHeader(http.StatusGone)
		}
	})
	const delay = 100 * time.Millisecond
	b.start(schedule(t, "0s,100ms,100ms,100ms,100ms,100ms,100ms"))
	s := b.session(hook.URL, now())
	b.emit(s, 1)
	health := func() *domain.Endpoint {
		b.Helper()
		e, err := b.db.Endpoint(b.ctx, b.endpoint(hook.URL))
		b.ok(err)
		return e
	}
	b.eventually("the endpoint to be gone, and tried again", func() bool { return health().Gone && health().ConsecutiveFailures >= 2 })
	back.Store(true)
	delivery := b.delivery(s, domain.DeliveryDelivered)
	if e := health(); e.Gone || e.ConsecutiveFailures != 0 || e.LastSuccessAt == nil || *e.LastStatusCode != 200 {
		t.Errorf("after a success the endpoint's health is %+v", e)
	}
	attempts, err := b.db.Attempts(b.ctx, delivery.ID)
	b.ok(err)
	for i := range attempts[1:] {
		ended := attempts[i].StartedAt.Add(time.Duration(attempts[i].DurationMS) * time.Millisecond)
		if wait := attempts[i+1].StartedAt.Sub(ended); wait < delay || *attempts[i].StatusCode != http.StatusGone {
			t.Errorf("attempt %d, answered with %d, was followed after %s, want %s at least", i+1, *attempts[i].StatusCode, wait, delay)
		}
	}
	if len(attempts) < 3 || len(attempts) != len(hook.requests()) {
		t.Errorf("%d attempts are recorded and %d arrived", len(attempts), len(hook.requests()))
	}
}

// What a receiver asks for with 429 and 503 moves the next attempt later, up
// to where the last one would be, and never earlier than the schedule.
func TestRetryAfterMovesTheNextAttempt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const inDate = "in 10m as a date"
	hook := newReceiver(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		var status int
		if _, err := fmt.Sscanf(r.URL.Path, "/%d", &status); err != nil {
			t.Error(err)
		}
		wish := r.URL.Query().Get("after")
		if wish == inDate {
			wish = time.Now().Add(10 * time.Minute).UTC().Format(http.TimeFormat)
		}
		w.Header().Set("Retry-After", wish)
		w.WriteHeader(status)
	})
	b.start(schedule(t, "0s,1m,5m,30m"))
	tests := []struct {
		status int
		wish   string
		want   time.Duration
	}{
		{429, "120", 2 * time.Minute}, {503, "120", 2 * time.Minute},
		{429, inDate, 10 * time.Minute}, {503, inDate, 10 * time.Minute},
		{429, "5", time.Minute}, {503, "Fri, 02 Jan 1998 03:04:05 GMT", time.Minute}, // never earlier
		{429, "7200", 36 * time.Minute}, {503, "99999999", 36 * time.Minute}, // at most 1m + 5m + 30m
		{429, "soon", time.Minute}, {429, "-5", time.Minute}, {503, "", time.Minute},
		{500, "120", time.Minute}, {410, "120", time.Minute}, {301, "120", time.Minute}, {404, "120", time.Minute},
	}
	sessions := make([]*domain.Session, len(tests))
	for i, test := range tests {
		sessions[i] = b.session(fmt.Sprintf("%s/%d?after=%s", hook.URL, test.status, strings.ReplaceAll(test.wish, " ", "%20")), now())
	}
	b.emitAll(sessions, 1)
	b.eventually("every first attempt", func() bool {
		return b.count("SELECT count(*) FROM delivery WHERE attempts = 1") == len(tests)
	})
	for i, test := range tests {
		delivery := b.delivery(sessions[i], domain.DeliveryPending)
		wait := delivery.NextAttemptAt.Sub(*delivery.FirstAttemptAt)
		// A date has whole seconds; the delay counts from the attempt's end.
		if wait < test.want-time.Second || wait > test.want+10*time.Second {
			t.Errorf("after %d with Retry-After %q the next attempt comes in %s, want %s", test.status, test.wish, wait, test.want)
		}
	}
}

// Nothing in an answer is followed or read into, but its status and
// Retry-After: it is kept as it came.
func TestAnswersAreNotReadInto(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	elsewhere := newReceiver(t, nil)
	body := `<meta http-equiv="refresh" content="0;url=` + elsewhere.URL + `"><img src="` + elsewhere.URL + `">` +
		`{"status":"failed","retry_after":0,"url":"` + elsewhere.URL + `"}`
	hook := newReceiver(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		for name, value := range map[string]string{
			"Location": elsewhere.URL, "Content-Location": elsewhere.URL, "Refresh": "0; url=" + elsewhere.URL,
			"Link": "<" + elsewhere.URL + ">; rel=preload", "Alt-Svc": `h2="` + strings.TrimPrefix(elsewhere.URL, "http://") + `"`,
			"Content-Encoding": "gzip", "Set-Cookie": "a=b",
		} {
			w.Header().Set(name, value)
		}
		if r.Header.Get("Cookie") != "" {
			t.Errorf("a cookie came back: %v", r.Header)
		}
		_, _ = io.WriteString(w, body)
	})
	b.start()
	s := b.session(hook.URL, now())
	b.emit(s, 1)
	delivery := b.delivery(s, domain.DeliveryDelivered)
	b.emit(b.session(hook.URL, now()), 1)
	b.received(hook, 2)
	attempts, err := b.db.Attempts(b.ctx, delivery.ID)
	b.ok(err)
	if len(attempts) != 1 || *attempts[0].Response != body {
		t.Errorf("recorded %+v", attempts)
	}
	if n := len(elsewhere.requests()); n != 0 {
		t.Errorf("%d requests followed from an answer", n)
	}
}

// Connections are kept: a receiver sees no more of them than it has requests
// at once.
func TestConnectionsAreKept(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	b := newBench(t)
	var mu sync.Mutex
	seen := map[string]bool{}
	hook := newReceiver(t, func(_ int, _ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen[r.RemoteAddr] = true
	})
	connections := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(seen)
	}
	b.start()
	const events = 200
	b.emitEvents(b.session(hook.URL, now()), events) // in order, so one by one
	b.eventually("deliveries one by one", func() bool { return b.delivered() == events })
	oneByOne := connections()
	b.emitAll(b.newSessions(hook.URL, events), 1)
	b.eventually("deliveries at once", func() bool { return b.delivered() == 2*events })
	atOnce := connections() - oneByOne
	t.Logf("%d deliveries one by one over %d connections, %d at once over %d more", events, oneByOne, events, atOnce)
	if oneByOne > 3 || atOnce > 32 {
		t.Errorf("%d and %d connections, want 1 and 15", oneByOne, atOnce)
	}
}
