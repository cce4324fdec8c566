package dashboard_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"candor/db"
	"candor/internal/delivery"
	"candor/internal/domain"
	"candor/internal/service/webhooks"
	"candor/internal/testkit/harness"
	"candor/internal/testkit/hooktest"
	"candor/internal/webhook"
	"candor/views/dashboard/snippets"
)

func TestWebhooksPage(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	developer := h.Staff(domain.RoleDeveloper)
	path := "/dashboard/test/webhooks"
	settings := path + "/settings"
	developer.WantPage(developer.Get(path), http.StatusOK, "No deliveries").LeadsTo(settings)
	developer.WantPage(developer.Get(settings), http.StatusOK, "Default URL").Offers("Create new secret", "Send test event")
	developer.WantPage(developer.Post(path+"/url", url.Values{"url": {"http://10.0.0.1/x"}}), http.StatusUnprocessableEntity,
		"There is a problem").WantField("URL (optional)", "http://10.0.0.1/x")
	developer.WantRedirect(developer.Post(path+"/url", url.Values{"url": {"https://lender.example/hook"}}), settings)
	developer.WantPage(developer.Get(settings), http.StatusOK, "Saved. Events are sent to this URL").
		WantField("URL (optional)", "https://lender.example/hook")
	developer.WantRedirect(developer.Post(path+"/url", url.Values{"url": {" "}}), settings)
	developer.WantPage(developer.Get(settings), http.StatusOK,
		"Default URL removed. Events of sessions without their own URL are not sent.").WantField("URL (optional)", "")
	developer.WantRedirect(developer.Post(path+"/url", url.Values{"url": {"https://lender.example/hook"}}), settings)

	session := h.NewSession(h.TestScope(), domain.NewSession{})
	for i := range 30 {
		h.RecordEvent(session, domain.PDFReadyPayload{SessionID: session.ID, PageCount: i})
	}
	developer.WantPage(developer.Get(path), http.StatusOK, "lender.example/hook Default URL, all events – Nothing sent yet",
		"session.pdf_ready 30 ", "session.pdf_ready 6 ").Offers("Older")
	developer.WantPage(developer.Get(path+"?before=6"), http.StatusOK, "session.pdf_ready 5 ", "session.pdf_ready 1 ").
		Offers("Newest")
	developer.WantPage(developer.Get(path+"?state=failed"), http.StatusOK, "No deliveries")
	developer.WantPage(developer.Get(path+"?from=x"), http.StatusOK, "Enter a date such as")
}

func TestDeliveryPage(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	developer, owner := h.Staff(domain.RoleDeveloper), h.Staff(domain.RoleOwner)
	d := sentTo(h, "https://lender.example/hook")
	status, class, message, response := 500, "status", "The receiver answered with 500.", `<script>alert("x")</script>`
	h.OK(h.DB.RecordAttempts(t.Context(), []db.AttemptOutcome{{DeliveryAttempt: domain.DeliveryAttempt{
		DeliveryID: d.ID, Number: 1, StartedAt: h.Clock.Now(), DurationMS: 12, StatusCode: &status, ErrorClass: &class, Error: &message,
		RequestHeaders: []byte(`{"X-Webhook-Id":["whd_1"]}`), Response: &response,
	}, Cycle: 1, State: domain.DeliveryFailed}}, nil))
	path := "/dashboard/test/webhooks/deliveries/" + d.ID.String()
	developer.WantPage(developer.Get(path), http.StatusOK, "500 Internal Server Error", "12 ms", "X-Webhook-Id: whd_1", "<script>",
		"session.pdf_ready", "Send again", d.SessionID.String())
	developer.WantPage(developer.Get("/dashboard/test/sessions/"+d.SessionID.String()), http.StatusOK).LeadsTo(path)
	developer.WantRedirect(developer.Post(path+"/retry", nil), path)
	developer.WantPage(developer.Get(path), http.StatusOK, "Being sent again with the same id", "Retry now")
	if again, err := h.Service.Webhooks.Delivery(t.Context(), h.TestScope(), d.ID); err != nil ||
		again.NextAttemptAt.After(h.Clock.Now()) {
		t.Errorf("it isn't due again: %+v, %v", again, err)
	}
	developer.WantRedirect(developer.Post(path+"/cancel", nil), path)
	developer.WantPage(developer.Get(path), http.StatusOK, "Delivery cancelled.")
	developer.WantRedirect(developer.Post(path+"/cancel", nil), path)
	developer.WantPage(developer.Get(path), http.StatusOK, "It had already finished")
	wantEntries(owner.WantPage(owner.Get("/dashboard/test/audit"), http.StatusOK), "Webhook sent again", "Webhook stopped")
}

func TestSecretsByHand(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	owner := h.Staff(domain.RoleOwner)
	path := "/dashboard/test/webhooks"
	answer := owner.Post(path+"/secret/next", nil)
	secret := owner.WantPage(answer, http.StatusOK, "Nothing has changed yet").Copies("Copy secret")
	settings := path + "/settings"
	page := owner.Get(settings)
	owner.WantPage(page, http.StatusOK).Offers("Switch to new secret")
	if secret == "" || strings.Contains(page.Body.String(), "whsec_") {
		t.Error("the secret isn't shown, or is on a page that can be loaded again")
	}
	owner.WantRedirect(owner.Post(path+"/secret/next", nil), settings)
	owner.WantPage(owner.Get(settings), http.StatusOK, "Someone else has just changed the secrets")
	owner.WantRedirect(owner.Post(path+"/secret/switch", nil), settings)
	owner.WantPage(owner.Get(settings), http.StatusOK, "signed with the new secret.").Offers("Restore previous secret")
	got, err := delivery.SigningSecrets(t.Context(), h.DB, h.Service.Ring, h.TestScope(), nil)
	h.OK(err)
	if fmt.Sprint(got) != fmt.Sprint([]string{secret}) {
		t.Error("after the switch, the secret that was shown doesn't sign")
	}
	wantEntries(owner.WantPage(owner.Get("/dashboard/test/audit"), http.StatusOK), "Next webhook secret made",
		"Switched to the next secret")
	owner.WantPage(owner.Post(path+"/secret/next", nil), http.StatusOK)
	owner.WantPage(owner.Get(settings), http.StatusOK, "Switched too early?", "Delete the new secret first").
		Lacks("Restore previous secret")
	owner.WantPage(owner.Post(path+"/secret/restore", nil), http.StatusUnprocessableEntity,
		"There is a next webhook secret, which restoring would replace")
	owner.WantRedirect(owner.Post(path+"/secret/abandon", nil), settings)
	owner.WantRedirect(owner.Post(path+"/secret/restore", nil), settings)
	owner.WantPage(owner.Get(settings), http.StatusOK, "signed with the previous secret again")
	keptSecret(h, owner)
}

// keptSecret fails where a webhook secret is in the logs, in the audit log or
// in its export.
func keptSecret(h *harness.Harness, owner *harness.StaffBrowser) {
	h.Helper()
	for where, text := range map[string]string{
		"logs": h.Logs.String(), "audit log": owner.Get("/dashboard/test/audit").Body.String(),
		"export": owner.Get("/dashboard/test/audit/export").Body.String(),
	} {
		if text == "" || strings.Contains(text, "whsec_") {
			h.Errorf("a secret is in the %s, or that is empty", where)
		}
	}
}

func TestSecretsAreShownToWhoProvesToBeThere(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	owner, developer := h.Staff(domain.RoleOwner), h.Staff(domain.RoleDeveloper)
	path := "/dashboard/test/webhooks"
	if answer := developer.Get(path + "/secret/show"); answer.Code != http.StatusMethodNotAllowed &&
		answer.Code != http.StatusNotFound {
		t.Errorf("GET, which browsers fetch ahead: %d", answer.Code)
	}
	h.Clock.Advance(domain.StaffConfirmed)
	answer := developer.Post(path+"/secret/show", url.Values{"from": {path}})
	developer.WantPrompt(answer, path)
	if shown := owner.Get("/dashboard/test/audit").Body.String(); strings.Contains(shown, developer.Session.Email) {
		t.Error("the audit log says that it was shown to who hasn't given the password")
	}
	fresh := h.Staff(domain.RoleDeveloper)
	answer = fresh.Post(path+"/secret/show", nil)
	fresh.WantPage(answer, http.StatusOK, h.Account.TestWebhookSecret, "Copy secret")
	if answer.Header().Get("Cache-Control") != "no-store" || strings.Contains(answer.Body.String(), h.Account.LiveWebhookSecret) {
		t.Errorf("Cache-Control %q, want no-store, and the secret of test mode alone", answer.Header().Get("Cache-Control"))
	}
	next := fresh.WantPage(fresh.Post(path+"/secret/next", nil), http.StatusOK).Copies("Copy secret")
	fresh.WantPage(fresh.Post(path+"/secret/show", nil), http.StatusOK, h.Account.TestWebhookSecret, next)
	fresh.WantPage(fresh.Post("/dashboard/live/webhooks/secret/show", nil), http.StatusOK, h.Account.LiveWebhookSecret)
	wantEntries(owner.WantPage(owner.Get("/dashboard/test/audit"), http.StatusOK, fresh.Session.Email), "Webhook secret shown")
	keptSecret(h, h.Staff(domain.RoleOwner))
}

func TestVerifyCodePage(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	developer := h.Staff(domain.RoleDeveloper)
	path := "/dashboard/test/webhooks/verify"
	developer.WantPage(developer.Get("/dashboard/test/webhooks"), http.StatusOK).LeadsTo(path)
	developer.WantPage(developer.Get(path), http.StatusOK, "timingSafeEqual").Offers("Copy code")
	for _, one := range snippets.All() {
		page := developer.WantPage(developer.Get(path+"?in="+one.ID), http.StatusOK, one.Note)
		if page.Copies("Copy code") != one.Text {
			t.Errorf("%s: the page hasn't the code as it is tested", one.Language)
		}
	}
	developer.WantPage(developer.Get(path+"?in=<script>"), http.StatusOK, "timingSafeEqual")
}

// TestDeliveryLogFilters: what the log can be narrowed by is offered, and does
// so.
func TestDeliveryLogFilters(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	developer := h.Staff(domain.RoleDeveloper)
	timedOut, refused := failedAt(h, "https://slow.example/hook", 0, webhook.ClassTimeout), failedAt(h,
		"https://lender.example/hook", 503, webhook.ClassStatus)
	path := "/dashboard/test/webhooks"
	offered := developer.WantPage(developer.Get(path), http.StatusOK).Field("status").Choices
	for _, status := range webhooks.DeliveryStatuses {
		if !slices.Contains(offered, status) {
			t.Errorf("the status %s isn't offered", status)
		}
	}
	for query, want := range map[string][2]bool{ // whether they are listed
		"":                                       {true, true},
		"status=timeout":                         {true, false},
		"status=5xx":                             {false, true},
		"status=status":                          {false, true},
		"status=4xx":                             {false, false},
		"status=tls":                             {false, false},
		"session=" + timedOut.SessionID.String(): {true, false},
		"endpoint=" + refused.EndpointID.String():   {false, true},
		"state=failed&type=session.pdf_ready":       {true, true},
		"state=failed&type=session.expired":         {false, false},
		"state=delivered":                           {false, false},
		"session=" + domain.NewSessionID().String(): {false, false},
		"from=2000-01-01&to=2000-01-02":             {false, false},
		"status=nonsense&state=nonsense":            {false, false},
	} {
		text := developer.Get(path + "?" + query).Body.String()
		got := [2]bool{strings.Contains(text, "deliveries/"+timedOut.ID.String()), strings.Contains(text,
			"deliveries/"+refused.ID.String())}
		if got != want {
			t.Errorf("%q lists %v, want %v", query, got, want)
		}
	}
	developer.WantPage(developer.Get(path+"?state=failed"), http.StatusOK).
		LeadsTo(path + "/deliveries/" + refused.ID.String() + "?list=state%3Dfailed")
	session := "/dashboard/test/sessions/" + timedOut.SessionID.String()
	developer.WantPage(developer.Get(path+"?session="+timedOut.SessionID.String()), http.StatusOK, "last error: Timed out").
		LeadsTo(session)
	developer.WantPage(developer.Get(session), http.StatusOK, "last error: Timed out").Offers("Send again")
	developer.WantPage(developer.Get(path+"?session=%3Cscript%3E"), http.StatusOK, "Enter a session’s id").
		WantField("session", "<script>")
	developer.WantPage(developer.Get(path+"?status=timeout&from=2026-11-19&to=2026-11-20"), http.StatusOK).
		LeadsTo(path + "/redeliveries?preview=1&since=2026-11-19T00%3A00&status=timeout&until=2026-11-21T00%3A00")
}

// TestEndpointsHealth: the page has each endpoint's success rate and response
// time over 30 days, failing endpoints first, and leads to what failed.
func TestEndpointsHealth(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	developer := h.Staff(domain.RoleDeveloper)
	good, bad := failedAt(h, "https://a.example/hook", 503, webhook.ClassStatus), failedAt(h, "https://b.example/hook", 0,
		webhook.ClassTimeout)
	path := "/dashboard/test/webhooks"
	now := h.Clock.Now()
	count := func(id domain.EndpointID, at time.Time, failures int, delivered int64, took time.Duration, n int64) {
		t.Helper()
		health := db.EndpointHealth{ID: id, At: at, Failures: failures}
		if failures == 0 {
			health.SuccessAt = &at
		}
		times := make([]int64, domain.AttemptStep(took)+1)
		times[len(times)-1] = n
		health.Counted.Add(0, n, delivered, times)
		h.OK(h.DB.RecordAttempts(t.Context(), nil, []db.EndpointHealth{health}))
	}
	count(good.EndpointID, now.AddDate(0, 0, -30), 0, 0, time.Second, 500) // too long ago
	count(good.EndpointID, now.AddDate(0, 0, -29), 0, 496, 100*time.Millisecond, 496)
	count(good.EndpointID, now.AddDate(0, 0, -10), 0, 500, 100*time.Millisecond, 500)
	count(good.EndpointID, now, 0, 1, 10*time.Millisecond, 1)
	count(good.EndpointID, now, 0, 1, 200*time.Millisecond, 3)
	count(bad.EndpointID, now.Add(-time.Hour), 3, 0, 10*time.Second, 3)
	page := developer.WantPage(developer.Get(path), http.StatusOK, "1 endpoint failing.",
		"b.example Sessions’ own URLs since 20 Nov 2026, 1:04 pm, 3 failed attempts 0.0% of 3 attempts Failing 10.1 s",
		"a.example Sessions’ own URLs 99.8% of 1,000 attempts Arriving 104 ms")
	page.LeadsTo(path + "?endpoint=" + bad.EndpointID.String() + "&state=failing")
	var sparks []string // of each endpoint, a day's bars: where they begin, and how high they are
	for _, svg := range page.All("svg") {
		var bars []string
		for _, bar := range svg.All("rect") {
			bars = append(bars, bar.Attr("x")+": "+bar.Attr("y")+" "+bar.Attr("height"))
		}
		if svg.Attr("class") == "spark" {
			sparks = append(sparks, strings.Join(bars, ", "))
		}
	}
	if want := []string{"87: 20.0 20, 87: 0.0 20.0", // of 3, all failed today
		"0: 0.2 20, 0: 0.2 0.0, 57: 0.0 20, 57: 0.0 0.0, 87: 19.9 20, 87: 19.8 0.1"}; !slices.Equal(sparks, want) {
		t.Errorf("attempts are drawn as %q, want %q", sparks, want)
	}
	if text := page.Text(); strings.Index(text, "Deliveries, newest") < strings.Index(text, "Success, 30 days") {
		t.Error("the endpoints aren't first")
	}
	for i := range 10 { // addresses of a developer's tunnel, given up long ago
		old := failedAt(h, fmt.Sprintf("https://%d.tunnel.example/hook", i), 503, webhook.ClassStatus)
		count(old.EndpointID, now.AddDate(0, 0, -8), 3, 0, time.Second, 3)
	}
	page = developer.WantPage(developer.Get(path), http.StatusOK, "1 endpoint failing.",
		"3 failed attempts 0.0% of 3 attempts Failing", "a.example Sessions’ own URLs 99.8%",
		"0.tunnel.example Sessions’ own URLs last attempt failed on 12 November 2026 0.0% of 3 attempts Not used",
		"And 2 other endpoints.")
	if text := page.Text(); strings.Index(text, "a.example Sessions’") > strings.Index(text,
		"0.tunnel.example Sessions’ own URLs last") {
		t.Error("endpoints that aren't used come before one that is")
	}
}

// TestManyEndpoints: sessions' own URLs can be at any number of origins. Pages list the newest
// of them, and all that are set up, fail or are asked for.
func TestManyEndpoints(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	developer, scope := h.Staff(domain.RoleDeveloper), h.TestScope()
	mine := h.NewEndpoint(scope, "https://mine.example/hook")
	old, failing := sentTo(h, "https://old.example/hook"), sentTo(h, "https://failing.example/hook")
	attemptedNow(h, failing, domain.DeliveryPending)
	choices := func(query string, want ...domain.EndpointID) (n int) {
		t.Helper()
		got := developer.WantPage(developer.Get("/dashboard/test/webhooks"+query), http.StatusOK).Field("endpoint").Choices
		for _, id := range want {
			if !slices.Contains(got, id.String()) {
				t.Errorf("%s is not among the %d endpoints to choose with %q", id, len(got), query)
			}
		}
		return len(got)
	}
	choices("", mine, old.EndpointID, failing.EndpointID)
	h.Clock.Advance(time.Minute)
	execSQL(h, `
		INSERT INTO webhook_endpoint (id, account_id, livemode, origin, created_at)
		SELECT gen_random_uuid(), $1, false, 'https://' || n || '.example', $2 FROM generate_series(1, 2000) n`,
		scope.AccountID, h.Clock.Now())
	if n := choices("", mine, failing.EndpointID); n > 510 {
		t.Errorf("%d endpoints to choose, want about 500", n)
	}
	choices("?endpoint="+old.EndpointID.String(), mine, failing.EndpointID, old.EndpointID)
	developer.WantPage(developer.Get("/dashboard/test/webhooks"), http.StatusOK, "There are 500 or more endpoints.")
	developer.WantPage(developer.Get("/dashboard/test"), http.StatusOK, "1 of 500 or more endpoints failing.")
	since := h.Clock.Now().Add(-time.Hour)
	r, err := h.Service.Webhooks.StartRedelivery(t.Context(), scope,
		webhooks.DeliveryFilter{DeliveryFilter: domain.DeliveryFilter{Since: &since, Endpoint: &old.EndpointID}}, 1, harness.Operator)
	h.OK(err)
	for _, path := range []string{redeliveries, redeliveries + "/" + r.ID.String()} {
		developer.WantPage(developer.Get(path), http.StatusOK, "to https://old.example")
	}
}

// TestTestEventsOfEachType: an example of each event of the contract can be sent,
// about one session that doesn't exist.
func TestTestEventsOfEachType(t *testing.T) {
	t.Parallel()
	receiver, h := hooktest.NewReceiver(t, nil), harness.New(t, withTestEvents(t))
	developer := h.Staff(domain.RoleDeveloper)
	path := "/dashboard/test/webhooks"
	offered := developer.WantPage(developer.Get(path+"/settings?type=session.expired"), http.StatusOK).
		WantField("type", "session.expired").Field("type").Choices
	for _, info := range domain.EventTable {
		if !slices.Contains(offered, string(info.Type)) {
			t.Errorf("%s isn't offered", info.Type)
		}
		answer := developer.Post(path+"/test", url.Values{"url": {receiver.URL}, "type": {string(info.Type)}})
		id, err := domain.ParseDeliveryID(strings.TrimPrefix(answer.Header().Get("Location"), path+"/tests/"))
		h.OK(err)
		sent, err := h.Service.Webhooks.TestEvent(t.Context(), h.Account.AccountID, id)
		h.OK(err)
		var got struct {
			Event     domain.EventType
			SessionID string `json:"session_id"`
			Livemode  bool
			Sequence  int
		}
		h.OK(json.Unmarshal(sent.Body, &got))
		example := info.Example.SessionID
		if got.Event != info.Type || got.Livemode || got.Sequence != 0 || (got.SessionID == "") != (example == nil) ||
			example != nil && (strings.Contains(string(sent.Body), example.String()) || strings.Count(string(sent.Body),
				got.SessionID) < 2) {
			t.Errorf("%s is sent as %s", info.Type, sent.Body)
		}
	}
	developer.WantPage(developer.Post(path+"/test", url.Values{"url": {receiver.URL}, "type": {"session.unheard_of"}}),
		http.StatusUnprocessableEntity, "There is a problem")
}

// failedAt makes a delivery to the URL that has failed with that status, 0
// for none, and class.
func failedAt(h *harness.Harness, url string, status int, class string) domain.Delivery {
	h.Helper()
	d := sentTo(h, url)
	h.Recorded(d, domain.DeliveryFailed, status, class)
	return *d
}

// TestTestEventByHand: the result of a test event has its own address. Loading it
// again sends nothing, and it is gone after an hour.
func TestTestEventByHand(t *testing.T) {
	t.Parallel()
	receiver := hooktest.NewReceiver(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprint(w, "<b>short and stout</b>")
	})
	h := harness.New(t, withTestEvents(t))
	developer := h.Staff(domain.RoleDeveloper)
	answer := developer.Post("/dashboard/test/webhooks/test", url.Values{"url": {receiver.URL}})
	result := answer.Header().Get("Location")
	if answer.Code != http.StatusSeeOther || !strings.HasPrefix(result, "/dashboard/test/webhooks/tests/whd_") {
		t.Fatalf("%d to %q, want the result's address", answer.Code, result)
	}
	colleague, finance := h.Staff(domain.RoleOwner), h.Staff(domain.RoleFinance)
	for _, reader := range []*harness.StaffBrowser{developer, developer, colleague} {
		reader.WantPage(reader.Get(result), http.StatusOK, "418 I'm a teapot", "<b>short and stout", "session.completed",
			"X-Webhook-Signature", receiver.URL)
	}
	if n := len(receiver.Requests()); n != 1 {
		t.Errorf("the receiver got %d requests, want 1", n)
	}
	audited(h, domain.AuditTestEvent, 1)
	finance.WantPage(finance.Get(result), http.StatusForbidden)
	stranger := h.StaffOf(h.NewAccount("other@lender.example", "starter").AccountID, domain.RoleOwner)
	stranger.WantPage(stranger.Get(result), http.StatusNotFound)
	developer.WantPage(developer.Post("/dashboard/test/webhooks/test", nil), http.StatusUnprocessableEntity,
		"no default webhook URL")
	for mode, scope := range map[string]domain.Scope{"test": h.TestScope(), "live": {AccountID: h.Account.AccountID,
		Livemode: true}} {
		endpoint := h.NewEndpoint(scope, receiver.URL+"/"+mode).String()
		of, page := url.Values{"endpoint": {endpoint}}, "/dashboard/"+mode+"/webhooks/endpoints/"+endpoint
		developer.WantPage(developer.Get(page), http.StatusOK).Offers("Send test event")
		sent := developer.Post("/dashboard/"+mode+"/webhooks/test", of)
		developer.WantPage(developer.Get(sent.Header().Get("Location")), http.StatusOK, "418 I'm a teapot", receiver.URL+"/"+mode).
			LeadsTo(page)
		of.Set("type", "session.unheard_of")
		developer.WantPage(developer.Post("/dashboard/"+mode+"/webhooks/test", of), http.StatusUnprocessableEntity, "Delete endpoint")
		stranger.WantPage(stranger.Post("/dashboard/"+mode+"/webhooks/test", of), http.StatusNotFound)
	}
	h.Clock.Advance(domain.TestEventRetention)
	developer.WantPage(developer.Get(result), http.StatusNotFound, "kept for one hour")
}
