package db_test

import (
	"context"
	"errors"
	"testing"

	"candor/db"
	"candor/internal/testkit/dbtest"
)

// demote makes every connection of the pool refuse writes, as if its server had become
// a replica.
func demote(t *testing.T, d *db.DB, connections int) {
	t.Helper()
	for range connections {
		conn, err := d.Raw().Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close() // all at once, so that each is another one
		if _, err := conn.ExecContext(t.Context(), "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY"); err != nil {
			t.Fatal(err)
		}
	}
}

// wantWritable fails the test if one of the pool's connections refuses writes.
func wantWritable(t *testing.T, d *db.DB, connections int) {
	t.Helper()
	for range connections {
		conn, err := d.Raw().Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		var readOnly string
		if err := conn.QueryRowContext(t.Context(), "SHOW transaction_read_only").Scan(&readOnly); err != nil || readOnly != "off" {
			t.Errorf("a connection to the demoted server is used: %q, %v", readOnly, err)
		}
	}
}

// TestReadOnlyServersAreLeft: a write that a demoted server refuses is made on a new
// connection, and the pool's other connections to it are closed.
func TestReadOnlyServersAreLeft(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(context.Context, *db.DB) error{
		"a statement": func(ctx context.Context, d *db.DB) error {
			_, err := d.Raw().ExecContext(ctx, "INSERT INTO n VALUES ($1)", 1)
			return err
		},
		"a statement without parameters": func(ctx context.Context, d *db.DB) error {
			_, err := d.Raw().ExecContext(ctx, "INSERT INTO n VALUES (1)")
			return err
		},
		"a transaction": func(ctx context.Context, d *db.DB) error {
			runs := 0
			return d.InTx(ctx, func(tx *db.Tx) error {
				if runs++; runs == 1 { // lib/pq's BEGIN READ WRITE has undone the demotion
					if _, err := tx.Raw().ExecContext(ctx, "SET TRANSACTION READ ONLY"); err != nil {
						return err
					}
				}
				_, err := tx.Raw().ExecContext(ctx, "INSERT INTO n VALUES ($1)", 1)
				return err
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const connections = 4
			dsn := dbtest.EmptyDSN(t)
			d, err := db.Open(t.Context(), dsn, db.Options{MaxOpenConns: connections})
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			if _, err := d.Raw().ExecContext(t.Context(), "CREATE TABLE n (n int)"); err != nil {
				t.Fatal(err)
			}
			demote(t, d, connections)
			if err := write(t.Context(), d); err != nil {
				t.Fatalf("the write failed: %v", err)
			}
			wantWritable(t, d, connections)
			var rows int
			if err := d.Raw().GetContext(t.Context(), &rows, "SELECT count(*) FROM n"); err != nil || rows != 1 {
				t.Errorf("%d rows, %v, want 1", rows, err)
			}
		})
	}
}

// TestLostConnections: a transaction whose connection is lost is run again, unless its
// commit was sent.
func TestLostConnections(t *testing.T) {
	t.Parallel()
	dsn := dbtest.EmptyDSN(t)
	d, admin := dbtest.Open(t, dsn), dbtest.Open(t, dsn)
	terminate := func(pid int) {
		t.Helper()
		if _, err := admin.Raw().ExecContext(t.Context(), "SELECT pg_terminate_backend($1, 10000)", pid); err != nil {
			t.Fatal(err)
		}
	}
	run := func(before func(tx *db.Tx, runs, pid int) error) (runs int, err error) {
		err = d.InTx(t.Context(), func(tx *db.Tx) error {
			runs++
			var pid int
			if err := tx.Raw().GetContext(t.Context(), &pid, "SELECT pg_backend_pid()"); err != nil {
				return err
			}
			return before(tx, runs, pid)
		})
		return runs, err
	}
	runs, err := run(func(tx *db.Tx, runs, pid int) error {
		if runs == 1 {
			terminate(pid)
		}
		_, err := tx.Raw().ExecContext(t.Context(), "SELECT $1::int", runs)
		return err
	})
	if err != nil || runs != 2 {
		t.Errorf("lost before the commit: %d runs, %v, want 2", runs, err)
	}
	runs, err = run(func(_ *db.Tx, _, pid int) error {
		terminate(pid)
		return nil
	})
	if err == nil || runs != 1 {
		t.Errorf("lost at the commit: %d runs, %v, want 1 and an error", runs, err)
	}
	refused := errors.New("refused")
	if runs, err = run(func(*db.Tx, int, int) error { return refused }); !errors.Is(err, refused) || runs != 1 {
		t.Errorf("refused: %d runs, %v", runs, err)
	}
}
