// Package testkit holds what tests share.
package testkit

import (
	"runtime/debug"
	"slices"
	"testing"
)

// Slow marks a test that takes more than a second beside others: one that runs processes or
// against the clock, or asks hundreds of times. `make test-fast` leaves it out; `make test`
// and CI run it.
//
// One that takes many is named TestDrill…, if it kills, restores or waits out real time, or
// TestToolchain…, if it runs other languages' compilers: `make drills` runs it.
func Slow(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("slow: make test runs it")
	}
}

// Raced reports whether the tests run with the race detector, which makes computing ten
// times as slow.
func Raced() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}
