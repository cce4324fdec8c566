package main_test

import (
	"database/sql/driver"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/lib/pq"

	"candor/db"
	"candor/internal/platform/devpg"
	"candor/internal/testkit"
	"candor/internal/testkit/dbtest"
	"candor/internal/testkit/hooktest"
	"candor/internal/testkit/process"
)

// servesAgain is how soon after the promotion everything works on a busy machine; alone it is half of that.
const servesAgain = 20 * time.Second

// The primary is killed under load and its replica, to which commits are synchronous,
// is promoted: every session that was acknowledged is there, every event of a form that
// was opened is delivered, jobs go on and waiting requests are woken.
func TestDrillFailoverLosesNothing(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	r := serveReplicated(t, unlimitedEnvironment(t).With("CANDOR_RESCUE_AFTER", "1s"))
	primary, standby, web, worker, api, hooks := r.primary, r.standby, r.web, r.worker, r.api, r.hooks
	l := &load{base: web.URL, key: r.key, opened: map[string]bool{}}

	stop := l.start(t)
	l.await(t, 20)
	started := time.Now()
	t.Logf("%6s  primary killed, %d sessions acknowledged", "0", len(l.acknowledged()))
	if err := syscall.Kill(primary.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	failures := l.failures.Load()
	testkit.Await(t, "requests fail without a primary", func() bool { return l.failures.Load() > failures+10 })
	before := l.acknowledged()
	admin := dbtest.Open(t, standby.DSN("candor"))
	err := admin.InTx(t.Context(), func(*db.Tx) error { return nil })
	if !errors.Is(err, driver.ErrBadConn) {
		t.Errorf("a transaction on a replica: %v, want one that is tried on another connection", err)
	}
	if _, err := admin.Raw().ExecContext(t.Context(), "SELECT pg_promote(true, 30)"); err != nil {
		t.Fatal(err)
	}
	promoted := time.Now()
	passed := func(what string) {
		t.Helper()
		t.Logf("%6s  %s", time.Since(started).Round(time.Millisecond), what)
		if since := time.Since(promoted); since > servesAgain {
			t.Errorf("%s: %s after the promotion, want at most %s", what, since, servesAgain)
		}
	}
	passed("replica promoted")
	testkit.Await(t, "a session is created", func() bool { return len(l.acknowledged()) > len(before) })
	passed("first session created")
	testkit.Await(t, "a new session's webhook arrives", func() bool {
		for _, call := range hooks.Of("session.accessed") {
			if _, known := before[call.SessionID]; !known {
				return true
			}
		}
		return false
	})
	passed("first webhook of a new session")
	wantListening(t, admin, `LISTEN "candor_%"`) // the last of two, in any order
	passed("the web process listens")
	wantListening(t, admin, riverListens...)
	passed("the worker listens")
	status, _, body := api.Do("POST", "/sessions",
		`{"form_type": "financial_statement", "customer_email": "jo@customer.example", "simulate": "completed"}`)
	if status != 201 {
		t.Fatalf("after the failover: %d %s", status, body)
	}
	hooks.Wait("session.pdf_ready", 1)
	passed("first PDF drawn by a job")
	l.await(t, l.count()+20)
	stop()
	l.wantAll(t, api, hooks)
	t.Logf("%6s  all %d acknowledged sessions and the webhooks of the opened ones are there",
		time.Since(started).Round(time.Millisecond), len(l.acknowledged()))
	web.Stop()
	worker.Stop()
}

// riverListens are the last statements of the connection on which River listens: it pings
// after five seconds without a notification.
var riverListens = []string{`LISTEN "%.river_%"`, `-- ping`}

// wantListening waits for a connection whose last statement is like one of the patterns.
func wantListening(t *testing.T, d *db.DB, patterns ...string) {
	t.Helper()
	testkit.Await(t, patterns[0], func() bool {
		var n int
		err := d.Raw().GetContext(t.Context(), &n,
			`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE ANY ($1)`,
			pq.StringArray(patterns))
		return err == nil && n > 0
	})
}

// replicated is a web process and a worker on a primary and its replica.
type replicated struct {
	primary, standby *devpg.Server
	web, worker      *process.Candor
	hooks            *hooktest.Receiver
	api              process.Partner
	key              string // of the API, in test mode
}

// serveReplicated starts them with env. The web process listens for events.
func serveReplicated(t *testing.T, env process.Environment) replicated {
	t.Helper()
	dir := openDir(t)
	primary := startPostgres(t, filepath.Join(dir, "a"))
	standby := startStandby(t, primary, filepath.Join(dir, "b"))
	env = env.With("DATABASE_URL", "postgres://candor@/candor?sslmode=disable&host="+socketOf(t, primary)+","+socketOf(t, standby)+
		"&port=5432,5432")
	a, hooks := process.CreateAccountWithReceiver(t, env, nil)
	web, worker := process.Serve(t, env, "web"), process.Serve(t, env, "worker")
	api := process.NewPartner(t, web.URL, a.TestKey)
	api.Do("GET", "/events?wait=1&type=billing.invoice_paid", "")
	return replicated{primary, standby, web, worker, hooks, api, a.TestKey}
}

// unlimitedEnvironment has no limits to requests, and sweeps often.
func unlimitedEnvironment(t *testing.T) process.Environment {
	t.Helper()
	return process.NewEnvironment(t).With("CANDOR_RATE_PER_MINUTE", "1000000", "CANDOR_RATE_BURST", "1000000", "CANDOR_BASE_URL",
		"http://localhost:8080",
		"CANDOR_SWEEP_INTERVAL", "1s")
}

// startStandby starts a replica of a server. Commits wait for it.
func startStandby(t *testing.T, primary *devpg.Server, dir string) *devpg.Server {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	source := "host=" + socketOf(t, primary) + " port=5432 user=candor application_name=standby"
	backup := exec.CommandContext(t.Context(), filepath.Join(primary.BinDir(), "pg_basebackup"), "-D", filepath.Join(dir, "data"),
		"-R", "-X", "stream", "-c", "fast", "-d", source)
	if out, err := backup.CombinedOutput(); err != nil {
		t.Fatalf("pg_basebackup: %v: %s", err, out)
	}
	giveTo(t, dir, primary.Dir())
	standby, err := devpg.Start(t.Context(), dir, devpg.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := standby.Stop(); err != nil {
			t.Error(err)
		}
	})
	d, err := db.Open(t.Context(), primary.DSN("candor"), db.Options{MaxOpenConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, statement := range []string{"ALTER SYSTEM SET synchronous_standby_names = 'FIRST 1 (standby)'",
		"SELECT pg_reload_conf()"} {
		if _, err := d.Raw().ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	testkit.Await(t, "the replica is synchronous", func() bool {
		var n int
		err := d.Raw().GetContext(t.Context(), &n, `SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'`)
		return err == nil && n == 1
	})
	return standby
}

// giveTo makes the owner of one folder the owner of another.
func giveTo(t *testing.T, dir, like string) {
	t.Helper()
	info, err := os.Stat(like)
	if err != nil {
		t.Fatal(err)
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		t.Fatal("no owner is known")
	}
	err = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, int(owner.Uid), int(owner.Gid))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// socketOf is the folder of a server's socket.
func socketOf(t *testing.T, server *devpg.Server) string {
	t.Helper()
	u, err := url.Parse(server.DSN("candor"))
	if err != nil {
		t.Fatal(err)
	}
	return u.Query().Get("host")
}
