package dashboard_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/testkit/browsertest"
	"candor/internal/testkit/harness"
	"candor/internal/webhook"
)

// answered records a failed attempt with headers and an answer that are wider
// than a phone.
func answered(h *harness.Harness, d *domain.Delivery) {
	h.Helper()
	status, class, message := http.StatusBadGateway, webhook.ClassStatus, "The receiver answered with status 502."
	response := "<html><body><h1>502 Bad Gateway</h1>" + strings.Repeat("upstream", 60) + "</body></html>"
	h.OK(h.DB.RecordAttempts(h.Context(), []db.AttemptOutcome{{DeliveryAttempt: domain.DeliveryAttempt{
		DeliveryID: d.ID, Number: d.AttemptsTotal + 1, StartedAt: h.Clock.Now(), DurationMS: 41, StatusCode: &status,
		ErrorClass: &class, Error: &message,
		RequestHeaders: []byte(`{"X-Webhook-Signature":["` + strings.Repeat("5f", 64) + `"]}`), Response: &response,
	}, Cycle: 1, State: domain.DeliveryFailed}},
		[]db.EndpointHealth{{ID: d.EndpointID, At: h.Clock.Now(), Failures: 1, StatusCode: status, ErrorClass: class}}))
}

// TestBrowserWhyAWebhookFailed: from the log to what the receiver answered in
// one click, and from there back to the retry of all that the filter shows, and to the
// event's payload.
func TestBrowserWhyAWebhookFailed(t *testing.T) {
	t.Parallel()
	h, base := harness.Listen(t)
	session := h.NewSession(h.TestScope(), domain.NewSession{WebhookURL: "https://api.lender.example/candor/hooks"})
	h.RecordEvent(session, domain.PDFReadyPayload{SessionID: session.ID, PDFURL: "https://candor.example/v1/sessions/" +
		session.ID.String() + "/pdf"})
	deliveries, err := h.DB.Deliveries(h.Context(), session.ID)
	h.OK(err)
	answered(h, &deliveries[0])
	h.Clock.Advance(time.Hour)
	tab := browsertest.New(t, browsertest.Options{})
	signInTo(h, tab, base, "/dashboard/test/webhooks")
	tab.WaitForText("main", "1 endpoint failing")
	view(tab, "webhooks-failing")
	tab.Click("tbody .row-link[href*=deliveries]")
	tab.WaitForText(".code-answer", "502 Bad Gateway")
	view(tab, "delivery-open")
	tab.Open(base + "/dashboard/test/webhooks?state=failed&type=session.pdf_ready")
	tab.Click("main [href*=redeliveries]")
	tab.WaitForText("#preview", "1 delivery to retry")
	tab.Open(base + "/dashboard/test/events?q=" + session.ID.String())
	tab.Click("tbody .row-link")
	tab.WaitForText("#payload", "session.pdf_ready")
	view(tab, "event")
}
