package domain_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"candor/internal/domain"
)

// TestRequestSpans: however far apart requests are, each is in one span of at most 30, and
// 95 of 100 took no longer than the span says.
func TestRequestSpans(t *testing.T) {
	t.Parallel()
	until := time.Date(2026, 11, 20, 13, 37, 0, 0, time.UTC)
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		reach := time.Duration(1+random.Int64N(int64(7*24*time.Hour/time.Second))) * time.Second
		var requests []domain.RequestOutcome
		status := map[int]int{}
		for range 1 + random.IntN(300) {
			one := domain.RequestOutcome{ID: domain.NewRequestID(until.Add(-time.Duration(random.Int64N(int64(reach))))),
				Status: []int{200, 201, 404, 429, 500, 503}[random.IntN(6)], DurationUS: random.IntN(100_000)}
			status[one.Status/100]++
			requests = append(requests, one)
		}
		slices.SortFunc(requests, func(a, b domain.RequestOutcome) int { return b.ID.Compare(a.ID) })
		from := []time.Time{{}, until.Add(-reach)}[seed%2]
		spans := domain.RequestSpans(requests, from, until)
		if len(spans) > domain.RequestSpansMost {
			t.Errorf("seed %d: %d spans of %s", seed, len(spans), reach)
		}
		got := map[int]int{}
		for i, span := range spans {
			got[2], got[4], got[5] = got[2]+span.Fine, got[4]+span.Refused, got[5]+span.Failed
			end := until
			if i+1 < len(spans) {
				end = spans[i+1].From
			}
			in, slower := 0, 0
			for _, one := range requests {
				if at := domain.RequestTime(one.ID); !at.Before(span.From) && at.Before(end) {
					in++
					if time.Duration(one.DurationUS)*time.Microsecond > span.P95 {
						slower++
					}
				}
			}
			if in != span.Total() || slower*20 > in {
				t.Errorf("seed %d: the span from %s has %d of %d requests, and %d took longer than %s", seed, span.From, span.Total(), in,
					slower, span.P95)
			}
		}
		if got[2] != status[2] || got[4] != status[4] || got[5] != status[5] {
			t.Errorf("seed %d: %v of %v", seed, got, status)
		}
	}
	if spans := domain.RequestSpans(nil, time.Time{}, until); spans != nil {
		t.Errorf("no requests are %v", spans)
	}
}
