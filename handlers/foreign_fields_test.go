package handlers_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"candor/internal/domain"
	"candor/internal/service/keys"
	"candor/internal/testkit"
	"candor/internal/webhook"
)

// mark is in all that marked makes, so that a page that shows any of it can be
// told.
const mark = "Zaphod"

// fieldCases are the fields of queries and forms that hold an id, or what finds
// somebody: the path below the mode, the field, and which of marked's objects
// it names. Names in the path are the asking account's own objects.
var fieldCases = []struct {
	method, path, field, object string
	with                        url.Values
	finds                       bool // with an own object, it is shown
}{
	{http.MethodGet, "webhooks", "endpoint", "endpoint", nil, true},
	{http.MethodGet, "webhooks", "session", "session", nil, true},
	{http.MethodGet, "webhooks/redeliveries", "endpoint", "endpoint", url.Values{"preview": {"1"}, "since": {"2026-01-01"}}, true},
	{http.MethodPost, "webhooks/redeliveries", "endpoint", "endpoint", url.Values{"since": {"2026-01-01"}}, false},
	{http.MethodGet, "requests", "key", "key", nil, true},
	{http.MethodGet, "requests", "id", "request", nil, true},
	{http.MethodGet, "requests", "before", "request", nil, false},
	{http.MethodGet, "sessions", "q", "session", nil, true},
	{http.MethodGet, "sessions", "q", "email", nil, true},
	{http.MethodGet, "sessions", "q", "reference", nil, true},
	{http.MethodGet, "sessions", "before", "session", nil, false},
	{http.MethodGet, "sessions/export", "q", "email", nil, true},
	{http.MethodGet, "sessions/export", "q", "reference", nil, true},
	{http.MethodGet, "audit", "before", "audit", nil, false},
	{http.MethodGet, "audit", "who", "who", nil, true},
	{http.MethodGet, "audit/export", "who", "who", nil, true},
	{http.MethodPost, "sessions/:session/erase", "sessions", "session", url.Values{"confirm": {"jo@customer.example"}}, false},
	{http.MethodGet, "sessions/:session/documents/:foreign", "", "document", nil, false},
}

// marked makes in the scope one of each that fieldCases name.
func marked(b *bench, scope domain.Scope) map[string]string {
	b.Helper()
	actor := domain.Actor{Kind: domain.ActorOperator, ID: "test", Name: mark + " of " + scope.AccountID.String()}
	key, _, err := b.service.Keys.Create(b.Context(), scope, actor, keys.Params{Name: mark})
	b.ok(err)
	email := strings.ToLower(mark) + "@" + map[bool]string{false: "test", true: "live"}[scope.Livemode] + ".example"
	session := b.newSession(scope, domain.NewSession{
		CustomerEmail: email, CustomerName: mark, ReferenceID: mark + "-1", WebhookURL: "https://" + strings.ToLower(mark) + ".example/hook",
	})
	b.open(session.ID)
	b.upload(session.ID, mark+".pdf")
	b.happen(session, domain.PDFReadyPayload{SessionID: session.ID})
	deliveries, err := b.db.Deliveries(b.Context(), session.ID)
	b.ok(err)
	for i := range deliveries {
		b.recorded(&deliveries[i], domain.DeliveryFailed, 503, webhook.ClassStatus)
	}
	request := domain.APIRequest{
		ID: domain.NewRequestID(b.clock.Now()), AccountID: scope.AccountID, Livemode: scope.Livemode, KeyID: key.ID, Method: "GET", Route: "/v1/" + mark, Status: http.StatusOK,
	}
	b.ok(b.db.InsertAPIRequests(b.Context(), []domain.APIRequest{request}))
	documents, err := b.db.Documents(b.Context(), session.ID)
	b.ok(err)
	return map[string]string{
		"endpoint": deliveries[0].EndpointID.String(), "session": session.ID.String(), "key": key.ID.String(), "request": request.ID.String(),
		"email": email, "reference": mark + "-1", "who": actor.Name, "document": documents[0].ID.String(),
		"audit": one[domain.AuditID](b, `SELECT id FROM audit_log WHERE account_id = $1 ORDER BY id DESC LIMIT 1`, scope.AccountID).String(),
	}
}

// untyped is a page without what was typed: in its field, and in the links that
// keep it.
func untyped(page, field, value string) string {
	return strings.NewReplacer(`value="`+value+`"`, "", field+"="+url.QueryEscape(value), "").Replace(page)
}

// TestFieldsNameNothingForeign sends ids of another account and of the other
// mode in each field that takes one: nothing of theirs is shown, and nothing is
// stored. The account's own are found, so that the field is the one that counts.
func TestFieldsNameNothingForeign(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	b := newBench(t)
	b.clock.advance(time.Minute)
	other := b.newAccount("other@lender.example", "professional")
	foreign := map[string]map[string]string{
		"another account's": marked(b, domain.Scope{AccountID: other.AccountID}),
		"the other mode's":  marked(b, domain.Scope{AccountID: b.account.AccountID, Livemode: true}),
	}
	owner := b.staff(domain.RoleOwner)
	b.clock.advance(time.Minute)
	session := b.newSession(b.testScope(), domain.NewSession{})
	b.complete(session.ID)
	send := func(b *bench, i int, objects map[string]string, also ...string) (int, string) {
		c := fieldCases[i]
		values := url.Values{c.field: append(also, objects[c.object])}
		for name, value := range c.with {
			values[name] = value
		}
		path := strings.NewReplacer(":session", session.ID.String(), ":foreign", objects["document"]).Replace("/dashboard/test/" + c.path)
		browser := *owner
		browser.bench = b
		answer := browser.post
		if c.method == http.MethodGet {
			path += "?" + values.Encode()
			r := browser.get(path)
			return r.Code, r.Header().Get("Location") + r.Body.String()
		}
		r := answer(path, values)
		return r.Code, r.Header().Get("Location") + r.Body.String()
	}
	for i, c := range fieldCases {
		for whose, objects := range foreign {
			if strings.HasPrefix(c.path, "audit") && whose == "the other mode's" {
				continue // the log is the same in both modes
			}
			t.Run(c.method+" "+c.path+" "+c.field+" "+whose, func(t *testing.T) {
				b := b.in(t)
				before := b.stored()
				status, text := send(b, i, objects)
				text = strings.ToLower(untyped(text, c.field, objects[c.object]))
				if at := strings.Index(text, strings.ToLower(mark)); status >= 500 || at >= 0 {
					t.Errorf("%d, and something of theirs is shown: …%.300s", status, text[max(0, at-200):])
				}
				if c.method == http.MethodPost && status < 400 {
					t.Errorf("%d, want to be refused", status)
				}
				if strings.HasPrefix(c.path, "sessions/:session/documents") && status != http.StatusNotFound {
					t.Errorf("%d, want 404", status)
				}
				if c.field == "sessions" {
					if status, _ := send(b, i, objects, session.ID.String()); status < 400 {
						t.Errorf("beside an own one: %d, want to be refused", status)
					}
				}
				if strings.HasSuffix(c.path, "export") {
					before["audit_log"] = b.stored()["audit_log"] // reading is audited
				}
				b.wantStored(before)
			})
		}
	}
	own := marked(b, b.testScope())
	for i, c := range fieldCases {
		if !c.finds {
			continue
		}
		status, text := send(b, i, own)
		if status == http.StatusSeeOther && strings.Contains(text, own["session"]) {
			continue // a search for an id leads there
		}
		text = untyped(text, c.field, own[c.object])
		if status != http.StatusOK || !strings.Contains(strings.ToLower(text), strings.ToLower(mark)) {
			t.Errorf("%s %s with an own %s: %d, and it isn't shown:\n%.2000s", c.path, c.field, c.object, status, words(text))
		}
	}
}
