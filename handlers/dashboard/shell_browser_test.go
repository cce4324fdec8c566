package dashboard_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"candor/internal/domain"
	"candor/internal/testkit/browsertest"
	"candor/internal/testkit/harness"
)

// TestBrowserMenu: the menu and the account's part of it open on a phone and at
// a desk, a chosen theme stays, and signing out is one of its lines.
func TestBrowserMenu(t *testing.T) {
	t.Parallel()
	for i, options := range append(harness.Looks(), browsertest.Options{Device: browsertest.Desktop, NoScript: true}) {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			h, base := harness.Listen(t)
			h.NewSession(h.TestScope(), domain.NewSession{CustomerName: "Jo Public", ReferenceID: "loan-77"})
			tab := browsertest.New(t, options)
			signInTo(h, tab, base, "/dashboard/test/sessions")
			tab.WaitForText("h1", "Sessions")
			open := ".dash-me-open"
			if options.Device == browsertest.Phone {
				open = ".dash-open-menu"
			}
			tab.Click(open)
			tab.View("dashboard/menu")
			if options.NoScript {
				tab.Click(".theme [value=dark]")
				tab.WaitFor("html[data-theme=dark]")
				tab.WaitForText("h1", "Sessions") // the page it was chosen on
				return
			}
			tab.Axe()
			for _, theme := range []struct{ name, scheme string }{{"dark", "dark"}, {"light", "light"}, {"", "light dark"}} {
				tab.Click(fmt.Sprintf(".theme [value=%q]", theme.name))
				tab.WaitFor(fmt.Sprintf(".theme [value=%q][aria-pressed=true]", theme.name))
				tab.WaitFor(fmt.Sprintf("meta[name=color-scheme][content=%q]", theme.scheme))
			}
			tab.Click(".theme [value=dark]")
			tab.WaitFor(".theme[aria-busy=false]")
			tab.Open(base + "/dashboard/live")
			tab.WaitFor("html[data-theme=dark]")
			tab.Click(open)
			tab.Click(`.dash-me-card [action$="sign-out"] button`)
			tab.WaitForText("h1", "Sign in")
			tab.WaitFor("html[data-theme=dark]")
		})
	}
}

// TestBrowserSearch: a slash leads to the field, what is found comes as it is typed
// and is walked through by keyboard, Escape closes it. Keys lead to pages and along a list,
// say what they do, and can be turned off.
func TestBrowserSearch(t *testing.T) {
	t.Parallel()
	h, base := harness.Listen(t)
	for n := range 12 {
		h.NewSession(h.TestScope(), domain.NewSession{CustomerName: "Craig Number " + fmt.Sprint(n),
			CustomerEmail: fmt.Sprintf("craig%d@customer.example", n), ReferenceID: fmt.Sprintf("loan-%d", n)})
	}
	tab := browsertest.New(t, browsertest.Options{})
	signInTo(h, tab, base, "/dashboard/test/keys")
	tab.WaitForText("h1", "API keys")
	tab.WaitForTrue(`document.readyState === "complete"`) // the script has run
	tab.Key('/')
	tab.WaitForFocus("finder")
	tab.Press("craig")
	tab.WaitForText("#finder-status", "8 results")
	tab.WaitForText("#finder-found", "Show all: 12 sessions")
	view(tab, "search")
	tab.Press(kb.ArrowDown)
	tab.Press(kb.ArrowDown)
	tab.WaitForTrue(`document.activeElement.textContent.includes("craig10@customer.example")`)
	tab.Press(kb.Escape)
	tab.WaitForFocus("finder")
	tab.WaitForTrue(`document.getElementById("finder-found").childElementCount === 0`)
	tab.Press("LOAN-7")
	tab.WaitForText("#finder-status", "1 result")
	tab.Press(kb.ArrowDown)
	tab.Press("\r")
	tab.WaitForText("h1", "Craig Number 7")
	tab.WaitForTrue(`document.readyState === "complete"`) // the script has run
	tab.Key('/')
	tab.Press("craig")
	tab.Press("\r")
	tab.WaitForText("h1", "Search")
	view(tab, "search-page")
	tab.WaitForTrue(`document.readyState === "complete"`)
	tab.Key('g')
	tab.Key('s')
	tab.WaitForText("h1", "Sessions")
	tab.WaitForTrue(`document.readyState === "complete"`)
	tab.Key('j')
	tab.Key('j')
	tab.Press("\r")
	tab.WaitForText("h1", "Craig Number 10")
	tab.WaitForTrue(`document.readyState === "complete"`)
	tab.Key('?')
	tab.WaitForTrue(`document.getElementById("shortcuts").matches(":popover-open")`)
	tab.View("dashboard/keys-help")
	tab.Click("#shortcuts [value=off]")
	tab.WaitFor("body[data-keys=off]")
	tab.WaitForTrue(`document.readyState === "complete"`)
	tab.Key('/')
	tab.WaitForTrue(`document.activeElement.id !== "finder"`)
}
