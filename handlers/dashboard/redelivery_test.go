package dashboard_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"candor/internal/domain"
	"candor/internal/service/webhooks"
	"candor/internal/testkit/harness"
	"candor/internal/webhook"
)

const redeliveries = "/dashboard/test/webhooks/redeliveries"

// failedDeliveries are three to one endpoint and one to another.
func failedDeliveries(h *harness.Harness) (out []domain.Delivery) {
	h.Helper()
	for range 3 {
		out = append(out, failedAt(h, "https://lender.example/hook", 503, webhook.ClassStatus))
	}
	return append(out, failedAt(h, "https://slow.example/hook", 0, webhook.ClassTimeout))
}

// stepRedelivery makes a redelivery's next step, as a worker does a second later.
func stepRedelivery(h *harness.Harness, id domain.RedeliveryID) {
	h.Helper()
	execSQL(h, `UPDATE redelivery SET paced_until = paced_until - interval '1 second' WHERE id = $1`, id)
	_, err := h.DB.StepRedelivery(h.Context(), id, h.Clock.Now())
	h.OK(err)
}

func TestManyAreSentAgain(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	developer, owner := h.Staff(domain.RoleDeveloper), h.Staff(domain.RoleOwner)
	failed := failedDeliveries(h)
	developer.WantPage(developer.Get("/dashboard/test/webhooks"), http.StatusOK).LeadsTo(redeliveries + "?preview=1")
	now := h.Clock.Now().In(domain.LoadTimeZone("Australia/Sydney"))
	since := now.Add(-time.Hour).Format("2006-01-02T15:04")
	page := developer.WantPage(developer.Get(redeliveries), http.StatusOK).Offers("Count deliveries")
	page.WantField("since", now.AddDate(0, 0, -1).Format("2 Jan 2006, 3:04 pm"))
	if got := page.Field("endpoint").Choices; !slices.Contains(got, failed[3].EndpointID.String()) {
		t.Errorf("the endpoints %q lack one that failed", got)
	}

	preview := developer.Get(redeliveries + "?preview=1&rate=2&since=" + since)
	developer.WantPage(preview, http.StatusOK, "4 deliveries to retry", "3 https://lender.example 1 https://slow.example",
		"At most 2 a second, oldest first").
		Offers("Retry 4 deliveries")
	narrow := developer.Get(redeliveries + "?preview=1&status=timeout&since=" + since)
	developer.WantPage(narrow, http.StatusOK, "1 delivery to retry")
	developer.WantPage(developer.Get(redeliveries+"?preview=1&status=tls&since="+since), http.StatusOK,
		"No failed or waiting delivery matches")
	if all, err := h.Service.Webhooks.Redeliveries(t.Context(), h.TestScope()); err != nil || len(all) != 0 {
		t.Fatalf("previews have started %d, %v", len(all), err)
	}

	answer := developer.Post(redeliveries, url.Values{"since": {since}, "rate": {"2"}})
	all, err := h.Service.Webhooks.Redeliveries(t.Context(), h.TestScope())
	if err != nil || len(all) != 1 {
		t.Fatalf("%d started, %v; want 1", len(all), err)
	}
	id := all[0].ID
	path := redeliveries + "/" + id.String()
	developer.WantRedirect(answer, path)
	running := developer.WantPage(developer.Get(path), http.StatusOK, "Retry started", "Retrying 4 deliveries", "Running",
		"Waiting 4", "Retried 0").Offers("Stop", "Refresh")
	if !strings.Contains(running.Source, "hx-sse:connect") {
		t.Error("the page of what is running doesn't follow it")
	}
	developer.WantPage(developer.Get(redeliveries+"?preview=1&since="+since), http.StatusOK, "Another retry is running")
	stepRedelivery(h, id)
	developer.WantPage(developer.Get(path), http.StatusOK, "Waiting 2", "Retried 2", "Pending 2", "Delivered 0")
	first, err := h.Service.Webhooks.Delivery(t.Context(), h.TestScope(), failed[0].ID)
	h.OK(err)
	h.Recorded(&first.Delivery, domain.DeliveryDelivered, 204, "")
	second, err := h.Service.Webhooks.Delivery(t.Context(), h.TestScope(), failed[1].ID)
	h.OK(err)
	h.Recorded(&second.Delivery, domain.DeliveryFailed, 503, webhook.ClassStatus)
	developer.WantPage(developer.Get(path), http.StatusOK, "Waiting 2", "Pending 0", "Delivered 1", "Failed again 1")

	developer.WantRedirect(developer.Post(path+"/stop", nil), path)
	breaks(developer.WantPage(developer.Get(path), http.StatusOK, "Retry stopped. Deliveries that were not sent stay failed.",
		"2 of 4 deliveries retried", "Not sent 2", "Retried 2"), developer.Session.Email)
	if strings.Contains(developer.Get(path).Body.String(), "hx-sse:connect") {
		t.Error("the page of what has ended follows it")
	}
	developer.WantRedirect(developer.Post(path+"/stop", nil), path)
	developer.WantPage(developer.Get(path), http.StatusOK, "It had already finished")
	developer.WantPage(developer.Get(redeliveries), http.StatusOK, "Stopped 2 of 4", developer.Session.Email)
	wantEntries(owner.WantPage(owner.Get("/dashboard/test/audit"), http.StatusOK, developer.Session.Email, "matched: 4",
		"requeued: 2"), "Failed webhooks sent again", "Sending again stopped")

	h.Clock.Advance(time.Minute)
	developer.Post(redeliveries, url.Values{"since": {since}})
	all, err = h.Service.Webhooks.Redeliveries(t.Context(), h.TestScope())
	h.OK(err)
	stepRedelivery(h, all[0].ID)
	developer.WantPage(developer.Get(path), http.StatusOK, "Retried 2", "Delivered 1", "Failed again 0", "Retried since 1")
}

// What isn't understood sends nothing: it could be more than was meant.
// TestSentAgainToThePresentURL: what is sent again, one by one or many, goes to the URL that its
// endpoint has now, also after it had none; a session's own URL stays.
func TestSentAgainToThePresentURL(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	developer, scope := h.Staff(domain.RoleDeveloper), h.TestScope()
	endpoint := "/dashboard/test/webhooks/endpoints/" + h.NewEndpoint(scope, "https://wrong.example/hook").String()
	setDefault := func(hook string) {
		t.Helper()
		developer.WantRedirect(developer.Post("/dashboard/test/webhooks/url", url.Values{"url": {hook}}),
			"/dashboard/test/webhooks/settings")
	}
	setDefault("https://removed.example/hook")
	session := h.NewSession(scope, domain.NewSession{})
	record := func() []domain.Delivery {
		t.Helper()
		h.RecordEvent(session, domain.PDFReadyPayload{SessionID: session.ID})
		all, err := h.DB.Deliveries(t.Context(), session.ID)
		h.OK(err)
		return all[len(all)-2:]
	}
	own := failedAt(h, "https://own.example/hook", 503, webhook.ClassStatus)
	one, many := record(), record()
	for i := range many {
		h.Recorded(&many[i], domain.DeliveryFailed, 503, webhook.ClassStatus)
	}
	goesTo := func(d domain.Delivery, state string, hosts ...string) {
		t.Helper()
		shown := developer.WantPage(developer.Get("/dashboard/test/webhooks/deliveries/"+d.ID.String()), http.StatusOK, state)
		if !slices.ContainsFunc(hosts, func(host string) bool { return strings.Contains(shown.Text(), "URL https://"+host+"/hook") }) {
			t.Errorf("a delivery doesn't go to %v: %s", hosts, shown.Text())
		}
	}

	setDefault("") // which cancels what waits there
	developer.WantPage(developer.Get(endpoint), http.StatusOK, "go to the former URL")
	developer.WantRedirect(developer.Post(endpoint, url.Values{"url": {"https://right.example/hook"}}), endpoint)
	setDefault("https://present.example/hook")
	for _, d := range one {
		goesTo(d, "", "wrong.example", "removed.example")
		developer.Post("/dashboard/test/webhooks/deliveries/"+d.ID.String()+"/retry", nil)
		goesTo(d, "Pending", "right.example", "present.example")
	}
	since := h.Clock.Now().In(domain.LoadTimeZone("Australia/Sydney")).Add(-time.Hour).Format("2006-01-02T15:04")
	developer.Post(redeliveries, url.Values{"since": {since}, "rate": {"100"}})
	made, err := h.Service.Webhooks.Redeliveries(t.Context(), scope)
	h.OK(err)
	stepRedelivery(h, made[0].ID)
	for _, d := range many {
		goesTo(d, "Pending", "right.example", "present.example")
	}
	goesTo(own, "Pending", "own.example")
}

// TestSentAgainToAPausedEndpoint: the pages say that it waits.
func TestSentAgainToAPausedEndpoint(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	developer, scope := h.Staff(domain.RoleDeveloper), h.TestScope()
	endpoint := h.NewEndpoint(scope, "https://paused.example/hook")
	session := h.NewSession(scope, domain.NewSession{})
	h.RecordEvent(session, domain.PDFReadyPayload{SessionID: session.ID})
	deliveries, err := h.DB.Deliveries(t.Context(), session.ID)
	h.OK(err)
	h.Recorded(&deliveries[0], domain.DeliveryFailed, 503, webhook.ClassStatus)
	since := h.Clock.Now().Add(-time.Hour)
	r, err := h.Service.Webhooks.StartRedelivery(t.Context(), scope,
		webhooks.DeliveryFilter{DeliveryFilter: domain.DeliveryFilter{Since: &since}}, 1, harness.Operator)
	h.OK(err)
	const waits = "What goes to a paused endpoint waits until it is resumed."
	developer.WantPage(developer.Get(redeliveries+"/"+r.ID.String()), http.StatusOK).Hides(waits)
	developer.Post("/dashboard/test/webhooks/endpoints/"+endpoint.String()+"/pause", nil)
	developer.WantPage(developer.Get(redeliveries+"/"+r.ID.String()), http.StatusOK, waits)
	delivery := "/dashboard/test/webhooks/deliveries/" + deliveries[0].ID.String()
	developer.WantRedirect(developer.Post(delivery+"/retry", nil), delivery)
	developer.WantPage(developer.Get(delivery), http.StatusOK, "It waits: its endpoint is paused.", "which is paused, is resumed").
		Hides("Being sent again with the same id")
}

func TestRedeliveryOfWhatIsNotUnderstood(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	developer := h.Staff(domain.RoleDeveloper)
	failedDeliveries(h)
	for field, value := range map[string]string{
		"since": "", "until": "2000-01-01T00:00", "rate": "0", "type": "session.nonsense", "status": `"><script>alert(1)</script>`,
		"endpoint": "whe_nonsense",
	} {
		values := url.Values{"since": {"2026-01-01T00:00"}}
		values.Set(field, value)
		for status, answer := range map[int]*httptest.ResponseRecorder{
			http.StatusOK:                  developer.Get(redeliveries + "?preview=1&" + values.Encode()),
			http.StatusUnprocessableEntity: developer.Post(redeliveries, values),
		} {
			page := developer.WantPage(answer, status, "There is a problem")
			page.WantError(field, "")
			if strings.Contains(page.Source, "<script>alert") {
				t.Errorf("%s %q is on the page as it is", field, value)
			}
		}
	}
	for _, since := range []string{"someday", "2026-13-01T00:00"} {
		developer.WantPage(developer.Post(redeliveries, url.Values{"since": {since}}), http.StatusUnprocessableEntity,
			"Enter a date and time such as")
	}
	other := h.NewAccount("other@lender.example", "starter")
	theirs := foreignObjects(h, domain.Scope{AccountID: other.AccountID})
	live := foreignObjects(h, domain.Scope{AccountID: h.Account.AccountID, Livemode: true})
	for whose, endpoint := range map[string]string{"an unknown one": domain.NewEndpointID().String(),
		"another account's": theirs["endpoint"], "the other mode's": live["endpoint"]} {
		values := url.Values{"since": {"2026-01-01"}, "endpoint": {endpoint}}
		for status, answer := range map[int]*httptest.ResponseRecorder{
			http.StatusOK:                  developer.Get(redeliveries + "?preview=1&" + values.Encode()),
			http.StatusUnprocessableEntity: developer.Post(redeliveries, values),
		} {
			developer.WantPage(answer, status).WantError("endpoint", "There is no such endpoint")
			if t.Failed() {
				t.Fatalf("with %s endpoint", whose)
			}
		}
	}
	if all, err := h.Service.Webhooks.Redeliveries(t.Context(), h.TestScope()); err != nil || len(all) != 0 {
		t.Errorf("%d were started, %v; want none", len(all), err)
	}
}
