package domain

import (
	"time"

	"candor/internal/statement"
)

// A Plan is what an account pays for (interface.md Plans). A nil limit means
// no limit (D41).
type Plan struct {
	ID               string `db:"plan_id"`
	Name             string `db:"plan_name"`
	Rank             int    `db:"plan_rank"` // a higher rank is a step up
	SessionsIncluded *int   `db:"sessions_included"`
	OverageCents     *int64 `db:"overage_cents"` // for each session above the included ones
}

// PlanIDs are the ids of the plans, the smallest first.
var PlanIDs = []string{"starter", "professional", "enterprise"}

// ByAgreement reports whether sessions aren't charged, because the plan's
// price is agreed on. Only an operator moves an account to such a plan.
func (p *Plan) ByAgreement() bool { return p.OverageCents == nil }

// Overage is how many of the used sessions are more than the included ones.
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

// Enum lists the states.
func (SubscriptionStatus) Enum() []string {
	return texts([]SubscriptionStatus{SubscriptionActive, SubscriptionPastDue, SubscriptionCancelled})
}

// A Subscription is an account's plan since StartedAt. Times are UTC.
type Subscription struct {
	Plan
	SubscriptionID SubscriptionID     `db:"id"`
	AccountID      AccountID          `db:"account_id"`
	Status         SubscriptionStatus `db:"status"`
	StartedAt      time.Time          `db:"started_at"`
	EffectiveAt    *time.Time         `db:"effective_at"` // when a cancellation takes effect
	Reason         *string            `db:"reason"`       // of the cancellation
	BilledTo       time.Time          `db:"billed_to"`    // start of the open period; everything before it is invoiced
	ClosesAt       *time.Time         `db:"closes_at"`    // end of the open period; nil when everything is invoiced
	NextPlanID     *string            `db:"next_plan_id"` // after the period's end
	Carry
}

// Carry is the carried sessions: those used in a period that a cancellation
// interrupted. They reduce the included sessions of the next subscription's
// first period, if that starts before CarriedUntil. Otherwise a new
// subscription would have all included sessions again. Times are UTC.
type Carry struct {
	CarriedSessions int        `db:"carried_sessions"`
	CarriedUntil    *time.Time `db:"carried_until"` // when the first interrupted period would have ended; nil for none
}

// CarryTo returns what a subscription that starts at that time carries from
// this one, which used so many sessions in its last period. Sessions that this
// one carries are passed on until the first interrupted period would have
// ended.
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

// CarriedIn is how many carried sessions count in the period that starts then.
func (s *Subscription) CarriedIn(periodStart time.Time) int {
	if !periodStart.Equal(s.StartedAt) {
		return 0
	}
	return s.CarriedSessions
}

// Ended reports whether the subscription has ended at now. When everything is
// invoiced it has ended, even for a slow clock.
func (s *Subscription) Ended(now time.Time) bool {
	return s.ClosesAt == nil || s.EffectiveAt != nil && !s.EffectiveAt.After(now)
}

// Admits reports whether live sessions can be created (D32).
func (s *Subscription) Admits() bool {
	return s.Status == SubscriptionActive || s.Status == SubscriptionPastDue
}

// A PlanMove is what choosing a plan comes to.
type PlanMove int

// The moves between plans.
const (
	PlanUp        PlanMove = iota // at once
	PlanDown                      // at the end of the period
	PlanKept                      // the present plan: the change that is to come is cancelled
	PlanPending                   // nothing: the change is to come already
	PlanUnchanged                 // nothing: it is the present plan
)

// MoveTo returns what choosing the plan comes to.
func (s *Subscription) MoveTo(p *Plan) PlanMove {
	switch {
	case s.NextPlanID != nil && *s.NextPlanID == p.ID:
		return PlanPending
	case s.Plan.ID != p.ID && p.Rank < s.Rank:
		return PlanDown
	case s.Plan.ID != p.ID:
		return PlanUp
	case s.NextPlanID != nil:
		return PlanKept
	}
	return PlanUnchanged
}

// CountedAt returns when something at now counts: not in an invoiced period
// and not before the first one, even if this server's clock is slow.
func (s *Subscription) CountedAt(now time.Time) time.Time {
	if now.Before(s.BilledTo) {
		return s.BilledTo
	}
	return now
}

// Closing returns the end of the period that starts at start: a month later
// (D42), or earlier if a cancellation takes effect; nil if the subscription
// has ended by then.
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

// PeriodAt returns the billing period at now. Periods are months from
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

// addMonths keeps the day of the month, or uses the last day of a shorter
// month.
func addMonths(t time.Time, months int) time.Time {
	first := time.Date(t.Year(), t.Month()+time.Month(months), 1, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
	lastDay := first.AddDate(0, 1, -1).Day()
	return first.AddDate(0, 0, min(t.Day(), lastDay)-1)
}

// Usage counts the sessions of a period by their outcome (D44).
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

// FirstUsageThreshold is the first share of a plan's included sessions at
// which accounts get a notice, in percent.
const FirstUsageThreshold = 80

// UsageThreshold is the highest share of the included sessions that is used
// and has a notice, in percent: 80, 100, and every 25 above; 0 below 80.
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

// UsageDrift is an account's period in which the counter of used sessions differs
// from the number of sessions.
type UsageDrift struct {
	AccountID   AccountID `db:"account_id"`
	PeriodStart time.Time `db:"period_start"`
	Counted     int       `db:"counted"`
	Sessions    int       `db:"sessions"`
}

// MaxSpendAlerts is how many alerts an account can have.
const MaxSpendAlerts = 3

// SpendLimits are what an account sets about what a billing period may cost, GST
// included, in cents (D68).
type SpendLimits struct {
	Cap    *statement.Cents  // no live session is created that costs something and goes beyond; nil for no cap
	Alerts []statement.Cents // at which the account gets an email, ascending
}

// A SpendNotice is an alert or a cap that a period has reached.
type SpendNotice struct {
	AccountID   AccountID       `db:"account_id"`
	PeriodStart time.Time       `db:"period_start"`
	Cap         bool            `db:"cap"` // the cap, else an alert
	Cents       statement.Cents `db:"cents"`
}

// A BilledSession is a live session as billing sees it, without its customer.
type BilledSession struct {
	ID          SessionID `db:"id"`
	ReferenceID *string   `db:"reference_id"`
	CreatedAt   time.Time `db:"created_at"`
}
