package jobs

import (
	"context"

	"candor/db"
)

// Reconcile inserts a run that starts now.
func (i *Inserter) Reconcile(ctx context.Context, tx *db.Tx) error {
	return i.insert(ctx, tx, reconcileArgs{})
}
