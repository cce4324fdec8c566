package harness

import (
	"sync"
	"time"
)

// StartTime is what the harness's clock says at first: a moment within a month
// and a day, so that both have a past and a future.
var StartTime = time.Date(2026, 11, 20, 3, 4, 5, 678_000_000, time.UTC)

// Clock is a clock that tests set.
type Clock struct {
	mu sync.Mutex
	t  time.Time
}

// Now is the clock's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

// Advance moves the clock on.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// Set moves the clock to a time.
func (c *Clock) Set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = t
}
