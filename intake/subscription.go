package intake

import "time"

// A Plan is what an account pays for (interface.md Plans). Its limits are nil
// where there are none (D41).
type Plan struct {
	ID               string `db:"plan_id"`
	Name             string `db:"plan_name"`
	SessionsIncluded *int   `db:"sessions_included"`
	OverageCents     *int64 `db:"overage_cents"` // a session beyond the included ones
}

// A SubscriptionStatus is a subscription's state (D43).
type SubscriptionStatus string

// The states of a subscription (D43).
const (
	SubscriptionActive    SubscriptionStatus = "active"
	SubscriptionPastDue   SubscriptionStatus = "past_due"
	SubscriptionCancelled SubscriptionStatus = "cancelled"
)

// A Subscription is an account's plan since StartedAt.
type Subscription struct {
	Plan
	Status      SubscriptionStatus `db:"status"`
	StartedAt   time.Time          `db:"started_at"`
	EffectiveAt *time.Time         `db:"effective_at"` // when a cancellation takes effect
}

// Admits reports whether live sessions can be created (D32).
func (s *Subscription) Admits() bool {
	return s.Status == SubscriptionActive || s.Status == SubscriptionPastDue
}

// A Period is a billing period, from Start to just before End, UTC.
type Period struct{ Start, End time.Time }

// PeriodAt returns the billing period that now is in: months counted from
// StartedAt; a start on the 29th to 31st bills on a shorter month's last day
// (D42).
func (s *Subscription) PeriodAt(now time.Time) Period {
	start := s.StartedAt.UTC()
	months := (now.UTC().Year()-start.Year())*12 + int(now.UTC().Month()-start.Month())
	for months > 0 && addMonths(start, months).After(now) {
		months--
	}
	months = max(months, 0)
	return Period{Start: addMonths(start, months), End: addMonths(start, months+1)}
}

// addMonths keeps the day of the month, or takes the last one of a shorter
// month.
func addMonths(t time.Time, months int) time.Time {
	first := time.Date(t.Year(), t.Month()+time.Month(months), 1, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
	lastDay := first.AddDate(0, 1, -1).Day()
	return first.AddDate(0, 0, min(t.Day(), lastDay)-1)
}

// Usage is what became of the sessions of a period (D44).
type Usage struct {
	Created, Completed, Cancelled, Expired, InProgress int
	CompletionSeconds                                  float64 // sum over the completed, created to completed
	Daily                                              []DailyUsage
}

// DailyUsage counts what happened on one day, UTC (D44).
type DailyUsage struct {
	Date      time.Time
	Created   int
	Completed int
}
