package db_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"candor/db"
	"candor/internal/testkit"
	"candor/internal/testkit/dbtest"
)

func TestOpenErrors(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, dsn, want string }{
		{"bad URL", "postgres://u:hunter2@host:port/x", "connection string is not valid"},
		{"bad escape", "postgres://u:hunter2%zz@host/x", "connection string is not valid"},
		{"bad pairs", "password=hunter2 host", "connection string is not valid"},
		{"a slash in the password", "postgres://u:hunter2/@host/x", "percent-encoded"},
		{"a space in the password", "host=h password=the hunter2", "percent-encoded"},
		{"no server there", "postgres://u:hunter2@127.0.0.1:1/x?sslmode=disable", "connect to PostgreSQL"},
		{"no socket", "host=/nonexistent password=hunter2 sslmode=disable", "connect to PostgreSQL"},
	}
	for _, tt := range tests {
		_, err := db.Open(context.Background(), tt.dsn, db.Options{})
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: error %v; want %q and no password", tt.name, err, tt.want)
		}
	}
}

func TestTimesAreUTC(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	var at time.Time
	if err := d.Raw().Get(&at, "SELECT '2026-11-21 12:00:00+11'::timestamptz"); err != nil {
		t.Fatal(err)
	}
	if want := time.Date(2026, 11, 21, 1, 0, 0, 0, time.UTC); at != want {
		t.Errorf("got %v (%s), want %v itself", at, at.Location(), want)
	}
}

func counter(t *testing.T) *db.DB {
	t.Helper()
	d := dbtest.New(t)
	if _, err := d.Raw().
		Exec("CREATE TABLE counter (id int PRIMARY KEY, n int NOT NULL CONSTRAINT counter_n_check CHECK (n < 100))"); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Raw().Exec("INSERT INTO counter VALUES (1, 0), (2, 0)"); err != nil {
		t.Fatal(err)
	}
	return d
}

func value(t *testing.T, d *db.DB, id int) int {
	t.Helper()
	var n int
	if err := d.Raw().Get(&n, "SELECT n FROM counter WHERE id = $1", id); err != nil {
		t.Fatal(err)
	}
	return n
}

func add(ctx context.Context, tx *db.Tx, id int) error {
	_, err := tx.Raw().ExecContext(ctx, "UPDATE counter SET n = n + 1 WHERE id = $1", id)
	return err
}

func TestInTxCommitsOrRollsBack(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d := counter(t)
	if err := d.InTx(ctx, func(tx *db.Tx) error { return add(ctx, tx, 1) }); err != nil || value(t, d, 1) != 1 {
		t.Fatalf("InTx = %v, n = %d; want nil, 1", err, value(t, d, 1))
	}
	mine := errors.New("mine")
	err := d.InTx(ctx, func(tx *db.Tx) error { return errors.Join(add(ctx, tx, 1), mine) })
	if !errors.Is(err, mine) || value(t, d, 1) != 1 {
		t.Errorf("after an error: %v, n = %d; want it back, 1", err, value(t, d, 1))
	}
	func() {
		defer func() {
			if recover() != "boom" {
				t.Error("the panic was swallowed")
			}
		}()
		_ = d.InTx(ctx, func(tx *db.Tx) error { _ = add(ctx, tx, 1); panic("boom") })
	}()
	if n := value(t, d, 1); n != 1 {
		t.Errorf("after a panic n = %d, want 1", n)
	}
	if open := d.Stats().InUse; open != 0 {
		t.Errorf("%d connections still in use", open)
	}
}

func TestInTxReturnsTheCommitsError(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d := counter(t)
	if _, err := d.Raw().
		Exec("ALTER TABLE counter ADD CONSTRAINT counter_n_key UNIQUE (n) DEFERRABLE INITIALLY DEFERRED"); err == nil {
		t.Fatal("two zeros are not unique")
	}
	if _, err := d.Raw().Exec("CREATE TABLE late (n int CONSTRAINT late_n_key UNIQUE DEFERRABLE INITIALLY DEFERRED)"); err != nil {
		t.Fatal(err)
	}
	err := d.InTx(ctx, func(tx *db.Tx) error {
		_, err := tx.Raw().ExecContext(ctx, "INSERT INTO late VALUES (1), (1)")
		return err
	})
	if !db.ConstraintViolated(err, "late_n_key") {
		t.Errorf("InTx = %v, want the violation found at commit", err)
	}
}

// A request that ends between its last statement and the commit is its end, no fault of
// the database, which would be logged as one.
func TestInTxReturnsTheEndOfTheRequest(t *testing.T) {
	t.Parallel()
	d := counter(t)
	ctx, leave := context.WithCancel(t.Context())
	err := d.InTx(ctx, func(tx *db.Tx) error {
		leave()
		for {
			if _, err := tx.Raw().ExecContext(t.Context(), "SELECT 1"); errors.Is(err, sql.ErrTxDone) {
				return nil
			}
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("InTx = %v, want that the request ended", err)
	}
}

func TestInTxRetries(t *testing.T) {
	t.Parallel()
	tests := []struct {
		code      string
		fail      int // the first so many runs fail
		wantRuns  int
		wantError bool
	}{
		{"40001", 2, 3, false},
		{"40P01", 3, 4, false},
		{"40001", 9, 4, true},
		{"23505", 9, 1, true},
	}
	d := counter(t)
	for _, tt := range tests {
		runs := 0
		err := d.InTx(context.Background(), func(tx *db.Tx) error {
			runs++
			if runs <= tt.fail {
				_, err := tx.Raw().Exec("DO $$ BEGIN RAISE SQLSTATE '" + tt.code + "'; END $$")
				return err
			}
			return nil
		})
		if runs != tt.wantRuns || (err != nil) != tt.wantError {
			t.Errorf("%s failing %d times: %d runs, %v; want %d, error %v", tt.code, tt.fail, runs, err, tt.wantRuns, tt.wantError)
		}
	}
}

func TestInTxOutlivesARealDeadlock(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	d := counter(t)
	var both, done sync.WaitGroup
	both.Add(2)
	for i, order := range [][2]int{{1, 2}, {2, 1}} {
		done.Go(func() {
			first := true
			ctx := context.Background()
			err := d.InTx(ctx, func(tx *db.Tx) error {
				if err := add(ctx, tx, order[0]); err != nil {
					return err
				}
				if first {
					first = false
					both.Done()
					both.Wait() // each holds what the other wants next
				}
				return add(ctx, tx, order[1])
			})
			if err != nil {
				t.Errorf("transaction %d: %v", i, err)
			}
		})
	}
	done.Wait()
	if a, b := value(t, d, 1), value(t, d, 2); a != 2 || b != 2 {
		t.Errorf("counters %d and %d, want 2 and 2", a, b)
	}
}

func TestConstraintViolated(t *testing.T) {
	t.Parallel()
	d := counter(t)
	_, check := d.Raw().Exec("INSERT INTO counter VALUES (3, 100)")
	_, unique := d.Raw().Exec("INSERT INTO counter VALUES ($1, 1)", 1)
	_, syntax := d.Raw().Exec("INSERT")
	tests := []struct {
		name       string
		err        error
		constraint string
		want       bool
	}{
		{"check", check, "counter_n_check", true},
		{"unique", unique, "counter_pkey", true},
		{"wrapped", errors.Join(errors.New("x"), unique), "counter_pkey", true},
		{"another constraint", unique, "counter_n_check", false},
		{"no violation", syntax, "", false},
		{"nil", nil, "counter_pkey", false},
	}
	for _, tt := range tests {
		if got := db.ConstraintViolated(tt.err, tt.constraint); got != tt.want {
			t.Errorf("%s: ConstraintViolated(%v, %q) = %v", tt.name, tt.err, tt.constraint, got)
		}
	}
}

// No plan has helpers, however cheap PostgreSQL takes them for.
func TestNoParallelPlans(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	var plan string
	s.tx(func(tx *db.Tx) error {
		for _, setting := range []string{"parallel_setup_cost", "parallel_tuple_cost", "min_parallel_table_scan_size"} {
			if _, err := tx.Raw().ExecContext(s.ctx, "SET LOCAL "+setting+" = 0"); err != nil {
				return err
			}
		}
		return tx.Raw().GetContext(s.ctx, &plan, "EXPLAIN (FORMAT json) SELECT count(*) FROM pg_attribute")
	})
	if strings.Contains(plan, "Gather") {
		t.Errorf("a plan with helpers: %s", plan)
	}
}
