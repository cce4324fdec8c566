package dashboard_test

import (
	"net/http"
	"strings"
	"testing"

	"candor/internal/domain"
	"candor/internal/testkit/browsertest"
	"candor/internal/testkit/harness"
)

// view checks the page that the tab shows, on a phone and at a desk, in light and dark,
// and draws it if asked to. By all rules of axe it is checked at a desk, where nothing
// is hidden; TestBrowserDemoPartner does so on a phone.
func view(tab *browsertest.Tab, name string) {
	for _, look := range harness.Looks() {
		tab.As(look.Device, look.Dark, func() {
			tab.Screenshot("dashboard/" + name)
			tab.Unfolded(func() {
				if tab.IsPhone() {
					tab.Axe(browsertest.LookRules...)
					tab.TableTargets()
				} else {
					tab.Axe()
				}
				tab.FitsWidth()
			})
		})
	}
	tab.UniqueIDs()
	tab.NoErrors()
}

// TestBrowserAccount does as a person does: sets two-step sign-in up, keeps
// the recovery codes, signs out and in again, up to the code.
func TestBrowserAccount(t *testing.T) {
	t.Parallel()
	h, base := harness.Listen(t)
	h.Owner() // another browser
	tab := browsertest.New(t, browsertest.Options{})
	signInTo(h, tab, base, "/dashboard/test/me")
	tab.Click("#password-panel .button")
	tab.WaitForFocus("error-summary")
	view(tab, "me-errors")
	tab.Click("#two-step .button-primary")
	tab.WaitForText("h1", "Set up two-step sign-in")
	view(tab, "two-step")
	secret := strings.ReplaceAll(tab.Text("#totp-secret"), " ", "")
	tab.Type("#code", h.Code(secret, 0))
	tab.Press("\r")
	tab.WaitForText("h1", "Your recovery codes")
	view(tab, "recovery-codes")
	if recovery := strings.Fields(tab.Text("#recovery-codes")); len(recovery) != 10 {
		t.Errorf("recovery codes %q, want 10 on lines of their own", recovery)
	}
	tab.Click("main a.button-primary")
	tab.WaitForText("#two-step", "10 of 10")
	view(tab, "me-two-step")
	browsertest.Eval[bool](tab, `document.querySelector("form[action='/dashboard/sign-out']").requestSubmit(), true`)
	tab.WaitForURL("/dashboard/sign-in")
	tab.Type("#email", h.Account.Email)
	tab.Type("#password", h.Account.Password)
	tab.Click("main .button-primary")
	tab.WaitForText("h1", "Type your code")
	view(tab, "code")
}

// TestBrowserSignInPages looks at the pages for those who aren't signed in, and
// follows the links of emails.
func TestBrowserSignInPages(t *testing.T) {
	t.Parallel()
	h, base := harness.Listen(t)
	m := h.Mailbox()
	// The first browser's open page is told that the password reset has signed it out.
	options := browsertest.Options{AllowStatus: []int{http.StatusNotFound, http.StatusUnauthorized}}
	tab := browsertest.New(t, options)
	tab.Open(base + "/dashboard/sign-in")
	view(tab, "sign-in")
	tab.Click(`a[href="/dashboard/sign-up"]`)
	tab.WaitForText("h1", "Create an account")
	view(tab, "sign-up")
	tab.Type("#company", "Harbour Lending")
	tab.Type("#name", "Sam Taylor")
	tab.Type("#email", "sam@harbour.example")
	tab.Type("#new_password", harness.GoodPassword)
	tab.Press("\r")
	tab.WaitForText("h1", "Check your email")
	view(tab, "letter-sent")
	tab.Open(base + m.Link(m.Email("sam@harbour.example", "Confirm your email address")))
	tab.WaitForText("h1", "Confirm your password")
	view(tab, "verify")
	tab.Type("#password", harness.GoodPassword)
	tab.Press("\r")
	tab.WaitForText("#announcement", "Welcome to Candor")

	other := browsertest.New(t, options)
	other.Open(base + "/dashboard/forgot")
	view(other, "forgot")
	other.Type("#email", "sam@harbour.example")
	other.Press("\r")
	other.WaitForText("h1", "Check your email")
	reset := m.Link(m.Email("sam@harbour.example", "Choose a new password"))
	other.Open(base + reset)
	other.WaitForText("h1", "Choose a new password")
	view(other, "reset")
	other.Type("#new_password", "two tall blue boats")
	other.Press("\r")
	other.WaitForText("#announcement", "Sign in with the new one")
	view(other, "sign-in-notice")
	other.Open(base + reset)
	other.WaitForText("h1", "This link no longer works")
	view(other, "link-gone")
	_, err := h.Service.Team.Invite(t.Context(), h.Account.AccountID, harness.Operator, harness.NewInvitation("kim@harbour.example",
		domain.RoleSupport))
	h.OK(err)
	m.Email("sam@harbour.example", "Your password was changed")
	other.Open(base + m.Link(m.Email("kim@harbour.example", "Join Lender & Sons on Candor")))
	other.WaitForText("h1", "Join Lender & Sons")
	view(other, "invitation")
}
