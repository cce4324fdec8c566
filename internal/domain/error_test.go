package domain

import (
	"testing"
	"time"
)

// TestBusySaysWhen checks the words and the header's seconds at their limits.
func TestBusySaysWhen(t *testing.T) {
	t.Parallel()
	for wait, want := range map[time.Duration]string{
		-time.Second: "a second", 500 * time.Millisecond: "a second", 1001 * time.Millisecond: "2 seconds",
		90 * time.Second: "90 seconds", 91 * time.Second: "2 minutes", 15 * time.Minute: "15 minutes",
	} {
		if got := Busy("There were too many attempts.", wait); got.Message != "There were too many attempts. Try again in "+want+"." ||
			got.RetryAfter < wait || got.RetryAfter > max(wait, 0)+time.Second {
			t.Errorf("%s: %q, %s", wait, got.Message, got.RetryAfter)
		}
	}
}
