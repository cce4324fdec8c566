package main_test

import (
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"candor/internal/testkit"
	"candor/internal/testkit/dbtest"
	"candor/internal/testkit/hooktest"
	"candor/internal/testkit/process"
)

var metricsAddr = regexp.MustCompile(`msg=ready .*metrics_addr=(\S+)`)

// Metrics and profiles are at the operators' address only; metrics count a
// delivery.
func TestMetricsAtTheOperatorsAddress(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	env := process.NewEnvironment(t).With("CANDOR_METRICS_ADDR", "127.0.0.1:0")
	a := process.CreateAccount(t, env)
	hooks := hooktest.NewReceiver(t, nil)
	hooks.SetSecret(a.TestWebhookSecret)
	p := process.Serve(t, env, "serve")
	ops := "http://" + p.WaitFor(metricsAddr)[1]
	s := process.NewPartner(t, p.URL, a.TestKey).CreateSession(hooks.URL)
	process.OpenForm(t, s.SessionURL)
	hooks.Wait("session.accessed", 1)

	testkit.Await(t, "the metrics", func() bool {
		text := fetch(t, ops+"/metrics", http.StatusOK)
		return strings.Contains(text, `candor_events_total{type="session.accessed"} 1`) &&
			strings.Contains(text, `candor_webhook_attempts_total{outcome="delivered"} 1`) &&
			strings.Contains(text, "candor_database_readable 1") && strings.Contains(text, `route="/v1/sessions"`) &&
			!strings.Contains(text, s.ID)
	})
	var named []string
	err := dbtest.Open(t, env["DATABASE_URL"]).Raw().SelectContext(t.Context(), &named, `
		SELECT DISTINCT application_name FROM pg_stat_activity
		WHERE datname = current_database() AND application_name LIKE 'candor-%'`)
	if err != nil || !slices.Equal(named, []string{"candor-serve/development"}) {
		t.Errorf("PostgreSQL sees %q, %v", named, err)
	}
	fetch(t, ops+"/readyz", http.StatusOK)
	fetch(t, ops+"/v1/sessions", http.StatusNotFound)
	fetch(t, ops+"/debug/pprof/goroutine?debug=1", http.StatusOK)
	fetch(t, p.URL+"/metrics", http.StatusNotFound)
	fetch(t, p.URL+"/debug/pprof/", http.StatusNotFound)

	busy := process.Run(t, env.With("CANDOR_METRICS_ADDR", strings.TrimPrefix(ops, "http://"), "CANDOR_ADDR", "127.0.0.1:0"), "web")
	if busy.Code != 1 || !strings.Contains(busy.Stderr, "CANDOR_METRICS_ADDR") {
		t.Errorf("a busy address: exit code %d, %s", busy.Code, busy.Stderr)
	}
}

func fetch(t *testing.T, url string, status int) string {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != status {
		t.Errorf("%s: status %d, want %d", url, response.StatusCode, status)
	}
	return string(body)
}
