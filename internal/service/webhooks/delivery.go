package webhooks

import (
	"context"
	"errors"
	"slices"
	"strings"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/platform/tracing"
	"candor/internal/service/audit"
	"candor/internal/webhook"
)

var errDeliveryNotFound = domain.Errorf(domain.CodeNotFound,
	"There is no webhook delivery with this id in this account and mode.")

// MaxDeliveryPage is the longest page of a list of deliveries.
const MaxDeliveryPage = 100

// DeliveryStatuses are the texts that a filter takes for what the last attempt
// came to: a class of statuses, or a class of errors.
var DeliveryStatuses = []string{
	"2xx", "3xx", "4xx", "5xx",
	webhook.ClassDNS, webhook.ClassConnect, webhook.ClassTLS, webhook.ClassTimeout, webhook.ClassRefusedTarget, webhook.ClassStatus,
	webhook.ClassProtocol,
}

// DeliveryFilter narrows a list of deliveries; zero fields don't.
type DeliveryFilter struct {
	domain.DeliveryFilter
	Origin string // of the endpoint, any URL there, or its id; in the place of Endpoint
}

// resolve checks the filter and finds its endpoint.
func (s *Service) resolve(ctx context.Context, scope domain.Scope, f DeliveryFilter) (domain.DeliveryFilter, error) {
	bad := func(field string, rule form.Rule) error {
		return domain.Breaks(domain.CodeInvalidRequest, field, rule)
	}
	switch {
	case f.State != "" && !slices.Contains(domain.DeliveryStates, f.State):
		return f.DeliveryFilter, bad("state", form.Rule{Code: "delivery_state"})
	case f.Type != "" && !slices.Contains(domain.EventTypes, f.Type):
		return f.DeliveryFilter, bad("type", form.Rule{Code: "event_type"})
	case f.Status != "" && !slices.Contains(DeliveryStatuses, f.Status):
		return f.DeliveryFilter, bad("status", form.Rule{Code: "delivery_status", Value: strings.Join(DeliveryStatuses, ", ")})
	case f.Since != nil && f.Until != nil && !f.Since.Before(*f.Until):
		return f.DeliveryFilter, bad("until", form.Rule{Code: "until"})
	case f.Origin == "":
		return f.DeliveryFilter, s.checkEndpoint(ctx, scope, f.Endpoint)
	}
	if id, err := domain.ParseEndpointID(f.Origin); err == nil {
		f.Endpoint = &id
		return f.DeliveryFilter, s.checkEndpoint(ctx, scope, &id)
	}
	if !strings.Contains(f.Origin, "://") {
		return f.DeliveryFilter, bad("endpoint", form.Rule{Code: "endpoint_url"})
	}
	origin := domain.Origin(f.Origin)
	at, err := s.DB.EndpointsAt(ctx, scope, origin, f.Origin)
	switch {
	case err != nil:
		return f.DeliveryFilter, err
	case len(at) == 0:
		return f.DeliveryFilter, bad("endpoint", form.Rule{Code: "endpoint_at", Value: origin})
	case len(at) > 1 && (at[0].URL == nil || *at[0].URL != f.Origin):
		return f.DeliveryFilter, bad("endpoint", form.Rule{Code: "endpoints_at", Value: origin})
	}
	f.Endpoint = &at[0].ID
	return f.DeliveryFilter, nil
}

// checkEndpoint refuses an endpoint that isn't the scope's; nil is none.
func (s *Service) checkEndpoint(ctx context.Context, scope domain.Scope, id *domain.EndpointID) error {
	if id == nil {
		return nil
	}
	missing := domain.Breaks(domain.CodeInvalidRequest, "endpoint", form.Rule{Code: "endpoint"})
	endpoint, err := s.DB.Endpoint(ctx, *id)
	switch {
	case err != nil:
		return db.MissingAs(err, missing)
	case endpoint.AccountID != scope.AccountID || endpoint.Livemode != scope.Livemode:
		return missing
	}
	return nil
}

// Deliveries returns a page of the scope's webhook deliveries, newest event
// first, of events numbered below before (0: from the newest), and all that match of its
// last event. limit is 1 to MaxDeliveryPage. A page that isn't full is the last.
// Error: invalid_request.
func (s *Service) Deliveries(ctx context.Context, scope domain.Scope, f DeliveryFilter, before int64,
	limit int) ([]domain.ListedDelivery, error) {
	filter, err := s.resolve(ctx, scope, f)
	if err != nil {
		return nil, err
	}
	if limit < 1 || limit > MaxDeliveryPage {
		return nil, domain.Breaks(domain.CodeInvalidRequest, "limit", form.Rule{Code: "page_limit", Min: 1, Max: MaxDeliveryPage})
	}
	return s.DB.DeliveryPage(ctx, scope, filter, before, limit)
}

// DeliveryRecord is all that is known of a delivery.
type DeliveryRecord struct {
	domain.ListedDelivery
	Event      domain.Event
	AttemptLog []domain.DeliveryAttempt // first one first, over all cycles
}

// Delivery returns one of the scope's webhook deliveries with its event and
// attempts, or not_found.
func (s *Service) Delivery(ctx context.Context, scope domain.Scope, id domain.DeliveryID) (*DeliveryRecord, error) {
	delivery, err := s.DB.Delivery(ctx, scope, id)
	if err != nil {
		return nil, db.MissingAs(err, errDeliveryNotFound)
	}
	event, err := s.DB.DeliveredEvent(ctx, &delivery.Delivery)
	if err != nil {
		return nil, db.MissingAs(err, errDeliveryNotFound) // retention came between
	}
	attempts, err := s.DB.Attempts(ctx, id)
	return &DeliveryRecord{ListedDelivery: *delivery, Event: *event, AttemptLog: attempts}, err
}

// DeliveryScope returns the scope of a delivery, or not_found: for operators,
// who may see every account's.
func (s *Service) DeliveryScope(ctx context.Context, id domain.DeliveryID) (domain.Scope, error) {
	scope, err := s.DB.DeliveryScope(ctx, id)
	return scope, db.MissingAs(err, domain.Errorf(domain.CodeNotFound,
		"There is no webhook delivery with this id. Events and their deliveries are kept 90 days."))
}

// Endpoints returns the scope's webhook endpoints with their health, by
// origin. If there are more than domain.EndpointsMost, some are left out, but not chosen.
func (s *Service) Endpoints(ctx context.Context, scope domain.Scope, chosen *domain.EndpointID) ([]domain.Endpoint, error) {
	return s.DB.Endpoints(ctx, scope, chosen)
}

// EndpointMonths counts the attempts at the endpoints within
// domain.EndpointDays, for those that had one.
func (s *Service) EndpointMonths(ctx context.Context, endpoints []domain.EndpointID) (map[domain.EndpointID]*domain.EndpointMonth,
	error) {
	return s.DB.EndpointMonths(ctx, endpoints, s.Clock.Now())
}

// Redeliver retries a delivery, with the same id and body. A finished one restarts
// the schedule; a pending one makes its next attempt now and keeps its place in the
// schedule. Errors: not_found, and invalid_request if its endpoint was deleted.
func (s *Service) Redeliver(ctx context.Context, scope domain.Scope, id domain.DeliveryID,
	by domain.Actor) (again *domain.Delivery, err error) {
	err = s.DB.InTx(ctx, func(tx *db.Tx) error {
		again, err = s.RedeliverIn(ctx, tx, scope, id, by)
		return err
	})
	return again, err
}

// RedeliverIn is Redeliver in the caller's transaction.
func (s *Service) RedeliverIn(ctx context.Context, tx *db.Tx, scope domain.Scope, id domain.DeliveryID,
	by domain.Actor) (*domain.Delivery, error) {
	again, err := tx.Redeliver(ctx, scope, id, s.Clock.Now())
	if errors.Is(err, db.ErrState) {
		return nil, domain.Errorf(domain.CodeInvalidRequest,
			"The webhook endpoint of this delivery was deleted, so it can’t be sent again.")
	}
	if err != nil {
		return nil, db.MissingAs(err, errDeliveryNotFound)
	}
	if err := s.Audit.Record(ctx, tx, scope.AccountID, by, deliveryEntry(domain.AuditRedelivered, again)); err != nil {
		return nil, err
	}
	return again, s.Outbox.Wake(tracing.About(ctx, again.ID.String()), tx, again.EndpointID)
}

// CancelDelivery cancels a pending delivery. An attempt that a worker is making now
// still completes. Errors: not_found, and invalid_request if it isn't pending.
func (s *Service) CancelDelivery(ctx context.Context, scope domain.Scope, id domain.DeliveryID,
	by domain.Actor) (cancelled *domain.Delivery, err error) {
	err = s.DB.InTx(ctx, func(tx *db.Tx) error {
		if cancelled, err = tx.CancelDelivery(ctx, scope, id, s.Clock.Now()); err != nil {
			return err
		}
		if err := s.Audit.Record(ctx, tx, scope.AccountID, by, deliveryEntry(domain.AuditDeliveryCancelled, cancelled)); err != nil {
			return err
		}
		return s.Outbox.Wake(ctx, tx, cancelled.EndpointID) // later events of the session may have waited for it
	})
	if !errors.Is(err, db.ErrState) {
		return cancelled, err
	}
	found, err := s.DB.Delivery(ctx, scope, id)
	if err != nil {
		return nil, db.MissingAs(err, errDeliveryNotFound)
	}
	return nil, domain.Errorf(domain.CodeInvalidRequest, "Only a pending delivery can be cancelled; this one is %s.", found.State)
}

// deliveryEntry is an action on a delivery, which is known by its event.
func deliveryEntry(action domain.AuditAction, d *domain.Delivery) audit.Entry {
	return audit.Entry{Action: action, Livemode: &d.Livemode, TargetID: d.ID.String(), TargetName: string(d.EventType)}
}
