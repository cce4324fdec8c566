package handlers_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"candor/handlers"
	"candor/internal/domain"
	"candor/internal/service/keys"
	"candor/internal/service/staff/team"
	"candor/internal/service/webhooks"
	"candor/internal/testkit"
)

// routesOf returns the routes of those classes.
func routesOf(classes ...handlers.Class) (out []handlers.Route) {
	for _, route := range handlers.Routes() {
		if slices.Contains(classes, route.Class) {
			out = append(out, route)
		}
	}
	return out
}

// routeName is what tests call a route.
func routeName(route handlers.Route) string { return route.Method + " " + route.Path }

// walkObjects makes in the scope one of each kind that a route can name.
func walkObjects(b *bench, scope domain.Scope) map[string]string {
	b.Helper()
	// A team is the same in both modes: its foreign ones are of a third account.
	third := b.newAccount(domain.NewStaffID().String()+"@lender.example", "starter").AccountID
	invitation, err := b.service.Team.Invite(b.Context(), third, someone, team.InvitationParams{Email: "jo@lender.example", Role: domain.RoleSupport})
	b.ok(err)
	key, _, err := b.service.Keys.Create(b.Context(), scope, someone, keys.Params{Name: "Theirs"})
	b.ok(err)
	hooked := b.newSession(scope, domain.NewSession{WebhookURL: "https://lender.example/hook"})
	b.happen(hooked, domain.PDFReadyPayload{SessionID: hooked.ID})
	deliveries, err := b.db.Deliveries(b.Context(), hooked.ID)
	b.ok(err)
	request := domain.APIRequest{ID: domain.NewRequestID(b.clock.Now()), AccountID: scope.AccountID, Livemode: scope.Livemode, KeyID: key.ID, Status: http.StatusOK}
	b.ok(b.db.InsertAPIRequests(b.Context(), []domain.APIRequest{request}))
	longAgo := b.clock.Now().AddDate(0, 0, -1)
	redelivery, err := b.service.Webhooks.StartRedelivery(b.Context(), scope, webhooks.DeliveryFilter{DeliveryFilter: domain.DeliveryFilter{Since: &longAgo}}, 1, someone)
	b.ok(err)
	return map[string]string{
		"redelivery": redelivery.ID.String(),
		"request":    request.ID.String(),
		"delivery":   deliveries[0].ID.String(),
		"test":       testEventOf(b, third), // the same in both modes
		"key":        key.ID.String(),
		"staff":      b.staffOf(third, domain.RoleSupport).session.ID.String(),
		"invitation": invitation.ID.String(),
		"passkey":    b.passkeyOf(b.staffOf(scope.AccountID, domain.RoleOwner).session.ID).String(), // another user's
		"browser":    b.staffOf(scope.AccountID, domain.RoleOwner).session.SessionID.String(),       // another user's
		"session":    b.newSession(scope, domain.NewSession{}).ID.String(),
		"invoice":    b.lastInvoice(third).ID.String(), // the same in both modes
		"document":   domain.NewDocumentID().String(),
	}
}

// testEventOf stores the result of a test event.
func testEventOf(b *bench, account domain.AccountID) string {
	b.Helper()
	id := domain.NewDeliveryID()
	b.ok(b.db.InsertTestEvent(b.Context(), id, account, []byte(`{"URL": "https://lender.example/hook", "Result": {"StatusCode": 204}}`), b.clock.Now()))
	return id.String()
}

// TestStaffRoutesAreClosed walks all routes of the dashboard: nobody gets in
// without being signed in, nobody's role is exceeded, no other site can post,
// and what belongs to another account or mode isn't there.
func TestStaffRoutesAreClosed(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	b := newBench(t)
	other := b.newAccount("other@lender.example", "professional")
	foreign := map[string]map[string]string{
		"another account's": walkObjects(b, domain.Scope{AccountID: other.AccountID}),
		"the other mode's":  walkObjects(b, domain.Scope{AccountID: b.account.AccountID, Livemode: true}),
	}
	staff := map[domain.Role]*staffBrowser{}
	for _, role := range domain.Roles {
		staff[role] = b.staff(role)
	}
	for _, route := range routesOf(handlers.Staff) {
		t.Run(routeName(route), func(t *testing.T) {
			own := walkPath(t, route.Path, foreign["the other mode's"])
			b := b.in(t)
			answer := b.stranger().send(route.Method, own, nil, http.Header{"Sec-Fetch-Site": {"same-origin"}})
			if answer.Code != http.StatusSeeOther || !strings.HasPrefix(answer.Header().Get("Location"), "/dashboard/sign-in?then=") {
				t.Errorf("without a session: %d to %q, want to be asked to sign in", answer.Code, answer.Header().Get("Location"))
			}
			for _, role := range domain.Roles {
				browser := *staff[role]
				browser.bench = b
				if route.Method != http.MethodGet {
					answer := browser.send(route.Method, own, nil, http.Header{"Sec-Fetch-Site": {"cross-site"}, "Origin": {"https://evil.example"}})
					if answer.Code != http.StatusForbidden {
						t.Errorf("%s, posted by another site: %d, want 403", role, answer.Code)
					}
				}
				may := browser.session.May(route.May)
				for whose, objects := range foreign {
					answer := browser.send(route.Method, walkPath(t, route.Path, objects), nil, http.Header{"Sec-Fetch-Site": {"same-origin"}})
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

// walkPath is the route's path in test mode with the objects' ids in it. A new
// kind of id in a path needs an object of walkObjects.
func walkPath(t testing.TB, path string, objects map[string]string) string {
	t.Helper()
	parts := strings.Split(strings.Replace(path, ":mode", "test", 1), "/")
	for i, part := range parts {
		if name, isID := strings.CutPrefix(part, ":"); isID {
			if objects[name] == "" {
				t.Fatalf("%s: walkObjects makes no %s", path, name)
			}
			parts[i] = objects[name]
		}
	}
	return strings.Join(parts, "/")
}

func TestEveryStaffRouteHasARole(t *testing.T) {
	t.Parallel()
	for _, route := range routesOf(handlers.Staff) {
		if !slices.ContainsFunc(domain.Roles, func(r domain.Role) bool { return (&domain.Staff{Role: r}).May(route.May) }) {
			t.Errorf("%s %s: no role may do %q", route.Method, route.Path, route.May)
		}
	}
}
