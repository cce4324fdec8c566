package domain

import "time"

// A Clock tells the time; tests set it.
type Clock func() time.Time

// Now returns the clock's time in UTC, to the millisecond. Every stored, shown
// or compared time has this form.
func (c Clock) Now() time.Time { return c().UTC().Truncate(time.Millisecond) }

// SystemClock is the machine's clock. Only the program that `make soak` builds moves it.
var SystemClock Clock = time.Now
