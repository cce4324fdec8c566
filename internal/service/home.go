package service

import (
	"context"
	"errors"
	"time"

	"candor/internal/domain"
)

// homeDays is the stretch of days that the home page tells of, and compares
// with the same before.
const homeDays = 30

// HomeFigures are what the home page shows of a scope.
type HomeFigures struct {
	Now, Before  *domain.Usage  // of the last 30 days and of the 30 before, UTC
	Funnel       *domain.Funnel // of Now's sessions
	TimesBefore  domain.Times   // from creation to completion, of Before's
	ByStatus     map[domain.Status]int
	Endpoints    []domain.Endpoint
	Subscription *CurrentSubscription // nil in test mode, and without one
	HasKey       bool                 // or had one lately
	Opened       bool                 // a customer has opened a session, whatever became of it
}

// Home returns what the home page shows of the scope. It reads counters, and
// no history.
func (s *Service) Home(ctx context.Context, scope domain.Scope) (*HomeFigures, error) {
	now := s.Clock.Now()
	today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
	first := today.AddDate(0, 0, 1-homeDays)
	h := &HomeFigures{ByStatus: map[domain.Status]int{}}
	var err error
	if h.Now, err = s.DB.Usage(ctx, scope, first, today, now); err != nil {
		return nil, err
	}
	if h.Before, err = s.DB.Usage(ctx, scope, first.AddDate(0, 0, -homeDays), first.AddDate(0, 0, -1), now); err != nil {
		return nil, err
	}
	if h.TimesBefore, err = s.DB.CompletionTimes(ctx, scope, first.AddDate(0, 0, -homeDays), first.AddDate(0, 0, -1)); err != nil {
		return nil, err
	}
	if h.Funnel, err = s.DB.Funnel(ctx, scope, first, today); err != nil {
		return nil, err
	}
	for _, status := range domain.Statuses {
		if h.ByStatus[status], err = s.DB.CountSessions(ctx, scope, domain.SessionFilter{Status: status}, now, 0); err != nil {
			return nil, err
		}
	}
	if h.Endpoints, err = s.DB.Endpoints(ctx, scope); err != nil {
		return nil, err
	}
	if h.Opened, err = s.DB.AnySessionOpened(ctx, scope); err != nil {
		return nil, err
	}
	keys, err := s.DB.APIKeys(ctx, scope, true)
	if err != nil {
		return nil, err
	}
	h.HasKey = len(keys) > 0
	if scope.Livemode {
		h.Subscription, err = s.Subscription(ctx, scope.AccountID)
		if errors.Is(err, &domain.Error{Code: domain.CodeSubscriptionNotFound}) {
			h.Subscription, err = nil, nil
		}
	}
	return h, err
}
