package db_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/lib/pq"

	"candor/internal/testkit/dbtest"
)

// TestGrantIsAllOrNothing fails half-way, where the role would already have been
// given the audit log to change.
func TestGrantIsAllOrNothing(t *testing.T) {
	t.Parallel()
	dsn := dbtest.DSN(t)
	at, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	d, role := dbtest.Open(t, dsn), "candor_grant_"+strings.TrimLeft(at.Path, "/")
	quoted := pq.QuoteIdentifier(role)
	exec := func(statement string) {
		t.Helper()
		if _, err := d.Raw().ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	exec("CREATE ROLE " + quoted)
	t.Cleanup(func() {
		for _, statement := range []string{"DROP OWNED BY ", "DROP ROLE "} {
			if _, err := d.Raw().Exec(statement + quoted); err != nil {
				t.Error(err)
			}
		}
	})
	may := func(privilege string) (may bool) {
		t.Helper()
		if err := d.Raw().GetContext(t.Context(), &may, "SELECT has_table_privilege($1, 'audit_log', $2)", role,
			privilege); err != nil {
			t.Fatal(err)
		}
		return may
	}
	exec("ALTER TABLE plan RENAME TO away")
	if err := d.Grant(t.Context(), role); err == nil || may("UPDATE") || may("SELECT") {
		t.Errorf("Grant without a table: %v; it left UPDATE %t, SELECT %t", err, may("UPDATE"), may("SELECT"))
	}
	exec("ALTER TABLE away RENAME TO plan")
	if err := d.Grant(t.Context(), role); err != nil || may("UPDATE") || !may("SELECT") {
		t.Errorf("Grant: %v; it left UPDATE %t, SELECT %t", err, may("UPDATE"), may("SELECT"))
	}
}
