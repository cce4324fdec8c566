package dashboard_test

import (
	"fmt"
	"testing"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/testkit/browsertest"
	"candor/internal/testkit/harness"
)

// TestLivePagesInABrowser: a page changes by itself, and its reader keeps the focus,
// the text and the folds.
func TestLivePagesInABrowser(t *testing.T) {
	t.Parallel()
	h, base := harness.Listen(t)
	session := h.NewSession(h.TestScope(), domain.NewSession{CustomerName: "Jo Public", WebhookURL: "https://lender.example/hook"})
	path := "/dashboard/test/sessions/" + session.ID.String()
	one, other := browsertest.New(t, browsertest.Options{Device: browsertest.Desktop}), browsertest.New(t, browsertest.Options{})
	signInTo(h, one, base, path)
	signInTo(h, other, base, path)
	one.WaitForText("#session .dash-lede", "Not opened")
	other.Click(".danger-zone > summary")
	one.Click("#days")
	one.Press("4")
	h.Open(session.ID)
	one.WaitForText("#session .dash-lede", "In progress")
	other.WaitForText("#session .dash-lede", "In progress")
	other.WaitForText(".danger-zone button", "Cancel session")
	one.WaitForText("#session", "Opened by the customer")
	one.Press("5")
	if got := one.Value("#days"); got != "45" {
		t.Errorf("the field has %q, want what was typed before and after the change", got)
	}
	if !browsertest.Eval[bool](other, "document.querySelector('.danger-zone').open") {
		t.Error("the fold is closed")
	}

	one.Open(base + "/dashboard/test/sessions")
	one.WaitForText("#list", "1 session")
	one.Click("#q")
	one.Press("sam")
	for range 3 {
		h.NewSession(h.TestScope(), domain.NewSession{})
	}
	h.Complete(session.ID)
	one.WaitForText(".new-rows", "3 new")
	one.WaitForText("#list tbody", "Completed")
	if rows := browsertest.Eval[int](one, "document.querySelectorAll('#list tbody tr').length"); rows != 1 {
		t.Errorf("%d rows, want the one that was there", rows)
	}
	if got := one.Value("#q"); got != "sam" {
		t.Errorf("the search has %q", got)
	}
	view(one, "sessions-new")
	one.Click(".new-rows a")
	one.WaitForText("#list", "4 sessions")
}

// TestLivePagesWithoutAStream: a hidden page has none, one that lost it gets another, and
// one that can't have any looks by itself. Nothing is lost.
func TestLivePagesWithoutAStreamInABrowser(t *testing.T) {
	t.Parallel()
	h, base := harness.Listen(t)
	session := h.NewSession(h.TestScope(), domain.NewSession{})
	path := "/dashboard/test/sessions/" + session.ID.String()
	tab := browsertest.New(t, browsertest.Options{Device: browsertest.Desktop, AllowCuts: true, AllowStatus: []int{0, 401}})
	signInTo(h, tab, base, path)
	hide := func(hidden bool) {
		browsertest.Eval[bool](tab, fmt.Sprintf(`Object.defineProperty(document, "hidden", {value: %v, configurable: true}), document.dispatchEvent(new Event("visibilitychange"))`, hidden))
	}
	connected := func(want bool) {
		tab.WaitForTrue(fmt.Sprintf("!!document.getElementById('live')._htmx?.sse?.reader === %v", want))
	}
	connected(true)
	hide(true)
	connected(false)
	h.Open(session.ID)
	hide(false)
	connected(true)
	tab.WaitForText("#session .dash-lede", "In progress")
	// With the stream cut the extension connects again, and hears what it missed.
	browsertest.Eval[bool](tab, `document.getElementById("live")._htmx.sse.reader.cancel(), true`)
	h.Complete(session.ID)
	tab.WaitForText("#session .dash-lede", "Completed")
	connected(true)

	// Another browser signs the user out: the page leaves at the next change.
	_, err := h.DB.Raw().ExecContext(t.Context(), "DELETE FROM staff_session")
	h.OK(err)
	h.OK(h.DB.InTx(t.Context(), func(tx *db.Tx) error {
		tx.Announce(h.TestScope(), domain.SessionChanged, &session.ID)
		return nil
	}))
	tab.WaitForText("h1", "Sign in")
}
