package demo

import (
	"context"
	"time"

	"candor/db"
	"candor/internal/billing"
	"candor/internal/domain"
)

const (
	day = 24 * time.Hour
	// promptly is after how long the partner pays an invoice, usually.
	promptly = 6 * day
	// overlooked is the place of the invoice that it had forgotten, among those
	// that aren't of nothing.
	overlooked = 1
)

// Seller sends the partner's invoices if the configuration names no seller. The company and its
// ABN are made up; the ABN's digits check.
var Seller = domain.Seller{
	Name: "Candor Demonstration Pty Ltd", ABN: "52 600 123 987",
	Address:  []string{"Level 4, 80 Example Street", "Sydney NSW 2000"},
	Transfer: []string{"Account name: Candor Demonstration Pty Ltd", "BSB 000-000, account 1234 5678"},
}

func (o *office) seller() domain.Seller {
	if configured := o.Terms.Seller; configured.ChargesGST() {
		return configured
	}
	return Seller
}

// bills are the partner's billing periods and invoices. The ledger handles them as in
// the service, but sends no emails.
type bills struct {
	*history
	ledger *billing.Ledger
	issued []*domain.InvoiceID // nil once paid
	at     []time.Time         // when they were issued
}

// planBills looks at the ledger once a day.
func (h *history) planBills() {
	b := &bills{history: h}
	b.ledger = &billing.Ledger{Events: b, Terms: billing.Terms{GSTBasisPoints: 1000, DueDays: 14, Seller: h.office.seller()}}
	for at := h.office.opened.Add(time.Hour); !at.After(h.now); at = at.Add(day) {
		h.steps = append(h.steps, step{at, func(ctx context.Context, tx *db.Tx) error { return b.settle(ctx, tx, at) }})
	}
}

// settle closes the period that has ended, and pays what is due to be paid.
func (b *bills) settle(ctx context.Context, tx *db.Tx, at time.Time) error {
	s, err := tx.LockSubscription(ctx, b.scope.AccountID)
	if err != nil {
		return err
	}
	if err := b.ledger.Close(ctx, tx, s, at); err != nil {
		return err
	}
	for n, id := range b.issued {
		if id == nil {
			continue
		}
		age := at.Sub(b.at[n])
		switch {
		case n == overlooked && age >= 15*day && age < 16*day:
			_, err = b.ledger.Fail(ctx, tx, *id, "No payment has arrived by the due date.", at)
		case n != overlooked && age >= promptly, age >= 16*day:
			_, err = b.ledger.Pay(ctx, tx, *id, "Transfer of "+at.Format(time.DateOnly), at)
			b.issued[n] = nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// BillingEvent is recorded as the service does.
func (b *bills) BillingEvent(ctx context.Context, tx *db.Tx, _ domain.AccountID, p domain.Payload, _ time.Time) error {
	return b.record(ctx, tx, nil, p, b.url)
}

// InvoiceEmail takes note of a new invoice.
func (b *bills) InvoiceEmail(_ context.Context, _ *db.Tx, id domain.InvoiceID) error {
	b.issued, b.at = append(b.issued, &id), append(b.at, b.clock.at)
	return nil
}

// ReceiptEmail is not written.
func (b *bills) ReceiptEmail(context.Context, *db.Tx, domain.InvoiceID) error { return nil }

// ReminderEmail is not written.
func (b *bills) ReminderEmail(context.Context, *db.Tx, domain.InvoiceID) error { return nil }

// PaymentFailedEmail is not written.
func (b *bills) PaymentFailedEmail(context.Context, *db.Tx, *domain.Invoice) error { return nil }

// SpendEmail is not written.
func (b *bills) SpendEmail(context.Context, *db.Tx, domain.SpendNotice) error { return nil }

// UsageEmail is not written.
func (b *bills) UsageEmail(context.Context, *db.Tx, domain.AccountID, int) error { return nil }
