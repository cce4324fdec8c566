package jobs

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"candor/db"
	"candor/internal/outbox"
)

// notifyCooldown is how long the inserting client stays silent after it has
// notified the workers. A job inserted within it waits for their next poll, so
// it is the least that River allows. The most frequent commits, new sessions,
// insert no job.
const notifyCooldown = time.Millisecond

// Inserter inserts jobs in the caller's transaction. Its methods stand beside
// the jobs that they insert. It is safe for concurrent use.
type Inserter struct {
	client db.JobClient
}

// unfinished allows one unfinished job of the same arguments.
var unfinished = river.UniqueOpts{
	ByArgs: true,
	ByState: []rivertype.JobState{
		rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRunning,
		rivertype.JobStateRetryable, rivertype.JobStateScheduled,
	},
}

var _ outbox.Jobs = (*Inserter)(nil)

// NewInserter returns an Inserter on the database.
func NewInserter(database *db.DB, logger *slog.Logger) (*Inserter, error) {
	client, err := river.NewClient(database.JobDriver(), &river.Config{
		FetchCooldown: notifyCooldown,
		Logger:        logger,
	})
	if err != nil {
		return nil, fmt.Errorf("jobs: client for inserting: %w", err)
	}
	return &Inserter{client: client}, nil
}

func (i *Inserter) insert(ctx context.Context, tx *db.Tx, args river.JobArgs) error {
	return tx.InsertJob(ctx, i.client, args)
}
