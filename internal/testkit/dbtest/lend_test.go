package dbtest

import (
	"context"
	"slices"
	"testing"

	"candor/db"
)

// everything is each table's rows and each sequence's place.
func everything(t *testing.T, l *lent) []string {
	t.Helper()
	var out []string
	err := l.db.Raw().Select(&out, `
		SELECT relname || ' ' || query_to_xml(format('SELECT * FROM public.%I t ORDER BY t::text', relname), true, true, '')
		FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
		UNION ALL
		SELECT sequencename || ' ' || coalesce(last_value, 0) FROM pg_sequences
		ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestLentDatabaseIsAsItWas(t *testing.T) {
	t.Parallel()
	l, err := take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	before := everything(t, l)
	for _, change := range []string{
		`DELETE FROM plan WHERE id = 'starter'`,
		`UPDATE plan SET sessions_included = 7`,
		`INSERT INTO goose_db_version (version_id, is_applied) VALUES (1, true)`,
		`INSERT INTO worker VALUES ('w', now(), now())`,
	} {
		if _, err := l.db.Raw().Exec(change); err != nil {
			t.Fatal(err)
		}
		if slices.Equal(everything(t, l), before) {
			t.Errorf("%s changes nothing", change)
		}
		if err := l.reset(t.Context()); err != nil {
			t.Fatal(err)
		}
		if after := everything(t, l); !slices.Equal(after, before) {
			t.Errorf("after %s and a reset:\n%q\nbefore:\n%q", change, after, before)
		}
	}
	if err := l.drop(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestUnfitDatabaseIsNotLentAgain(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(l *lent) error{
		"its schema was changed": func(l *lent) error {
			_, err := l.db.Raw().Exec("ALTER TABLE plan ADD CHECK (rank < 100)")
			return err
		},
		"a table was analyzed": func(l *lent) error {
			_, err := l.db.Raw().Exec("ANALYZE plan")
			return err
		},
		"another pool is connected": func(l *lent) error {
			pool, err := db.Open(context.Background(), l.dsn, db.Options{})
			if err == nil {
				t.Cleanup(func() { _ = pool.Close() }) // it fails: the database has ended its connection
			}
			return err
		},
		"its pool was closed": func(l *lent) error { return l.db.Close() },
		"its pool has another size": func(l *lent) error {
			l.db.Raw().SetMaxOpenConns(1)
			return nil
		},
		"a connection is in use": func(l *lent) error {
			_, err := l.db.Raw().Conn(context.Background())
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var name string
			t.Run("first", func(t *testing.T) {
				dsn, pool := Lend(t)
				if err := pool.Raw().Get(&name, "SELECT current_database()"); err != nil {
					t.Fatal(err)
				}
				if err := spoil(&lent{dsn: dsn, db: pool}); err != nil {
					t.Fatal(err)
				}
			})
			s, err := shared()
			if err != nil {
				t.Fatal(err)
			}
			if exists(t, s, name) {
				t.Error("it would be lent again")
			}
		})
	}
}
