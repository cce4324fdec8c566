package service_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"candor/internal/billing"
	"candor/internal/domain"
)

// A payment that the worker made for an invoice which was settled otherwise is
// money to be returned; that very payment, told by the webhook first, is none.
func TestWorkerReportsAPaymentTooMany(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"transfer 7": true, "pi_1": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newPayBench(t)
			charge := &telling{outcome: billing.Outcome{State: billing.Paid, Reference: "pi_1"}, before: func() {
				_, err := b.Billing.MarkPaid(b.ctx, b.id, someone, name)
				b.ok(err)
			}}
			runner := billing.Runner{DB: b.DB, Provider: charge, Ledger: &billing.Ledger{Events: b.Outbox}, Logger: b.Logger}
			b.ok(runner.Run(b.ctx, b.Clock.Now()))
			log := b.logs.String()
			got := strings.Contains(log, "level=ERROR") && strings.Contains(log, "a payment came for a settled invoice") &&
				strings.Contains(log, "invoice=CAN-000001") && strings.Contains(log, "reference=pi_1")
			if got != want || strings.Contains(log, "lender.example") {
				t.Errorf("reported: %v, want %v: %s", got, want, log)
			}
			b.stands(domain.InvoicePaid, 0, 1, 0)
		})
	}
}

// A stored card alone pays nothing: a subscription that is past due stays so
// until the invoice is settled.
func TestStoredCardDoesNotEndPastDue(t *testing.T) {
	t.Parallel()
	b := newPayBench(t)
	status := func(want domain.SubscriptionStatus) {
		b.Helper()
		s, err := b.Billing.Subscription(b.ctx, b.account.AccountID)
		if b.ok(err); s.Status != want {
			b.Errorf("the subscription is %s, want %s", s.Status, want)
		}
	}
	for i, id := range []string{"evt_0", "evt_1", "evt_2", "evt_3"} {
		status(domain.SubscriptionActive)
		b.tell(failure(b, id, i))
	}
	status(domain.SubscriptionPastDue)
	b.tell(method("evt_card", "pm_1", start))
	if b.nextAttempt().IsZero() {
		t.Error("with a new card it isn't tried again")
	}
	second := b.owe()
	_, err := b.Billing.MarkFailed(b.ctx, second, someone, "The cheque was returned.")
	b.ok(err)
	status(domain.SubscriptionPastDue)
	b.ok(b.Billing.Cancel(b.ctx, b.account.AccountID, someone, false, "for a while"))
	b.ok(b.Billing.Reactivate(b.ctx, b.account.AccountID, someone))
	status(domain.SubscriptionPastDue)
	b.tell(failure(b, "evt_4", 4))
	status(domain.SubscriptionPastDue)
	b.tell(b.paid())
	status(domain.SubscriptionActive) // the second is tried again by itself
}

// hanging is a provider that answers when the run is over: with an error, or
// with a payment.
type hanging struct {
	stop    context.CancelFunc
	answers bool
}

func (*hanging) Name() string { return "hanging" }

func (h *hanging) Charge(ctx context.Context, _ *domain.Invoice) (billing.Outcome, error) {
	h.stop()
	<-ctx.Done()
	if h.answers {
		return billing.Outcome{State: billing.Paid, Reference: "payment 1"}, nil
	}
	return billing.Outcome{}, ctx.Err()
}

// A provider that hangs keeps no account from being told of its usage, and its
// payment is tried again.
func TestProviderHangs(t *testing.T) {
	t.Parallel()
	b := newBiller(t)
	b.use(11)
	ended := start.AddDate(0, 1, 0).Add(time.Minute)
	b.offset.Store(int64(ended.Sub(start)))
	b.use(8)
	run := func(answers bool, at time.Time) error {
		ctx, cancel := context.WithCancel(b.ctx)
		defer cancel()
		runner := *b.runner
		runner.Provider = &hanging{stop: cancel, answers: answers}
		return runner.Run(ctx, at)
	}
	if err := run(false, ended); err == nil {
		t.Error("a payment nobody knows of is no error")
	}
	b.toldOf("80")
	if i := b.last(); i.Status != domain.InvoiceOpen || i.Failures != 0 || i.NextAttemptAt.Sub(ended) < billing.RunTimeout {
		t.Errorf("the invoice is %+v, want it open and tried again after this run", i)
	}
	if err := run(true, ended.Add(time.Minute)); err != nil {
		t.Errorf("while another may be at it: %v", err)
	}
	if i := b.last(); i.Status != domain.InvoiceOpen {
		t.Errorf("it was tried by two at once: %+v", i)
	}
	_ = run(true, ended.Add(20*time.Minute))
	if i := b.last(); i.Status != domain.InvoicePaid || *i.Reference != "payment 1" {
		t.Errorf("a payment that came at the last moment isn't stored: %+v", i)
	}
}

// A payment isn't begun when there is no time to end it.
func TestPaymentNeedsItsTime(t *testing.T) {
	t.Parallel()
	b := newBiller(t)
	b.use(11)
	ended := start.AddDate(0, 1, 0).Add(time.Minute)
	for _, left := range []time.Duration{billing.PaymentTimeout - time.Second, billing.RunTimeout} {
		ctx, cancel := context.WithTimeout(b.ctx, left)
		defer cancel()
		b.ok(b.runner.Run(ctx, ended))
		if got, want := b.bank.charges > 0, left == billing.RunTimeout; got != want {
			t.Errorf("with %s left: tried %v, want %v", left, got, want)
		}
	}
}
