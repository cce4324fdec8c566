package billing_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"candor/db"
	"candor/internal/billing"
	"candor/internal/domain"
	"candor/internal/testkit/servicetest"
)

// payFixture is a fixture whose account owes an invoice, with a customer at the
// provider.
type payFixture struct {
	*servicetest.Fixture
	id   domain.InvoiceID
	logs *bytes.Buffer
}

func newPayFixture(t *testing.T) *payFixture {
	t.Helper()
	logs := new(bytes.Buffer)
	b := &payFixture{logs: logs, Fixture: servicetest.NewFixture(t, func(c *servicetest.Config) {
		c.Logger = slog.New(slog.NewTextHandler(logs, nil))
	})}
	b.id = b.owe(0)
	b.OK(b.DB.SetCustomer(b.Ctx, &db.PaymentMethod{AccountID: b.Account.AccountID, Provider: "stripe", CustomerID: "cus_1"}, ""))
	return b
}

// owe makes an invoice of 123.45 dollars, due in so many days, for a month that the
// account hasn't been billed for.
func (b *payFixture) owe(days int) domain.InvoiceID {
	b.Helper()
	now := b.Clock.Now()
	due := now.AddDate(0, 0, days)
	subscription, err := b.DB.Subscription(b.Ctx, b.Account.AccountID, now)
	b.OK(err)
	i := &domain.Invoice{
		ID: domain.NewInvoiceID(), AccountID: b.Account.AccountID, SubscriptionID: subscription.SubscriptionID, IssuedAt: now,
		DueAt:       due,
		AccountName: "Lender", BillingEmail: "owner@lender.example", Currency: "AUD", Total: 12_345, Status: domain.InvoiceOpen,
		NextAttemptAt: &due,
	}
	b.OK(b.DB.InTx(b.Ctx, func(tx *db.Tx) (err error) {
		if i.Number, err = tx.NextInvoiceNumber(b.Ctx); err != nil {
			return err
		}
		i.PeriodStart = now.AddDate(0, -int(i.Number), 0)
		i.PeriodEnd = i.PeriodStart.AddDate(0, 1, 0)
		return tx.InsertInvoice(b.Ctx, i)
	}))
	return i.ID
}

// tell passes an event on, and the clock by a second.
func (b *payFixture) tell(e billing.ProviderEvent) {
	b.Helper()
	b.OK(b.Billing.ProviderEvent(b.Ctx, "stripe", e))
	b.Pass(time.Second)
}

func (b *payFixture) paid() billing.ProviderEvent {
	return billing.ProviderEvent{ID: "evt_paid", Kind: billing.EventPaid, InvoiceID: b.id, Reference: "pi_1", Amount: 12_345}
}

func failure(b *payFixture, id string, failures int) billing.ProviderEvent {
	return billing.ProviderEvent{ID: id, Kind: billing.EventPaymentFailed, InvoiceID: b.id, Failures: failures,
		Reference: "pi_" + id, Reason: "The card has expired."}
}

func method(id, card string, at time.Time) billing.ProviderEvent {
	return billing.ProviderEvent{ID: id, Kind: billing.EventMethodAdded, CustomerID: "cus_1", MethodID: card, Label: "Visa " + card,
		MethodAt: at}
}

// stands reports an invoice that isn't in this state, and events that aren't
// as many.
func (b *payFixture) stands(status domain.InvoiceStatus, failures, paidEvents, failedEvents int) {
	b.Helper()
	i, err := b.DB.InvoiceByID(b.Ctx, b.id)
	b.OK(err)
	if i.Status != status || i.Failures != failures {
		b.Errorf("the invoice is %s after %d failures, want %s after %d", i.Status, i.Failures, status, failures)
	}
	for kind, want := range map[domain.EventType]int{domain.BillingInvoicePaid: paidEvents,
		domain.BillingInvoicePaymentFailed: failedEvents} {
		if got := b.Count(`SELECT count(*) FROM event WHERE type = $1`, kind); got != want {
			b.Errorf("%d events %s, want %d", got, kind, want)
		}
	}
}

func (b *payFixture) nextAttempt() time.Time {
	b.Helper()
	i, err := b.DB.InvoiceByID(b.Ctx, b.id)
	b.OK(err)
	if i.NextAttemptAt == nil {
		return time.Time{}
	}
	return i.NextAttemptAt.UTC()
}

// pays reports an account that doesn't pay by this method, "" for none.
func (b *payFixture) pays(want string) {
	b.Helper()
	m, err := b.DB.PaymentMethod(b.Ctx, b.Account.AccountID, "stripe")
	b.OK(err)
	got, label := "", ""
	if m.MethodID != nil {
		got, label = *m.MethodID, *m.Label
	}
	if got != want || got != "" && label != "Visa "+want {
		b.Errorf("the account pays by %q, %q, want %q", got, label, want)
	}
}

func TestPaymentEventsCountOnce(t *testing.T) {
	t.Parallel()
	b := newPayFixture(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := b.Billing.ProviderEvent(b.Ctx, "stripe", failure(b, "evt_1", 0)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	b.stands(domain.InvoiceFailed, 1, 0, 1)
	for range 8 {
		wg.Go(func() {
			if err := b.Billing.ProviderEvent(b.Ctx, "stripe", b.paid()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	b.stands(domain.InvoicePaid, 1, 1, 1)
	again := b.paid()
	again.ID = "evt_paid_again" // Stripe's manual resend has the id; another endpoint's hasn't
	b.tell(again)
	b.stands(domain.InvoicePaid, 1, 1, 1)
	if strings.Contains(b.logs.String(), "level=ERROR") {
		t.Errorf("the same payment was reported as another: %s", b.logs)
	}
}

func TestPaymentEventsInAnyOrder(t *testing.T) {
	t.Parallel()
	t.Run("a failure after the success", func(t *testing.T) {
		t.Parallel()
		b := newPayFixture(t)
		b.tell(b.paid())
		b.tell(failure(b, "evt_1", 0))
		b.stands(domain.InvoicePaid, 0, 1, 0)
	})
	t.Run("an old attempt's failure after newer ones", func(t *testing.T) {
		t.Parallel()
		b := newPayFixture(t)
		for n, id := range []string{"evt_1", "evt_2"} {
			b.tell(failure(b, id, n))
		}
		due := b.nextAttempt()
		b.tell(failure(b, "evt_1_again", 0))
		b.stands(domain.InvoiceFailed, 2, 0, 2)
		if got := b.nextAttempt(); !got.Equal(due) {
			t.Errorf("the next attempt moved from %s to %s", due, got)
		}
	})
	t.Run("an old attempt's success after a failure", func(t *testing.T) {
		t.Parallel()
		b := newPayFixture(t)
		b.tell(failure(b, "evt_1", 0))
		b.tell(b.paid())
		b.stands(domain.InvoicePaid, 1, 1, 1)
	})
	t.Run("every order of three", func(t *testing.T) {
		t.Parallel()
		for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
			b := newPayFixture(t)
			events := []billing.ProviderEvent{failure(b, "evt_1", 0), failure(b, "evt_2", 1), b.paid()}
			for _, n := range order {
				b.tell(events[n])
			}
			if i, err := b.DB.InvoiceByID(b.Ctx, b.id); err != nil || i.Status != domain.InvoicePaid {
				t.Errorf("in order %v the invoice is %s, %v", order, i.Status, err)
			}
		}
	})
}

// The worker hears of an attempt at once, and Stripe tells of it, too: in
// either order it is one failure.
func TestPaymentFailureIsToldTwice(t *testing.T) {
	t.Parallel()
	for name, workerFirst := range map[string]bool{"worker first": true, "webhook first": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newPayFixture(t)
			charge := &telling{outcome: billing.Outcome{State: billing.Failed, Reason: "The card has expired."}}
			if !workerFirst {
				charge.before = func() { b.tell(failure(b, "evt_1", 0)) }
			}
			runner := billing.Runner{DB: b.DB, Provider: charge, Ledger: &billing.Ledger{Events: b.Outbox}, Logger: b.Logger}
			b.OK(runner.Run(b.Ctx, b.Clock.Now()))
			if workerFirst {
				b.tell(failure(b, "evt_1", 0))
			}
			b.stands(domain.InvoiceFailed, 1, 0, 1)
			if got := b.nextAttempt(); got.Sub(servicetest.Start).Round(time.Minute) != 72*time.Hour {
				t.Errorf("the next attempt is at %s", got)
			}
		})
	}
	t.Run("webhook before the worker waits", func(t *testing.T) {
		t.Parallel()
		b := newPayFixture(t)
		charge := &telling{outcome: billing.Outcome{State: billing.Pending}, before: func() { b.tell(failure(b, "evt_1", 0)) }}
		runner := billing.Runner{DB: b.DB, Provider: charge, Ledger: &billing.Ledger{Events: b.Outbox}, Logger: b.Logger}
		b.OK(runner.Run(b.Ctx, b.Clock.Now()))
		if got := b.nextAttempt(); got.Sub(servicetest.Start).Round(time.Minute) != 72*time.Hour {
			t.Errorf("the next attempt is at %s", got)
		}
	})
}

// TestCardIsStoredWhileAnotherFails: the new card is tried at once, also after the last
// attempt with the old one, whichever of the worker and the event reports that first.
func TestCardIsStoredWhileAnotherFails(t *testing.T) {
	t.Parallel()
	for n := range 2 * (domain.PaymentRetries + 1) {
		failed, eventFirst := n/2, n%2 == 1
		b := newPayFixture(t)
		for i := range failed {
			b.tell(failure(b, fmt.Sprint("evt_", i), i))
		}
		_, err := b.DB.Raw().ExecContext(b.Ctx, `UPDATE invoice SET next_attempt_at = $1`, servicetest.Start)
		b.OK(err)
		charges := 0
		charge := &telling{outcome: billing.Outcome{State: billing.Failed, Reason: "The card has expired."}, before: func() {
			if charges++; charges == 1 {
				b.tell(method("evt_card", "pm_2", servicetest.Start))
				if eventFirst {
					b.tell(failure(b, "evt_old", failed))
				}
			}
		}}
		runner := billing.Runner{DB: b.DB, Provider: charge, Ledger: &billing.Ledger{Events: b.Outbox}, Logger: b.Logger}
		b.OK(runner.Run(b.Ctx, b.Clock.Now()))
		if charges != 2 {
			t.Errorf("after %d failures, the event first: %t: %d charges, want that of the old card and that of the new one", failed+1,
				eventFirst, charges)
		}
	}
}

// telling is a provider whose word by webhook can come before its answer.
type telling struct {
	outcome billing.Outcome
	before  func()
}

func (*telling) Name() string { return "telling" }

func (p *telling) Charge(context.Context, *domain.Invoice) (billing.Outcome, error) {
	if p.before != nil {
		p.before()
	}
	return p.outcome, nil
}

func TestPaymentsThatAnOperatorMustLookInto(t *testing.T) {
	t.Parallel()
	for name, tell := range map[string]func(*payFixture){
		"twice": func(b *payFixture) {
			b.tell(b.paid())
			second := b.paid()
			second.ID, second.Reference = "evt_2", "pi_2"
			b.tell(second)
			b.tell(second)
			b.stands(domain.InvoicePaid, 0, 1, 0)
		},
		"for a void invoice": func(b *payFixture) {
			_, err := b.Billing.Void(b.Ctx, b.id, servicetest.Someone, "Agreed by telephone")
			b.OK(err)
			b.tell(b.paid())
			b.stands(domain.InvoiceVoid, 0, 0, 0)
		},
		"of another amount": func(b *payFixture) {
			less := b.paid()
			less.Amount--
			b.tell(less)
			b.stands(domain.InvoiceOpen, 0, 0, 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newPayFixture(t)
			tell(b)
			if strings.Count(b.logs.String(), "level=ERROR") != 1 || !strings.Contains(b.logs.String(), "invoice=CAN-000001") {
				t.Errorf("the log must have it once: %s", b.logs)
			}
		})
	}
}

func TestPaymentEventsOfOthers(t *testing.T) {
	t.Parallel()
	b := newPayFixture(t)
	b.id = domain.NewInvoiceID()
	b.tell(b.paid())
	b.tell(failure(b, "evt_1", 0))
	unknown := method("evt_2", "pm_1", servicetest.Start)
	unknown.CustomerID = "cus_2"
	b.tell(unknown)
	b.tell(billing.ProviderEvent{ID: "evt_3"})
	b.pays("")
	if n := b.Count(`SELECT count(*) FROM event`); n != 0 {
		t.Errorf("%d events were made", n)
	}
}

func TestPaymentMethods(t *testing.T) {
	t.Parallel()
	b := newPayFixture(t)
	overdue, soon := b.id, b.owe(10)
	b.tell(failure(b, "evt_1", 0))
	b.tell(method("evt_2", "pm_1", servicetest.Start))
	b.pays("pm_1")
	if got := b.nextAttempt(); !got.Equal(servicetest.Start.Add(time.Second)) {
		t.Errorf("with a card the invoice is tried at %s", got)
	}
	b.id = soon
	if got := b.nextAttempt(); !got.Equal(servicetest.Start.AddDate(0, 0, 10)) {
		t.Errorf("with a card the invoice that isn't due is tried at %s", got)
	}
	b.id = overdue
	b.tell(failure(b, "evt_3", 1))
	due := b.nextAttempt()
	b.tell(method("evt_4", "pm_1", servicetest.Start)) // the other kind of event of the same card
	if got := b.nextAttempt(); !got.Equal(due) {
		t.Errorf("the same card's second event brings the attempt from %s to %s", due, got)
	}
	b.tell(method("evt_5", "pm_2", servicetest.Start.Add(time.Minute)))
	b.tell(method("evt_6", "pm_0", servicetest.Start.Add(-time.Minute))) // late
	b.pays("pm_2")
	b.tell(billing.ProviderEvent{ID: "evt_7", Kind: billing.EventMethodRemoved, MethodID: "pm_1"}) // the old one
	b.pays("pm_2")
	b.tell(billing.ProviderEvent{ID: "evt_8", Kind: billing.EventMethodRemoved, MethodID: "pm_2"})
	b.pays("")
	b.tell(method("evt_9", "pm_3", servicetest.Start.Add(2*time.Minute)))
	b.pays("pm_3")
	b.cardLines("stored Visa pm_1, stored Visa pm_2, removed Visa pm_2, stored Visa pm_3")
}

// cardLines reports another story of the account's cards in its audit log.
func (b *payFixture) cardLines(want string) {
	b.Helper()
	page, _, err := b.Audit.Page(b.Ctx, b.Account.AccountID, domain.AuditFilter{Actor: "stripe"}, nil, 100)
	b.OK(err)
	var lines []string
	for _, e := range page {
		lines = append(lines, strings.TrimPrefix(string(e.Action), "billing.card_")+" "+e.TargetName)
	}
	slices.Reverse(lines)
	if got := strings.Join(lines, ", "); got != want {
		b.Errorf("the audit log has of cards: %s, want %s", got, want)
	}
}

func TestPaymentOfAnEndedAccountsInvoice(t *testing.T) {
	t.Parallel()
	b := newPayFixture(t)
	_, err := b.DB.Raw().ExecContext(b.Ctx, `UPDATE subscription SET effective_at = $1, status = 'cancelled', reason = 'moved'`,
		servicetest.Start.Add(-time.Hour))
	b.OK(err)
	b.tell(failure(b, "evt_1", 0))
	b.tell(b.paid())
	b.stands(domain.InvoicePaid, 1, 1, 1)
}

type cards struct{}

func (cards) Name() string { return "cards" }

func (cards) CardPage(_ context.Context, account *domain.Account, success, cancel string) (string, error) {
	return "https://cards.example/" + account.BillingEmail + "?" + success + "&" + cancel, nil
}

func TestPaymentCardPage(t *testing.T) {
	t.Parallel()
	b := servicetest.NewFixture(t)
	_, err := b.Billing.CardPage(b.Ctx, b.Account.AccountID, servicetest.Someone, "ok", "no")
	b.Code("without a provider", err, domain.CodeNotFound)

	b.Billing.Cards = cards{}
	url, err := b.Billing.CardPage(b.Ctx, b.Account.AccountID, servicetest.Someone, "ok", "no")
	if want := "https://cards.example/owner@lender.example?ok&no"; err != nil || url != want {
		t.Errorf("the page is %q, %v, want %q", url, err, want)
	}
	if page, _, err := b.Audit.Page(b.Ctx, b.Account.AccountID, domain.AuditFilter{Action: domain.AuditCardPage}, nil,
		9); err != nil || len(page) != 1 || page[0].ActorName != servicetest.Someone.Name {
		t.Errorf("the audit log has %d lines of who went to the provider's page, %v; want one", len(page), err)
	}
	_, err = b.Billing.CardPage(b.Ctx, domain.NewAccountID(), servicetest.Someone, "ok", "no")
	b.Code("unknown account", err, domain.CodeNotFound)
}
