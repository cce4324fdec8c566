package api_test

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
	"candor/internal/testkit"
	"candor/internal/testkit/harness"
)

// An authRoute is a request to an endpoint with the permissions it needs (D29).
type authRoute struct {
	harness.Call
	needs []domain.Permission
}

// authRoutes is a request to each endpoint.
func authRoutes(id string) (out []authRoute) {
	ids := strings.NewReplacer("/v1", "", ":id", id, ":document_id", "doc_01h455vb4pex5vsknk084sn02q")
	for _, route := range harness.RoutesOf(handlers.APIKey) {
		call := harness.Call{Method: route.Method, Path: ids.Replace(route.Path)}
		if route.Method == http.MethodPost {
			call.Body = strings.Replace(harness.ValidBody, "{", `{"to": "opened", `, 1) // what any of them requires
		}
		out = append(out, authRoute{call, route.Permissions})
	}
	return out
}

// unknownSession is a well-formed id that no session has.
const unknownSession = "sess_01h455vb4pex5vsknk084sn02q"

func TestAuthorizationHeader(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	_, unknown := domain.NewAPIKey(h.TestScope(), "never stored", harness.StartTime)
	for name, test := range map[string]struct {
		header []string
		code   string // "" where it is accepted
	}{
		"absent":                {nil, "unauthorized"},
		"empty":                 {[]string{""}, "unauthorized"},
		"scheme alone":          {[]string{"Bearer"}, "unauthorized"},
		"scheme and space":      {[]string{"Bearer "}, "unauthorized"},
		"key alone":             {[]string{h.Account.TestKey}, "unauthorized"},
		"another scheme":        {[]string{"Basic " + h.Account.TestKey}, "unauthorized"},
		"two keys":              {[]string{"Bearer " + h.Account.TestKey + " " + h.Account.TestKey}, "unauthorized"},
		"two headers":           {[]string{"Bearer " + h.Account.TestKey, "Bearer " + h.Account.TestKey}, "unauthorized"},
		"not a key":             {[]string{"Bearer secret"}, "invalid_api_key"},
		"mistyped":              {[]string{"Bearer " + h.Account.TestKey[:len(h.Account.TestKey)-1] + "!"}, "invalid_api_key"},
		"unknown":               {[]string{"Bearer " + unknown}, "invalid_api_key"},
		"not UTF-8":             {[]string{"Bearer \xff\xfe"}, "invalid_api_key"},
		"valid":                 {[]string{"Bearer " + h.Account.TestKey}, ""},
		"scheme in lower case":  {[]string{"bearer " + h.Account.TestKey}, ""},
		"live key":              {[]string{"Bearer " + h.Account.LiveKey}, ""},
		"webhook secret as key": {[]string{"Bearer " + h.Account.TestWebhookSecret}, "invalid_api_key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := h.In(t)
			r := h.Request(harness.Call{Method: http.MethodGet, Path: "/sessions", Key: harness.NoKey})
			r.Header["Authorization"] = test.header
			w := h.Serve(r)
			h.CheckContract(r, w)
			if test.code == "" {
				harness.AnswerOf(t, w).WantStatus(http.StatusOK)
				return
			}
			harness.AnswerOf(t, w).WantError(http.StatusUnauthorized, test.code, "")
			if w.Header().Get("WWW-Authenticate") != `Bearer realm="Candor"` {
				t.Errorf("WWW-Authenticate: %q", w.Header().Get("WWW-Authenticate"))
			}
		})
	}
}

func TestEveryEndpointNeedsAKey(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	for _, call := range authRoutes(unknownSession) {
		call.Key = harness.NoKey
		h.Do(call.Call).WantError(http.StatusUnauthorized, "unauthorized", "")
		call.Key = "candor_test_wrong"
		h.Do(call.Call).WantError(http.StatusUnauthorized, "invalid_api_key", "")
	}
}

// TestPermissions tries every set of permissions on each endpoint (D29, D51).
func TestPermissions(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := harness.New(t)
	for set := range 1 << len(domain.AllPermissions) {
		granted := domain.Permissions{}
		for i, one := range domain.AllPermissions {
			if set&(1<<i) != 0 {
				granted = append(granted, one)
			}
		}
		key := h.RestrictedKey(granted)
		for _, call := range authRoutes(unknownSession) {
			call.Key = key
			a := h.Do(call.Call)
			lacking := slices.DeleteFunc(slices.Clone(call.needs), granted.Allow)
			switch {
			case len(lacking) == 0:
				if a.Code == http.StatusForbidden || a.Code == http.StatusUnauthorized {
					t.Errorf("%s %s with %s: %d %s", call.Method, call.Path, granted, a.Code, a.Body)
				}
				continue
			case slices.Contains(call.needs, domain.BillingRead):
				a.WantError(http.StatusForbidden, "billing_access_denied", "")
			default:
				a.WantError(http.StatusForbidden, "forbidden", "")
			}
			for _, one := range call.needs {
				if !strings.Contains(a.Body.String(), string(one)) {
					t.Errorf("%s %s doesn't name %s: %s", call.Method, call.Path, one, a.Body)
				}
			}
		}
	}
}

// TestLinkOfAnOpenedSession checks that a key without data:read gets a
// session's link until the customer has opened it, and never after (D51). It is the one
// for one browser (D92), also of a request that a key with data:read sent first.
func TestLinkOfAnOpenedSession(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	reader := h.RestrictedKey(domain.Permissions{domain.SessionsRead, domain.SessionsWrite})
	create := harness.Call{Method: http.MethodPost, Path: "/sessions", Body: harness.ValidBody, Key: reader,
		Header: "Idempotency-Key: link"}
	created := h.Do(create).WantStatus(http.StatusCreated).Object()
	link := created["session_url"]
	id, err := domain.ParseSessionID(created["id"].(string))
	h.OK(err)
	full := harness.BaseURL + h.Link(id)
	if link == full || link != h.Service.Sessions.URL(&domain.Session{ID: id}, false) {
		t.Errorf("the key gets %v", link)
	}
	check := func(when string, forReader any) {
		t.Helper()
		for key, want := range map[string]any{
			reader: forReader, h.Account.TestKey: full,
			h.RestrictedKey(domain.Permissions{domain.SessionsRead, domain.DataRead}): full,
		} {
			got, there := h.Do(harness.Call{Method: http.MethodGet, Path: "/sessions/" + id.String(), Key: key}).WantStatus(http.StatusOK).
				Object()["session_url"]
			if got != want || !there {
				t.Errorf("%s: session_url %v, want %v", when, got, want)
			}
		}
		if again := h.Do(create).WantStatus(http.StatusCreated).Object()["session_url"]; again != link {
			t.Errorf("%s: the replayed answer has session_url %v, want %v", when, again, link)
		}
	}
	check("not opened", link)
	h.Open(id)
	check("opened", nil)
	h.Complete(id)
	check("completed", nil)

	first := h.PostOnce("of the full key", harness.ValidBody).WantStatus(http.StatusCreated).Object()
	again := create
	again.Header = "Idempotency-Key: of the full key"
	repeated := h.Do(again).WantStatus(http.StatusCreated).Object()
	if id, err = domain.ParseSessionID(first["id"].(string)); err != nil || repeated["id"] != first["id"] {
		t.Fatalf("%v, repeated %v", first["id"], repeated["id"])
	}
	if repeated["session_url"] != h.Service.Sessions.URL(&domain.Session{ID: id}, false) ||
		first["session_url"] != harness.BaseURL+h.Link(id) {
		t.Errorf("the key without data:read repeats %v and gets %v", first["session_url"], repeated["session_url"])
	}
}

// TestKeyEnds checks that a deleted or expired key stops working at once,
// while others go on.
func TestKeyEnds(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	second, text, err := h.Service.Keys.Create(h.Context(), h.TestScope(), harness.Operator, keys.Params{Name: "Second"})
	h.OK(err)
	get := harness.Call{Method: http.MethodGet, Path: "/sessions", Key: text}
	h.Do(get).WantStatus(http.StatusOK)
	h.OK(h.Service.Keys.Delete(h.Context(), h.TestScope(), harness.Operator, second.ID, "Second"))
	h.Do(get).WantError(http.StatusUnauthorized, "invalid_api_key", "")

	expiring, text := domain.NewAPIKey(h.TestScope(), "Expiring", h.Clock.Now())
	end := harness.StartTime.Add(time.Hour)
	expiring.ExpiresAt = &end
	h.OK(h.Service.DB.InTx(h.Context(), func(tx *db.Tx) error { return tx.InsertAPIKey(h.Context(), &expiring) }))
	get.Key = text
	h.Clock.Set(end.Add(-time.Millisecond))
	h.Do(get).WantStatus(http.StatusOK)
	h.Clock.Set(end)
	h.Do(get).WantError(http.StatusUnauthorized, "invalid_api_key", "")
	h.Get("/sessions").WantStatus(http.StatusOK)
}

// TestIsolation checks that another account's or mode's session doesn't exist
// (D3).
func TestIsolation(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	other := h.NewAccount("other@lender.example", "enterprise")
	session := h.NewSession(h.TestScope(), domain.NewSession{ReferenceID: "R1"})
	h.Complete(session.ID)
	h.StorePDF(session.ID, []byte("%PDF-1.7"))
	path := "/sessions/" + session.ID.String()
	for name, key := range map[string]string{"other account": other.TestKey, "other account's live mode": other.LiveKey,
		"own live mode": h.Account.LiveKey} {
		for _, call := range authRoutes(session.ID.String()) {
			if !strings.Contains(call.Path, "/sessions/") {
				continue
			}
			call.Key = key
			code := "session_not_found"
			if strings.HasPrefix(call.Path, "/test/") && strings.HasPrefix(key, "candor_live_") {
				code = "not_found"
			}
			h.Do(call.Call).WantError(http.StatusNotFound, code, "")
		}
		list := h.Do(harness.Call{Method: http.MethodGet, Path: "/sessions?reference_id=R1", Key: key}).
			WantStatus(http.StatusOK).Object()
		if len(list["data"].([]any)) != 0 || list["pagination"].(map[string]any)["total"] != 0.0 {
			t.Errorf("%s: list %v", name, list)
		}
		usage := h.Do(harness.Call{Method: http.MethodGet, Path: "/billing/usage", Key: key}).WantStatus(http.StatusOK).Object()
		if usage["sessions"].(map[string]any)["total_created"] != 0.0 {
			t.Errorf("%s: usage %v", name, usage)
		}
	}
	h.Get(path + "/data").WantStatus(http.StatusOK)
}

// TestDatabaseDown checks that a request is a plain 500 while the database
// can't be reached, with all headers, also for who has used up an address's limit:
// whether that is theirs isn't known.
func TestDatabaseDown(t *testing.T) {
	t.Parallel()
	h := harness.New(t, limitOf(t, 8))
	h.OK(h.DB.Close())
	for range 8 {
		h.Do(harness.Call{Method: http.MethodGet, Path: "/sessions", Key: harness.NoKey}).WantError(http.StatusUnauthorized,
			"unauthorized", "")
	}
	for _, call := range []harness.Call{
		{Method: http.MethodGet, Path: "/sessions", Key: h.Account.TestKey},
		{Method: http.MethodPost, Path: "/sessions", Body: harness.ValidBody, Key: h.Account.TestKey, Header: "Idempotency-Key: a"},
	} {
		a := h.Do(call).WantError(http.StatusInternalServerError, "internal_error", "")
		if text := a.Body.String(); strings.Contains(text, "sql") || strings.Contains(text, "db:") {
			t.Errorf("the answer tells of the inside: %s", text)
		}
	}
	h.Do(harness.Call{Method: http.MethodGet, Path: "/sessions", Key: harness.NoKey}).WantError(http.StatusTooManyRequests,
		"rate_limit_exceeded", "")
}
