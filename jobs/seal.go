package jobs

import (
	"context"

	"github.com/riverqueue/river"
)

// sealArgs is a job of the previous release, whose processes insert it until they stop.
// There is nothing to do for it, but a kind without a worker is an error.
type sealArgs struct{}

// Kind names the job.
func (sealArgs) Kind() string { return "seal_old_data" }

type sealWorker struct {
	river.WorkerDefaults[sealArgs]
}

// Work does nothing.
func (*sealWorker) Work(context.Context, *river.Job[sealArgs]) error { return nil }
