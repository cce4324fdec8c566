package statement_test

import (
	"testing"
	"time"

	"candor/internal/statement"
)

// Each state has its own clock, and an unknown one has Sydney's.
func TestZone(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 20, 3, 4, 5, 0, time.UTC) // summer
	for state, want := range map[string]string{
		"ACT": "14:04 +1100", "NSW": "14:04 +1100", "VIC": "14:04 +1100", "TAS": "14:04 +1100",
		"QLD": "13:04 +1000", "SA": "13:34 +1030", "NT": "12:34 +0930", "WA": "11:04 +0800", "": "14:04 +1100", "XX": "14:04 +1100",
	} {
		zone, known := (&statement.Address{State: state}).Zone()
		if got := at.In(zone).Format("15:04 -0700"); got != want || known != (len(state) > 1 && state != "XX") {
			t.Errorf("%q: %s, known %t, want %s", state, got, known, want)
		}
	}
}
