package db_test

import (
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/lib/pq"

	"candor/internal/testkit"
	"candor/internal/testkit/dbtest"
)

const schemaHead = `-- The schema that the migrations make, for reading. Tables of River and of the
-- migration tool are left out. Generated: go test ./db -run TestSchemaDump -update

`

// dumpHeader starts each object in pg_dump's output and names it.
var dumpHeader = regexp.MustCompile(`(?m)^--\n-- Name: (.+?); Type: (.+?); Schema: .*\n--\n`)

func TestSchemaDump(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(filepath.Join(dbtest.BinDir(t), "pg_dump"),
		"--schema-only", "--no-owner", "--no-privileges", "--dbname", dbtest.DSN(t))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("pg_dump: %v: %s", err, stderr.String())
	}
	testkit.Golden(t, "schema.sql", []byte(readableSchema(string(out))))
}

// TestTablesLeaveErasedSessions: what is inserted of a session waits for its erasure and
// finds it (D90). A table with a session's id has the trigger, or says here why not.
func TestTablesLeaveErasedSessions(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	without := map[string]string{
		"api_request":    "ids alone",
		"blob_garbage":   "ids and sizes of files that wait for their deletion",
		"delivery":       "deleted with the session's event locked, and inserted with its event",
		"erasure":        "the receipt",
		"event":          "recorded by who has locked the session, and says what it then says",
		"session_search": "written by triggers of the session",
	}
	var tables []struct {
		Name   string
		Leaves bool
	}
	if err := s.Raw().SelectContext(s.ctx, &tables, `
		SELECT c.table_name::text AS name, EXISTS (SELECT FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid
			WHERE t.tgrelid = c.table_name::regclass AND p.proname = 'leave_erased' AND t.tgtype & 7 = 7) AS leaves
		FROM information_schema.columns c WHERE c.table_schema = 'public' AND c.column_name = 'session_id'`); err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		if table.Leaves == (without[table.Name] != "") {
			t.Errorf("%s: leaves erased sessions: %v, and without because: %q", table.Name, table.Leaves, without[table.Name])
		}
	}
	if len(tables) < len(without)+6 {
		t.Errorf("only %d tables: %v", len(tables), tables)
	}
}

// readableSchema keeps our own objects of a dump, without what depends on the
// version of PostgreSQL.
func readableSchema(dump string) string {
	var b strings.Builder
	b.WriteString(schemaHead)
	headers := dumpHeader.FindAllStringSubmatchIndex(dump, -1)
	for i, h := range headers {
		end := len(dump)
		if i+1 < len(headers) {
			end = headers[i+1][0]
		}
		name := dump[h[2]:h[3]]
		name = strings.TrimPrefix(strings.TrimPrefix(name, "TABLE "), "COLUMN ")
		if strings.HasPrefix(name, "river_") || strings.HasPrefix(name, "goose_") {
			continue
		}
		if body := statements(dump[h[1]:end]); body != "" {
			b.WriteString(body + "\n\n")
		}
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// statements drops session settings, psql commands and comments at the start of a line.
func statements(body string) string {
	var keep []string
	for line := range strings.SplitSeq(body, "\n") {
		if strings.HasPrefix(line, "SET default_") || strings.HasPrefix(line, `\`) || strings.HasPrefix(line, "--") {
			continue
		}
		keep = append(keep, line)
	}
	return strings.TrimSpace(strings.Join(keep, "\n"))
}

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
