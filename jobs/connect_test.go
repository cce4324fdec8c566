package jobs

import (
	"context"
	"testing"

	"candor/internal/testkit"
	"candor/internal/testkit/dbtest"
)

// A statement of a job that is given up still ends in PostgreSQL: a commit that is cancelled
// while it waits for a replica would be visible without being there (D95).
func TestNothingAsksPostgreSQLToCancel(t *testing.T) {
	t.Parallel()
	dsn := dbtest.DSN(t)
	d := dbtest.Open(t, dsn)
	pool, err := newPool(t.Context(), d, dsn, false)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if _, err := pool.Exec(t.Context(), "CREATE TABLE done (n int)"); err != nil {
		t.Fatal(err)
	}
	counted := func(query string) (n int) {
		if err := d.Raw().GetContext(t.Context(), &n, query); err != nil {
			t.Fatal(err)
		}
		return n
	}
	// A row that is locked holds the statement until it is given up.
	holding, err := d.Raw().BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = holding.Rollback() }()
	if _, err := holding.ExecContext(t.Context(), "LOCK TABLE done IN SHARE MODE"); err != nil {
		t.Fatal(err)
	}
	given, giveUp := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := pool.Exec(given, "INSERT INTO done VALUES (1)")
		ended <- err
	}()
	testkit.Await(t, "the statement never began", func() bool {
		return counted("SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'done'::regclass") == 1
	})
	giveUp()
	if err := <-ended; err == nil {
		t.Fatal("the statement that was given up has ended well")
	}
	if err := holding.Commit(); err != nil {
		t.Fatal(err)
	}
	testkit.Await(t, "the statement was cancelled", func() bool { return counted("SELECT count(*) FROM done") == 1 })
}
