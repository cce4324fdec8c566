// Package batch puts items of callers that come at the same time into one flush, such as
// one statement with one commit. It must not know what an item is.
//
// What TestInvariants checks:
//
//  1. Each caller gets the result of its own item, or the error of the flush that had it.
//  2. A caller whose context ends leaves at once. The others get their results. The
//     context of a flush ends when all of its callers have left.
//  3. An item waits only while Running flushes run, and for Linger at most (more only if
//     more than Size wait). So a slow flush holds up no other item for longer.
//  4. A flush has at most Size items, in the order in which they came. None of them is of
//     a caller who had left.
//  5. After an error that is about one item (Options.Alone) each is flushed alone, so no
//     item fails for another.
package batch

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Options of a Batcher.
type Options struct {
	Running int              // flushes at once, but for those that Linger begins
	Size    int              // of a flush, in items
	Linger  time.Duration    // the longest wait for a flush to end
	Alone   func(error) bool // whether a flush failed for one of its items and did nothing
}

// Flush does the work of all items and returns the result of each at its place.
type Flush[I, R any] func(context.Context, []I) ([]R, error)

// Batcher makes batches. It is safe for concurrent use.
type Batcher[I, R any] struct {
	flush   Flush[I, R]
	options Options
	mu      sync.Mutex
	waiting []*call[I, R] // oldest first
	running int
	idle    int           // goroutines that receive from wake
	wake    chan struct{} // has a place for each of them
	closed  bool
	linger  *time.Timer // runs while some wait for a flush to end
}

type call[I, R any] struct {
	ctx  context.Context // of the caller
	item I
	done chan outcome[R]
}

type outcome[R any] struct {
	result R
	err    error
}

// New returns a Batcher. It keeps its goroutines until Close, at most Running: a flush on
// a new one would have its stack grow.
func New[I, R any](o Options, flush Flush[I, R]) *Batcher[I, R] {
	b := &Batcher[I, R]{flush: flush, options: o, wake: make(chan struct{}, o.Running)}
	b.mu.Lock() // it can run before it is kept
	defer b.mu.Unlock()
	b.linger = time.AfterFunc(o.Linger, b.lingered)
	b.linger.Stop()
	return b
}

// Close lets each goroutine end once nothing waits. Do can still be called.
func (b *Batcher[I, R]) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for b.idle > 0 {
		b.start()
	}
}

// Do returns the result of an item. If ctx ends first, the item may be done or not.
func (b *Batcher[I, R]) Do(ctx context.Context, item I) (R, error) {
	c := &call[I, R]{ctx, item, make(chan outcome[R], 1)} // a flush doesn't wait for who has left
	b.add(c)
	select {
	case o := <-c.done:
		return o.result, o.err
	case <-ctx.Done():
		var none R
		return none, ctx.Err()
	}
}

func (b *Batcher[I, R]) add(c *call[I, R]) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting = append(b.waiting, c)
	if len(b.waiting) == 1 {
		b.next()
	}
}

// next has those flushed that wait. Its caller holds mu.
func (b *Batcher[I, R]) next() {
	if b.running < b.options.Running {
		b.start()
	} else {
		b.linger.Reset(b.options.Linger)
	}
}

// start has a goroutine run. Its caller holds mu.
func (b *Batcher[I, R]) start() {
	b.running++
	if b.idle > 0 {
		b.idle--
		b.wake <- struct{}{}
	} else {
		go b.run()
	}
}

func (b *Batcher[I, R]) run() {
	for {
		runtime.Gosched() // for callers that are on their way
		b.mu.Lock()
		calls, ends := b.take(), b.closed
		if len(calls) == 0 {
			b.running--
			if !ends {
				b.idle++
			}
		}
		b.mu.Unlock()
		switch {
		case len(calls) > 0:
			b.answer(calls)
		case ends:
			return
		default:
			<-b.wake
		}
	}
}

// lingered flushes beside the flushes that run.
func (b *Batcher[I, R]) lingered() {
	b.mu.Lock()
	calls := b.take()
	b.mu.Unlock()
	b.answer(calls)
}

// take returns the oldest that wait. Its caller holds mu.
func (b *Batcher[I, R]) take() []*call[I, R] {
	n := min(len(b.waiting), b.options.Size)
	calls := slices.Clone(b.waiting[:n])
	b.waiting = slices.Delete(b.waiting, 0, n)
	b.linger.Stop()
	if len(b.waiting) > 0 {
		b.next()
	}
	return calls
}

// answer flushes the items of the calls whose callers are there, and gives each its
// outcome.
func (b *Batcher[I, R]) answer(calls []*call[I, R]) {
	calls = slices.DeleteFunc(calls, func(c *call[I, R]) bool { return c.ctx.Err() != nil })
	if len(calls) == 0 {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var left atomic.Int32
	items := make([]I, len(calls))
	for i, c := range calls {
		items[i] = c.item
		defer context.AfterFunc(c.ctx, func() {
			if int(left.Add(1)) == len(calls) {
				cancel()
			}
		})()
	}
	results, err := b.flush(ctx, items)
	if len(calls) > 1 && err != nil && b.options.Alone(err) {
		for _, c := range calls {
			b.answer([]*call[I, R]{c})
		}
		return
	}
	for i, c := range calls {
		o := outcome[R]{err: err}
		if err == nil {
			o.result = results[i]
		}
		c.done <- o
	}
}
