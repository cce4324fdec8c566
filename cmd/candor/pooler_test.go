package main_test

import (
	"net/http"
	"strings"
	"testing"

	"candor/internal/testkit"
	"candor/internal/testkit/dbtest"
	"candor/internal/testkit/poolertest"
	"candor/internal/testkit/process"
)

// TestPooler goes the whole way from an account to a PDF with PgBouncer in transaction
// mode between Candor and PostgreSQL, over fewer connections than processes open.
func TestPooler(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	direct := dbtest.EmptyDSN(t)
	env := process.WebEnvironment(t).With("CANDOR_DB_CONNECTIONS", "20",
		"DATABASE_URL", poolertest.Start(t, direct, poolertest.Transaction, 3), "CANDOR_DATABASE_DIRECT_URL", direct)
	if r := process.Run(t, env, "migrate"); r.Code != 0 {
		t.Fatalf("candor migrate: exit code %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	a, hooks := process.CreateAccountWithReceiver(t, env, nil)
	web, worker := process.Serve(t, env, "web"), process.Serve(t, env, "worker")
	api := process.NewPartner(t, web.URL, a.TestKey)
	woken := make(chan string, 1)
	go func() {
		_, _, body := api.Do(http.MethodGet, "/events?wait=25&type=session.pdf_ready", "")
		woken <- string(body)
	}()
	session := api.CreateSession("")
	customer := process.OpenForm(t, process.LinkOn(web, session))
	customer.Upload("return.pdf", []byte("%PDF-1.4\n1 0 obj\n<<>>\nendobj\ntrailer\n<<>>\n%%EOF\n"))
	customer.Submit()
	hooks.Wait("session.completed", 1)
	hooks.Wait("session.pdf_ready", 1)
	if body := <-woken; !strings.Contains(body, "session.pdf_ready") {
		t.Errorf("a waiting request gets %s", body)
	}
	for path, want := range map[string]string{"/data": "return.pdf", "/pdf": "%PDF-"} {
		status, _, body := api.Do(http.MethodGet, "/sessions/"+session.ID+path, "")
		if status != http.StatusOK || !strings.Contains(string(body), want) {
			t.Errorf("GET %s: %d, want 200 with %s", path, status, want)
		}
	}
	for _, command := range []string{"account list", "webhooks endpoints --account " + a.AccountID, "keys check",
		"billing show --account " + a.AccountID} {
		if r := process.Run(t, env, strings.Fields(command)...); r.Code != 0 {
			t.Errorf("candor %s: exit code %d\n%s%s", command, r.Code, r.Stdout, r.Stderr)
		}
	}
	wantListening(t, dbtest.Open(t, direct), `LISTEN "candor_change"`)
	wantListening(t, dbtest.Open(t, direct), riverListens...)
	web.Stop()
	worker.Stop()
}

// TestPoolerIsRefusedWithoutItsMode: no command works over a pooler in transaction mode
// unless PostgreSQL itself is named, too. Each error has the remedy.
func TestPoolerIsRefusedWithoutItsMode(t *testing.T) {
	t.Parallel()
	env := process.NewEnvironment(t)
	direct := env["DATABASE_URL"]
	pooled := poolertest.Start(t, direct, poolertest.Transaction, 3)
	for name, c := range map[string]struct {
		env     process.Environment
		command string
		want    []string
	}{
		"alone": {env.With("DATABASE_URL", pooled), "serve", []string{"DATABASE_URL leads to a pooler",
			"set CANDOR_DATABASE_DIRECT_URL"}},
		"a command": {env.With("DATABASE_URL", pooled), "account list", []string{"DATABASE_URL leads to a pooler",
			"set CANDOR_DATABASE_DIRECT_URL"}},
		"pooler twice": {env.With("DATABASE_URL", pooled, "CANDOR_DATABASE_DIRECT_URL", pooled), "web",
			[]string{"CANDOR_DATABASE_DIRECT_URL leads to a pooler", "set it to PostgreSQL itself"}},
		"another database": {env.With("DATABASE_URL", pooled, "CANDOR_DATABASE_DIRECT_URL", dbtest.EmptyDSN(t)), "worker",
			[]string{"leads to another database than DATABASE_URL"}},
		"migrate": {env.With("DATABASE_URL", pooled), "migrate", []string{"DATABASE_URL leads to a pooler",
			"CANDOR_DATABASE_DIRECT_URL or CANDOR_MIGRATE_URL"}},
		"migrate as owner": {env.With("DATABASE_URL", direct, "CANDOR_MIGRATE_URL", pooled), "migrate",
			[]string{"CANDOR_MIGRATE_URL leads to a pooler"}},
	} {
		r := process.Run(t, c.env, strings.Fields(c.command)...)
		for _, want := range c.want {
			if r.Code != 1 || !strings.Contains(r.Stderr, want) {
				t.Errorf("%s: exit code %d, %q, want 1 and %q", name, r.Code, r.Stderr, want)
			}
		}
	}
	session := env.With("DATABASE_URL", poolertest.Start(t, direct, poolertest.Session, 20))
	if r := process.Run(t, session, "account", "list"); r.Code != 0 {
		t.Errorf("session mode: exit code %d, %s", r.Code, r.Stderr)
	}
}
