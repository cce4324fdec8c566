package webhooks

import (
	"context"

	"candor/db"
	"candor/internal/domain"
)

// OutageRate is how many deliveries a second SendUndelivered makes, at most.
const OutageRate = 10

// Outage returns one of the scope's outages with its endpoint and what became of its
// events, each counted to domain.CountMost and no further; or not_found.
func (s *Service) Outage(ctx context.Context, scope domain.Scope, id domain.OutageID) (*domain.Outage, *domain.Endpoint,
	domain.OutageCounts, error) {
	o, err := s.DB.Outage(ctx, scope, id)
	if err != nil {
		return nil, nil, domain.OutageCounts{}, db.MissingAs(err,
			domain.Errorf(domain.CodeNotFound, "There is no outage with this id in this account and mode."))
	}
	e, err := s.DB.Endpoint(ctx, o.EndpointID)
	if err != nil {
		return nil, nil, domain.OutageCounts{}, err
	}
	counts, err := s.DB.OutageCounts(ctx, o, domain.CountMost)
	return o, e, counts, err
}

// Outages returns up to limit of each of the endpoints' outages, newest first.
func (s *Service) Outages(ctx context.Context, endpoints []domain.EndpointID, limit int) (map[domain.EndpointID][]domain.Outage,
	error) {
	return s.DB.Outages(ctx, endpoints, limit)
}

// OutageDeliveries returns up to limit of the outage's deliveries, newest event first: of
// events numbered below before.
func (s *Service) OutageDeliveries(ctx context.Context, o *domain.Outage, before int64, limit int) ([]domain.ListedDelivery,
	error) {
	scope := domain.Scope{AccountID: o.AccountID, Livemode: o.Livemode}
	return s.DB.DeliveryPage(ctx, scope, domain.DeliveryFilter{Endpoint: &o.EndpointID}, min(before, o.Last+1), limit)
}

// SendUndelivered makes all of the outage's deliveries again that wait for their next
// attempt or were given up.
func (s *Service) SendUndelivered(ctx context.Context, scope domain.Scope, id domain.OutageID,
	by domain.Actor) (*domain.Redelivery, error) {
	o, _, _, err := s.Outage(ctx, scope, id)
	if err != nil {
		return nil, err
	}
	return s.startRedelivery(ctx, scope, domain.DeliveryFilter{Endpoint: &o.EndpointID, Undelivered: o}, OutageRate, by)
}
