package billing

import (
	"errors"
	"time"

	"candor/internal/domain"
	"candor/internal/statement"
)

// ErrSignature says that an event isn't from the provider, or is too old.
var ErrSignature = errors.New("billing: the event's signature doesn't hold")

// A ProviderEventKind says what a payment provider tells.
type ProviderEventKind int

// The kinds of events; which fields they have is said there.
const (
	EventIgnored       ProviderEventKind = iota // nothing that concerns us
	EventPaid                                   // InvoiceID, Reference, Amount
	EventPaymentFailed                          // InvoiceID, Failures, Reference, Reason
	EventMethodAdded                            // CustomerID, MethodID, Label, MethodAt
	EventMethodRemoved                          // MethodID
)

// A ProviderEvent is what a payment provider tells. They come in any order, and
// more than once.
type ProviderEvent struct {
	ID   string // at the provider
	Kind ProviderEventKind

	InvoiceID domain.InvoiceID
	Failures  int             // the invoice's, when the attempt was made
	Reference string          // of the payment at the provider
	Amount    statement.Cents // that was received
	Reason    string          // of the failure, in words for the account's staff

	CustomerID string
	MethodID   string
	Label      string // for the account's staff, "Visa ending in 4242"
	MethodAt   time.Time
}
