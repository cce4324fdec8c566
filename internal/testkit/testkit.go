// Package testkit holds what tests share.
package testkit

import "testing"

// Slow marks a test that takes seconds: one that kills processes, runs against
// the clock, or measures plans over many rows. `make test-fast` leaves it out;
// `make test` and CI run it.
func Slow(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("slow: make test runs it")
	}
}
