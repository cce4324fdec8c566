package batch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var (
	errBroken  = errors.New("the database is away")
	errRefused = errors.New("an item is refused")
)

// world is what happens in one run of TestInvariants. Items are numbers. Those that end
// in 7 are refused, and flushes with one that ends in 3 fail if they are shared.
type world struct {
	options Options
	began   time.Time
	random  *rand.Rand

	mu       sync.Mutex
	running  int
	flushes  []*flushed
	comers   []*comer
	problems []string
}

// comer is a caller.
type comer struct {
	came, leaves, left time.Duration // since the beginning; leaves: never, if 0
	result             int
	err                error
}

type flushed struct {
	began, ended time.Duration
	items        []int
	beside       int // flushes that ran when it began
	err          error
}

func (w *world) now() time.Duration { return time.Since(w.began) }

func (w *world) problem(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.problems = append(w.problems, fmt.Sprintf(format, args...))
}

// flush takes up to 60 ms, three times Linger.
func (w *world) flush(ctx context.Context, items []int) ([]int, error) {
	w.mu.Lock()
	f := &flushed{began: w.now(), items: slices.Clone(items), beside: w.running}
	w.flushes, w.running = append(w.flushes, f), w.running+1
	takes := time.Duration(w.random.IntN(60)) * time.Millisecond
	w.mu.Unlock()
	select {
	case <-ctx.Done():
		f.err = ctx.Err()
	case <-time.After(takes):
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running--
	f.ended = w.now()
	results := make([]int, len(items))
	for i, item := range items {
		results[i] = 2 * item
		switch {
		case f.err != nil:
		case item%10 == 7:
			f.err = errRefused
		case item%10 == 3 && len(items) > 1:
			f.err = errBroken
		}
	}
	if f.err != nil {
		return nil, f.err
	}
	return results, nil
}

// TestInvariants lets callers come and leave at random and checks what the package
// promises. Time is synctest's, so it is exact.
func TestInvariants(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 0))
			w := &world{began: time.Now(), random: rand.New(rand.NewPCG(seed, 1)), options: Options{
				Running: 1 + r.IntN(3), Size: 1 + r.IntN(8), Linger: 20 * time.Millisecond,
				Alone: func(err error) bool { return errors.Is(err, errRefused) },
			}}
			w.run(r, New(w.options, w.flush))
			w.check()
			if len(w.problems) > 0 {
				t.Fatalf("seed %d, %d at once, %d each:\n%v", seed, w.options.Running, w.options.Size, w.problems)
			}
		})
	}
}

// run returns when all callers have left. They come at times and in numbers that fill
// flushes and leave pauses between them.
func (w *world) run(r *rand.Rand, b *Batcher[int, int]) {
	var callers sync.WaitGroup
	for item := range 150 {
		<-time.After(time.Duration(max(0, r.IntN(30)-20))*time.Millisecond + time.Microsecond)
		c := &comer{came: w.now()}
		ctx, cancel := context.WithCancel(context.Background())
		if r.IntN(4) == 0 {
			stays := time.Duration(r.IntN(50))*time.Millisecond + 500*time.Nanosecond // never as a flush ends
			ctx, cancel = context.WithTimeout(ctx, stays)
			c.leaves = c.came + stays
		}
		w.comers = append(w.comers, c)
		callers.Go(func() {
			defer cancel()
			c.result, c.err = b.Do(ctx, item)
			c.left = w.now()
		})
	}
	callers.Wait()
	synctest.Wait()
	if len(b.waiting) > 0 || b.running > 0 || b.idle == 0 || b.idle > w.options.Running {
		w.problem("%d wait, %d flushes run and %d goroutines are kept after all have left", len(b.waiting), b.running, b.idle)
	}
	b.Close() // else synctest finds goroutines that never end
}

// check compares what happened with what the package promises.
func (w *world) check() {
	shared := make([]*flushed, len(w.comers)) // the flush that took the item
	last := make([]*flushed, len(w.comers))   // the one that decided it
	for _, f := range w.flushes {
		if len(f.items) > w.options.Size || !slices.IsSorted(f.items) {
			w.problem("flush of %v", f.items)
		}
		var gone time.Duration
		for _, item := range f.items {
			gone = max(gone, w.comers[item].left)
			if last[item] == nil {
				shared[item] = f
			} else if last[item] != shared[item] || shared[item].err != errRefused || len(f.items) > 1 { //nolint:errorlint // it is returned as it is
				w.problem("%d is flushed again", item)
			}
			last[item] = f
		}
		if f.ended > gone || errors.Is(f.err, context.Canceled) && f.ended != gone {
			w.problem("flush of %v ended after %v with %v, its last caller left after %v", f.items, f.ended, f.err, gone)
		}
	}
	for item, c := range w.comers {
		w.checkOutcome(item, c, last[item])
		if f := shared[item]; f != nil {
			w.checkWait(item, c, f, shared)
		}
	}
}

func (w *world) checkOutcome(item int, c *comer, f *flushed) {
	var want error
	switch {
	case c.leaves > 0 && c.left >= c.leaves:
		want = context.DeadlineExceeded
		if c.left > c.leaves {
			w.problem("%d left %v late", item, c.left-c.leaves)
		}
	case f == nil:
		w.problem("%d is not flushed", item)
	case c.left != f.ended:
		w.problem("%d left after %v, its flush ended after %v", item, c.left, f.ended)
	case item%10 == 7 && errors.Is(f.err, errRefused) && len(f.items) == 1:
		want = errRefused
	case errors.Is(f.err, errBroken):
		want = errBroken
	}
	if !errors.Is(c.err, want) || want == nil && (c.err != nil || c.result != 2*item) {
		w.problem("%d got %d, %v, want %v", item, c.result, c.err, want)
	}
}

func (w *world) checkWait(item int, c *comer, f *flushed, shared []*flushed) {
	if c.leaves > 0 && c.leaves <= f.began {
		w.problem("%d is flushed after its caller left", item)
	}
	ahead := 0
	for other, before := range w.comers[:item] {
		taken := shared[other]
		if taken == nil || taken.began > c.came { // nil: its caller left
			ahead++
		}
		if taken != nil && taken.began > f.began {
			w.problem("%d, which came after %v, is flushed before %d, of %v", item, c.came, other, before.came)
		}
	}
	if waited, most := f.began-c.came, time.Duration(ahead/w.options.Size+1)*w.options.Linger; waited > most {
		w.problem("%d waited %v, most %v", item, waited, most)
	}
	// Flushes begin and end only at these times.
	for _, at := range w.flushes {
		for _, t := range []time.Duration{c.came, at.began, at.ended} {
			if t >= c.came && t < f.began && w.runningAt(t) < w.options.Running {
				w.problem("%d waited from %v to %v, though %d flushes ran after %v", item, c.came, f.began, w.runningAt(t), t)
				return
			}
		}
	}
}

func (w *world) runningAt(t time.Duration) (n int) {
	for _, f := range w.flushes {
		if f.began <= t && t < f.ended {
			n++
		}
	}
	return n
}

// A batcher whose first wait ends before New returns works: its timer was nil then.
func TestNewIsNotOvertaken(t *testing.T) {
	t.Parallel()
	for range 3_000 {
		b := New(Options{Size: 1, Running: 1, Linger: 1}, func(_ context.Context, items []int) ([]int, error) { return items, nil })
		b.Close()
	}
}
