//go:build !soak

package domain

import "time"

// SystemClock is the machine's clock.
var SystemClock Clock = time.Now
