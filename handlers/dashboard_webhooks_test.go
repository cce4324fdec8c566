package handlers_test

import (
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"candor/db"
	"candor/internal/delivery"
	"candor/internal/domain"
	"candor/internal/service/webhooks"
	"candor/internal/webhook"
	"candor/views/dashboard/snippets"
)

var secretText = regexp.MustCompile(`whsec_[0-9A-Za-z+/=]+`)

func TestWebhooksPage(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	developer := b.staff(domain.RoleDeveloper)
	path := "/dashboard/test/webhooks"
	developer.wantPage(developer.get(path), http.StatusOK, "No deliveries", "Make the next secret")
	developer.wantPage(developer.post(path+"/url", url.Values{"url": {"http://10.0.0.1/x"}}), http.StatusUnprocessableEntity, "There is a problem", `value="http://10.0.0.1/x"`)
	developer.wantRedirect(developer.post(path+"/url", url.Values{"url": {"https://lender.example/hook"}}), path)
	developer.wantPage(developer.get(path), http.StatusOK, "Saved. Events are sent to this URL", `value="https://lender.example/hook"`)

	session := b.newSession(b.testScope(), domain.NewSession{})
	for i := range 30 {
		b.happen(session, domain.PDFReadyPayload{SessionID: session.ID, PageCount: i})
	}
	page := developer.get(path)
	developer.wantPage(page, http.StatusOK, "https://lender.example", "Nothing sent yet", "number 30", "number 6<", "Older")
	developer.wantPage(developer.get(path+"?before=6"), http.StatusOK, "number 5<", "number 1<", "Newest")
	developer.wantPage(developer.get(path+"?state=failed"), http.StatusOK, "No deliveries")
	developer.wantPage(developer.get(path+"?from=2026-11-21&to=2026-11-20"), http.StatusOK, "Until must not be before from")
	developer.wantPage(developer.get(path+"?from=x"), http.StatusOK, "Enter a date such as")
}

func TestDeliveryPage(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	developer, owner := b.staff(domain.RoleDeveloper), b.staff(domain.RoleOwner)
	session := b.newSession(b.testScope(), domain.NewSession{WebhookURL: "https://lender.example/hook"})
	b.happen(session, domain.PDFReadyPayload{SessionID: session.ID})
	deliveries, err := b.db.Deliveries(t.Context(), session.ID)
	b.ok(err)
	d := deliveries[0]
	status, class, message, response := 500, "status", "The receiver answered with 500.", `<script>alert("x")</script>`
	b.ok(b.db.RecordAttempts(t.Context(), []db.AttemptOutcome{{DeliveryAttempt: domain.DeliveryAttempt{
		DeliveryID: d.ID, Number: 1, StartedAt: b.clock.Now(), DurationMS: 12, StatusCode: &status, ErrorClass: &class, Error: &message,
		RequestHeaders: []byte(`{"X-Webhook-Id":["whd_1"]}`), Response: &response,
	}, Cycle: 1, State: domain.DeliveryFailed}}, nil))
	path := "/dashboard/test/webhooks/deliveries/" + d.ID.String()
	developer.wantPage(developer.get(path), http.StatusOK, "500 Internal Server Error", "12 ms", "X-Webhook-Id: whd_1", "&lt;script&gt;", "session.pdf_ready", "Send again", session.ID.String())
	developer.wantPage(developer.get("/dashboard/test/sessions/"+session.ID.String()), http.StatusOK, path)
	developer.wantRedirect(developer.post(path+"/retry", nil), path)
	developer.wantPage(developer.get(path), http.StatusOK, "Resent with the same id", "Try now")
	developer.wantRedirect(developer.post(path+"/cancel", nil), path)
	developer.wantPage(developer.get(path), http.StatusOK, "Stopped.")
	developer.wantRedirect(developer.post(path+"/cancel", nil), path)
	developer.wantPage(developer.get(path), http.StatusOK, "It had already finished")
	owner.wantPage(owner.get("/dashboard/test/audit"), http.StatusOK, "<span>Webhook sent again ", "<span>Webhook stopped ")
}

func TestSecretsByHand(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	owner := b.staff(domain.RoleOwner)
	path := "/dashboard/test/webhooks"
	answer := owner.post(path+"/secret/next", nil)
	owner.wantPage(answer, http.StatusOK, "Nothing has changed for your receiver yet")
	secret := secretText.FindString(answer.Body.String())
	page := owner.get(path)
	owner.wantPage(page, http.StatusOK, "Switch to the next secret")
	if secret == "" || strings.Contains(page.Body.String(), "whsec_") {
		t.Error("the secret isn't shown, or is on a page that can be loaded again")
	}
	owner.wantRedirect(owner.post(path+"/secret/next", nil), path)
	owner.wantPage(owner.get(path), http.StatusOK, "another person has just changed the secrets")
	owner.wantRedirect(owner.post(path+"/secret/switch", nil), path)
	owner.wantPage(owner.get(path), http.StatusOK, "signed with the new secret.", "Restore the previous secret")
	got, err := delivery.SigningSecrets(t.Context(), b.db, b.service.Ring, b.testScope())
	b.ok(err)
	if fmt.Sprint(got) != fmt.Sprint([]string{secret}) {
		t.Error("after the switch, the secret that was shown doesn't sign")
	}
	owner.wantPage(owner.get("/dashboard/test/audit"), http.StatusOK, "<span>Next webhook secret made ", "<span>Switched to the next secret ")
	b.keptSecret(owner)
}

// keptSecret fails where a webhook secret is in the logs, in the audit log or
// in its export.
func (b *bench) keptSecret(owner *staffBrowser) {
	b.Helper()
	for where, text := range map[string]string{
		"logs": b.logs.String(), "audit log": owner.get("/dashboard/test/audit").Body.String(), "export": owner.get("/dashboard/test/audit/export").Body.String(),
	} {
		if text == "" || strings.Contains(text, "whsec_") {
			b.Errorf("a secret is in the %s, or that is empty", where)
		}
	}
}

func TestSecretsAreShownToWhoProvesToBeThere(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	owner, developer := b.staff(domain.RoleOwner), b.staff(domain.RoleDeveloper)
	path := "/dashboard/test/webhooks"
	if answer := developer.get(path + "/secret/show"); answer.Code != http.StatusMethodNotAllowed && answer.Code != http.StatusNotFound {
		t.Errorf("GET, which browsers fetch ahead: %d", answer.Code)
	}
	b.clock.advance(domain.StaffConfirmed)
	answer := developer.post(path+"/secret/show", url.Values{"from": {path}})
	developer.wantPrompt(answer, path)
	if shown := owner.get("/dashboard/test/audit").Body.String(); strings.Contains(shown, developer.session.Email) {
		t.Error("the audit log says that it was shown to who hasn't given the password")
	}
	fresh := b.staff(domain.RoleDeveloper)
	answer = fresh.post(path+"/secret/show", nil)
	fresh.wantPage(answer, http.StatusOK, b.account.TestWebhookSecret, "Copy secret")
	if answer.Header().Get("Cache-Control") != "no-store" || strings.Contains(answer.Body.String(), b.account.LiveWebhookSecret) {
		t.Errorf("Cache-Control %q, want no-store, and the secret of test mode alone", answer.Header().Get("Cache-Control"))
	}
	next := secretText.FindString(fresh.post(path+"/secret/next", nil).Body.String())
	fresh.wantPage(fresh.post(path+"/secret/show", nil), http.StatusOK, b.account.TestWebhookSecret, next)
	fresh.wantPage(fresh.post("/dashboard/live/webhooks/secret/show", nil), http.StatusOK, b.account.LiveWebhookSecret)
	owner.wantPage(owner.get("/dashboard/test/audit"), http.StatusOK, "<span>Webhook secret shown ", fresh.session.Email)
	b.keptSecret(b.staff(domain.RoleOwner))
}

func TestVerifyCodePage(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	developer := b.staff(domain.RoleDeveloper)
	path := "/dashboard/test/webhooks/verify"
	developer.wantPage(developer.get("/dashboard/test/webhooks"), http.StatusOK, path)
	developer.wantPage(developer.get(path), http.StatusOK, "timingSafeEqual", `data-copy="code"`)
	for _, one := range snippets.All() {
		page := developer.get(path + "?in=" + one.ID)
		developer.wantPage(page, http.StatusOK, one.Note)
		if !strings.Contains(html.UnescapeString(page.Body.String()), one.Text) {
			t.Errorf("%s: the page hasn't the code as it is tested", one.Language)
		}
	}
	developer.wantPage(developer.get(path+"?in=<script>"), http.StatusOK, "timingSafeEqual")
}

// TestDeliveryLogFilters: what the log can be narrowed by is offered, and does
// so.
func TestDeliveryLogFilters(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	developer := b.staff(domain.RoleDeveloper)
	timedOut, refused := b.failedAt("https://slow.example/hook", 0, webhook.ClassTimeout), b.failedAt("https://lender.example/hook", 503, webhook.ClassStatus)
	path := "/dashboard/test/webhooks"
	page := developer.get(path)
	for _, status := range webhooks.DeliveryStatuses {
		developer.wantPage(page, http.StatusOK, `<option value="`+status+`">`)
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
		text := developer.get(path + "?" + query).Body.String()
		got := [2]bool{strings.Contains(text, "deliveries/"+timedOut.ID.String()), strings.Contains(text, "deliveries/"+refused.ID.String())}
		if got != want {
			t.Errorf("%q lists %v, want %v", query, got, want)
		}
	}
	developer.wantPage(developer.get(path+"?session=%3Cscript%3E"), http.StatusOK, "Enter a session’s id", `value="&lt;script&gt;"`)
	developer.wantPage(developer.get(path+"?status=timeout&from=2026-11-19&to=2026-11-20"), http.StatusOK, "redeliveries?since=2026-11-19T00%3A00&amp;status=timeout&amp;until=2026-11-21T00%3A00")
}

// failedAt makes a delivery to the URL that has failed with that status, 0
// for none, and class.
func (b *bench) failedAt(url string, status int, class string) domain.Delivery {
	b.Helper()
	session := b.newSession(b.testScope(), domain.NewSession{WebhookURL: url})
	b.happen(session, domain.PDFReadyPayload{SessionID: session.ID})
	deliveries, err := b.db.Deliveries(b.Context(), session.ID)
	b.ok(err)
	b.recorded(&deliveries[0], domain.DeliveryFailed, status, class)
	return deliveries[0]
}

// recorded records an attempt that ends the delivery in the state.
func (b *bench) recorded(d *domain.Delivery, state domain.DeliveryState, status int, class string) {
	b.Helper()
	attempt := domain.DeliveryAttempt{DeliveryID: d.ID, Number: d.AttemptsTotal + 1, StartedAt: b.clock.Now(), DurationMS: 12, RequestHeaders: []byte(`{}`)}
	if status != 0 {
		attempt.StatusCode = &status
	}
	if class != "" {
		attempt.ErrorClass = &class
	}
	b.ok(b.db.RecordAttempts(b.Context(), []db.AttemptOutcome{{DeliveryAttempt: attempt, Cycle: d.Cycle, State: state}}, nil))
}

// TestTestEventByHand: the result of a test event has its own address. Loading it
// again sends nothing, and it is gone after an hour.
func TestTestEventByHand(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprint(w, "<b>short and stout</b>")
	}))
	defer receiver.Close()
	b := newBench(t, withTestEvents(t))
	developer := b.staff(domain.RoleDeveloper)
	answer := developer.post("/dashboard/test/webhooks/test", url.Values{"url": {receiver.URL}})
	result := answer.Header().Get("Location")
	if answer.Code != http.StatusSeeOther || !strings.HasPrefix(result, "/dashboard/test/webhooks/tests/whd_") {
		t.Fatalf("%d to %q, want the result's address", answer.Code, result)
	}
	colleague, finance := b.staff(domain.RoleOwner), b.staff(domain.RoleFinance)
	for _, reader := range []*staffBrowser{developer, developer, colleague} {
		reader.wantPage(reader.get(result), http.StatusOK, "418 I&#39;m a teapot", "&lt;b&gt;short and stout", "session.completed", "X-Webhook-Signature", receiver.URL)
	}
	if n := calls.Load(); n != 1 {
		t.Errorf("the receiver got %d requests, want 1", n)
	}
	finance.wantPage(finance.get(result), http.StatusForbidden)
	stranger := b.staffOf(b.newAccount("other@lender.example", "starter").AccountID, domain.RoleOwner)
	stranger.wantPage(stranger.get(result), http.StatusNotFound)
	developer.wantPage(developer.post("/dashboard/test/webhooks/test", nil), http.StatusUnprocessableEntity, "no default webhook URL")
	b.clock.advance(domain.TestEventRetention)
	developer.wantPage(developer.get(result), http.StatusNotFound, "kept for one hour")
}
