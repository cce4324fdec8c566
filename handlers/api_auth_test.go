package handlers_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"candor/db"
	"candor/handlers"
	"candor/internal/domain"
	"candor/internal/service/keys"
)

// An authRoute is a request to an endpoint with the permissions it needs (D29).
type authRoute struct {
	apiCall
	needs []domain.Permission
}

// authRoutes is a request to each endpoint.
func authRoutes(id string) (out []authRoute) {
	ids := strings.NewReplacer("/v1", "", ":id", id, ":document_id", "doc_01h455vb4pex5vsknk084sn02q")
	for _, route := range routesOf(handlers.APIKey) {
		call := apiCall{method: route.Method, path: ids.Replace(route.Path)}
		if route.Method == http.MethodPost {
			call.body = validBody
		}
		out = append(out, authRoute{call, route.Permissions})
	}
	return out
}

// unknownSession is a well-formed id that no session has.
const unknownSession = "sess_01h455vb4pex5vsknk084sn02q"

// validBody creates a session.
const validBody = `{"form_type": "financial_statement", "customer_email": "jo@customer.example"}`

func TestAuthorizationHeader(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, unknown := domain.NewAPIKey(b.testScope(), "never stored", startTime)
	for name, test := range map[string]struct {
		header []string
		code   string // "" where it is accepted
	}{
		"absent":                {nil, "unauthorized"},
		"empty":                 {[]string{""}, "unauthorized"},
		"scheme alone":          {[]string{"Bearer"}, "unauthorized"},
		"scheme and space":      {[]string{"Bearer "}, "unauthorized"},
		"key alone":             {[]string{b.account.TestKey}, "unauthorized"},
		"another scheme":        {[]string{"Basic " + b.account.TestKey}, "unauthorized"},
		"two keys":              {[]string{"Bearer " + b.account.TestKey + " " + b.account.TestKey}, "unauthorized"},
		"two headers":           {[]string{"Bearer " + b.account.TestKey, "Bearer " + b.account.TestKey}, "unauthorized"},
		"not a key":             {[]string{"Bearer secret"}, "invalid_api_key"},
		"mistyped":              {[]string{"Bearer " + b.account.TestKey[:len(b.account.TestKey)-1] + "!"}, "invalid_api_key"},
		"unknown":               {[]string{"Bearer " + unknown}, "invalid_api_key"},
		"not UTF-8":             {[]string{"Bearer \xff\xfe"}, "invalid_api_key"},
		"valid":                 {[]string{"Bearer " + b.account.TestKey}, ""},
		"scheme in lower case":  {[]string{"bearer " + b.account.TestKey}, ""},
		"live key":              {[]string{"Bearer " + b.account.LiveKey}, ""},
		"webhook secret as key": {[]string{"Bearer " + b.account.TestWebhookSecret}, "invalid_api_key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := b.in(t)
			r := b.request(apiCall{method: http.MethodGet, path: "/sessions", key: anonymous})
			r.Header["Authorization"] = test.header
			w := b.serve(r)
			b.checkResponse(r, w)
			if test.code == "" {
				answer{t, w}.status(http.StatusOK)
				return
			}
			answer{t, w}.refused(http.StatusUnauthorized, test.code, "")
			if w.Header().Get("WWW-Authenticate") != `Bearer realm="Candor"` {
				t.Errorf("WWW-Authenticate: %q", w.Header().Get("WWW-Authenticate"))
			}
		})
	}
}

func TestEveryEndpointNeedsAKey(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, call := range authRoutes(unknownSession) {
		call.key = anonymous
		b.call(call.apiCall).refused(http.StatusUnauthorized, "unauthorized", "")
		call.key = "candor_test_wrong"
		b.call(call.apiCall).refused(http.StatusUnauthorized, "invalid_api_key", "")
	}
}

// TestPermissions tries every set of permissions on each endpoint (D29, D51).
func TestPermissions(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for set := range 1 << len(domain.AllPermissions) {
		granted := domain.Permissions{}
		for i, one := range domain.AllPermissions {
			if set&(1<<i) != 0 {
				granted = append(granted, one)
			}
		}
		key := b.restrictedKey(granted)
		for _, call := range authRoutes(unknownSession) {
			call.key = key
			a := b.call(call.apiCall)
			lacking := slices.DeleteFunc(slices.Clone(call.needs), granted.Allow)
			switch {
			case len(lacking) == 0:
				if a.Code == http.StatusForbidden || a.Code == http.StatusUnauthorized {
					t.Errorf("%s %s with %s: %d %s", call.method, call.path, granted, a.Code, a.Body)
				}
				continue
			case slices.Contains(call.needs, domain.BillingRead):
				a.refused(http.StatusForbidden, "billing_access_denied", "")
			default:
				a.refused(http.StatusForbidden, "forbidden", "")
			}
			for _, one := range call.needs {
				if !strings.Contains(a.Body.String(), string(one)) {
					t.Errorf("%s %s doesn't name %s: %s", call.method, call.path, one, a.Body)
				}
			}
		}
	}
}

// restrictedKey makes a test key with these permissions alone.
func (b *bench) restrictedKey(granted domain.Permissions) string {
	b.Helper()
	row, key := domain.NewAPIKey(b.testScope(), "Restricted", b.clock.Now())
	row.Permissions = granted
	b.ok(b.service.DB.InTx(b.Context(), func(tx *db.Tx) error { return tx.InsertAPIKey(b.Context(), &row) }))
	return key
}

// TestLinkOfAnOpenedSession checks that a key without data:read gets a
// session's link until the customer has opened it, and never after (D51).
func TestLinkOfAnOpenedSession(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	reader := b.restrictedKey(domain.Permissions{domain.SessionsRead, domain.SessionsWrite})
	create := apiCall{method: http.MethodPost, path: "/sessions", body: validBody, key: reader, header: "Idempotency-Key: link"}
	created := b.call(create).status(http.StatusCreated).object()
	link := created["session_url"]
	id, err := domain.ParseSessionID(created["id"].(string))
	b.ok(err)
	check := func(when string, forReader any) {
		t.Helper()
		for key, want := range map[string]any{
			reader: forReader, b.account.TestKey: link,
			b.restrictedKey(domain.Permissions{domain.SessionsRead, domain.DataRead}): link,
		} {
			got, there := b.call(apiCall{method: http.MethodGet, path: "/sessions/" + id.String(), key: key}).status(http.StatusOK).object()["session_url"]
			if got != want || !there {
				t.Errorf("%s: session_url %v, want %v", when, got, want)
			}
		}
		if again := b.call(create).status(http.StatusCreated).object()["session_url"]; again != link {
			t.Errorf("%s: the replayed answer has session_url %v, want %v", when, again, link)
		}
	}
	check("not opened", link)
	b.open(id)
	check("opened", nil)
	b.complete(id)
	check("completed", nil)
}

// TestKeyEnds checks that a deleted or expired key stops working at once,
// while others go on.
func TestKeyEnds(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	second, text, err := b.service.Keys.Create(b.Context(), b.testScope(), someone, keys.Params{Name: "Second"})
	b.ok(err)
	get := apiCall{method: http.MethodGet, path: "/sessions", key: text}
	b.call(get).status(http.StatusOK)
	b.ok(b.service.Keys.Delete(b.Context(), b.testScope(), someone, second.ID, "Second"))
	b.call(get).refused(http.StatusUnauthorized, "invalid_api_key", "")

	expiring, text := domain.NewAPIKey(b.testScope(), "Expiring", b.clock.Now())
	end := startTime.Add(time.Hour)
	expiring.ExpiresAt = &end
	b.ok(b.service.DB.InTx(b.Context(), func(tx *db.Tx) error { return tx.InsertAPIKey(b.Context(), &expiring) }))
	get.key = text
	b.clock.set(end.Add(-time.Millisecond))
	b.call(get).status(http.StatusOK)
	b.clock.set(end)
	b.call(get).refused(http.StatusUnauthorized, "invalid_api_key", "")
	b.get("/sessions").status(http.StatusOK)
}

// TestIsolation checks that another account's or mode's session doesn't exist
// (D3).
func TestIsolation(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	other := b.newAccount("other@lender.example", "enterprise")
	session := b.newSession(b.testScope(), domain.NewSession{ReferenceID: "R1"})
	b.complete(session.ID)
	b.storePDF(session.ID, []byte("%PDF-1.7"))
	path := "/sessions/" + session.ID.String()
	for name, key := range map[string]string{"other account": other.TestKey, "other account's live mode": other.LiveKey, "own live mode": b.account.LiveKey} {
		for _, call := range authRoutes(session.ID.String()) {
			if call.path == "/sessions" || call.path == "/events" || call.path == "/billing/usage" || call.path == "/billing/subscription" {
				continue
			}
			call.key = key
			b.call(call.apiCall).refused(http.StatusNotFound, "session_not_found", "")
		}
		list := b.call(apiCall{method: http.MethodGet, path: "/sessions?reference_id=R1", key: key}).status(http.StatusOK).object()
		if len(list["data"].([]any)) != 0 || list["pagination"].(map[string]any)["total"] != 0.0 {
			t.Errorf("%s: list %v", name, list)
		}
		usage := b.call(apiCall{method: http.MethodGet, path: "/billing/usage", key: key}).status(http.StatusOK).object()
		if usage["sessions"].(map[string]any)["total_created"] != 0.0 {
			t.Errorf("%s: usage %v", name, usage)
		}
	}
	b.get(path + "/data").status(http.StatusOK)
}

// TestDatabaseDown checks that a request is a plain 500 while the database
// can't be reached, with all headers, also for who has used up an address's limit:
// whether that is theirs isn't known.
func TestDatabaseDown(t *testing.T) {
	t.Parallel()
	b := newBench(t, standardLimit(t))
	b.ok(b.db.Close())
	for range 200 {
		b.call(apiCall{method: http.MethodGet, path: "/sessions", key: anonymous}).refused(http.StatusUnauthorized, "unauthorized", "")
	}
	for _, call := range []apiCall{
		{method: http.MethodGet, path: "/sessions", key: b.account.TestKey},
		{method: http.MethodPost, path: "/sessions", body: validBody, key: b.account.TestKey, header: "Idempotency-Key: a"},
	} {
		a := b.call(call).refused(http.StatusInternalServerError, "internal_error", "")
		if text := a.Body.String(); strings.Contains(text, "sql") || strings.Contains(text, "db:") {
			t.Errorf("the answer tells of the inside: %s", text)
		}
	}
	b.call(apiCall{method: http.MethodGet, path: "/sessions", key: anonymous}).refused(http.StatusTooManyRequests, "rate_limit_exceeded", "")
}
