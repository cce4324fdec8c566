package service

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"candor/db"
	"candor/internal/domain"
)

const (
	// requestsKept is how many API requests wait to be written at most, some
	// 4 MB; at half of that they are written before their time.
	requestsKept = 20_000
	// requestFlush is how often they are written.
	requestFlush = time.Second
	// requestFlushTimeout bounds one time.
	requestFlushTimeout = 5 * time.Second
	// limitedKept is how many of a key's requests beyond its limit are kept
	// between two writes: who can't stop must not fill the database.
	limitedKept = 10
)

// A RequestLog writes API requests into the log that staff read, some at a
// time and beside the requests, which never wait for it: what there is no room
// for is counted. It is safe for concurrent use.
type RequestLog struct {
	db       *db.DB
	logger   *slog.Logger
	unlogged func(why string, n int)

	mu      sync.Mutex
	waiting []domain.APIRequest
	limited map[domain.KeyID]int // since the last write

	writing sync.Mutex // one write at a time, so that closing waits for it
	spare   []domain.APIRequest

	early, stop chan struct{}
	stopped     sync.WaitGroup
}

// NewRequestLog returns a running log, to be closed. unlogged is told of
// requests that aren't written, and why.
func NewRequestLog(d *db.DB, logger *slog.Logger, unlogged func(why string, n int)) *RequestLog {
	l := &RequestLog{
		db: d, logger: logger, unlogged: unlogged, limited: map[domain.KeyID]int{},
		early: make(chan struct{}, 1), stop: make(chan struct{}),
	}
	l.stopped.Go(l.run)
	return l
}

func (l *RequestLog) run() {
	ticker := time.NewTicker(requestFlush)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-l.early:
		case <-l.stop:
			return
		}
		l.Flush(context.Background())
	}
}

// Close writes what waits, for which it takes 5 seconds at most. What is added
// later is lost.
func (l *RequestLog) Close() {
	close(l.stop)
	l.stopped.Wait()
	l.Flush(context.Background())
}

// Add has an API request written before long.
func (l *RequestLog) Add(r domain.APIRequest) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.ErrorCode == domain.CodeRateLimitExceeded {
		if l.limited[r.KeyID]++; l.limited[r.KeyID] > limitedKept {
			l.unlogged(domain.UnloggedLimited, 1)
			return
		}
	}
	if len(l.waiting) >= requestsKept {
		l.unlogged(domain.UnloggedFull, 1)
		return
	}
	l.waiting = append(l.waiting, r)
	if len(l.waiting) == requestsKept/2 {
		select {
		case l.early <- struct{}{}:
		default: // it was asked for already
		}
	}
}

// Flush writes what waits.
func (l *RequestLog) Flush(ctx context.Context) {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.mu.Lock()
	lines := l.waiting
	l.waiting = l.spare[:0]
	clear(l.limited)
	l.mu.Unlock()
	l.spare = lines
	if len(lines) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, requestFlushTimeout)
	defer cancel()
	if err := l.db.InsertAPIRequests(ctx, lines); err != nil {
		l.unlogged(domain.UnloggedFailed, len(lines))
		l.logger.ErrorContext(ctx, "write the log of API requests", "lines", len(lines), "error", err)
	}
}

// APIRequests returns limit of the scope's API requests of the last 7 days
// that match the filter, newest first, from the one after before on, nil for
// the newest. more is the last one before those that follow, nil where none
// do; exhausted says that so many lines didn't match that the search stopped
// there.
func (s *Service) APIRequests(ctx context.Context, scope domain.Scope, f domain.RequestFilter, before *domain.RequestID, limit int) (page []domain.APIRequest, more *domain.RequestID, exhausted bool, err error) {
	// What is older may not have been deleted yet.
	if oldest := s.Clock.Now().Add(-domain.RequestRetention); f.From == nil || f.From.Before(oldest) {
		f.From = &oldest
	}
	page, reached, err := s.DB.APIRequests(ctx, scope, f, before, limit+1)
	switch {
	case err != nil:
		return nil, nil, false, err
	case len(page) > limit:
		page = page[:limit]
		return page, &page[limit-1].ID, false, nil
	}
	return page, reached, reached != nil, nil
}

// APIRequest returns one of the scope's API requests of the last 7 days.
// Error: not_found.
func (s *Service) APIRequest(ctx context.Context, scope domain.Scope, id domain.RequestID) (*domain.APIRequest, error) {
	missing := domain.Errorf(domain.CodeNotFound, "There is no API request with this id in this account and mode, or it is more than 7 days old.")
	r, err := s.DB.APIRequest(ctx, scope, id)
	if err != nil {
		return nil, orCode(err, missing)
	}
	if r.At().Before(s.Clock.Now().Add(-domain.RequestRetention)) {
		return nil, missing
	}
	return r, nil
}

// LoggedKeys lists the scope's keys that the log of API requests can tell of:
// those that have expired or were deleted, too.
func (s *Service) LoggedKeys(ctx context.Context, scope domain.Scope) ([]domain.APIKey, error) {
	return s.DB.APIKeys(ctx, scope, true)
}
