//go:build soak

package domain

import (
	"os"
	"strings"
	"time"
)

// SystemClock is the machine's clock, moved by the duration in the file that
// CANDOR_SOAK_CLOCK names, if there is one. Only the soak test builds it (make soak),
// which moves the clocks of running processes.
var SystemClock Clock = func() time.Time {
	text, err := os.ReadFile(os.Getenv("CANDOR_SOAK_CLOCK"))
	if err != nil {
		return time.Now()
	}
	apart, err := time.ParseDuration(strings.TrimSpace(string(text)))
	if err != nil {
		return time.Now() // it is being written
	}
	return time.Now().Add(apart)
}
