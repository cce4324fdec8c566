package home

import (
	"context"
	"errors"
	"slices"

	"candor/internal/domain"
)

// newestLooked is how many of the newest sessions FirstSteps looks at. Who has more has
// tried it all.
const newestLooked = 25

// FirstSteps returns what was tried in the scope. It reads the newest rows alone.
func (s *Service) FirstSteps(ctx context.Context, scope domain.Scope) (*domain.FirstSteps, error) {
	out := &domain.FirstSteps{}
	var err error
	if out.HasKey, err = s.DB.AnyAPIKey(ctx, scope); err != nil {
		return nil, err
	}
	sessions, err := s.DB.SessionsBefore(ctx, scope, domain.SessionFilter{}, nil, newestLooked, s.Clock.Now())
	if err != nil {
		return nil, err
	}
	out.Created = len(sessions) == newestLooked
	for i := range sessions {
		if kind := sessions[i].CreatedByKind; kind != nil && *kind == domain.ActorKey {
			out.Created = true
		}
		if out.Link == nil && sessions[i].Status.Open() {
			out.Link = &sessions[i]
		}
	}
	if out.Opened, err = s.DB.AnySessionOpened(ctx, scope); err != nil {
		return nil, err
	}
	endpoints, err := s.DB.Endpoints(ctx, scope, nil)
	if err != nil {
		return nil, err
	}
	out.Received = slices.ContainsFunc(endpoints, func(e domain.Endpoint) bool { return e.LastSuccessAt != nil })
	routes, err := s.DB.CalledRoutes(ctx, scope)
	out.Received = out.Received || slices.Contains(routes, "GET /v1/events")
	out.Fetched = slices.Contains(routes, "GET /v1/sessions/:id/data")
	return out, err
}

// GoLive returns what the account has of what it needs in live mode; nil once a live
// session was completed.
func (s *Service) GoLive(ctx context.Context, account domain.AccountID) (*domain.GoLive, error) {
	test, live := domain.Scope{AccountID: account}, domain.Scope{AccountID: account, Livemode: true}
	now, completed := s.Clock.Now(), domain.SessionFilter{Status: domain.Completed}
	if n, err := s.DB.CountSessions(ctx, live, completed, now, 0); err != nil || n > 0 {
		return nil, err
	}
	out := &domain.GoLive{}
	n, err := s.DB.CountSessions(ctx, test, completed, now, 0)
	if err != nil {
		return nil, err
	}
	out.Completed = n > 0
	endpoints, err := s.DB.Endpoints(ctx, test, nil)
	if err != nil {
		return nil, err
	}
	out.Received = slices.ContainsFunc(endpoints, func(e domain.Endpoint) bool { return e.LastSuccessAt != nil })
	if endpoints, err = s.DB.Endpoints(ctx, live, nil); err != nil {
		return nil, err
	}
	// Set up is enough: nothing signed with its secret goes there before the first live session.
	out.Endpoint = slices.ContainsFunc(endpoints, func(e domain.Endpoint) bool {
		return e.URL != nil || e.LastSuccessAt != nil
	})
	of, err := s.DB.Account(ctx, account)
	if err != nil {
		return nil, err
	}
	out.Brand, out.Approved = of.LogoName != nil || of.BrandColour != nil, of.ApprovedAt != nil
	keys, err := s.DB.APIKeys(ctx, live, false)
	if err != nil {
		return nil, err
	}
	out.Key = slices.ContainsFunc(keys, func(k domain.APIKey) bool {
		return k.Permissions.Allow(domain.SessionsWrite) && (k.ExpiresAt == nil || k.ExpiresAt.After(now))
	})
	subscription, err := s.Billing.Subscription(ctx, account)
	if errors.Is(err, &domain.Error{Code: domain.CodeSubscriptionNotFound}) {
		return out, nil
	}
	out.Subscribed = err == nil && subscription.Status != domain.SubscriptionCancelled
	return out, err
}
