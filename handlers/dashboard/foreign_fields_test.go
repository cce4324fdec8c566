package dashboard_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"candor/internal/domain"
	"candor/internal/testkit"
	"candor/internal/testkit/harness"
)

// fieldCases are the fields of queries and forms that hold an id, or find a
// user: the path below the mode, the field, and which of marked's objects
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

// untyped is a page without what was typed, which its field, title, chips and links
// repeat. What a page would show of a foreign object has the mark more than once.
func untyped(page, value string) string {
	return strings.NewReplacer(value, "", url.QueryEscape(value), "").Replace(page)
}

// TestFieldsNameNothingForeign sends ids of another account and of the other
// mode in each field that takes one: nothing of theirs is shown, and nothing is
// stored. The account's own are found, so that the field is the one that counts.
func TestFieldsNameNothingForeign(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := harness.New(t)
	h.Clock.Advance(time.Minute)
	other := h.NewAccount("other@lender.example", "professional")
	foreign := map[string]map[string]string{
		"another account's": harness.Marked(h, domain.Scope{AccountID: other.AccountID}),
		"the other mode's":  harness.Marked(h, domain.Scope{AccountID: h.Account.AccountID, Livemode: true}),
	}
	owner := h.Staff(domain.RoleOwner)
	h.Clock.Advance(time.Minute)
	session := h.NewSession(h.TestScope(), domain.NewSession{})
	h.Complete(session.ID)
	send := func(h *harness.Harness, i int, objects map[string]string, also ...string) (int, string) {
		c := fieldCases[i]
		values := url.Values{c.field: append(also, objects[c.object])}
		for name, value := range c.with {
			values[name] = value
		}
		path := strings.NewReplacer(":session", session.ID.String(), ":foreign", objects["document"]).
			Replace("/dashboard/test/" + c.path)
		browser := *owner
		browser.Harness = h
		answer := browser.Post
		if c.method == http.MethodGet {
			path += "?" + values.Encode()
			r := browser.Get(path)
			return r.Code, r.Header().Get("Location") + r.Body.String()
		}
		r := answer(path, values)
		return r.Code, r.Header().Get("Location") + r.Body.String()
	}
	for i, c := range fieldCases {
		for whose, objects := range foreign {
			if (strings.HasPrefix(c.path, "audit") || c.object == "request" && c.finds) && whose == "the other mode's" {
				continue // the log is the same in both modes, and a request's id leads to the other one
			}
			t.Run(c.method+" "+c.path+" "+c.field+" "+whose, func(t *testing.T) {
				h := h.In(t)
				before := h.Stored()
				status, text := send(h, i, objects)
				text = strings.ToLower(untyped(text, objects[c.object]))
				if at := strings.Index(text, strings.ToLower(harness.Mark)); status >= 500 || at >= 0 {
					t.Errorf("%d, and something of theirs is shown: …%.300s", status, text[max(0, at-200):])
				}
				if c.method == http.MethodPost && status < 400 {
					t.Errorf("%d, want to be refused", status)
				}
				if strings.HasPrefix(c.path, "sessions/:session/documents") && status != http.StatusNotFound {
					t.Errorf("%d, want 404", status)
				}
				if c.field == "sessions" {
					if status, _ := send(h, i, objects, session.ID.String()); status < 400 {
						t.Errorf("beside an own one: %d, want to be refused", status)
					}
				}
				if strings.HasSuffix(c.path, "export") {
					before["audit_log"] = h.Stored()["audit_log"] // reading is audited
				}
				h.WantStored(before)
			})
		}
	}
	own := harness.Marked(h, h.TestScope())
	for i, c := range fieldCases {
		if !c.finds {
			continue
		}
		status, text := send(h, i, own)
		if status == http.StatusSeeOther && strings.Contains(text, own["session"]) {
			continue // a search for an id leads there
		}
		text = untyped(text, own[c.object])
		if status != http.StatusOK || !strings.Contains(strings.ToLower(text), strings.ToLower(harness.Mark)) {
			t.Errorf("%s %s with an own %s: %d, and it isn't shown:\n%.2000s", c.path, c.field, c.object, status, text)
		}
	}
}
