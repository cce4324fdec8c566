package handlers_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"candor/db"
	"candor/handlers"
	"candor/internal/billing"
	"candor/internal/billing/stripe"
	"candor/internal/billing/stripe/stripetest"
	"candor/internal/domain"
	"candor/internal/testkit/harness"
)

// A stripeHarness is a server that Stripe collects for, and an account with a
// card and an invoice.
type stripeHarness struct {
	*harness.Harness
	stripe   *stripetest.Server
	provider billing.CardProvider
	invoice  *domain.Invoice
}

func newStripeHarness(t *testing.T) *stripeHarness {
	t.Helper()
	s := &stripeHarness{stripe: stripetest.New(t)}
	s.stripe.Set(func(s *stripetest.State) { s.Now = harness.StartTime })
	s.Harness = harness.New(t, func(c *handlers.Config) {
		s.provider = stripe.New(stripe.Config{
			SecretKey: stripetest.SecretKey, WebhookSecret: stripetest.WebhookSecret, APIURL: s.stripe.URL,
			Customers: billing.StoredCustomers{DB: c.Sessions.DB},
		})
		c.Stripe = s.provider
	})
	s.OK(s.DB.SetCustomer(s.Context(), &db.PaymentMethod{AccountID: s.Account.AccountID, Provider: "stripe", CustomerID: "cus_1"},
		""))
	subscription, err := s.DB.Subscription(s.Context(), s.Account.AccountID, harness.StartTime)
	s.OK(err)
	s.invoice = &domain.Invoice{
		ID: domain.NewInvoiceID(), Number: 1, AccountID: s.Account.AccountID, SubscriptionID: subscription.SubscriptionID,
		PeriodStart: harness.StartTime.AddDate(0, -1, 0), PeriodEnd: harness.StartTime, IssuedAt: harness.StartTime,
		DueAt: harness.StartTime, NextAttemptAt: &harness.StartTime,
		AccountName: "Lender & Sons", BillingEmail: "partner@lender.example", Currency: "AUD", Total: 12_345,
		Status: domain.InvoiceOpen,
	}
	s.OK(s.Service.DB.InTx(s.Context(), func(tx *db.Tx) error { return tx.InsertInvoice(s.Context(), s.invoice) }))
	return s
}

// send sends a webhook, signed as Stripe does.
func (s *stripeHarness) send(body []byte) *httptest.ResponseRecorder {
	return s.sendSigned(body, stripetest.Sign(body, stripetest.WebhookSecret, s.Clock.Now()))
}

func (s *stripeHarness) sendSigned(body []byte, signature string) *httptest.ResponseRecorder {
	s.Helper()
	r := httptest.NewRequest(http.MethodPost, "/billing/stripe", bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json; charset=utf-8")
	r.Header.Set("User-Agent", "Stripe/1.0 (+https://stripe.com/docs/webhooks)")
	if signature != "" {
		r.Header.Set("Stripe-Signature", signature)
	}
	return s.Serve(r)
}

// work does what a worker does with what is due.
func (s *stripeHarness) work() {
	s.Helper()
	runner := billing.Runner{DB: s.DB, Provider: s.provider, Ledger: &billing.Ledger{Events: s.Service.Outbox},
		Logger: s.Service.Logger}
	s.OK(runner.Run(s.Context(), s.Clock.Now()))
}

// is reports an invoice that isn't in this state.
func (s *stripeHarness) is(status domain.InvoiceStatus, failures int) {
	s.Helper()
	i, err := s.DB.InvoiceByID(s.Context(), s.invoice.ID)
	s.OK(err)
	if i.Status != status || i.Failures != failures {
		s.Errorf("the invoice is %s after %d failures, want %s after %d", i.Status, i.Failures, status, failures)
	}
}

// storeCard stores a card on Stripe's page, which Stripe tells of twice.
func (s *stripeHarness) storeCard(card string) {
	s.Helper()
	ours := stripetest.Object{"account_id": s.Account.AccountID.String()}
	s.stripe.Setup("seti_"+card, stripetest.Example("setup_intent", stripetest.Object{"id": "seti_" + card, "status": "succeeded",
		"metadata": ours,
		"payment_method": stripetest.Example("payment_method", stripetest.Object{"id": card, "customer": "cus_1",
			"created": s.Clock.Now().Unix()})}))
	for kind, object := range map[string]stripetest.Object{
		"checkout.session.completed": stripetest.Example("checkout.session", stripetest.Object{"mode": "setup",
			"setup_intent": "seti_" + card, "metadata": ours}),
		"setup_intent.succeeded": stripetest.Example("setup_intent", stripetest.Object{"id": "seti_" + card, "payment_method": card,
			"metadata": ours}),
	} {
		if got := s.send(stripetest.Event("evt_"+card+kind, kind, object)); got.Code != http.StatusOK {
			s.Fatalf("%s was answered with %d %s", kind, got.Code, got.Body)
		}
	}
}

// An invoice is paid by the second card: Stripe tells of all that the worker
// has heard, late and twice.
func TestStripeCollectsAnInvoice(t *testing.T) {
	t.Parallel()
	s := newStripeHarness(t)
	s.work()
	s.is(domain.InvoiceFailed, 1) // there is no card

	s.stripe.Set(func(s *stripetest.State) {
		s.Decline = stripetest.Object{"type": "card_error", "code": "card_declined", "decline_code": "insufficient_funds"}
	})
	s.Clock.Advance(time.Hour)
	s.storeCard("pm_1")
	s.work()
	s.is(domain.InvoiceFailed, 2)
	declined := stripetest.Event("evt_1", "payment_intent.payment_failed", s.stripe.Payments()[0])
	s.send(declined)
	s.is(domain.InvoiceFailed, 2)

	s.stripe.Set(func(s *stripetest.State) { s.Decline = nil })
	s.Clock.Advance(time.Hour)
	s.storeCard("pm_2")
	paid := func() []byte { return stripetest.Event("evt_2", "payment_intent.succeeded", s.stripe.Payments()[0]) }
	s.stripe.Set(func(s *stripetest.State) { s.Lose = true }) // the worker never hears of it
	runner := billing.Runner{DB: s.DB, Provider: s.provider, Ledger: &billing.Ledger{Events: s.Service.Outbox},
		Logger: s.Service.Logger}
	if err := runner.Run(s.Context(), s.Clock.Now()); err == nil {
		t.Error("a lost answer is no error")
	}
	s.stripe.Set(func(s *stripetest.State) { s.Lose = false })
	s.is(domain.InvoiceFailed, 2)
	for range 2 {
		if got := s.send(paid()); got.Code != http.StatusOK || got.Body.Len() > 0 {
			t.Errorf("a payment's event was answered with %d %s", got.Code, got.Body)
		}
	}
	s.is(domain.InvoicePaid, 2)
	s.send(declined)
	s.Clock.Advance(48 * time.Hour)
	s.work()
	s.is(domain.InvoicePaid, 2)
	if len(s.stripe.Payments()) != 2 {
		t.Errorf("%d payments were tried at Stripe, want 2", len(s.stripe.Payments()))
	}
	m, err := s.DB.PaymentMethod(t.Context(), s.Account.AccountID, "stripe")
	if err != nil || m.Label == nil || *m.Label != "Visa ending in 4242" {
		t.Errorf("the card is stored as %+v, %v", m, err)
	}
	var events int
	s.OK(s.DB.Raw().GetContext(t.Context(), &events, `SELECT count(*) FROM event WHERE type = 'billing.invoice_payment_failed'`))
	if events != 2 {
		t.Errorf("%d events of failures, want 2", events)
	}
}

func TestStripeEventsMustBeStripes(t *testing.T) {
	t.Parallel()
	s := newStripeHarness(t)
	paid := stripetest.Event("evt_1", "payment_intent.succeeded", stripetest.Example("payment_intent", stripetest.Object{
		"id": "pi_1", "amount_received": 12_345, "metadata": stripetest.Object{"invoice_id": s.invoice.ID.String(), "failures": "0"}}))
	now := s.Clock.Now()
	for name, signature := range map[string]string{
		"none": "", "another secret": stripetest.Sign(paid, "whsec_other", now), "another body": stripetest.Sign([]byte("{}"),
			stripetest.WebhookSecret, now),
		"old": stripetest.Sign(paid, stripetest.WebhookSecret, now.Add(-6*time.Minute)),
	} {
		if got := s.sendSigned(paid, signature); got.Code != http.StatusBadRequest {
			t.Errorf("signature %s: %d, want 400", name, got.Code)
		}
	}
	large := bytes.Repeat([]byte(" "), 256<<10+1)
	if got := s.send(large); got.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("too large a body: %d, want 413", got.Code)
	}
	if got := s.Serve(httptest.NewRequest(http.MethodGet, "/billing/stripe", nil)); got.Code != http.StatusMethodNotAllowed {
		t.Errorf("GET: %d, want 405", got.Code)
	}
	s.is(domain.InvoiceOpen, 0)
	if logs := s.Logs.String(); strings.Contains(logs, stripetest.WebhookSecret) || strings.Contains(logs, stripetest.SecretKey) {
		t.Error("a secret is in the log")
	}
	if got := s.send(paid); got.Code != http.StatusOK {
		t.Errorf("the right one: %d, want 200", got.Code)
	}
	s.is(domain.InvoicePaid, 0)
}

func TestStripeSendsAgainWhatFailedHere(t *testing.T) {
	t.Parallel()
	s := newStripeHarness(t)
	for name, body := range map[string][]byte{
		"another kind":      stripetest.Event("evt_1", "charge.refunded", stripetest.Example("charge", nil)),
		"another's payment": stripetest.Event("evt_2", "payment_intent.succeeded", stripetest.Example("payment_intent", nil)),
		"an unknown invoice": stripetest.Event("evt_3", "payment_intent.succeeded", stripetest.Example("payment_intent",
			stripetest.Object{
				"metadata": stripetest.Object{"invoice_id": domain.NewInvoiceID().String(), "failures": "0"}})),
	} {
		if got := s.send(body); got.Code != http.StatusOK {
			t.Errorf("%s: %d, want 200", name, got.Code)
		}
	}
	s.stripe.Set(func(s *stripetest.State) { s.Down = http.StatusServiceUnavailable })
	setup := stripetest.Event("evt_4", "setup_intent.succeeded", stripetest.Example("setup_intent", stripetest.Object{
		"metadata": stripetest.Object{"account_id": s.Account.AccountID.String()}}))
	if got := s.send(setup); got.Code != http.StatusInternalServerError {
		t.Errorf("a card's event without Stripe's API: %d, want 500", got.Code)
	}
	s.OK(s.DB.Close())
	paid := stripetest.Event("evt_5", "payment_intent.succeeded", stripetest.Example("payment_intent", stripetest.Object{
		"metadata": stripetest.Object{"invoice_id": s.invoice.ID.String(), "failures": "0"}}))
	if got := s.send(paid); got.Code != http.StatusInternalServerError {
		t.Errorf("without a database: %d, want 500", got.Code)
	}
}

func TestStripeIsOnlyWhereItIsSetUp(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	if got := h.Serve(httptest.NewRequest(http.MethodPost, "/billing/stripe",
		strings.NewReader("{}"))); got.Code != http.StatusNotFound {
		t.Errorf("without Stripe its address answers %d, want 404", got.Code)
	}
}

// The way to Stripe's page for cards and back, and what is said where Stripe is
// down.
func TestStripeCardPage(t *testing.T) {
	t.Parallel()
	s := newStripeHarness(t)
	config := s.Service.Config
	config.Cards = s.provider
	s.Restart(config)
	finance := s.Staff(domain.RoleFinance)
	const page = "/dashboard/live/billing"

	finance.WantPage(finance.Get(page), http.StatusOK, "No card is stored", "Add a card")
	there := finance.Post(page+"/card", nil)
	if there.Code != http.StatusSeeOther || !strings.HasPrefix(there.Header().Get("Location"), "https://") {
		t.Fatalf("to Stripe: %d, %q", there.Code, there.Header().Get("Location"))
	}
	asked := s.stripe.Calls(http.MethodPost, "/v1/checkout/sessions")[0].Form
	if success, cancel := asked["success_url"], asked["cancel_url"]; !strings.HasSuffix(success, page+"?card=stored") ||
		!strings.HasSuffix(cancel, page+"?card=none") {
		t.Errorf("Stripe is to lead back to %q and %q", success, cancel)
	}
	for query, notice := range map[string]string{"?card=stored": "Card saved. It appears here in a few seconds.",
		"?card=none": "No card was saved."} {
		finance.WantRedirect(finance.Get(page+query), page)
		// the query is believed in nothing else
		finance.WantPage(finance.Get(page), http.StatusOK, notice, "No card is stored. Add one")
	}
	finance.WantPage(finance.Get(page+"?card=other"), http.StatusOK, "Add a card")

	s.stripe.Set(func(s *stripetest.State) { s.Down = http.StatusServiceUnavailable })
	finance.WantPage(finance.Post(page+"/card", nil), http.StatusServiceUnavailable, "Stripe can’t be reached right now",
		"Try again in a few minutes", "Add a card")
	if !strings.Contains(s.Logs.String(), `"level":"ERROR"`) {
		t.Error("nothing in the log says that Stripe is down")
	}

	s.stripe.Set(func(s *stripetest.State) { s.Down = 0 })
	s.storeCard("pm_1")
	finance.WantPage(finance.Get(page), http.StatusOK, "Visa ending in 4242", "Use another card")

	s.stripe.Set(func(s *stripetest.State) { s.Gone = "cus_1" })
	if there := finance.Post(page+"/card", nil); there.Code != http.StatusSeeOther {
		t.Errorf("to Stripe, once the customer is deleted there: %d", there.Code)
	}
	finance.WantPage(finance.Get(page), http.StatusOK, "No card is stored") // it went with the customer
}
