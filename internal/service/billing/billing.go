// Package billing holds what partners and operators do about subscriptions,
// usage, invoices and payments. The ledger, which does the arithmetic in the
// caller's transaction, is internal/billing.
package billing

import (
	"context"
	"log/slog"
	"time"

	"candor/db"
	ledger "candor/internal/billing"
	"candor/internal/domain"
	"candor/internal/service/audit"
	"candor/internal/statement"
)

// Config is what billing needs.
type Config struct {
	DB     *db.DB
	Clock  domain.Clock
	Logger *slog.Logger
	Ledger *ledger.Ledger
	Cards  Cards // nil: invoices are paid by bank transfer
	Audit  *audit.Service
}

// Service holds the use cases of ledger. It is safe for concurrent use.
type Service struct{ Config }

// New returns a Service.
func New(c Config) *Service { return &Service{c} }

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

	Limits     domain.SpendLimits
	CapReached bool // the next session would go beyond Limits.Cap (D68)

	Projection *domain.Projection // nil on a period's first day, and once it is cancelled
}

// project extends what was used to the whole period. It returns nil on the
// period's first day, which is too short for a projection.
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
		return nil, db.MissingAs(err, domain.ErrSubscriptionNotFound)
	}
	owner, err := s.DB.Account(ctx, account)
	if err != nil {
		return nil, err
	}
	running, err := ledger.RunningOf(ctx, &s.DB.Queries, subscription, now)
	if err != nil {
		return nil, err
	}
	out := &CurrentSubscription{
		Subscription: *subscription, Period: running.Period, Used: running.Used, Carried: running.Carried,
		BillingEmail: owner.BillingEmail,
		InvoiceDate:  *subscription.Closing(running.Period.Start), Lines: running.Lines(),
	}
	out.GST = domain.GSTIn(out.Lines.Total(), s.Ledger.Terms.GSTBasisPoints)
	if out.Limits, err = s.DB.SpendLimits(ctx, account); err != nil {
		return nil, err
	}
	out.CapReached = out.Limits.Cap != nil && !running.Admits(*out.Limits.Cap)
	out.Projection = project(running.Stretches, out, now)
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
		_, carry, err = s.Ledger.Following(ctx, tx, account, s.Clock.Now())
		return err
	})
	return carry, err
}
