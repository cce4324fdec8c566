package dashboard_test

import (
	"testing"

	"candor/internal/domain"
	"candor/internal/testkit/browsertest"
	"candor/internal/testkit/harness"
)

// TestBrowserAskAgain asks a customer again, in three clicks and a note.
func TestBrowserAskAgain(t *testing.T) {
	t.Parallel()
	h, base := harness.Listen(t)
	former := h.NewSession(h.TestScope(), domain.NewSession{CustomerName: "Craig Nguyen", CustomerEmail: "craig@customer.example"})
	h.Open(former.ID)
	h.Complete(former.ID)
	tab := browsertest.New(t, browsertest.Options{})
	signInTo(h, tab, base, "/dashboard/test/sessions/"+former.ID.String())
	tab.Click("a[href*='like=']")
	tab.WaitForText("h1", "Ask again")
	tab.Click("label:has(#ask-documents)")
	tab.Type("#note-documents", "The June payslip is missing a page.")
	view(tab, "session-again")
	tab.Click("#create")
	tab.WaitForText("#announcement", "Session created")
	tab.WaitForText("#session", "Continues")
	view(tab, "session-continues")
}
