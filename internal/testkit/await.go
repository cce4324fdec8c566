package testkit

import (
	"testing"
	"time"
)

// Patience is how long a test waits for what must happen on a busy machine.
const Patience = 90 * time.Second

// Await waits until ready returns true, and fails the test if that takes longer than
// Patience. What it waits for has the processor between two questions.
func Await(t testing.TB, what string, ready func() bool) {
	t.Helper()
	for deadline := time.Now().Add(Patience); !ready(); <-time.After(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("gave up after %s: %s", Patience, what)
		}
	}
}
