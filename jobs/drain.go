package jobs

import (
	"context"
	"time"

	"candor/db"
	"candor/intake"
	"candor/webhook"
)

// drain attempts one endpoint's due deliveries until none is left. Its fields
// belong to its own goroutine, but for again, which the dispatcher's lock
// guards, and the channels.
type drain struct {
	*dispatcher
	id       intake.EndpointID
	endpoint *intake.Endpoint
	secrets  []string
	signedAt time.Time            // when the secrets were read
	queue    []db.ClaimedDelivery // claimed and not begun
	leased   time.Time            // until when the queue is claimed
	inFlight int
	failures int // in a row, as this process saw them

	again bool // something may have become due since the last claim
	nudge chan struct{}
	ended chan webhook.Result
}

func newDrain(d *dispatcher, id intake.EndpointID) *drain {
	return &drain{dispatcher: d, id: id, again: true, nudge: make(chan struct{}, 1), ended: make(chan webhook.Result, perEndpoint)}
}

// signal makes the drain look again; it never waits.
func (e *drain) signal() {
	select {
	case e.nudge <- struct{}{}:
	default:
	}
}

func (e *drain) run() {
	for {
		e.dropStale()
		if len(e.queue) == 0 && e.takeAgain() {
			if err := e.claim(); err != nil {
				e.logger.Error("claim deliveries", "endpoint_id", e.id, "error", err)
			}
		}
		e.begin()
		if e.inFlight == 0 && len(e.queue) == 0 && e.retire() {
			return
		}
		e.wait()
	}
}

// wait returns when there may be something to do.
func (e *drain) wait() {
	var full <-chan time.Time
	if len(e.queue) > 0 && e.inFlight == 0 { // the process is full: others end
		full = time.After(20 * time.Millisecond)
	}
	select {
	case result := <-e.ended:
		e.note(result)
	case <-e.nudge:
	case <-full:
	}
	for {
		select {
		case result := <-e.ended:
			e.note(result)
		default:
			return
		}
	}
}

func (e *drain) note(result webhook.Result) {
	e.inFlight--
	switch {
	case result.Err != nil:
	case result.Delivered():
		e.failures = 0
	default:
		e.failures++
	}
}

// takeAgain reports whether to claim, and takes the wish back.
func (e *drain) takeAgain() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	again := e.again && e.claims.Err() == nil
	e.again = false
	return again
}

// retire ends the drain unless it was woken meanwhile.
func (e *drain) retire() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.again && e.claims.Err() == nil {
		return false
	}
	delete(e.drains, e.id)
	return true
}

func (e *drain) isFailing() bool { return e.failures >= failingAfter }

// claim fills the queue. As long as claims come back full, there may be more.
func (e *drain) claim() error {
	if err := e.load(); err != nil {
		return err
	}
	limit := prefetch
	if e.isFailing() {
		limit = perFailing
	}
	now := e.clock.Now()
	e.leased = time.Now().Add(e.lease)
	claimed, err := e.db.ClaimDeliveries(e.claims, e.id, now, now.Add(e.lease), limit)
	if err != nil {
		return err
	}
	e.queue = claimed
	if len(claimed) == limit {
		e.mu.Lock()
		e.again = true
		e.mu.Unlock()
	}
	return nil
}

// load reads the endpoint's health, once, and the secrets that sign for it,
// anew once they are older than secretsAge: after a switch no delivery may be
// signed with what was before (D36).
func (e *drain) load() error {
	if e.endpoint == nil {
		endpoint, err := e.db.Endpoint(e.claims, e.id)
		if err != nil {
			return err
		}
		e.endpoint, e.failures = endpoint, endpoint.ConsecutiveFailures
	}
	if time.Since(e.signedAt) < secretsAge {
		return nil
	}
	readAt := time.Now()
	secrets, err := openSecrets(e.attempts, e.db, e.ring, intake.Scope{AccountID: e.endpoint.AccountID, Livemode: e.endpoint.Livemode})
	if err != nil {
		return err
	}
	e.secrets, e.signedAt = secrets, readAt
	return nil
}

// begin starts attempts while the endpoint and the process have room.
func (e *drain) begin() {
	for len(e.queue) > 0 && e.attempts.Err() == nil {
		limit := perEndpoint
		if e.isFailing() {
			limit = perFailing
		}
		if e.inFlight >= limit {
			return
		}
		if err := e.load(); err != nil {
			e.logger.Error("read webhook secrets", "endpoint_id", e.id, "error", err)
			return
		}
		free, ok := e.takeRoom()
		if !ok {
			return
		}
		next, secrets := e.queue[0], e.secrets
		e.queue = e.queue[1:]
		e.inFlight++
		e.work.Add(1)
		go func() {
			defer e.work.Done()
			result := e.attempt(next, secrets)
			free()
			e.ended <- result
		}()
	}
}

// takeRoom takes a place among the process's attempts, and returns what gives
// it back.
func (e *drain) takeRoom() (free func(), ok bool) {
	if !e.isFailing() {
		select {
		case e.running <- struct{}{}:
			return func() { <-e.running }, true
		default:
			return nil, false
		}
	}
	select {
	case e.failing <- struct{}{}:
	default:
		return nil, false
	}
	select {
	case e.running <- struct{}{}:
		return func() { <-e.running; <-e.failing }, true
	default:
		<-e.failing
		return nil, false
	}
}

// dropStale gives back what can't be attempted within its claim, or at all
// any more.
func (e *drain) dropStale() {
	if len(e.queue) == 0 || e.claims.Err() == nil && time.Until(e.leased) > attemptTime {
		return
	}
	ids := make([]intake.DeliveryID, len(e.queue))
	for i := range e.queue {
		ids[i] = e.queue[i].ID
	}
	e.queue = nil
	e.release(ids)
	e.mu.Lock()
	e.again = true
	e.mu.Unlock()
}

// release gives back claims; those that it can't give back end by themselves.
func (e *drain) release(ids []intake.DeliveryID) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.attempts), 5*time.Second)
	defer cancel()
	if err := e.db.ReleaseDeliveries(ctx, ids); err != nil {
		e.logger.Error("release deliveries", "endpoint_id", e.id, "error", err)
	}
}

// attempt makes one attempt and hands its outcome to the recorder.
func (e *drain) attempt(c db.ClaimedDelivery, secrets []string) webhook.Result {
	request := webhook.Request{
		URL: c.URL, Body: c.Body, DeliveryID: c.ID.String(), Attempt: c.Attempts + 1, Secrets: secrets,
	}
	if c.FirstAttemptAt != nil {
		request.FirstAttemptAt = *c.FirstAttemptAt
	}
	result := e.client.Do(e.attempts, request, e.clock.Now())
	if result.Err != nil {
		if e.attempts.Err() == nil {
			e.logger.Error("webhook attempt could not be made", "delivery_id", c.ID, "error", result.Err)
		}
		e.release([]intake.DeliveryID{c.ID})
		return result
	}
	outcome, err := e.outcome(&c, result)
	if err != nil {
		e.logger.Error("webhook attempt could not be recorded", "delivery_id", c.ID, "error", err)
		return result
	}
	e.logger.Info("webhook attempt", "delivery_id", c.ID, "account_id", e.endpoint.AccountID, "attempt", outcome.Number,
		"state", outcome.State, "status", result.StatusCode, "error_class", result.ErrorClass, "duration", result.Duration)
	e.recorder.record(e.id, outcome)
	return result
}

// outcome says what follows from an attempt: delivered, failed for good, or
// due again by the schedule, counted from now (D34).
func (e *drain) outcome(c *db.ClaimedDelivery, result webhook.Result) (db.AttemptOutcome, error) {
	attempt, err := newAttempt(c.ID, c.AttemptsTotal+1, result)
	out := db.AttemptOutcome{Attempt: attempt, State: intake.DeliveryDelivered}
	if err != nil || result.Delivered() {
		return out, err
	}
	out.State = intake.DeliveryFailed
	if delay, more := e.schedule.NextAfter(c.Attempts+1, result.Wait()); more {
		due := e.clock.Now().Add(delay)
		out.State, out.Next = intake.DeliveryPending, &due
	}
	return out, nil
}
