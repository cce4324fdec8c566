package billing

import (
	"errors"
	"time"

	"candor/internal/domain"
	"candor/internal/statement"
)

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
