package domain

import (
	"math"
	"time"
)

// EndpointDays is how many days the figures of an endpoint's health cover.
const EndpointDays = 30

const (
	// The times of attempts are counted in steps of 9 %, the first up to 1 ms.
	durationStep = 1.09
	// maxDurationStep holds all that takes longer than half a minute.
	maxDurationStep = 120
)

// EndpointMonth counts the attempts at an endpoint within EndpointDays.
type EndpointMonth struct {
	Attempts  int64
	Delivered int64
	Times     []int64 // attempts by AttemptStep
	// ByDay are attempts and deliveries of each day, the oldest first, today the last.
	ByDay [EndpointDays]struct{ Attempts, Delivered int64 }
}

// AttemptStep is the place in EndpointMonth.Times of an attempt that took so
// long.
func AttemptStep(took time.Duration) int {
	ms := float64(took) / float64(time.Millisecond)
	if ms <= 1 {
		return 0
	}
	return min(maxDurationStep, int(math.Ceil(math.Log(ms)/math.Log(durationStep))))
}

// Add adds the attempts of the day that was so many days ago.
func (m *EndpointMonth) Add(ago int, attempts, delivered int64, times []int64) {
	if at := EndpointDays - 1 - ago; at >= 0 && at < EndpointDays {
		m.ByDay[at].Attempts, m.ByDay[at].Delivered = m.ByDay[at].Attempts+attempts, m.ByDay[at].Delivered+delivered
	}
	m.Attempts += attempts
	m.Delivered += delivered
	for len(m.Times) < len(times) {
		m.Times = append(m.Times, 0)
	}
	for i, n := range times {
		m.Times[i] += n
	}
}

// P95 is how long 95 of 100 attempts took at most, up to 9 % too long; 0
// without attempts.
func (m *EndpointMonth) P95() time.Duration {
	left := m.Attempts - m.Attempts/20
	if left == 0 {
		return 0
	}
	for step, n := range m.Times {
		if left -= n; left <= 0 {
			return time.Duration(math.Pow(durationStep, float64(step)) * float64(time.Millisecond))
		}
	}
	return 0
}
