package handlers_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"candor/handlers"
	"candor/internal/testkit/harness"
)

// TestDevelopmentChecksTheHost: in development a page of another name, which was
// pointed at this machine, reads nothing. Production and probes take any name.
func TestDevelopmentChecksTheHost(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	for name, tt := range map[string]struct {
		change func(*handlers.Config)
		known  string
		others string // refused
	}{
		"development": {func(c *handlers.Config) { c.Development = true },
			"localhost localhost:8080 LOCALHOST 127.0.0.1:8080 127.0.0.1 [::1]:8080 [::1] candor.example candor.example:81",
			"evil.example evil.example:8080 localhost.evil.example candor.example.evil.example 192.168.1.5:8080 [fe80::1] 2130706433"},
		"remote": {func(c *handlers.Config) { c.Development, c.Remote = true, true },
			"localhost 192.168.1.5:8080 [fe80::1] candor.example", "evil.example my-laptop:8080"},
		"production": {func(*handlers.Config) {}, "localhost candor.example evil.example 10.0.0.7:8080", ""},
	} {
		config := h.Config
		tt.change(&config)
		handler, err := handlers.New(config)
		h.OK(err)
		for _, path := range []string{"/", "/dashboard/sign-in", "/v1/openapi.json", "/nowhere", "/healthz", "/readyz"} {
			ask := func(host string, refused bool) {
				t.Helper()
				r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
				r.Host = host
				answer := httptest.NewRecorder()
				handler.ServeHTTP(answer, r)
				if got := answer.Code == http.StatusMisdirectedRequest; got != (refused && !strings.HasSuffix(path, "z")) {
					t.Errorf("%s: %s by the name %q: %d", name, path, host, answer.Code)
				}
			}
			for _, host := range strings.Fields(tt.known) {
				ask(host, false)
			}
			for _, host := range strings.Fields(tt.others) {
				ask(host, true)
			}
		}
	}
}
