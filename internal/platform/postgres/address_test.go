package postgres_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/lib/pq"

	"candor/internal/platform/postgres"
)

// TestAddress: what the two drivers read differently is normalised or refused.
func TestAddress(t *testing.T) {
	t.Parallel()
	const failover = "&target_session_attrs=read-write&connect_timeout=3&sslmode=require"
	for dsn, want := range map[string]string{
		"postgres://u:p@h/db":                             "postgres://u:p@h/db?sslmode=require",
		"postgres://u:p@h:5/db?sslmode=disable":           "postgres://u:p@h:5/db?sslmode=disable",
		"postgresql://u:p@h1:1,h2:2/db":                   "postgresql://u:p@/db?host=h1,h2&port=1,2" + failover,
		"postgres://u:p@h1,h2:2/db?application_name=a":    "postgres://u:p@/db?application_name=a&host=h1,h2&port=5432,2" + failover,
		"postgres://u:p@[::1]:1,[fe80::2]/db":             "postgres://u:p@/db?host=::1,fe80::2&port=1,5432" + failover,
		"postgres://u:p@/db?host=h1,h2&port=1,2":          "postgres://u:p@/db?host=h1,h2&port=1,2" + failover,
		"postgres://u@/db?host=/a,/b&connect_timeout=9":   "postgres://u@/db?host=/a,/b&connect_timeout=9&target_session_attrs=read-write",
		"host=h1,h2 port=1,2 user=u password=p dbname=db": "host=h1,h2 port=1,2 user=u password=p dbname=db target_session_attrs=read-write connect_timeout=3 sslmode=require",
		"postgres://u:p@/db?sslmode=disable":              "postgres://u:p@/db?sslmode=disable&host=localhost",
	} {
		got, err := postgres.Address(dsn)
		if err != nil || got != want {
			t.Errorf("Address(%q) = %q, %v, want %q", dsn, got, err, want)
			continue
		}
		if again, err := postgres.Address(got); err != nil || again != got {
			t.Errorf("Address(%q) = %q, %v: it isn't stable", got, again, err)
		}
		ours, err := pq.NewConfig(got)
		if err != nil {
			t.Error(err)
		}
		theirs, err := pgx.ParseConfig(got)
		if err != nil {
			t.Error(err)
		}
		if strings.Trim(ours.Host, "[]") != theirs.Host || ours.Port != theirs.Port || ours.User != theirs.User ||
			len(ours.Multi) != len(theirs.Fallbacks) {
			t.Errorf("%q is read as %s:%d and %s:%d", got, ours.Host, ours.Port, theirs.Host, theirs.Port)
		}
	}
	for dsn, want := range map[string]string{
		"postgres://u:hid@h1,h2/db?host=h3":                           "names hosts both",
		"postgres://u:hid@h1,h2/db?target_session_attrs=any":          "target_session_attrs=any",
		"postgres://u:hid/den@h/db":                                   "%2F",
		"postgres://u:hid@den@h/db?sslmode=disable":                   "ambiguous",
		"postgres://u:hid@h/db?host=h2&host=h3&sslmode=disable":       "would connect to h2:5432, workers to h3:5432",
		"postgres://u:hid@h1,h2,h3/db?sslmode=disable&port=1,2":       "names hosts both",
		"postgres://u:hid@/db?host=h1,h2,h3&port=1,2&sslmode=disable": "can't be read",
		"postgres://u:hid@h/db?hostaddr=192.0.2.1":                    "hostaddr",
		"postgres://u:hid@h/db?sslmode=sometimes":                     "can't be read",
		"host=h password='hid":                                        "can't be read",
	} {
		got, err := postgres.Address(dsn)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hid") {
			t.Errorf("Address(%q) = %q, %v, want an error with %q and without the password", dsn, got, err, want)
		}
	}
}

func TestReadable(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]bool{
		"postgres://candor@localhost/candor":                               false,
		"postgres://candor@127.0.0.1:5432/candor?sslmode=disable":          false,
		"postgres://candor@[::1]/candor":                                   false,
		"host=/run/postgresql dbname=candor":                               false,
		"postgres:///candor?host=/run/postgresql":                          false,
		"postgres://candor@db.example/candor?sslmode=verify-full":          false,
		"postgres://candor@db.example/candor":                              true,
		"postgres://candor@db.example/candor?sslmode=disable":              true,
		"postgres://candor@db.example/candor?sslmode=require":              true,
		"postgres://candor@10.0.0.7/candor?sslmode=verify-ca":              true,
		"host=localhost,db.example dbname=candor":                          true,
		"host=localhost hostaddr=10.0.0.7 dbname=candor":                   true,
		"host=db.example hostaddr=127.0.0.1 dbname=candor sslmode=disable": false,
	} {
		if got, err := postgres.Readable(dsn); err != nil || got != want {
			t.Errorf("Readable(%q) = %v, %v, want %v", dsn, got, err, want)
		}
	}
	_, err := postgres.Readable("postgres://candor:hunter2@db example/candor")
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a bad connection string: %v, want an error without the password", err)
	}
}
