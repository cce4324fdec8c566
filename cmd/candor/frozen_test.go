package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"candor/internal/platform/devpg"
	"candor/internal/testkit"
	"candor/internal/testkit/client"
	"candor/internal/testkit/dbtest"
	"candor/internal/testkit/proc"
	"candor/internal/testkit/process"
)

const (
	// patience is CANDOR_DB_TIMEOUT of these tests, and bound how long a request may take. On
	// a machine that does nothing else it is 3.2 s; with the default of 10 s, 10.2 s.
	patience = 3 * time.Second
	bound    = 2*patience + 3*time.Second
	// movesWithin is how soon after a promotion requests are served, and drawsWithin how
	// soon a job's PDF is there.
	movesWithin, drawsWithin = 10 * time.Second, 20 * time.Second
)

// While the replica to which commits are synchronous is frozen, a change is neither
// acknowledged nor waited for without end. It is found by its Idempotency-Key afterwards.
func TestDrillFrozenStandby(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	dir := openDir(t)
	primary := startPostgres(t, filepath.Join(dir, "a"))
	standby := startStandby(t, primary, filepath.Join(dir, "b"))
	env := frozenEnvironment(t).With("DATABASE_URL", primary.DSN("candor"))
	a := process.CreateAccount(t, env)
	web := process.Serve(t, env, "serve")
	api := process.NewPartner(t, web.URL, a.TestKey)
	stored := api.CreateSession("")
	l := &keyedLoad{base: web.URL, key: a.TestKey, made: map[string]string{}}
	if status, _ := l.create("before", bound); status != http.StatusCreated {
		t.Fatalf("before the freeze: %d", status)
	}

	thaw := freeze(t, standby)
	frozen := time.Now()
	left, leave := context.WithTimeout(t.Context(), patience/10)
	defer leave()
	if status, _ := l.post(left, "left"); status != 0 {
		t.Fatalf("a commit is answered with %d while the replica is frozen", status)
	}
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			if status, retry := l.create("frozen"+strconv.Itoa(i), bound); status != http.StatusServiceUnavailable || retry == "" {
				t.Errorf("while the replica is frozen: %d, Retry-After %q, want 503", status, retry)
			}
		})
	}
	wg.Wait()
	t.Logf("%6s  the last of 12 is answered, the slowest took %s", time.Since(frozen).Round(time.Millisecond), l.slowest())
	for _, key := range []string{"left", "frozen0"} {
		if status, _ := l.create(key, bound); status != http.StatusConflict && status != http.StatusServiceUnavailable {
			t.Errorf("%s is sent again while the replica is frozen: %d, want 409 or 503", key, status)
		}
	}
	began := time.Now()
	if status, _, body := api.Do("GET", "/sessions/"+stored.ID, ""); status != http.StatusOK || time.Since(began) > patience {
		t.Errorf("a read while the replica is frozen: %d after %s %s", status, time.Since(began), body)
	}
	testkit.Await(t, "/readyz is 503", func() bool { return statusOf(t, web.URL+"/readyz") == http.StatusServiceUnavailable })
	if waiting, age := metric(t, web, "candor_database_commits_waiting"), metric(t, web,
		"candor_database_commit_wait_seconds"); waiting == 0 || age < patience.Seconds()/2 {
		t.Errorf("the metrics say that %v commits wait, the longest for %v s", waiting, age)
	}
	if doctor := process.Run(t, env, "doctor"); !regexp.MustCompile(`failed +commits +.*wait`).MatchString(doctor.Stdout) {
		t.Errorf("doctor doesn't say that commits wait:\n%s", doctor.Stdout)
	}

	thaw()
	thawed := time.Now()
	for i := range 12 {
		l.insist(t, "frozen"+strconv.Itoa(i))
	}
	l.insist(t, "left")
	if took := time.Since(thawed); took > movesWithin {
		t.Errorf("all are acknowledged %s after the thaw", took)
	}
	testkit.Await(t, "/readyz is 200", func() bool { return statusOf(t, web.URL+"/readyz") == http.StatusOK })
	testkit.Await(t, "the metrics say that no commit waits", func() bool {
		return metric(t, web, "candor_database_commits_waiting") == 0
	})
	l.wantOnce(t, primary.DSN("candor"))
	web.Stop()
}

// A primary is frozen, not fenced: its kernel keeps its connections and acknowledges what
// is sent. Its replica is promoted, and requests, jobs and waiting readers go on there at
// once, with nothing lost, nothing twice, and no way back when the former primary wakes up.
func TestDrillFrozenPrimary(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	r := serveReplicated(t, frozenEnvironment(t))
	primary, standby, web, worker, api, hooks := r.primary, r.standby, r.web, r.worker, r.api, r.hooks
	l := &keyedLoad{base: web.URL, key: r.key, made: map[string]string{}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				key := fmt.Sprintf("%d-%d", i, n)
				for status := 0; status != http.StatusCreated && ctx.Err() == nil; {
					status, _ = l.post(ctx, key)
				}
			}
		})
	}
	testkit.Await(t, "sessions are created", func() bool { return l.count() > 40 })

	thaw := freeze(t, primary)
	frozen := time.Now()
	testkit.Await(t, "requests are answered with 503", func() bool { return l.refusals() > 8 })
	testkit.Await(t, "/readyz is 503", func() bool { return statusOf(t, web.URL+"/readyz") == http.StatusServiceUnavailable })
	if readable := metric(t, web, "candor_database_readable"); readable != 0 {
		t.Errorf("candor_database_readable is %v", readable)
	}
	t.Logf("%6s  requests fail", time.Since(frozen).Round(time.Millisecond))
	admin := dbtest.Open(t, standby.DSN("candor"))
	before := l.count()
	if _, err := admin.Raw().ExecContext(t.Context(), "SELECT pg_promote(true, 30)"); err != nil {
		t.Fatal(err)
	}
	promoted := time.Now()
	passed := func(what string, within time.Duration) {
		t.Helper()
		t.Logf("%6s after the promotion: %s", time.Since(promoted).Round(time.Millisecond), what)
		if since := time.Since(promoted); since > within {
			t.Errorf("%s: %s after the promotion, want at most %s", what, since, within)
		}
	}
	testkit.Await(t, "a session is created", func() bool { return l.count() > before+8 })
	passed("sessions are created", movesWithin)
	testkit.Await(t, "/readyz is 200", func() bool { return statusOf(t, web.URL+"/readyz") == http.StatusOK })
	passed("ready", movesWithin)
	status, _, body := api.Do("POST", "/sessions",
		`{"form_type": "financial_statement", "customer_email": "jo@customer.example", "simulate": "completed"}`)
	if status != http.StatusCreated {
		t.Fatalf("after the promotion: %d %s", status, body)
	}
	hooks.Wait("session.pdf_ready", 1)
	passed("a PDF is drawn and its webhook delivered", drawsWithin)
	testkit.Await(t, "the web process listens, or has pinged since", func() bool {
		var n int
		err := admin.Raw().GetContext(t.Context(), &n, `SELECT count(*) FROM pg_stat_activity
			WHERE backend_type = 'client backend' AND state = 'idle' AND (query LIKE 'LISTEN "candor_%' OR query = '')`)
		return err == nil && n > 0
	})
	wantListening(t, admin, riverListens...)
	passed("web and worker listen", drawsWithin)

	thaw() // the former primary still takes writes for one
	count := l.count()
	testkit.Await(t, "sessions are created beside the former primary", func() bool { return l.count() > count+80 })
	cancel()
	wg.Wait()
	if slowest := l.slowest(); slowest > bound {
		t.Errorf("a request took %s, want at most %s", slowest, bound)
	}
	l.wantOnce(t, standby.DSN("candor"))
	t.Logf("%d sessions acknowledged, %d refusals, the slowest request took %s", l.count(), l.refusals(), l.slowest())
	web.Stop()
	worker.Stop()
}

func frozenEnvironment(t *testing.T) process.Environment {
	t.Helper()
	return unlimitedEnvironment(t).With("CANDOR_METRICS_ADDR", "localhost:0", "CANDOR_DB_TIMEOUT", patience.String())
}

// freeze stops a server's processes until thaw, or the test's end.
func freeze(t *testing.T, server *devpg.Server) (thaw func()) {
	t.Helper()
	all := []int{server.PID()}
	send := func(s syscall.Signal) {
		for _, pid := range all {
			_ = syscall.Kill(pid, s) // one may have ended
		}
	}
	for before := 0; len(all) != before; { // a process that begins between the two steps would answer
		send(syscall.SIGSTOP)
		before = len(all)
		all = append([]int{server.PID()}, proc.Children(server.PID())...)
	}
	send(syscall.SIGSTOP)
	t.Cleanup(func() { send(syscall.SIGCONT) })
	return func() { send(syscall.SIGCONT) }
}

func statusOf(t *testing.T, url string) int {
	t.Helper()
	response, _ := ask(t, http.DefaultClient, http.MethodGet, url, "")
	return response.StatusCode
}

// metric reads the value of a metric without labels.
func metric(t *testing.T, p *process.Candor, name string) float64 {
	t.Helper()
	_, body := ask(t, http.DefaultClient, http.MethodGet, "http://"+p.WaitFor(metricsAddr)[1]+"/metrics", "")
	found := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindSubmatch(body)
	if found == nil {
		t.Fatalf("no metric %s", name)
	}
	value, err := strconv.ParseFloat(string(found[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// keyedLoad creates sessions under Idempotency-Keys, which are their references, too.
type keyedLoad struct {
	base, key string

	mu      sync.Mutex
	made    map[string]string // what was acknowledged: ids by key
	refused int
	longest time.Duration
}

func (l *keyedLoad) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.made)
}

func (l *keyedLoad) refusals() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refused
}

func (l *keyedLoad) slowest() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.longest.Round(time.Millisecond)
}

// create is post within a time. Its status is 0 if there was no answer by then.
func (l *keyedLoad) create(key string, within time.Duration) (status int, retry string) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	return l.post(ctx, key)
}

// post creates the session of a key.
func (l *keyedLoad) post(ctx context.Context, key string) (status int, retry string) {
	body := `{"form_type":"financial_statement","customer_email":"a@example.com","reference_id":"` + key + `"}`
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, l.base+"/v1/sessions", strings.NewReader(body))
	if err != nil {
		return 0, ""
	}
	request.Header.Set("Authorization", "Bearer "+l.key)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", key)
	began := time.Now()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, ""
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, ""
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.longest = max(l.longest, time.Since(began))
	var s client.Session
	switch {
	case response.StatusCode == http.StatusServiceUnavailable:
		l.refused++
	case response.StatusCode == http.StatusCreated && json.Unmarshal(content, &s) == nil:
		l.made[key] = s.ID
	}
	return response.StatusCode, response.Header.Get("Retry-After")
}

// insist creates the session of a key, however often that takes.
func (l *keyedLoad) insist(t *testing.T, key string) {
	t.Helper()
	testkit.Await(t, key+" is acknowledged", func() bool {
		status, _ := l.create(key, bound)
		return status == http.StatusCreated
	})
}

// wantOnce fails the test unless each acknowledged session is stored, and no key has two.
func (l *keyedLoad) wantOnce(t *testing.T, dsn string) {
	t.Helper()
	var stored []struct {
		ID  string `db:"id"`
		Key string `db:"key"`
	}
	err := dbtest.Open(t, dsn).Raw().SelectContext(t.Context(), &stored,
		`SELECT id, reference_id AS key FROM session WHERE reference_id IS NOT NULL`)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, s := range stored {
		if found[s.Key] {
			t.Errorf("%s is stored twice", s.Key)
		}
		found[s.Key] = true
	}
	for key, id := range l.made {
		if !found[key] {
			t.Errorf("%s was acknowledged as %s and is lost", key, id)
		}
	}
}
