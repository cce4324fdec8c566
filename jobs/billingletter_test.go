package jobs_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"candor/db"
	"candor/internal/billing"
	"candor/internal/domain"
	"candor/internal/platform/mail"
	"candor/jobs"
)

// owe stores an invoice that is due now, and asks for its letter.
func (b *bench) owe() *domain.Invoice {
	b.Helper()
	at := now()
	i := &domain.Invoice{
		ID: domain.NewInvoiceID(), AccountID: b.scope.AccountID, IssuedAt: at, DueAt: at, PeriodEnd: at,
		AccountName: "Lender", BillingEmail: "bills@lender.example", Currency: "AUD", Total: 12_345, Status: domain.InvoiceOpen,
	}
	b.tx(func(tx *db.Tx) error {
		ledger := billing.Ledger{Events: b.enqueuer}
		subscription, err := tx.LockSubscription(b.ctx, i.AccountID)
		if err != nil {
			subscription, err = ledger.Start(b.ctx, tx, i.AccountID, "starter", at)
		}
		if err != nil {
			return err
		}
		i.SubscriptionID = subscription.SubscriptionID
		if i.Number, err = tx.NextInvoiceNumber(b.ctx); err != nil {
			return err
		}
		i.PeriodStart = at.AddDate(0, -int(i.Number), 0)
		if err := tx.InsertInvoice(b.ctx, i); err != nil {
			return err
		}
		return b.enqueuer.InvoiceEmail(b.ctx, tx, i.ID)
	})
	return i
}

// fail has a payment of the invoice fail, which asks for a letter, too.
func (b *bench) fail(i *domain.Invoice) {
	b.Helper()
	b.tx(func(tx *db.Tx) error {
		_, err := (&billing.Ledger{Events: b.enqueuer}).Fail(b.ctx, tx, i.ID, "No payment has arrived by the due date.", now())
		return err
	})
}

// TestBillingLettersTellOneThingEach: an invoice whose payment failed before
// its letter was sent has two letters, not one twice; and none tells what has
// passed.
func TestBillingLettersTellOneThingEach(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	once, twice, paid := b.owe(), b.owe(), b.owe()
	b.fail(once)
	b.fail(twice)
	b.fail(twice)
	b.fail(paid)
	b.tx(func(tx *db.Tx) error {
		_, err := (&billing.Ledger{Events: b.enqueuer}).Pay(b.ctx, tx, paid.ID, "transfer 7", now())
		return err
	})
	var mu sync.Mutex
	var got []string
	b.start(func(c *jobs.Config) {
		c.Mail = senderFunc(func(m mail.Message) error {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, m.Subject)
			if m.To != "bills@lender.example" || !strings.Contains(m.Text, "$123.45") {
				t.Errorf("letter to %s: %s", m.To, m.Text)
			}
			return nil
		})
	})
	b.eventually("the letters", func() bool {
		return b.count(`SELECT count(*) FROM river_job WHERE kind = 'billing_letter' AND state <> 'completed'`) == 0
	})
	mu.Lock()
	defer mu.Unlock()
	slices.Sort(got)
	want := []string{"Invoice CAN-000001 is overdue", "Invoice CAN-000002 is overdue", "Invoice CAN-000003 is paid", "Your invoice CAN-000001", "Your invoice CAN-000002"}
	if !slices.Equal(got, want) {
		t.Errorf("letters %q, want %q", got, want)
	}
	if n := b.count(`SELECT count(*) FROM river_job j WHERE j::text LIKE '%lender.example%'`); n != 0 {
		t.Errorf("%d jobs have an address", n)
	}
}

// TestBillingLettersKnowTheCard: where invoices are collected, the letter names
// the card, or says that there is none.
func TestBillingLettersKnowTheCard(t *testing.T) {
	t.Parallel()
	for want, label := range map[string]string{"It is charged to your card, Visa ending in 4242.": "Visa ending in 4242", "No card is stored": ""} {
		b := newBench(t)
		if label != "" {
			b.ok(b.db.SetCustomer(b.ctx, &db.PaymentMethod{AccountID: b.scope.AccountID, Provider: "cards", CustomerID: "cus_1"}, ""))
			b.tx(func(tx *db.Tx) error {
				_, err := tx.SetPaymentMethod(b.ctx, "cards", "cus_1", "pm_1", label, now())
				return err
			})
		}
		b.owe()
		texts := make(chan string, 1)
		b.start(func(c *jobs.Config) {
			c.Payments = cards{}
			c.Mail = senderFunc(func(m mail.Message) error { texts <- m.Text; return nil })
		})
		select {
		case text := <-texts:
			if !strings.Contains(text, want) {
				t.Errorf("the letter lacks %q:\n%s", want, text)
			}
		case <-time.After(patience):
			t.Error("no letter came")
		}
	}
}

// cards is a provider that charges cards.
type cards struct{ billing.Manual }

// Name tells it from bank transfer.
func (cards) Name() string { return "cards" }
