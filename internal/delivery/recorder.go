package delivery

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"candor/db"
	"candor/internal/domain"
)

const (
	// recordBatch is how many attempts are recorded in one transaction.
	recordBatch = 256
	// recordPause gathers attempts that end at about the same time.
	recordPause = 2 * time.Millisecond
	// recordTimeout bounds one try to record.
	recordTimeout = 10 * time.Second
	// maxRecordPause is the longest pause between two tries.
	maxRecordPause = time.Second
)

// recorder stores attempts, many in one transaction. The receivers have
// answered, so it retries for as long as the process runs.
type recorder struct {
	db     *db.DB
	logger *slog.Logger
	done   func([]domain.DeliveryID, []domain.EndpointID) // called after each batch

	incoming chan recorded
	ended    sync.WaitGroup
	patience context.Context // ends when each try must be the last one
	hurry    context.CancelFunc
	tries    context.Context // ends recordTimeout after patience
	giveUp   context.CancelFunc
}

type recorded struct {
	endpoint domain.EndpointID
	outcome  db.AttemptOutcome
}

func newRecorder(database *db.DB, logger *slog.Logger, done func([]domain.DeliveryID, []domain.EndpointID)) *recorder {
	r := &recorder{db: database, logger: logger, done: done, incoming: make(chan recorded, recordBatch)}
	r.tries, r.giveUp = context.WithCancel(context.Background())
	r.patience, r.hurry = context.WithCancel(r.tries)
	return r
}

func (r *recorder) start() {
	r.ended.Go(func() {
		for first := range r.incoming {
			r.flush(r.gather(first))
		}
	})
}

// hurryAfter makes each try the last one when ctx has ended, and cuts off all of
// them recordTimeout later. What isn't recorded is attempted again.
func (r *recorder) hurryAfter(ctx context.Context) {
	context.AfterFunc(ctx, func() {
		r.hurry()
		time.AfterFunc(recordTimeout, r.giveUp)
	})
}

// stop records what is left. record must not be called after it.
func (r *recorder) stop() {
	close(r.incoming)
	r.ended.Wait()
	r.giveUp()
}

func (r *recorder) record(endpoint domain.EndpointID, outcome db.AttemptOutcome) {
	r.incoming <- recorded{endpoint, outcome}
}

// gather waits recordPause for more attempts.
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

// flush records a batch, however long the database is down. If the database
// refuses the batch, flush halves it until only the refused attempts are left
// out.
func (r *recorder) flush(batch []recorded) {
	err := r.persist(batch)
	if err != nil && len(batch) > 1 && db.IsRefused(err) {
		half := len(batch) / 2
		r.flush(batch[:half])
		r.flush(batch[half:])
		return
	}
	if err != nil {
		r.logger.Error("webhook attempts are not recorded and will be made again", "attempts", len(batch), "error", err)
	}
	var deliveries []domain.DeliveryID
	var endpoints []domain.EndpointID
	for _, one := range batch {
		deliveries = append(deliveries, one.outcome.DeliveryID)
		if !slices.Contains(endpoints, one.endpoint) {
			endpoints = append(endpoints, one.endpoint)
		}
	}
	r.done(deliveries, endpoints)
}

// persist retries until it works, the data are refused or the process must end.
func (r *recorder) persist(batch []recorded) error {
	outcomes := make([]db.AttemptOutcome, len(batch))
	for i, one := range batch {
		outcomes[i] = one.outcome
	}
	health := healthOf(batch)
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, maxRecordPause) {
		ctx, cancel := context.WithTimeout(r.tries, recordTimeout)
		err := r.db.RecordAttempts(ctx, outcomes, health)
		cancel()
		if err == nil || db.IsRefused(err) {
			return err
		}
		r.logger.Error("record webhook attempts", "attempts", len(batch), "error", err)
		select {
		case <-time.After(pause):
		case <-r.patience.Done():
			return err
		}
	}
}

// healthOf sums up the attempts at each endpoint, in the order they ended.
func healthOf(batch []recorded) (out []db.EndpointHealth) {
	made := map[domain.EndpointID][]domain.DeliveryAttempt{}
	for _, one := range batch {
		made[one.endpoint] = append(made[one.endpoint], one.outcome.DeliveryAttempt)
	}
	for endpoint, attempts := range made {
		out = append(out, HealthOf(endpoint, attempts))
	}
	// All recorders lock the rows in the same order, so they can't deadlock.
	slices.SortFunc(out, func(a, b db.EndpointHealth) int { return cmp.Compare(a.ID.String(), b.ID.String()) })
	return out
}

// HealthOf sums up attempts at an endpoint on one day, in the order they ended.
func HealthOf(endpoint domain.EndpointID, attempts []domain.DeliveryAttempt) db.EndpointHealth {
	h := db.EndpointHealth{ID: endpoint}
	for i := range attempts {
		a := &attempts[i]
		h.At, h.StatusCode, h.ErrorClass = a.StartedAt, 0, ""
		if a.StatusCode != nil {
			h.StatusCode = *a.StatusCode
		}
		delivered := int64(0)
		if a.ErrorClass == nil {
			if h.SuccessAt == nil || h.Failures > 0 {
				h.AnsweredAt = a.StartedAt
			}
			h.Failures, h.SuccessAt, delivered = 0, &a.StartedAt, 1
		} else {
			if h.Failures++; h.Failures == 1 {
				h.FailingAt = a.StartedAt
			}
			h.ErrorClass = *a.ErrorClass
		}
		times := make([]int64, domain.AttemptStep(time.Duration(a.DurationMS)*time.Millisecond)+1)
		times[len(times)-1] = 1
		h.Counted.Add(0, 1, delivered, times)
	}
	return h
}
