package postgres_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"candor/db"
	"candor/internal/testkit/dbtest"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"
)

// oneConn opens a fresh database with a single connection, so that
// pg_prepared_statements shows all there is.
func oneConn(t *testing.T, cache int) *db.DB {
	t.Helper()
	d, err := db.Open(context.Background(), dbtest.DSN(t), db.Options{MaxOpenConns: 1, StatementCache: cache})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// rawQueryer is what DB.Raw and Tx.Raw have in common.
type rawQueryer interface {
	GetContext(ctx context.Context, dest any, query string, args ...any) error
}

// prepared counts the connection's prepared statements of that text. It has no
// parameters itself, so it isn't counted.
func prepared(t *testing.T, q rawQueryer, like string) int {
	t.Helper()
	var n int
	query := "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE " + pq.QuoteLiteral(like)
	if err := q.GetContext(context.Background(), &n, query); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestStatementIsPreparedOnce(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d := oneConn(t, 0)
	if _, err := d.Raw().Exec("CREATE TABLE things (n int)"); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		var got int
		if err := d.Raw().GetContext(ctx, &got, "SELECT $1::int + 1", i); err != nil || got != i+1 {
			t.Fatalf("got %d, %v; want %d", got, err, i+1)
		}
		if _, err := d.Raw().ExecContext(ctx, "INSERT INTO things VALUES ($1)", i); err != nil {
			t.Fatal(err)
		}
		err := d.InTx(ctx, func(tx *db.Tx) error {
			_, err := tx.Raw().ExecContext(ctx, "INSERT INTO things VALUES ($1)", i)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range []string{"SELECT $1::int + 1", "INSERT INTO things%"} {
		if n := prepared(t, d.Raw(), text); n != 1 {
			t.Errorf("%q is prepared %d times, want 1", text, n)
		}
	}
	var runs int
	err := d.Raw().Get(&runs,
		"SELECT generic_plans + custom_plans FROM pg_prepared_statements WHERE statement LIKE 'INSERT INTO things%'")
	if err != nil || runs != 10 {
		t.Errorf("the prepared statement ran %d times (%v), want 10", runs, err)
	}
}

func TestStatementCacheOff(t *testing.T) {
	t.Parallel()
	d := oneConn(t, -1)
	var n int
	if err := d.Raw().Get(&n, "SELECT $1::int", 1); err != nil {
		t.Fatal(err)
	}
	if n := prepared(t, d.Raw(), "%"); n != 0 {
		t.Errorf("%d statements prepared, want none", n)
	}
}

func TestStatementCacheIsBounded(t *testing.T) {
	t.Parallel()
	d := oneConn(t, 3)
	use := func(i int) {
		t.Helper()
		var got int
		if err := d.Raw().Get(&got, fmt.Sprintf("SELECT $1::int + %d", i), 1); err != nil || got != i+1 {
			t.Fatalf("statement %d: %d, %v", i, got, err)
		}
	}
	for i := range 10 {
		use(i)
		use(0) // the one in use must stay
	}
	if n := prepared(t, d.Raw(), "SELECT $1::int +%"); n != 3 {
		t.Errorf("%d statements prepared, want 3", n)
	}
	if n := prepared(t, d.Raw(), "SELECT $1::int + 0"); n != 1 {
		t.Error("the most used statement was evicted")
	}
}

func TestFailedStatementIsNotKept(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d := oneConn(t, 0)
	const query = "SELECT n FROM missing WHERE n = $1"
	var got []int
	if err := d.Raw().Select(&got, query, 1); err == nil {
		t.Fatal("a query of a missing table succeeded")
	}
	if n := prepared(t, d.Raw(), "%missing%$1"); n != 0 {
		t.Errorf("%d prepared after failing", n)
	}
	err := d.InTx(ctx, func(tx *db.Tx) error { return tx.Raw().SelectContext(ctx, &got, query, 1) })
	if err == nil {
		t.Fatal("a query of a missing table succeeded in a transaction")
	}
	if _, err := d.Raw().Exec("CREATE TABLE missing AS SELECT 1 AS n"); err != nil {
		t.Fatal(err)
	}
	if err := d.Raw().Select(&got, query, 1); err != nil || len(got) != 1 {
		t.Errorf("once the table exists: %v, %v", got, err)
	}
}

// A failing run (not prepare) keeps the statement: it is sound.
func TestStatementSurvivesItsErrors(t *testing.T) {
	t.Parallel()
	d := oneConn(t, 0)
	var got int
	for range 2 {
		if err := d.Raw().Get(&got, "SELECT 10 / $1::int", 0); err == nil {
			t.Fatal("divided by zero")
		}
		if err := d.Raw().Get(&got, "SELECT 10 / $1::int", 5); err != nil || got != 2 {
			t.Errorf("after an error: %d, %v", got, err)
		}
	}
	if n := prepared(t, d.Raw(), "SELECT 10 /%"); n != 1 {
		t.Errorf("prepared %d times, want 1", n)
	}
}

func TestCachedPlanOfAChangedTable(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d := oneConn(t, 0)
	const query = "SELECT n FROM shifting WHERE $1"
	mustExec := func(sql string) {
		t.Helper()
		if _, err := d.Raw().Exec(sql); err != nil {
			t.Fatal(err)
		}
	}
	read := func(q rawQueryer) (string, error) {
		var n string
		return n, q.GetContext(ctx, &n, query, true)
	}
	mustExec("CREATE TABLE shifting AS SELECT 7 AS n")
	if n, err := read(d.Raw()); n != "7" || err != nil {
		t.Fatal(n, err)
	}
	mustExec("ALTER TABLE shifting ALTER n TYPE text")
	if n, err := read(d.Raw()); n != "7" || err != nil {
		t.Errorf("outside a transaction: %q, %v; want it repeated unseen", n, err)
	}
	mustExec("ALTER TABLE shifting ALTER n TYPE int USING n::int")
	runs := 0
	err := d.InTx(ctx, func(tx *db.Tx) error { runs++; _, err := read(tx.Raw()); return err })
	if err != nil || runs != 2 {
		t.Errorf("in a transaction: %v after %d runs; want it repeated as a whole", err, runs)
	}
	mustExec("DEALLOCATE ALL")
	if n, err := read(d.Raw()); n != "7" || err != nil {
		t.Errorf("after DEALLOCATE ALL: %q, %v", n, err)
	}
	if n := prepared(t, d.Raw(), query); n != 1 {
		t.Errorf("prepared %d times, want 1", n)
	}
}

func TestStatementCacheAndCancellation(t *testing.T) {
	t.Parallel()
	d := oneConn(t, 0)
	const query = "SELECT pg_sleep($1)::text"
	var none string
	for range 3 {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
		began := time.Now()
		err := d.Raw().GetContext(ctx, &none, query, 30)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > 10*time.Second {
			t.Fatalf("cut off: %v after %s", err, time.Since(began))
		}
		if err := d.Raw().Get(&none, query, 0); err != nil {
			t.Fatalf("the next use: %v", err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
	defer cancel()
	err := d.InTx(ctx, func(tx *db.Tx) error { return tx.Raw().GetContext(ctx, &none, query, 30) })
	if err == nil {
		t.Error("a transaction outlived its context")
	}
	if err := d.Raw().Get(&none, query, 0); err != nil {
		t.Errorf("after a cut-off transaction: %v", err)
	}
}

func TestStatementCacheUnderLoad(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	var wg sync.WaitGroup
	for worker := range 16 {
		wg.Go(func() {
			for i := range 50 {
				ctx, cancel := context.WithCancel(context.Background())
				if i%10 == 0 {
					go cancel() // some are cut off anywhere on their way
				}
				var got int
				err := d.Raw().GetContext(ctx, &got, fmt.Sprintf("SELECT $1::int + %d", i%20), worker)
				if err == nil && got != worker+i%20 {
					t.Errorf("worker %d got the answer of another statement: %d, want %d", worker, got, worker+i%20)
				}
				if err != nil && i%10 != 0 {
					t.Errorf("worker %d: %v", worker, err)
				}
				cancel()
			}
		})
	}
	wg.Wait()
}

// What is done through the driver's other interfaces must still work.
func TestStatementCachePassesOn(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d := oneConn(t, 0)
	conn, err := d.Raw().Connx(ctx)
	if err != nil {
		t.Fatal(err)
	}
	err = conn.Raw(func(c any) error {
		_, queryer := c.(driver.QueryerContext)
		_, execer := c.(driver.ExecerContext)
		_, preparer := c.(driver.ConnPrepareContext)
		_, beginner := c.(driver.ConnBeginTx)
		_, pinger := c.(driver.Pinger)
		_, resetter := c.(driver.SessionResetter)
		_, validator := c.(driver.Validator)
		_, checker := c.(driver.NamedValueChecker)
		if !queryer || !execer || !preparer || !beginner || !pinger || !resetter || !validator || !checker {
			return fmt.Errorf("%T lacks an interface", c)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	var sum int
	if err := d.Raw().Get(&sum, "SELECT sum(x) FROM unnest($1::int[]) x", []int{1, 2, 3}); err != nil || sum != 6 {
		t.Errorf("a slice as a parameter: %d, %v", sum, err)
	}
	query, args, err := sqlx.Named("SELECT CAST(:a AS int) + CAST(:b AS int)", map[string]any{"a": 1, "b": 2})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Raw().Get(&sum, d.Raw().Rebind(query), args...); err != nil || sum != 3 {
		t.Errorf("named parameters: %d, %v", sum, err)
	}
	stmt, err := d.Raw().PrepareContext(ctx, "SELECT $1::int")
	if err != nil {
		t.Fatal(err)
	}
	defer stmt.Close()
	if err := stmt.QueryRow(4).Scan(&sum); err != nil || sum != 4 {
		t.Errorf("a statement of the caller's own: %d, %v", sum, err)
	}
}
