package jobs

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"candor/db"
	"candor/internal/vault"
)

// sealArgs seals what earlier releases stored in clear.
type sealArgs struct{ upkeepArgs }

// Kind names the job.
func (sealArgs) Kind() string { return "seal_old_data" }

type sealWorker struct {
	upkeepWorker[sealArgs]
	db    *db.DB
	vault *vault.Vault
}

// sealTime ends a run before its timeout does, so that a long run doesn't fail.
const sealTime = upkeepTimeout - 20*time.Second

// Work seals for sealTime at most. The next run continues.
func (w *sealWorker) Work(ctx context.Context, _ *river.Job[sealArgs]) error {
	ctx, cancel := context.WithTimeout(ctx, sealTime)
	defer cancel()
	_, err := w.vault.SealOld(ctx, w.db)
	if ctx.Err() != nil {
		return nil
	}
	return err
}
