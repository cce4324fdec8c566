// Package billing keeps the books: it closes billing periods, makes invoices,
// moves subscriptions from plan to plan and to their end, and settles what is
// owed. It works in the caller's transactions. It knows no HTTP, no staff and
// no payment provider's details.
package billing

import (
	"context"
	"errors"
	"time"

	"candor/db"
	"candor/internal/domain"
)

// Grace is how long after its end a period is closed. Servers' clocks may
// differ by less; a session that comes later yet counts in the next period.
const Grace = time.Minute

// Events records what partners are told of, by webhook or by letter, in the
// caller's transaction.
type Events interface {
	BillingEvent(ctx context.Context, tx *db.Tx, account domain.AccountID, p domain.Payload, now time.Time) error
	InvoiceEmail(ctx context.Context, tx *db.Tx, id domain.InvoiceID) error
	PaymentFailedEmail(ctx context.Context, tx *db.Tx, i *domain.Invoice) error
	UsageEmail(ctx context.Context, tx *db.Tx, account domain.AccountID, percent int) error
}

// Terms are what invoices are made by.
type Terms struct {
	GSTBasisPoints int // of the amount without it; 1000 is 10 %, 0 for no GST
	DueDays        int // after an invoice was made; 0 where it is collected at once
	Seller         domain.Seller
}

// TermsOf are those that an invoice was made by; without a seller where its
// isn't known.
func TermsOf(i *domain.Invoice) Terms {
	return Terms{GSTBasisPoints: i.GSTBasisPoints, DueDays: int(i.DueAt.Sub(i.IssuedAt) / (24 * time.Hour)), Seller: i.IssuedBy()}
}

// Ledger keeps the books of all accounts.
type Ledger struct {
	Events Events
	Terms  Terms
}

// Close makes the invoices for all periods of a locked subscription that ended
// at now or before, and opens the one that now is in. Called again it changes
// nothing.
func (b *Ledger) Close(ctx context.Context, tx *db.Tx, s *domain.Subscription, now time.Time) error {
	for s.ClosesAt != nil && !s.ClosesAt.After(now) {
		if err := b.closePeriod(ctx, tx, s, now); err != nil {
			return err
		}
	}
	return nil
}

// closePeriod makes the invoice for a subscription's open period.
func (b *Ledger) closePeriod(ctx context.Context, tx *db.Tx, s *domain.Subscription, now time.Time) error {
	invoice, err := b.invoice(ctx, tx, s, now)
	if err != nil {
		return err
	}
	s.BilledTo = *s.ClosesAt
	s.ClosesAt = s.Closing(s.BilledTo)
	if s.NextPlanID != nil && s.ClosesAt != nil {
		next, err := tx.Plan(ctx, *s.NextPlanID)
		if err != nil {
			return err
		}
		s.Plan, s.NextPlanID = *next, nil
	}
	if err := tx.UpdateSubscription(ctx, s); err != nil {
		return err
	}
	if invoice.Number, err = tx.NextInvoiceNumber(ctx); err != nil {
		return err
	}
	if err := tx.InsertInvoice(ctx, invoice); err != nil {
		return err
	}
	if invoice.Status == domain.InvoicePaid {
		return b.Events.BillingEvent(ctx, tx, invoice.AccountID, domain.NewInvoicePaidPayload(invoice), now)
	}
	return b.Events.InvoiceEmail(ctx, tx, invoice.ID)
}

// invoice is what a subscription's open period comes to. One of nothing is paid
// at once (D46).
func (b *Ledger) invoice(ctx context.Context, tx *db.Tx, s *domain.Subscription, now time.Time) (*domain.Invoice, error) {
	account, err := tx.Account(ctx, s.AccountID)
	if err != nil {
		return nil, err
	}
	stretches, err := tx.PlanStretches(ctx, s)
	if err != nil {
		return nil, err
	}
	used, err := tx.UsedSessions(ctx, s.AccountID, s.BilledTo)
	if err != nil {
		return nil, err
	}
	i := &domain.Invoice{
		ID: domain.NewInvoiceID(), AccountID: s.AccountID, SubscriptionID: s.SubscriptionID, PeriodStart: s.BilledTo, PeriodEnd: *s.ClosesAt,
		IssuedAt: now, DueAt: now.AddDate(0, 0, b.Terms.DueDays), AccountName: account.Name, BillingEmail: account.BillingEmail,
		Currency: domain.Currency, SessionsUsed: used, Lines: domain.PriceSessions(stretches, used), GSTBasisPoints: b.Terms.GSTBasisPoints,
		Seller: &b.Terms.Seller, Status: domain.InvoiceOpen,
	}
	i.Total = i.Lines.Total()
	i.GST = domain.GSTIn(i.Total, i.GSTBasisPoints)
	i.NextAttemptAt = &i.DueAt
	if i.Total == 0 {
		i.Status, i.SettledAt, i.NextAttemptAt = domain.InvoicePaid, &now, nil
	}
	return i, nil
}

// ErrSettled says that an invoice is paid or void already.
var ErrSettled = errors.New("billing: the invoice is settled")

// Pay notes that an invoice is paid; reference says by what. ErrSettled where
// it is settled already.
func (b *Ledger) Pay(ctx context.Context, tx *db.Tx, id domain.InvoiceID, reference string, now time.Time) (*domain.Invoice, error) {
	i, err := settle(ctx, tx, id, domain.InvoicePaid, reference, now)
	if err != nil {
		return i, err
	}
	return i, b.Events.BillingEvent(ctx, tx, i.AccountID, domain.NewInvoicePaidPayload(i), now)
}

// Fail notes that a payment of an invoice failed. Once it is due it is tried
// again after 3, 5 and 7 days; then the subscription is past due. ErrSettled
// where the invoice is settled.
func (b *Ledger) Fail(ctx context.Context, tx *db.Tx, id domain.InvoiceID, reason string, now time.Time) (*domain.Invoice, error) {
	i, err := unsettled(ctx, tx, id)
	if err != nil {
		return i, err
	}
	return i, b.fail(ctx, tx, i, reason, now)
}

// ErrCounted says that the failure of an attempt is counted already.
var ErrCounted = errors.New("billing: this attempt's failure is counted")

// FailAttempt notes that the attempt which was made after so many failures
// failed, as Fail does. Who asked the provider and the provider's own word tell
// of the same attempt: the second one gets ErrCounted.
func (b *Ledger) FailAttempt(ctx context.Context, tx *db.Tx, id domain.InvoiceID, failures int, reason string, now time.Time) (*domain.Invoice, error) {
	i, err := unsettled(ctx, tx, id)
	if err == nil && i.Failures != failures {
		err = ErrCounted
	}
	if err != nil {
		return i, err
	}
	return i, b.fail(ctx, tx, i, reason, now)
}

// fail counts a failed payment of a locked invoice.
func (b *Ledger) fail(ctx context.Context, tx *db.Tx, i *domain.Invoice, reason string, now time.Time) error {
	i.Fail(reason, now)
	if err := storePayment(ctx, tx, i, now); err != nil {
		return err
	}
	if err := b.Events.PaymentFailedEmail(ctx, tx, i); err != nil {
		return err
	}
	return b.Events.BillingEvent(ctx, tx, i.AccountID, domain.NewInvoicePaymentFailedPayload(i), now)
}

// Void takes an invoice back: nothing is owed by it any more. ErrSettled where
// it is settled already.
func (b *Ledger) Void(ctx context.Context, tx *db.Tx, id domain.InvoiceID, reason string, now time.Time) (*domain.Invoice, error) {
	return settle(ctx, tx, id, domain.InvoiceVoid, reason, now)
}

func settle(ctx context.Context, tx *db.Tx, id domain.InvoiceID, as domain.InvoiceStatus, reference string, now time.Time) (*domain.Invoice, error) {
	i, err := unsettled(ctx, tx, id)
	if err != nil {
		return i, err
	}
	i.Status, i.SettledAt, i.NextAttemptAt, i.Reference = as, &now, nil, &reference
	return i, storePayment(ctx, tx, i, now)
}

func unsettled(ctx context.Context, tx *db.Tx, id domain.InvoiceID) (*domain.Invoice, error) {
	i, err := tx.LockInvoice(ctx, id)
	if err == nil && !i.Status.Unsettled() {
		err = ErrSettled
	}
	return i, err
}

// storePayment stores how the payment of a locked invoice stands, and what
// follows from it for the subscription.
func storePayment(ctx context.Context, tx *db.Tx, i *domain.Invoice, now time.Time) error {
	if err := tx.UpdatePayment(ctx, i); err != nil {
		return err
	}
	s, err := tx.LockSubscription(ctx, i.AccountID)
	if errors.Is(err, db.ErrNotFound) {
		return nil // it has ended; what is owed is owed still
	}
	if err != nil || s.Status == domain.SubscriptionCancelled || s.Ended(now) {
		return err
	}
	return setStanding(ctx, tx, s)
}

// setStanding makes a subscription past due while an invoice has failed for
// good, and active when none has.
func setStanding(ctx context.Context, tx *db.Tx, s *domain.Subscription) error {
	failed, err := tx.HasFailedInvoice(ctx, s.AccountID)
	if err != nil {
		return err
	}
	s.Status = domain.SubscriptionActive
	if failed {
		s.Status = domain.SubscriptionPastDue
	}
	return tx.UpdateSubscription(ctx, s)
}

// ErrUnchanged is returned if a subscription already is as it should become.
var ErrUnchanged = errors.New("billing: nothing to change")

// ErrEnded is returned by a change of a subscription that has ended.
var ErrEnded = errors.New("billing: the subscription has ended")

// ChangePlan moves a locked subscription to another plan: up at once, down at
// the period's end. A change down that is to come is taken back by choosing the
// present plan. ErrUnchanged where it is so already.
func (b *Ledger) ChangePlan(ctx context.Context, tx *db.Tx, s *domain.Subscription, to string, now time.Time) error {
	if err := b.Close(ctx, tx, s, now); err != nil {
		return err
	}
	plan, err := tx.Plan(ctx, to)
	if err != nil {
		return err
	}
	switch {
	case s.ClosesAt == nil:
		return ErrEnded
	case plan.ID == s.Plan.ID && s.NextPlanID == nil, s.NextPlanID != nil && *s.NextPlanID == plan.ID:
		return ErrUnchanged
	case plan.ID == s.Plan.ID:
		s.NextPlanID = nil
	case plan.Rank < s.Plan.Rank:
		s.NextPlanID = &plan.ID
	default:
		used, err := tx.UsedSessions(ctx, s.AccountID, s.BilledTo)
		if err != nil {
			return err
		}
		if err := tx.InsertPlanChange(ctx, s, plan.ID, used, now); err != nil {
			return err
		}
		s.Plan, s.NextPlanID = *plan, nil
	}
	return tx.UpdateSubscription(ctx, s)
}

// Cancel ends a locked subscription: at once, or at the end of its period. No
// live session can be created from now on (D32). Those that there are come
// before the end, however slow this server's clock is.
func (b *Ledger) Cancel(ctx context.Context, tx *db.Tx, s *domain.Subscription, atOnce bool, reason string, now time.Time) error {
	if err := b.Close(ctx, tx, s, now); err != nil {
		return err
	}
	now, err := afterAll(ctx, tx, s, s.CountedAt(now))
	if err != nil {
		return err
	}
	if err := b.Close(ctx, tx, s, now); err != nil {
		return err
	}
	if s.ClosesAt == nil {
		return ErrEnded
	}
	effective := now
	if !atOnce {
		if s.Status == domain.SubscriptionCancelled {
			return ErrUnchanged
		}
		effective = *s.ClosesAt
	}
	s.Status, s.EffectiveAt, s.ClosesAt, s.Reason, s.NextPlanID = domain.SubscriptionCancelled, &effective, &effective, &reason, nil
	if err := tx.UpdateSubscription(ctx, s); err != nil {
		return err
	}
	if err := b.Events.BillingEvent(ctx, tx, s.AccountID, domain.NewSubscriptionCancelledPayload(s), now); err != nil {
		return err
	}
	return b.Close(ctx, tx, s, now)
}

// afterAll returns now, or the moment after the latest session of a locked
// subscription where that was made by a faster clock.
func afterAll(ctx context.Context, tx *db.Tx, s *domain.Subscription, now time.Time) (time.Time, error) {
	latest, err := tx.LatestLiveSession(ctx, s.AccountID, s.BilledTo)
	if errors.Is(err, db.ErrNotFound) {
		return now, nil
	}
	return later(now, latest.Add(time.Millisecond)), err
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Reactivate takes back the cancellation of a locked subscription before it
// takes effect. Returns ErrUnchanged if it isn't cancelled, ErrEnded if it has
// ended.
func (b *Ledger) Reactivate(ctx context.Context, tx *db.Tx, s *domain.Subscription, now time.Time) error {
	if s.Status != domain.SubscriptionCancelled {
		return ErrUnchanged
	}
	if s.Ended(now) {
		return ErrEnded
	}
	s.EffectiveAt, s.Reason = nil, nil
	s.ClosesAt = s.Closing(s.BilledTo)
	return setStanding(ctx, tx, s)
}

// Start subscribes an account to a plan at now, or where the subscription before
// ended, if that was later by another clock.
func (b *Ledger) Start(ctx context.Context, tx *db.Tx, account domain.AccountID, plan string, now time.Time) (*domain.Subscription, error) {
	of, err := tx.Plan(ctx, plan)
	if err != nil {
		return nil, err
	}
	now, carry, err := b.Following(ctx, tx, account, now)
	if err != nil {
		return nil, err
	}
	s := &domain.Subscription{
		Plan: *of, SubscriptionID: domain.NewSubscriptionID(), AccountID: account, Status: domain.SubscriptionActive, StartedAt: now, BilledTo: now,
		Carry: carry,
	}
	s.ClosesAt = s.Closing(now)
	if err := tx.InsertSubscription(ctx, s); err != nil {
		return nil, err
	}
	return s, setStanding(ctx, tx, s)
}

// Following is when a subscription of the account's can start, now at the
// earliest, and what it carries from the one before.
func (b *Ledger) Following(ctx context.Context, tx *db.Tx, account domain.AccountID, now time.Time) (time.Time, domain.Carry, error) {
	former, err := tx.LastSubscription(ctx, account)
	if errors.Is(err, db.ErrNotFound) {
		return now, domain.Carry{}, nil
	}
	if err != nil || former.EffectiveAt == nil {
		return now, domain.Carry{}, err
	}
	now = later(now, former.EffectiveAt.UTC())
	used, err := tx.UsedSessions(ctx, account, former.PeriodAt(*former.EffectiveAt).Start)
	return now, former.CarryTo(now, used), err
}
