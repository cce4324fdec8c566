package stripe_test

import (
	"context"
	"maps"
	"net/http"
	"strings"
	"testing"

	"candor/internal/billing"
	"candor/internal/billing/stripe"
	"candor/internal/billing/stripe/stripetest"
	"candor/internal/domain"
)

func TestChargePaysAnInvoice(t *testing.T) {
	t.Parallel()
	b := newHarness(t)
	if got, want := b.charge(), (billing.Outcome{State: billing.Paid, Reference: "pi_1"}); got != want {
		t.Errorf("the outcome is %+v, want %+v", got, want)
	}
	calls := b.stripe.Calls(http.MethodPost, "/v1/payment_intents")
	if len(calls) != 1 {
		t.Fatalf("%d payments were made", len(calls))
	}
	want := map[string]string{
		"amount": "12345", "currency": "aud", "confirm": "true", "off_session": "true", "customer": "cus_7", "payment_method": "pm_7",
		"payment_method_types[0]": "card", "description": "CAN-000042",
		"metadata[invoice_id]": b.invoice.ID.String(), "metadata[account_id]": b.invoice.AccountID.String(), "metadata[failures]": "0",
		"metadata[subscription_id]": b.invoice.SubscriptionID.String(), "metadata[period_start]": "2026-10-20T12:00:00Z",
	}
	if !maps.Equal(calls[0].Form, want) {
		t.Errorf("Stripe was asked for %v, want %v", calls[0].Form, want)
	}
	if key := "invoice-" + b.invoice.ID.String() + "-0"; calls[0].IdempotencyKey != key {
		t.Errorf("the idempotency key is %q, want %q", calls[0].IdempotencyKey, key)
	}
}

func TestChargeTwiceTakesMoneyOnce(t *testing.T) {
	t.Parallel()
	for name, between := range map[string]func(*harness){
		"at once":                  func(*harness) {},
		"after keys are forgotten": func(b *harness) { b.stripe.Set(func(s *stripetest.State) { s.Forget = true }) },
		"after a failure that wasn't one": func(b *harness) {
			b.stripe.Set(func(s *stripetest.State) { s.Forget = true })
			b.invoice.Failures++
		},
		"after the card was changed": func(b *harness) { b.customers.known.MethodID = "pm_8" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newHarness(t)
			b.stripe.Set(func(s *stripetest.State) { s.Lose = true })
			if outcome, err := b.Charge(b.Context(), b.invoice); err == nil {
				t.Fatalf("a lost answer gave %+v", outcome)
			}
			if len(b.stripe.Payments()) != 1 {
				t.Fatalf("%d payments were made", len(b.stripe.Payments()))
			}
			b.stripe.Set(func(s *stripetest.State) { s.Lose = false })
			between(b)
			if got := b.charge(); got.State != billing.Paid || got.Reference != "pi_1" || len(b.stripe.Payments()) > 1 {
				t.Errorf("the second call gave %+v, and %d payments were made", got, len(b.stripe.Payments()))
			}
		})
	}
}

// TestChargeReadsEveryPage looks for the payment of an invoice behind those of others.
func TestChargeReadsEveryPage(t *testing.T) {
	t.Parallel()
	b := newHarness(t)
	first := b.charge()
	b.stripe.Set(func(s *stripetest.State) { s.Forget, s.Page = true, 2 })
	for range 4 {
		other := *b.invoice
		other.ID, other.SubscriptionID = domain.NewInvoiceID(), domain.NewSubscriptionID()
		_, err := b.Charge(b.Context(), &other)
		b.ok(err)
	}
	if again := b.charge(); again != first || len(b.stripe.Payments()) != 5 {
		t.Errorf("the second charge gave %+v, and %d payments were made; want %+v and 5", again, len(b.stripe.Payments()), first)
	}
}

// TestRestoredPeriodIsChargedOnce: a database restored from before an invoice issues it
// once more, days later, under another id. Sessions that the restore lost change its amount.
func TestRestoredPeriodIsChargedOnce(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		first    string // status of the first invoice's payment
		change   func(*domain.Invoice)
		state    billing.OutcomeState
		err      bool
		payments int
	}{
		"paid":          {"succeeded", func(*domain.Invoice) {}, billing.Paid, false, 1},
		"pending":       {"processing", func(*domain.Invoice) {}, billing.Pending, false, 1},
		"less":          {"succeeded", func(i *domain.Invoice) { i.Total-- }, 0, true, 1},
		"less, pending": {"processing", func(i *domain.Invoice) { i.Total-- }, 0, true, 1},
		"failed":        {"canceled", func(i *domain.Invoice) { i.Total-- }, billing.Paid, false, 2},
		"another period": {"succeeded", func(i *domain.Invoice) {
			i.PeriodStart = i.PeriodStart.AddDate(0, 1, 0)
		}, billing.Paid, false, 2},
		"a new subscription": {"succeeded", func(i *domain.Invoice) {
			i.SubscriptionID = domain.NewSubscriptionID()
		}, billing.Paid, false, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newHarness(t)
			b.stripe.Set(func(s *stripetest.State) { s.Status = tt.first })
			b.charge()
			b.stripe.Set(func(s *stripetest.State) { s.Status, s.Now = "", s.Now.AddDate(0, 0, 3) })
			b.invoice.ID, b.invoice.IssuedAt = domain.NewInvoiceID(), b.invoice.IssuedAt.AddDate(0, 0, 3)
			tt.change(b.invoice)
			got, err := b.Charge(b.Context(), b.invoice)
			if got.State != tt.state || (err != nil) != tt.err || len(b.stripe.Payments()) != tt.payments {
				t.Errorf("it came to %+v, %v, and %d payments; want state %d, an error: %t, %d payments", got, err, len(b.stripe.Payments()),
					tt.state, tt.err, tt.payments)
			}
			if err != nil && !strings.Contains(err.Error(),
				"pi_1 already pays the period from 2026-10-20T12:00:00Z, with $123.45 instead of $123.44") {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func TestChargeWaitsForAPaymentUnderWay(t *testing.T) {
	t.Parallel()
	b := newHarness(t)
	b.stripe.Set(func(s *stripetest.State) { s.Status = "processing" })
	for range 3 {
		if got := b.charge(); got.State != billing.Pending {
			t.Fatalf("the outcome is %+v, want pending", got)
		}
		b.stripe.Set(func(s *stripetest.State) { s.Forget = true })
		b.customers.known.MethodID += "x"
	}
	if len(b.stripe.Payments()) != 1 {
		t.Errorf("%d payments were made", len(b.stripe.Payments()))
	}
	b.stripe.Settle("succeeded")
	if got := b.charge(); got.State != billing.Paid {
		t.Errorf("the outcome is %+v, want paid", got)
	}
}

func TestChargeRetriesAfterAFailure(t *testing.T) {
	t.Parallel()
	b := newHarness(t)
	b.stripe.Set(func(s *stripetest.State) {
		s.Decline = stripetest.Object{"type": "card_error", "code": "card_declined", "decline_code": "insufficient_funds"}
	})
	if got := b.charge(); got.State != billing.Failed {
		t.Fatalf("the outcome is %+v, want failed", got)
	}
	b.stripe.Set(func(s *stripetest.State) { s.Decline, s.Forget = nil, true })
	if got := b.charge(); got.State != billing.Failed || len(b.stripe.Payments()) != 1 {
		t.Errorf("the same attempt gave %+v, and %d payments were made", got, len(b.stripe.Payments()))
	}
	b.invoice.Failures = 1
	if got := b.charge(); got.State != billing.Paid || got.Reference != "pi_2" {
		t.Errorf("the next attempt gave %+v", got)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	const declined = "The bank declined the card."
	for name, tt := range map[string]struct {
		failure stripetest.Object
		want    string
	}{
		"declined": {stripetest.Object{"type": "card_error", "code": "card_declined", "decline_code": "generic_decline"},
			declined},
		"stolen":          {stripetest.Object{"type": "card_error", "code": "card_declined", "decline_code": "stolen_card"}, declined},
		"an unknown code": {stripetest.Object{"type": "card_error", "code": "new_code"}, declined},
		"no funds": {stripetest.Object{"type": "card_error", "code": "card_declined", "decline_code": "insufficient_funds"},
			"The card has insufficient funds."},
		"expired": {stripetest.Object{"type": "card_error", "code": "expired_card"}, "The card has expired."},
		"wants its holder": {stripetest.Object{"type": "card_error", "code": "authentication_required",
			"decline_code": "authentication_required"},
			"The bank wants the cardholder to confirm the payment. Add the card again, and confirm it there."},
		"deleted at Stripe": {stripetest.Object{"type": "invalid_request_error", "code": "resource_missing", "param": "payment_method"},
			"The stored card can no longer be used."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newHarness(t)
			b.stripe.Set(func(s *stripetest.State) { s.Decline = tt.failure })
			if got, want := b.charge(), (billing.Outcome{State: billing.Failed, Reason: tt.want}); got != want {
				t.Errorf("the outcome is %+v, want %+v", got, want)
			}
		})
	}
}

func TestStatesOfAPayment(t *testing.T) {
	t.Parallel()
	for status, want := range map[string]billing.OutcomeState{
		"succeeded": billing.Paid, "processing": billing.Pending, "requires_action": billing.Failed,
		"requires_payment_method": billing.Failed, "canceled": billing.Failed,
	} {
		b := newHarness(t)
		b.stripe.Set(func(s *stripetest.State) { s.Status = status })
		if got := b.charge(); got.State != want || (want == billing.Failed) != (got.Reason != "") {
			t.Errorf("%s: %+v, want state %d", status, got, want)
		}
	}
}

func TestUnknownOutcome(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*harness){
		"500":            func(b *harness) { b.stripe.Set(func(s *stripetest.State) { s.Down = http.StatusInternalServerError }) },
		"503":            func(b *harness) { b.stripe.Set(func(s *stripetest.State) { s.Down = http.StatusServiceUnavailable }) },
		"too many calls": func(b *harness) { b.stripe.Set(func(s *stripetest.State) { s.Down = http.StatusTooManyRequests }) },
		"no network":     func(b *harness) { b.stripe.Close() },
		"a lost answer":  func(b *harness) { b.stripe.Set(func(s *stripetest.State) { s.Lose = true }) },
		"another's key": func(b *harness) {
			b.stripe.Set(func(s *stripetest.State) { s.Decline = stripetest.Object{"type": "idempotency_error"} })
		},
		"a wrong amount": func(b *harness) {
			b.stripe.Set(func(s *stripetest.State) {
				s.Decline = stripetest.Object{"type": "invalid_request_error", "param": "amount"}
			})
		},
		"a rotated secret": func(b *harness) {
			b.CardProvider = stripe.New(stripe.Config{SecretKey: "sk_live_hidden", APIURL: b.stripe.URL, Customers: b.customers})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newHarness(t)
			change(b)
			outcome, err := b.Charge(b.Context(), b.invoice)
			if err == nil {
				t.Fatalf("the outcome is %+v, want an error", outcome)
			}
			if strings.Contains(err.Error(), "hidden") || strings.Contains(err.Error(), "jenny") {
				t.Errorf("the error tells too much: %v", err)
			}
		})
	}
}

func TestChargeEndsWithItsContext(t *testing.T) {
	t.Parallel()
	b := newHarness(t)
	ctx, cancel := context.WithCancel(b.Context())
	cancel()
	if outcome, err := b.Charge(ctx, b.invoice); err == nil {
		t.Errorf("the outcome is %+v, want an error", outcome)
	}
}

func TestChargeWithoutACard(t *testing.T) {
	t.Parallel()
	for name, known := range map[string]billing.Customer{"no customer": {}, "no card": {ID: "cus_7"}} {
		b := newHarness(t)
		b.customers.known = known
		if got, want := b.charge(), (billing.Outcome{State: billing.Failed, Reason: "No payment method is stored."}); got != want ||
			len(b.stripe.Calls("", "")) > 0 {
			t.Errorf("%s: %+v after %d calls, want %+v", name, got, len(b.stripe.Calls("", "")), want)
		}
	}
}

func TestCardPage(t *testing.T) {
	t.Parallel()
	b := newHarness(t)
	b.customers.known = billing.Customer{}
	account := &domain.Account{ID: b.invoice.AccountID, Name: "Lender & Sons", BillingEmail: "bills@lender.example"}
	for range 2 {
		url, err := b.CardPage(b.Context(), account, "https://candor.example/ok", "https://candor.example/no")
		b.ok(err)
		if url != "https://checkout.stripe.example/c/pay/cs_1" {
			t.Errorf("the page is at %q", url)
		}
	}
	made := b.stripe.Calls(http.MethodPost, "/v1/customers")
	if len(made) != 1 || made[0].IdempotencyKey != "account-"+account.ID.String() || b.customers.known.ID != "cus_1" {
		t.Errorf("customers were made by %+v, and %+v is stored", made, b.customers.known)
	}
	pages := b.stripe.Calls(http.MethodPost, "/v1/checkout/sessions")
	want := map[string]string{
		"mode": "setup", "customer": "cus_1", "payment_method_types[0]": "card",
		"success_url": "https://candor.example/ok", "cancel_url": "https://candor.example/no",
		"metadata[account_id]": account.ID.String(), "setup_intent_data[metadata][account_id]": account.ID.String(),
	}
	if len(pages) != 2 || !maps.Equal(pages[1].Form, want) || pages[1].IdempotencyKey != "" {
		t.Errorf("pages were asked for by %+v, want %v", pages, want)
	}
	b.stripe.Set(func(s *stripetest.State) { s.Down = http.StatusInternalServerError })
	if url, err := b.CardPage(b.Context(), account, "https://candor.example/ok", "https://candor.example/no"); err == nil {
		t.Errorf("without Stripe the page is at %q", url)
	}
}

// TestDeletedCustomer: an account whose customer was deleted at Stripe stores
// a card with a new customer, and isn't charged before that.
func TestDeletedCustomer(t *testing.T) {
	t.Parallel()
	b := newHarness(t)
	b.stripe.Set(func(s *stripetest.State) { s.Gone = "cus_7" })
	if outcome := b.charge(); outcome.State != billing.Failed || outcome.Reason != "The stored card can no longer be used." {
		t.Errorf("charging came to %+v", outcome)
	}
	account := &domain.Account{ID: b.invoice.AccountID, Name: "Lender & Sons", BillingEmail: "bills@lender.example"}
	url, err := b.CardPage(b.Context(), account, "https://candor.example/ok", "https://candor.example/no")
	b.ok(err)
	made, pages := b.stripe.Calls(http.MethodPost, "/v1/customers"), b.stripe.Calls(http.MethodPost, "/v1/checkout/sessions")
	if len(made) != 1 || made[0].IdempotencyKey != "account-"+account.ID.String()+"-after-cus_7" ||
		(b.customers.known != billing.Customer{ID: "cus_1"}) {
		t.Errorf("customers were made by %+v, and %+v is stored", made, b.customers.known)
	}
	if url == "" || len(pages) != 2 || pages[1].Form["customer"] != "cus_1" {
		t.Errorf("the page is at %q, asked for by %+v", url, pages)
	}
	if outcome := b.charge(); outcome.Reason != "No payment method is stored." {
		t.Errorf("charging without a card came to %+v", outcome)
	}
}
