package simulator

import (
	"context"
	"slices"
	"strings"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service/idempotency"
)

// A BillingType is the type of an event that RecordEvent makes up: of those that
// never come in test mode by themselves.
type BillingType domain.EventType

// Enum lists the types.
func (BillingType) Enum() (out []string) {
	for _, info := range domain.EventTable {
		if !info.AboutSession() {
			out = append(out, string(info.Type))
		}
	}
	return out
}

// RecordEvent records a made-up billing event in test mode and returns it. It goes
// to the endpoints of test mode that take it. Later requests with the key get a
// *idempotency.Replay. Error: validation_error on type.
func (s *Service) RecordEvent(ctx context.Context, scope domain.Scope, key *idempotency.Key[*domain.FeedEvent],
	of BillingType) (*domain.FeedEvent, error) {
	return idempotency.Do(ctx, s.Idempotency, scope, key, func(tx *db.Tx) (*domain.FeedEvent, error) {
		if !slices.Contains(of.Enum(), string(of)) {
			return nil, domain.Breaks(domain.CodeValidation, "type", form.Rule{Code: "billing_event",
				Value: strings.Join(of.Enum(), ", ")})
		}
		now := s.Clock.Now()
		sequence, err := s.Outbox.SimulatedBillingEvent(ctx, tx, scope.AccountID, billingPayload(domain.EventType(of), now), now)
		if err != nil {
			return nil, err
		}
		recorded, err := tx.EventFeed(ctx, scope, domain.EventFilter{After: sequence - 1}, sequence, 1)
		if err != nil {
			return nil, err
		}
		return &recorded[0], nil
	})
}

// billingPayload is what an invoice of the last month would come to, or a
// cancellation to the end of this one.
func billingPayload(of domain.EventType, now time.Time) domain.Payload {
	month := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	invoice, retry := domain.NewInvoiceID().String(), form.At(now.AddDate(0, 0, 3))
	switch of {
	case domain.BillingInvoicePaid:
		return domain.InvoicePaidPayload{InvoiceID: invoice, Amount: 1500, Currency: "AUD",
			PeriodStart: form.At(month.AddDate(0, -1, 0)), PeriodEnd: form.At(month)}
	case domain.BillingInvoicePaymentFailed:
		return domain.InvoicePaymentFailedPayload{InvoiceID: invoice, Amount: 1500, FailureReason: "The card was declined.",
			RetryAt: &retry}
	}
	return domain.SubscriptionCancelledPayload{EffectiveDate: form.At(month.AddDate(0, 1, 0)),
		Reason: "Requested by the account’s owner."}
}

// AttemptDelivery attempts a delivery of test mode at once, as
// webhooks.Redeliver does. Later requests with the key get a *idempotency.Replay.
// Error: not_found.
func (s *Service) AttemptDelivery(ctx context.Context, scope domain.Scope, key *idempotency.Key[*domain.Delivery],
	id domain.DeliveryID, by domain.Actor) (*domain.Delivery, error) {
	if key != nil {
		key.Hides = true
	}
	return idempotency.Do(ctx, s.Idempotency, scope, key, func(tx *db.Tx) (*domain.Delivery, error) {
		return s.Webhooks.RedeliverIn(ctx, tx, scope, id, by)
	})
}
