package dashboard_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"candor/internal/domain"
	"candor/internal/testkit/browsertest"
	"candor/internal/testkit/harness"
	"candor/internal/webhook"
)

// keyIn is the key that the quickstart's first command has.
func keyIn(tab *browsertest.Tab) string {
	_, key, _ := strings.Cut(tab.Text("#command-key"), "CANDOR_API_KEY=")
	return strings.TrimSpace(key)
}

// creates creates a session as the quickstart's command does.
func creates(h *harness.Harness, base, key string) domain.SessionID {
	h.Helper()
	r, err := http.NewRequestWithContext(h.Context(), http.MethodPost, base+"/v1/sessions",
		strings.NewReader(`{"form_type": "financial_statement", "customer_email": "jo.citizen@example.com"}`))
	h.OK(err)
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(r)
	h.OK(err)
	defer response.Body.Close()
	var got struct {
		ID domain.SessionID `json:"id"`
	}
	h.OK(json.NewDecoder(response.Body).Decode(&got))
	return got.ID
}

// called stands for the log of API requests, which the harness doesn't write.
func called(h *harness.Harness, account domain.AccountID, route string) {
	h.Helper()
	key := harness.QueryOne[domain.KeyID](h,
		`SELECT id FROM api_key WHERE account_id = $1 AND NOT livemode ORDER BY id DESC LIMIT 1`, account)
	h.OK(h.DB.InsertAPIRequests(h.Context(), []domain.APIRequest{{
		ID: domain.NewRequestID(h.Clock.Now()), AccountID: account, KeyID: key, Method: http.MethodGet, Route: route,
		Status: http.StatusOK,
	}}))
}

// TestBrowserQuickstart: the key is shown once, in the commands, and each step is
// ticked by itself.
func TestBrowserQuickstart(t *testing.T) {
	t.Parallel()
	h, base := harness.Listen(t)
	tab := browsertest.New(t, browsertest.Options{})
	signInTo(h, tab, base, "/dashboard/test/quickstart")
	if got := tab.Text("#command-key"); !strings.Contains(got, "candor_test_…") {
		t.Errorf("without a key the command is %q", got)
	}
	view(tab, "quickstart")
	tab.Click("form[action$='quickstart/key'] button")
	tab.WaitForText("main", "This key is shown only now.")
	key := keyIn(tab)
	id := creates(h, base, key)
	tab.WaitForText("#tick-create", "Done")
	tab.WaitForText("#open-form", "Open the form")
	h.Open(id)
	tab.WaitForText("#tick-open", "Done")
	called(h, h.Account.AccountID, "/v1/events")
	tab.WaitForText("#tick-webhook", "Done")
	called(h, h.Account.AccountID, "/v1/sessions/:id/data")
	tab.WaitForText("#tick-data", "Done")
	tab.WaitForText("#ticks", "5 of 5 done")
	if keyIn(tab) != key {
		t.Error("the key left the page with a tick")
	}
	view(tab, "quickstart-done")
	browsertest.Eval[bool](tab,
		"navigator.clipboard.writeText = async () => {}, window.later = [], window.setTimeout = (f) => later.push(f), true")
	for range 2 {
		tab.Click("[data-copy=command-key]")
		tab.WaitForText("[data-copy=command-key]", "Copied")
	}
	if got := browsertest.Eval[string](tab,
		"later.forEach((f) => f()), document.querySelector('[data-copy=command-key]').textContent"); got != "Copy" {
		t.Errorf("after two clicks the button says %q", got)
	}
	tab.Open(base + "/dashboard/test/quickstart")
	if strings.Contains(tab.Text("main"), key) {
		t.Error("the key is shown again")
	}
	h.NewSession(domain.Scope{AccountID: h.Account.AccountID, Livemode: true}, domain.NewSession{}) // a real customer's
	tab.Open(base + "/dashboard/live/quickstart")
	tab.WaitForText("main", "Live sessions are billed.")
	if strings.Contains(tab.Text("main"), "simulate") {
		t.Error("live mode has commands of test mode")
	}
	if got := tab.Text("#open-form"); strings.Contains(got, "Open the form") || !strings.Contains(got, "session_url") {
		t.Errorf("a customer's form can be opened: %q", got)
	}
	view(tab, "quickstart-live")
}

// TestBrowserFromSignUpToAWebhook: twelve clicks at most lead from sign-up to
// a webhook whose signature the developer's server has verified.
func TestBrowserFromSignUpToAWebhook(t *testing.T) {
	t.Parallel()
	type hook struct{ body, signature string }
	hooks := make(chan hook, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		hooks <- hook{string(body), r.Header.Get("X-Webhook-Signature")}
	}))
	t.Cleanup(receiver.Close)
	h, base := harness.Listen(t, withTestEvents(t))
	m := h.Mailbox()
	tab, clicks := browsertest.New(t, browsertest.Options{Device: browsertest.Desktop}), 0
	click := func(selector string) {
		clicks++
		tab.Click(selector)
	}
	tab.Open(base + "/dashboard/sign-in")
	click(`a[href="/dashboard/sign-up"]`)
	tab.WaitForText("h1", "Create an account")
	for _, field := range [][2]string{{"#company", "Harbour Lending"}, {"#name", "Sam Taylor"}, {"#email", "sam@harbour.example"},
		{"#new_password", harness.GoodPassword}} {
		tab.Type(field[0], field[1]) // a person gets there by Tab
	}
	tab.Press("\r")
	tab.WaitForText("h1", "Check your email")
	clicks++
	tab.Open(base + m.Link(m.Email("sam@harbour.example", "Confirm your email address")))
	tab.WaitForText("h1", "Confirm your password")
	tab.Type("#password", harness.GoodPassword)
	tab.Press("\r")
	tab.WaitForText("#announcement", "Welcome to Candor")
	if !strings.Contains(tab.URL(), "/test") {
		tab.Open(base + "/dashboard/test")
		clicks++
	}
	click("main a[href$='/quickstart']")
	tab.WaitForText("h1", "Quickstart")
	click("form[action$='quickstart/key'] button")
	tab.WaitForText("main", "This key is shown only now.")
	creates(h, base, keyIn(tab))
	tab.WaitForText("#ticks", "2 of 5 done")
	click("main a[href$='webhooks/settings']")
	tab.WaitForText("h1", "Webhook settings")
	click("#url")
	tab.Press(receiver.URL + "/hook\r")
	tab.WaitForText("#announcement", "Saved")
	click("form[action$=show] button")
	secret := tab.Text("#secret-text")
	click("main a.button-primary, main .back-link")
	tab.WaitForText("h1", "Webhook settings")
	click("form[action$='webhooks/test'] button")
	tab.WaitForText("main", "200 OK")
	got := <-hooks
	if want := webhook.Signature(secret, []byte(got.body)); !strings.Contains(got.signature, want) {
		t.Errorf("the signature %q is not of the secret, which makes %q", got.signature, want)
	}
	if clicks > 12 {
		t.Errorf("%d clicks", clicks)
	}
	t.Logf("%d clicks", clicks)
}
