package postgres_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"candor/db"
	"candor/internal/platform/postgres"
	"candor/internal/testkit/dbtest"
	"candor/internal/testkit/poolertest"
)

// sideBySide runs different statements on many connections and counts the results that
// are another statement's, and the errors.
func sideBySide(t *testing.T, d *db.DB, inTx bool) (results, wrong, failed int64) {
	t.Helper()
	const clients, rounds = 16, 150
	var right, mixed, errs atomic.Int64
	var wg sync.WaitGroup
	for client := range clients {
		query := fmt.Sprintf("SELECT $1::int * 1000 + %d", client)
		wg.Go(func() {
			for round := range rounds {
				var got int
				var err error
				if inTx {
					err = d.InTx(t.Context(), func(tx *db.Tx) error { return tx.Raw().GetContext(t.Context(), &got, query, round) })
				} else {
					err = d.Raw().GetContext(t.Context(), &got, query, round)
				}
				switch {
				case err != nil:
					errs.Add(1)
				case got != round*1000+client:
					mixed.Add(1)
				default:
					right.Add(1)
				}
			}
		})
	}
	wg.Wait()
	return right.Load() + mixed.Load(), mixed.Load(), errs.Load()
}

// TestPoolerMixesNothing: through a pooler in transaction mode each statement gets its
// own result. Without DirectURL it wouldn't, which is why the start refuses that.
func TestPoolerMixesNothing(t *testing.T) {
	t.Parallel()
	dsn := dbtest.EmptyDSN(t)
	pooled := poolertest.Start(t, dsn, poolertest.Transaction, 3)
	open := func(opts db.Options) *db.DB {
		opts.MaxOpenConns = 16
		d, err := db.Open(t.Context(), pooled, opts)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = d.Close() })
		return d
	}
	for _, inTx := range []bool{false, true} {
		if results, wrong, failed := sideBySide(t, open(db.Options{DirectURL: dsn}), inTx); wrong+failed != 0 {
			t.Errorf("in transactions: %t: of %d results %d are wrong, and %d statements failed", inTx, results, wrong, failed)
		}
	}
	results, wrong, failed := sideBySide(t, open(db.Options{StatementCache: -1}), false)
	t.Logf("without the mode, of %d results %d are another statement's, and %d statements failed", results, wrong, failed)
	if wrong+failed == 0 {
		t.Error("nothing goes wrong without the mode: the test proves nothing")
	}
}

// TestSharesConnections: a pooler in transaction mode is found, also while other
// clients use it. One in session mode isn't.
func TestSharesConnections(t *testing.T) {
	t.Parallel()
	dsn := dbtest.EmptyDSN(t)
	want := func(name, dsn string, want bool) {
		t.Helper()
		if got, err := postgres.SharesConnections(t.Context(), dsn); err != nil || got != want {
			t.Errorf("%s: %t, %v, want %t", name, got, err, want)
		}
	}
	want("PostgreSQL", dsn, false)
	want("session mode", poolertest.Start(t, dsn, poolertest.Session, 4), false)
	for _, size := range []int{1, 4} {
		pooled := poolertest.Start(t, dsn, poolertest.Transaction, size)
		want("transaction mode", pooled, true)
		d, err := db.Open(t.Context(), pooled, db.Options{MaxOpenConns: 8, DirectURL: dsn})
		if err != nil {
			t.Fatal(err)
		}
		var done atomic.Bool
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for !done.Load() {
					if _, err := d.Raw().ExecContext(t.Context(), "SELECT $1::int", 1); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		for range 5 {
			want("a busy pool in transaction mode", pooled, true)
		}
		done.Store(true)
		wg.Wait()
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		if same, err := postgres.SameDatabase(t.Context(), pooled, dsn); err != nil || !same {
			t.Errorf("the pooler's database is another one than its server's: %t, %v", same, err)
		}
	}
	if same, err := postgres.SameDatabase(t.Context(), dsn, dbtest.EmptyDSN(t)); err != nil || same {
		t.Errorf("two databases are one: %t, %v", same, err)
	}
}
