package jobs

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/platform/keyring"
	"candor/internal/webhook"
)

const (
	// perEndpoint is how many attempts an endpoint may have running in one
	// process once it has answered, perNew before, and perFailing while it
	// keeps failing.
	perEndpoint = 16
	perNew      = 4
	perFailing  = 4
	// failingAfter is how many failures in a row make an endpoint a failing one.
	failingAfter = 5
	// prefetch is how many deliveries are claimed at once for each attempt that
	// an endpoint may have running.
	prefetch = 8
	// maxRunning bounds the attempts of a process, and maxRunningFailing those
	// at failing endpoints, so that the dead leave room for the living (D39).
	maxRunning        = 1000
	maxRunningFailing = 500
	// attemptTime is what an attempt takes at most (D37), with the time to
	// record it. What can't end within its claim isn't begun.
	attemptTime = 17 * time.Second
	// minLease and maxLease bound how long a claim lasts, and so how soon the
	// deliveries of a process that died are attempted by another.
	minLease = 20 * time.Second
	maxLease = 2 * time.Minute
	// secretsAge is how old the secrets may be that an attempt is signed with.
	secretsAge = time.Second
	// lookOutEvery is how often due retries, lost wakes and ended claims are
	// looked for.
	lookOutEvery = 500 * time.Millisecond
	// lingerTime is how long a drain stays after its last delivery, so that the
	// next one finds all that it needs.
	lingerTime = 30 * time.Second
	// fullPause is how often an endpoint asks for room while the process has
	// none.
	fullPause = 20 * time.Millisecond
	// queryTimeout bounds a query, so that no broken connection holds up a
	// drain for good.
	queryTimeout = 10 * time.Second
	// releaseTimeout bounds giving back claims, which end by themselves, too.
	releaseTimeout = 5 * time.Second
)

// dispatcher attempts the deliveries that are due. Each endpoint has a drain
// of its own that claims its deliveries, so a dead endpoint delays nobody
// else's (D39); the rows are the truth, and any number of processes can
// dispatch side by side.
type dispatcher struct {
	db       *db.DB
	ring     *keyring.Keyring
	client   *webhook.Client
	schedule webhook.Schedule
	clock    domain.Clock
	logger   *slog.Logger
	observer Observer
	lease    time.Duration
	recorder *recorder

	running chan struct{} // a token for each attempt
	failing chan struct{} // one more for each at a failing endpoint

	attempts context.Context // ends when attempts must be cut short
	cut      context.CancelFunc
	claims   context.Context // ends when no more are to be claimed
	halt     context.CancelFunc

	mu     sync.Mutex
	drains map[domain.EndpointID]*drain
	held   map[domain.DeliveryID]struct{} // claimed here, until recorded or given back
	work   sync.WaitGroup                 // drains and attempts
	watch  sync.WaitGroup                 // the look-out
}

func newDispatcher(c Config) *dispatcher {
	d := &dispatcher{
		db: c.DB, ring: c.Ring, client: c.Client, schedule: c.Schedule, clock: c.Clock, logger: c.Logger, observer: c.Observer,
		lease:   min(max(c.RescueAfter, minLease), maxLease),
		running: make(chan struct{}, maxRunning), failing: make(chan struct{}, maxRunningFailing),
		drains: map[domain.EndpointID]*drain{}, held: map[domain.DeliveryID]struct{}{},
	}
	d.attempts, d.cut = context.WithCancel(context.Background())
	d.claims, d.halt = context.WithCancel(d.attempts)
	d.recorder = newRecorder(c.DB, c.Logger, d.recorded)
	return d
}

func (d *dispatcher) start(every time.Duration) {
	d.recorder.start()
	d.watch.Add(1)
	go func() {
		defer d.watch.Done()
		d.lookOut(every)
	}()
}

// lookOut wakes the endpoints that have something due: retries, and what a
// lost wake or a dead process left.
func (d *dispatcher) lookOut(every time.Duration) {
	ticker := time.NewTicker(every)
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

func (d *dispatcher) wakeDue() {
	ctx, cancel := context.WithTimeout(d.claims, queryTimeout)
	defer cancel()
	due, err := d.db.DueEndpoints(ctx, d.clock.Now())
	if err != nil && d.claims.Err() == nil {
		d.logger.Error("look for due deliveries", "error", err)
	}
	for _, id := range due {
		d.wake(id)
	}
}

// wake makes sure that the endpoint's due deliveries are looked at, now or
// again.
func (d *dispatcher) wake(id domain.EndpointID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.claims.Err() != nil {
		return
	}
	if running, ok := d.drains[id]; ok {
		running.again = true
		running.signal()
		return
	}
	e := newDrain(d, id)
	d.drains[id] = e
	d.work.Add(1)
	go func() {
		defer d.work.Done()
		e.run()
	}()
}

// hold returns those deliveries that this process doesn't hold already: one
// whose claim ended while it is attempted, or while its outcome waits for the
// database, isn't attempted again beside that.
func (d *dispatcher) hold(claimed []db.ClaimedDelivery) []db.ClaimedDelivery {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.DeleteFunc(claimed, func(c db.ClaimedDelivery) bool {
		_, mine := d.held[c.ID]
		d.held[c.ID] = struct{}{}
		return mine
	})
}

func (d *dispatcher) letGo(ids ...domain.DeliveryID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, id := range ids {
		delete(d.held, id)
	}
}

// recorded lets go of deliveries, and wakes their endpoints: events of the
// same sessions may have waited for these.
func (d *dispatcher) recorded(ids []domain.DeliveryID, endpoints []domain.EndpointID) {
	d.letGo(ids...)
	for _, id := range endpoints {
		d.wake(id)
	}
}

// stop claims nothing more, gives back what wasn't begun, and lets running
// attempts end until ctx does, then cuts them short: what was cut is attempted
// again by another process.
func (d *dispatcher) stop(ctx context.Context) {
	d.mu.Lock()
	d.halt()
	for _, e := range d.drains {
		e.signal()
	}
	d.mu.Unlock()
	d.watch.Wait()
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
