package jobs

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"candor/db"
	"candor/intake"
)

const (
	// recordBatch is how many attempts are recorded in one transaction.
	recordBatch = 256
	// recordPause gathers attempts that end at about the same time.
	recordPause = 2 * time.Millisecond
	// recordTimeout bounds one try to record; it is tried again until it works.
	recordTimeout = 10 * time.Second
)

// recorder writes attempts down, many in one transaction: the receivers have
// answered, so it doesn't give up while the process lives.
type recorder struct {
	db     *db.DB
	logger *slog.Logger
	wake   func(intake.EndpointID) // called for endpoints whose attempts were recorded

	incoming chan recorded
	ended    sync.WaitGroup
	patience context.Context // ends when the process can't wait for the database any longer
	hurry    context.CancelFunc
}

type recorded struct {
	endpoint intake.EndpointID
	outcome  db.AttemptOutcome
}

func newRecorder(database *db.DB, logger *slog.Logger, wake func(intake.EndpointID)) *recorder {
	r := &recorder{db: database, logger: logger, wake: wake, incoming: make(chan recorded, recordBatch)}
	r.patience, r.hurry = context.WithCancel(context.Background())
	return r
}

func (r *recorder) start() {
	r.ended.Add(1)
	go func() {
		defer r.ended.Done()
		for first := range r.incoming {
			r.flush(r.gather(first))
		}
	}()
}

// stop records what is left, with one try after ctx has ended: what isn't
// recorded is attempted again. Nothing may be recorded after it.
func (r *recorder) stop(ctx context.Context) {
	close(r.incoming)
	stop := context.AfterFunc(ctx, r.hurry)
	defer stop()
	r.ended.Wait()
}

func (r *recorder) record(endpoint intake.EndpointID, outcome db.AttemptOutcome) {
	r.incoming <- recorded{endpoint, outcome}
}

// gather waits a moment for more.
func (r *recorder) gather(first recorded) []recorded {
	batch := []recorded{first}
	pause := time.After(recordPause)
	for len(batch) < recordBatch {
		select {
		case next, ok := <-r.incoming:
			if !ok {
				return batch
			}
			batch = append(batch, next)
		case <-pause:
			return batch
		}
	}
	return batch
}

// flush records a batch, however long the database is away, and wakes the
// endpoints: events of the same sessions may have waited for these.
func (r *recorder) flush(batch []recorded) {
	outcomes := make([]db.AttemptOutcome, len(batch))
	for i, one := range batch {
		outcomes[i] = one.outcome
	}
	health := healthOf(batch)
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		ctx, cancel := context.WithTimeout(context.Background(), recordTimeout)
		err := r.db.RecordAttempts(ctx, outcomes, health)
		cancel()
		if err == nil {
			break
		}
		r.logger.Error("record webhook attempts", "attempts", len(batch), "error", err)
		select {
		case <-time.After(pause):
		case <-r.patience.Done():
			return
		}
	}
	for _, h := range health {
		r.wake(h.ID)
	}
}

// healthOf sums up what the attempts say about each endpoint, in the order
// they ended.
func healthOf(batch []recorded) []db.EndpointHealth {
	var out []db.EndpointHealth
	index := map[intake.EndpointID]int{}
	for _, one := range batch {
		i, ok := index[one.endpoint]
		if !ok {
			i = len(out)
			index[one.endpoint] = i
			out = append(out, db.EndpointHealth{ID: one.endpoint})
		}
		h := &out[i]
		h.At, h.StatusCode, h.ErrorClass = one.outcome.StartedAt, 0, ""
		if one.outcome.StatusCode != nil {
			h.StatusCode = *one.outcome.StatusCode
		}
		h.Failures++
		if one.outcome.ErrorClass == nil {
			h.Failures = 0
		} else {
			h.ErrorClass = *one.outcome.ErrorClass
		}
	}
	return out
}
