package delivery_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"candor/db"
	"candor/internal/delivery"
	"candor/internal/domain"
	"candor/internal/testkit"
	"candor/internal/testkit/hooktest"
	"candor/internal/webhook"
)

// pause pauses an endpoint, or resumes it.
func (h *harness) pause(e *domain.Endpoint, paused bool) {
	h.Helper()
	if e.PausedAt = nil; paused {
		e.PausedAt = new(hooktest.Now())
	}
	h.Tx(func(tx *db.Tx) error {
		if err := tx.UpdateEndpoint(h.Ctx, e); err != nil || paused {
			return err
		}
		return h.Outbox.Wake(h.Ctx, tx, e.ID)
	})
}

// Each endpoint gets the events that its filter has, once, signed with its own secret,
// also those at one host. A session's own URL stays alone (D109, D33).
func TestEndpoints(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	hook, crm, own := hooktest.NewReceiver(t, nil), hooktest.NewReceiver(t, nil), hooktest.NewReceiver(t, nil)
	h.SetDefaultURL(hook.URL + "/first")
	_, second := h.AddEndpoint(hook.URL+"/second", domain.SessionSectionCompleted)
	_, third := h.AddEndpoint(crm.URL, domain.BillingInvoicePaid)
	h.start()
	s := h.Session("", hooktest.Now())
	h.emitEvents(s, 3)
	h.Tx(func(tx *db.Tx) error {
		return h.Outbox.BillingEvent(h.Ctx, tx, h.Scope.AccountID, domain.InvoicePaidPayload{InvoiceID: "inv_1"}, hooktest.Now())
	})
	h.Emit(h.Session(own.URL, hooktest.Now()), 1)
	testkit.Await(h, "all deliveries", func() bool { return h.delivered() == 3+3+2+1 })
	ids := map[string]bool{}
	by := map[string][]hooktest.Request{}
	for _, r := range hook.Requests() {
		for _, secret := range []string{hooktest.Secret, second} {
			if r.SignedBy(secret) {
				by[secret] = append(by[secret], r)
			}
		}
		ids[r.Header.Get("X-Webhook-ID")] = true
	}
	if len(by[hooktest.Secret]) != 4 || len(by[second]) != 3 || len(ids) != 7 {
		t.Errorf("the default endpoint got %d, the second %d, with %d ids", len(by[hooktest.Secret]), len(by[second]), len(ids))
	}
	for _, secret := range []string{hooktest.Secret, second} {
		if got := numbers(t, by[secret])[s.ID]; !slices.Equal(got, []int{1, 2, 3}) {
			t.Errorf("one endpoint got %v, want them in order", got)
		}
	}
	if got := crm.Requests(); len(got) != 1 || !got[0].SignedBy(third) {
		t.Errorf("the third got %d requests, want the invoice's, signed with its own secret", len(got))
	}
	if got := own.Requests(); len(got) != 1 || !got[0].SignedBy(hooktest.Secret) {
		t.Errorf("the session's own URL got %d requests, want 1, signed with the default secret", len(got))
	}
}

// The deliveries of an event to 20 endpoints are one statement of its transaction, and
// the wake is one job.
func TestTwentyEndpointsAreOneStatement(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.SetDefaultURL("https://lender.example/0")
	for range domain.MaxEndpoints - 1 {
		h.AddEndpoint("https://lender.example/more")
	}
	h.Emit(h.Session("", hooktest.Now()), 1)
	if n := h.Count("SELECT count(*) FROM delivery"); n != domain.MaxEndpoints {
		t.Fatalf("%d deliveries", n)
	}
	if n := h.Count("SELECT count(DISTINCT (cmin::text, xmin::text)) FROM delivery"); n != 1 {
		t.Errorf("%d statements made the deliveries, want 1", n)
	}
	if n := h.Count("SELECT max(cmin::text::int) FROM delivery"); n > 6 {
		t.Errorf("%d commands came before them, want the few of an event", n)
	}
	if n := h.Count("SELECT count(*) FROM delivery WHERE NOT further"); n != 1 || h.wakes.asked.Load() != 1 {
		t.Errorf("%d first deliveries, %d wakes, want one of each", n, h.wakes.asked.Load())
	}
}

// A dead endpoint holds up no other of the account, not even at its host (D39).
func TestDeadEndpointHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	release := make(chan struct{})
	defer close(release)
	hook := hooktest.NewReceiver(t, func(n int, w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/dead" {
			hooktest.Hang(release)(n, w, r)
		}
	})
	h.SetDefaultURL(hook.URL + "/dead")
	healthy, _ := h.AddEndpoint(hook.URL + "/healthy")
	h.start()
	for range 40 {
		h.Emit(h.Session("", hooktest.Now()), 1)
	}
	testkit.Await(h, "the healthy endpoint’s deliveries", func() bool {
		return h.Count("SELECT count(*) FROM delivery WHERE state = 'delivered' AND endpoint_id = $1", healthy.ID) == 40
	})
	if n := h.delivered(); n != 40 {
		t.Errorf("%d are delivered", n)
	}
}

// While an endpoint is paused its deliveries wait, and then come in order; the other
// endpoint notices nothing (D110).
func TestPausedEndpoint(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	hook, other := hooktest.NewReceiver(t, nil), hooktest.NewReceiver(t, nil)
	h.SetDefaultURL(other.URL)
	e, _ := h.AddEndpoint(hook.URL)
	h.start()
	s := h.Session("", hooktest.Now())
	h.emitEvents(s, 2)
	hook.Wait("", 2)
	h.pause(e, true)
	h.emitEvents(s, 5)
	testkit.Await(h, "the other endpoint’s deliveries", func() bool { return h.delivered() == 2+2+5 })
	if due, err := h.DB.DueEndpoints(h.Ctx, hooktest.Now()); err != nil || len(due) > 0 {
		t.Errorf("a paused endpoint is due: %v, %v", due, err)
	}
	if b, err := h.DB.DeliveryBacklog(h.Ctx, hooktest.Now()); err != nil || b.Pending != 5 || b.OldestDue != nil ||
		b.OldestPending != nil || b.DueEndpoints != 0 {
		t.Errorf("the backlog with a paused endpoint is %+v, %v", b, err)
	}
	if n := len(hook.Requests()); n != 2 {
		t.Errorf("a paused endpoint got %d requests", n-2)
	}
	h.pause(e, false)
	testkit.Await(h, "what was held", func() bool { return h.delivered() == 2+2+5+5 })
	if got := numbers(t, hook.Requests())[s.ID]; !slices.Equal(got, []int{1, 2, 1, 2, 3, 4, 5}) {
		t.Errorf("the events came as %v", got)
	}
}

// An endpoint that is paused with a queue at a worker gets no attempt that starts later.
func TestPauseReachesTheQueue(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := newHarness(t)
	release := make(chan struct{})
	hook := hooktest.NewReceiver(t, hooktest.Hang(release))
	h.SetDefaultURL(hook.URL)
	h.start()
	for range 40 {
		h.Emit(h.Session("", hooktest.Now()), 1)
	}
	testkit.Await(h, "attempts that hang", func() bool { return hook.Running() == 4 })
	e, err := h.DB.DefaultEndpoint(h.Ctx, h.Scope)
	h.OK(err)
	h.pause(e, true)
	time.AfterFunc(delivery.SecretsLease, func() { close(release) }) // what the queue was read with may be that old
	testkit.Await(h, "the attempts that were under way", func() bool { return h.delivered() == 4 })
	testkit.Await(h, "the release of the queue", func() bool {
		return h.Count("SELECT count(*) FROM delivery WHERE lease_until > now()") == 0
	})
	if n := len(hook.Requests()); n != 4 {
		t.Errorf("%d attempts started while it was paused", n-4)
	}
	h.pause(e, false)
	testkit.Await(h, "all", func() bool { return h.delivered() == 40 })
}

// What is pending at a deleted endpoint isn't sent, and ends as cancelled (D111), also at
// the default one, which can be set up again.
func TestDeletedEndpoint(t *testing.T) {
	t.Parallel()
	for name, setUp := range map[string]func(h *harness, url string) *domain.Endpoint{
		"default": func(h *harness, url string) *domain.Endpoint {
			h.SetDefaultURL(url)
			e, err := h.DB.DefaultEndpoint(h.Ctx, h.Scope)
			h.OK(err)
			return e
		},
		"other": func(h *harness, url string) *domain.Endpoint {
			e, _ := h.AddEndpoint(url)
			return e
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			deletedEndpoint(t, setUp)
		})
	}
}

func deletedEndpoint(t *testing.T, setUp func(h *harness, url string) *domain.Endpoint) {
	t.Helper()
	h := newHarness(t)
	hook := hooktest.NewReceiver(t, nil)
	e := setUp(h, hook.URL)
	s := h.Session("", hooktest.Now())
	h.emitEvents(s, 3)
	h.Tx(func(tx *db.Tx) error { return tx.DeleteEndpoint(h.Ctx, e.ID, hooktest.Now()) })
	h.start()
	h.Emit(s, 4) // goes nowhere
	h.Tx(func(tx *db.Tx) error { return h.Outbox.Wake(h.Ctx, tx, e.ID) })
	// What was recorded just before is swept.
	n, err := h.DB.CancelHeld(h.Ctx, hooktest.Now().Add(-time.Hour), hooktest.Now(), 2)
	h.OK(err)
	more, err := h.DB.CancelHeld(h.Ctx, hooktest.Now().Add(-time.Hour), hooktest.Now(), 2)
	h.OK(err)
	if n != 2 || more != 1 || h.Count("SELECT count(*) FROM delivery WHERE state = 'cancelled'") != 3 || len(hook.Requests()) > 0 {
		t.Errorf("%d and %d were cancelled, %d sent", n, more, len(hook.Requests()))
	}
	if n := h.Count("SELECT count(*) FROM webhook_endpoint WHERE secret IS NOT NULL AND NOT is_default"); n != 0 {
		t.Error("a deleted endpoint keeps its secret")
	}
	err = h.DB.InTx(h.Ctx, func(tx *db.Tx) error {
		all, err := h.DB.Deliveries(h.Ctx, s.ID)
		h.OK(err)
		_, err = tx.Redeliver(h.Ctx, h.Scope, all[0].ID, hooktest.Now())
		return err
	})
	if err == nil {
		t.Error("a delivery to a deleted endpoint was made again")
	}
}

// TestOutageEndsWithTheFirstAnswer: of attempts that are recorded together, such as after the
// database was away, the first success after the last failure ends the outage (D137).
func TestOutageEndsWithTheFirstAnswer(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.SetDefaultURL("https://lender.example/hook")
	s := h.Session("", hooktest.Now())
	h.emitEvents(s, 6)
	deliveries, err := h.DB.Deliveries(h.Ctx, s.ID)
	h.OK(err)
	began := hooktest.Now().Truncate(time.Second)
	var outcomes []db.AttemptOutcome
	var attempts []domain.DeliveryAttempt
	for i, failed := range []bool{false, true, false, true, false, false} {
		o := db.AttemptOutcome{Scope: h.Scope, Cycle: 1, State: domain.DeliveryDelivered, DeliveryAttempt: domain.DeliveryAttempt{
			DeliveryID: deliveries[i].ID, Number: 1, StartedAt: began.Add(time.Duration(i) * time.Hour), RequestHeaders: []byte(`{}`)}}
		if failed {
			o.State, o.ErrorClass = domain.DeliveryFailed, new(webhook.ClassTimeout)
		}
		outcomes, attempts = append(outcomes, o), append(attempts, o.DeliveryAttempt)
	}
	endpoint := deliveries[0].EndpointID
	h.OK(h.DB.RecordAttempts(h.Ctx, outcomes, []db.EndpointHealth{delivery.HealthOf(endpoint, attempts)}))
	outages, err := h.DB.Outages(h.Ctx, []domain.EndpointID{endpoint}, 2)
	h.OK(err)
	o := outages[endpoint][0]
	if o.AnsweredAt == nil || o.AnsweredAt.Sub(began) != 4*time.Hour || o.LastFailureAt.Sub(began) != 3*time.Hour {
		t.Errorf("the outage is %+v, want it to end 4 hours after %s", o, began)
	}
}
