package jobs

import (
	"context"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/webhook"
)

// drain attempts one endpoint's due deliveries until none has come for a
// while. Its fields belong to its own goroutine, but for again, which the
// dispatcher's lock guards, and the channels.
type drain struct {
	*dispatcher
	id       domain.EndpointID
	endpoint *domain.Endpoint
	secrets  signingSecrets
	queue    []db.ClaimedDelivery // claimed and not begun
	leased   time.Time            // until when the queue is claimed
	inFlight int
	window   int // how many attempts may run: it opens with each success
	failures int // in a row, as this process saw them

	again bool // something may have become due since the last claim
	nudge chan struct{}
	ended chan webhook.Result
}

func newDrain(d *dispatcher, id domain.EndpointID) *drain {
	return &drain{
		dispatcher: d, id: id, window: perNew, again: true,
		nudge: make(chan struct{}, 1), ended: make(chan webhook.Result, perEndpoint),
	}
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
		if len(e.queue) == 0 && e.inFlight < e.limit() && e.takeAgain() {
			if err := e.claim(); err != nil {
				// The look-out comes by again.
				e.logger.Error("claim deliveries", "endpoint_id", e.id, "error", err)
			}
		}
		idle := e.wait(e.begin())
		if (idle || e.claims.Err() != nil) && e.inFlight == 0 && len(e.queue) == 0 && e.retire() {
			return
		}
	}
}

// wait returns when there may be something to do, at the latest after pause,
// and reports whether nothing came for so long that the drain can end.
func (e *drain) wait(pause time.Duration) (idle bool) {
	var over <-chan time.Time
	switch {
	case e.inFlight == 0 && len(e.queue) == 0:
		over = time.After(lingerTime)
	case pause > 0:
		over = time.After(pause)
	}
	stopped := e.claims.Done()
	if e.inFlight > 0 && len(e.queue) == 0 {
		stopped = nil // only what runs is left to wait for
	}
	select {
	case result := <-e.ended:
		e.note(result)
	case <-e.nudge:
	case <-stopped:
	case <-over:
		return len(e.queue) == 0
	}
	for {
		select {
		case result := <-e.ended:
			e.note(result)
		default:
			return false
		}
	}
}

func (e *drain) note(result webhook.Result) {
	e.inFlight--
	switch {
	case result.Err != nil:
	case result.Delivered():
		e.failures = 0
		e.window = min(e.window+1, perEndpoint)
	default:
		e.failures++
		if e.isFailing() {
			e.window = perNew
		}
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

// limit is how many attempts may run.
func (e *drain) limit() int {
	if e.isFailing() {
		return perFailing
	}
	return e.window
}

// claim fills the queue. As long as claims come back full, there may be more.
func (e *drain) claim() error {
	if err := e.load(); err != nil {
		return err
	}
	// A failing endpoint gets only what can run at once.
	limit := e.limit() - e.inFlight
	if !e.isFailing() {
		limit = prefetch * e.limit()
	}
	// Not cut by a stop, or nobody would know what was claimed.
	ctx, cancel := context.WithTimeout(e.attempts, queryTimeout)
	defer cancel()
	e.leased = time.Now().Add(e.lease) // no later than by the database's clock
	claimed, err := e.db.ClaimDeliveries(ctx, e.id, e.clock.Now(), e.lease, limit)
	if err != nil {
		return err
	}
	e.queue = e.hold(claimed)
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
	if e.endpoint != nil && time.Since(e.secrets.readAt) < secretsAge {
		return nil
	}
	ctx, cancel := context.WithTimeout(e.attempts, queryTimeout)
	defer cancel()
	if e.endpoint == nil {
		endpoint, err := e.db.Endpoint(ctx, e.id)
		if err != nil {
			return err
		}
		e.endpoint, e.failures = endpoint, endpoint.ConsecutiveFailures
	}
	secrets, err := e.readSecrets(ctx)
	if err != nil {
		return err
	}
	e.secrets = secrets
	return nil
}

// begin starts attempts while the endpoint and the process have room. Where
// something else holds up the rest it returns how long to wait for that.
func (e *drain) begin() (pause time.Duration) {
	for len(e.queue) > 0 && e.inFlight < e.limit() {
		if e.isStale() {
			return time.Millisecond
		}
		if err := e.load(); err != nil {
			e.logger.Error("read webhook secrets", "endpoint_id", e.id, "error", err)
			return lookOutEvery
		}
		free, ok := e.takeRoom()
		if !ok {
			return fullPause
		}
		next, secrets := e.queue[0], e.secrets
		e.queue = e.queue[1:]
		e.inFlight++
		e.work.Add(1)
		go func() {
			defer e.work.Done()
			result := e.attempt(&next, secrets)
			free()
			e.ended <- result
		}()
	}
	return 0
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

// isStale reports whether the queue can't be attempted within its claim, or
// not at all any more.
func (e *drain) isStale() bool {
	return e.claims.Err() != nil || time.Until(e.leased) <= attemptTime
}

// dropStale gives back what is stale.
func (e *drain) dropStale() {
	if len(e.queue) == 0 || !e.isStale() {
		return
	}
	e.release(e.queue...)
	e.queue = nil
	e.mu.Lock()
	e.again = true
	e.mu.Unlock()
}

// release gives back claims; those that it can't give back end by themselves.
func (e *drain) release(claimed ...db.ClaimedDelivery) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.attempts), releaseTimeout)
	defer cancel()
	if err := e.db.ReleaseDeliveries(ctx, claimed); err != nil {
		e.logger.Error("release deliveries", "endpoint_id", e.id, "error", err)
	}
	for i := range claimed {
		e.letGo(claimed[i].ID)
	}
}

// attempt makes one attempt and hands its outcome to the recorder.
func (e *drain) attempt(c *db.ClaimedDelivery, secrets signingSecrets) webhook.Result {
	result := e.send(c, secrets)
	if result.Err != nil && e.attempts.Err() != nil {
		e.release(*c)
		return result
	}
	outcome, err := e.outcome(c, result)
	if err != nil {
		// A fault on our side. The claim isn't given back: its end paces what
		// may go wrong again.
		e.logger.Error("webhook attempt could not be made", "delivery_id", c.ID, "error", err)
		e.letGo(c.ID)
		return result
	}
	e.logger.Info("webhook attempt", "delivery_id", c.ID, "account_id", e.endpoint.AccountID, "attempt", outcome.Number,
		"state", outcome.State, "status", result.StatusCode, "error_class", result.ErrorClass, "duration", result.Duration)
	e.observe(c, result)
	e.recorder.record(e.id, outcome)
	return result
}

// observe tells the observer of an attempt. How long a redelivery took since
// its event says nothing.
func (e *drain) observe(c *db.ClaimedDelivery, result webhook.Result) {
	e.observer.Attempted(result.ErrorClass, result.Duration)
	if c.AttemptsTotal == 0 {
		e.observer.FirstAttempted(result.StartedAt.Sub(c.CreatedAt))
	}
	if c.Cycle == 1 && result.Delivered() {
		e.observer.Delivered(result.StartedAt.Add(result.Duration).Sub(c.CreatedAt))
	}
}

func (e *drain) send(c *db.ClaimedDelivery, secrets signingSecrets) webhook.Result {
	list, now, err := e.sign(secrets)
	if err != nil {
		return webhook.Result{Err: err}
	}
	request := webhook.Request{
		URL: c.URL, Body: c.Body, DeliveryID: c.ID.String(), Attempt: c.Attempts + 1, Secrets: list,
	}
	if c.FirstAttemptAt != nil {
		request.FirstAttemptAt = *c.FirstAttemptAt
	}
	return e.client.Do(e.attempts, request, now)
}

// outcome says what follows from an attempt: delivered, failed for good, or
// due again by the schedule, counted from now (D34).
func (e *drain) outcome(c *db.ClaimedDelivery, result webhook.Result) (db.AttemptOutcome, error) {
	if result.Err != nil {
		return db.AttemptOutcome{}, result.Err
	}
	attempt, err := newAttempt(c.ID, c.AttemptsTotal+1, result)
	out := db.AttemptOutcome{DeliveryAttempt: attempt, Cycle: c.Cycle, State: domain.DeliveryDelivered}
	if err != nil || result.Delivered() {
		return out, err
	}
	out.State = domain.DeliveryFailed
	if delay, more := e.schedule.NextAfter(c.Attempts+1, result.Wait()); more {
		due := e.clock.Now().Add(delay)
		out.State, out.Next = domain.DeliveryPending, &due
	}
	return out, nil
}
