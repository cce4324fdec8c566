package delivery_test

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"candor/db"
	"candor/internal/delivery"
	"candor/internal/domain"
	"candor/internal/testkit"
	"candor/internal/testkit/hooktest"
	"candor/internal/webhook"
)

// patient gives attempts the time they have in production (D37).
func patient(t testing.TB) func(*delivery.Config) {
	client := webhook.NewClient(webhook.Policy{Development: true})
	t.Cleanup(client.Close)
	return func(c *delivery.Config) { c.Client = client }
}

// newSessions makes n sessions that send their events to url.
func (h *harness) newSessions(url string, n int) []*domain.Session {
	h.Helper()
	out := make([]*domain.Session, n)
	for i := range out {
		out[i] = h.Session(url, hooktest.Now())
	}
	return out
}

// emitAll records an event of each session in one transaction.
func (h *harness) emitAll(sessions []*domain.Session, number int) {
	h.Helper()
	h.emitAllAt(sessions, number, hooktest.Now())
}

func (h *harness) emitAllAt(sessions []*domain.Session, number int, at time.Time) {
	h.Helper()
	h.Tx(func(tx *db.Tx) error {
		for _, s := range sessions {
			if err := h.Outbox.SessionEvent(h.Ctx, tx, s, hooktest.SectionCompleted(s, number), at); err != nil {
				return err
			}
		}
		return nil
	})
}

func (h *harness) delivered() int {
	h.Helper()
	return h.Count("SELECT count(*) FROM delivery WHERE state = 'delivered'")
}

// A hundred healthy endpoints get their events at once although a black hole and
// a slow endpoint have a backlog (D39).
func TestFairness(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := newHarness(t)
	release := make(chan struct{})
	hole := hooktest.NewReceiver(t, hooktest.Hang(release))
	slow := hooktest.NewReceiver(t, func(_ int, _ http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(10 * time.Second):
		case <-release:
		case <-r.Context().Done():
		}
	})
	h.start(patient(t))
	h.emitAll(h.newSessions(hole.URL, 100), 1)
	h.emitAll(h.newSessions(slow.URL, 100), 1)
	hole.Wait("", delivery.PerNew)
	slow.Wait("", delivery.PerNew)

	const endpoints, events, perSecond = 100, 400, 50
	healthy, sessions := make([]*hooktest.Receiver, endpoints), make([]*domain.Session, endpoints)
	for i := range healthy {
		healthy[i] = hooktest.NewReceiver(t, nil)
		sessions[i] = h.Session(healthy[i].URL, hooktest.Now())
	}
	emitted := h.emitSteadily(sessions, events, time.Second/perSecond)
	var took []time.Duration
	for i, hook := range healthy {
		for n, request := range hook.Wait("", events/endpoints) {
			took = append(took, request.At.Sub(emitted[n*endpoints+i]))
		}
	}
	slices.Sort(took)
	p50, p99 := took[len(took)/2], took[len(took)*99/100]
	t.Logf("%d events at %d/s to %d healthy endpoints: event to delivery p50 %s, p99 %s", len(took), perSecond, endpoints, p50, p99)
	if len(took) != events || p99 > 5*time.Second {
		t.Errorf("%d deliveries with p99 %s, want %d below 5s", len(took), p99, events)
	}
	if hole.Most() > delivery.PerEndpoint || slow.Most() > delivery.PerEndpoint {
		t.Errorf("%d and %d attempts at once, want at most %d", hole.Most(), slow.Most(), delivery.PerEndpoint)
	}
	close(release)
}

// emitSteadily records n events of the sessions in turn and returns when it
// recorded each.
func (h *harness) emitSteadily(sessions []*domain.Session, n int, every time.Duration) []time.Time {
	h.Helper()
	emitted := make([]time.Time, n)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for i := range n {
		<-tick.C
		emitted[i] = time.Now()
		h.Emit(sessions[i%len(sessions)], i+1)
	}
	return emitted
}

// An endpoint gets few attempts at once until it has answered, then more, and few
// again while it keeps failing.
func TestConcurrencyOfAnEndpoint(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	var gate struct {
		sync.Mutex
		ch chan struct{}
	}
	gate.ch = make(chan struct{})
	status := http.StatusOK
	hook := hooktest.NewReceiver(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		gate.Lock()
		ch, code := gate.ch, status
		gate.Unlock()
		<-ch
		w.WriteHeader(code)
	})
	open := func(next int) { // answers all requests and holds the next ones
		gate.Lock()
		defer gate.Unlock()
		close(gate.ch)
		gate.ch, status = make(chan struct{}), next
	}
	h.start(patient(t), schedule(t, "0s,1h"))
	h.emitAll(h.newSessions(hook.URL, 200), 1)
	at := func(n int) func() bool {
		return func() bool { return hook.Running() == n }
	}
	testkit.Await(h, "a few attempts at a new endpoint", at(delivery.PerNew))
	open(http.StatusOK)
	testkit.Await(h, "twice as many once those were answered", at(2*delivery.PerNew))
	open(http.StatusInternalServerError)
	testkit.Await(h, "all that an endpoint may have", at(delivery.PerEndpoint))
	open(http.StatusInternalServerError) // these fail
	testkit.Await(h, "few at a failing one", at(delivery.PerFailing))
	if hook.Most() > delivery.PerEndpoint {
		t.Errorf("%d attempts at once, want at most %d", hook.Most(), delivery.PerEndpoint)
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

// The process's caps hold over all endpoints, and failing ones leave room for the
// others.
func TestCapsOfTheProcess(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := newHarness(t)
	const running, failing, endpoints = 12, 6, 5
	release := make(chan struct{})
	var all struct {
		sync.Mutex
		dead, most, healthy int
	}
	var dead []*domain.Session
	for range endpoints {
		hook := hooktest.NewReceiver(t, func(_ int, _ http.ResponseWriter, r *http.Request) {
			all.Lock()
			all.dead++
			all.most = max(all.most, all.dead)
			all.Unlock()
			hooktest.Hang(release)(0, nil, r)
			all.Lock()
			all.dead--
			all.Unlock()
		})
		dead = append(dead, h.newSessions(hook.URL, 10)...)
	}
	healthy := hooktest.NewReceiver(t, nil)
	h.emitAll(dead, 1)
	_, err := h.DB.Raw().ExecContext(h.Ctx, "UPDATE webhook_endpoint SET consecutive_failures = $1", delivery.FailingAfter)
	h.OK(err)
	w := h.dispatcher(patient(t))
	w.SetCaps(running, failing, running)
	w.Start()
	testkit.Await(h, "the dead to fill their share", func() bool {
		all.Lock()
		defer all.Unlock()
		return all.dead == failing
	})
	h.emitAll(h.newSessions(healthy.URL, 50), 1)
	healthy.Wait("", 50)
	all.Lock()
	if all.most > failing {
		t.Errorf("%d attempts at failing endpoints, want at most %d", all.most, failing)
	}
	all.Unlock()
	if healthy.Most() > running-failing {
		t.Errorf("%d healthy attempts at once, want at most %d", healthy.Most(), running-failing)
	}
	close(release)
	stopWithin(h, w, 10*time.Second)
}

// An account whose receivers are slow gets its share of the process and no more,
// however many they are, and all of its deliveries arrive (D39).
func TestShareOfAnAccount(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	const running, share, endpoints, each = 12, 6, 5, 10
	release := make(chan struct{})
	var slow []*hooktest.Receiver
	var sessions []*domain.Session
	for range endpoints {
		hook := hooktest.NewReceiver(t, hooktest.Hang(release))
		slow, sessions = append(slow, hook), append(sessions, h.newSessions(hook.URL, each)...)
	}
	h.emitAll(sessions, 1)
	w := h.dispatcher(patient(t))
	w.SetCaps(running, running, share)
	w.Start()
	atOnce := func() (n int) {
		for _, hook := range slow {
			n += hook.Running()
		}
		return n
	}
	testkit.Await(h, "the slow ones to fill their share", func() bool { return atOnce() == share })
	other := hooktest.NewReceiver(t, nil)
	h.NewAccount()
	h.emitAll(h.newSessions(other.URL, 50), 1)
	other.Wait("", 50)
	if n := atOnce(); n != share {
		t.Errorf("%d attempts for the slow account, want %d", n, share)
	}
	close(release)
	testkit.Await(h, "every delivery", func() bool { return h.delivered() == endpoints*each+50 })
	stopWithin(h, w, 10*time.Second)
	if places, shares := w.Taken(); places+shares != 0 {
		t.Errorf("%d places and %d shares are left", places, shares)
	}
}

// An account whose receivers answer late takes no connections from another account's at
// the same host (D39).
func TestAccountsAtOneHost(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	const endpoints, late = 64, 64 * delivery.PerNew // more than the share that an account has
	release := make(chan struct{})
	host := hooktest.NewReceiver(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/late" {
			hooktest.Hang(release)(0, w, r)
		}
	})
	for range endpoints {
		h.AddEndpoint(host.URL + "/late")
	}
	h.emitAll(h.newSessions("", delivery.PerNew), 1)
	client := webhook.NewClient(webhook.Policy{Development: true}, webhook.WithTimeouts(testkit.Patience, testkit.Patience))
	t.Cleanup(client.Close)
	w := h.dispatcher(func(c *delivery.Config) { c.Client = client })
	w.SetCaps(late+1, late, late)
	w.Start()
	testkit.Await(h, "the late ones to take what they may", func() bool { return host.Running() == late })
	h.NewAccount()
	prompt := h.Session(host.URL+"/prompt", hooktest.Now())
	h.Emit(prompt, 1)
	if d := h.Delivery(prompt, domain.DeliveryDelivered); d.AttemptsTotal != 1 || host.Running() != late {
		t.Errorf("the other account's webhook took %d attempts, beside %d of the late ones; want 1 beside all %d", d.AttemptsTotal,
			host.Running(), late)
	}
	close(release)
	stopWithin(h, w, 10*time.Second)
}

// A session's events arrive in order: each first attempt follows the one before,
// and a failing event holds up later ones only that long.
func TestOrderWithinASession(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := newHarness(t)
	const sessions, events = 10, 8
	hook := hooktest.NewReceiver(t, func(n int, w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/failing" && n%3 == 0 && r.Header.Get("X-Webhook-Retry-Count") == "" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	h.start(schedule(t, "0s,300ms"))
	all := append(h.newSessions(hook.URL+"/answering", sessions), h.newSessions(hook.URL+"/failing", sessions)...)
	for i := range events {
		h.emitAll(all, i+1)
	}
	testkit.Await(h, "every delivery", func() bool { return h.delivered() == len(all)*events })
	first := map[string][]int{}
	seen := map[string]bool{}
	for _, request := range hook.Requests() {
		payload := hooktest.Data[domain.SectionCompletedPayload](t, request.Body)
		key := fmt.Sprint(payload.SessionID, payload.SectionNumber)
		if !seen[key] {
			first[payload.SessionID.String()] = append(first[payload.SessionID.String()], payload.SectionNumber)
		}
		seen[key] = true
	}
	for id, numbers := range first {
		if len(numbers) != events || !slices.IsSorted(numbers) {
			t.Errorf("first attempts of session %s arrived in the order %v", id, numbers)
		}
	}
}
