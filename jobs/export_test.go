package jobs

import (
	"context"

	"candor/db"
)

// SetCaps makes the process's caps small enough to reach them. Before Start.
func (w *Worker) SetCaps(running, failing int) {
	w.dispatcher.running, w.dispatcher.failing = make(chan struct{}, running), make(chan struct{}, failing)
}

// What the tests hold the dispatcher to.
const (
	PerEndpoint  = perEndpoint
	PerNew       = perNew
	PerFailing   = perFailing
	FailingAfter = failingAfter
)

// Reconcile asks for a run now.
func (e *Enqueuer) Reconcile(ctx context.Context, tx *db.Tx) error {
	_, err := e.insert(ctx, tx, reconcileArgs{})
	return err
}
