package billing_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"candor/internal/billing"
	"candor/internal/domain"
	"candor/internal/testkit/servicetest"
)

// A payment that the worker made for an invoice which was settled otherwise is
// money to be returned; the same payment, reported by the webhook first, is not.
func TestWorkerReportsAPaymentTooMany(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"transfer 7": true, "pi_1": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newPayFixture(t)
			charge := &telling{outcome: billing.Outcome{State: billing.Paid, Reference: "pi_1"}, before: func() {
				_, err := b.Billing.MarkPaid(b.Ctx, b.id, servicetest.Someone, name)
				b.OK(err)
			}}
			runner := billing.Runner{DB: b.DB, Provider: charge, Ledger: &billing.Ledger{Events: b.Outbox}, Logger: b.Logger}
			b.OK(runner.Run(b.Ctx, b.Clock.Now()))
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
	b := newPayFixture(t)
	status := func(want domain.SubscriptionStatus) {
		b.Helper()
		s, err := b.Billing.Subscription(b.Ctx, b.Account.AccountID)
		if b.OK(err); s.Status != want {
			b.Errorf("the subscription is %s, want %s", s.Status, want)
		}
	}
	for i, id := range []string{"evt_0", "evt_1", "evt_2", "evt_3"} {
		status(domain.SubscriptionActive)
		b.tell(failure(b, id, i))
	}
	status(domain.SubscriptionPastDue)
	b.tell(method("evt_card", "pm_1", servicetest.Start))
	if b.nextAttempt().IsZero() {
		t.Error("with a new card it isn't tried again")
	}
	second := b.owe(0)
	_, err := b.Billing.MarkFailed(b.Ctx, second, servicetest.Someone, "The cheque was returned.")
	b.OK(err)
	status(domain.SubscriptionPastDue)
	b.OK(b.Billing.Cancel(b.Ctx, b.Account.AccountID, servicetest.Someone, false, "for a while"))
	b.OK(b.Billing.Reactivate(b.Ctx, b.Account.AccountID, servicetest.Someone))
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

// A provider that hangs doesn't keep accounts from usage emails, and its
// payment is tried again.
func TestProviderHangs(t *testing.T) {
	t.Parallel()
	b := newBiller(t)
	b.use(11)
	ended := servicetest.Start.AddDate(0, 1, 0).Add(time.Minute)
	b.Offset.Store(int64(ended.Sub(servicetest.Start)))
	b.use(8)
	run := func(answers bool, at time.Time) error {
		ctx, cancel := context.WithCancel(b.Ctx)
		defer cancel()
		runner := *b.runner
		runner.Provider = &hanging{stop: cancel, answers: answers}
		return runner.Run(ctx, at)
	}
	if err := run(false, ended); err == nil {
		t.Error("an unknown payment is no error")
	}
	b.sharesSent("80")
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
	ended := servicetest.Start.AddDate(0, 1, 0).Add(time.Minute)
	for _, left := range []time.Duration{billing.PaymentTimeout - time.Second, billing.RunTimeout} {
		ctx, cancel := context.WithTimeout(b.Ctx, left)
		defer cancel()
		b.OK(b.runner.Run(ctx, ended))
		if got, want := b.bank.charges > 0, left == billing.RunTimeout; got != want {
			t.Errorf("with %s left: tried %v, want %v", left, got, want)
		}
	}
}
