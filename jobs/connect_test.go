package jobs

import (
	"context"
	"testing"
	"time"

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
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := pool.Exec(short, "INSERT INTO done SELECT 1 FROM pg_sleep(0.3)"); err == nil {
		t.Fatal("the statement ended before its time was over")
	}
	testkit.Await(t, "the statement was cancelled", func() bool {
		var n int
		if err := d.Raw().GetContext(t.Context(), &n, "SELECT count(*) FROM done"); err != nil {
			t.Fatal(err)
		}
		return n == 1
	})
}
