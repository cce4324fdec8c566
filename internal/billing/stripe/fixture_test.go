package stripe_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"candor/internal/billing"
	"candor/internal/billing/stripe"
	"candor/internal/billing/stripe/stripetest"
	"candor/internal/domain"
)

// now is when the tests' webhooks arrive.
var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// customers are billing.Customers of one account.
type customers struct {
	sync.Mutex
	account domain.AccountID
	known   billing.Customer
}

func (c *customers) Customer(_ context.Context, account domain.AccountID, provider string) (billing.Customer, error) {
	c.Lock()
	defer c.Unlock()
	if account != c.account || provider != "stripe" {
		return billing.Customer{}, nil
	}
	return c.known, nil
}

func (c *customers) SetCustomer(_ context.Context, account domain.AccountID, _, id, former string) error {
	c.Lock()
	defer c.Unlock()
	if c.account = account; c.known.ID == former {
		c.known = billing.Customer{ID: id}
	}
	return nil
}

// harness is a provider with its own Stripe, and an invoice to pay with the
// stored card.
type harness struct {
	testing.TB
	billing.CardProvider
	stripe    *stripetest.Server
	customers *customers
	invoice   *domain.Invoice
}

func newHarness(t testing.TB) *harness {
	t.Helper()
	server := stripetest.New(t)
	server.Set(func(s *stripetest.State) { s.Now = now })
	invoice := &domain.Invoice{
		ID: domain.NewInvoiceID(), AccountID: domain.NewAccountID(), SubscriptionID: domain.NewSubscriptionID(),
		PeriodStart: now.AddDate(0, -1, 0),
		Number:      42, IssuedAt: now, Total: 12_345, Currency: "AUD", Status: domain.InvoiceOpen,
	}
	known := &customers{account: invoice.AccountID, known: billing.Customer{ID: "cus_7", MethodID: "pm_7"}}
	return &harness{TB: t, stripe: server, customers: known, invoice: invoice, CardProvider: stripe.New(stripe.Config{
		SecretKey: stripetest.SecretKey, WebhookSecret: stripetest.WebhookSecret, APIURL: server.URL, Customers: known,
	})}
}

func (b *harness) ok(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *harness) charge() billing.Outcome {
	b.Helper()
	outcome, err := b.Charge(b.Context(), b.invoice)
	b.ok(err)
	return outcome
}
