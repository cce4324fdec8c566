package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"candor/internal/platform/devpg"
	"candor/internal/testkit"
	"candor/internal/testkit/client"
	"candor/internal/testkit/hooktest"
	"candor/internal/testkit/ports"
	"candor/internal/testkit/process"
	"candor/internal/testkit/redistest"
)

// sooner is how the copy of the alerts that this drill uses differs: they fire within seconds.
var sooner = []string{
	"for: 15s", "for: 1s", "for: 1m", "for: 1s", "for: 2m", "for: 2s", "for: 5m", "for: 2s", "for: 10m", "for: 2s",
	"for: 1h", "for: 2s",
	"[5m]", "[5s]", "[10m]", "[5s]", "[15m]", "[5s]", "[30m]", "[5s]", "[1h]", "[5s]",
	"candor_webhook_queue_age_seconds) > 60", "candor_webhook_queue_age_seconds) > 8",
	"candor_job_queue_age_seconds) > 300", "candor_job_queue_age_seconds) > 8",
}

// slow are alerts that a busy machine adds to any fault, or what has waited.
var slow = []string{"CandorConnectionsAwaited", "CandorSlowAPI", "CandorWebhooksLate"}

// alertFault is what happens, the alerts that it gives, and those that can follow from what
// has waited.
type alertFault struct {
	name    string
	strike  func(*alertDrill) (end func())
	fires   []string
	follows []string
}

var alertFaults = []alertFault{
	{"the worker is killed", func(d *alertDrill) func() {
		d.worker.Kill()
		return func() { d.worker = process.Serve(d.T, d.env.With("CANDOR_METRICS_ADDR", d.targets[1]), "worker") }
	}, []string{"CandorDown", "CandorJobsWait", "CandorNoWorker", "CandorWebhooksStuck"}, nil},
	{"the web server is killed", func(d *alertDrill) func() {
		d.web.Kill()
		return func() { d.web = process.Serve(d.T, d.env.With("CANDOR_METRICS_ADDR", d.targets[0]), "web") }
	}, []string{"CandorDown"}, nil},
	{"PostgreSQL is stopped", func(d *alertDrill) func() {
		d.do(d.postgres.Stop())
		return func() { d.postgres = startPostgres(d.T, d.postgres.Dir()) }
	}, []string{"CandorDatabaseUnreadable", "CandorErrors"}, []string{"CandorJobsWait", "CandorRequestsUnlogged",
		"CandorWebhooksStuck"}},
	{"the archive of the WAL is away", func(d *alertDrill) func() {
		d.do(os.Rename(d.wal, d.wal+".away"))
		query(d.T, d.postgres, "SELECT pg_switch_wal()")
		return func() { d.do(os.Rename(d.wal+".away", d.wal)) }
	}, []string{"CandorArchiveFails"}, nil},
	{"Redis is killed", func(d *alertDrill) func() {
		d.redis.Kill()
		return d.redis.Restart
	}, []string{"CandorLimitsAlone"}, nil},
	{"a partner's receiver answers 500", func(d *alertDrill) func() {
		d.fails.Store(true)
		failed := len(d.hooks.Requests())
		testkit.Await(d, "ten attempts fail", func() bool { return len(d.hooks.Requests()) > failed+10 })
		return func() { d.fails.Store(false) }
	}, nil, nil},
}

type alertDrill struct {
	*alertWatch
	env         process.Environment
	targets     []string // metrics of the web process and of the worker
	web, worker *process.Candor
	postgres    *devpg.Server
	redis       *redistest.Server
	hooks       *hooktest.Receiver
	fails       atomic.Bool // the receiver
	wal         string
}

// Prometheus watches a web server and a worker by packaging/monitoring, while partners create
// sessions and one thing after the other fails. Each fault gives its alerts, and no other.
func TestDrillAlerts(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	dir := openDir(t)
	ports := freeAddresses(t, 3)
	d := &alertDrill{alertWatch: &alertWatch{T: t}, targets: ports[:2], wal: filepath.Join(dir, "kept", "wal"),
		redis: redistest.Start(t)}
	d.postgres = startArchiving(t, filepath.Join(dir, "a"), d.wal)
	d.env = unlimitedEnvironment(t).With("DATABASE_URL", d.postgres.DSN("candor"), "CANDOR_ADDR", ports[2],
		"CANDOR_RESCUE_AFTER", "1s", "CANDOR_REDIS_URL", d.redis.URL, "CANDOR_WEBHOOK_SCHEDULE", "0s,1s,1s,1s",
		"CANDOR_DB_TIMEOUT", "1s")
	a, hooks := process.CreateAccountWithReceiver(t, d.env, func(_ int, w http.ResponseWriter, _ *http.Request) {
		if d.fails.Load() {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	d.hooks = hooks
	d.web = process.Serve(t, d.env.With("CANDOR_METRICS_ADDR", d.targets[0]), "web")
	d.worker = process.Serve(t, d.env.With("CANDOR_METRICS_ADDR", d.targets[1]), "worker")
	d.alertWatch = watchAlerts(t, d.targets)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		d.create(ctx, a.TestKey)
	}()
	var table strings.Builder
	for _, fault := range alertFaults {
		_ = d.quiet()
		struck := time.Now()
		end := fault.strike(d)
		seen := map[string]bool{}
		testkit.Await(t, fault.name+": its alerts", func() bool {
			now, _ := d.firing()
			maps.Copy(seen, now)
			return !slices.ContainsFunc(fault.fires, func(name string) bool { return !seen[name] })
		})
		took := time.Since(struck)
		end()
		maps.Copy(seen, d.quiet())
		fmt.Fprintf(&table, "| %s | %s | %.0f |\n", fault.name, strings.Join(slices.Sorted(maps.Keys(seen)), ", "), took.Seconds())
		for name := range seen {
			if !slices.Contains(slices.Concat(fault.fires, fault.follows, slow), name) {
				t.Errorf("%s: %s fires, want %v", fault.name, name, fault.fires)
			}
		}
	}
	cancel()
	<-ended
	t.Logf("\n%s", table.String())
}

// create creates sessions that are completed at once, whatever answers.
func (d *alertDrill) create(ctx context.Context, key string) {
	partner := client.NewPartner("http://"+d.env["CANDOR_ADDR"], key)
	tick := time.NewTicker(400 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		_, _ = partner.Send(ctx, http.MethodPost, "/v1/sessions", strings.NewReader(
			`{"form_type":"financial_statement","customer_email":"a@example.com","simulate":"completed"}`),
			map[string]string{"Content-Type": "application/json"}) // what fails is the drill's
		<-tick.C
	}
}

// alertWatch is a Prometheus with packaging/monitoring's files, but for times and addresses.
type alertWatch struct {
	*testing.T
	prometheus string
}

func (w *alertWatch) do(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// get reads an answer of Prometheus.
func (w *alertWatch) get(path string, answer any) {
	w.Helper()
	_, body := ask(w.T, http.DefaultClient, http.MethodGet, w.prometheus+path, "")
	w.do(json.Unmarshal([]byte(body), answer))
}

// watchAlerts watches the processes that have their metrics at targets.
func watchAlerts(t *testing.T, targets []string) *alertWatch {
	t.Helper()
	addr, dir := freeAddresses(t, 1)[0], t.TempDir()
	w := &alertWatch{t, "http://" + addr}
	for name, changes := range map[string][]string{
		"candor.rules.yml": sooner,
		"prometheus.yml": {"scrape_configs:", "global: {evaluation_interval: 500ms}\nscrape_configs:", "scrape_interval: 15s",
			"scrape_interval: 500ms", `"10.0.0.5:9090"`, `"` + strings.Join(targets, `", "`) + `"`, "10.0.0.6:9100", addr},
	} {
		text, err := os.ReadFile(filepath.Join("..", "..", "packaging", "monitoring", name))
		w.do(err)
		for i := 0; i < len(changes); i += 2 {
			if !strings.Contains(string(text), changes[i]) {
				t.Fatalf("%s has no %s", name, changes[i])
			}
		}
		w.do(os.WriteFile(filepath.Join(dir, name), []byte(strings.NewReplacer(changes...).Replace(string(text))), 0o600))
	}
	cmd := exec.CommandContext(context.Background(), "prometheus", "--config.file="+filepath.Join(dir, "prometheus.yml"),
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+addr, "--log.level=warn")
	testkit.Start(t, cmd)
	testkit.Await(t, "Prometheus is ready", func() bool {
		response, err := http.Get(w.prometheus + "/-/ready")
		if err != nil {
			return false
		}
		return response.Body.Close() == nil && response.StatusCode == http.StatusOK
	})
	return w
}

// firing are the alerts that fire now, and waiting is whether some will if nothing changes.
func (w *alertWatch) firing() (names map[string]bool, waiting bool) {
	w.Helper()
	var answer struct {
		Data struct {
			Alerts []struct {
				State  string
				Labels map[string]string
			}
		}
	}
	w.get("/api/v1/alerts", &answer)
	names = map[string]bool{}
	for _, a := range answer.Data.Alerts {
		if a.State == "firing" {
			names[a.Labels["alertname"]] = true
		}
		waiting = waiting || a.State == "pending"
	}
	return names, waiting
}

// firedSince are the alerts that fired at some time since then.
func (w *alertWatch) firedSince(then time.Time) map[string]bool {
	w.Helper()
	var answer struct {
		Data struct {
			Result []struct{ Metric map[string]string }
		}
	}
	seconds := int(time.Since(then).Seconds()) + 1
	query := fmt.Sprintf(`group by (alertname) (last_over_time(ALERTS{alertstate="firing"}[%ds]))`, seconds)
	w.get("/api/v1/query?query="+url.QueryEscape(query), &answer)
	names := map[string]bool{}
	for _, series := range answer.Data.Result {
		names[series.Metric["alertname"]] = true
	}
	return names
}

// quiet waits until nothing has fired or waited to for two seconds, and returns what did before.
func (w *alertWatch) quiet() (seen map[string]bool) {
	w.Helper()
	seen = map[string]bool{}
	last := time.Now()
	testkit.Await(w, "nothing fires", func() bool {
		now, waiting := w.firing()
		maps.Copy(seen, now)
		if len(now) > 0 || waiting {
			last = time.Now()
		}
		return time.Since(last) > 2*time.Second
	})
	return seen
}

// freeAddresses are addresses on which nothing listens.
func freeAddresses(t *testing.T, n int) (addresses []string) {
	t.Helper()
	for _, port := range ports.ForTest(t, n) {
		addresses = append(addresses, ports.Local(port))
	}
	return addresses
}
