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

// readiness checks whether the process can serve. It has connections of its own, so
// that a busy pool doesn't look like a database that is down. It checks at most
// once in readyFor, however often it is asked.
type readiness struct {
	db     *db.DB
	served *db.DB        // that of requests, which is watched
	commit chan error    // gets the outcome of a commit that is tried; nil if none is
	asking chan struct{} // holds the caller that checks
	asked  time.Time
	result error

	leaving atomic.Bool // the process is about to end
}

func openReadiness(ctx context.Context, a *app) (*readiness, error) {
	d, err := db.Open(ctx, a.dsn, db.Options{MaxOpenConns: 2, DirectURL: a.direct, Beside: a.db}) // one for a commit that hangs
	if err != nil {
		return nil, err
	}
	return &readiness{db: d, served: a.db, asking: make(chan struct{}, 1)}, nil
}

// check returns an error if the process is about to end (D75), and if the database can't be
// reached, its schema isn't up to date or commits wait for a replica, now or at most
// readyFor ago.
func (r *readiness) check(ctx context.Context) error {
	if r.leaving.Load() {
		return errors.New("the process shuts down")
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
	if r.result = schemaReady(asking, r.db); r.result == nil {
		r.result = r.commits(asking)
	}
	r.asked = time.Now()
	return r.result
}

// commits tries a commit if others are late. Until it is answered the process isn't ready,
// and no other one is tried: each would leave another one waiting at the server.
func (r *readiness) commits(ctx context.Context) error {
	if r.commit == nil {
		if !r.served.CommitWaits().Late {
			return nil
		}
		r.commit = make(chan error, 1)
		go func(done chan<- error) { done <- r.db.TryCommit(context.WithoutCancel(ctx)) }(r.commit)
	}
	select {
	case err := <-r.commit:
		r.commit = nil
		if err == nil {
			r.served.CommitAcknowledged()
		}
		return err
	case <-ctx.Done():
		return errors.New("commits wait for a replica")
	}
}

// schemaReady returns an error if the database can't be reached or its schema isn't
// up to date.
func schemaReady(ctx context.Context, d *db.DB) error {
	pending, err := db.MigrationsPending(ctx, d)
	if err == nil && pending {
		return errors.New("the database's schema is behind this program: run candor migrate")
	}
	return err
}
