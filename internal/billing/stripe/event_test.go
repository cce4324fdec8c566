package stripe_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"candor/internal/billing"
	"candor/internal/billing/stripe/stripetest"
	"candor/internal/domain"
)

// send sends a webhook with Stripe's signature.
func (b *harness) send(kind string, object stripetest.Object) (billing.ProviderEvent, error) {
	b.Helper()
	body := stripetest.Event("evt_1", kind, object)
	return b.Event(b.Context(), body, stripetest.Sign(body, stripetest.WebhookSecret, now), now)
}

func (b *harness) wantEvent(kind string, object stripetest.Object, want billing.ProviderEvent) {
	b.Helper()
	want.ID = "evt_1"
	got, err := b.send(kind, object)
	if err != nil || got != want {
		b.Errorf("%s was read as %+v, %v, want %+v", kind, got, err, want)
	}
}

func TestPaymentEvents(t *testing.T) {
	t.Parallel()
	b := newHarness(t)
	id := domain.NewInvoiceID()
	intent := func(change stripetest.Object) stripetest.Object {
		out := stripetest.Example("payment_intent", stripetest.Object{
			"id": "pi_1", "amount": 12_345, "amount_received": 12_345, "currency": "aud", "status": "succeeded", "last_payment_error": nil,
			"metadata": stripetest.Object{"invoice_id": id.String(), "account_id": "acct_1", "failures": "2"},
		})
		for key, value := range change {
			out[key] = value
		}
		return out
	}
	b.wantEvent("payment_intent.succeeded", intent(nil), billing.ProviderEvent{
		Kind: billing.EventPaid, InvoiceID: id, Failures: 2, Reference: "pi_1", Amount: 12_345,
	})
	failed := intent(stripetest.Object{"status": "requires_payment_method", "amount_received": 0,
		"last_payment_error": stripetest.Object{
			"type": "card_error", "code": "card_declined", "decline_code": "insufficient_funds",
			"message":        "Your card has insufficient funds.",
			"payment_method": stripetest.Example("payment_method", nil),
		}})
	b.wantEvent("payment_intent.payment_failed", failed, billing.ProviderEvent{
		Kind: billing.EventPaymentFailed, InvoiceID: id, Failures: 2, Reference: "pi_1", Reason: "The card has insufficient funds.",
	})
	for name, metadata := range map[string]stripetest.Object{
		"none": {}, "another shop's": {"invoice_id": "7"}, "no count": {"invoice_id": id.String()},
	} {
		if got, err := b.send("payment_intent.succeeded", intent(stripetest.Object{"metadata": metadata})); err != nil ||
			got.Kind != billing.EventIgnored {
			t.Errorf("metadata %s: %+v, %v, want it ignored", name, got, err)
		}
	}
	for _, kind := range []string{"payment_intent.created", "charge.succeeded", "invoice.paid", "a.new.kind"} {
		b.wantEvent(kind, intent(nil), billing.ProviderEvent{})
	}
}

func TestMethodEvents(t *testing.T) {
	t.Parallel()
	b := newHarness(t)
	made := now.Add(-time.Minute)
	method := func(change stripetest.Object) stripetest.Object {
		out := stripetest.Example("payment_method", stripetest.Object{"id": "pm_1", "customer": "cus_1", "created": made.Unix()})
		for key, value := range change {
			out[key] = value
		}
		return out
	}
	ours := stripetest.Object{"account_id": b.invoice.AccountID.String()}
	stored := func(method any) stripetest.Object {
		return stripetest.Example("setup_intent", stripetest.Object{
			"id": "seti_1", "status": "succeeded", "customer": "cus_1", "payment_method": method, "metadata": ours,
		})
	}
	session := stripetest.Example("checkout.session", stripetest.Object{"mode": "setup", "setup_intent": "seti_1",
		"customer": "cus_1", "metadata": ours})
	want := billing.ProviderEvent{Kind: billing.EventMethodAdded, CustomerID: "cus_1", MethodID: "pm_1",
		Label: "Visa ending in 4242", MethodAt: made}

	b.stripe.Setup("seti_1", stored(method(nil)))
	b.wantEvent("checkout.session.completed", session, want)
	b.wantEvent("setup_intent.succeeded", stored("pm_1"), want)
	if calls := b.stripe.Calls(http.MethodGet, "/v1/setup_intents/seti_1"); len(calls) != 2 ||
		calls[0].Form["expand[0]"] != "payment_method" {
		t.Errorf("Stripe was asked by %+v", calls)
	}

	b.stripe.Setup("seti_1", stored(method(stripetest.Object{"customer": nil})))
	b.wantEvent("setup_intent.succeeded", stored("pm_1"), billing.ProviderEvent{}) // it was removed since
	b.wantEvent("payment_method.detached", method(stripetest.Object{"customer": nil}),
		billing.ProviderEvent{Kind: billing.EventMethodRemoved, MethodID: "pm_1"})

	calls := len(b.stripe.Calls("", ""))
	b.wantEvent("checkout.session.completed", stripetest.Example("checkout.session", stripetest.Object{"mode": "payment",
		"metadata": ours}), billing.ProviderEvent{})
	b.wantEvent("checkout.session.completed", stripetest.Example("checkout.session", stripetest.Object{"mode": "setup",
		"setup_intent": "seti_1"}), billing.ProviderEvent{})
	b.wantEvent("setup_intent.succeeded", stripetest.Example("setup_intent", stripetest.Object{"id": "seti_1"}),
		billing.ProviderEvent{})
	if len(b.stripe.Calls("", "")) != calls {
		t.Error("Stripe was asked for what isn't ours")
	}

	b.stripe.Set(func(s *stripetest.State) { s.Down = http.StatusServiceUnavailable })
	if got, err := b.send("setup_intent.succeeded", stored("pm_1")); err == nil || errors.Is(err, billing.ErrSignature) {
		t.Errorf("without Stripe the event is %+v, %v, want an error", got, err)
	}
}

func TestLabels(t *testing.T) {
	t.Parallel()
	for brand, want := range map[string]string{
		"mastercard": "Mastercard ending in 0005", "amex": "American Express ending in 0005", "eftpos_au": "eftpos ending in 0005",
		"new": "Card ending in 0005",
	} {
		b := newHarness(t)
		b.stripe.Setup("seti_1", stripetest.Example("setup_intent", stripetest.Object{"status": "succeeded",
			"payment_method": stripetest.Example("payment_method", stripetest.Object{"customer": "cus_1",
				"card": stripetest.Object{"brand": brand, "last4": "0005"}})}))
		got, err := b.send("setup_intent.succeeded", stripetest.Example("setup_intent", stripetest.Object{"id": "seti_1",
			"metadata": stripetest.Object{"account_id": "acct_1"}}))
		if err != nil || got.Label != want {
			t.Errorf("%s: %q, %v, want %q", brand, got.Label, err, want)
		}
	}
}

func TestSignatures(t *testing.T) {
	t.Parallel()
	b := newHarness(t)
	body := stripetest.Event("evt_1", "charge.succeeded", stripetest.Example("charge", nil))
	sign := func(at time.Time) string { return stripetest.Sign(body, stripetest.WebhookSecret, at) }
	good := sign(now)
	for name, tt := range map[string]struct {
		body   []byte
		header string
		holds  bool
	}{
		"right":               {body, good, true},
		"5 minutes old":       {body, sign(now.Add(-5 * time.Minute)), true},
		"older":               {body, sign(now.Add(-5*time.Minute - time.Second)), false},
		"too early":           {body, sign(now.Add(5*time.Minute + time.Second)), false},
		"two secrets":         {body, good + ",v1=" + strings.Repeat("0", 64), true},
		"another secret":      {body, stripetest.Sign(body, "whsec_other", now), false},
		"no secret":           {body, stripetest.Sign(body, "", now), false},
		"none":                {body, "", false},
		"no time":             {body, good[strings.Index(good, "v1"):], false},
		"two times":           {body, good + ",t=1", false},
		"another time":        {body, strings.Replace(good, "t=1", "t=2", 1), false},
		"a time that is none": {body, "t=x," + good, false},
		"no signature":        {body, good[:strings.Index(good, ",")], false},
		"the old scheme":      {body, strings.Replace(good, "v1=", "v0=", 1), false},
		"no hexadecimal":      {body, strings.Replace(good, "v1=", "v1=x", 1), false},
		"a changed body":      {append([]byte(" "), body...), good, false},
		"no body":             {nil, good, false},
	} {
		_, err := b.Event(b.Context(), tt.body, tt.header, now)
		if tt.holds && err != nil || !tt.holds && !errors.Is(err, billing.ErrSignature) {
			t.Errorf("%s: %v, want it to hold: %t", name, err, tt.holds)
		}
	}
}

func TestUnreadableEvents(t *testing.T) {
	t.Parallel()
	b := newHarness(t)
	for body, readable := range map[string]bool{
		"": false, "{": false, "[]": false, "{}": true, `{"id":"evt_1","type":"payment_intent.succeeded"}`: true,
		`{"id":"evt_1","type":"payment_intent.succeeded","data":{"object":7}}`: false,
	} {
		_, err := b.Event(b.Context(), []byte(body), stripetest.Sign([]byte(body), stripetest.WebhookSecret, now), now)
		if (err == nil) != readable || errors.Is(err, billing.ErrSignature) {
			t.Errorf("%q: %v, want it readable: %t", body, err, readable)
		}
	}
}
