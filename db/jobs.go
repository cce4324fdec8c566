package db

import (
	"context"
	"database/sql"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"
	"github.com/riverqueue/river/rivertype"
)

// JobDriver is River's driver on this database, for a client that inserts jobs.
func (d *DB) JobDriver() *riverdatabasesql.Driver { return riverdatabasesql.New(d.pool.DB) }

// A JobClient is River's client. The interface keeps its generic code out of the
// packages that only pass a Tx on: they would compile all of it again.
type JobClient interface {
	InsertTx(ctx context.Context, tx *sql.Tx, args river.JobArgs, opts *river.InsertOpts) (*rivertype.JobInsertResult, error)
}

// InsertJob inserts a job that exists if the transaction commits.
func (tx *Tx) InsertJob(ctx context.Context, client JobClient, args river.JobArgs) error {
	_, err := client.InsertTx(ctx, tx.tx.Tx, args, nil)
	return wrap(err, "insert job "+args.Kind())
}
