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

	"go.yaml.in/yaml/v3"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/platform/metrics"
	"candor/internal/platform/postgres"
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

// alert is what this test reads of a rule of Prometheus.
type alert struct {
	Alert, Expr string
	Labels      struct{ Severity string }
	Annotations struct{ Runbook string }
}

func alerts(t *testing.T) (out []alert) {
	t.Helper()
	var file struct{ Groups []struct{ Rules []alert } }
	if err := yaml.Unmarshal([]byte(content(t, "candor.rules.yml")), &file); err != nil {
		t.Fatal(err)
	}
	for _, group := range file.Groups {
		out = append(out, group.Rules...)
	}
	if len(out) < 15 {
		t.Fatalf("%d alerts", len(out))
	}
	return out
}

// firing has the names of the rules' tests in which each alert fires.
func firing(t *testing.T) map[string]string {
	t.Helper()
	var file struct {
		Tests []struct {
			Name  string
			Asked []struct {
				Samples []struct{ Labels string } `yaml:"exp_samples"`
			} `yaml:"promql_expr_test"`
		}
	}
	if err := yaml.Unmarshal([]byte(content(t, "candor.rules.test.yml")), &file); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, one := range file.Tests {
		for _, asked := range one.Asked {
			for _, sample := range asked.Samples {
				if match := fired.FindStringSubmatch(sample.Labels); match != nil {
					out[match[1]] += one.Name + "\n"
				}
			}
		}
	}
	return out
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
		}, Clock: time.Now, Version: "v1", CommitWaits: func() postgres.CommitWaits { return postgres.CommitWaits{Known: true} },
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
	fired      = regexp.MustCompile(`alertname="(\w+)", alertstate="firing"`)
)

// Each metric and label of a board or alert is one that /metrics shows, and each
// metric of Candor's own is documented.
func TestMonitoringNamesWhatExists(t *testing.T) {
	t.Parallel()
	names, labels := scraped(t)
	all := queries(t)
	for _, one := range alerts(t) {
		all = append(all, one.Expr)
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

// Each alert has a heading that begins with what to type, fires in a small and in a
// large installation, has its metrics on a board, and the page says whom one that can't wait wakes.
func TestAlertsHaveRunbooksAndTests(t *testing.T) {
	t.Parallel()
	operations, err := os.ReadFile(filepath.Join(monitoring(t), "..", "..", "doc", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	boards, fires := strings.Join(queries(t), "\n"), firing(t)
	_, after, _ := strings.Cut(string(operations), "| Wake | Alerts |\n")
	wakes, _, _ := strings.Cut(after, "\n\n")
	for _, one := range alerts(t) {
		for _, metric := range metricName.FindAllString(one.Expr, -1) {
			if !strings.Contains(boards, part.ReplaceAllString(metric, "")) {
				t.Errorf("%s is in an alert and on no board", metric)
			}
		}
		if !strings.Contains(string(operations), "\n### "+one.Alert+"\n\n    ") ||
			one.Annotations.Runbook != "doc/operations.md#"+strings.ToLower(one.Alert) {
			t.Errorf("%s has no runbook in doc/operations.md that begins with what to type", one.Alert)
		}
		if page := one.Labels.Severity == "page"; page != strings.Contains(wakes, one.Alert) {
			t.Errorf("%s wakes someone: %t, and doc/operations.md says another thing", one.Alert, page)
		}
		if in := fires[one.Alert]; !strings.Contains(in, "small\n") || !strings.Contains(in, "large\n") {
			t.Errorf("%s fires in tests %q, want a small and a large installation", one.Alert, in)
		}
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
