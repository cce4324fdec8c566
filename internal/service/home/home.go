// Package home reads the figures of the dashboard's home page.
package home

import (
	"context"
	"errors"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/service/billing"
)

// Config is what the home page needs.
type Config struct {
	DB      *db.DB
	Clock   domain.Clock
	Billing *billing.Service
}

// Service reads what the home page shows. It is safe for concurrent use.
type Service struct{ Config }

// New returns a Service.
func New(c Config) *Service { return &Service{c} }

// days is how many days the home page shows, and compares with as many before.
const days = 30

// Figures are what the home page shows of a scope.
type Figures struct {
	Now, Before  *domain.Usage  // of the last 30 days and of the 30 before
	Funnel       *domain.Funnel // of Now's sessions
	TimesBefore  domain.Times   // from creation to completion, of Before's
	ByStatus     map[domain.Status]int
	Endpoints    []domain.Endpoint
	Subscription *billing.CurrentSubscription // nil in test mode, and without one
	HasKey       bool                         // or had one lately
	Opened       bool                         // a customer has opened a session, whatever became of it
}

// Figures returns what the home page shows of the scope. Its days are those of
// the zone, which is the account's. It reads counters, and no history.
func (s *Service) Figures(ctx context.Context, scope domain.Scope, zone *time.Location) (*Figures, error) {
	now := s.Clock.Now()
	today := domain.DateIn(now, zone)
	first := today.AddDate(0, 0, 1-days)
	h := &Figures{ByStatus: map[domain.Status]int{}}
	var err error
	if h.Now, err = s.DB.Usage(ctx, scope, zone, first, today, now); err != nil {
		return nil, err
	}
	if h.Before, err = s.DB.Usage(ctx, scope, zone, first.AddDate(0, 0, -days), first.AddDate(0, 0, -1), now); err != nil {
		return nil, err
	}
	if h.TimesBefore, err = s.DB.CompletionTimes(ctx, scope, first.AddDate(0, 0, -days), first.AddDate(0, 0, -1)); err != nil {
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
		h.Subscription, err = s.Billing.Subscription(ctx, scope.AccountID)
		if errors.Is(err, &domain.Error{Code: domain.CodeSubscriptionNotFound}) {
			h.Subscription, err = nil, nil
		}
	}
	return h, err
}
