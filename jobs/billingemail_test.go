package jobs_test

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"candor/db"
	"candor/internal/billing"
	"candor/internal/domain"
	"candor/internal/platform/mail"
	"candor/internal/testkit"
	"candor/internal/testkit/hooktest"
)

// owe stores an invoice that is due now and inserts its email.
func (h *harness) owe() *domain.Invoice {
	h.Helper()
	at := hooktest.Now()
	i := &domain.Invoice{
		ID: domain.NewInvoiceID(), AccountID: h.Scope.AccountID, IssuedAt: at, DueAt: at, PeriodEnd: at,
		AccountName: "Lender", BillingEmail: "bills@lender.example", Currency: "AUD", Total: 12_345, Status: domain.InvoiceOpen,
	}
	h.Tx(func(tx *db.Tx) error {
		ledger := billing.Ledger{Events: h.Outbox}
		subscription, err := tx.LockSubscription(h.Ctx, i.AccountID)
		if err != nil {
			subscription, err = ledger.Start(h.Ctx, tx, i.AccountID, "starter", at)
		}
		if err != nil {
			return err
		}
		i.SubscriptionID = subscription.SubscriptionID
		if i.Number, err = tx.NextInvoiceNumber(h.Ctx); err != nil {
			return err
		}
		i.PeriodStart = at.AddDate(0, -int(i.Number), 0)
		if err := tx.InsertInvoice(h.Ctx, i); err != nil {
			return err
		}
		return h.Outbox.InvoiceEmail(h.Ctx, tx, i.ID)
	})
	return i
}

// fail records a failed payment of the invoice, which inserts another email.
func (h *harness) fail(i *domain.Invoice) {
	h.Helper()
	h.Tx(func(tx *db.Tx) error {
		_, err := (&billing.Ledger{Events: h.Outbox}).Fail(h.Ctx, tx, i.ID, "No payment has arrived by the due date.", hooktest.Now())
		return err
	})
}

// TestBillingEmailsReportOneThingEach: if a payment fails before the invoice's
// first email is sent, two different emails are sent. No email reports what is
// outdated.
func TestBillingEmailsReportOneThingEach(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	once, twice, paid := h.owe(), h.owe(), h.owe()
	h.fail(once)
	h.fail(twice)
	h.fail(twice)
	h.fail(paid)
	h.Tx(func(tx *db.Tx) error {
		_, err := (&billing.Ledger{Events: h.Outbox}).Pay(h.Ctx, tx, paid.ID, "transfer 7", hooktest.Now())
		return err
	})
	var mu sync.Mutex
	var got []string
	h.start(func(c *config) {
		c.Mail = senderFunc(func(m mail.Message) error {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, m.Subject)
			if len(m.Attachments) != 1 || m.Attachments[0].Name != m.Subject[strings.Index(m.Subject, "CAN-"):][:10]+".pdf" ||
				!bytes.HasPrefix(m.Attachments[0].Content, []byte("%PDF-")) {
				t.Errorf("%s: attached %d files, want the invoice", m.Subject, len(m.Attachments))
			}
			if m.To != "bills@lender.example" || !strings.Contains(m.Text, "$123.45") {
				t.Errorf("email to %s: %s", m.To, m.Text)
			}
			return nil
		})
	})
	testkit.Await(h, "the emails", func() bool {
		return h.Count(`SELECT count(*) FROM river_job WHERE kind = 'billing_letter' AND state <> 'completed'`) == 0
	})
	mu.Lock()
	defer mu.Unlock()
	slices.Sort(got)
	want := []string{"Invoice CAN-000001 is overdue", "Invoice CAN-000002 is overdue", "Receipt for invoice CAN-000003",
		"Your invoice CAN-000001", "Your invoice CAN-000002"}
	if !slices.Equal(got, want) {
		t.Errorf("emails %q, want %q", got, want)
	}
	if n := h.Count(`SELECT count(*) FROM river_job j WHERE j::text LIKE '%lender.example%'`); n != 0 {
		t.Errorf("%d jobs have an address", n)
	}
}

// TestPastDueIsOnlyOfASubscription: only an account whose subscription admits live
// sessions reads that it is past due and that they keep working.
func TestPastDueIsOnlyOfASubscription(t *testing.T) {
	t.Parallel()
	for change, want := range map[string]string{"": "your subscription is past due after that. Live sessions keep working.",
		`UPDATE subscription SET status = 'cancelled', effective_at = now()`: "The invoice is still owed."} {
		h := newHarness(t)
		h.fail(h.owe())
		if change != "" {
			_, err := h.DB.Raw().ExecContext(h.Ctx, change)
			h.OK(err)
		}
		texts := make(chan string, 2)
		h.start(func(c *config) {
			c.Mail = senderFunc(func(m mail.Message) error { texts <- m.Text; return nil })
		})
		got := ""
		for range 2 {
			select {
			case text := <-texts:
				got += text
			case <-time.After(testkit.Patience):
				t.Fatal("an email was not sent")
			}
		}
		if !strings.Contains(got, want) || strings.Contains(got, "keep working") != (change == "") {
			t.Errorf("after %q the emails lack %q:\n%s", change, want, got)
		}
	}
}

// TestBillingEmailsKnowTheCard: if invoices are paid by card, the email names the
// card or says that none is stored.
func TestBillingEmailsKnowTheCard(t *testing.T) {
	t.Parallel()
	for want, label := range map[string]string{"We charge it to your card, Visa ending in 4242.": "Visa ending in 4242",
		"No card is stored": ""} {
		h := newHarness(t)
		if label != "" {
			h.OK(h.DB.SetCustomer(h.Ctx, &db.PaymentMethod{AccountID: h.Scope.AccountID, Provider: "cards", CustomerID: "cus_1"}, ""))
			h.Tx(func(tx *db.Tx) error {
				_, err := tx.SetPaymentMethod(h.Ctx, "cards", "cus_1", "pm_1", label, hooktest.Now())
				return err
			})
		}
		h.owe()
		texts := make(chan string, 1)
		h.start(func(c *config) {
			c.Payments = cards{}
			c.Mail = senderFunc(func(m mail.Message) error { texts <- m.Text; return nil })
		})
		select {
		case text := <-texts:
			if !strings.Contains(text, want) {
				t.Errorf("the email lacks %q:\n%s", want, text)
			}
		case <-time.After(testkit.Patience):
			t.Error("no email was sent")
		}
	}
}

// cards is a provider that charges cards.
type cards struct{ billing.Manual }

// Name is not that of bank transfer.
func (cards) Name() string { return "cards" }
