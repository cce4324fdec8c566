// Package requestlog writes the log of API requests and reads it for staff. It
// knows no HTTP: requests come to it as rows.
package requestlog

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
	// between two writes, so that a runaway client doesn't fill the database.
	limitedKept = 10
)

// A Writer writes API requests into the log that staff read, in batches. Requests
// never wait for it: if there is no room, it drops and counts them. It is safe for
// concurrent use.
type Writer struct {
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

// NewWriter returns a running Writer, to be closed. It calls unlogged for requests
// that aren't written.
func NewWriter(d *db.DB, logger *slog.Logger, unlogged func(why string, n int)) *Writer {
	w := &Writer{
		db: d, logger: logger, unlogged: unlogged, limited: map[domain.KeyID]int{},
		early: make(chan struct{}, 1), stop: make(chan struct{}),
	}
	w.stopped.Go(w.run)
	return w
}

func (w *Writer) run() {
	ticker := time.NewTicker(requestFlush)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-w.early:
		case <-w.stop:
			return
		}
		w.Flush(context.Background())
	}
}

// Close writes what is queued, within 5 seconds. What is added later is lost.
func (w *Writer) Close() {
	close(w.stop)
	w.stopped.Wait()
	w.Flush(context.Background())
}

// Add queues an API request.
func (w *Writer) Add(r domain.APIRequest) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.ErrorCode == domain.CodeRateLimitExceeded {
		if w.limited[r.KeyID]++; w.limited[r.KeyID] > limitedKept {
			w.unlogged(domain.UnloggedLimited, 1)
			return
		}
	}
	if len(w.waiting) >= requestsKept {
		w.unlogged(domain.UnloggedFull, 1)
		return
	}
	w.waiting = append(w.waiting, r)
	if len(w.waiting) == requestsKept/2 {
		select {
		case w.early <- struct{}{}:
		default: // it was asked for already
		}
	}
}

// Flush writes what is queued.
func (w *Writer) Flush(ctx context.Context) {
	w.writing.Lock()
	defer w.writing.Unlock()
	w.mu.Lock()
	lines := w.waiting
	w.waiting = w.spare[:0]
	clear(w.limited)
	w.mu.Unlock()
	w.spare = lines
	if len(lines) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, requestFlushTimeout)
	defer cancel()
	if err := w.db.InsertAPIRequests(ctx, lines); err != nil {
		w.unlogged(domain.UnloggedFailed, len(lines))
		w.logger.ErrorContext(ctx, "write the log of API requests", "lines", len(lines), "error", err)
	}
}
