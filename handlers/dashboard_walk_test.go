package handlers_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"candor/handlers"
	"candor/internal/domain"
	"candor/internal/service"
	"candor/internal/testkit"
)

// walkCases say for each route of the dashboard which ids stand in its path:
// the names of objects that walkObjects makes. A route without an entry fails
// the test: whoever adds one says here what it gives access to.
var walkCases = map[string][]string{
	"GET /dashboard/:mode/me":                           nil,
	"POST /dashboard/:mode/me/name":                     nil,
	"POST /dashboard/:mode/me/password":                 nil,
	"POST /dashboard/:mode/me/two-step":                 nil,
	"POST /dashboard/:mode/me/two-step/on":              nil,
	"POST /dashboard/:mode/me/two-step/off":             nil,
	"POST /dashboard/:mode/me/recovery-codes":           nil,
	"POST /dashboard/:mode/me/passkeys":                 nil,
	"POST /dashboard/:mode/me/passkeys/new":             nil,
	"POST /dashboard/:mode/me/passkeys/:passkey/remove": {"passkey"},
	"POST /dashboard/:mode/me/sessions/end-others":      nil,
	"POST /dashboard/:mode/me/sessions/:browser/end":    {"browser"},

	"GET /dashboard/:mode":                                         nil,
	"GET /dashboard/:mode/webhooks":                                nil,
	"POST /dashboard/:mode/webhooks/url":                           nil,
	"POST /dashboard/:mode/webhooks/test":                          nil,
	"GET /dashboard/:mode/webhooks/tests/:test":                    {"test"},
	"GET /dashboard/:mode/webhooks/verify":                         nil,
	"GET /dashboard/:mode/webhooks/redeliveries":                   nil,
	"POST /dashboard/:mode/webhooks/redeliveries":                  nil,
	"GET /dashboard/:mode/webhooks/redeliveries/:redelivery":       {"redelivery"},
	"POST /dashboard/:mode/webhooks/redeliveries/:redelivery/stop": {"redelivery"},
	"POST /dashboard/:mode/webhooks/secret/show":                   nil,
	"POST /dashboard/:mode/webhooks/secret/next":                   nil,
	"POST /dashboard/:mode/webhooks/secret/switch":                 nil,
	"POST /dashboard/:mode/webhooks/secret/restore":                nil,
	"POST /dashboard/:mode/webhooks/secret/abandon":                nil,
	"GET /dashboard/:mode/webhooks/deliveries/:delivery":           {"delivery"},
	"POST /dashboard/:mode/webhooks/deliveries/:delivery/retry":    {"delivery"},
	"POST /dashboard/:mode/webhooks/deliveries/:delivery/cancel":   {"delivery"},
	"GET /dashboard/:mode/keys":                                    nil,
	"POST /dashboard/:mode/keys":                                   nil,
	"GET /dashboard/:mode/keys/new":                                nil,
	"POST /dashboard/:mode/keys/:key/rename":                       {"key"},
	"POST /dashboard/:mode/keys/:key/rotate":                       {"key"},
	"POST /dashboard/:mode/keys/:key/delete":                       {"key"},
	"GET /dashboard/:mode/requests":                                nil,
	"GET /dashboard/:mode/requests/:request":                       {"request"},
	"GET /dashboard/:mode/settings":                                nil,
	"POST /dashboard/:mode/settings":                               nil,
	"POST /dashboard/:mode/settings/logo":                          nil,
	"POST /dashboard/:mode/settings/logo/remove":                   nil,
	"POST /dashboard/:mode/settings/languages":                     nil,
	"POST /dashboard/:mode/settings/expiry":                        nil,
	"POST /dashboard/:mode/settings/two-step":                      nil,
	"GET /dashboard/:mode/settings/retention":                      nil,
	"POST /dashboard/:mode/settings/retention":                     nil,
	"GET /dashboard/:mode/billing":                                 nil,
	"POST /dashboard/:mode/billing/email":                          nil,
	"POST /dashboard/:mode/billing/subscribe":                      nil,
	"GET /dashboard/:mode/billing/plan":                            nil,
	"POST /dashboard/:mode/billing/plan":                           nil,
	"GET /dashboard/:mode/billing/cancel":                          nil,
	"POST /dashboard/:mode/billing/cancel":                         nil,
	"POST /dashboard/:mode/billing/reactivate":                     nil,
	"POST /dashboard/:mode/billing/card":                           nil,
	"GET /dashboard/:mode/billing/invoices/:invoice/pdf":           {"invoice"},
	"GET /dashboard/:mode/team":                                    nil,
	"POST /dashboard/:mode/team":                                   nil,
	"POST /dashboard/:mode/team/invitations/:invitation/revoke":    {"invitation"},
	"POST /dashboard/:mode/team/:staff/role":                       {"staff"},
	"POST /dashboard/:mode/team/:staff/remove":                     {"staff"},
	"GET /dashboard/:mode/audit":                                   nil,
	"GET /dashboard/:mode/audit/export":                            nil,
	"GET /dashboard/:mode/sessions":                                nil,
	"POST /dashboard/:mode/sessions":                               nil,
	"GET /dashboard/:mode/sessions/new":                            nil,
	"GET /dashboard/:mode/sessions/export":                         nil,
	"GET /dashboard/:mode/sessions/:session":                       {"session"},
	"POST /dashboard/:mode/sessions/:session/cancel":               {"session"},
	"POST /dashboard/:mode/sessions/:session/extend":               {"session"},
	"GET /dashboard/:mode/sessions/:session/data":                  {"session"},
	"GET /dashboard/:mode/sessions/:session/pdf":                   {"session"},
	"GET /dashboard/:mode/sessions/:session/erase":                 {"session"},
	"POST /dashboard/:mode/sessions/:session/erase":                {"session"},
	"GET /dashboard/:mode/sessions/:session/receipt":               {"session"},
	"GET /dashboard/:mode/sessions/:session/documents/:document":   {"session", "document"},
}

// walkObjects makes in the scope one of each kind that a route can name.
func walkObjects(b *bench, scope domain.Scope) map[string]string {
	b.Helper()
	// A team is the same in both modes: its foreign ones are of a third account.
	third := b.newAccount(domain.NewStaffID().String()+"@lender.example", "starter").AccountID
	invitation, err := b.service.Invite(b.Context(), third, someone, service.NewInvitation{Email: "jo@lender.example", Role: domain.RoleSupport})
	b.ok(err)
	key, _, err := b.service.CreateAPIKey(b.Context(), scope, someone, service.NewKey{Name: "Theirs"})
	b.ok(err)
	hooked := b.newSession(scope, domain.NewSession{WebhookURL: "https://lender.example/hook"})
	b.happen(hooked, domain.PDFReadyPayload{SessionID: hooked.ID})
	deliveries, err := b.db.Deliveries(b.Context(), hooked.ID)
	b.ok(err)
	request := domain.APIRequest{ID: domain.NewRequestID(b.clock.Now()), AccountID: scope.AccountID, Livemode: scope.Livemode, KeyID: key.ID, Status: http.StatusOK}
	b.ok(b.db.InsertAPIRequests(b.Context(), []domain.APIRequest{request}))
	longAgo := b.clock.Now().AddDate(0, 0, -1)
	redelivery, err := b.service.StartRedelivery(b.Context(), scope, service.DeliveryFilter{DeliveryFilter: domain.DeliveryFilter{Since: &longAgo}}, 1, someone)
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
	seen := map[string]bool{}
	for _, route := range handlers.StaffRoutes() {
		name := route.Method + " " + route.Path
		seen[name] = true
		params, ok := walkCases[name]
		if !ok {
			t.Errorf("%s has no entry in walkCases", name)
			continue
		}
		if n := strings.Count(route.Path, ":") - 1; n != len(params) {
			t.Errorf("%s has %d ids in its path and %d in walkCases", name, n, len(params))
			continue
		}
		t.Run(name, func(t *testing.T) {
			own := walkPath(route.Path, params, foreign["the other mode's"])
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
					answer := browser.send(route.Method, walkPath(route.Path, params, objects), nil, http.Header{"Sec-Fetch-Site": {"same-origin"}})
					switch {
					case !may && answer.Code != http.StatusForbidden:
						t.Errorf("%s, who may not: %d, want 403", role, answer.Code)
					case may && len(params) > 0 && answer.Code != http.StatusNotFound:
						t.Errorf("%s with %s ids: %d, want 404", role, whose, answer.Code)
					}
				}
			}
		})
	}
	for name := range walkCases {
		if !seen[name] {
			t.Errorf("%s is in walkCases and is no route", name)
		}
	}
}

// walkPath is the route's path in test mode with the objects' ids in it.
func walkPath(path string, params []string, objects map[string]string) string {
	parts := strings.Split(strings.Replace(path, ":mode", "test", 1), "/")
	for i, part := range parts {
		if strings.HasPrefix(part, ":") {
			parts[i], params = objects[params[0]], params[1:]
		}
	}
	return strings.Join(parts, "/")
}

func TestEveryStaffRouteHasARole(t *testing.T) {
	t.Parallel()
	for _, route := range handlers.StaffRoutes() {
		if !slices.ContainsFunc(domain.Roles, func(r domain.Role) bool { return (&domain.Staff{Role: r}).May(route.May) }) {
			t.Errorf("%s %s: no role may do %q", route.Method, route.Path, route.May)
		}
	}
}
