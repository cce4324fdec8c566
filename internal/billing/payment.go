package billing

import (
	"context"
	"errors"
	"time"

	"candor/internal/domain"
	"candor/internal/statement"
)

// A Provider collects invoices.
type Provider interface {
	// Name identifies the provider in the database: "manual", "stripe".
	Name() string
	// Charge collects an invoice without the payer being there. For the same
	// failure count it collects only once. An error means that the outcome is
	// unknown; Charge is called again.
	Charge(ctx context.Context, i *domain.Invoice) (Outcome, error)
}

// A CardProvider collects by card, and tells of payments by webhook.
type CardProvider interface {
	Provider
	// CardPage returns the address of a page on which the account's staff store a
	// card. It leads back to success or cancel.
	CardPage(ctx context.Context, account *domain.Account, success, cancel string) (url string, err error)
	// Event reads a webhook. An error means that it isn't the provider's.
	Event(ctx context.Context, payload []byte, signature string, now time.Time) (ProviderEvent, error)
}

// An Outcome is the result of a charge.
type Outcome struct {
	State     OutcomeState
	Reference string // of the payment at the provider
	Reason    string // of the failure, for the account's staff
}

// An OutcomeState is the state of a payment.
type OutcomeState int

// The states of a payment.
const (
	Pending OutcomeState = iota // the provider will send an event
	Paid
	Failed
)

// Manual is payment by bank transfer. An operator records what has arrived.
type Manual struct{}

// Name is "manual".
func (Manual) Name() string { return "manual" }

// Charge fails: it is called when an invoice is due, and no operator has
// marked it as paid.
func (Manual) Charge(context.Context, *domain.Invoice) (Outcome, error) {
	return Outcome{State: Failed, Reason: "No payment has arrived by the due date."}, nil
}

// ErrSignature is returned for an event that isn't from the provider or is too
// old.
var ErrSignature = errors.New("billing: the event's signature is wrong")

// A ProviderEventKind says what happened at a payment provider.
type ProviderEventKind int

// The kinds of events, each with the fields that it sets.
const (
	EventIgnored       ProviderEventKind = iota // not about our invoices or cards
	EventPaid                                   // InvoiceID, Reference, Amount
	EventPaymentFailed                          // InvoiceID, Failures, Reference, Reason
	EventMethodAdded                            // CustomerID, MethodID, Label, MethodAt
	EventMethodRemoved                          // MethodID
)

// A ProviderEvent is what happened at a payment provider. Events come in any
// order, and more than once.
type ProviderEvent struct {
	ID   string // at the provider
	Kind ProviderEventKind

	InvoiceID domain.InvoiceID
	Failures  int             // the invoice's, when the attempt was made
	Reference string          // of the payment at the provider
	Amount    statement.Cents // received
	Reason    string          // of the failure, for the account's staff

	CustomerID string
	MethodID   string
	Label      string // for the account's staff, "Visa ending in 4242"
	MethodAt   time.Time
}
