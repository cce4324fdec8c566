package billing

import (
	"context"

	"candor/internal/domain"
)

// A Provider collects what is owed.
type Provider interface {
	// Name tells providers apart in the database: "manual", "stripe".
	Name() string
	// Charge collects an invoice's amount without the payer. Asked again for the
	// same failure count, it collects nothing more. An error means that nobody
	// knows; it is asked again.
	Charge(ctx context.Context, i *domain.Invoice) (Outcome, error)
}

// An Outcome is what came of a payment.
type Outcome struct {
	State     OutcomeState
	Reference string // of the payment at the provider
	Reason    string // of the failure, in words for the account's staff
}

// An OutcomeState says how a payment went.
type OutcomeState int

// The states of a payment.
const (
	Pending OutcomeState = iota // the provider will tell
	Paid
	Failed
)

// Manual is payment by bank transfer: an operator says what has arrived.
type Manual struct{}

// Name is "manual".
func (Manual) Name() string { return "manual" }

// Charge is asked once an invoice is due, and when it is due again: nobody has
// said that it is paid.
func (Manual) Charge(context.Context, *domain.Invoice) (Outcome, error) {
	return Outcome{State: Failed, Reason: "No payment has arrived by the due date."}, nil
}
