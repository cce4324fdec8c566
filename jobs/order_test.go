package jobs_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
)

// emitEvents records n events of the session, numbered from 1, in one
// transaction.
func (b *bench) emitEvents(s *domain.Session, n int) {
	b.Helper()
	b.tx(func(tx *db.Tx) error {
		for i := range n {
			if err := b.enqueuer.SessionEvent(b.ctx, tx, s, section(s, i+1), now()); err != nil {
				return err
			}
		}
		return nil
	})
}

// numbers are the events of each session in the order they came.
func numbers(t *testing.T, all []received) map[domain.SessionID][]int {
	t.Helper()
	out := map[domain.SessionID][]int{}
	for _, request := range all {
		payload := data[domain.SectionCompletedPayload](t, []byte(request.body))
		out[payload.SessionID] = append(out[payload.SessionID], payload.SectionNumber)
	}
	return out
}

// An event that fails holds up those behind it no longer than its first
// attempt: they come though its retry is an hour away.
func TestFailingEventHoldsUpNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	hook := newReceiver(t, func(n int, w http.ResponseWriter, r *http.Request) {
		if n == 1 {
			panic(http.ErrAbortHandler)
		}
	})
	b.start(schedule(t, "0s,1h"))
	s := b.session(hook.URL, now())
	b.emitEvents(s, 6)
	b.eventually("all but the first", func() bool { return b.delivered() == 5 })
	if got := numbers(t, hook.requests())[s.ID]; !slices.Equal(got, []int{1, 2, 3, 4, 5, 6}) {
		t.Errorf("the events came in the order %v", got)
	}
	all, err := b.db.Deliveries(b.ctx, s.ID)
	b.ok(err)
	if all[0].State != domain.DeliveryPending || all[0].Attempts != 1 || all[0].NextAttemptAt.Before(now().Add(50*time.Minute)) {
		t.Errorf("the first is %+v, want it to wait for its retry", all[0])
	}
}

// Order holds over processes and though every attempt fails: with two workers
// at one endpoint that answers, one that is slow to and one that fails always.
func TestOrderWithTwoWorkers(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const sessions, events = 8, 6
	hook := newReceiver(t, func(n int, w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/slow"):
			<-time.After(time.Duration(n%7) * time.Millisecond)
		case strings.HasPrefix(r.URL.Path, "/failing"):
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	other := newReceiver(t, func(_ int, w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	var all []*domain.Session
	for _, url := range []string{hook.URL + "/answering", hook.URL + "/slow", hook.URL + "/failing", other.URL} {
		all = append(all, b.newSessions(url, sessions)...)
	}
	for _, s := range all { // one after the other, so that a claim could take several of a session
		b.emitEvents(s, events)
	}
	b.start(schedule(t, "0s,1h"))
	b.start(schedule(t, "0s,1h"))
	b.eventually("every first attempt", func() bool {
		return b.count("SELECT count(*) FROM delivery WHERE attempts = 1") == len(all)*events
	})
	came := append(hook.requests(), other.requests()...)
	for id, got := range numbers(t, came) {
		if !slices.Equal(got, []int{1, 2, 3, 4, 5, 6}) {
			t.Errorf("the events of session %s came in the order %v", id, got)
		}
	}
	expectAll(t, came, len(all)*events, 0)
	if n := b.count("SELECT count(DISTINCT session_id) FROM delivery"); n != len(numbers(t, came)) {
		t.Errorf("%d sessions' events came, want %d", len(numbers(t, came)), n)
	}
}
