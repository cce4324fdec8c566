package jobs

import (
	"context"
	"errors"
	"sync"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/outbox"
)

// InBatches is what the sweeps and retention work by.
var InBatches = inBatches

// Reconcile inserts a run that starts now.
func (i *Inserter) Reconcile(ctx context.Context, tx *db.Tx) error {
	return i.insert(ctx, tx, reconcileArgs{})
}

// SweepAlerts looks for alerts so many times at once.
func SweepAlerts(ctx context.Context, database *db.DB, o *outbox.Outbox, clock domain.Clock, times int) error {
	var all sync.WaitGroup
	errs := make([]error, times)
	for i := range errs {
		all.Go(func() { errs[i] = (&alertWorker{db: database, outbox: o, clock: clock}).Work(ctx, nil) })
	}
	all.Wait()
	return errors.Join(errs...)
}
