package api_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"candor/handlers"
	"candor/handlers/api"
	"candor/internal/testkit/harness"
)

// TestDeprecations: each answer of what is to be taken away says so, also to a request that is
// refused, and so does the document; nothing else does (D123).
func TestDeprecations(t *testing.T) {
	t.Parallel()
	since, sunset := time.Date(2027, 3, 1, 0, 0, 0, 0, time.UTC), time.Date(2028, 3, 1, 0, 0, 0, 0, time.UTC)
	deprecated := func(of string) *harness.Harness {
		return harness.New(t, func(c *handlers.Config) {
			c.Deprecated = []api.Deprecation{{Of: of, Since: since, Sunset: sunset, Link: "/docs/guides#versions"}}
		})
	}
	// Not by harness.Serve, which holds answers to the document of all other tests.
	header := func(h *harness.Harness, method, path, key string) http.Header {
		r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
		r.Header.Set("Authorization", "Bearer "+key)
		w := httptest.NewRecorder()
		h.Handler.ServeHTTP(w, r)
		return w.Header()
	}
	says := func(head http.Header) bool {
		return head.Get("Deprecation") == "@1803859200" && head.Get("Sunset") == "Wed, 01 Mar 2028 00:00:00 GMT" &&
			head.Get("Link") == `<`+harness.BaseURL+`/docs/guides#versions>; rel="deprecation"; type="text/html"`
	}
	one, all := deprecated("GET /v1/billing/usage"), deprecated("/v1")
	for _, test := range []struct {
		h            *harness.Harness
		method, path string
		key          string
		want         bool
	}{
		{one, http.MethodGet, "/v1/billing/usage", one.Account.TestKey, true},
		{one, http.MethodHead, "/v1/billing/usage", one.Account.TestKey, true},
		{one, http.MethodGet, "/v1/billing/usage", "wrong", true},
		{one, http.MethodGet, "/v1/billing/subscription", one.Account.TestKey, false},
		{all, http.MethodGet, "/v1/sessions/" + unknownSession, all.Account.TestKey, true},
		{all, http.MethodGet, "/docs", all.Account.TestKey, false},
	} {
		head := header(test.h, test.method, test.path, test.key)
		if says(head) != test.want || !test.want && head.Get("Deprecation")+head.Get("Sunset") != "" {
			t.Errorf("%s %s: %v", test.method, test.path, head)
		}
	}
	w := httptest.NewRecorder()
	one.Handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/openapi.json", nil))
	var document struct {
		Paths map[string]map[string]struct{ Deprecated bool }
	}
	one.OK(json.Unmarshal(w.Body.Bytes(), &document))
	if !document.Paths["/billing/usage"]["get"].Deprecated || document.Paths["/sessions"]["post"].Deprecated {
		t.Error("the document doesn’t say what is deprecated, or says it of another operation")
	}
}

// TestDeprecationsAreComplete: an entry names a route or a version, and leaves twelve months.
func TestDeprecationsAreComplete(t *testing.T) {
	t.Parallel()
	known := map[string]bool{"/v1": true}
	for _, r := range handlers.Routes() {
		known[r.Method+" "+r.Path] = true
	}
	for _, d := range api.Deprecations {
		if !known[d.Of] || d.Since.AddDate(1, 0, 0).After(d.Sunset) || d.Link == "" {
			t.Errorf("%+v", d)
		}
	}
}
