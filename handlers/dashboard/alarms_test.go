package dashboard_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/testkit/harness"
	"candor/internal/testkit/page"
	"candor/internal/webhook"
)

// sentTo makes a delivery to the URL.
func sentTo(h *harness.Harness, url string) *domain.Delivery {
	h.Helper()
	session := h.NewSession(h.TestScope(), domain.NewSession{WebhookURL: url})
	h.RecordEvent(session, domain.PDFReadyPayload{SessionID: session.ID})
	deliveries, err := h.DB.Deliveries(h.Context(), session.ID)
	h.OK(err)
	return &deliveries[0]
}

// attemptedNow records an attempt with its endpoint's health, as a worker does: one that
// was answered with 204, one that failed and has a next, or the last one.
func attemptedNow(h *harness.Harness, d *domain.Delivery, state domain.DeliveryState) {
	h.Helper()
	now := h.Clock.Now()
	next, status, class := now.Add(5*time.Hour), http.StatusServiceUnavailable, webhook.ClassStatus
	outcome := db.AttemptOutcome{
		DeliveryAttempt: domain.DeliveryAttempt{DeliveryID: d.ID, Number: d.AttemptsTotal + 1, StartedAt: now, DurationMS: 12,
			RequestHeaders: []byte(`{}`), StatusCode: &status, ErrorClass: &class},
		Scope: h.TestScope(), SessionID: d.SessionID, Cycle: d.Cycle, State: state,
	}
	health := db.EndpointHealth{ID: d.EndpointID, At: now, Failures: 1, StatusCode: status, ErrorClass: class}
	switch state {
	case domain.DeliveryPending:
		outcome.Next = &next
	case domain.DeliveryDelivered:
		status, outcome.ErrorClass = http.StatusNoContent, nil
		health = db.EndpointHealth{ID: d.EndpointID, At: now, SuccessAt: &now, StatusCode: status}
	}
	h.OK(h.DB.RecordAttempts(h.Context(), []db.AttemptOutcome{outcome}, []db.EndpointHealth{health}))
}

// sendsForm sends the page's posted form that has a field with that value, as a person
// who presses its button.
func sendsForm(s *harness.StaffBrowser, shown *page.Page, name, value string) *httptest.ResponseRecorder {
	s.Helper()
	forms := shown.Forms()
	i := slices.IndexFunc(forms, func(f page.Form) bool { return f.Method == "POST" && f.Fields[name].Value == value })
	if i < 0 {
		s.Fatalf("no form has %s=%s: %.2000s", name, value, shown.Text())
	}
	return s.Post(forms[i].Action, forms[i].Values())
}

// TestAlarmsLeadToWhatFails: an alarm leads to the deliveries that it counts, of which
// most wait for their next attempt; from there they are all sent again in two clicks.
// What failed before the endpoint last answered, or at an endpoint that was given up,
// isn't among them (D107).
func TestAlarmsLeadToWhatFails(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	const lender = "https://lender.example/hook"
	start := h.Clock.Now()
	h.Clock.Set(start.AddDate(0, 0, -30))
	before, givenUp := sentTo(h, lender), sentTo(h, "https://tunnel.example/hook")
	attemptedNow(h, before, domain.DeliveryFailed)
	attemptedNow(h, givenUp, domain.DeliveryFailed)
	h.Clock.Set(start.Add(-2 * time.Hour))
	attemptedNow(h, sentTo(h, lender), domain.DeliveryDelivered)
	h.Clock.Set(start.Add(-time.Hour))
	failing := []*domain.Delivery{sentTo(h, lender), sentTo(h, lender), sentTo(h, lender)}
	for i, d := range failing {
		attemptedNow(h, d, []domain.DeliveryState{domain.DeliveryPending, domain.DeliveryPending, domain.DeliveryFailed}[i])
	}
	h.Clock.Set(start)
	sentTo(h, lender) // not attempted yet
	developer := h.Staff(domain.RoleDeveloper)

	home := developer.WantPage(developer.Get("/dashboard/test"), http.StatusOK,
		"lender.example has failed since 20 Nov 2026, 1:04 pm, 3 failed attempts.").Hides("tunnel.example has")
	webhooks := developer.WantPage(developer.Get("/dashboard/test/webhooks"), http.StatusOK, "1 endpoint failing.",
		"lender.example since 20 Nov 2026, 1:04 pm, 3 failed attempts. Show deliveries").
		LeadsTo("/dashboard/test/webhooks?state=failing")
	if home.Link("Show deliveries") != webhooks.Link("Show deliveries") {
		t.Errorf("the alarms lead to %s and %s", home.Link("Show deliveries"), webhooks.Link("Show deliveries"))
	}
	list := developer.WantPage(developer.Get(home.Link("Show deliveries")), http.StatusOK)
	if rows := len(list.Leads("/dashboard/test/webhooks/deliveries/")); rows != len(failing) {
		t.Errorf("the list has %d deliveries, want %d", rows, len(failing))
	}
	for _, d := range failing {
		list.Shows("Failing now")
		if len(list.Leads("/dashboard/test/webhooks/deliveries/"+d.ID.String())) != 1 {
			t.Errorf("the list lacks %s, which is %s", d.ID, d.State)
		}
	}

	preview := developer.WantPage(developer.Get(list.Link("Retry failed")), http.StatusOK, "3 deliveries to retry").
		Offers("Retry 3 deliveries").Lacks("Send now")
	if !strings.Contains(preview.Source, "hx-sse:connect") || !strings.Contains(preview.Source, `hx-select="#preview"`) {
		t.Error("the count doesn't follow what happens")
	}
	all := developer.WantPage(developer.Get(webhooks.Link("Retry failed")), http.StatusOK, "3 deliveries to retry",
		"2 wait for their next attempt").Offers("Send now")
	developer.WantPage(developer.Get(redeliveries+"?preview=1&state=waiting&since=2026-11-20"), http.StatusOK,
		"2 deliveries to retry")
	developer.WantPage(developer.Get(redeliveries+"?preview=1&state=delivered&since=2026-11-20"), http.StatusOK).
		WantError("state", "Choose an option")
	sendsForm(developer, all, "state", "waiting")
	h.Clock.Advance(time.Second)
	sendsForm(developer, preview, "state", "failing")
	made, err := h.Service.Webhooks.Redeliveries(t.Context(), h.TestScope())
	if err != nil || len(made) != 2 || made[1].Matched != 2 || made[0].Matched != 3 {
		t.Fatalf("started %+v, %v; want one of the 2 that wait and one of all 3", made, err)
	}
	for range 4 { // both at once: each delivery is sent once
		stepRedelivery(h, made[0].ID)
		stepRedelivery(h, made[1].ID)
	}
	for _, d := range append(failing, before, givenUp) {
		again, err := h.Service.Webhooks.Delivery(t.Context(), h.TestScope(), d.ID)
		h.OK(err)
		if want := slices.Contains(failing, d); want != (again.Cycle == 2) || want && (again.State != domain.DeliveryPending ||
			again.NextAttemptAt.After(h.Clock.Now())) {
			t.Errorf("%s is %s in cycle %d, due at %v", d.ID, again.State, again.Cycle, again.NextAttemptAt)
		}
	}
	developer.WantPage(developer.Get(home.Link("Show deliveries")), http.StatusOK, "No deliveries") // until they are attempted
}
