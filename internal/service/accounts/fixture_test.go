package accounts_test

import (
	"testing"

	"candor/internal/testkit/servicetest"
)

// bench is the fixture of this package's tests.
type bench struct{ *servicetest.Fixture }

func newBench(t testing.TB, change ...func(*servicetest.Config)) *bench {
	t.Helper()
	return &bench{servicetest.NewFixture(t, change...)}
}
