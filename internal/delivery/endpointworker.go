package delivery

import (
	"context"
	"slices"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/webhook"
)

// endpointWorker attempts one endpoint's due deliveries, and ends when none has
// been due for lingerTime. Only its own goroutine uses the fields, except woken,
// which the dispatcher's mutex guards, and the channels.
type endpointWorker struct {
	*Dispatcher
	id       domain.EndpointID
	endpoint *domain.Endpoint
	share    *share // of its account
	secrets  signingSecrets
	queue    []db.ClaimedDelivery // claimed and not started
	leased   time.Time            // when the queue's claims end
	inFlight int
	window   int // how many attempts may run; each success adds one
	failures int // in a row, as this process saw them

	full    places // had none free for the queue, or nil
	granted places // has given one to the worker since, or nil

	woken bool // a delivery may have become due since the last claim
	nudge chan struct{}
	ended chan webhook.Result
}

func newEndpointWorker(d *Dispatcher, id domain.EndpointID) *endpointWorker {
	return &endpointWorker{
		Dispatcher: d, id: id, window: perNew, woken: true,
		nudge: make(chan struct{}, 1), ended: make(chan webhook.Result, perEndpoint),
	}
}

// signal makes the worker check its state again. It never blocks.
func (w *endpointWorker) signal() {
	select {
	case w.nudge <- struct{}{}:
	default:
	}
}

func (w *endpointWorker) run() {
	for {
		w.dropStale()
		if len(w.queue) == 0 && w.inFlight < w.limit() && w.takeWoken() {
			if err := w.claim(); err != nil {
				// The dispatcher's next poll retries it.
				w.logger.Error("claim deliveries", "endpoint_id", w.id, "error", err)
			}
		}
		idle := w.wait(w.startAttempts())
		if (idle || w.claims.Err() != nil) && w.inFlight == 0 && len(w.queue) == 0 && w.retire() {
			return
		}
	}
}

// wait returns when there may be something to do, at the latest after pause. It
// reports whether the worker has been idle for lingerTime.
func (w *endpointWorker) wait(pause time.Duration) (idle bool) {
	var over <-chan time.Time
	switch {
	case w.inFlight == 0 && len(w.queue) == 0:
		over = time.After(lingerTime)
	case pause > 0:
		over = time.After(pause)
	}
	stopped := w.claims.Done()
	if w.inFlight > 0 && len(w.queue) == 0 {
		stopped = nil // only running attempts are left to wait for
	}
	select {
	case result := <-w.ended:
		w.note(result)
	case w.full <- struct{}{}:
		w.granted = w.full
	case <-w.nudge:
	case <-stopped:
	case <-over:
		return len(w.queue) == 0
	}
	for {
		select {
		case result := <-w.ended:
			w.note(result)
		default:
			return false
		}
	}
}

func (w *endpointWorker) note(result webhook.Result) {
	w.inFlight--
	switch {
	case result.Err != nil:
	case result.Delivered():
		w.failures = 0
		w.window = min(w.window+1, perEndpoint)
	default:
		w.failures++
		if w.isFailing() {
			w.window = perNew
		}
	}
}

// takeWoken reports whether to claim, and resets woken.
func (w *endpointWorker) takeWoken() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	woken := w.woken && w.claims.Err() == nil
	w.woken = false
	return woken
}

// retire removes the worker from the dispatcher, unless it was woken just now.
func (w *endpointWorker) retire() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.woken && w.claims.Err() == nil {
		return false
	}
	delete(w.workers, w.id)
	w.leaveShare()
	return true
}

func (w *endpointWorker) isFailing() bool { return w.failures >= failingAfter }

// limit is how many attempts may run.
func (w *endpointWorker) limit() int {
	if w.isFailing() {
		return perFailing
	}
	return w.window
}

// claim fills the queue. If a claim is full, there may be more.
func (w *endpointWorker) claim() error {
	if err := w.load(); err != nil {
		return err
	}
	// A failing endpoint gets only as many as can run at once.
	limit := w.limit() - w.inFlight
	if !w.isFailing() {
		limit = prefetch * w.limit()
	}
	// Stop doesn't cancel this query: its claims would be lost until they end.
	ctx, cancel := context.WithTimeout(w.attempts, queryTimeout)
	defer cancel()
	w.leased = time.Now().Add(w.lease) // no later than the database ends the claims
	claimed, err := w.db.ClaimDeliveries(ctx, w.id, w.clock.Now(), w.lease, limit)
	if err != nil {
		return err
	}
	w.queue = w.hold(claimed)
	if len(claimed) == limit {
		w.mu.Lock()
		w.woken = true
		w.mu.Unlock()
	}
	return nil
}

// load reads the endpoint's health once. When its secrets are older than
// secretsAge, it reads them again and drops from the queue what has ended: after
// a switch no delivery may be signed with the former secret (D36), and a slow
// receiver's queue waits for up to two minutes.
func (w *endpointWorker) load() error {
	if w.endpoint != nil && time.Since(w.secrets.readAt) < secretsAge {
		return nil
	}
	ctx, cancel := context.WithTimeout(w.attempts, queryTimeout)
	defer cancel()
	if w.endpoint == nil {
		endpoint, err := w.db.Endpoint(ctx, w.id)
		if err != nil {
			return err
		}
		w.endpoint, w.failures = endpoint, endpoint.ConsecutiveFailures
		w.joinShare()
	}
	queued := len(w.queue)
	if err := w.dropEnded(ctx); err != nil || len(w.queue) == 0 && queued > 0 {
		return err // a deleted endpoint has no secrets
	}
	secrets, err := w.readSecrets(ctx)
	if err != nil {
		return err
	}
	w.secrets = secrets
	return nil
}

// dropEnded drops from the queue what was cancelled or erased since the claim.
func (w *endpointWorker) dropEnded(ctx context.Context) error {
	if len(w.queue) == 0 {
		return nil
	}
	valid, err := w.db.StillClaimed(ctx, w.queue)
	if err != nil {
		return err
	}
	var kept, ended []db.ClaimedDelivery
	for _, c := range w.queue {
		if slices.Contains(valid, c.ID) {
			kept = append(kept, c)
		} else {
			ended = append(ended, c)
		}
	}
	if len(ended) > 0 {
		w.queue = kept
		w.release(ended...) // one that was retried after it was cancelled can be claimed at once
		w.Wake(w.id)
	}
	return nil
}

// startAttempts starts attempts while the endpoint and the process have room.
// If something else holds up the rest, it returns how long to wait for that.
func (w *endpointWorker) startAttempts() (pause time.Duration) {
	w.full = nil
	defer w.giveBack()
	for len(w.queue) > 0 && w.inFlight < w.limit() {
		if w.isStale() {
			return time.Millisecond
		}
		free, ok := w.takeRoom()
		if !ok {
			return max(time.Until(w.leased)-attemptTime, time.Millisecond) // then the queue is stale
		}
		if err := w.load(); err != nil {
			free()
			w.logger.Error("read webhook secrets", "endpoint_id", w.id, "error", err)
			return pollEvery
		}
		if len(w.queue) == 0 {
			free()
			return 0
		}
		next, secrets := w.queue[0], w.secrets
		w.queue = w.queue[1:]
		w.inFlight++
		w.work.Go(func() {
			result := w.attempt(&next, secrets)
			free()
			w.ended <- result
		})
	}
	return 0
}

// isStale reports whether the queue must be released: its claims end too soon,
// or the dispatcher stops.
func (w *endpointWorker) isStale() bool {
	return w.claims.Err() != nil || time.Until(w.leased) <= attemptTime
}

// dropStale releases a stale queue.
func (w *endpointWorker) dropStale() {
	if len(w.queue) == 0 || !w.isStale() {
		return
	}
	w.release(w.queue...)
	w.queue = nil
	w.mu.Lock()
	w.woken = true
	w.mu.Unlock()
}

// release returns claims, and lets go of their deliveries.
func (w *endpointWorker) release(claimed ...db.ClaimedDelivery) {
	w.returnClaims(claimed)
	for i := range claimed {
		w.letGo(claimed[i].ID)
	}
}
