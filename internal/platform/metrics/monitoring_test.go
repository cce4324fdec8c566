package metrics_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/platform/metrics"
	"candor/internal/testkit"
)

// promtool runs Prometheus' checker in the folder of the alerts and boards.
func promtool(t *testing.T, args ...string) {
	t.Helper()
	testkit.Slow(t) // make test-fast needs no promtool
	cmd := exec.CommandContext(t.Context(), "promtool", args...)
	cmd.Dir = monitoring(t)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func monitoring(t *testing.T) string {
	t.Helper()
	root, err := testkit.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(root, "packaging", "monitoring")
}

func content(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(monitoring(t), name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// board is what this test reads of a Grafana board.
type board struct {
	UID    string `json:"uid"`
	Title  string `json:"title"`
	Panels []struct {
		ID      int    `json:"id"`
		Type    string `json:"type"`
		Title   string `json:"title"`
		GridPos struct{ H, W, X, Y int }
		Targets []struct {
			Expr         string `json:"expr"`
			LegendFormat string `json:"legendFormat"`
		} `json:"targets"`
	} `json:"panels"`
}

// queries are those of all boards.
func queries(t *testing.T) (out []string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(monitoring(t), "*.json"))
	if err != nil || len(names) < 2 {
		t.Fatalf("boards %v, %v", names, err)
	}
	for _, name := range names {
		var b board
		if err := json.Unmarshal([]byte(content(t, filepath.Base(name))), &b); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if b.UID+".json" != filepath.Base(name) || b.Title == "" {
			t.Errorf("%s has the uid %q and the title %q", name, b.UID, b.Title)
		}
		seen := map[int]bool{}
		for _, p := range b.Panels {
			if seen[p.ID] || p.GridPos.X+p.GridPos.W > 24 || p.Title == "" || (p.Type == "row") != (len(p.Targets) == 0) {
				t.Errorf("%s: the panel %d, %q, has another's id, no place, no title or no query", name, p.ID, p.Title)
			}
			seen[p.ID] = true
			for _, target := range p.Targets {
				out = append(out, strings.ReplaceAll(target.Expr, "$__rate_interval", "5m"))
			}
		}
	}
	return out
}

// scraped are the names of everything in /metrics, and of its labels.
func scraped(t *testing.T) (names, labels map[string]bool) {
	t.Helper()
	m := metrics.New(metrics.Source{
		Backlog: func(context.Context) (db.DeliveryBacklog, error) { return db.DeliveryBacklog{}, nil },
		Pool: func() sql.DBStats {
			return sql.DBStats{}
		}, Clock: time.Now, Version: "v1", CommitWaits: func() db.CommitWaits { return db.CommitWaits{Known: true} },
		Signs: func(context.Context) (db.Signs, error) {
			return db.Signs{Archives: true, Queues: []db.QueueAge{{Queue: "pdf"}}}, nil
		}, Free: func() (uint64, error) { return 1, nil }, BackupFolder: t.TempDir(),
	})
	m.LinkEmailed(domain.LinkItself, domain.LinkSent)
	m.Attempted("", time.Second)
	m.Worked("pdf", false)
	m.Answered("GET", "/v1/sessions", 200, time.Second)
	m.Forbidden(domain.ActorKey)
	m.LimitsShared(true)
	m.CertificateExpires(time.Now())
	_, families := scrape(t, m)
	names, labels = map[string]bool{}, map[string]bool{"le": true, "job": true, "instance": true, "mountpoint": true}
	for name, f := range families {
		names[name] = true
		for _, one := range f.GetMetric() {
			for _, l := range one.GetLabel() {
				labels[l.GetName()] = true
			}
			if one.GetHistogram() != nil {
				names[name+"_bucket"], names[name+"_sum"], names[name+"_count"] = true, true, true
			}
		}
	}
	return names, labels
}

var (
	metricName = regexp.MustCompile(`\b(?:candor|go|process)_[a-z_]+\b`)
	matched    = regexp.MustCompile(`([a-z_]+)(?:=|=~|!=|!~)"`)
	grouped    = regexp.MustCompile(`by \(([a-z_, ]+)\)`)
	part       = regexp.MustCompile(`_(bucket|sum|count)$`) // of a histogram
	alertName  = regexp.MustCompile(`(?m)^ +- alert: (\w+)$`)
	alertExpr  = regexp.MustCompile(`(?m)^ +expr: (.+)$`)
)

// Each metric and label of a board or alert is one that /metrics shows, and each
// metric of Candor's own is documented.
func TestMonitoringNamesWhatExists(t *testing.T) {
	t.Parallel()
	names, labels := scraped(t)
	all := queries(t)
	for _, match := range alertExpr.FindAllStringSubmatch(content(t, "candor.rules.yml"), -1) {
		all = append(all, match[1])
	}
	used := 0
	for _, query := range all {
		for _, name := range metricName.FindAllString(query, -1) {
			used++
			if !names[name] {
				t.Errorf("%s: /metrics has no %s", query, name)
			}
		}
		for _, match := range append(matched.FindAllStringSubmatch(query, -1), grouped.FindAllStringSubmatch(query, -1)...) {
			for label := range strings.SplitSeq(match[1], ", ") {
				if !labels[label] {
					t.Errorf("%s: no metric has the label %s", query, label)
				}
			}
		}
	}
	if used < 40 {
		t.Errorf("%d metrics are used, want all alerts and boards read", used)
	}
	operations, err := os.ReadFile(filepath.Join(monitoring(t), "..", "..", "doc", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	for name := range names {
		if strings.HasPrefix(name, "candor_") && !strings.Contains(string(operations), part.ReplaceAllString(name, "")) {
			t.Errorf("doc/operations.md doesn't say what %s means", name)
		}
	}
}

// Each alert has a heading that begins with what to type, a test that makes it fire, and
// its metrics on a board.
func TestAlertsHaveRunbooksAndTests(t *testing.T) {
	t.Parallel()
	rules, tests := content(t, "candor.rules.yml"), content(t, "candor.rules.test.yml")
	operations, err := os.ReadFile(filepath.Join(monitoring(t), "..", "..", "doc", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	boards := strings.Join(queries(t), "\n")
	for _, metric := range metricName.FindAllString(rules, -1) {
		if !strings.Contains(boards, part.ReplaceAllString(metric, "")) {
			t.Errorf("%s is in an alert and on no board", metric)
		}
	}
	names := alertName.FindAllStringSubmatch(rules, -1)
	for _, match := range names {
		name := match[1]
		if !strings.Contains(string(operations), "\n### "+name+"\n\n    ") {
			t.Errorf("the runbook of %s doesn't begin with what to type", name)
		}
		if !strings.Contains(rules, "runbook: doc/operations.md#"+strings.ToLower(name)+"\n") ||
			!strings.Contains(string(operations), "\n### "+name+"\n") {
			t.Errorf("%s has no runbook in doc/operations.md", name)
		}
		if !strings.Contains(tests, fmt.Sprintf("alertname=%q, alertstate=\"firing\"", name)) {
			t.Errorf("no test makes %s fire", name)
		}
	}
	if len(names) < 15 {
		t.Errorf("%d alerts", len(names))
	}
}

func TestAlertsFire(t *testing.T) {
	t.Parallel()
	promtool(t, "check", "rules", "candor.rules.yml")
	promtool(t, "test", "rules", "candor.rules.test.yml")
	promtool(t, "check", "config", "prometheus.yml")
}

// Prometheus parses each query of the boards.
func TestBoardsParse(t *testing.T) {
	t.Parallel()
	var rules strings.Builder
	rules.WriteString("groups:\n- name: boards\n  rules:\n")
	for i, query := range queries(t) {
		fmt.Fprintf(&rules, "  - record: board:query:%d\n    expr: %q\n", i, query)
	}
	path := filepath.Join(t.TempDir(), "boards.yml")
	if err := os.WriteFile(path, []byte(rules.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	promtool(t, "check", "rules", path)
}
