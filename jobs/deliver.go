package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/riverqueue/river"

	"candor/db"
	"candor/intake"
	"candor/keyring"
	"candor/webhook"
)

// deliverArgs asks for the attempts of one delivery (interface.md Delivery
// rules). The delivery's row is the truth: it counts the attempts and says
// when the next one is due, and the job only comes by.
type deliverArgs struct {
	DeliveryID intake.DeliveryID `json:"delivery_id"`
}

// Kind names the job.
func (deliverArgs) Kind() string { return "webhook_delivery" }

// InsertOpts puts deliveries in a queue of their own, where waiting for a
// slow receiver holds up nothing else (D39).
func (deliverArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: queueWebhooks, MaxAttempts: maxRuns}
}

const (
	// deliverTimeout exceeds the 15 s of an attempt (D37) by the time to
	// record it.
	deliverTimeout = 25 * time.Second
	// busyStep is by how much longer a delivery steps back each time that its
	// destination has as many attempts running as it may, up to busyMost: the
	// thousands that wait for a dead one must not keep the database busy (D39).
	busyStep = time.Second
	busyMost = 20 * time.Second
	// A session's event waits for those before it, so that receivers mostly
	// see them in order: turnPatience on the spot, then stepping back, and for
	// turnLimit after its creation at most.
	turnPatience = 150 * time.Millisecond
	turnTick     = 10 * time.Millisecond
	turnLimit    = 3 * time.Second
)

type deliverWorker struct {
	river.WorkerDefaults[deliverArgs]
	db       *db.DB
	ring     *keyring.Keyring
	client   *webhook.Client
	limiter  *webhook.Limiter
	schedule webhook.Schedule
	clock    intake.Clock
	logger   *slog.Logger
}

// Timeout bounds one run.
func (w *deliverWorker) Timeout(*river.Job[deliverArgs]) time.Duration { return deliverTimeout }

// NextRetry spaces runs that failed on our side; the contract's schedule is
// in the delivery's row.
func (w *deliverWorker) NextRetry(job *river.Job[deliverArgs]) time.Time { return retryAt(job.Attempt) }

// Work makes the attempt that is due, if one is, and comes back for the next.
func (w *deliverWorker) Work(ctx context.Context, job *river.Job[deliverArgs]) error {
	work, err := w.db.DeliveryWork(ctx, job.Args.DeliveryID)
	if errors.Is(err, db.ErrNotFound) {
		return river.JobCancel(err)
	}
	if err != nil {
		return err
	}
	if work.State != intake.DeliveryPending {
		return nil
	}
	if wait := work.NextAttemptAt.Sub(w.clock.Now()); wait > 0 {
		return river.JobSnooze(wait)
	}
	inTurn, err := w.inTurn(ctx, work)
	if err != nil {
		return err
	}
	if !inTurn {
		return river.JobSnooze(turnPatience)
	}
	release, ok := w.limiter.TryAcquire(work.URL)
	if !ok {
		return river.JobSnooze(busyPause(job.Metadata))
	}
	request, err := w.request(work)
	if err != nil {
		release(webhook.OutcomeUnknown)
		return err
	}
	result := w.client.Do(ctx, request, w.clock.Now())
	release(result.Outcome())
	if result.Err != nil {
		return result.Err
	}
	return w.record(ctx, work, request.Attempt, result)
}

// inTurn waits a moment for the deliveries before this one, and reports
// whether it may go.
func (w *deliverWorker) inTurn(ctx context.Context, work *db.DeliveryWork) (bool, error) {
	if work.Attempts > 0 {
		return true, nil
	}
	for waited := time.Duration(0); ; waited += turnTick {
		overtakes, err := w.db.DeliveryOvertakes(ctx, work.ID, w.clock.Now().Add(-turnLimit))
		if err != nil || !overtakes || waited >= turnPatience {
			return !overtakes, err
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(turnTick):
		}
	}
}

// busyPause is longer the more often the job has stepped back.
func busyPause(metadata []byte) time.Duration {
	var job struct {
		Snoozes int `json:"snoozes"` // River counts them here
	}
	_ = json.Unmarshal(metadata, &job) // unreadable: as if for the first time
	most := min(time.Duration(1+job.Snoozes)*busyStep, busyMost)
	return most/2 + rand.N(most)
}

func (w *deliverWorker) request(work *db.DeliveryWork) (webhook.Request, error) {
	scope := intake.Scope{AccountID: work.AccountID, Livemode: work.Livemode}
	secrets := make([]string, 0, 2)
	for _, sealed := range [][]byte{work.Secret, work.Next} {
		if sealed == nil {
			continue
		}
		secret, err := w.ring.Open(scope.SecretOwner(), sealed)
		if err != nil {
			return webhook.Request{}, fmt.Errorf("jobs: webhook secret: %w", err)
		}
		secrets = append(secrets, string(secret))
	}
	request := webhook.Request{
		URL: work.URL, Body: work.Body, DeliveryID: work.ID.String(), Attempt: work.Attempts + 1, Secrets: secrets,
	}
	if work.FirstAttemptAt != nil {
		request.FirstAttemptAt = *work.FirstAttemptAt
	}
	return request, nil
}

// record writes down the attempt and what follows from it: delivered, failed
// for good, or due again.
func (w *deliverWorker) record(ctx context.Context, work *db.DeliveryWork, number int, result webhook.Result) error {
	state := intake.DeliveryDelivered
	var next *time.Time
	if !result.Delivered() {
		state = intake.DeliveryFailed
		if delay, more := w.schedule.Next(number); more {
			due := w.clock.Now().Add(delay)
			state, next = intake.DeliveryPending, &due
		}
	}
	attempt, err := newAttempt(work.ID, number, result)
	if err != nil {
		return err
	}
	// The receiver has answered: a stop in this moment must not make it forgotten.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := w.db.RecordAttempt(ctx, attempt, state, next); err != nil {
		return err
	}
	w.logger.InfoContext(ctx, "webhook attempt", "delivery_id", work.ID, "account_id", work.AccountID,
		"attempt", number, "state", state, "status", result.StatusCode, "error_class", result.ErrorClass, "duration", result.Duration)
	if next != nil {
		return river.JobSnooze(max(0, next.Sub(w.clock.Now())))
	}
	return nil
}

func newAttempt(id intake.DeliveryID, number int, result webhook.Result) (*db.Attempt, error) {
	header, err := json.Marshal(result.RequestHeader)
	if err != nil {
		return nil, fmt.Errorf("jobs: attempt headers: %w", err)
	}
	a := &db.Attempt{
		DeliveryID: id, Number: number, StartedAt: result.StartedAt, DurationMS: result.Duration.Milliseconds(), RequestHeaders: header,
	}
	if result.StatusCode != 0 {
		a.StatusCode = &result.StatusCode
		response := string(result.Response)
		a.Response = &response
	}
	if result.ErrorClass != "" {
		a.ErrorClass, a.Error = &result.ErrorClass, &result.Error
	}
	return a, nil
}
