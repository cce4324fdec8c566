package harness

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"candor/db"
	"candor/handlers"
	"candor/internal/billing"
	"candor/internal/domain"
	"candor/internal/service/keys"
	"candor/internal/service/staff/team"
	"candor/internal/service/webhooks"
	"candor/internal/webhook"
)

// LastInvoice ends the account's subscription and returns its last invoice.
func (h *Harness) LastInvoice(account domain.AccountID) *domain.Invoice {
	h.Helper()
	h.Clock.Advance(billing.ShortestPeriod)
	h.OK(h.Service.Billing.Cancel(h.Context(), account, Operator, true, "the end"))
	invoices, _, err := h.Service.Billing.Invoices(h.Context(), account, 0, 1)
	h.OK(err)
	return &invoices[0]
}

// PasskeyOf stores a passkey of the staff user that no device has.
func (h *Harness) PasskeyOf(staff domain.StaffID) domain.PasskeyID {
	h.Helper()
	p := &domain.Passkey{ID: domain.NewPasskeyID(), StaffID: staff, CredentialID: staff.UUID[:], Name: "Phone",
		Credential: []byte("{}"), CreatedAt: h.Clock.Now()}
	h.OK(h.DB.InTx(h.Context(), func(tx *db.Tx) error { return tx.InsertPasskey(h.Context(), p) }))
	return p.ID
}

// RoutesOf returns the routes of those classes.
func RoutesOf(classes ...handlers.Class) (out []handlers.Route) {
	for _, route := range handlers.Routes() {
		if slices.Contains(classes, route.Class) {
			out = append(out, route)
		}
	}
	return out
}

// RouteName is what tests call a route.
func RouteName(route handlers.Route) string { return route.Method + " " + route.Path }

// Objects makes in the scope one of each kind that a route can name.
func Objects(h *Harness, scope domain.Scope) map[string]string {
	h.Helper()
	// A team is the same in both modes: its foreign ones are of a third account.
	third := h.NewAccount(domain.NewStaffID().String()+"@lender.example", "starter").AccountID
	invitation, err := h.Service.Team.Invite(h.Context(), third, Operator, team.InvitationParams{Email: "jo@lender.example",
		Role: domain.RoleSupport})
	h.OK(err)
	key, _, err := h.Service.Keys.Create(h.Context(), scope, Operator, keys.Params{Name: "Theirs"})
	h.OK(err)
	hooked := h.NewSession(scope, domain.NewSession{WebhookURL: "https://lender.example/hook"})
	h.RecordEvent(hooked, domain.PDFReadyPayload{SessionID: hooked.ID})
	deliveries, err := h.DB.Deliveries(h.Context(), hooked.ID)
	h.OK(err)
	request := domain.APIRequest{ID: domain.NewRequestID(h.Clock.Now()), AccountID: scope.AccountID, Livemode: scope.Livemode,
		KeyID: key.ID, Status: http.StatusOK}
	h.OK(h.DB.InsertAPIRequests(h.Context(), []domain.APIRequest{request}))
	longAgo := h.Clock.Now().AddDate(0, 0, -1)
	redelivery, err := h.Service.Webhooks.StartRedelivery(h.Context(), scope,
		webhooks.DeliveryFilter{DeliveryFilter: domain.DeliveryFilter{Since: &longAgo}}, 1, Operator)
	h.OK(err)
	return map[string]string{
		"endpoint":   h.NewEndpoint(scope, "https://lender.example/theirs").String(),
		"redelivery": redelivery.ID.String(),
		"outage":     outageOf(h, scope, &deliveries[0]).String(),
		"request":    request.ID.String(),
		"delivery":   deliveries[0].ID.String(),
		"event":      deliveries[0].EventID.String(),
		"test":       testEventOf(h, third), // the same in both modes
		"key":        key.ID.String(),
		"staff":      h.StaffOf(third, domain.RoleSupport).Session.ID.String(),
		"invitation": invitation.ID.String(),
		"passkey":    h.PasskeyOf(h.StaffOf(scope.AccountID, domain.RoleOwner).Session.ID).String(), // another user's
		"browser":    h.StaffOf(scope.AccountID, domain.RoleOwner).Session.SessionID.String(),       // another user's
		"session":    h.NewSession(scope, domain.NewSession{}).ID.String(),
		"invoice":    h.LastInvoice(third).ID.String(), // the same in both modes
		"document":   domain.NewDocumentID().String(),
	}
}

// NewEndpoint sets up a webhook endpoint.
func (h *Harness) NewEndpoint(scope domain.Scope, url string) domain.EndpointID {
	h.Helper()
	made, err := h.Service.Webhooks.CreateEndpoint(h.Context(), scope, nil, Operator, webhooks.EndpointParams{URL: &url})
	h.OK(err)
	return made.ID
}

// outageOf has the delivery's first attempt fail, and returns the outage that this began.
func outageOf(h *Harness, scope domain.Scope, d *domain.Delivery) domain.OutageID {
	h.Helper()
	now, status, class := h.Clock.Now(), http.StatusServiceUnavailable, webhook.ClassStatus
	next := now.Add(time.Hour)
	h.OK(h.DB.RecordAttempts(h.Context(), []db.AttemptOutcome{{Scope: scope, Cycle: 1, State: domain.DeliveryPending, Next: &next,
		DeliveryAttempt: domain.DeliveryAttempt{DeliveryID: d.ID, Number: 1, StartedAt: now, RequestHeaders: []byte(`{}`),
			StatusCode: &status, ErrorClass: &class}}},
		[]db.EndpointHealth{{ID: d.EndpointID, At: now, Failures: 1, StatusCode: status, ErrorClass: class,
			Counted: domain.EndpointMonth{Attempts: 1}}}))
	outages, err := h.DB.Outages(h.Context(), []domain.EndpointID{d.EndpointID}, 1)
	h.OK(err)
	return outages[d.EndpointID][0].ID
}

// testEventOf stores the result of a test event.
func testEventOf(h *Harness, account domain.AccountID) string {
	h.Helper()
	id := domain.NewDeliveryID()
	h.OK(h.DB.InsertTestEvent(h.Context(), id, account,
		[]byte(`{"URL": "https://lender.example/hook", "Result": {"StatusCode": 204}}`), h.Clock.Now()))
	return id.String()
}

// WalkPath is the route's path in test mode with the objects' ids in it. A new
// kind of id in a path needs an object of walkObjects.
func WalkPath(t testing.TB, path string, objects map[string]string) string {
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

// Recorded records an attempt that ends the delivery in the state.
func (h *Harness) Recorded(d *domain.Delivery, state domain.DeliveryState, status int, class string) {
	h.Helper()
	attempt := domain.DeliveryAttempt{DeliveryID: d.ID, Number: d.AttemptsTotal + 1, StartedAt: h.Clock.Now(), DurationMS: 12,
		RequestHeaders: []byte(`{}`)}
	if status != 0 {
		attempt.StatusCode = &status
	}
	if class != "" {
		attempt.ErrorClass = &class
	}
	h.OK(h.DB.RecordAttempts(h.Context(), []db.AttemptOutcome{{DeliveryAttempt: attempt, Scope: domain.Scope{AccountID: d.AccountID,
		Livemode: d.Livemode}, SessionID: d.SessionID, Cycle: d.Cycle, State: state}}, nil))
}

// Mark is in all that marked makes, so that a page that shows any of it can be
// told.
const Mark = "Zaphod"

// Marked makes in the scope one of each that fieldCases name.
func Marked(h *Harness, scope domain.Scope) map[string]string {
	h.Helper()
	actor := domain.Actor{Kind: domain.ActorOperator, ID: "test", Name: Mark + " of " + scope.AccountID.String()}
	key, _, err := h.Service.Keys.Create(h.Context(), scope, actor, keys.Params{Name: Mark})
	h.OK(err)
	email := strings.ToLower(Mark) + "@" + map[bool]string{false: "test", true: "live"}[scope.Livemode] + ".example"
	session := h.NewSession(scope, domain.NewSession{
		CustomerEmail: email, CustomerName: Mark, ReferenceID: Mark + "-1", WebhookURL: "https://" + strings.ToLower(Mark) +
			".example/hook",
	})
	h.Open(session.ID)
	h.Upload(session.ID, Mark+".pdf")
	h.RecordEvent(session, domain.PDFReadyPayload{SessionID: session.ID})
	deliveries, err := h.DB.Deliveries(h.Context(), session.ID)
	h.OK(err)
	for i := range deliveries {
		h.Recorded(&deliveries[i], domain.DeliveryFailed, 503, webhook.ClassStatus)
	}
	request := domain.APIRequest{
		ID: domain.NewRequestID(h.Clock.Now()), AccountID: scope.AccountID, Livemode: scope.Livemode, KeyID: key.ID, Method: "GET",
		Route: "/v1/" + Mark, Status: http.StatusOK,
	}
	h.OK(h.DB.InsertAPIRequests(h.Context(), []domain.APIRequest{request}))
	documents, err := h.DB.Documents(h.Context(), session.ID)
	h.OK(err)
	return map[string]string{
		"endpoint": deliveries[0].EndpointID.String(), "session": session.ID.String(), "key": key.ID.String(),
		"request": request.ID.String(),
		"email":   email, "reference": Mark + "-1", "who": actor.Name, "document": documents[0].ID.String(),
		"audit": QueryOne[domain.AuditID](h, `SELECT id FROM audit_log WHERE account_id = $1 ORDER BY id DESC LIMIT 1`,
			scope.AccountID).String(),
	}
}

// Stored is what each table holds, in one hash; when users were last seen is
// left out.
func (h *Harness) Stored() map[string]string {
	h.Helper()
	var tables []string
	h.OK(h.DB.Raw().SelectContext(h.Context(), &tables, `
		SELECT table_name FROM information_schema.tables
		WHERE table_schema = 'public' AND table_type = 'BASE TABLE' AND table_name NOT IN ('staff_session', 'river_leader',
			'river_queue')`))
	if len(tables) < 20 {
		h.Fatal(errors.New("not all tables are looked at"))
	}
	out := map[string]string{}
	for _, name := range tables {
		out[name] = QueryOne[string](h,
			`SELECT count(*) || ' rows, ' || md5(coalesce(string_agg(t::text, chr(10) ORDER BY t::text), '')) FROM `+name+` t`)
	}
	return out
}

// WantStored fails where a table holds something else than before.
func (h *Harness) WantStored(before map[string]string) {
	h.Helper()
	for name, now := range h.Stored() {
		if now != before[name] {
			h.Errorf("the table %s has changed: %s, before %s", name, now, before[name])
		}
	}
}
