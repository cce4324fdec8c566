// Package delivery sends webhooks. The dispatcher runs an endpoint worker for
// each endpoint with due deliveries; the worker claims them, signs and sends
// them, and the recorder stores the attempts. The delivery row is the truth, so
// any number of processes can dispatch side by side. The package knows neither
// River nor HTTP handlers: jobs only wake the dispatcher.
package delivery

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/platform/keyring"
	"candor/internal/platform/tracing"
	"candor/internal/webhook"
)

const (
	// perNew is how many attempts one process runs at an endpoint at first.
	// Each success adds one, up to perEndpoint. perFailing applies while the
	// endpoint keeps failing.
	perNew      = 4
	perEndpoint = 16
	perFailing  = 4
	// failingAfter is how many failures in a row make an endpoint a failing one.
	failingAfter = 5
	// prefetch is how many deliveries are claimed for each attempt that an
	// endpoint may run.
	prefetch = 8
	// maxRunning bounds the attempts of a process. maxRunningFailing bounds
	// those at failing endpoints, so that healthy ones always find room (D39).
	// maxRunningAccount bounds those of an account, which can have any number of
	// endpoints that answer slowly.
	maxRunning        = 1000
	maxRunningFailing = 500
	maxRunningAccount = 250
	// attemptTime bounds an attempt (D37) and its recording. An attempt isn't
	// started if its claim ends sooner.
	attemptTime = 17 * time.Second
	// minLease and maxLease bound how long a claim lasts. If a process dies,
	// another one retries its deliveries after that time.
	minLease = 20 * time.Second
	maxLease = 2 * time.Minute
	// secretsAge is when an endpoint worker reads its secrets again, and which of
	// its queue may still be sent.
	secretsAge = time.Second
	// pollEvery is how often the dispatcher looks for due retries, lost wakes
	// and ended claims.
	pollEvery    = 500 * time.Millisecond
	minPollEvery = 50 * time.Millisecond
	// lingerTime is how long an endpoint worker waits for another delivery
	// before it ends. It keeps the endpoint's health and secrets at hand.
	lingerTime = 30 * time.Second
	// queryTimeout bounds a query, so that a broken connection can't block an
	// endpoint worker forever.
	queryTimeout = 10 * time.Second
	// traceTimeout bounds the search for an attempt's trace.
	traceTimeout = time.Second
	// releaseTimeout bounds the return of claims. Claims also end by themselves.
	releaseTimeout = 5 * time.Second
)

// An Observer counts what happens. It must not block.
type Observer interface {
	// Attempted is called after each attempt with its error class, "" for a
	// success, and its duration.
	Attempted(class string, took time.Duration)
	// FirstAttempted is called after an event's first attempt with the time
	// since the event.
	FirstAttempted(delay time.Duration)
	// Delivered is called when an event has arrived with the time since the event.
	Delivered(delay time.Duration)
}

// Config is what a dispatcher needs.
type Config struct {
	DB          *db.DB
	Ring        *keyring.Keyring
	Client      *webhook.Client
	Schedule    webhook.Schedule
	Clock       domain.Clock
	Logger      *slog.Logger
	Observer    Observer        // may be nil
	Tracer      *tracing.Tracer // may be nil
	PollEvery   time.Duration   // between searches for due deliveries, 50 to 500 ms
	RescueAfter time.Duration   // another process retries a dead one's deliveries after this, 20 s to 2 min
}

// Dispatcher attempts the deliveries that are due. Each endpoint has a worker
// of its own, so a dead endpoint delays no other (D39).
type Dispatcher struct {
	db       *db.DB
	ring     *keyring.Keyring
	client   *webhook.Client
	schedule webhook.Schedule
	clock    domain.Clock
	logger   *slog.Logger
	observer Observer
	tracer   *tracing.Tracer
	lease    time.Duration
	poll     time.Duration
	recorder *recorder

	running    places // of all attempts
	failing    places // of those at failing endpoints
	perAccount int

	attempts context.Context // ends when running attempts must be cut off
	cut      context.CancelFunc
	claims   context.Context // ends when no more deliveries may be claimed
	halt     context.CancelFunc

	mu      sync.Mutex
	workers map[domain.EndpointID]*endpointWorker
	shares  map[domain.AccountID]*share
	held    map[domain.DeliveryID]*db.ClaimedDelivery // claimed here, until recorded or released; not nil: claimed again since
	work    sync.WaitGroup                            // endpoint workers and attempts
	polling sync.WaitGroup
}

// New returns a dispatcher. Start starts it.
func New(c Config) *Dispatcher {
	d := &Dispatcher{
		db: c.DB, ring: c.Ring, client: c.Client, schedule: c.Schedule, clock: c.Clock, logger: c.Logger, observer: c.Observer,
		tracer: c.Tracer,
		lease:  min(max(c.RescueAfter, minLease), maxLease), poll: min(max(c.PollEvery, minPollEvery), pollEvery),
		running: make(places, maxRunning), failing: make(places, maxRunningFailing), perAccount: maxRunningAccount,
		workers: map[domain.EndpointID]*endpointWorker{}, shares: map[domain.AccountID]*share{},
		held: map[domain.DeliveryID]*db.ClaimedDelivery{},
	}
	d.attempts, d.cut = context.WithCancel(context.Background())
	d.claims, d.halt = context.WithCancel(d.attempts)
	d.recorder = newRecorder(c.DB, c.Logger, d.recorded)
	return d
}

// Start dispatches until Stop.
func (d *Dispatcher) Start() {
	d.recorder.start()
	d.polling.Go(d.pollDue)
}

// pollDue wakes the endpoints with due deliveries: retries, and what a lost
// wake or a dead process left.
func (d *Dispatcher) pollDue() {
	ticker := time.NewTicker(d.poll)
	defer ticker.Stop()
	for {
		d.wakeDue()
		select {
		case <-d.claims.Done():
			return
		case <-ticker.C:
		}
	}
}

func (d *Dispatcher) wakeDue() {
	ctx, cancel := context.WithTimeout(d.claims, queryTimeout)
	defer cancel()
	due, err := d.db.DueEndpoints(ctx, d.clock.Now())
	if err != nil && d.claims.Err() == nil {
		d.logger.Error("find due deliveries", "error", err)
	}
	for _, id := range due {
		d.Wake(id)
	}
}

// Wake makes the endpoint's worker claim due deliveries, and starts the worker
// if there is none. After Stop it does nothing.
func (d *Dispatcher) Wake(id domain.EndpointID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.claims.Err() != nil {
		return
	}
	if running, ok := d.workers[id]; ok {
		running.woken = true
		running.signal()
		return
	}
	w := newEndpointWorker(d, id)
	d.workers[id] = w
	d.work.Go(w.run)
}

// hold returns the deliveries that this process doesn't hold yet. A claim can
// end while its attempt runs, or while its outcome waits for the database: then
// the delivery must not be attempted a second time here.
func (d *Dispatcher) hold(claimed []db.ClaimedDelivery) []db.ClaimedDelivery {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.DeleteFunc(claimed, func(c db.ClaimedDelivery) bool {
		_, mine := d.held[c.ID]
		d.held[c.ID] = nil
		if mine {
			d.held[c.ID] = &c
		}
		return mine
	})
}

// letGo ends the holding of deliveries. One that was due again at once can have been claimed since its
// outcome was stored: it would wait until that claim ends, so the claim is returned.
func (d *Dispatcher) letGo(ids ...domain.DeliveryID) {
	var again []db.ClaimedDelivery
	d.mu.Lock()
	for _, id := range ids {
		if claim := d.held[id]; claim != nil {
			again = append(again, *claim)
		}
		delete(d.held, id)
	}
	d.mu.Unlock()
	d.returnClaims(again)
}

// returnClaims has the database forget claims. If that fails, they end by themselves.
func (d *Dispatcher) returnClaims(claimed []db.ClaimedDelivery) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(d.attempts), releaseTimeout)
	defer cancel()
	if err := d.db.ReleaseDeliveries(ctx, claimed); err != nil {
		d.logger.Error("release deliveries", "endpoint_id", claimed[0].EndpointID, "error", err)
	}
}

// recorded lets go of deliveries and wakes their endpoints: later events of the
// same sessions may have waited for these.
func (d *Dispatcher) recorded(ids []domain.DeliveryID, endpoints []domain.EndpointID) {
	d.letGo(ids...)
	for _, id := range endpoints {
		d.Wake(id)
	}
}

// Stop claims nothing more, releases the claims that weren't started, and waits
// for running attempts until ctx ends. Then it cuts them off: another process
// attempts them again.
func (d *Dispatcher) Stop(ctx context.Context) {
	d.mu.Lock()
	d.halt()
	for _, w := range d.workers {
		w.signal()
	}
	d.mu.Unlock()
	d.polling.Wait()
	d.recorder.hurryAfter(ctx)
	done := make(chan struct{})
	go func() {
		d.work.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		d.cut()
		<-done
	}
	d.cut()
	d.recorder.stop()
}

// Redeliver makes one step of a redelivery: it makes as many deliveries pending
// as the rate permits since the last step. All progress is in the database, so steps of several processes are
// no faster.
func (d *Dispatcher) Redeliver(ctx context.Context, id domain.RedeliveryID) (db.RedeliveryStep, error) {
	step, err := d.db.StepRedelivery(ctx, id, d.clock.Now())
	for _, endpoint := range step.Endpoints {
		d.Wake(endpoint)
	}
	return step, err
}
