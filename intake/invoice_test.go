package intake_test

import (
	"testing"

	"candor/intake"
	"candor/statement"
)

// The tax that an amount includes is rounded to the cent, halves up.
func TestGSTIn(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		amount statement.Cents
		rate   int
		want   statement.Cents
	}{{0, 1000, 0}, {1100, 1000, 100}, {1000, 1000, 91}, {5, 1000, 0}, {6, 1000, 1}, {1000, 0, 0}, {1155, 1550, 155}, {99_999_999_999_999, 1000, 9_090_909_090_909}} {
		if got := intake.GSTIn(test.amount, test.rate); got != test.want {
			t.Errorf("GST in %d at %d basis points: %d, want %d", test.amount, test.rate, got, test.want)
		}
	}
}
