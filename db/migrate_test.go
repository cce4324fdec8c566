package db_test

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/testkit"
	"candor/internal/testkit/dbtest"
)

// migrateDSN makes this test binary a process that migrates and ends.
const migrateDSN = "DB_TEST_MIGRATE_DSN"

func TestMain(m *testing.M) {
	if dsn := os.Getenv(migrateDSN); dsn != "" {
		if err := db.Migrate(context.Background(), dsn); err != nil {
			os.Stderr.WriteString(err.Error())
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func pending(t *testing.T, dsn string) bool {
	t.Helper()
	got, err := db.MigrationsPending(context.Background(), dbtest.Open(t, dsn))
	if err != nil {
		t.Fatalf("MigrationsPending: %v", err)
	}
	return got
}

func TestMigrateInSixProcessesAtOnce(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	dsn := dbtest.EmptyDSN(t)
	if !pending(t, dsn) {
		t.Error("an empty database has no migrations pending")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			cmd := exec.Command(self)
			cmd.Env = append(os.Environ(), migrateDSN+"="+dsn)
			// Its output also proves that neither goose nor River talks.
			if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("migrate: %v, output %q", err, out)
			}
		})
	}
	wg.Wait()
	if pending(t, dsn) {
		t.Error("migrations pending after Migrate")
	}
}

func TestMigrateInSixGoroutinesAtOnce(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	dsn := dbtest.EmptyDSN(t)
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			if err := db.Migrate(context.Background(), dsn); err != nil {
				t.Errorf("Migrate: %v", err)
			}
		})
	}
	wg.Wait()
	if pending(t, dsn) {
		t.Error("migrations pending after Migrate")
	}
}

func TestMigrationsPendingSeesBothSchemas(t *testing.T) {
	t.Parallel()
	for _, forget := range []string{
		"DELETE FROM goose_db_version WHERE version_id = (SELECT max(version_id) FROM goose_db_version)",
		"DELETE FROM river_migration WHERE version = (SELECT max(version) FROM river_migration)",
	} {
		dsn := dbtest.DSN(t)
		if pending(t, dsn) {
			t.Fatal("pending in a migrated database")
		}
		if _, err := dbtest.Open(t, dsn).Raw().Exec(forget); err != nil {
			t.Fatal(err)
		}
		if !pending(t, dsn) {
			t.Errorf("not pending after %s", forget)
		}
	}
}

func TestMigrateStopsWithItsContext(t *testing.T) {
	t.Parallel()
	dsn := dbtest.EmptyDSN(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := db.Migrate(ctx, dsn); err == nil {
		t.Error("Migrate succeeded although cancelled")
	}
	if err := db.Migrate(context.Background(), dsn); err != nil {
		t.Errorf("the next Migrate: %v", err)
	}
}

// A migration that waits for a table lets other statements pass, and is tried again.
func TestMigrateWaitsForATableAlone(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	dsn := dbtest.DSN(t)
	d := dbtest.Open(t, dsn)
	forgetMigrations(t, d, 200) // which changes session
	backup, err := d.Raw().BeginTxx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Exec("LOCK TABLE session IN ACCESS SHARE MODE"); err != nil {
		t.Fatal(err)
	}
	migrated := make(chan error, 1)
	go func() { migrated <- db.Migrate(context.Background(), dsn) }()
	for waits := false; !waits; {
		select {
		case err := <-migrated:
			t.Fatalf("migrated although the table is in use: %v", err)
		default:
		}
		if err := d.Raw().Get(&waits,
			"SELECT EXISTS (SELECT FROM pg_locks JOIN pg_database d ON d.oid = database WHERE NOT granted AND relation = 'session'::regclass AND datname = current_database())"); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if _, err := d.Raw().ExecContext(ctx, "SELECT FROM session"); err != nil {
		t.Errorf("a statement while the migration waits: %v", err)
	}
	if err := backup.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := <-migrated; err != nil || pending(t, dsn) {
		t.Errorf("after the table is free: %v", err)
	}
}

// forgetMigrations takes the schema back to before a migration.
func forgetMigrations(t *testing.T, d *db.DB, from int) {
	t.Helper()
	files, err := filepath.Glob("migrations/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range slices.Backward(files) {
		text, _, _ := strings.Cut(filepath.Base(file), "_")
		number, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		if number < from {
			return
		}
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, down, _ := strings.Cut(string(content), "-- +goose Down")
		if _, err := d.Raw().Exec(down); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Raw().Exec("DELETE FROM goose_db_version WHERE version_id = $1", number); err != nil {
			t.Fatal(err)
		}
	}
}

// A role that may not create extensions is told so, and what an administrator has
// created is used.
func TestMigrateNeedsExtensions(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	dsn := dbtest.EmptyDSN(t)
	admin := dbtest.Open(t, dsn)
	role := strings.TrimPrefix(domain.NewAccountID().String(), "acct_")
	run := func(statement string) {
		t.Helper()
		if _, err := admin.Raw().ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	run(`CREATE ROLE "` + role + `" LOGIN`)
	t.Cleanup(func() {
		for _, statement := range []string{`DROP OWNED BY "` + role + `" CASCADE`, `DROP ROLE "` + role + `"`} {
			if _, err := admin.Raw().ExecContext(context.WithoutCancel(t.Context()), statement); err != nil {
				t.Error(err)
			}
		}
	})
	run(`GRANT ALL ON SCHEMA public TO "` + role + `"`)
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User(role)
	if err := db.Migrate(t.Context(), u.String()); err == nil || !strings.Contains(err.Error(),
		"permission denied to create extension") {
		t.Fatalf("migrating without the right to create extensions: %v", err)
	}
	run("CREATE EXTENSION pg_trgm")
	run("CREATE EXTENSION btree_gin")
	if err := db.Migrate(t.Context(), u.String()); err != nil {
		t.Fatal(err)
	}
}
