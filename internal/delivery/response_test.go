package delivery_test

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
	"candor/internal/testkit/hooktest"
)

// 410 Gone shows the endpoint as gone. Its deliveries still follow the schedule,
// and a success clears it.
func TestGoneEndpoint(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := newHarness(t)
	var back atomic.Bool
	hook := hooktest.NewReceiver(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		if !back.Load() {
			w.WriteHeader(http.StatusGone)
		}
	})
	const delay = 100 * time.Millisecond
	h.start(schedule(t, "0s,100ms,100ms,100ms,100ms,100ms,100ms"))
	s := h.Session(hook.URL, hooktest.Now())
	h.Emit(s, 1)
	health := func() *domain.Endpoint {
		h.Helper()
		e, err := h.DB.Endpoint(h.Ctx, h.Endpoint(hook.URL))
		h.OK(err)
		return e
	}
	testkit.Await(h, "the endpoint to be gone, and tried again", func() bool {
		return health().Gone && health().ConsecutiveFailures >= 2
	})
	back.Store(true)
	delivery := h.Delivery(s, domain.DeliveryDelivered)
	if e := health(); e.Gone || e.ConsecutiveFailures != 0 || e.LastSuccessAt == nil || *e.LastStatusCode != 200 {
		t.Errorf("after a success the endpoint's health is %+v", e)
	}
	attempts, err := h.DB.Attempts(h.Ctx, delivery.ID)
	h.OK(err)
	months, err := h.DB.EndpointMonths(h.Ctx, []domain.EndpointID{health().ID}, time.Now())
	h.OK(err)
	if m := months[health().ID]; m == nil || m.Attempts != int64(len(attempts)) || m.Delivered != 1 || m.P95() == 0 {
		t.Errorf("of %d attempts, the endpoint counts %+v", len(attempts), m)
	}
	for i := range attempts[1:] {
		ended := attempts[i].StartedAt.Add(time.Duration(attempts[i].DurationMS) * time.Millisecond)
		if wait := attempts[i+1].StartedAt.Sub(ended); wait < delay || *attempts[i].StatusCode != http.StatusGone {
			t.Errorf("attempt %d, answered with %d, was followed after %s, want %s at least", i+1, *attempts[i].StatusCode, wait, delay)
		}
	}
	if len(attempts) < 3 || len(attempts) != len(hook.Requests()) {
		t.Errorf("%d attempts are recorded and %d arrived", len(attempts), len(hook.Requests()))
	}
}

// Retry-After with 429 or 503 moves the next attempt later, at most to the time of
// the last one, and never earlier than the schedule.
func TestRetryAfterMovesTheNextAttempt(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	const inDate = "in 10m as a date"
	hook := hooktest.NewReceiver(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		var status int
		if _, err := fmt.Sscanf(r.URL.Path, "/%d", &status); err != nil {
			t.Error(err)
		}
		after := r.URL.Query().Get("after")
		if after == inDate {
			after = time.Now().Add(10 * time.Minute).UTC().Format(http.TimeFormat)
		}
		w.Header().Set("Retry-After", after)
		w.WriteHeader(status)
	})
	h.start(schedule(t, "0s,1m,5m,30m"))
	tests := []struct {
		status int
		after  string
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
		sessions[i] = h.Session(fmt.Sprintf("%s/%d?after=%s", hook.URL, test.status, strings.ReplaceAll(test.after, " ", "%20")),
			hooktest.Now())
	}
	h.emitAll(sessions, 1)
	testkit.Await(h, "every first attempt", func() bool {
		return h.Count("SELECT count(*) FROM delivery WHERE attempts = 1") == len(tests)
	})
	for i, test := range tests {
		delivery := h.Delivery(sessions[i], domain.DeliveryPending)
		wait := delivery.NextAttemptAt.Sub(*delivery.FirstAttemptAt)
		// A date has whole seconds; the delay counts from the attempt's end.
		if wait < test.want-time.Second || wait > test.want+10*time.Second {
			t.Errorf("after %d with Retry-After %q the next attempt comes in %s, want %s", test.status, test.after, wait, test.want)
		}
	}
}

// Nothing in a response is followed or interpreted, except its status and
// Retry-After. It is stored as it arrived.
func TestResponsesAreNotInterpreted(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	elsewhere := hooktest.NewReceiver(t, nil)
	body := `<meta http-equiv="refresh" content="0;url=` + elsewhere.URL + `"><img src="` + elsewhere.URL + `">` +
		`{"status":"failed","retry_after":0,"url":"` + elsewhere.URL + `"}`
	hook := hooktest.NewReceiver(t, func(_ int, w http.ResponseWriter, r *http.Request) {
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
	h.start()
	s := h.Session(hook.URL, hooktest.Now())
	h.Emit(s, 1)
	delivery := h.Delivery(s, domain.DeliveryDelivered)
	h.Emit(h.Session(hook.URL, hooktest.Now()), 1)
	hook.Wait("", 2)
	attempts, err := h.DB.Attempts(h.Ctx, delivery.ID)
	h.OK(err)
	if len(attempts) != 1 || *attempts[0].Response != body {
		t.Errorf("recorded %+v", attempts)
	}
	if n := len(elsewhere.Requests()); n != 0 {
		t.Errorf("%d requests followed from a response", n)
	}
}

// Connections are kept: a receiver has no more of them than requests at once.
func TestConnectionsAreKept(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := newHarness(t)
	var mu sync.Mutex
	seen := map[string]bool{}
	hook := hooktest.NewReceiver(t, func(_ int, _ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen[r.RemoteAddr] = true
	})
	connections := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(seen)
	}
	h.start()
	const events = 200
	h.emitEvents(h.Session(hook.URL, hooktest.Now()), events) // in order, so one by one
	testkit.Await(h, "deliveries one by one", func() bool { return h.delivered() == events })
	oneByOne := connections()
	h.emitAll(h.newSessions(hook.URL, events), 1)
	testkit.Await(h, "deliveries at once", func() bool { return h.delivered() == 2*events })
	atOnce := connections() - oneByOne
	t.Logf("%d deliveries one by one over %d connections, %d at once over %d more", events, oneByOne, events, atOnce)
	if oneByOne > 3 || atOnce > 32 {
		t.Errorf("%d and %d connections, want 1 and 15", oneByOne, atOnce)
	}
}
