// Package live tells open pages of the dashboard what has changed: names of topics,
// never data. A page then reads its part again by its usual request, which checks
// role, account and mode. It knows no HTTP.
package live

import (
	"context"
	"errors"
	"sync"
	"time"

	"candor/db"
	"candor/internal/domain"
)

const (
	// StreamsPerAccount and maxStreams bound the streams that one process has: of an
	// account, and in all. Pages without a stream look every half minute.
	StreamsPerAccount = 100
	maxStreams        = 2000
	// Beat is how often a quiet stream shows that it is alive, and whether its user
	// may still follow it.
	Beat = 20 * time.Second
	// beatName is the message that is a sign of life.
	beatName = "beat"
	// EndName is the last message.
	EndName = "end"
)

var (
	errStreamsOfAccount = &domain.Error{
		Code: domain.CodeRateLimitExceeded, RetryAfter: 30 * time.Second,
		Message: "Too many pages of this account are open. This one looks for changes every half minute.",
	}
	errStreamsOfAll = &domain.Error{
		Code: domain.CodeServiceUnavailable, RetryAfter: 30 * time.Second,
		Message: "Too many pages are open. This one looks for changes every half minute.",
	}
)

// Config is what following needs.
type Config struct {
	DB    *db.DB
	Clock domain.Clock
}

// Service has a process's streams. It is safe for concurrent use.
type Service struct {
	Config
	mu    sync.Mutex
	count map[domain.AccountID]int
	all   int
	over  chan struct{}
	end   func()
}

// New returns a Service.
func New(c Config) *Service {
	s := &Service{Config: c, count: map[domain.AccountID]int{}, over: make(chan struct{})}
	s.end = sync.OnceFunc(func() { close(s.over) })
	return s
}

// Params are what a page follows.
type Params struct {
	Scope   domain.Scope
	Topics  domain.Topics
	Session *domain.SessionID // nil: all of the scope
	Since   time.Time         // when the page was drawn
	Pause   time.Duration     // the least time between two messages of changes
}

// Follow sends the names of the topics that change, of those that the staff user may
// follow, until ctx or the process ends, or the user may not read them any more: it
// looks that up before each message. The last message is EndName, except if ctx has
// ended. Errors: rate_limit_exceeded and service_unavailable if too many follow
// already, before anything is sent; and send's.
func (s *Service) Follow(ctx context.Context, staff *domain.StaffSession, p Params, send func(names ...string) error) error {
	if err := s.begin(p.Scope.AccountID); err != nil {
		return err
	}
	defer s.finish(p.Scope.AccountID)
	ctx = domain.WithPatienceForEach(ctx)
	changes := s.DB.Subscribe(p.Scope, p.Topics, p.Session, p.Since)
	defer changes.Stop()
	if err := send(beatName); err != nil {
		return err
	}
	beat := time.NewTicker(Beat)
	defer beat.Stop()
	pause := time.NewTimer(0)
	defer pause.Stop()
	ready := false // the pause is over
	for {
		wake := changes.Wake
		if !ready {
			wake = nil
		}
		var names []string
		select {
		case <-ctx.Done():
			return nil
		case <-s.over:
			return nil
		case <-pause.C:
			ready = true
			continue
		case <-beat.C:
			names = []string{beatName}
		case <-wake:
			ready = false
			pause.Reset(p.Pause)
		}
		now, err := s.DB.StaffSessionByID(ctx, staff.SessionID, s.Clock.Now())
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, db.ErrNotFound), err == nil && (now.Role != staff.Role || now.MayDownload != staff.MayDownload ||
			now.Duty() != staff.Duty()):
			return send(EndName)
		case err != nil:
			return err
		}
		if names == nil {
			names = now.Follows(changes.Take(), p.Session != nil).Names()
		}
		if len(names) > 0 {
			if err := send(names...); err != nil {
				return err
			}
		}
	}
}

// End ends all streams, and those to come at once: the process ends.
func (s *Service) End() { s.end() }

func (s *Service) begin(account domain.AccountID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.count[account] >= StreamsPerAccount:
		return errStreamsOfAccount
	case s.all >= maxStreams:
		return errStreamsOfAll
	}
	s.count[account]++
	s.all++
	return nil
}

func (s *Service) finish(account domain.AccountID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all--
	if s.count[account]--; s.count[account] == 0 {
		delete(s.count, account)
	}
}
