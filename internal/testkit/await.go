package testkit

import (
	"testing"
	"time"
)

// Await waits until something is ready, and fails the test if that takes longer than a
// busy machine can take. What it waits for has the processor between two questions.
func Await(t testing.TB, failure string, ready func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ready(); <-time.After(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(failure)
		}
	}
}
