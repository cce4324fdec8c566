package dbtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"candor/db"
)

const (
	warm  = 3                      // connections of a database that no test has: the server's are few
	leave = 500 * time.Millisecond // for what still uses a database
)

// A lent database goes from one test of this process to the next, with its connections.
type lent struct {
	server    *server
	name, dsn string
	db        *db.DB
}

// shelf has the databases that no test has at the moment.
var shelf struct {
	sync.Mutex
	free []*lent
}

// Lend returns the URL and the pool of a migrated database that the test has for itself.
// When the test ends the database is made as it was and lent to another, which takes a
// third of what a copy and its first connections do. It is dropped instead if the test
// changed the schema, analyzed a table, closed the pool, or left something that uses it,
// such as the pool's listener. What else a test sets it must set back: a connection's
// settings, its advisory locks.
func Lend(t testing.TB) (dsn string, pool *db.DB) {
	t.Helper()
	l, err := take(context.Background())
	if err != nil {
		t.Fatalf("dbtest: %v", err)
	}
	t.Cleanup(func() {
		reason := l.reset(context.Background())
		if reason == nil {
			l.db.Raw().SetMaxIdleConns(warm)
			shelf.Lock()
			defer shelf.Unlock()
			shelf.free = append(shelf.free, l)
			return
		}
		t.Logf("dbtest: %s isn't lent again: %v", l.name, reason)
		if err := l.drop(context.Background()); err != nil {
			t.Errorf("dbtest: %v", err)
		}
	})
	return l.dsn, l.db
}

// take takes a database off the shelf, or makes one.
func take(ctx context.Context) (*lent, error) {
	if l := fromShelf(); l != nil {
		l.db.Raw().SetMaxIdleConns(poolSize)
		return l, nil
	}
	s, err := shared()
	if err != nil {
		return nil, err
	}
	l := &lent{server: s, name: s.nextName()}
	l.dsn = s.dsn(l.name)
	if err := s.createDatabase(ctx, l.name, true); err != nil {
		return nil, err
	}
	if l.db, err = db.Open(ctx, l.dsn, db.Options{MaxOpenConns: poolSize}); err != nil {
		return nil, errors.Join(err, s.dropDatabase(ctx, l.name))
	}
	if _, err := l.db.Raw().ExecContext(ctx, remember); err != nil {
		return nil, errors.Join(fmt.Errorf("remember %s as it is: %w", l.name, err), l.drop(ctx))
	}
	return l, nil
}

func fromShelf() *lent {
	shelf.Lock()
	defer shelf.Unlock()
	last := len(shelf.free) - 1
	if last < 0 {
		return nil
	}
	l := shelf.free[last]
	shelf.free = shelf.free[:last]
	return l
}

// reset makes the database as it was, or returns why that can't be.
func (l *lent) reset(ctx context.Context) error {
	// A request that its test didn't wait for may be about to end.
	for until := time.Now().Add(leave); l.db.Stats().InUse > 0 && time.Now().Before(until); {
		<-time.After(5 * time.Millisecond)
	}
	var connected int
	err := l.db.Raw().GetContext(ctx, &connected, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()`)
	if err != nil {
		return err
	}
	pool := l.db.Stats()
	if pool.InUse > 0 || pool.MaxOpenConnections != poolSize || connected > pool.OpenConnections {
		return fmt.Errorf("there are %d connections, %d of the pool, %d in use, and the pool can have %d",
			connected, pool.OpenConnections, pool.InUse, pool.MaxOpenConnections)
	}
	_, err = l.db.Raw().ExecContext(ctx, restore)
	return err
}

func (l *lent) drop(ctx context.Context) error {
	return errors.Join(l.db.Close(), l.server.dropDatabase(ctx, l.name))
}

// remember notes the rows and the places of sequences that migrations made, and from then
// on each change of the schema.
const remember = `
	CREATE SCHEMA dbtest;
	DO $$ DECLARE name text; BEGIN
		FOR name IN SELECT relname FROM pg_class
			WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND pg_relation_size(oid) > 0
		LOOP
			EXECUTE format('CREATE TABLE dbtest.%1$I AS TABLE public.%1$I', name);
		END LOOP;
	END $$;
	CREATE VIEW dbtest.restored AS
		SELECT relname FROM pg_class WHERE relnamespace = 'dbtest'::regnamespace AND relkind = 'r' AND relname NOT LIKE 'of_schema_%';
	CREATE TABLE dbtest.of_schema_sequences AS
		SELECT format('%I.%I', schemaname, sequencename)::regclass AS sequence, coalesce(last_value, start_value) AS place,
			last_value IS NOT NULL AS used
		FROM pg_sequences;
	CREATE TABLE dbtest.of_schema_changes (command text);
	CREATE FUNCTION dbtest.note_change() RETURNS event_trigger LANGUAGE plpgsql AS
		$$ BEGIN INSERT INTO dbtest.of_schema_changes VALUES (tg_tag); END $$;
	CREATE EVENT TRIGGER dbtest_change ON ddl_command_end EXECUTE FUNCTION dbtest.note_change();
	ALTER EVENT TRIGGER dbtest_change ENABLE ALWAYS`

// restore deletes all rows without triggers and puts back those that were remembered.
const restore = `
	DO $$ DECLARE name text; BEGIN
		SELECT command INTO name FROM dbtest.of_schema_changes LIMIT 1;
		IF FOUND THEN
			RAISE 'the schema was changed: %', name;
		END IF;
		SELECT relname INTO name FROM pg_statistic s JOIN pg_class c ON c.oid = s.starelid
			WHERE relnamespace = 'public'::regnamespace LIMIT 1;
		IF FOUND THEN
			RAISE 'table % was analyzed', name;
		END IF;
		SET LOCAL session_replication_role = replica;
		FOR name IN SELECT relname FROM pg_class
			WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND pg_relation_size(oid) > 0
		LOOP
			EXECUTE format('DELETE FROM public.%I', name);
		END LOOP;
		FOR name IN SELECT relname FROM dbtest.restored LOOP
			EXECUTE format('INSERT INTO public.%1$I OVERRIDING SYSTEM VALUE TABLE dbtest.%1$I', name);
		END LOOP;
		PERFORM setval(sequence, place, used) FROM dbtest.of_schema_sequences;
	END $$`
