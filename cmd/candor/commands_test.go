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
)

const twoKeys = "k2:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=,k1:BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBA="

// production is a complete configuration for a database.
func production(t *testing.T, dsn string) environment {
	return environment{
		"CANDOR_ENV": "production", "CANDOR_ADDR": "localhost:0", "CANDOR_BASE_URL": "https://forms.example.com",
		"CANDOR_SECRET_KEYS": twoKeys, "CANDOR_DATA_DIR": t.TempDir(), "CANDOR_DB_CONNECTIONS": "5", "DATABASE_URL": dsn,
	}
}

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
	complete := production(t, nowhere)
	for name, tt := range map[string]struct {
		env  environment
		args []string
		code int
		want []string
	}{
		"production without anything": {environment{"CANDOR_ENV": "production"}, nil, 1, []string{
			"3 errors", "CANDOR_BASE_URL is missing", "DATABASE_URL is missing", "CANDOR_SECRET_KEYS is missing", "openssl rand"}},
		"plain http in production": {complete.with("CANDOR_BASE_URL", "http://forms.example.com"), []string{"web"}, 1, []string{"CANDOR_BASE_URL must begin with https://"}},
		"a short key":              {complete.with("CANDOR_SECRET_KEYS", "k1:AAAA"), nil, 1, []string{"CANDOR_SECRET_KEYS", "k1", "openssl rand"}},
		"unknown environment":      {environment{"CANDOR_ENV": "prod"}, nil, 1, []string{"CANDOR_ENV must be development or production"}},
		"several wrong values": {environment{"CANDOR_WEBHOOK_SCHEDULE": "soon", "CANDOR_RATE_BURST": "0", "CANDOR_TRUSTED_PROXIES": "10.0.0.0/99", "CANDOR_SWEEP_INTERVAL": "-1s"}, nil, 1, []string{
			"4 errors", "CANDOR_WEBHOOK_SCHEDULE", "CANDOR_RATE_BURST must be a whole number", "CANDOR_TRUSTED_PROXIES", "CANDOR_SWEEP_INTERVAL must be a duration"}},
		"busy port":             {environment{"CANDOR_ADDR": busy.Addr().String(), "CANDOR_DATA_DIR": t.TempDir()}, nil, 1, []string{"is in use by another program", "set CANDOR_ADDR"}},
		"no port":               {environment{"CANDOR_ADDR": "localhost", "CANDOR_DATA_DIR": t.TempDir()}, nil, 1, []string{"CANDOR_ADDR must be host:port"}},
		"unwritable folder":     {environment{"CANDOR_ADDR": "localhost:0", "CANDOR_DATA_DIR": filepath.Join(file, "data")}, nil, 1, []string{"can't write in the data folder", "set CANDOR_DATA_DIR"}},
		"database not there":    {complete, []string{"worker"}, 1, []string{"connect to PostgreSQL", "connection refused", "DATABASE_URL"}},
		"database not an URL":   {complete.with("DATABASE_URL", "postgres://u:hidden@h:x/"), []string{"worker"}, 1, []string{"connection string is not valid", "DATABASE_URL"}},
		"unknown command":       {nil, []string{"sevre"}, 2, []string{`unknown command "sevre"`, "candor help"}},
		"account alone":         {nil, []string{"account"}, 2, []string{"account needs create, approve or list"}},
		"account without flags": {nil, []string{"account", "create", "--name", "N"}, 2, []string{"--name, --email and --plan"}},
		"unknown flag":          {nil, []string{"serve", "--port", "1"}, 2, []string{"serve: flag provided but not defined"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := command(t, tt.env, tt.args...)
			if r.code != tt.code {
				t.Errorf("exit code %d, want %d", r.code, tt.code)
			}
			for _, want := range tt.want {
				if !strings.Contains(r.stderr, want) {
					t.Errorf("printed %q, which does not say %q", r.stderr, want)
				}
			}
			lines := strings.Count(r.stderr, "\n")
			if strings.Contains(r.stderr, " errors:") {
				lines -= strings.Count(r.stderr, "\n  ")
			}
			if lines != 1 || !strings.HasPrefix(r.stderr, "candor: ") {
				t.Errorf("printed %q, want one line from candor", r.stderr)
			}
			if strings.Contains(r.stderr+r.stdout, "hidden") {
				t.Errorf("printed the database's password: %q", r.stderr)
			}
		})
	}
}

func TestAccountCreateAndList(t *testing.T) {
	t.Parallel()
	env := testEnvironment(t)
	hook := "https://hooks.acme.example/candor"
	a := createAccount(t, env, "--webhook-url", hook)
	for name, has := range map[string]bool{
		"account_id": strings.HasPrefix(a.AccountID, "acct_"), "test_key": strings.HasPrefix(a.TestKey, "candor_test_"),
		"live_key": strings.HasPrefix(a.LiveKey, "candor_live_"), "test_webhook_secret": strings.HasPrefix(a.TestWebhookSecret, "whsec_"),
		"live_webhook_secret": strings.HasPrefix(a.LiveWebhookSecret, "whsec_") && a.LiveWebhookSecret != a.TestWebhookSecret,
		"email":               a.Email == "staff@acme.example", "password": len(a.Password) >= 16,
	} {
		if !has {
			t.Errorf("%s is wrong in %+v", name, a)
		}
	}
	var first bool
	if err := dbtest.Open(t, env["DATABASE_URL"]).Raw().Get(&first, `SELECT must_change_password FROM staff_user`); err != nil || !first {
		t.Errorf("the first password need not be changed: %v", err)
	}
	var urls []string
	if err := dbtest.Open(t, env["DATABASE_URL"]).Raw().Select(&urls, `SELECT default_url FROM webhook_setting`); err != nil {
		t.Fatal(err)
	}
	if len(urls) != 2 || urls[0] != hook || urls[1] != hook {
		t.Errorf("default webhook URLs are %q, want %q for both modes", urls, hook)
	}
	list := commandJSON[[]map[string]string](t, env, "account", "list")
	if len(list) != 1 || list[0]["account_id"] != a.AccountID || list[0]["name"] != "Acme Loans" {
		t.Errorf("account list = %v, want the one account", list)
	}
	if r := command(t, env, "account", "list"); !strings.Contains(r.stdout, a.AccountID) || !strings.Contains(r.stdout, "Acme Loans") {
		t.Errorf("account list printed %q", r.stdout)
	}
}

func TestAccountCreateRefuses(t *testing.T) {
	t.Parallel()
	env := testEnvironment(t)
	createAccount(t, env)
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"unknown plan":      {[]string{"--name", "N", "--email", "n@example.com", "--plan", "gold"}, "plan must be starter, professional, enterprise"},
		"no address":        {[]string{"--name", "N", "--email", "n", "--plan", "starter"}, "email must be an e-mail address"},
		"taken address":     {[]string{"--name", "N", "--email", "STAFF@acme.example", "--plan", "starter"}, "exists already"},
		"wrong webhook URL": {[]string{"--name", "N", "--email", "n@example.com", "--plan", "starter", "--webhook-url", "http://example.com"}, "--webhook-url: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := command(t, env, append([]string{"account", "create"}, tt.args...)...)
			if r.code != 1 || !strings.Contains(r.stderr, tt.want) {
				t.Errorf("exit code %d, %q; want 1 and %q", r.code, r.stderr, tt.want)
			}
		})
	}
}

func TestMigrateThenServeInProduction(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	dsn := dbtest.EmptyDSN(t)
	env := production(t, dsn)
	if r := command(t, env, "web"); r.code != 1 || !strings.Contains(r.stderr, "run candor migrate") {
		t.Fatalf("web before migrate: exit code %d, %q; want 1 and to run candor migrate", r.code, r.stderr)
	}
	type migrated struct {
		Changed bool
		Schema  string
	}
	if m := commandJSON[migrated](t, env, "migrate"); !m.Changed || m.Schema == "" {
		t.Errorf("the first migrate printed %+v", m)
	}
	if m := commandJSON[migrated](t, env, "migrate"); m.Changed {
		t.Errorf("the second migrate printed %+v", m)
	}
	pending, err := db.MigrationsPending(context.Background(), dbtest.Open(t, dsn))
	if err != nil || pending {
		t.Errorf("MigrationsPending = %t, %v", pending, err)
	}
	serve(t, env, "web").stop()
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
	env := production(t, as.String()).with("CANDOR_MIGRATE_URL", owner)
	commandJSON[any](t, env, "migrate")
	server := serve(t, env, "serve")
	if log := server.stdout.String() + server.stderr.String(); strings.Count(log, "no tax invoices without CANDOR_SELLER_NAME and CANDOR_SELLER_ABN") != 1 {
		t.Errorf("a start without a seller logs, want one warning:\n%s", log)
	}
	if log := server.stdout.String() + server.stderr.String(); strings.Contains(log, "verify-full") {
		t.Errorf("warned of a database on this machine: %s", log)
	}
	if strings.Contains(server.stderr.String(), "rewrite the audit log") {
		t.Errorf("warned of its role: %s", server.stderr.String())
	}
	account := createAccount(t, env)
	partner{t, server.url, account.TestKey}.createSession("")
	commandJSON[any](t, env, "webhooks", "secret", "next", "--account", account.AccountID)
	server.stop()
	service := dbtest.Open(t, as.String())
	for _, statement := range []string{"UPDATE audit_log SET actor_name = 'x'", "DELETE FROM audit_log", "TRUNCATE audit_log",
		"ALTER TABLE audit_log DISABLE TRIGGER ALL", "DROP TABLE audit_log", "UPDATE plan SET overage_cents = 0", "DELETE FROM goose_db_version",
		"DELETE FROM invoice", "TRUNCATE invoice", "DELETE FROM invoice_number", "INSERT INTO invoice_number VALUES (1)", "TRUNCATE invoice_number"} {
		if _, err := service.Raw().Exec(statement); err == nil || !strings.Contains(err.Error(), "permission denied") && !strings.Contains(err.Error(), "must be owner") {
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
	if v := commandJSON[map[string]any](t, nil, "version"); v["version"] == "" || v["go"] == "" {
		t.Errorf("version --json = %v", v)
	}
	help := command(t, nil, "help")
	for _, want := range []string{"serve", "account create", "--plan", "CANDOR_SECRET_KEYS", "DATABASE_URL"} {
		if !strings.Contains(help.stdout, want) {
			t.Errorf("help does not mention %s", want)
		}
	}
	if r := command(t, nil, "migrate", "-h"); r.code != 0 || !strings.Contains(r.stdout, "Usage: candor migrate [--json]") {
		t.Errorf("migrate -h: exit code %d, %q", r.code, r.stdout)
	}
}
