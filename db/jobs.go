package db

import (
	"context"
	"database/sql"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"
)

// JobDriver is River's driver on this database, for a client that inserts jobs.
func (d *DB) JobDriver() *riverdatabasesql.Driver { return riverdatabasesql.New(d.pool.DB) }

// InsertJob inserts a job that exists if the transaction commits.
func (tx *Tx) InsertJob(ctx context.Context, client *river.Client[*sql.Tx], args river.JobArgs) error {
	_, err := client.InsertTx(ctx, tx.tx.Tx, args, nil)
	return wrap(err, "insert job "+args.Kind())
}
