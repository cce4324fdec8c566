package domain

import (
	"context"
	"sync"
	"time"
)

// DatabasePatience is how long a request waits for the database in all, unless it is
// configured otherwise (D95).
const DatabasePatience = 10 * time.Second

// patience is what is left of the time that a request waits for the database. Only the
// time in which it does counts: a body or an answer can be on its way for minutes.
type patience struct {
	limit time.Duration
	each  bool // use has the whole limit
	mu    sync.Mutex
	spent time.Duration
	uses  int // under way at the same time, or within each other
	since time.Time
}

type patienceKey struct{}

// WithPatience bounds the time that what is done under the context waits for the
// database in all.
func WithPatience(ctx context.Context, limit time.Duration) context.Context {
	return context.WithValue(ctx, patienceKey{}, &patience{limit: limit})
}

// WithPatienceForEach gives each use of the database the whole time of WithPatience, as
// for an answer that is streamed. A context without patience stays as it is.
func WithPatienceForEach(ctx context.Context) context.Context {
	if p := patienceOf(ctx); p != nil {
		return context.WithValue(ctx, patienceKey{}, &patience{limit: p.limit, each: true})
	}
	return ctx
}

// Patiently returns the context of a use of the database: it ends when the patience of
// ctx does. Call end after the use. A context without patience has no such end.
func Patiently(ctx context.Context) (_ context.Context, end context.CancelFunc) {
	p := patienceOf(ctx)
	if p == nil {
		return ctx, func() {}
	}
	ctx, cancel := context.WithDeadline(ctx, p.begin())
	return ctx, func() {
		cancel()
		p.end()
	}
}

// HasPatience reports whether ctx is that of a request.
func HasPatience(ctx context.Context) bool { return patienceOf(ctx) != nil }

func patienceOf(ctx context.Context) *patience {
	p, _ := ctx.Value(patienceKey{}).(*patience)
	return p
}

// begin returns when the patience ends.
func (p *patience) begin() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.uses == 0 {
		p.since = time.Now()
		if p.each {
			p.spent = 0
		}
	}
	p.uses++
	return p.since.Add(p.limit - p.spent)
}

func (p *patience) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.uses--; p.uses == 0 {
		p.spent += time.Since(p.since)
	}
}
