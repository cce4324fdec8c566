package billing

import (
	"context"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/statement"
)

// Running is a subscription's running period with what was used in it.
type Running struct {
	Period    domain.Period
	Used      int
	Carried   int // of an interrupted period, against the included ones of this one
	Stretches []domain.PlanStretch
}

// RunningOf returns the period that runs at now. In the moment between a period's
// end and its closing the next one runs already: then RunningOf gives s the plan
// of that one.
func RunningOf(ctx context.Context, q *db.Queries, s *domain.Subscription, now time.Time) (*Running, error) {
	r := &Running{Period: s.PeriodAt(s.CountedAt(now))}
	r.Carried = s.CarriedIn(r.Period.Start)
	var err error
	if r.Used, err = q.UsedSessions(ctx, s.AccountID, r.Period.Start); err != nil {
		return nil, err
	}
	if r.Period.Start.Equal(s.BilledTo) {
		r.Stretches, err = q.PlanStretches(ctx, s)
		return r, err
	}
	if s.NextPlanID != nil {
		plans, err := q.Plans(ctx)
		if err != nil {
			return nil, err
		}
		for _, plan := range plans {
			if plan.ID == *s.NextPlanID {
				s.Plan = plan
			}
		}
		s.NextPlanID = nil
	}
	r.Stretches = []domain.PlanStretch{{Plan: s.Plan}}
	return r, nil
}

// Lines are what the period comes to so far.
func (r *Running) Lines() domain.InvoiceLines { return domain.PriceSessions(r.Stretches, r.Used) }

// Admits reports whether another session can be created under a spend cap: it
// costs nothing, or the period stays within the cap (D68).
func (r *Running) Admits(limit statement.Cents) bool {
	next := r.Total(r.Used + 1)
	return next <= limit || next == r.Total(r.Used)
}

// Reached returns which of an account's limits the period has reached.
func (r *Running) Reached(account domain.AccountID, limits domain.SpendLimits) []domain.SpendNotice {
	var out []domain.SpendNotice
	for _, alert := range limits.Alerts {
		if r.Total(r.Used) >= alert {
			out = append(out, domain.SpendNotice{AccountID: account, PeriodStart: r.Period.Start, Cents: alert})
		}
	}
	if limits.Cap != nil && !r.Admits(*limits.Cap) {
		out = append(out, domain.SpendNotice{AccountID: account, PeriodStart: r.Period.Start, Cents: *limits.Cap, Cap: true})
	}
	return out
}

// Total is what the period comes to once so many sessions are used, in cents.
func (r *Running) Total(used int) statement.Cents {
	return domain.PriceSessions(r.Stretches, used).Total()
}
