package main_test

import (
	"context"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lib/pq"

	"candor/db"
	"candor/internal/testkit"
	"candor/internal/testkit/dbtest"
	"candor/internal/testkit/process"
)

func TestTroubleIsOneClearLineWithTheRemedy(t *testing.T) {
	t.Parallel()
	busy, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { busy.Close() })
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	nowhere := "postgres://u:hidden@127.0.0.1:1/candor?sslmode=disable"
	complete := process.ProductionEnvironment(t, nowhere)
	for name, tt := range map[string]struct {
		env  process.Environment
		args []string
		code int
		want []string
	}{
		"production without anything": {process.Environment{"CANDOR_ENV": "production"}, nil, 1, []string{
			"3 errors", "CANDOR_BASE_URL is missing", "DATABASE_URL is missing", "CANDOR_SECRET_KEYS is missing", "openssl rand"}},
		"plain http in production": {complete.With("CANDOR_BASE_URL", "http://forms.example.com"), []string{"web"}, 1,
			[]string{"CANDOR_BASE_URL must begin with https://"}},
		"a short key": {complete.With("CANDOR_SECRET_KEYS", "k1:AAAA"), nil, 1, []string{"CANDOR_SECRET_KEYS", "k1",
			"openssl rand"}},
		"unknown environment": {process.Environment{"CANDOR_ENV": "prod"}, nil, 1,
			[]string{"CANDOR_ENV must be development or production"}},
		"several wrong values": {process.Environment{"CANDOR_WEBHOOK_SCHEDULE": "soon", "CANDOR_RATE_BURST": "0",
			"CANDOR_TRUSTED_PROXIES": "10.0.0.0/99", "CANDOR_SWEEP_INTERVAL": "-1s"}, nil, 1, []string{
			"4 errors", "CANDOR_WEBHOOK_SCHEDULE", "CANDOR_RATE_BURST must be a whole number", "CANDOR_TRUSTED_PROXIES",
			"CANDOR_SWEEP_INTERVAL must be a duration"}},
		"busy port": {process.Environment{"CANDOR_ADDR": busy.Addr().String(), "CANDOR_DATA_DIR": t.TempDir()}, nil, 1,
			[]string{"is in use by another program", "set CANDOR_ADDR"}},
		"no port": {process.Environment{"CANDOR_ADDR": "localhost", "CANDOR_DATA_DIR": t.TempDir()}, nil, 1,
			[]string{"CANDOR_ADDR must be host:port"}},
		"unwritable folder": {process.Environment{"CANDOR_ADDR": "localhost:0", "CANDOR_DATA_DIR": filepath.Join(file, "data")},
			nil, 1, []string{"can't write in the data folder", "set CANDOR_DATA_DIR"}},
		"database not there": {complete, []string{"worker"}, 1, []string{"connect to PostgreSQL", "connection refused",
			"DATABASE_URL"}},
		"database not an URL": {complete.With("DATABASE_URL", "postgres://u:hidden@h:x/"), []string{"worker"}, 1,
			[]string{"DATABASE_URL has a port that isn't a number"}},
		"unknown command":       {nil, []string{"sevre"}, 2, []string{`unknown command "sevre"`, "candor help"}},
		"account alone":         {nil, []string{"account"}, 2, []string{"account needs create, approve or list"}},
		"account without flags": {nil, []string{"account", "create", "--name", "N"}, 2, []string{"--name, --email and --plan"}},
		"unknown flag":          {nil, []string{"serve", "--port", "1"}, 2, []string{"serve: flag provided but not defined"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := process.Run(t, tt.env, tt.args...)
			if r.Code != tt.code {
				t.Errorf("exit code %d, want %d", r.Code, tt.code)
			}
			for _, want := range tt.want {
				if !strings.Contains(r.Stderr, want) {
					t.Errorf("printed %q, which does not say %q", r.Stderr, want)
				}
			}
			lines := strings.Count(r.Stderr, "\n")
			if strings.Contains(r.Stderr, " errors:") {
				lines -= strings.Count(r.Stderr, "\n  ")
			}
			if lines != 1 || !strings.HasPrefix(r.Stderr, "candor: ") {
				t.Errorf("printed %q, want one line from candor", r.Stderr)
			}
			if strings.Contains(r.Stderr+r.Stdout, "hidden") {
				t.Errorf("printed the database's password: %q", r.Stderr)
			}
		})
	}
}

func TestMigrateThenServeInProduction(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	dsn := dbtest.EmptyDSN(t)
	env := process.ProductionEnvironment(t, dsn)
	if r := process.Run(t, env, "web"); r.Code != 1 || !strings.Contains(r.Stderr, "run candor migrate") {
		t.Fatalf("web before migrate: exit code %d, %q; want 1 and to run candor migrate", r.Code, r.Stderr)
	}
	type migrated struct {
		Changed bool
		Schema  string
	}
	if m := process.RunJSON[migrated](t, env, "migrate"); !m.Changed || m.Schema == "" {
		t.Errorf("the first migrate printed %+v", m)
	}
	if m := process.RunJSON[migrated](t, env, "migrate"); m.Changed {
		t.Errorf("the second migrate printed %+v", m)
	}
	pending, err := db.MigrationsPending(context.Background(), dbtest.Open(t, dsn))
	if err != nil || pending {
		t.Errorf("MigrationsPending = %t, %v", pending, err)
	}
	process.Serve(t, env, "web").Stop()
}

// The service works in a role that owns no table and can't rewrite the audit log.
func TestServiceHasARoleOfItsOwn(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	owner := dbtest.EmptyDSN(t)
	as, err := url.Parse(owner)
	if err != nil {
		t.Fatal(err)
	}
	role := "candor_service_" + strings.TrimLeft(as.Path, "/")
	as.User = url.User(role)
	pool := dbtest.Open(t, owner)
	if _, err := pool.Raw().Exec("CREATE ROLE " + pq.QuoteIdentifier(role) + " LOGIN"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, statement := range []string{"DROP OWNED BY ", "DROP ROLE "} {
			if _, err := pool.Raw().Exec(statement + pq.QuoteIdentifier(role)); err != nil {
				t.Error(err)
			}
		}
	})
	env := process.ProductionEnvironment(t, as.String()).With("CANDOR_MIGRATE_URL", owner)
	process.RunJSON[any](t, env, "migrate")
	server := process.Serve(t, env, "serve")
	if log := server.Stdout.String() + server.Stderr.String(); strings.Count(log,
		"no tax invoices without CANDOR_SELLER_NAME and CANDOR_SELLER_ABN") != 1 {
		t.Errorf("a start without a seller logs, want one warning:\n%s", log)
	}
	if log := server.Stdout.String() + server.Stderr.String(); strings.Contains(log, "verify-full") {
		t.Errorf("warned of a database on this machine: %s", log)
	}
	if strings.Contains(server.Stderr.String(), "rewrite the audit log") {
		t.Errorf("warned of its role: %s", server.Stderr.String())
	}
	account := process.CreateAccount(t, env)
	process.NewPartner(t, server.URL, account.TestKey).CreateSession("")
	process.RunJSON[any](t, env, "webhooks", "secret", "next", "--account", account.AccountID)
	server.Stop()
	service := dbtest.Open(t, as.String())
	for _, statement := range []string{"UPDATE audit_log SET actor_name = 'x'", "DELETE FROM audit_log", "TRUNCATE audit_log",
		"ALTER TABLE audit_log DISABLE TRIGGER ALL", "DROP TABLE audit_log", "UPDATE plan SET overage_cents = 0",
		"DELETE FROM goose_db_version",
		"DELETE FROM invoice", "TRUNCATE invoice", "DELETE FROM invoice_number", "INSERT INTO invoice_number VALUES (1)",
		"TRUNCATE invoice_number"} {
		if _, err := service.Raw().Exec(statement); err == nil || !strings.Contains(err.Error(), "permission denied") &&
			!strings.Contains(err.Error(), "must be owner") {
			t.Errorf("%s: %v, want to be refused", statement, err)
		}
	}
	var lines int
	if err := service.Raw().Get(&lines, "SELECT count(*) FROM audit_log"); err != nil || lines == 0 {
		t.Errorf("%d lines in the audit log, %v", lines, err)
	}
}

func TestVersionAndHelp(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	if v := process.RunJSON[map[string]any](t, nil, "version"); v["version"] == "" || v["go"] == "" {
		t.Errorf("version --json = %v", v)
	}
	help := process.Run(t, nil, "help")
	for _, want := range []string{"serve", "account create", "--plan", "CANDOR_SECRET_KEYS", "DATABASE_URL"} {
		if !strings.Contains(help.Stdout, want) {
			t.Errorf("help does not mention %s", want)
		}
	}
	if r := process.Run(t, nil, "migrate", "-h"); r.Code != 0 || !strings.Contains(r.Stdout, "Usage: candor migrate [--json]") {
		t.Errorf("migrate -h: exit code %d, %q", r.Code, r.Stdout)
	}
}
