package domain

import "time"

// A Plan is what an account pays for (interface.md Plans). Its limits are nil
// where there are none (D41).
type Plan struct {
	ID               string `db:"plan_id"`
	Name             string `db:"plan_name"`
	Rank             int    `db:"plan_rank"` // a plan of a higher one is a step up
	SessionsIncluded *int   `db:"sessions_included"`
	OverageCents     *int64 `db:"overage_cents"` // a session beyond the included ones
}

// ByAgreement reports whether nothing is charged by the session: the plan's
// price is agreed on, so only an operator moves an account to it.
func (p *Plan) ByAgreement() bool { return p.OverageCents == nil }

// Overage is how many of used sessions are beyond the included ones.
func (p *Plan) Overage(used int) int {
	if p.SessionsIncluded == nil {
		return 0
	}
	return max(0, used-*p.SessionsIncluded)
}

// A SubscriptionStatus is a subscription's state (D43).
type SubscriptionStatus string

// The states of a subscription (D43).
const (
	SubscriptionActive    SubscriptionStatus = "active"
	SubscriptionPastDue   SubscriptionStatus = "past_due"
	SubscriptionCancelled SubscriptionStatus = "cancelled"
)

// A Subscription is an account's plan since StartedAt. Times are UTC.
type Subscription struct {
	Plan
	SubscriptionID SubscriptionID     `db:"id"`
	AccountID      AccountID          `db:"account_id"`
	Status         SubscriptionStatus `db:"status"`
	StartedAt      time.Time          `db:"started_at"`
	EffectiveAt    *time.Time         `db:"effective_at"` // when a cancellation takes effect
	Reason         *string            `db:"reason"`       // of the cancellation
	BilledTo       time.Time          `db:"billed_to"`    // start of the open period: all before is invoiced
	ClosesAt       *time.Time         `db:"closes_at"`    // end of the open period; nil once all is invoiced
	NextPlanID     *string            `db:"next_plan_id"` // from the period's end on
	Carry
}

// Carry is what was used in a period that a cancellation interrupted. It counts
// against the included sessions of the first period of the subscription that
// follows, where that starts before CarriedUntil: otherwise each new subscription would
// have all of them again. Times are UTC.
type Carry struct {
	CarriedSessions int        `db:"carried_sessions"`
	CarriedUntil    *time.Time `db:"carried_until"` // when the period that was interrupted first would have ended; nil for none
}

// CarryTo is what a subscription that starts at the time has to count, where
// this one came before it and used so many sessions in its last period. One that
// carries sessions itself passes them on, until the period is over that was
// interrupted first.
func (s *Subscription) CarryTo(at time.Time, used int) Carry {
	if s.EffectiveAt == nil {
		return Carry{}
	}
	interrupted := s.PeriodAt(*s.EffectiveAt)
	out := Carry{CarriedSessions: used, CarriedUntil: &interrupted.End}
	if earlier := s.CarriedIn(interrupted.Start); earlier > 0 {
		out = Carry{CarriedSessions: earlier + used, CarriedUntil: s.CarriedUntil}
	}
	if out.CarriedSessions == 0 || !out.CarriedUntil.After(at) {
		return Carry{}
	}
	return out
}

// CarriedIn is how many sessions of an interrupted period count against the
// included ones of the period that starts then.
func (s *Subscription) CarriedIn(periodStart time.Time) int {
	if !periodStart.Equal(s.StartedAt) {
		return 0
	}
	return s.CarriedSessions
}

// Ended reports whether the subscription is past its effective date at now.
// Once all of it is invoiced it is so for each clock, however slow.
func (s *Subscription) Ended(now time.Time) bool {
	return s.ClosesAt == nil || s.EffectiveAt != nil && !s.EffectiveAt.After(now)
}

// Admits reports whether live sessions can be created (D32).
func (s *Subscription) Admits() bool {
	return s.Status == SubscriptionActive || s.Status == SubscriptionPastDue
}

// CountedAt is when something that happens at now counts as happened: not in a
// period that is invoiced nor before the first one, however slow this server's
// clock is.
func (s *Subscription) CountedAt(now time.Time) time.Time {
	if now.Before(s.BilledTo) {
		return s.BilledTo
	}
	return now
}

// Closing returns when the period ends that starts at start: a month later
// (D42), or earlier by a cancellation; nil where nothing follows it.
func (s *Subscription) Closing(start time.Time) *time.Time {
	if s.EffectiveAt != nil && !start.Before(*s.EffectiveAt) {
		return nil
	}
	end := s.PeriodAt(start).End
	if s.EffectiveAt != nil && s.EffectiveAt.Before(end) {
		end = *s.EffectiveAt
	}
	return &end
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

// FirstUsageThreshold is the first share of a plan's included sessions that
// accounts are told of when it is used, in percent.
const FirstUsageThreshold = 80

// UsageThreshold is the highest share of the included sessions that accounts
// are told of and that is used, in percent: 80, 100, and each 25 beyond; 0
// below them.
func UsageThreshold(used, included int) int {
	percent := 100 * used / max(1, included)
	switch {
	case percent < FirstUsageThreshold:
		return 0
	case percent < 100:
		return FirstUsageThreshold
	}
	return percent / 25 * 25
}
