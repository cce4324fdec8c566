package webhooks

import (
	"context"
	"sync"
	"time"

	"candor/db"
	"candor/internal/domain"
)

const (
	// WaitsPerScope and maxWaits bound the readers that wait in one process: for
	// events of an account and mode, and in all.
	WaitsPerScope = 10
	maxWaits      = 1000
	// lookEvery is how often a waiting reader looks by itself, in case a
	// notification was lost, and whether it is still allowed to read.
	lookEvery = 5 * time.Second
	// lookPause is the least time between two looks after the first quickLooks: a
	// reader with a filter is woken by events that don't match.
	lookPause  = 100 * time.Millisecond
	quickLooks = 3
	// lookAgain is how often an awaited attempt is looked for without a notification.
	lookAgain = time.Second
)

var (
	errWaitsOfScope = &domain.Error{
		Code: domain.CodeRateLimitExceeded, RetryAfter: lookEvery,
		Message: "Ten requests of this account and mode wait for events already. End one of them, or ask without wait.",
	}
	errWaitsOfAll = &domain.Error{
		Code: domain.CodeServiceUnavailable, RetryAfter: lookEvery,
		Message: "Too many requests wait for events. Ask without wait, or try again in some seconds.",
	}
)

// WaitEvents is Events, which waits for a matching event if there is none yet. It
// returns an empty feed when the wait, ctx or the process ends. allowed is called
// while it waits and before it returns events: its error ends the wait. Errors:
// rate_limit_exceeded and service_unavailable if too many readers wait.
func (s *Service) WaitEvents(ctx context.Context, scope domain.Scope, f domain.EventFilter, limit int, wait time.Duration,
	allowed func(context.Context) error) (*EventFeed, error) {
	ctx = domain.WithPatienceForEach(ctx)
	feed, err := s.Events(ctx, scope, f, limit)
	if err != nil || wait <= 0 || len(feed.Events) > 0 {
		return feed, err
	}
	if err := s.waits.begin(scope); err != nil {
		return nil, err
	}
	defer s.waits.end(scope)
	events := s.DB.Subscribe(scope, domain.EventRecorded, nil, time.Time{})
	defer events.Stop()
	over, look := time.NewTimer(wait), time.NewTicker(lookEvery)
	defer over.Stop()
	defer look.Stop()
	pause := time.NewTimer(0)
	defer pause.Stop()
	woken, looks := true, 0 // an event may have come before the subscription
	for {
		ready := pause.C
		if !woken {
			ready = nil
		}
		select {
		case <-ready:
			woken = false
			if looks++; looks < quickLooks {
				pause.Reset(0)
			} else {
				pause.Reset(lookPause)
			}
			if err := allowed(ctx); err != nil {
				return nil, err
			}
			if feed, err = s.Events(ctx, scope, f, limit); err != nil || len(feed.Events) > 0 {
				return feed, err
			}
			f.After = feed.NextAfter // so that no event is looked at twice
		case <-events.Wake:
			woken = true
		case <-look.C:
			woken = true
		case <-over.C:
			return feed, nil
		case <-ctx.Done():
			return feed, nil
		case <-s.over:
			return feed, nil
		}
	}
}

// AwaitAttempt returns a delivery that is due as it is once its attempt was made, or as it is
// when the wait, ctx or the process ends (D99). If too many readers wait, it doesn't.
func (s *Service) AwaitAttempt(ctx context.Context, scope domain.Scope, d *domain.Delivery,
	wait time.Duration) (*domain.Delivery, error) {
	if wait <= 0 || s.waits.begin(scope) != nil {
		return d, nil
	}
	defer s.waits.end(scope)
	ctx = domain.WithPatienceForEach(ctx)
	changes := s.DB.Subscribe(scope, domain.DeliveryChanged, nil, time.Time{})
	defer changes.Stop()
	over, look := time.NewTimer(wait), time.NewTicker(lookAgain)
	defer over.Stop()
	defer look.Stop()
	for {
		latest, err := s.DB.Delivery(ctx, scope, d.ID)
		if err != nil {
			return nil, db.MissingAs(err, errDeliveryNotFound) // erased, or its retention is over
		}
		if d = &latest.Delivery; !d.DueAt(s.Clock.Now()) {
			return d, nil
		}
		select {
		case <-changes.Wake:
		case <-look.C:
		case <-over.C:
			return d, nil
		case <-ctx.Done():
			return d, nil
		case <-s.over:
			return d, nil
		}
	}
}

// EndWaits makes waiting readers return, and those to come not wait.
func (s *Service) EndWaits() { s.endWaits() }

// waits counts the readers that wait.
type waits struct {
	mu    sync.Mutex
	count map[domain.Scope]int
	all   int
}

func (w *waits) begin(scope domain.Scope) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.count[scope] >= WaitsPerScope:
		return errWaitsOfScope
	case w.all >= maxWaits:
		return errWaitsOfAll
	}
	w.count[scope]++
	w.all++
	return nil
}

func (w *waits) end(scope domain.Scope) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all--
	if w.count[scope]--; w.count[scope] == 0 {
		delete(w.count, scope)
	}
}
