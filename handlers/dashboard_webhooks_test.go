package handlers_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"candor/db"
	"candor/handlers"
	"candor/intake"
	"candor/jobs"
	"candor/ratelimit"
	"candor/service"
	"candor/webhook"
)

var secretText = regexp.MustCompile(`whsec_[0-9A-Za-z+/=]+`)

func TestWebhooksPage(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	developer := b.staff(intake.RoleDeveloper)
	path := "/dashboard/test/webhooks"
	developer.wantPage(developer.get(path), http.StatusOK, "No deliveries", "Make the next secret")
	developer.wantPage(developer.post(path+"/url", url.Values{"url": {"http://10.0.0.1/x"}}), http.StatusUnprocessableEntity, "There is a problem", `value="http://10.0.0.1/x"`)
	developer.wantRedirect(developer.post(path+"/url", url.Values{"url": {"https://lender.example/hook"}}), path)
	developer.wantPage(developer.get(path), http.StatusOK, "Saved. Events go there", `value="https://lender.example/hook"`)

	session := b.newSession(b.testScope(), intake.NewSession{})
	for i := range 30 {
		b.happen(session, intake.PDFReadyPayload{SessionID: session.ID, PageCount: i})
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
	developer, owner := b.staff(intake.RoleDeveloper), b.staff(intake.RoleOwner)
	session := b.newSession(b.testScope(), intake.NewSession{WebhookURL: "https://lender.example/hook"})
	b.happen(session, intake.PDFReadyPayload{SessionID: session.ID})
	deliveries, err := b.db.Deliveries(t.Context(), session.ID)
	b.ok(err)
	d := deliveries[0]
	status, class, message, response := 500, "status", "The receiver answered with 500.", `<script>alert("x")</script>`
	b.ok(b.db.RecordAttempts(t.Context(), []db.AttemptOutcome{{Attempt: db.Attempt{
		DeliveryID: d.ID, Number: 1, StartedAt: b.clock.Now(), DurationMS: 12, StatusCode: &status, ErrorClass: &class, Error: &message,
		RequestHeaders: []byte(`{"X-Webhook-Id":["whd_1"]}`), Response: &response,
	}, Cycle: 1, State: intake.DeliveryFailed}}, nil))
	path := "/dashboard/test/webhooks/deliveries/" + d.ID.String()
	developer.wantPage(developer.get(path), http.StatusOK, "500 Internal Server Error", "12 ms", "X-Webhook-Id: whd_1", "&lt;script&gt;", "session.pdf_ready", "Send again", session.ID.String())
	developer.wantPage(developer.get("/dashboard/test/sessions/"+session.ID.String()), http.StatusOK, path)
	developer.wantRedirect(developer.post(path+"/retry", nil), path)
	developer.wantPage(developer.get(path), http.StatusOK, "It is sent again", "Try now")
	developer.wantRedirect(developer.post(path+"/cancel", nil), path)
	developer.wantPage(developer.get(path), http.StatusOK, "Stopped.")
	developer.wantRedirect(developer.post(path+"/cancel", nil), path)
	developer.wantPage(developer.get(path), http.StatusOK, "It had come to an end already")
	owner.wantPage(owner.get("/dashboard/test/audit"), http.StatusOK, "delivery.redelivered", "delivery.cancelled")
}

func TestSecretsByHand(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	owner := b.staff(intake.RoleOwner)
	path := "/dashboard/test/webhooks"
	answer := owner.post(path+"/secret/next", nil)
	owner.wantPage(answer, http.StatusOK, "This is the only time")
	secret := secretText.FindString(answer.Body.String())
	page := owner.get(path)
	owner.wantPage(page, http.StatusOK, "Switch to the next secret")
	if secret == "" || strings.Contains(page.Body.String(), secret) || strings.Contains(b.logs.String(), secret) {
		t.Error("the secret isn't shown once and once only")
	}
	owner.wantRedirect(owner.post(path+"/secret/next", nil), path)
	owner.wantPage(owner.get(path), http.StatusOK, "somebody else has changed the secrets")
	owner.wantRedirect(owner.post(path+"/secret/switch", nil), path)
	owner.wantPage(owner.get(path), http.StatusOK, "Switched.", "Restore the previous secret")
	got, err := jobs.SigningSecrets(t.Context(), b.db, b.service.Ring, b.testScope())
	b.ok(err)
	if fmt.Sprint(got) != fmt.Sprint([]string{secret}) {
		t.Error("after the switch, the secret that was shown doesn't sign")
	}
	log := owner.get("/dashboard/test/audit")
	owner.wantPage(log, http.StatusOK, "webhook_secret.next_made", "webhook_secret.switched")
	if strings.Contains(log.Body.String(), secret) {
		t.Error("the audit log has the secret")
	}
}

func TestTestEventByHand(t *testing.T) {
	t.Parallel()
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprint(w, "<b>short and stout</b>")
	}))
	defer receiver.Close()
	b := newBench(t, func(c *handlers.Config) {
		limiter, err := ratelimit.New(service.TestEventLimit)
		if err != nil {
			t.Fatal(err)
		}
		policy := webhook.Policy{Development: true}
		c.Service.Policy, c.Service.TestLimiter, c.Service.TestClient = policy, limiter, webhook.NewClient(policy)
	})
	developer := b.staff(intake.RoleDeveloper)
	answer := developer.post("/dashboard/test/webhooks/test", url.Values{"url": {receiver.URL}})
	developer.wantPage(answer, http.StatusOK, "418 I&#39;m a teapot", "&lt;b&gt;short and stout", "session.completed", "X-Webhook-Signature")
	developer.wantPage(developer.post("/dashboard/test/webhooks/test", nil), http.StatusUnprocessableEntity, "no default webhook URL")
}
