package dashboard_test

import (
	"net/http"
	"strings"
	"testing"

	"candor/internal/domain"
	"candor/internal/testkit/harness"
	"candor/internal/testkit/page"
)

// TestTitlesSayWhatIsShown: tabs of several sessions and lists are told apart.
func TestTitlesSayWhatIsShown(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	named := h.NewSession(h.TestScope(), domain.NewSession{ReferenceID: "loan-77"})
	unnamed := h.NewSession(h.TestScope(), domain.NewSession{})
	owner := h.Staff(domain.RoleOwner)
	for path, want := range map[string]string{
		"sessions/" + named.ID.String():           "Test: loan-77 · Session – Candor",
		"sessions/" + unnamed.ID.String():         "Test: " + domain.SessionReference(unnamed.ID) + " · Session – Candor",
		"sessions":                                "Test: Sessions – Candor",
		"sessions?status=completed&q=craig":       "Test: craig, Completed · Sessions – Candor",
		"sessions?from=2026-11-01&status=pending": "Test: Not opened, created from 1 Nov 2026 · Sessions – Candor",
		"requests?method=GET":                     "Test: GET · API requests – Candor",
		"audit?who=someone":                       "someone · Audit log – Candor",
	} {
		if got := owner.WantPage(owner.Get("/dashboard/test/"+path), http.StatusOK).Title(); got != want {
			t.Errorf("%s has the title %q, want %q", path, got, want)
		}
	}
}

// TestMenuHasGroups: a role sees the groups and lines that it may open.
func TestMenuHasGroups(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	for role, want := range map[domain.Role]string{
		domain.RoleSupport: "Activity Home Sessions Figures",
		domain.RoleFinance: "Activity Home Account Billing",
	} {
		staff := h.Staff(role)
		if got := menuOf(t, staff.WantPage(staff.Get("/dashboard/test"), http.StatusOK)); got != want {
			t.Errorf("%s sees %q, want %q", role, got, want)
		}
	}
	owner := h.Staff(domain.RoleOwner)
	shown := owner.WantPage(owner.Get("/dashboard/test"), http.StatusOK)
	shown.Offers("Home", "Sessions", "API keys", "Webhooks", "API requests", "Docs", "Billing", "Team", "Audit log", "Settings",
		"My account", "Sign out")
	for _, group := range []string{"Activity", "Developers", "Account"} {
		if !strings.Contains(menuOf(t, shown), group) {
			t.Errorf("the owner's menu has no group %s", group)
		}
	}
}

func menuOf(t *testing.T, shown *page.Page) string {
	t.Helper()
	for _, nav := range shown.All("nav") {
		if nav.Attr("aria-label") == "Dashboard" {
			return nav.Text()
		}
	}
	t.Fatal("the page has no menu")
	return ""
}
