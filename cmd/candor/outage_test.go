package main_test

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"candor/internal/platform/devpg"
	"candor/internal/testkit"
	"candor/internal/testkit/client"
	"candor/internal/testkit/hooktest"
	"candor/internal/testkit/process"
)

// PostgreSQL restarts under load: every session that was acknowledged is
// there, and every event of a form that was opened is delivered.
func TestDrillPostgresRestartLosesNothing(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	dir := filepath.Join(openDir(t), "pg")
	postgres := startPostgres(t, dir)
	env := process.NewEnvironment(t).With("CANDOR_RATE_PER_MINUTE", "1000000", "CANDOR_RATE_BURST", "1000000",
		"CANDOR_SWEEP_INTERVAL", "1s", "CANDOR_RESCUE_AFTER", "1s", "DATABASE_URL", postgres.DSN("candor"))
	a, hooks := process.CreateAccountWithReceiver(t, env, nil)
	p := process.Serve(t, env, "serve")
	l := &load{base: p.URL, key: a.TestKey, opened: map[string]bool{}}

	stop := l.start(t)
	l.await(t, 20)
	if err := postgres.Stop(); err != nil {
		t.Fatal(err)
	}
	failures := l.failures.Load()
	testkit.Await(t, "requests fail without PostgreSQL", func() bool { return l.failures.Load() > failures })
	startPostgres(t, dir)
	l.await(t, l.count()+20)
	stop()

	api := process.NewPartner(t, p.URL, a.TestKey)
	l.wantAll(t, api, hooks)
	p.Stop()
}

// While no database can be reached, requests say for how long to wait, and nothing that
// was typed is lost.
func TestDrillWithoutPostgres(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	dir := filepath.Join(openDir(t), "pg")
	postgres := startPostgres(t, dir)
	env := process.NewEnvironment(t).With("DATABASE_URL", postgres.DSN("candor"))
	a := process.CreateAccount(t, env)
	p := process.Serve(t, env, "serve")
	api := process.NewPartner(t, p.URL, a.TestKey)
	session := api.CreateSession("")
	customer := process.OpenForm(t, process.LinkOn(p, session))
	section := customer.Form + "/personal_details"
	if err := postgres.Stop(); err != nil {
		t.Fatal(err)
	}

	key := []string{"Authorization", "Bearer " + a.TestKey, "Content-Type", "application/json"}
	posted := []string{"Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "same-origin"}
	for name, of := range map[string]struct {
		client                *http.Client
		method, address, body string
		headers               []string
		shows                 string
	}{
		"read": {http.DefaultClient, http.MethodGet, p.URL + "/v1/sessions/" + session.ID, "", key,
			`"code":"service_unavailable"`},
		"list": {http.DefaultClient, http.MethodGet, p.URL + "/v1/sessions", "", key, `"code":"service_unavailable"`},
		"create": {http.DefaultClient, http.MethodPost, p.URL + "/v1/sessions",
			`{"form_type":"financial_statement","customer_email":"a@example.com"}`, key, `"code":"service_unavailable"`},
		"show": {customer.HTTP, http.MethodGet, section, "", nil, "What you had saved is safe."},
		"save": {customer.HTTP, http.MethodPost, section, "phone=0400+000+001", posted, "Nothing you typed is lost."},
		"dashboard": {http.DefaultClient, http.MethodPost, p.URL + "/dashboard/sign-in",
			"email=a%40example.com&password=something+long", posted, "Reloading this page sends what you entered again."},
	} {
		response, content := ask(t, of.client, of.method, of.address, of.body, of.headers...)
		text, retry := string(content), response.Header.Get("Retry-After")
		if response.StatusCode != http.StatusServiceUnavailable || retry != "5" || !strings.Contains(text, of.shows) {
			t.Errorf("%s: %d, Retry-After %q, want 503, 5 and %q:\n%s", name, response.StatusCode, retry, of.shows, text)
		}
		if strings.Contains(text, "pq:") || strings.Contains(text, "dial") {
			t.Errorf("%s tells of the inside:\n%s", name, text)
		}
	}
	startPostgres(t, dir)
	testkit.Await(t, "the session is there again", func() bool { return api.Status(session.ID) == "in_progress" })
	p.Stop()
}

func startPostgres(t *testing.T, dir string) *devpg.Server {
	t.Helper()
	server, err := devpg.Start(t.Context(), dir, devpg.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := server.CreateDatabase(t.Context(), "candor"); err != nil {
		t.Fatal(err)
	}
	return server
}

// load creates sessions and opens their forms, and records what was
// acknowledged.
type load struct {
	base, key string
	failures  atomic.Int64

	mu     sync.Mutex
	opened map[string]bool // by session id: whether its form was shown
}

func (l *load) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, opened := range l.opened {
		if opened {
			n++
		}
	}
	return n
}

// start has four work at once until stop is called.
func (l *load) start(t *testing.T) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for ctx.Err() == nil {
				l.work(ctx)
			}
		})
	}
	return func() {
		cancel()
		wg.Wait()
	}
}

// await waits until n forms were opened.
func (l *load) await(t *testing.T, n int) {
	t.Helper()
	testkit.Await(t, "sessions are created and opened", func() bool { return l.count() >= n })
}

// acknowledged are the sessions so far.
func (l *load) acknowledged() map[string]bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.opened)
}

// wantAll fails the test unless every acknowledged session is there, and waits until
// the event of every opened form is delivered. The load must have ended.
func (l *load) wantAll(t *testing.T, api process.Partner, hooks *hooktest.Receiver) {
	t.Helper()
	for id, opened := range l.opened {
		status := api.Status(id)
		if opened && status != "in_progress" || status == "" {
			t.Errorf("session %s, acknowledged and opened: %t, is %q", id, opened, status)
		}
	}
	testkit.Await(t, "session.accessed of every opened form is delivered", func() bool {
		delivered := map[string]bool{}
		for _, call := range hooks.Of("session.accessed") {
			delivered[call.SessionID] = true
		}
		for id, opened := range l.opened {
			if opened && !delivered[id] {
				return false
			}
		}
		return true
	})
}

// work creates a session and opens its form.
func (l *load) work(ctx context.Context) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, l.base+"/v1/sessions",
		strings.NewReader(`{"form_type":"financial_statement","customer_email":"a@example.com"}`))
	if err != nil {
		return
	}
	request.Header.Set("Authorization", "Bearer "+l.key)
	request.Header.Set("Content-Type", "application/json")
	status, body := l.do(http.DefaultClient, request)
	var s client.Session
	if status != http.StatusCreated || json.Unmarshal(body, &s) != nil {
		l.failures.Add(1)
		return
	}
	l.acknowledge(s.ID, false)
	jar, err := cookiejar.New(nil)
	if err != nil {
		return
	}
	link := l.base + s.SessionURL[strings.Index(s.SessionURL, "/f/"):]
	request, err = http.NewRequestWithContext(ctx, http.MethodGet, link, nil)
	if err != nil {
		return
	}
	if status, _ := l.do(&http.Client{Jar: jar}, request); status != http.StatusOK {
		l.failures.Add(1)
		return
	}
	l.acknowledge(s.ID, true)
}

func (l *load) acknowledge(id string, opened bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.opened[id] = opened
}

// do returns the status and body, 0 without a response.
func (l *load) do(client *http.Client, request *http.Request) (int, []byte) {
	response, err := client.Do(request)
	if err != nil {
		return 0, nil
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, nil
	}
	return response.StatusCode, body
}
