package domain_test

import (
	"testing"
	"time"

	"candor/internal/domain"
)

// The figure is of the step that has the attempt, so it is up to 9 % too long.
func TestP95OfAttempts(t *testing.T) {
	t.Parallel()
	var m domain.EndpointMonth
	if got := m.P95(); got != 0 {
		t.Errorf("without attempts %s", got)
	}
	for i := range 100 {
		times := make([]int64, 200)
		times[domain.AttemptStep(time.Duration(i+1)*10*time.Millisecond)] = 1
		m.Add(0, 1, 1, times)
	}
	if got := m.P95(); got < 950*time.Millisecond || got > 1036*time.Millisecond {
		t.Errorf("of 10 ms to 1 s, %s; want 950 ms to 9 %% more", got)
	}
	if first, last := domain.AttemptStep(0), domain.AttemptStep(time.Hour); first != 0 || last > 150 {
		t.Errorf("steps %d to %d", first, last)
	}
}
