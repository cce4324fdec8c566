package db_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// growing are the tables whose rows come with sessions and requests: a statement that
// reads or writes all of one must not stop the others.
const growing = `session|section|section_\w+|document|statement_pdf|event|delivery|delivery_attempt|api_request|audit_log|idempotency_key|session_search|link_use|subscription_usage|river_job`

// breaking are the statements of a migration that break the previous release, which
// runs beside this one during an upgrade and after a way back, or that stop it for long.
var breaking = []struct {
	pattern *regexp.Regexp
	why     string
	growing bool // only in tables that grow
}{
	{caseless(`DROP (COLUMN|CONSTRAINT)`), "the previous release may use what is dropped: drop it a release later", false},
	{caseless(`^DROP (TABLE|VIEW|TYPE|FUNCTION|TRIGGER|SEQUENCE|SCHEMA|INDEX)`),
		"the previous release may use what is dropped: drop it a release later", false},
	{caseless(`\bRENAME\b`), "the previous release knows the former name only: add the new one, drop the former a release later",
		false},
	{caseless(`ALTER (COLUMN )?\S+ (SET DATA )?TYPE\b|ALTER TYPE`),
		"this rewrites the table, and the previous release writes the former type: add another column", false},
	{caseless(`SET NOT NULL`), "the previous release may write NULL: give the column a default, and set this a release later",
		false},
	{caseless(`ADD COLUMN [^,;]*NOT NULL[^,;]*`), "", false}, // see breaks: it may have a default
	{caseless(`ADD COLUMN [^,]*DEFAULT (\(|clock_timestamp|random|gen_random)`), "a default that differs by row rewrites the table",
		true},
	{caseless(`ADD (CONSTRAINT|CHECK|FOREIGN KEY|UNIQUE|PRIMARY KEY)`),
		"this reads the whole table and refuses what the previous release may write: add it as NOT VALID, and validate it a release later", false},
	{caseless(`^CREATE (UNIQUE )?INDEX`),
		"this stops writes until the index is built: CREATE INDEX CONCURRENTLY with -- +goose NO TRANSACTION", true},
	{caseless(`^CREATE UNIQUE INDEX`), "the previous release may write what the index refuses", false},
	{caseless(`^(LOCK|TRUNCATE|CLUSTER|VACUUM FULL)|^REINDEX (TABLE|INDEX) `), "this stops everything that uses the table", false},
	{caseless(`^(UPDATE|DELETE FROM) `), "one transaction that writes every row stops the others: write in batches, from a job",
		true},
}

func caseless(pattern string) *regexp.Regexp { return regexp.MustCompile(`(?is)` + pattern) }

var (
	dollarQuoted = regexp.MustCompile(`(?s)\$(\w*)\$.*?\$\w*\$`)
	lineComment  = regexp.MustCompile(`--[^\n]*`)
	contract     = regexp.MustCompile(`-- contract: \S`)
	tableName    = regexp.MustCompile(`(?i)(?:ALTER TABLE|\bON|^UPDATE|^DELETE FROM)(?: ONLY| IF EXISTS)* +(?:public\.)?(\w+)`)
	newTable     = regexp.MustCompile(`(?i)CREATE TABLE(?: IF NOT EXISTS)? +(?:public\.)?(\w+)`)
	newIndex     = regexp.MustCompile(`(?i)DROP INDEX CONCURRENTLY IF EXISTS (\w+);\s*CREATE INDEX CONCURRENTLY (\w+)`)
)

// breaks returns what of a migration breaks the previous release. Tables that the same
// upgrade creates are the new release's alone.
func breaks(migration string, created []string) (wrong []string) {
	up, _, _ := strings.Cut(migration, "-- +goose Down")
	alone := strings.Contains(up, "-- +goose NO TRANSACTION")
	for _, repeated := range newIndex.FindAllStringSubmatch(up, -1) {
		if repeated[1] == repeated[2] { // what an interrupted migration left
			up = strings.Replace(up, "DROP INDEX CONCURRENTLY IF EXISTS "+repeated[1]+";", "", 1)
		}
	}
	for part := range strings.SplitSeq(dollarQuoted.ReplaceAllString(up, "''"), ";") {
		if contract.MatchString(part) {
			continue
		}
		sql := strings.Join(strings.Fields(lineComment.ReplaceAllString(part, "")), " ")
		if sql == "" {
			continue
		}
		if alone && !strings.Contains(sql, "CONCURRENTLY") {
			wrong = append(wrong,
				sql+": this waits for its lock without an end, and all others wait behind it: put it in a migration of its own")
		}
		table := ""
		if found := tableName.FindStringSubmatch(sql); found != nil {
			table = found[1]
		}
		if slices.Contains(created, table) {
			continue
		}
		for _, b := range breaking {
			why := b.why
			if found := b.pattern.FindString(sql + ";"); found == "" || b.growing && !regexp.MustCompile(`^(`+growing+`)$`).
				MatchString(table) {
				continue
			} else if why == "" {
				if strings.Contains(strings.ToUpper(found), "DEFAULT") {
					continue
				}
				why = "the previous release inserts without this column: give it a default"
			}
			if strings.Contains(sql, "CONCURRENTLY") && strings.HasPrefix(sql, "CREATE INDEX") || strings.HasSuffix(sql, "NOT VALID") {
				continue
			}
			wrong = append(wrong, sql+": "+why)
		}
	}
	return wrong
}

// previousMigration is the newest migration of the previous release.
func previousMigration(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile("../scripts/previous-release")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(content)) {
		if number, ok := strings.CutPrefix(strings.TrimSpace(line), "migration="); ok {
			return number
		}
	}
	t.Fatal("scripts/previous-release names no migration")
	return ""
}

// The previous release works on this release's schema: it runs beside this one during an
// upgrade, and again after a way back (D75). make check-upgrade runs both.
func TestMigrationsLeaveThePreviousReleaseWorking(t *testing.T) {
	t.Parallel()
	last := previousMigration(t)
	files, err := filepath.Glob("migrations/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	var created []string
	since := map[string]string{}
	for _, file := range files {
		if number, _, _ := strings.Cut(filepath.Base(file), "_"); number <= last {
			continue
		}
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		since[file] = string(content)
		for _, found := range newTable.FindAllStringSubmatch(string(content), -1) {
			created = append(created, found[1])
		}
	}
	for file, content := range since {
		for _, wrong := range breaks(content, created) {
			t.Errorf(
				"%s: %s. If it must be, write `-- contract: ` with the reason before the statement, and the steps for operators into CHANGELOG.md.", file, wrong)
		}
	}
}

func TestBreakingMigrationsAreFound(t *testing.T) {
	t.Parallel()
	for _, sql := range []string{
		"ALTER TABLE session DROP COLUMN language;", "ALTER TABLE account\n    ADD COLUMN a text,\n    DROP COLUMN b;",
		"DROP TABLE held_form;", "DROP TRIGGER staff_seen ON staff_session;",
		"ALTER TABLE account RENAME COLUMN name TO title;", "ALTER TABLE account RENAME TO client;",
		"ALTER TABLE account ALTER COLUMN name TYPE bytea;",
		"ALTER TABLE account ALTER COLUMN logo SET NOT NULL;", "ALTER TABLE account ADD COLUMN a text NOT NULL;",
		"ALTER TABLE account ADD COLUMN a text NOT NULL, ADD COLUMN b text DEFAULT '';",
		"ALTER TABLE session ADD COLUMN a uuid DEFAULT gen_random_uuid();", "ALTER TABLE session ADD CONSTRAINT c CHECK (a > 0);",
		"ALTER TABLE session ADD CHECK (a > 0);",
		"CREATE INDEX session_a_idx ON session (a);", "CREATE UNIQUE INDEX account_a_idx ON account (a);", "LOCK TABLE account;",
		"UPDATE session SET a = 1;", "DELETE FROM event;",
		"-- +goose NO TRANSACTION\nALTER TABLE session ADD COLUMN a text;\nCREATE INDEX CONCURRENTLY i ON session (a);",
		"CREATE TABLE other (id uuid);\nCREATE INDEX CONCURRENTLY i ON other (id);\nALTER TABLE session DROP COLUMN a;",
	} {
		if len(breaks("-- +goose Up\n"+sql+"\n-- +goose Down\n", nil)) == 0 {
			t.Errorf("not found: %s", sql)
		}
	}
	for _, sql := range []string{
		"ALTER TABLE session ADD COLUMN a text;", "ALTER TABLE session ADD COLUMN a integer NOT NULL DEFAULT 0;",
		"ALTER TABLE session ADD COLUMN a text, ADD COLUMN b text NOT NULL DEFAULT '';",
		"ALTER TABLE session ADD CONSTRAINT c CHECK (a > 0) NOT VALID;", "CREATE INDEX CONCURRENTLY session_a_idx ON session (a);",
		"CREATE INDEX account_a_idx ON account (a);",
		"DROP INDEX CONCURRENTLY IF EXISTS i;\nCREATE INDEX CONCURRENTLY i ON session (a);",
		"CREATE TABLE fresh (id uuid NOT NULL);\nCREATE UNIQUE INDEX i ON fresh (id);",
		"-- contract: the previous release stopped reading it\nALTER TABLE session DROP COLUMN a;",
		"CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN DELETE FROM event; END $$;",
	} {
		if wrong := breaks("-- +goose Up\n"+sql+"\n-- +goose Down\nDROP TABLE session;", []string{"fresh"}); len(wrong) > 0 {
			t.Errorf("found: %s", wrong)
		}
	}
}
