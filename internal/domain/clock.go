package domain

import "time"

// A Clock tells the time; tests set it.
type Clock func() time.Time

// SystemClock is the machine's clock.
var SystemClock Clock = time.Now

// Now is the clock's time in UTC, to the millisecond: what is stored, shown
// and compared.
func (c Clock) Now() time.Time { return c().UTC().Truncate(time.Millisecond) }
