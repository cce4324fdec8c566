package main

import (
	"context"
	"errors"
	"testing"
	"time"

	"candor/cmd/candor/config"
	"candor/db"
	"candor/internal/testkit/dbtest"
)

// TestReadyWhilePoolIsBusy checks that readiness uses its own connection, and
// checks once for all callers within a second.
func TestReadyWhilePoolIsBusy(t *testing.T) {
	t.Parallel()
	dsn := dbtest.DSN(t)
	a := &app{dsn: dsn}
	if err := a.openDatabase(t.Context(), "test", config.Config{DatabaseURL: dsn, DBConnections: 1}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.close)
	err := a.db.InTx(t.Context(), func(*db.Tx) error { // all of the pool
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if err := schemaReady(ctx, a.db); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the pool has a connection left: %v", err)
		}
		return a.ready.check(t.Context())
	})
	if err != nil {
		t.Fatalf("not ready while the pool is busy: %v", err)
	}
	a.ready.asked = time.Now().Add(time.Hour) // the second doesn't end within this test
	if err := a.ready.db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := a.ready.check(t.Context()); err != nil {
		t.Errorf("asked again within a second: %v", err)
	}
	a.ready.asked = time.Time{}
	if err := a.ready.check(t.Context()); err == nil {
		t.Error("ready without a database")
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	a.ready.asking <- struct{}{}
	if err := a.ready.check(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("who went away waits: %v", err)
	}
	<-a.ready.asking
}
