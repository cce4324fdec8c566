package dbtest

import (
	"context"
	"os/exec"
	"sync"
	"testing"

	"candor/db"
)

func TestNewGivesMigratedSeparateDatabases(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	a, b := New(t), New(t)
	pending, err := db.MigrationsPending(ctx, a)
	if err != nil || pending {
		t.Fatalf("MigrationsPending = %v, %v; want false, nil", pending, err)
	}
	if _, err := a.Raw().ExecContext(ctx, "CREATE TABLE only_here (n int)"); err != nil {
		t.Fatal(err)
	}
	var seen bool
	if err := b.Raw().GetContext(ctx, &seen, "SELECT to_regclass('only_here') IS NOT NULL"); err != nil || seen {
		t.Errorf("a table of one database seen in the other: %v, %v", seen, err)
	}
}

func TestDatabaseIsDroppedWithTheTest(t *testing.T) {
	t.Parallel()
	var name string
	t.Run("inner", func(t *testing.T) {
		if err := New(t).Raw().Get(&name, "SELECT current_database()"); err != nil {
			t.Fatal(err)
		}
	})
	s, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	if exists(t, s, name) {
		t.Errorf("%s is still there after its test", name)
	}
}

// Several test binaries start at once and all need the template.
func TestServersSetUpAtOnce(t *testing.T) {
	t.Parallel()
	s, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			other, err := newServer(context.Background(), s.url.String())
			if err != nil {
				t.Errorf("newServer: %v", err)
				return
			}
			name := other.nextName()
			if err := other.createDatabase(context.Background(), name, true); err != nil {
				t.Errorf("create: %v", err)
			}
			if err := other.dropDatabase(context.Background(), name); err != nil {
				t.Errorf("drop: %v", err)
			}
			closeServer(other)
		})
	}
	wg.Wait()
}

func TestSweepDropsOnlyLeftovers(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	living := New(t)
	gone, err := newServer(ctx, s.url.String())
	if err != nil {
		t.Fatal(err)
	}
	left := gone.nextName()
	if err := gone.createDatabase(ctx, left, false); err != nil {
		t.Fatal(err)
	}
	closeServer(gone) // as if its process had been killed: the database stays

	for tries := 0; exists(t, s, left); tries++ { // PostgreSQL frees the lease a moment after the connection ends
		next, err := newServer(ctx, s.url.String())
		if err != nil {
			t.Fatal(err)
		}
		closeServer(next)
		if tries == 1000 {
			t.Fatalf("%s was not swept", left)
		}
	}
	if err := living.Ping(ctx); err != nil {
		t.Errorf("the database of a living process: %v", err)
	}
}

func TestBinDirHasPgDump(t *testing.T) {
	t.Parallel()
	if out, err := exec.Command(BinDir(t)+"/pg_dump", "--version").CombinedOutput(); err != nil {
		t.Errorf("pg_dump: %v: %s", err, out)
	}
}

func closeServer(s *server) {
	_ = s.leases.Close()
	_ = s.admin.Close()
}

func exists(t *testing.T, s *server, name string) bool {
	t.Helper()
	var found bool
	if err := s.admin.Raw().Get(&found, "SELECT EXISTS (SELECT 1 FROM pg_database WHERE datname = $1)", name); err != nil {
		t.Fatal(err)
	}
	return found
}
