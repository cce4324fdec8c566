package main_test

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"candor/internal/testkit"
	"candor/internal/testkit/process"
)

// A logLine is what every line of the process log has, and what some have.
type logLine struct {
	Time     time.Time
	Level    string
	Msg      string
	Route    string
	Duration string
	Err      string
	Error    string
}

func logLines(t *testing.T, p *process.Candor) (lines []logLine) {
	t.Helper()
	for text := range strings.Lines(p.Stdout.String()) {
		var l logLine
		if err := json.Unmarshal([]byte(text), &l); err != nil && strings.HasSuffix(text, "\n") {
			t.Fatalf("%v in the line %s", err, text)
		}
		lines = append(lines, l)
	}
	return lines
}

// Probes that find the process well leave no line, durations say their unit, and while
// PostgreSQL is stopped or silent there is at most one line a second.
func TestDrillProcessLog(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	dir := filepath.Join(openDir(t), "pg")
	postgres := startPostgres(t, dir)
	env := process.ProductionEnvironment(t, postgres.DSN("candor")).With("CANDOR_METRICS_ADDR", "127.0.0.1:0",
		"CANDOR_DB_TIMEOUT", "1s")
	if r := process.Run(t, env, "migrate"); r.Code != 0 {
		t.Fatal(r.Stderr)
	}
	key := "Bearer " + process.CreateAccount(t, env).TestKey
	p := process.Serve(t, env, "serve")
	ask := func(path string) int {
		response, _ := ask(t, http.DefaultClient, http.MethodGet, p.URL+path, "", "Authorization", key)
		return response.StatusCode
	}
	for _, path := range []string{"/healthz", "/readyz", "/v1/sessions"} {
		if got := ask(path); got != http.StatusOK {
			t.Fatalf("%s: %d", path, got)
		}
	}
	testkit.Await(t, "the request's line", func() bool {
		for _, l := range logLines(t, p) {
			if l.Route == "/healthz" || l.Route == "/readyz" {
				t.Fatalf("a probe has the line %+v", l)
			}
			if l.Msg == "request" {
				if _, err := time.ParseDuration(l.Duration); err != nil {
					t.Fatalf("the request's duration is %q", l.Duration)
				}
				return true
			}
		}
		return false
	})

	if err := postgres.Stop(); err != nil {
		t.Fatal(err)
	}
	wantSeldom(t, p, ask)
	postgres = startPostgres(t, dir)
	testkit.Await(t, "requests are served again", func() bool { return ask("/v1/sessions") == http.StatusOK })
	thaw := freeze(t, postgres)
	wantSeldom(t, p, ask)
	thaw()
	p.Stop()
}

// wantSeldom asks for twelve seconds, and wants a second between each two lines. River's counts of
// a minute aren't about PostgreSQL.
func wantSeldom(t *testing.T, p *process.Candor, ask func(path string) int) {
	t.Helper()
	since := time.Now()
	var away []logLine
	testkit.Await(t, "twelve seconds of lines without PostgreSQL", func() bool {
		ask("/readyz")
		if got := ask("/v1/sessions"); got != http.StatusServiceUnavailable {
			t.Fatalf("without PostgreSQL a request gets %d", got)
		}
		away = slices.DeleteFunc(logLines(t, p), func(l logLine) bool {
			return l.Time.Before(since) || strings.HasSuffix(l.Msg, "Producer job counts")
		})
		return len(away) > 1 && away[len(away)-1].Time.Sub(away[0].Time) > 12*time.Second
	})
	for i, l := range away[1:] {
		if pause := l.Time.Sub(away[i].Time); pause < time.Second {
			t.Errorf("%s after %s: %v", pause, away[i].Msg, l)
		}
	}
}
