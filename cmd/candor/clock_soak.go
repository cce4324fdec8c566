//go:build soak

package main

import (
	"os"
	"strings"
	"time"

	"candor/internal/domain"
)

// The soak test moves the clocks of running processes: the machine's clock is moved by the
// duration in the file that CANDOR_SOAK_CLOCK names, if there is one.
func init() {
	domain.SystemClock = func() time.Time {
		text, err := os.ReadFile(os.Getenv("CANDOR_SOAK_CLOCK")) //nolint:forbidigo,gosec // the soak test names it
		if err != nil {
			return time.Now()
		}
		apart, err := time.ParseDuration(strings.TrimSpace(string(text)))
		if err != nil {
			return time.Now() // it is being written
		}
		return time.Now().Add(apart)
	}
}
