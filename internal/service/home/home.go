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
	Median       Median         // from creation to completion, of Now's
	MedianBefore Median         // likewise, of Before's
	ByStatus     map[domain.Status]int
	Endpoints    []domain.Endpoint
	Subscription *billing.CurrentSubscription // nil in test mode, and without one
	HasKey       bool                         // or had one lately
	Opened       bool                         // a customer has opened a session, whatever became of it
	// open sessions whose link expires before the until of Figures, domain.ExpiringMost at most
	Expiring int
	FarAlong int             // of those, with domain.FarAlong sections or more
	Unpaid   *domain.Invoice // the oldest that someone has to pay; nil for none, and in test mode
	Invoice  *domain.Invoice // the latest; nil for none, and in test mode
}

// A Median is the middle of times. It is Exact if the times were few enough to
// be read, else it is less than 10 % off above a minute.
type Median struct {
	Time  time.Duration
	Known bool // there are times
	Exact bool
}

// exactMost is of how many created sessions a median is exact. Reading 1,000
// takes some 2 ms.
const exactMost = 1000

// Figures returns what the home page shows of the scope. Its days are those of
// the zone, which is the account's; links that expire before until are counted. It
// reads counters, and at most some thousand rows, several at once.
func (s *Service) Figures(ctx context.Context, scope domain.Scope, zone *time.Location, until time.Time) (*Figures, error) {
	now := s.Clock.Now()
	today := domain.DateIn(now, zone)
	first := today.AddDate(0, 0, 1-days)
	h := &Figures{ByStatus: map[domain.Status]int{}}
	beforeFirst, beforeLast := first.AddDate(0, 0, -days), first.AddDate(0, 0, -1)
	reads, ctx := sideBySide(ctx)
	reads.Go(func() (err error) {
		if h.Now, err = s.DB.Usage(ctx, scope, zone, first, today, now); err != nil {
			return err
		}
		if h.Funnel, err = s.DB.Funnel(ctx, scope, first, today); err != nil {
			return err
		}
		h.Median, err = s.median(ctx, scope, zone, h.Now, first, today, h.Funnel.Whole.Median)
		return err
	})
	reads.Go(func() (err error) {
		if h.Before, err = s.DB.Usage(ctx, scope, zone, beforeFirst, beforeLast, now); err != nil {
			return err
		}
		counted, err := s.DB.CountedCompletionMedian(ctx, scope, beforeFirst, beforeLast)
		if err != nil {
			return err
		}
		h.MedianBefore, err = s.median(ctx, scope, zone, h.Before, beforeFirst, beforeLast, counted)
		return err
	})
	reads.Go(func() (err error) {
		h.Expiring, err = s.DB.CountSessions(ctx, scope, domain.SessionFilter{ExpiresBefore: &until}, now, 0)
		if err == nil && h.Expiring > 0 {
			far := domain.SessionFilter{ExpiresBefore: &until, Sections: domain.FarAlong}
			h.FarAlong, err = s.DB.CountSessions(ctx, scope, far, now, 0)
		}
		return err
	})
	reads.Go(func() (err error) {
		for _, status := range domain.Statuses {
			if h.ByStatus[status], err = s.DB.CountSessions(ctx, scope, domain.SessionFilter{Status: status}, now, 0); err != nil {
				return err
			}
		}
		return nil
	})
	reads.Go(func() (err error) {
		if h.Endpoints, err = s.DB.Endpoints(ctx, scope, nil); err != nil {
			return err
		}
		if h.Opened, err = s.DB.AnySessionOpened(ctx, scope); err != nil {
			return err
		}
		h.HasKey, err = s.DB.AnyAPIKey(ctx, scope)
		return err
	})
	if scope.Livemode {
		reads.Go(func() error { return s.addBilling(ctx, scope.AccountID, h) })
	}
	return h, reads.Wait()
}

// addBilling reads the plan and the invoices.
func (s *Service) addBilling(ctx context.Context, account domain.AccountID, h *Figures) (err error) {
	h.Subscription, err = s.Billing.Subscription(ctx, account)
	if errors.Is(err, &domain.Error{Code: domain.CodeSubscriptionNotFound}) {
		h.Subscription, err = nil, nil
	}
	if err != nil {
		return err
	}
	if h.Unpaid, err = s.unpaid(ctx, account); err != nil {
		return err
	}
	latest, err := s.DB.Invoices(ctx, account, 0, 1)
	if len(latest) > 0 {
		h.Invoice = &latest[0]
	}
	return err
}

// unpaid returns the oldest invoice that someone has to pay: a card is charged by
// itself until that fails.
func (s *Service) unpaid(ctx context.Context, account domain.AccountID) (*domain.Invoice, error) {
	i, err := s.DB.UnpaidInvoice(ctx, account)
	if errors.Is(err, db.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	cards, card, err := s.Billing.Card(ctx, account)
	if i.Status == domain.InvoiceOpen && cards && card != "" {
		return nil, err
	}
	return i, err
}

// median is the median of a period's sessions; counted is that of its counters.
func (s *Service) median(ctx context.Context, scope domain.Scope, zone *time.Location, of *domain.Usage, first, last time.Time,
	counted *time.Duration) (Median, error) {
	middle, exact := counted, of.Created <= exactMost
	if exact {
		var err error
		from, before := domain.StartOfDate(first, zone), domain.StartOfDate(last.AddDate(0, 0, 1), zone)
		if middle, err = s.DB.CompletionMedian(ctx, scope, from, before); err != nil {
			return Median{}, err
		}
	}
	if middle == nil {
		return Median{}, nil
	}
	return Median{Time: *middle, Known: true, Exact: exact}, nil
}
