package service

import (
	"context"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/statement"
)

// CurrentSubscription is a subscription with its running period and usage.
type CurrentSubscription struct {
	domain.Subscription
	Period       domain.Period
	Used         int
	Carried      int  // of an interrupted period, against the included ones of this one
	Remaining    *int // nil: unlimited (D41)
	BillingEmail string
	InvoiceDate  time.Time // when the running period is invoiced

	Lines domain.InvoiceLines // what the running period comes to so far
	GST   statement.Cents     // included in their total

	Projection *domain.Projection // nil on a period's first day, and once it is cancelled
}

// stretches are the parts of the running period by plan. In the moment between
// a period's end and its closing the next one runs already, under its own plan.
func (s *Service) stretches(ctx context.Context, of *CurrentSubscription) ([]domain.PlanStretch, error) {
	if of.Period.Start.Equal(of.BilledTo) {
		return s.DB.PlanStretches(ctx, &of.Subscription)
	}
	plans, err := s.DB.Plans(ctx)
	for _, plan := range plans {
		if of.NextPlanID != nil && plan.ID == *of.NextPlanID {
			of.Plan, of.NextPlanID = plan, nil
		}
	}
	return []domain.PlanStretch{{Plan: of.Plan}}, err
}

// project extends what was used to the whole period. A day is too short to tell
// anything by.
func project(stretches []domain.PlanStretch, of *CurrentSubscription, now time.Time) *domain.Projection {
	gone := now.Sub(of.Period.Start)
	if gone < 24*time.Hour || of.Status == domain.SubscriptionCancelled {
		return nil
	}
	whole := of.Period.End.Sub(of.Period.Start)
	// In minutes, which no number of sessions makes overflow.
	sessions := of.Used * int(whole/time.Minute) / int(gone/time.Minute)
	return &domain.Projection{Sessions: sessions, Total: domain.PriceSessions(stretches, sessions).Total()}
}

// Subscription returns the account's subscription with what was used of it in
// the running billing period, or subscription_not_found.
func (s *Service) Subscription(ctx context.Context, account domain.AccountID) (*CurrentSubscription, error) {
	now := s.Clock.Now()
	subscription, err := s.DB.Subscription(ctx, account, now)
	if err != nil {
		return nil, orCode(err, errSubscriptionNotFound)
	}
	owner, err := s.DB.Account(ctx, account)
	if err != nil {
		return nil, err
	}
	out := &CurrentSubscription{Subscription: *subscription, Period: subscription.PeriodAt(subscription.CountedAt(now)), BillingEmail: owner.BillingEmail}
	out.Carried = subscription.CarriedIn(out.Period.Start)
	out.InvoiceDate = *subscription.Closing(out.Period.Start)
	if out.Used, err = s.DB.UsedSessions(ctx, account, out.Period.Start); err != nil {
		return nil, err
	}
	stretches, err := s.stretches(ctx, out)
	if err != nil {
		return nil, err
	}
	out.Lines = domain.PriceSessions(stretches, out.Used)
	out.GST = domain.GSTIn(out.Lines.Total(), s.Terms.GSTBasisPoints)
	out.Projection = project(stretches, out, now)
	if out.SessionsIncluded != nil {
		remaining := max(0, *out.SessionsIncluded-out.Carried-out.Used)
		out.Remaining = &remaining
	}
	return out, nil
}

// NextCarry is what a subscription that starts now would carry from the one
// before.
func (s *Service) NextCarry(ctx context.Context, account domain.AccountID) (carry domain.Carry, err error) {
	err = s.DB.InTx(ctx, func(tx *db.Tx) error {
		_, carry, err = s.ledger.Following(ctx, tx, account, s.Clock.Now())
		return err
	})
	return carry, err
}

// UsageRange is what a caller asks usage for; the dates win over the period
// (D45).
type UsageRange struct{ Period, StartDate, EndDate string }

// UsageReport is the usage from First to Last, UTC days, both inclusive.
type UsageReport struct {
	First, Last time.Time
	*domain.Usage
}

// maxUsageDays is the longest range of dates (D45).
const maxUsageDays = 366

// Usage counts the scope's sessions of a range (D44). Errors:
// invalid_date_range, invalid_request for an unknown period.
func (s *Service) Usage(ctx context.Context, scope domain.Scope, r UsageRange) (*UsageReport, error) {
	now := s.Clock.Now()
	first, last, err := r.days(now)
	if err != nil {
		return nil, err
	}
	usage, err := s.DB.Usage(ctx, scope, first, last, now)
	return &UsageReport{first, last, usage}, err
}

func (r UsageRange) days(now time.Time) (first, last time.Time, err error) {
	if r.StartDate != "" || r.EndDate != "" {
		return r.dates()
	}
	today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
	monthStart := today.AddDate(0, 0, 1-today.Day())
	switch r.Period {
	case "", "current_month":
		return monthStart, monthStart.AddDate(0, 1, -1), nil
	case "last_month":
		return monthStart.AddDate(0, -1, 0), monthStart.AddDate(0, 0, -1), nil
	case "last_30_days":
		return today.AddDate(0, 0, -29), today, nil
	case "last_90_days":
		return today.AddDate(0, 0, -89), today, nil
	}
	return first, last, domain.FieldError(domain.CodeInvalidRequest, "period",
		"period must be current_month, last_month, last_30_days or last_90_days.")
}

func (r UsageRange) dates() (first, last time.Time, err error) {
	bad := func(field, message string) error {
		return domain.FieldError(domain.CodeInvalidDateRange, field, message)
	}
	first, err = time.Parse(time.DateOnly, r.StartDate)
	if err != nil {
		return first, last, bad("start_date", "start_date and end_date must both be given as YYYY-MM-DD.")
	}
	last, err = time.Parse(time.DateOnly, r.EndDate)
	switch {
	case err != nil:
		return first, last, bad("end_date", "start_date and end_date must both be given as YYYY-MM-DD.")
	case last.Before(first):
		return first, last, bad("end_date", "end_date must not be before start_date.")
	case last.Sub(first) >= maxUsageDays*24*time.Hour:
		return first, last, bad("end_date", "The range must be 366 days or shorter.")
	}
	return first, last, nil
}
