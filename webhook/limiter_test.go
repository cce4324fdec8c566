package webhook

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const target = "https://hooks.example.com/a"

// testClock is a time that the test moves.
type testClock struct{ nanoseconds atomic.Int64 }

func (c *testClock) now() time.Time          { return time.Unix(0, c.nanoseconds.Load()).UTC() }
func (c *testClock) advance(d time.Duration) { c.nanoseconds.Add(int64(d)) }

// slots returns how many attempts the limiter allows at once, leaving none.
func slots(l *Limiter, url string) int {
	var releases []func(Outcome)
	for release, ok := l.TryAcquire(url); ok; release, ok = l.TryAcquire(url) {
		releases = append(releases, release)
	}
	for _, release := range releases {
		release(OutcomeUnknown)
	}
	return len(releases)
}

func report(t *testing.T, l *Limiter, url string, outcomes ...Outcome) {
	t.Helper()
	for _, outcome := range outcomes {
		release, ok := l.TryAcquire(url)
		if !ok {
			t.Fatalf("no slot for %s", url)
		}
		release(outcome)
	}
}

func TestLimiterBoundsADestination(t *testing.T) {
	t.Parallel()
	limiter := NewLimiter(2, new(testClock).now)
	first, ok := limiter.TryAcquire(target)
	if !ok {
		t.Fatal("first attempt was not allowed")
	}
	if _, ok := limiter.TryAcquire("HTTPS://Hooks.Example.com:0443/other?x=1"); !ok {
		t.Fatal("second attempt was not allowed")
	}
	if _, ok := limiter.TryAcquire(target); ok {
		t.Error("third attempt was allowed: the spellings count as two destinations")
	}
	for _, other := range []string{"https://hooks.example.com:8443/a", "http://hooks.example.com/a", "https://example.com/a"} {
		if got := slots(limiter, other); got != 2 {
			t.Errorf("%s has %d slots, want 2 of its own", other, got)
		}
	}
	first(OutcomeAnswered)
	first(OutcomeAnswered)
	if got := slots(limiter, target); got != 1 {
		t.Errorf("%d slots after one of two was released twice, want 1", got)
	}
}

func TestLimiterBreaks(t *testing.T) {
	t.Parallel()
	clock := new(testClock)
	limiter := NewLimiter(4, clock.now)
	report(t, limiter, target, OutcomeUnreachable, OutcomeUnreachable, OutcomeAnswered, OutcomeUnreachable, OutcomeUnreachable)
	if got := slots(limiter, target); got != 4 {
		t.Errorf("%d slots, want 4: an answer came between the failures", got)
	}
	report(t, limiter, target, OutcomeUnknown, OutcomeUnreachable)
	if got := slots(limiter, target); got != 1 {
		t.Errorf("%d slots after three failures in a row, want 1", got)
	}
	if got := slots(limiter, "https://healthy.example.com"); got != 4 {
		t.Errorf("another destination has %d slots, want 4", got)
	}
	clock.advance(suspectFor)
	if got := slots(limiter, target); got != 1 {
		t.Errorf("%d slots just before the failures are forgotten, want 1", got)
	}
	report(t, limiter, target, OutcomeAnswered)
	if got := slots(limiter, target); got != 4 {
		t.Errorf("%d slots after an answer, want 4", got)
	}
}

func TestLimiterForgets(t *testing.T) {
	t.Parallel()
	clock := new(testClock)
	limiter := NewLimiter(4, clock.now)
	report(t, limiter, target, OutcomeUnreachable, OutcomeUnreachable, OutcomeUnreachable)
	clock.advance(suspectFor + time.Second)
	if got := slots(limiter, target); got != 4 {
		t.Errorf("%d slots long after the last failure, want 4", got)
	}
	for i := range maxSuspects + 100 {
		report(t, limiter, fmt.Sprintf("https://h%d.example.com", i), OutcomeUnreachable)
		report(t, limiter, fmt.Sprintf("https://g%d.example.com", i), OutcomeAnswered)
	}
	if len(limiter.active) != 0 || limiter.suspects.Len() != maxSuspects {
		t.Errorf("idle limiter holds %d active and %d suspect entries, want 0 and %d", len(limiter.active), limiter.suspects.Len(), maxSuspects)
	}
}

func TestLimiterConcurrently(t *testing.T) {
	t.Parallel()
	const allowed = 3
	limiter := NewLimiter(allowed, new(testClock).now)
	var running, granted atomic.Int32
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			for range 200 {
				release, ok := limiter.TryAcquire(target)
				if !ok {
					continue
				}
				granted.Add(1)
				if now := running.Add(1); now > allowed {
					t.Errorf("%d attempts at once, want at most %d", now, allowed)
				}
				running.Add(-1)
				release(OutcomeAnswered)
			}
		})
	}
	group.Wait()
	if granted.Load() == 0 || len(limiter.active) != 0 {
		t.Errorf("%d attempts granted, %d entries left", granted.Load(), len(limiter.active))
	}
}
