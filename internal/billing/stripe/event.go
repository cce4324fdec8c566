package stripe

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"candor/internal/billing"
	"candor/internal/domain"
	"candor/internal/statement"
)

const (
	paymentSucceeded = "payment_intent.succeeded"
	// tolerance is how old a webhook's signature may be, as Stripe recommends.
	tolerance = 5 * time.Minute
)

// event is the body of a webhook.
type event struct {
	ID   string `json:"id"`
	Type string `json:"type"`
	Data struct {
		Object json.RawMessage `json:"object"`
	} `json:"data"`
}

// Event reads a webhook of Stripe: its body, its Stripe-Signature header and
// when it arrived. Returns ErrSignature if the signature is wrong at now. It
// asks Stripe for the card's label, and whether the card is still stored.
func (p *provider) Event(ctx context.Context, payload []byte, signature string, now time.Time) (billing.ProviderEvent, error) {
	if !signed(payload, signature, p.secret, now) {
		return billing.ProviderEvent{}, billing.ErrSignature
	}
	var e event
	if err := json.Unmarshal(payload, &e); err != nil {
		return billing.ProviderEvent{}, fmt.Errorf("stripe: read event: %w", err)
	}
	if e.Data.Object == nil {
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
func (p *provider) event(ctx context.Context, e *event) (billing.ProviderEvent, error) {
	switch e.Type {
	case paymentSucceeded, "payment_intent.payment_failed":
		var intent paymentIntent
		if err := json.Unmarshal(e.Data.Object, &intent); err != nil {
			return billing.ProviderEvent{}, err
		}
		return payment(e.Type, &intent), nil
	case "checkout.session.completed":
		var session struct {
			Mode        string            `json:"mode"`
			SetupIntent reference         `json:"setup_intent"`
			Metadata    map[string]string `json:"metadata"`
		}
		err := json.Unmarshal(e.Data.Object, &session)
		if err != nil || session.Mode != "setup" || session.SetupIntent.ID == "" || session.Metadata[accountKey] == "" {
			return billing.ProviderEvent{}, err
		}
		return p.methodOf(ctx, session.SetupIntent.ID)
	case "setup_intent.succeeded":
		var intent struct {
			ID       string            `json:"id"`
			Metadata map[string]string `json:"metadata"`
		}
		err := json.Unmarshal(e.Data.Object, &intent)
		if err != nil || intent.Metadata[accountKey] == "" {
			return billing.ProviderEvent{}, err
		}
		return p.methodOf(ctx, intent.ID)
	case "payment_method.detached":
		var method reference
		err := json.Unmarshal(e.Data.Object, &method)
		return billing.ProviderEvent{Kind: billing.EventMethodRemoved, MethodID: method.ID}, err
	}
	return billing.ProviderEvent{}, nil
}

// payment reads a payment's event. Payments without an invoice of ours are
// ignored.
func payment(kind string, intent *paymentIntent) billing.ProviderEvent {
	invoice, err := domain.ParseInvoiceID(intent.Metadata[invoiceKey])
	failures, countErr := strconv.Atoi(intent.Metadata[failuresKey])
	if err != nil || countErr != nil {
		return billing.ProviderEvent{}
	}
	out := billing.ProviderEvent{Kind: billing.EventPaid, InvoiceID: invoice, Failures: failures, Reference: intent.ID}
	if kind == paymentSucceeded {
		out.Amount = statement.Cents(intent.AmountReceived)
	} else {
		out.Kind, out.Reason = billing.EventPaymentFailed, reasonOf(intent.LastPaymentError)
	}
	return out
}

// methodOf returns the stored payment method as it is now: one that has been
// removed since is none.
func (p *provider) methodOf(ctx context.Context, setupIntent string) (billing.ProviderEvent, error) {
	var intent struct {
		Status        string         `json:"status"`
		PaymentMethod *paymentMethod `json:"payment_method"`
	}
	err := p.client.get(ctx, "/v1/setup_intents/"+url.PathEscape(setupIntent), url.Values{"expand[0]": {"payment_method"}}, &intent)
	if err != nil {
		return billing.ProviderEvent{}, failure("look for the stored card", err)
	}
	method := intent.PaymentMethod
	if intent.Status != "succeeded" || method == nil || method.Customer.ID == "" {
		return billing.ProviderEvent{}, nil
	}
	return billing.ProviderEvent{
		Kind: billing.EventMethodAdded, CustomerID: method.Customer.ID, MethodID: method.ID, Label: label(method),
		MethodAt: time.Unix(method.Created, 0).UTC(),
	}, nil
}

// brands are the names of card brands by Stripe's codes.
var brands = map[string]string{
	"amex": "American Express", "diners": "Diners Club", "discover": "Discover", "eftpos_au": "eftpos", "jcb": "JCB",
	"mastercard": "Mastercard", "unionpay": "UnionPay", "visa": "Visa",
}

// label describes a card for staff.
func label(m *paymentMethod) string {
	if m.Card == nil {
		return "Stored at Stripe"
	}
	brand, ok := brands[m.Card.Brand]
	if !ok {
		brand = "Card"
	}
	return brand + " ending in " + m.Card.Last4
}

// signed checks a Stripe-Signature, "t=SECONDS,v1=HEX,…". It is of the time
// and the body.
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
	if secret == "" || now.Sub(at).Abs() > tolerance {
		return false
	}
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = fmt.Fprintf(mac, "%d.%s", at.Unix(), payload)
	want := mac.Sum(nil)
	for _, signature := range signatures {
		if hmac.Equal(signature, want) {
			return true
		}
	}
	return false
}
