package dashboard_test

import (
	"image/color"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"candor/internal/domain"
	"candor/internal/service/forms"
	"candor/internal/service/staff/team"
	"candor/internal/testkit/browsertest"
	"candor/internal/testkit/harness"
)

// TestBrowserDashboard does what staff do: makes a key, keeps it and uses
// it, makes a session by hand, finds one and cancels it, invites a
// colleague, sets the account's help and logo, and erases a customer's data.
func TestBrowserDashboard(t *testing.T) {
	t.Parallel()
	h, base := harness.Listen(t)
	done := h.NewSession(h.TestScope(), domain.NewSession{CustomerName: "Jo Public", ReferenceID: "loan-77",
		WebhookURL: "https://lender.example/hook", Ask: []domain.Ask{{Section: "documents", Note: "The June payslip, please."}}})
	h.Open(done.ID)
	h.Upload(done.ID, "payslip.pdf")
	h.OK(h.Service.Forms.AddDocument(t.Context(), done, forms.Upload{Category: "identification", FileName: "licence.png",
		Content: strings.NewReader(harness.Drawing(t, 300, 190, color.NRGBA{13, 87, 72, 255}))}))
	h.Complete(done.ID)
	h.StorePDF(done.ID, []byte("%PDF-1.7"))
	for _, address := range []string{"192.0.2.1", "203.0.113.9"} { // of which the second is new
		h.OK(h.DB.InsertAPIRequests(t.Context(), []domain.APIRequest{{ID: domain.NewRequestID(h.Clock.Now()),
			AccountID: h.Account.AccountID, KeyID: keyOf(h), Method: "GET", Route: "/v1/sessions", Status: 200, Address: address}}))
		sweptKeys(h)
	}
	tab := browsertest.New(t, browsertest.Options{Device: browsertest.Desktop})
	at := func(path string) { tab.Open(base + strings.TrimSuffix("/dashboard/test/"+path, "/")) }
	signInTo(h, tab, base, "/dashboard/test/keys")
	tab.WaitForText("main", "Used from a new network")
	view(tab, "keys")
	tab.Open(base + "/dashboard/live")
	tab.WaitForText("main", "First steps")
	view(tab, "home-new")
	at("keys")

	tab.Click("main .button-primary")
	tab.WaitForText("h1", "New API key")
	tab.Click("form .button-primary")
	tab.WaitForFocus("error-summary")
	view(tab, "key-errors")
	tab.Type("#name", "Loan system")
	tab.Click("#permissions")
	tab.Click(`[id="permission-sessions:read"]`)
	tab.Click("form .button-primary")
	tab.WaitForText("h1", "Copy your API key")
	key := tab.Text("#key-text")
	if calls(h, h.Handler, key, "192.0.2.1") != 200 {
		t.Errorf("the key %q doesn't work", key)
	}
	tab.Reload() // which makes no other key
	tab.WaitForText("h1", "API keys")
	if rows := browsertest.Eval[int](tab, `document.querySelectorAll("tbody .row-link").length`); rows != 2 {
		t.Errorf("there are %d keys, want 2", rows)
	}
	if strings.Contains(tab.Text("main"), key) {
		t.Error("the key is shown again")
	}
	tab.Click("tbody .row-link")
	tab.WaitForText("h2", "Details")
	view(tab, "key-change")

	at("sessions")
	tab.Type("#q", "loan-77")
	tab.Press("\r")
	tab.WaitFor(`a.button-plain[href="/dashboard/test/sessions"]`) // Clear: the list is filtered
	tab.WaitForText(".pager", "1 session")
	tab.Click(".row-link")
	tab.WaitForText("h1", "Jo Public")
	tab.Click(".picture-fold > summary")
	tab.Click(".delivery-fold > summary")
	view(tab, "session-completed")
	tab.Click("[href$='/answers']")
	tab.WaitForText("h1", "Answers")
	view(tab, "session-answers")
	at("sessions/new?like=" + done.ID.String())
	tab.WaitForText("h1", "Ask again")
	tab.Click("label:has(#ask-documents)")
	view(tab, "session-again")
	at("sessions/new")
	view(tab, "session-new")
	tab.Type("#customer_email", "sam@customer.example")
	tab.Press("\r")
	tab.WaitForText("#announcement", "Session created")
	tab.Click(".qr-fold > summary")
	tab.Click(".renew-fold > summary")
	view(tab, "session-pending")
	tab.Click(".danger-zone > summary")
	tab.Click(".danger-zone .button-danger")
	tab.WaitForText(".banner-warn", "cancelled soon after")
	view(tab, "session-cancelling")

	_, err := h.Service.Team.Invite(t.Context(), h.Account.AccountID, harness.Operator,
		team.InvitationParams{Email: "old@lender.example", Role: domain.RoleSupport})
	h.OK(err)
	h.Staff(domain.RoleSupport)
	at("team")
	tab.Select("#role", "support")
	tab.Type("#email", "new@lender.example")
	tab.Press("\r")
	tab.WaitForText("#announcement", "Invitation sent")
	tab.Click(".row-menu > summary")
	view(tab, "team")

	at("webhooks/verify?in=python")
	tab.WaitForText("main", "hmac.compare_digest")
	view(tab, "webhook-verify")
	at("webhooks/settings")
	tab.WaitForText("main", "Signing secret")
	view(tab, "webhook-settings")
	failedDeliveries(h)
	at("webhooks/redeliveries")
	tab.Click("main form .button-primary")
	tab.WaitForText("#preview", "4 deliveries to retry")
	view(tab, "redelivery-preview")
	tab.Click("#preview .button-primary")
	tab.WaitForText("#announcement", "Retry started")
	running, err := h.Service.Webhooks.Redeliveries(t.Context(), h.TestScope())
	h.OK(err)
	stepRedelivery(h, running[0].ID)
	tab.WaitForText("#progress .stat:nth-child(2) dd", "4") // the page has looked by itself
	view(tab, "redelivery")
	at("webhooks/redeliveries")
	view(tab, "redeliveries")

	at("figures")
	view(tab, "figures")
	logCalls(h, done.ID)
	at("requests")
	tab.WaitForTrue(`[...document.querySelectorAll(".request-path")].some((path) => path.textContent.endsWith("/pdf") &&
		path.lastChild.getBoundingClientRect().right <= path.parentElement.getBoundingClientRect().right)`)
	view(tab, "requests")
	tab.Click(".row-link")
	tab.WaitForText("main", "Request id")
	view(tab, "request")
	at("requests?id=req_1&method=PUT")
	tab.WaitForFocus("error-summary")
	view(tab, "requests-errors")

	at("settings")
	tab.Type("#help_email", "help@lender.example")
	tab.Press("\r")
	tab.WaitForText("#announcement", "Settings saved")
	tab.Upload("#file", logoFile(t))
	tab.Click("[action$=logo] .button")
	tab.WaitForText("#announcement", "Logo saved")
	view(tab, "settings")
	execSQL(h, "UPDATE session SET completed_at = completed_at - interval '3 days' WHERE id = $1", done.ID)
	tab.Type("#retention_days", "1")
	tab.Press("\r")
	tab.WaitForText(".banner-warn", "Files of 1 completed statement will be deleted")
	view(tab, "retention")
	tab.Click("form .button-danger")
	tab.WaitForText("#announcement", "This also applies to stored data")

	at("sessions/" + done.ID.String() + "/erase")
	view(tab, "erase")
	tab.Click("form .button-danger")
	tab.WaitForFocus("error-summary")
	tab.Type("#confirm", done.CustomerEmail)
	tab.Press("\r")
	tab.WaitForText("#announcement", "Keep this receipt")
	view(tab, "session-erased")

	tab.Open(base + "/dashboard/live/billing")
	tab.WaitForText("main", "Professional")
	view(tab, "billing")
	tab.Click("[href$='billing/plan']")
	tab.Click("#plan")
	tab.Click("form .button-primary")
	tab.WaitForText("main", "You can change your mind until then")
	view(tab, "billing-plan")
	tab.Click("form .button-primary")
	tab.WaitForText("#announcement", "Plan change saved")
	tab.Click("[href$='billing/cancel']")
	tab.Click("form .button-danger")
	tab.WaitForFocus("error-summary")
	view(tab, "billing-cancel")
}

// logoFile is a file with a logo in it.
func logoFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "logo.png")
	if err := os.WriteFile(path, []byte(harness.Drawing(t, 600, 150, color.NRGBA{13, 87, 72, 255})), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
