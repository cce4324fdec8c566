package delivery_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/testkit"
	"candor/internal/testkit/hooktest"
)

// emitEvents records n events of the session, numbered from 1, in one
// transaction.
func (h *harness) emitEvents(s *domain.Session, n int) {
	h.Helper()
	h.Tx(func(tx *db.Tx) error {
		for i := range n {
			if err := h.Outbox.SessionEvent(h.Ctx, tx, s, hooktest.SectionCompleted(s, i+1), hooktest.Now()); err != nil {
				return err
			}
		}
		return nil
	})
}

// numbers are the events of each session in the order they arrived.
func numbers(t *testing.T, all []hooktest.Request) map[domain.SessionID][]int {
	t.Helper()
	out := map[domain.SessionID][]int{}
	for _, request := range all {
		payload := hooktest.Data[domain.SectionCompletedPayload](t, request.Body)
		out[payload.SessionID] = append(out[payload.SessionID], payload.SectionNumber)
	}
	return out
}

// An event that fails holds up later ones only until its first attempt: they
// arrive although its retry is an hour away.
func TestFailingEventHoldsUpNothing(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	hook := hooktest.NewReceiver(t, func(n int, w http.ResponseWriter, r *http.Request) {
		if n == 1 {
			panic(http.ErrAbortHandler)
		}
	})
	h.start(schedule(t, "0s,1h"))
	s := h.Session(hook.URL, hooktest.Now())
	h.emitEvents(s, 6)
	testkit.Await(h, "all but the first", func() bool { return h.delivered() == 5 })
	if got := numbers(t, hook.Requests())[s.ID]; !slices.Equal(got, []int{1, 2, 3, 4, 5, 6}) {
		t.Errorf("the events arrived in the order %v", got)
	}
	all, err := h.DB.Deliveries(h.Ctx, s.ID)
	h.OK(err)
	if all[0].State != domain.DeliveryPending || all[0].Attempts != 1 ||
		all[0].NextAttemptAt.Before(hooktest.Now().Add(50*time.Minute)) {
		t.Errorf("the first is %+v, want it to wait for its retry", all[0])
	}
}

// Order holds with two dispatchers, at an endpoint that answers, a slow one and
// one where every attempt fails.
func TestOrderWithTwoWorkers(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	const sessions, events = 8, 6
	hook := hooktest.NewReceiver(t, func(n int, w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/slow"):
			<-time.After(time.Duration(n%7) * time.Millisecond)
		case strings.HasPrefix(r.URL.Path, "/failing"):
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	other := hooktest.NewReceiver(t, func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	var all []*domain.Session
	for _, url := range []string{hook.URL + "/answering", hook.URL + "/slow", hook.URL + "/failing", other.URL} {
		all = append(all, h.newSessions(url, sessions)...)
	}
	for _, s := range all { // session by session, so that a claim could take several of one
		h.emitEvents(s, events)
	}
	h.start(schedule(t, "0s,1h"))
	h.start(schedule(t, "0s,1h"))
	testkit.Await(h, "every first attempt", func() bool {
		return h.Count("SELECT count(*) FROM delivery WHERE attempts = 1") == len(all)*events
	})
	arrived := append(hook.Requests(), other.Requests()...)
	for id, got := range numbers(t, arrived) {
		if !slices.Equal(got, []int{1, 2, 3, 4, 5, 6}) {
			t.Errorf("the events of session %s arrived in the order %v", id, got)
		}
	}
	expectAll(t, arrived, len(all)*events, 0)
	if n := h.Count("SELECT count(DISTINCT session_id) FROM delivery"); n != len(numbers(t, arrived)) {
		t.Errorf("%d sessions' events arrived, want %d", len(numbers(t, arrived)), n)
	}
}
