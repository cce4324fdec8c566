//go:build !linux

package postgres

import "time"

// boundAnswers does nothing: only Linux has the bound.
func boundAnswers(uintptr, time.Duration) error { return nil }
