package stripe

import (
	"context"
	"crypto/hmac"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v85"
	"github.com/stripe/stripe-go/v85/webhook"

	"candor/internal/billing"
	"candor/internal/domain"
	"candor/internal/statement"
)

// Event reads a webhook of Stripe: its body, its Stripe-Signature header and
// when it arrived. Returns ErrSignature if the signature is wrong at now. It
// asks Stripe for the card's label, and whether the card is still stored.
func (p *provider) Event(ctx context.Context, payload []byte, signature string, now time.Time) (billing.ProviderEvent, error) {
	if !signed(payload, signature, p.secret, now) {
		return billing.ProviderEvent{}, billing.ErrSignature
	}
	var e stripe.Event
	if err := json.Unmarshal(payload, &e); err != nil {
		return billing.ProviderEvent{}, fmt.Errorf("stripe: read event: %w", err)
	}
	if e.Data == nil {
		return billing.ProviderEvent{ID: e.ID}, nil
	}
	out, err := p.event(ctx, &e)
	if err != nil {
		return billing.ProviderEvent{}, fmt.Errorf("stripe: event %s %s: %w", e.ID, e.Type, err)
	}
	out.ID = e.ID
	return out, nil
}

// event reads an event. It uses only fields that all of Stripe's API versions
// share, because the version is set at Stripe.
func (p *provider) event(ctx context.Context, e *stripe.Event) (billing.ProviderEvent, error) {
	switch e.Type {
	case stripe.EventTypePaymentIntentSucceeded, stripe.EventTypePaymentIntentPaymentFailed:
		var intent stripe.PaymentIntent
		if err := json.Unmarshal(e.Data.Raw, &intent); err != nil {
			return billing.ProviderEvent{}, err
		}
		return payment(e.Type, &intent), nil
	case stripe.EventTypeCheckoutSessionCompleted:
		var session stripe.CheckoutSession
		err := json.Unmarshal(e.Data.Raw, &session)
		if err != nil || session.Mode != stripe.CheckoutSessionModeSetup || session.SetupIntent == nil ||
			session.Metadata[accountKey] == "" {
			return billing.ProviderEvent{}, err
		}
		return p.methodOf(ctx, session.SetupIntent.ID)
	case stripe.EventTypeSetupIntentSucceeded:
		var intent stripe.SetupIntent
		err := json.Unmarshal(e.Data.Raw, &intent)
		if err != nil || intent.Metadata[accountKey] == "" {
			return billing.ProviderEvent{}, err
		}
		return p.methodOf(ctx, intent.ID)
	case stripe.EventTypePaymentMethodDetached:
		var method stripe.PaymentMethod
		err := json.Unmarshal(e.Data.Raw, &method)
		return billing.ProviderEvent{Kind: billing.EventMethodRemoved, MethodID: method.ID}, err
	}
	return billing.ProviderEvent{}, nil
}

// payment reads a payment's event. Payments without an invoice of ours are
// ignored.
func payment(kind stripe.EventType, intent *stripe.PaymentIntent) billing.ProviderEvent {
	invoice, err := domain.ParseInvoiceID(intent.Metadata[invoiceKey])
	failures, countErr := strconv.Atoi(intent.Metadata[failuresKey])
	if err != nil || countErr != nil {
		return billing.ProviderEvent{}
	}
	out := billing.ProviderEvent{Kind: billing.EventPaid, InvoiceID: invoice, Failures: failures, Reference: intent.ID}
	if kind == stripe.EventTypePaymentIntentSucceeded {
		out.Amount = statement.Cents(intent.AmountReceived)
	} else {
		out.Kind, out.Reason = billing.EventPaymentFailed, reasonOf(intent.LastPaymentError)
	}
	return out
}

// methodOf returns the stored payment method as it is now: one that has been
// removed since is none.
func (p *provider) methodOf(ctx context.Context, setupIntent string) (billing.ProviderEvent, error) {
	intent, err := p.client.V1SetupIntents.Retrieve(ctx, setupIntent, &stripe.SetupIntentRetrieveParams{
		Expand: stripe.StringSlice([]string{"payment_method"}),
	})
	if err != nil {
		return billing.ProviderEvent{}, failure("look for the stored card", err)
	}
	method := intent.PaymentMethod
	if intent.Status != stripe.SetupIntentStatusSucceeded || method == nil || method.Customer == nil {
		return billing.ProviderEvent{}, nil
	}
	return billing.ProviderEvent{
		Kind: billing.EventMethodAdded, CustomerID: method.Customer.ID, MethodID: method.ID, Label: label(method),
		MethodAt: time.Unix(method.Created, 0).UTC(),
	}, nil
}

// brands are the names of card brands by Stripe's codes.
var brands = map[stripe.PaymentMethodCardBrand]string{
	"amex": "American Express", "diners": "Diners Club", "discover": "Discover", "eftpos_au": "eftpos", "jcb": "JCB",
	"mastercard": "Mastercard", "unionpay": "UnionPay", "visa": "Visa",
}

// label describes a card for staff.
func label(m *stripe.PaymentMethod) string {
	if m.Card == nil {
		return "Stored at Stripe"
	}
	brand, ok := brands[m.Card.Brand]
	if !ok {
		brand = "Card"
	}
	return brand + " ending in " + m.Card.Last4
}

// signed checks a Stripe-Signature, "t=SECONDS,v1=HEX,…". The library's own
// check uses the machine's clock and accepts times in the future.
func signed(payload []byte, header, secret string, now time.Time) bool {
	var at time.Time
	var signatures [][]byte
	for part := range strings.SplitSeq(header, ",") {
		switch key, value, _ := strings.Cut(part, "="); key {
		case "t":
			seconds, err := strconv.ParseInt(value, 10, 64)
			if err != nil || !at.IsZero() {
				return false
			}
			at = time.Unix(seconds, 0)
		case "v1":
			if signature, err := hex.DecodeString(value); err == nil {
				signatures = append(signatures, signature)
			}
		}
	}
	if secret == "" || now.Sub(at).Abs() > webhook.DefaultTolerance {
		return false
	}
	want := webhook.ComputeSignature(at, payload, secret)
	for _, signature := range signatures {
		if hmac.Equal(signature, want) {
			return true
		}
	}
	return false
}
