package db

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"
	"github.com/riverqueue/river/rivertype"

	"candor/internal/domain"
	"candor/internal/platform/tracing"
)

// JobDriver is River's driver on this database, for a client that inserts jobs.
func (d *DB) JobDriver() *riverdatabasesql.Driver { return riverdatabasesql.New(d.pool.DB) }

// A JobClient is River's client. The interface keeps its generic code out of the
// packages that only pass a Tx on: they would compile all of it again.
type JobClient interface {
	InsertTx(ctx context.Context, tx *sql.Tx, args river.JobArgs, opts *river.InsertOpts) (*rivertype.JobInsertResult, error)
}

// jobTrace is what a job's metadata has of the trace that inserts it, if one is
// recorded.
type jobTrace struct {
	Parent   string `json:"traceparent"`
	Delivery string `json:"trace_delivery,omitempty"`
}

// InsertJob inserts a job that exists if the transaction commits. The job continues
// ctx's trace.
func (tx *Tx) InsertJob(ctx context.Context, client JobClient, args river.JobArgs) error {
	var opts *river.InsertOpts
	if parent := tracing.Parent(ctx); parent != "" {
		metadata, err := json.Marshal(jobTrace{Parent: parent, Delivery: tracing.Delivery(ctx)})
		if err != nil {
			return fmt.Errorf("db: a job's trace: %w", err)
		}
		opts = &river.InsertOpts{Metadata: metadata}
	}
	_, err := client.InsertTx(ctx, tx.tx.Tx, args, opts)
	return wrap(err, "insert job "+args.Kind())
}

// JobTrace returns the trace that inserted a job, by its metadata, or "".
func JobTrace(metadata []byte) string {
	var t jobTrace
	_ = json.Unmarshal(metadata, &t) // what isn't ours has no trace
	return t.Parent
}

// DeliveryTrace returns the trace that last made a delivery due, or "": it isn't
// recorded, or its job was cleaned up after a day. River indexes the metadata.
func (q *Queries) DeliveryTrace(ctx context.Context, id domain.DeliveryID) (string, error) {
	about, err := json.Marshal(map[string]string{"trace_delivery": id.String()})
	if err != nil {
		return "", fmt.Errorf("db: a delivery's trace: %w", err)
	}
	var parent string
	err = q.get(ctx, &parent, `
		SELECT coalesce((array_agg(metadata ->> 'traceparent' ORDER BY id DESC))[1], '')
		FROM river_job WHERE metadata @> $1::jsonb`, string(about))
	return parent, wrap(err, "find a delivery's trace")
}
