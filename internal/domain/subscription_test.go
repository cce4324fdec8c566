package domain_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"candor/internal/domain"
)

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return t
}

func TestPeriodAt(t *testing.T) {
	t.Parallel()
	tests := []struct{ started, now, start, end string }{
		{"2026-01-15T10:00:00Z", "2026-01-15T10:00:00Z", "2026-01-15T10:00:00Z", "2026-02-15T10:00:00Z"},
		{"2026-01-15T10:00:00Z", "2026-02-15T09:59:59Z", "2026-01-15T10:00:00Z", "2026-02-15T10:00:00Z"},
		{"2026-01-15T10:00:00Z", "2026-02-15T10:00:00Z", "2026-02-15T10:00:00Z", "2026-03-15T10:00:00Z"},
		{"2026-01-31T08:30:00Z", "2026-02-28T08:29:59Z", "2026-01-31T08:30:00Z", "2026-02-28T08:30:00Z"},
		{"2026-01-31T08:30:00Z", "2026-02-28T08:30:00Z", "2026-02-28T08:30:00Z", "2026-03-31T08:30:00Z"},
		{"2026-01-31T08:30:00Z", "2026-04-30T12:00:00Z", "2026-04-30T08:30:00Z", "2026-05-31T08:30:00Z"},
		{"2028-01-30T00:00:00Z", "2028-02-29T00:00:00Z", "2028-02-29T00:00:00Z", "2028-03-30T00:00:00Z"},
		{"2027-01-29T00:00:00Z", "2027-02-28T00:00:00Z", "2027-02-28T00:00:00Z", "2027-03-29T00:00:00Z"},
		{"2028-02-29T00:00:00Z", "2029-02-28T00:00:00Z", "2029-02-28T00:00:00Z", "2029-03-29T00:00:00Z"},
		{"2026-11-30T23:59:59Z", "2027-01-01T00:00:00Z", "2026-12-30T23:59:59Z", "2027-01-30T23:59:59Z"},
		{"2026-12-31T00:00:00Z", "2026-12-31T23:00:00Z", "2026-12-31T00:00:00Z", "2027-01-31T00:00:00Z"},
		{"2026-03-01T00:30:00+11:00", "2026-03-28T13:30:00Z", "2026-03-28T13:30:00Z", "2026-04-28T13:30:00Z"}, // 28 February UTC
		// before the start: the first period
		{"2026-05-10T00:00:00Z", "2026-05-01T00:00:00Z", "2026-05-10T00:00:00Z", "2026-06-10T00:00:00Z"},
	}
	for _, tt := range tests {
		s := &domain.Subscription{StartedAt: at(tt.started)}
		got := s.PeriodAt(at(tt.now))
		if !got.Start.Equal(at(tt.start)) || !got.End.Equal(at(tt.end)) {
			t.Errorf("started %s, now %s: %s to %s, want %s to %s", tt.started, tt.now, got.Start, got.End, tt.start, tt.end)
		}
	}
}

// Periods follow each other without gap or overlap, each about a month long
// and on the start's day, and every time is in its own period.
func TestPeriodsTileTime(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		started := time.Date(2020+random.IntN(12), time.Month(1+random.IntN(12)), 1+random.IntN(31), random.IntN(24), random.IntN(60),
			random.IntN(60), 0, time.UTC)
		s := &domain.Subscription{StartedAt: started}
		period := s.PeriodAt(started)
		if !period.Start.Equal(started) {
			t.Fatalf("started %s: the first period starts %s", started, period.Start)
		}
		for range 60 {
			length := period.End.Sub(period.Start)
			if length < 28*24*time.Hour || length > 31*24*time.Hour {
				t.Fatalf("started %s: %s to %s is %s long", started, period.Start, period.End, length)
			}
			lastDay := time.Date(period.End.Year(), period.End.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
			if period.End.Day() != min(started.Day(), lastDay) {
				t.Fatalf("started %s: a period ends %s", started, period.End)
			}
			inside := period.Start.Add(time.Duration(random.Int64N(int64(length))))
			for _, moment := range []time.Time{period.Start, inside, period.End.Add(-1)} {
				if got := s.PeriodAt(moment); got != period {
					t.Fatalf("started %s: %s is in %v, want %v", started, moment, got, period)
				}
			}
			next := s.PeriodAt(period.End)
			if !next.Start.Equal(period.End) {
				t.Fatalf("started %s: after %v comes %v", started, period, next)
			}
			period = next
		}
	}
}

func TestSubscriptionAdmits(t *testing.T) {
	t.Parallel()
	for status, want := range map[domain.SubscriptionStatus]bool{
		domain.SubscriptionActive: true, domain.SubscriptionPastDue: true, domain.SubscriptionCancelled: false,
	} {
		if got := (&domain.Subscription{Status: status}).Admits(); got != want {
			t.Errorf("%s admits: %v, want %v", status, got, want)
		}
	}
}

func TestMoveTo(t *testing.T) {
	t.Parallel()
	plans := []domain.Plan{{ID: "small", Rank: 1}, {ID: "middle", Rank: 2}, {ID: "large", Rank: 3}}
	small := "small"
	for next, want := range map[*string][]domain.PlanMove{
		nil:    {domain.PlanDown, domain.PlanUnchanged, domain.PlanUp},
		&small: {domain.PlanPending, domain.PlanKept, domain.PlanUp},
	} {
		of := domain.Subscription{Plan: plans[1], NextPlanID: next}
		for i := range plans {
			if got := of.MoveTo(&plans[i]); got != want[i] {
				t.Errorf("to %s, next %v: %d, want %d", plans[i].ID, next != nil, got, want[i])
			}
		}
	}
}
