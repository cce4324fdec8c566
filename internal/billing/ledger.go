// Package billing keeps the ledger: it closes billing periods, issues
// invoices, changes and ends subscriptions, and settles invoices. It works in
// the caller's transactions. It knows no HTTP, no staff and no payment
// provider's details.
package billing

import (
	"context"
	"errors"
	"time"

	"candor/db"
	"candor/internal/domain"
)

// Grace is the time between the end of a period and its closing. Servers'
// clocks differ by less. A session that arrives later counts in the next
// period.
const Grace = time.Minute

// ShortestPeriod is the length below which a period in which no session was
// used has no invoice (D66): its start and end would read the same.
const ShortestPeriod = time.Minute

// Events sends partners webhooks and emails, in the caller's transaction.
type Events interface {
	BillingEvent(ctx context.Context, tx *db.Tx, account domain.AccountID, p domain.Payload, now time.Time) error
	InvoiceEmail(ctx context.Context, tx *db.Tx, id domain.InvoiceID) error
	ReceiptEmail(ctx context.Context, tx *db.Tx, id domain.InvoiceID) error
	ReminderEmail(ctx context.Context, tx *db.Tx, id domain.InvoiceID) error
	PaymentFailedEmail(ctx context.Context, tx *db.Tx, i *domain.Invoice) error
	SpendEmail(ctx context.Context, tx *db.Tx, n domain.SpendNotice) error
	UsageEmail(ctx context.Context, tx *db.Tx, account domain.AccountID, percent int) error
}

// Terms are the terms of an invoice.
type Terms struct {
	GSTBasisPoints int // of the amount without it; 1000 is 10 %, 0 for no GST
	DueDays        int // after the invoice is issued
	Seller         domain.Seller
	Contact        string // email address for questions about invoices, "" for none
}

// dueAt returns when an invoice that is issued at now is due. A transfer can arrive until
// the end of the date that the invoice shows, UTC.
func (t Terms) dueAt(now time.Time) time.Time {
	if t.Seller.Cards {
		return now.AddDate(0, 0, t.DueDays)
	}
	return now.UTC().Truncate(24*time.Hour).AddDate(0, 0, t.DueDays+1).Add(-time.Millisecond)
}

// TermsOf returns the terms of an invoice.
func TermsOf(i *domain.Invoice) Terms {
	return Terms{GSTBasisPoints: i.GSTBasisPoints, DueDays: int(i.DueAt.Sub(i.IssuedAt) / (24 * time.Hour)), Seller: i.Seller}
}

// A Ledger holds the invoices and subscriptions of all accounts.
type Ledger struct {
	Events Events
	Terms  Terms
}

// Close invoices all periods of a locked subscription that have ended by now,
// and opens the current one. It is idempotent.
func (l *Ledger) Close(ctx context.Context, tx *db.Tx, s *domain.Subscription, now time.Time) error {
	for s.ClosesAt != nil && !s.ClosesAt.After(now) {
		if err := l.closePeriod(ctx, tx, s, now); err != nil {
			return err
		}
	}
	return nil
}

// closePeriod invoices a subscription's open period, unless it is shorter than
// ShortestPeriod and unused.
func (l *Ledger) closePeriod(ctx context.Context, tx *db.Tx, s *domain.Subscription, now time.Time) error {
	invoice, err := l.invoice(ctx, tx, s, now)
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
	if invoice.SessionsUsed == 0 && invoice.PeriodEnd.Sub(invoice.PeriodStart) < ShortestPeriod {
		return nil
	}
	if invoice.Number, err = tx.NextInvoiceNumber(ctx); err != nil {
		return err
	}
	if err := tx.InsertInvoice(ctx, invoice); err != nil {
		return err
	}
	if invoice.Status == domain.InvoicePaid {
		return l.Events.BillingEvent(ctx, tx, invoice.AccountID, domain.NewInvoicePaidPayload(invoice), now)
	}
	return l.Events.InvoiceEmail(ctx, tx, invoice.ID)
}

// invoice returns the invoice for a subscription's open period. An invoice of
// $0 is paid at once (D46).
func (l *Ledger) invoice(ctx context.Context, tx *db.Tx, s *domain.Subscription, now time.Time) (*domain.Invoice, error) {
	account, err := tx.Account(ctx, s.AccountID)
	if err != nil {
		return nil, err
	}
	buyer, err := tx.Buyer(ctx, s.AccountID)
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
		ID: domain.NewInvoiceID(), AccountID: s.AccountID, SubscriptionID: s.SubscriptionID, PeriodStart: s.BilledTo,
		PeriodEnd: *s.ClosesAt,
		IssuedAt:  now, DueAt: l.Terms.dueAt(now), AccountName: account.Name, BillingEmail: account.BillingEmail,
		Currency: domain.Currency, SessionsUsed: used, Lines: domain.PriceSessions(stretches, used),
		GSTBasisPoints: l.Terms.GSTBasisPoints,
		Seller:         l.Terms.Seller, Buyer: buyer, Status: domain.InvoiceOpen,
	}
	i.Total = i.Lines.Total()
	i.GST = domain.GSTIn(i.Total, i.GSTBasisPoints)
	i.NextAttemptAt = &i.DueAt
	if i.Total == 0 {
		i.Status, i.SettledAt, i.NextAttemptAt = domain.InvoicePaid, &now, nil
	}
	return i, nil
}

// ErrSettled is returned if an invoice is already paid or void.
var ErrSettled = errors.New("billing: the invoice is settled")

// Pay marks an invoice as paid and sends its receipt; reference identifies the
// payment. Returns ErrSettled if the invoice is already settled.
func (l *Ledger) Pay(ctx context.Context, tx *db.Tx, id domain.InvoiceID, reference string,
	now time.Time) (*domain.Invoice, error) {
	i, err := settle(ctx, tx, id, domain.InvoicePaid, reference, now)
	if err != nil {
		return i, err
	}
	if err := l.Events.ReceiptEmail(ctx, tx, i.ID); err != nil {
		return i, err
	}
	return i, l.Events.BillingEvent(ctx, tx, i.AccountID, domain.NewInvoicePaidPayload(i), now)
}

// Fail records a failed payment of an invoice. A due invoice is tried again
// after 3, 5 and 7 days; then the subscription is past due. Returns ErrSettled
// if the invoice is already settled.
func (l *Ledger) Fail(ctx context.Context, tx *db.Tx, id domain.InvoiceID, reason string, now time.Time) (*domain.Invoice,
	error) {
	i, err := unsettled(ctx, tx, id)
	if err != nil {
		return i, err
	}
	i.Fail(reason, now)
	return i, l.reportFailure(ctx, tx, i, now)
}

// ErrCounted is returned if the failure of an attempt has been counted.
var ErrCounted = errors.New("billing: this attempt's failure is counted")

// FailAttempt is Fail for an attempt; begun is the invoice as it was then: its ID, its
// Failures and its NextAttemptAt. The charge and the provider's event report the same
// failure: the second report gets ErrCounted. A next attempt that was brought forward
// since, because a card was stored, stays as it is.
func (l *Ledger) FailAttempt(ctx context.Context, tx *db.Tx, begun *domain.Invoice, reason string, now time.Time) error {
	i, err := unsettled(ctx, tx, begun.ID)
	if err == nil && i.Failures != begun.Failures {
		err = ErrCounted
	}
	if err != nil {
		return err
	}
	next := i.NextAttemptAt
	i.Fail(reason, now)
	if next != nil && next.Before(*begun.NextAttemptAt) {
		i.NextAttemptAt = next
	}
	return l.reportFailure(ctx, tx, i, now)
}

// reportFailure stores a failed payment of a locked invoice and tells the account.
func (l *Ledger) reportFailure(ctx context.Context, tx *db.Tx, i *domain.Invoice, now time.Time) error {
	if err := storePayment(ctx, tx, i, now); err != nil {
		return err
	}
	if err := l.Events.PaymentFailedEmail(ctx, tx, i); err != nil {
		return err
	}
	return l.Events.BillingEvent(ctx, tx, i.AccountID, domain.NewInvoicePaymentFailedPayload(i), now)
}

// Void voids an invoice: it is no longer owed. Returns ErrSettled if the
// invoice is already settled.
func (l *Ledger) Void(ctx context.Context, tx *db.Tx, id domain.InvoiceID, reason string, now time.Time) (*domain.Invoice,
	error) {
	return settle(ctx, tx, id, domain.InvoiceVoid, reason, now)
}

func settle(ctx context.Context, tx *db.Tx, id domain.InvoiceID, as domain.InvoiceStatus, reference string,
	now time.Time) (*domain.Invoice, error) {
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

// storePayment stores the payment fields of a locked invoice, and updates the
// subscription's status.
func storePayment(ctx context.Context, tx *db.Tx, i *domain.Invoice, now time.Time) error {
	if err := tx.UpdatePayment(ctx, i); err != nil {
		return err
	}
	s, err := tx.LockSubscription(ctx, i.AccountID)
	if errors.Is(err, db.ErrNotFound) {
		return nil // the subscription has ended; its invoices are still owed
	}
	if err != nil || s.Status == domain.SubscriptionCancelled || s.Ended(now) {
		return err
	}
	return updateStatus(ctx, tx, s)
}

// updateStatus makes a subscription past due if an invoice has failed for
// good, and active if none has.
func updateStatus(ctx context.Context, tx *db.Tx, s *domain.Subscription) error {
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

// ErrUnchanged is returned if a change would change nothing.
var ErrUnchanged = errors.New("billing: nothing to change")

// ErrEnded is returned by a change of a subscription that has ended.
var ErrEnded = errors.New("billing: the subscription has ended")

// ChangePlan moves a locked subscription, in its open period, to another plan: up at
// once, down at the period's end. Choosing the current plan cancels a pending change down.
// Returns ErrUnchanged if that is or will be the plan already.
func (l *Ledger) ChangePlan(ctx context.Context, tx *db.Tx, s *domain.Subscription, plan *domain.Plan, now time.Time) error {
	switch s.MoveTo(plan) {
	case domain.PlanUnchanged, domain.PlanPending:
		return ErrUnchanged
	case domain.PlanKept:
		s.NextPlanID = nil
	case domain.PlanDown:
		s.NextPlanID = &plan.ID
	case domain.PlanUp:
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

// Cancel ends a locked subscription, at once or at the end of its period. Live
// sessions can't be created after it (D32). The end is after every existing
// session, even if this server's clock is slow.
func (l *Ledger) Cancel(ctx context.Context, tx *db.Tx, s *domain.Subscription, atOnce bool, reason string, now time.Time) error {
	if err := l.Close(ctx, tx, s, now); err != nil {
		return err
	}
	now, err := afterAll(ctx, tx, s, s.CountedAt(now))
	if err != nil {
		return err
	}
	if err := l.Close(ctx, tx, s, now); err != nil {
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
	if err := l.Events.BillingEvent(ctx, tx, s.AccountID, domain.NewSubscriptionCancelledPayload(s), now); err != nil {
		return err
	}
	return l.Close(ctx, tx, s, now)
}

// afterAll returns now, or a time just after the latest session of a locked
// subscription if a faster clock made that session.
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

// Reactivate undoes the cancellation of a locked subscription before it takes
// effect. Returns ErrUnchanged if it isn't cancelled, ErrEnded if it has
// ended.
func (l *Ledger) Reactivate(ctx context.Context, tx *db.Tx, s *domain.Subscription, now time.Time) error {
	if s.Status != domain.SubscriptionCancelled {
		return ErrUnchanged
	}
	if s.Ended(now) {
		return ErrEnded
	}
	s.EffectiveAt, s.Reason = nil, nil
	s.ClosesAt = s.Closing(s.BilledTo)
	return updateStatus(ctx, tx, s)
}

// Start subscribes an account to a plan at now, or at the end of the former
// subscription if a faster clock set that later.
func (l *Ledger) Start(ctx context.Context, tx *db.Tx, account domain.AccountID, plan string,
	now time.Time) (*domain.Subscription, error) {
	of, err := tx.Plan(ctx, plan)
	if err != nil {
		return nil, err
	}
	now, carry, err := l.Following(ctx, tx, account, now)
	if err != nil {
		return nil, err
	}
	s := &domain.Subscription{
		Plan: *of, SubscriptionID: domain.NewSubscriptionID(), AccountID: account, Status: domain.SubscriptionActive, StartedAt: now,
		BilledTo: now,
		Carry:    carry,
	}
	s.ClosesAt = s.Closing(now)
	if err := tx.InsertSubscription(ctx, s); err != nil {
		return nil, err
	}
	return s, updateStatus(ctx, tx, s)
}

// Following returns when the account's next subscription can start, now at the
// earliest, and the sessions that it carries from the former one.
func (l *Ledger) Following(ctx context.Context, tx *db.Tx, account domain.AccountID, now time.Time) (time.Time,
	domain.Carry, error) {
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
