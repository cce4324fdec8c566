package main_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"candor/internal/domain"
	"candor/internal/statement"
	"candor/internal/statement/statementtest"
	"candor/internal/testkit"
	"candor/internal/testkit/client"
	"candor/internal/testkit/dbtest"
	"candor/internal/testkit/hatest"
	"candor/internal/testkit/hooktest"
	"candor/internal/testkit/process"
)

var haRounds = flag.Int("ha-rounds", 1, "how often each fault happens in the drill of high availability")

const (
	// leaseTime is ttl of packaging/ha/patroni.yml.
	leaseTime = 20 * time.Second
	// haServes is how soon after a fault all processes serve again, without a hand.
	haServes = leaseTime + 5*time.Second
	// haAnswers is how long a request may take.
	haAnswers = 12 * time.Second
	// haPause is between two requests of a client: all of them make 24 sessions a second.
	haPause = 250 * time.Millisecond
)

// haFaults is what happens to a cluster. A strike returns what ends the fault, if it
// doesn't end by itself; moves: another machine becomes the primary; alerts at least fire,
// with the waits of sooner.
var haFaults = []struct {
	name   string
	moves  bool
	strike func(*hatest.Cluster, *hatest.Node) (end func())
	alerts []string
}{
	{"a planned switchover", true, func(c *hatest.Cluster, primary *hatest.Node) func() {
		c.Switchover(primary)
		return func() {}
	}, nil},
	{"PostgreSQL of the primary killed", false, func(_ *hatest.Cluster, primary *hatest.Node) func() {
		primary.CrashPostgres()
		return func() {}
	}, nil},
	{"the primary's machine without power", true, func(_ *hatest.Cluster, primary *hatest.Node) func() {
		return primary.PowerOff()
	}, lostPrimary},
	{"a member of etcd killed", false, func(_ *hatest.Cluster, primary *hatest.Node) func() { return primary.StopEtcd() }, nil},
	{"HAProxy killed", false, func(c *hatest.Cluster, _ *hatest.Node) func() {
		c.KillHAProxy()
		return func() {}
	}, nil},
	{"the primary frozen", true, func(_ *hatest.Cluster, primary *hatest.Node) func() { return primary.Freeze() }, lostPrimary},
	{"a replica frozen", false, func(c *hatest.Cluster, primary *hatest.Node) func() { return c.Replica(primary).Freeze() },
		[]string{"CandorReplicaMissing"}},
	{"the primary's network cut", true, func(_ *hatest.Cluster, primary *hatest.Node) func() { return primary.Cut() }, lostPrimary},
}

var lostPrimary = []string{"CandorDatabaseUnreadable", "CandorErrors", "CandorReplicaMissing"}

// haResult is what one fault did.
type haResult struct {
	chosen, serves, gap, slowest, pdf time.Duration
	alerts                            map[string]bool // that fired, with the waits of sooner
}

// Everything that packaging/ha describes runs on loopback with two web processes and two
// workers, while partners create sessions and customers fill in forms. Whatever fails, no
// hand is needed: nothing acknowledged is lost, nothing is there twice, no request hangs,
// and a former primary takes no writes (D138).
func TestDrillHighAvailability(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	c := hatest.Start(t)
	c.CreateDatabase()
	env := unlimitedEnvironment(t).With("DATABASE_URL", c.DSN(), "CANDOR_DB_TIMEOUT", "10s")
	a, hooks := process.CreateAccountWithReceiver(t, env, nil)
	h := &haDrill{T: t, c: c, hooks: hooks}
	targets := freeAddresses(t, 4)
	for i := range 2 {
		web := process.Serve(t, env.With("CANDOR_METRICS_ADDR", targets[i]), "web")
		h.loads = append(h.loads, newHALoad(web.URL, a.TestKey, strconv.Itoa(i)))
		process.Serve(t, env.With("CANDOR_METRICS_ADDR", targets[i+2]), "worker")
	}
	h.alerts = watchAlerts(t, targets)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for _, l := range h.loads {
		for i := range 3 {
			wg.Go(func() { l.create(ctx, i) })
		}
		wg.Go(func() { l.fill(ctx) })
	}
	results := map[string][]haResult{}
	for round := range *haRounds {
		for i, fault := range haFaults {
			name := fmt.Sprintf("round %d, %s", round+1, fault.name)
			results[fault.name] = append(results[fault.name], h.suffer(name, i))
		}
	}
	cancel()
	wg.Wait()
	for _, l := range h.loads {
		l.wantAll(t, c.Leader(nil).DSN("candor"))
	}
	// Such a commit is visible without being there (D95).
	if n := strings.Count(c.Logs(), "canceling wait for synchronous replication due to user request"); n > 0 {
		t.Errorf("PostgreSQL was asked %d times to cancel a commit that waited for a replica", n)
	}
	h.report(results)
}

type haDrill struct {
	*testing.T
	c      *hatest.Cluster
	loads  []*haLoad
	hooks  *hooktest.Receiver
	alerts *alertWatch
}

// suffer lets one fault happen and measures what it does.
func (h *haDrill) suffer(name string, fault int) (r haResult) {
	h.Helper()
	h.c.AwaitWhole()
	testkit.Await(h, "the alerts of the fault before end", func() bool {
		now, _ := h.alerts.firing()
		return !slices.ContainsFunc(lostPrimary, func(name string) bool { return now[name] })
	})
	former := h.c.Leader(nil)
	timeline, err := former.Commit(time.Second)
	if err != nil {
		h.Fatalf("%s: the primary takes no writes: %v", name, err)
	}
	for _, l := range h.loads {
		l.begin()
	}
	struck := time.Now()
	end := haFaults[fault].strike(h.c, former)
	if haFaults[fault].moves {
		testkit.Await(h, name+": another primary", func() bool { return h.c.Leader(former) != nil })
	}
	chosen := time.Now()
	r.chosen = chosen.Sub(struck)
	for _, l := range h.loads {
		testkit.Await(h, name+": a session is created and a form saved", func() bool { return l.servedSince(chosen) })
	}
	r.serves = time.Since(struck)
	h.draw()
	r.pdf = time.Since(struck)
	if haFaults[fault].moves { // it hasn't been told of its successor
		h.wantNoCommits(name, former, timeline, once)
	}
	end()
	whole := make(chan struct{})
	var watching sync.WaitGroup
	if haFaults[fault].moves {
		watching.Go(func() { h.wantNoCommits(name+", which is back", former, timeline, whole) })
	}
	h.c.AwaitWhole()
	close(whole)
	watching.Wait()
	r.alerts = h.alerts.firedSince(struck)
	for _, want := range haFaults[fault].alerts {
		if !r.alerts[want] {
			h.Errorf("%s: no %s", name, want)
		}
	}
	for _, l := range h.loads {
		gap, slowest := l.end()
		r.gap, r.slowest = max(r.gap, gap), max(r.slowest, slowest)
	}
	h.Logf("%s: primary after %.1f s, served again after %.1f s, %.1f s without service, slowest request %.1f s, PDF after %.1f s, %s",
		name, r.chosen.Seconds(), r.serves.Seconds(), r.gap.Seconds(), r.slowest.Seconds(), r.pdf.Seconds(),
		slices.Sorted(maps.Keys(r.alerts)))
	if r.serves > haServes {
		h.Errorf("%s: served again after %s, want at most %s", name, r.serves, haServes)
	}
	if r.slowest > haAnswers {
		h.Errorf("%s: a request took %s, want at most %s", name, r.slowest, haAnswers)
	}
	return r
}

// draw waits until a job that begins now is done.
func (h *haDrill) draw() {
	h.Helper()
	before := len(h.hooks.Of("session.pdf_ready"))
	api := process.NewPartner(h.T, h.loads[0].base, h.loads[0].key)
	testkit.Await(h, "a completed session is created", func() bool {
		status, _, _ := api.Do(http.MethodPost, "/sessions",
			`{"form_type": "financial_statement", "customer_email": "jo@customer.example", "simulate": "completed"}`)
		return status == http.StatusCreated
	})
	h.hooks.Wait("session.pdf_ready", before+1)
}

// wantNoCommits tries to write on a former primary, at least once and until it is over. On
// another timeline than it had it has been chosen again, which it can be.
func (h *haDrill) wantNoCommits(name string, former *hatest.Node, timeline string, over <-chan struct{}) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if on, err := former.Commit(time.Second); err == nil && on == timeline {
			h.Errorf("%s: the former primary %s acknowledges a write", name, former.Name)
			return
		}
		select {
		case <-over:
			return
		case <-tick.C:
		}
	}
}

// once is over from the beginning.
var once = func() <-chan struct{} {
	over := make(chan struct{})
	close(over)
	return over
}()

// report logs a table of the results.
func (h *haDrill) report(results map[string][]haResult) {
	h.Helper()
	var table strings.Builder
	for _, fault := range haFaults {
		all := results[fault.name]
		spread := func(of func(haResult) time.Duration) string {
			var values []float64
			for _, r := range all {
				values = append(values, of(r).Seconds())
			}
			slices.Sort(values)
			return fmt.Sprintf("%.1f (%.1f)", values[len(values)/2], values[len(values)-1])
		}
		alerts := map[string]bool{}
		for _, r := range all {
			maps.Copy(alerts, r.alerts)
		}
		fmt.Fprintf(&table, "| %s | %d | %s | %s | %s | %s |\n", fault.name, len(all),
			spread(func(r haResult) time.Duration { return r.gap }), spread(func(r haResult) time.Duration { return r.slowest }),
			spread(func(r haResult) time.Duration { return r.pdf }), strings.Join(slices.Sorted(maps.Keys(alerts)), ", "))
	}
	var made, saved, refused int
	for _, l := range h.loads {
		made, saved, refused = made+l.count(), saved+len(l.saved), refused+l.refusals()
	}
	h.Logf("%d sessions and %d forms acknowledged, %d refusals; median (longest):\n"+
		"| Fault | Times | Seconds without service | Slowest request, s | PDF after, s | Alerts |\n|---|---|---|---|---|---|\n%s",
		made, saved, refused, table.String())
}

// haLoad is the load on one web process: keyedLoad, and customers who fill in forms.
type haLoad struct {
	keyedLoad
	name string

	at        sync.Mutex
	served    map[string]time.Time // when the last request that succeeded began, of each kind
	last      time.Time            // when one succeeded
	gap, slow time.Duration
	saved     map[string]bool // ids of sessions whose first section was acknowledged
	strange   []string
}

func newHALoad(base, key, name string) *haLoad {
	return &haLoad{keyedLoad: keyedLoad{base: base, key: key, made: map[string]string{}}, name: name,
		served: map[string]time.Time{}, saved: map[string]bool{}}
}

// begin begins a measurement, and end ends it.
func (l *haLoad) begin() {
	l.at.Lock()
	defer l.at.Unlock()
	l.last, l.gap, l.slow = time.Now(), 0, 0
}

func (l *haLoad) end() (gap, slowest time.Duration) {
	l.at.Lock()
	defer l.at.Unlock()
	return l.gap, l.slow
}

// servedSince reports whether a request of each kind that began since then has succeeded.
func (l *haLoad) servedSince(then time.Time) bool {
	l.at.Lock()
	defer l.at.Unlock()
	return l.served["session"].After(then) && l.served["form"].After(then)
}

// note takes an answer.
func (l *haLoad) note(kind string, began time.Time, status int, good bool) {
	l.at.Lock()
	defer l.at.Unlock()
	now := time.Now()
	l.slow = max(l.slow, now.Sub(began))
	if good {
		l.gap = max(l.gap, now.Sub(l.last))
		l.served[kind], l.last = began, now
	} else if status != http.StatusServiceUnavailable && status != http.StatusConflict && status != 0 {
		l.strange = append(l.strange, fmt.Sprintf("%s: %d", kind, status))
	}
}

// create creates sessions until ctx ends, and repeats what wasn't acknowledged.
func (l *haLoad) create(ctx context.Context, who int) {
	tick := time.NewTicker(haPause)
	defer tick.Stop()
	for n := 0; ctx.Err() == nil; {
		began := time.Now()
		status, retry := l.post(ctx, fmt.Sprintf("%s-%d-%d", l.name, who, n))
		if ctx.Err() != nil {
			return
		}
		l.note("session", began, status, status == http.StatusCreated)
		if status == http.StatusServiceUnavailable && retry == "" {
			l.note("session without Retry-After", began, http.StatusInternalServerError, false)
		}
		if status == http.StatusCreated {
			n++
		}
		<-tick.C
	}
}

// fill lets one customer after the other open a form and save its first section.
func (l *haLoad) fill(ctx context.Context) {
	tick := time.NewTicker(haPause)
	defer tick.Stop()
	partner := client.NewPartner(l.base, l.key)
	section := statement.SectionNames[0]
	// persist repeats a request until it is good.
	persist := func(kind string, good int, request func() (client.Answer, error)) (a client.Answer) {
		for ctx.Err() == nil {
			began := time.Now()
			var err error
			if a, err = request(); ctx.Err() == nil {
				l.note(kind, began, a.Status, err == nil && a.Status == good)
			}
			if err == nil && a.Status == good {
				return a
			}
			<-tick.C
		}
		return a
	}
	for n := 0; ctx.Err() == nil; n++ {
		<-tick.C
		key := l.name + "-form-" + strconv.Itoa(n)
		created := persist("created for a form", http.StatusCreated, func() (client.Answer, error) {
			return partner.Send(ctx, http.MethodPost, "/v1/sessions",
				strings.NewReader(`{"form_type":"financial_statement","customer_email":"a@example.com"}`),
				map[string]string{"Content-Type": "application/json", "Idempotency-Key": key})
		})
		var s client.Session
		if json.Unmarshal(created.Body, &s) != nil {
			continue // the drill ends
		}
		browser := client.New("")
		opened := persist("link", http.StatusSeeOther, func() (client.Answer, error) { return browser.Get(ctx, l.base+s.Link()) })
		saved := persist("form", http.StatusSeeOther, func() (client.Answer, error) {
			return browser.Post(ctx, opened.Location+"/"+section, statementtest.Values(section))
		})
		if saved.Status == http.StatusSeeOther {
			l.at.Lock()
			l.saved[s.ID] = true
			l.at.Unlock()
		}
	}
}

// wantAll fails the test unless what was acknowledged is stored, once.
func (l *haLoad) wantAll(t *testing.T, dsn string) {
	t.Helper()
	l.wantOnce(t, dsn)
	var stored []string
	err := dbtest.Open(t, dsn).Raw().SelectContext(t.Context(), &stored,
		`SELECT session_id FROM section WHERE completed_at IS NOT NULL`)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, id := range stored {
		found[id] = true
	}
	for id := range l.saved {
		parsed, err := domain.ParseSessionID(id)
		if err != nil {
			t.Fatal(err)
		}
		if !found[parsed.UUID.String()] {
			t.Errorf("a form of %s was acknowledged and is lost", id)
		}
	}
	if len(l.saved) == 0 {
		t.Error("no form was saved")
	}
	slices.Sort(l.strange)
	for _, answer := range slices.Compact(l.strange) {
		t.Errorf("neither success nor 503: %s", answer)
	}
}
