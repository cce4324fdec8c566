package main

import (
	"context"
	"time"

	"candor/db"
)

const (
	// readyFor is how long one look at the database answers for.
	readyFor = time.Second
	// readyTimeout bounds one look.
	readyTimeout = 2 * time.Second
)

// readiness tells whether the process can serve. It has a connection of its
// own, so that a pool in which every connection is busy doesn't look like a
// database that is down, and asks at most once in readyFor, however many ask it.
type readiness struct {
	db     *db.DB
	asking chan struct{} // holds who asks
	asked  time.Time
	result error
}

func openReadiness(ctx context.Context, dsn string) (*readiness, error) {
	d, err := db.Open(ctx, dsn, db.Options{MaxOpenConns: 1})
	if err != nil {
		return nil, err
	}
	return &readiness{db: d, asking: make(chan struct{}, 1)}, nil
}

// check reports an unreachable database or a schema that isn't up to date, now
// or less than readyFor ago.
func (r *readiness) check(ctx context.Context) error {
	select {
	case r.asking <- struct{}{}:
		defer func() { <-r.asking }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if time.Since(r.asked) < readyFor {
		return r.result
	}
	// A caller that goes away must not answer for the others.
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyTimeout)
	defer cancel()
	r.result = schemaReady(asking, r.db)
	r.asked = time.Now()
	return r.result
}

// schemaReady reports an unreachable database or a schema that isn't up to
// date.
func schemaReady(ctx context.Context, d *db.DB) error {
	pending, err := db.MigrationsPending(ctx, d)
	if err == nil && pending {
		return errSchemaBehind
	}
	return err
}
