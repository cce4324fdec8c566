// Package stripe collects invoices with Stripe: it charges stored cards, sends
// staff to Stripe's page to store one, and reads Stripe's webhooks. It never
// sees a card number. It knows no rules of billing, no HTTP routes and no
// database.
package stripe

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"candor/internal/billing"
	"candor/internal/domain"
	"candor/internal/statement"
)

// Name is the provider's name in the database.
const Name = "stripe"

const (
	// callTimeout is longer than Stripe's timeout for a card's bank.
	callTimeout = 80 * time.Second
	// A charge lists payments and then makes one. This doesn't compile if
	// PaymentTimeout is too short for both calls.
	_ = uint(billing.PaymentTimeout - 2*callTimeout)
	// clockSlack is how far Stripe's clock can be from ours.
	clockSlack = 24 * time.Hour
)

// Metadata of Stripe's objects, by which we recognise ours.
const (
	accountKey      = "account_id"
	invoiceKey      = "invoice_id"
	failuresKey     = "failures" // the invoice's, when the attempt was made
	subscriptionKey = "subscription_id"
	periodKey       = "period_start" // RFC 3339
)

// Config is what the provider needs.
type Config struct {
	SecretKey     string
	WebhookSecret string // whsec_…
	APIURL        string // "" for Stripe's
	Customers     billing.Customers
}

// provider is a billing.CardProvider.
type provider struct {
	client    *client
	secret    string
	customers billing.Customers
}

// New returns a provider that is safe for concurrent use. It makes no call.
func New(c Config) billing.CardProvider {
	return &provider{client: newClient(c), secret: c.WebhookSecret, customers: c.Customers}
}

// Name is "stripe".
func (*provider) Name() string { return Name }

// Charge pays an invoice with the account's stored card. Stripe forgets
// idempotency keys after a day, so Charge looks for an earlier payment first.
func (p *provider) Charge(ctx context.Context, i *domain.Invoice) (billing.Outcome, error) {
	customer, err := p.customers.Customer(ctx, i.AccountID, Name)
	if err != nil {
		return billing.Outcome{}, err
	}
	if customer.MethodID == "" {
		return failed("No payment method is stored."), nil
	}
	known, before, err := p.known(ctx, customer, i)
	if reason, ok := refusal(err); ok {
		return failed(reason), nil
	}
	if err != nil {
		return billing.Outcome{}, failure("look for payments", err)
	}
	if known {
		return before, nil
	}
	params := url.Values{
		"amount": {strconv.FormatInt(int64(i.Total), 10)}, "currency": {strings.ToLower(i.Currency)},
		"customer": {customer.ID}, "payment_method": {customer.MethodID}, "payment_method_types[0]": {"card"},
		"confirm": {"true"}, "off_session": {"true"}, "description": {i.NumberText()},
	}
	for key, value := range map[string]string{
		accountKey: i.AccountID.String(), invoiceKey: i.ID.String(), failuresKey: strconv.Itoa(i.Failures),
		subscriptionKey: i.SubscriptionID.String(), periodKey: periodOf(i),
	} {
		params.Set("metadata["+key+"]", value)
	}
	var intent paymentIntent
	err = p.client.post(ctx, "/v1/payment_intents", fmt.Sprintf("invoice-%s-%d", i.ID, i.Failures), params, &intent)
	if reason, ok := refusal(err); ok {
		return failed(reason), nil
	}
	if err != nil {
		return billing.Outcome{}, failure("charge", err)
	}
	return outcome(&intent), nil
}

// periodOf is the start of an invoice's period, as metadata has it.
func periodOf(i *domain.Invoice) string { return i.PeriodStart.UTC().Format(time.RFC3339Nano) }

// known looks for an earlier payment of the invoice: one that succeeded or
// still can, or this same attempt. After a restore of the database a period can have
// a second invoice: the first one's payment pays it, or if that has another amount, it is
// an error.
func (p *provider) known(ctx context.Context, customer billing.Customer, i *domain.Invoice) (found bool, out billing.Outcome,
	err error) {
	for intent, err := range p.client.payments(ctx, customer.ID, i.PeriodStart.Add(-clockSlack).Unix()) {
		if err != nil {
			return false, billing.Outcome{}, err
		}
		this := outcome(&intent)
		if intent.Metadata[invoiceKey] != i.ID.String() {
			if this.State == billing.Failed || intent.Metadata[subscriptionKey] != i.SubscriptionID.String() ||
				intent.Metadata[periodKey] != periodOf(i) {
				continue
			}
			if intent.Amount != int64(i.Total) {
				return false, billing.Outcome{}, fmt.Errorf("%s already pays the period from %s, with %s instead of %s",
					intent.ID, periodOf(i), statement.Cents(intent.Amount), i.Total)
			}
		}
		switch {
		case this.State == billing.Paid:
			return true, this, nil
		case this.State == billing.Pending:
			found, out = true, this
		case !found && intent.Metadata[failuresKey] == strconv.Itoa(i.Failures):
			found, out = true, this
		}
	}
	return found, out, nil
}

// outcome returns the state of a payment. A payment that needs the cardholder
// has failed, because the cardholder isn't there.
func outcome(intent *paymentIntent) billing.Outcome {
	switch intent.Status {
	case "succeeded":
		return billing.Outcome{State: billing.Paid, Reference: intent.ID}
	case "processing":
		return billing.Outcome{State: billing.Pending, Reference: intent.ID}
	case "canceled":
		return failed("The payment was cancelled.")
	case "requires_action":
		return failed(reasonOf(&apiError{Code: "authentication_required"}))
	}
	return failed(reasonOf(intent.LastPaymentError))
}

func failed(reason string) billing.Outcome {
	return billing.Outcome{State: billing.Failed, Reason: reason}
}

// refusal returns why Stripe refused a payment for good; ok is false if
// another call could succeed.
func refusal(err error) (reason string, ok bool) {
	var e *apiError
	if !errors.As(err, &e) {
		return "", false
	}
	switch {
	case e.Type == "card_error":
		return reasonOf(e), true
	case e.Type == "invalid_request_error" && (e.Param == "payment_method" || e.Param == "customer"):
		return "The stored card can no longer be used.", true
	}
	return "", false
}

// failure is the error of a call, without what Stripe's error says about the
// card and its holder.
func failure(what string, err error) error {
	var e *apiError
	if !errors.As(err, &e) {
		return fmt.Errorf("stripe: %s: %w", what, err)
	}
	text := "stripe: " + what + ": " + e.Error()
	if e.Type == "invalid_request_error" && e.status != http.StatusUnauthorized {
		text += " " + e.Message
	}
	return errors.New(text + " (request " + e.request + ")")
}

// declined says no more than a bank would tell its customer: we must not
// reveal that a card was reported stolen.
const declined = "The bank declined the card."

// reasons are why payments fail, by Stripe's decline codes and error codes.
var reasons = map[string]string{
	"authentication_required":               "The bank wants the cardholder to confirm the payment. Add the card again, and confirm it there.",
	"authentication_not_handled":            "The bank wants the cardholder to confirm the payment. Add the card again, and confirm it there.",
	"payment_intent_authentication_failure": "The cardholder's confirmation failed. Add the card again, and confirm it there.",
	"insufficient_funds":                    "The card has insufficient funds.",
	"withdrawal_count_limit_exceeded":       "The card's limit is reached.",
	"card_velocity_exceeded":                "The card's limit is reached.",
	"expired_card":                          "The card has expired.",
	"invalid_expiry_month":                  "The card's expiry date is wrong.",
	"invalid_expiry_year":                   "The card's expiry date is wrong.",
	"incorrect_cvc":                         "The card's security code is wrong.",
	"invalid_cvc":                           "The card's security code is wrong.",
	"incorrect_number":                      "The card's number is wrong.",
	"invalid_number":                        "The card's number is wrong.",
	"card_not_supported":                    "The card can't be used for this kind of payment.",
	"currency_not_supported":                "The card can't be charged in this currency.",
	"not_permitted":                         "The card can't be used for this kind of payment.",
	"transaction_not_allowed":               "The card can't be used for this kind of payment.",
	"issuer_not_available":                  "The card's bank couldn't be reached.",
	"processing_error":                      "The card's bank couldn't process the payment.",
	"reenter_transaction":                   "The card's bank couldn't process the payment.",
	"try_again_later":                       "The card's bank couldn't process the payment.",
}

// reasonOf returns why a payment failed, for the account's staff; "" if Stripe
// doesn't say.
func reasonOf(e *apiError) string {
	if e == nil {
		return "The payment failed."
	}
	for _, code := range []string{e.DeclineCode, e.Code} {
		if text, ok := reasons[code]; ok {
			return text
		}
	}
	return declined
}
