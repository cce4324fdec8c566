package jobs_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/testkit"
	"candor/internal/webhook"
	"candor/jobs"
)

// patient gives attempts the time they have in production (D37).
func patient(t testing.TB) func(*jobs.Config) {
	client := webhook.NewClient(webhook.Policy{Development: true})
	t.Cleanup(client.Close)
	return func(c *jobs.Config) { c.Client = client }
}

// newSessions makes n sessions that send their events to url.
func (b *bench) newSessions(url string, n int) []*domain.Session {
	b.Helper()
	out := make([]*domain.Session, n)
	for i := range out {
		out[i] = b.session(url, now())
	}
	return out
}

// emitAll records an event of each session in one transaction.
func (b *bench) emitAll(sessions []*domain.Session, number int) {
	b.Helper()
	b.emitAllAt(sessions, number, now())
}

func (b *bench) emitAllAt(sessions []*domain.Session, number int, at time.Time) {
	b.Helper()
	b.tx(func(tx *db.Tx) error {
		for _, s := range sessions {
			if err := b.enqueuer.SessionEvent(b.ctx, tx, s, section(s, number), at); err != nil {
				return err
			}
		}
		return nil
	})
}

func (b *bench) delivered() int {
	b.Helper()
	return b.count("SELECT count(*) FROM delivery WHERE state = 'delivered'")
}

// With a black hole and a slow endpoint that both have a backlog, a hundred
// healthy ones get their events at once (D39).
func TestFairness(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	b := newBench(t)
	release := make(chan struct{})
	hole := newReceiver(t, hang(release))
	slow := newReceiver(t, func(_ int, _ http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(10 * time.Second):
		case <-release:
		case <-r.Context().Done():
		}
	})
	b.start(patient(t))
	b.emitAll(b.newSessions(hole.URL, 100), 1)
	b.emitAll(b.newSessions(slow.URL, 100), 1)
	b.received(hole, jobs.PerNew)
	b.received(slow, jobs.PerNew)

	const endpoints, events, perSecond = 100, 400, 50
	healthy, sessions := make([]*receiver, endpoints), make([]*domain.Session, endpoints)
	for i := range healthy {
		healthy[i] = newReceiver(t, nil)
		sessions[i] = b.session(healthy[i].URL, now())
	}
	emitted := b.emitSteadily(sessions, events, time.Second/perSecond)
	var took []time.Duration
	for i, hook := range healthy {
		for n, request := range b.received(hook, events/endpoints) {
			took = append(took, request.at.Sub(emitted[n*endpoints+i]))
		}
	}
	slices.Sort(took)
	p50, p99 := took[len(took)/2], took[len(took)*99/100]
	t.Logf("%d events at %d/s to %d healthy endpoints: event to delivery p50 %s, p99 %s", len(took), perSecond, endpoints, p50, p99)
	if len(took) != events || p99 > 5*time.Second {
		t.Errorf("%d deliveries with p99 %s, want %d below 5s", len(took), p99, events)
	}
	if hole.most() > jobs.PerEndpoint || slow.most() > jobs.PerEndpoint {
		t.Errorf("%d and %d attempts at once, want at most %d", hole.most(), slow.most(), jobs.PerEndpoint)
	}
	close(release)
}

// emitSteadily records n events of the sessions by turns, and returns when
// each was recorded.
func (b *bench) emitSteadily(sessions []*domain.Session, n int, every time.Duration) []time.Time {
	b.Helper()
	emitted := make([]time.Time, n)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for i := range n {
		<-tick.C
		emitted[i] = time.Now()
		b.emit(sessions[i%len(sessions)], i+1)
	}
	return emitted
}

// An endpoint gets few attempts at once until it has answered, more once it
// has, and few again while it keeps failing.
func TestConcurrencyOfAnEndpoint(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var gate struct {
		sync.Mutex
		ch chan struct{}
	}
	gate.ch = make(chan struct{})
	status := http.StatusOK
	hook := newReceiver(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		gate.Lock()
		ch, code := gate.ch, status
		gate.Unlock()
		<-ch
		w.WriteHeader(code)
	})
	open := func(next int) { // lets all requests go, and holds the next ones
		gate.Lock()
		defer gate.Unlock()
		close(gate.ch)
		gate.ch, status = make(chan struct{}), next
	}
	b.start(patient(t), schedule(t, "0s,1h"))
	b.emitAll(b.newSessions(hook.URL, 200), 1)
	at := func(n int) func() bool {
		return func() bool {
			hook.mu.Lock()
			defer hook.mu.Unlock()
			return hook.now == n
		}
	}
	b.eventually("a few attempts at a new endpoint", at(jobs.PerNew))
	open(http.StatusOK)
	b.eventually("twice as many once those were answered", at(2*jobs.PerNew))
	open(http.StatusInternalServerError)
	b.eventually("all that an endpoint may have", at(jobs.PerEndpoint))
	open(http.StatusInternalServerError) // these fail
	b.eventually("few at a failing one", at(jobs.PerFailing))
	if hook.most() > jobs.PerEndpoint {
		t.Errorf("%d attempts at once, want at most %d", hook.most(), jobs.PerEndpoint)
	}
	gate.Lock()
	close(gate.ch)
	gate.ch = closed()
	gate.Unlock()
}

func closed() chan struct{} {
	ch := make(chan struct{})
	close(ch)
	return ch
}

// The process's caps hold over all endpoints, and the failing ones leave room
// for the others.
func TestCapsOfTheProcess(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	b := newBench(t)
	const running, failing, endpoints = 12, 6, 5
	release := make(chan struct{})
	var all struct {
		sync.Mutex
		dead, most, healthy int
	}
	var dead []*domain.Session
	for range endpoints {
		hook := newReceiver(t, func(_ int, _ http.ResponseWriter, r *http.Request) {
			all.Lock()
			all.dead++
			all.most = max(all.most, all.dead)
			all.Unlock()
			hang(release)(0, nil, r)
			all.Lock()
			all.dead--
			all.Unlock()
		})
		dead = append(dead, b.newSessions(hook.URL, 10)...)
	}
	healthy := newReceiver(t, nil)
	b.emitAll(dead, 1)
	_, err := b.db.Raw().ExecContext(b.ctx, "UPDATE webhook_endpoint SET consecutive_failures = $1", jobs.FailingAfter)
	b.ok(err)
	w := b.worker(patient(t))
	w.SetCaps(running, failing)
	b.ok(w.Start(b.ctx))
	b.eventually("the dead to fill their share", func() bool {
		all.Lock()
		defer all.Unlock()
		return all.dead == failing
	})
	b.emitAll(b.newSessions(healthy.URL, 50), 1)
	b.received(healthy, 50)
	all.Lock()
	if all.most > failing {
		t.Errorf("%d attempts at failing endpoints, want at most %d", all.most, failing)
	}
	all.Unlock()
	if healthy.most() > running-failing {
		t.Errorf("%d healthy attempts at once, want at most %d", healthy.most(), running-failing)
	}
	close(release)
	stopWithin(b, w, 10*time.Second)
}

func stopWithin(b *bench, w *jobs.Worker, patience time.Duration) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	b.ok(w.Stop(ctx))
}

// Events of a session come in order while the endpoint answers, each first
// attempt after the one ahead; a failing one holds up the later ones no longer
// than that.
func TestOrderWithinASession(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const sessions, events = 10, 8
	hook := newReceiver(t, func(n int, w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/failing" && n%3 == 0 && r.Header.Get("X-Webhook-Retry-Count") == "" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	b.start(schedule(t, "0s,300ms"))
	all := append(b.newSessions(hook.URL+"/answering", sessions), b.newSessions(hook.URL+"/failing", sessions)...)
	for i := range events {
		b.emitAll(all, i+1)
	}
	b.eventually("every delivery", func() bool { return b.delivered() == len(all)*events })
	first := map[string][]int{}
	seen := map[string]bool{}
	for _, request := range hook.requests() {
		payload := data[domain.SectionCompletedPayload](t, []byte(request.body))
		key := fmt.Sprint(payload.SessionID, payload.SectionNumber)
		if !seen[key] {
			first[payload.SessionID.String()] = append(first[payload.SessionID.String()], payload.SectionNumber)
		}
		seen[key] = true
	}
	for id, numbers := range first {
		if len(numbers) != events || !slices.IsSorted(numbers) {
			t.Errorf("first attempts of session %s came in the order %v", id, numbers)
		}
	}
}
