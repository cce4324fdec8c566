package main

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"candor/db"
)

const (
	readyFor     = time.Second     // how long the result of a check is used
	readyTimeout = 2 * time.Second // of a check
)

// readiness checks whether the process can serve. It has its own connection, so
// that a busy pool doesn't look like a database that is down. It checks at most
// once in readyFor, however often it is asked.
type readiness struct {
	db     *db.DB
	asking chan struct{} // holds the caller that checks
	asked  time.Time
	result error

	leaving atomic.Bool // the process is about to end
}

func openReadiness(ctx context.Context, dsn, direct string) (*readiness, error) {
	d, err := db.Open(ctx, dsn, db.Options{MaxOpenConns: 1, DirectURL: direct})
	if err != nil {
		return nil, err
	}
	return &readiness{db: d, asking: make(chan struct{}, 1)}, nil
}

// errLeaving is the readiness of a process that is about to end (D75).
var errLeaving = errors.New("the process shuts down")

// check returns an error if the process is about to end, and if the database can't be
// reached or its schema isn't up to date, now or at most readyFor ago.
func (r *readiness) check(ctx context.Context) error {
	if r.leaving.Load() {
		return errLeaving
	}
	select {
	case r.asking <- struct{}{}:
		defer func() { <-r.asking }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if time.Since(r.asked) < readyFor {
		return r.result
	}
	// A caller that gives up must not fail the check for the others.
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyTimeout)
	defer cancel()
	r.result = schemaReady(asking, r.db)
	r.asked = time.Now()
	return r.result
}

// schemaReady returns an error if the database can't be reached or its schema isn't
// up to date.
func schemaReady(ctx context.Context, d *db.DB) error {
	pending, err := db.MigrationsPending(ctx, d)
	if err == nil && pending {
		return errSchemaBehind
	}
	return err
}
