package dashboard_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"candor/internal/domain"
	"candor/internal/service/keys"
	"candor/internal/testkit/browsertest"
	"candor/internal/testkit/harness"
)

// TestBrowserLists: lists are as dense as they should be, a choice applies at
// once and stays in the address, and the way back keeps it.
func TestBrowserLists(t *testing.T) {
	t.Parallel()
	h, base := harness.Listen(t)
	long := domain.NewSession{
		CustomerName:  "Wolfeschlegelsteinhausenbergerdorff van der Merwe-Papadopoulos",
		CustomerEmail: "a.very.long.address.of.a.customer@subdomain.lender.example",
		ReferenceID:   "LOAN-2026-000000000000000000000000000000000000000000042",
		WebhookURL:    "https://a-rather-long-host-name.lender.example/hook",
	}
	opened := h.NewSession(h.TestScope(), long)
	h.Open(opened.ID)
	h.Complete(h.NewSession(h.TestScope(), domain.NewSession{CustomerName: "Jo Public", ReferenceID: "loan-77",
		WebhookURL: "https://lender.example/hook"}).ID)
	h.NewSession(h.TestScope(), domain.NewSession{CustomerEmail: "sam@customer.example"})
	h.Clock.Advance(26 * time.Hour)
	tab := browsertest.New(t, browsertest.Options{})
	signInTo(h, tab, base, "/dashboard/test/sessions")
	for _, path := range []string{"sessions", "webhooks", "events", "audit"} {
		tab.Open(base + "/dashboard/test/" + path)
		tab.WaitFor(".list tbody tr")
		view(tab, "list-"+path)
		// two lines, which some browsers round up
		for device, tall := range map[browsertest.Device]float64{browsertest.Desktop: 36.5, browsertest.Phone: 71.5} {
			if device == browsertest.Phone && path == "sessions" {
				tall = 138 // an address of three lines under the name
			}
			tab.As(device, false, func() { isDense(t, tab, path, tall) })
		}
	}

	tab.Click(".filter-fold > summary")
	tab.Select("#action", "account.created")
	tab.WaitForText(".chips", "What: ")
	tab.Open(base + "/dashboard/test/audit")

	browsertest.Eval[bool](tab, "navigator.clipboard.writeText = async (text) => { window.copied = text }, true")
	browsertest.Eval[bool](tab, "document.querySelector('.list .ago').focus(), true")
	tab.Press("\r")
	tab.WaitForText(".list .ago", "Copied")
	if copied := browsertest.Eval[string](tab, "copied"); !strings.HasSuffix(copied, " UTC") {
		t.Errorf("the time was copied as %q, want the whole of it", copied)
	}

	tab.Open(base + "/dashboard/test/sessions")
	tab.Click(".filter-fold > summary")
	tab.Select("#status", "in_progress")
	tab.WaitForText(".chips", "State: In progress")
	tab.WaitForURL("sessions?status=in_progress")
	if got := browsertest.Eval[string](tab, "document.activeElement.id"); got != "status" {
		t.Errorf("the focus is on %q, want it to stay", got)
	}
	tab.Click(".list .row-link")
	tab.WaitForText("h1", "Wolfeschlegel")
	tab.Type("#days", "60")
	tab.Press("\r")
	tab.WaitForText("#announcement", "Link extended to ")
	tab.Click(".back-link")
	tab.WaitForText(".chips", "State: In progress")
	tab.Click(".chips .is-set")
	tab.WaitForText("#list", "Jo Public")
	for device, size := range map[browsertest.Device]float64{browsertest.Desktop: 24, browsertest.Phone: 44} {
		tab.As(device, false, func() {
			small := browsertest.Eval[int](tab, fmt.Sprintf(`[...document.querySelectorAll(".list-pick label")].
				map((l) => l.getBoundingClientRect()).filter((r) => Math.min(r.width, r.height) < %f).length`, size))
			if small > 0 {
				t.Errorf("%d boxes are smaller than %.0f px", small, size)
			}
		})
	}
	tab.Click("[data-choose-all]")
	tab.WaitForText("[data-chosen]", "3 chosen")
	tab.Click("tbody tr:first-child .list-pick input")
	tab.WaitForText("[data-chosen]", "2 chosen")
	tab.WaitForTrue("document.querySelector('[data-choose-all]').indeterminate")
	tab.Click("[data-choose-all]")
	tab.WaitForText("[data-chosen]", "3 chosen")
	tab.Click("[data-choose-all]")
	tab.Key('j')
	tab.Key('x')
	tab.WaitForText("[data-chosen]", "1 chosen")
	exports(t, tab, 3)
	view(tab, "list-chosen")
	tab.Select("#chosen-days", "30")
	tab.Click(".chosen [value=extend]")
	tab.WaitForText("#announcement", "Links extended: 1.")
	tab.Click(".chips li:nth-child(2) a") // not opened for three days
	tab.WaitForText(".chips .is-set", "Not opened for 3 days")
	tab.WaitForText("#list", "No session matches")
	saveView(h.Owner(), "To call before the end of this year", "?status=in_progress")
	tab.Open(base + "/dashboard/test/sessions?status=in_progress")
	tab.WaitForText("nav[aria-label='Your views'] [aria-current]", "To call before")
	view(tab, "list-views")
}

// exports exports the list of so many rows, which says how far it is.
func exports(t *testing.T, tab *browsertest.Tab, rows int) {
	t.Helper()
	browsertest.Eval[bool](tab, `window.said = [], new MutationObserver(() => said.push(document.getElementById("export-status").textContent))
		.observe(document.getElementById("export-status"), {childList: true, characterData: true, subtree: true}), true`)
	tab.Click("a[data-export]")
	tab.WaitForText("#export-status", fmt.Sprintf("Exported: %d rows", rows))
	if said := browsertest.Eval[[]string](tab, "said"); len(said) < 2 || said[0] != fmt.Sprintf("Exporting: 0 of %d rows", rows) {
		t.Errorf("on its way the export said %q", said)
	}
}

// TestBrowserKeysInEveryList: j and k lead along the rows of each list, Enter opens one that
// leads somewhere, and x chooses where rows can be chosen.
func TestBrowserKeysInEveryList(t *testing.T) {
	t.Parallel()
	h, base := harness.Listen(t)
	h.Staff(domain.RoleSupport)
	h.Staff(domain.RoleFinance)
	for _, host := range []string{"one", "two"} {
		session := h.NewSession(h.TestScope(), domain.NewSession{WebhookURL: "https://" + host + ".example/hook"})
		h.Complete(session.ID)
		_, _, err := h.Service.Keys.Create(t.Context(), h.TestScope(), harness.Operator, keys.Params{Name: host})
		h.OK(err)
		h.OK(h.DB.InsertAPIRequests(t.Context(), []domain.APIRequest{{ID: domain.NewRequestID(h.Clock.Now()),
			AccountID: h.Account.AccountID, KeyID: keyOf(h), Method: "GET", Route: "/v1/sessions", Status: 200}}))
	}
	tab := browsertest.New(t, browsertest.Options{})
	signInTo(h, tab, base, "/dashboard/test/sessions")
	const row = `[...document.querySelectorAll(":is(.list, .table) tbody tr")].findIndex((tr) => tr.contains(document.activeElement))`
	for path, opens := range map[string]string{"sessions": "/sessions/sess_", "events": "/events/evt_", "webhooks": "endpoint",
		"requests": "/requests/req_", "keys": "/keys/key_", "audit": "", "team": ""} {
		tab.Open(base + "/dashboard/test/" + path)
		tab.WaitFor("tbody tr:nth-child(2)")
		var at []int
		for _, key := range "jjk" {
			tab.Key(key)
			at = append(at, browsertest.Eval[int](tab, row))
		}
		if at[0] < 0 || at[1] <= at[0] || at[2] != at[0] {
			t.Errorf("%s: j, j and k lead to the rows %v", path, at)
		}
		tab.Key('x')
		chosen := browsertest.Eval[int](tab, "document.querySelectorAll('.list-pick :checked').length")
		if (chosen == 1) != (path == "sessions") {
			t.Errorf("%s: x chooses %d rows", path, chosen)
		}
		if opens != "" {
			tab.Press("\r")
			tab.WaitForTrue("location.href.includes('" + opens + "')")
		}
	}
}

// isDense fails if the list's rows are higher than that, or something in them is cut.
func isDense(t *testing.T, tab *browsertest.Tab, path string, tall float64) {
	t.Helper()
	if got := browsertest.Eval[float64](tab,
		"Math.max(...[...document.querySelectorAll('.list tbody tr:not(:has(.list-wraps .list-more))')].map(r => r.getBoundingClientRect().height))"); got > tall {
		t.Errorf("%s: a row is %.1f px high, want at most %.1f", path, got, tall)
	}
	if cut := browsertest.Eval[[]string](tab,
		"[...document.querySelectorAll('.list .row-link:has(> .mono)')].filter(a => a.scrollWidth > a.clientWidth).map(a => a.textContent)"); len(cut) > 0 {
		t.Errorf("%s: names are cut: %q", path, cut)
	}
	if browsertest.Eval[bool](tab,
		"!!document.querySelector('.filters > button:only-of-type') && !document.querySelector('.filters > .field')") {
		t.Errorf("%s: the button stands outside the fold of its fields", path)
	}
}
