package jobs_test

import (
	"testing"

	"candor/internal/testkit"
	"candor/internal/testkit/hooktest"
)

// A burst at one receiver takes one run of each wake.
func TestWakesRunOnce(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	hook := hooktest.NewReceiver(t, nil)
	h.start()
	for range 25 {
		h.Emit(h.Session(hook.URL, hooktest.Now()), 1)
	}
	testkit.Await(h, "all deliveries", func() bool {
		return h.Count("SELECT count(*) FROM delivery WHERE state = 'delivered'") == 25
	})
	if n := h.Count("SELECT count(*) FROM river_job WHERE attempt > 1 OR errors IS NOT NULL"); n != 0 {
		t.Errorf("%d jobs took more than one run", n)
	}
}
