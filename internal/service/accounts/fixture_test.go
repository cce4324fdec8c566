package accounts_test

import (
	"testing"

	"candor/internal/testkit/servicetest"
)

// fixture is the fixture of this package's tests.
type fixture struct{ *servicetest.Fixture }

func newFixture(t testing.TB, change ...func(*servicetest.Config)) *fixture {
	t.Helper()
	return &fixture{servicetest.NewFixture(t, change...)}
}
