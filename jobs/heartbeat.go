package jobs

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"candor/db"
)

// beatEvery is the time between two signs of life, and the most that one takes.
const beatEvery = 2 * time.Second

// heartbeat shows that a worker lives, and takes up the jobs of those that don't (D95).
// River would wait for Config.RescueAfter, which must be above the time that a job takes.
type heartbeat struct {
	db     *db.DB
	id     string // of River's client
	logger *slog.Logger
	end    context.CancelFunc
	done   sync.WaitGroup
}

// start shows the first sign before the worker takes a job.
func (h *heartbeat) start(ctx context.Context) error {
	if err := h.db.WorkerLives(ctx, h.id); err != nil {
		return err
	}
	ctx, h.end = context.WithCancel(context.WithoutCancel(ctx))
	h.done.Go(func() {
		tick := time.NewTicker(beatEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				h.beat(ctx)
			}
		}
	})
	return nil
}

func (h *heartbeat) beat(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, beatEvery)
	defer cancel()
	err := h.db.WorkerLives(ctx, h.id)
	taken := 0
	if err == nil {
		taken, err = h.db.TakeJobsOfDead(ctx, h.id)
	}
	if err != nil {
		h.logger.WarnContext(ctx, "a worker can't show that it lives", "error", err)
	}
	if taken > 0 {
		h.logger.WarnContext(ctx, "jobs of a dead worker are taken up", "jobs", taken)
	}
}

// stop ends the signs of a worker whose jobs have ended.
func (h *heartbeat) stop(ctx context.Context) {
	h.end()
	h.done.Wait()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), beatEvery)
	defer cancel()
	_ = h.db.WorkerEnds(ctx, h.id) // else it is dead some seconds later
}
