package dashboard_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"candor/handlers"
	"candor/internal/domain"
	"candor/internal/testkit"
	"candor/internal/testkit/harness"
)

// TestStaffRoutesAreClosed walks all routes of the dashboard: each asks for a
// sign-in, keeps to the role, and doesn't find objects of another account or
// mode. That posts of other sites are refused is TestEveryRouteIsClosed's.
func TestStaffRoutesAreClosed(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := harness.New(t)
	other := h.NewAccount("other@lender.example", "professional")
	foreign := map[string]map[string]string{
		"another account's": harness.Objects(h, domain.Scope{AccountID: other.AccountID}),
		"the other mode's":  harness.Objects(h, domain.Scope{AccountID: h.Account.AccountID, Livemode: true}),
	}
	staff := map[domain.Role]*harness.StaffBrowser{}
	for _, role := range domain.Roles {
		staff[role] = h.Staff(role)
	}
	for _, route := range harness.RoutesOf(handlers.Staff) {
		t.Run(harness.RouteName(route), func(t *testing.T) {
			own := harness.WalkPath(t, route.Path, foreign["the other mode's"])
			h := h.In(t)
			answer := h.SignedOut().Send(route.Method, own, nil, http.Header{"Sec-Fetch-Site": {"same-origin"}})
			if answer.Code != http.StatusSeeOther || !strings.HasPrefix(answer.Header().Get("Location"), "/dashboard/sign-in?then=") {
				t.Errorf("without a session: %d to %q, want to be asked to sign in", answer.Code, answer.Header().Get("Location"))
			}
			for _, role := range domain.Roles {
				browser := *staff[role]
				browser.Harness = h
				may := route.OpensTo(browser.Session)
				for whose, objects := range foreign {
					answer := browser.Send(route.Method, harness.WalkPath(t, route.Path, objects), nil,
						http.Header{"Sec-Fetch-Site": {"same-origin"}})
					switch {
					case !may && answer.Code != http.StatusForbidden:
						t.Errorf("%s, who may not: %d, want 403", role, answer.Code)
					case may && strings.Count(route.Path, ":") > 1 && answer.Code != http.StatusNotFound:
						t.Errorf("%s with %s ids: %d, want 404", role, whose, answer.Code)
					}
				}
			}
		})
	}
}

func TestEveryStaffRouteHasARole(t *testing.T) {
	t.Parallel()
	for _, route := range harness.RoutesOf(handlers.Staff) {
		if !slices.ContainsFunc(domain.Roles, func(r domain.Role) bool { return (&domain.Staff{Role: r}).May(route.May) }) {
			t.Errorf("%s %s: no role may do %q", route.Method, route.Path, route.May)
		}
	}
}
