package db_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/lib/pq"

	"candor/db"
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
		got, err := db.Address(dsn)
		if err != nil || got != want {
			t.Errorf("Address(%q) = %q, %v, want %q", dsn, got, err, want)
			continue
		}
		if again, err := db.Address(got); err != nil || again != got {
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
		if got, err := db.Address(dsn); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hid") {
			t.Errorf("Address(%q) = %q, %v, want an error with %q and without the password", dsn, got, err, want)
		}
	}
}
