package dashboard_test

import (
	"net/http"
	"strings"
	"testing"

	"candor/internal/domain"
	"candor/internal/testkit/browsertest"
	"candor/internal/testkit/harness"
)

// keyIn is the key that the quickstart's first command has.
func keyIn(tab *browsertest.Tab) string {
	_, key, _ := strings.Cut(tab.Text("#command-key"), "CANDOR_API_KEY=")
	return strings.TrimSpace(key)
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
	created := harness.AnswerOf(t, send(h, http.MethodPost, "/sessions", key, nil, harness.ValidBody)).WantStatus(http.StatusCreated)
	id, err := domain.ParseSessionID(created.Object()["id"].(string))
	h.OK(err)
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
