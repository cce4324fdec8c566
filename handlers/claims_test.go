package handlers_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"candor/internal/testkit/harness"
)

// TestUnknownMethods: a method that an address doesn't take is refused, TRACE too, and
// nothing that was sent comes back.
func TestUnknownMethods(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	form := h.NewCustomer()
	for _, path := range []string{"/", "/v1", "/v1/sessions", "/v1/openapi.json", form.Path(""), form.Path("income"), "/dashboard",
		"/dashboard/sign-in", "/dashboard/test", "/docs", "/healthz", "/readyz", "/nothing"} {
		for _, method := range []string{http.MethodTrace, http.MethodConnect, "BREW", http.MethodPatch} {
			r := httptest.NewRequestWithContext(t.Context(), method, harness.BaseURL+path, nil)
			r.Header.Set("X-Sent", "comes back")
			answer := form.Send(r)
			if answer.Code != http.StatusMethodNotAllowed && answer.Code != http.StatusNotFound ||
				strings.Contains(answer.Body.String(), "comes back") {
				t.Errorf("%s %s answers %d", method, path, answer.Code)
			}
		}
	}
}

// TestOtherSitesReadPublicAnswersAlone: browsers let the scripts of other sites read the
// API's description, and why a request from a browser is refused. Nothing else.
func TestOtherSitesReadPublicAnswersAlone(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	form := h.NewCustomer()
	for path, readable := range map[string]bool{
		"/v1/openapi.json": true, "/v1/sessions": true, "/": false, form.Path(""): false, form.Path("income"): false,
		"/dashboard/sign-in": false, "/dashboard/test": false, "/docs": false, "/healthz": false, "/nothing": false,
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, harness.BaseURL+path, nil)
		r.Header.Set("Origin", "https://evil.example")
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		r.Header.Set("Sec-Fetch-Mode", "cors")
		answer := form.Send(r)
		if got := answer.Header().Get("Access-Control-Allow-Origin"); (got != "") != readable || answer.Header().
			Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s: Access-Control-Allow-Origin %q, status %d", path, got, answer.Code)
		}
	}
}
