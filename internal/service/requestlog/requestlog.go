package requestlog

import (
	"context"
	"time"

	"candor/db"
	"candor/internal/domain"
)

// Config is what reading the log needs.
type Config struct {
	DB    *db.DB
	Clock domain.Clock
}

// Service reads the log of API requests. It is safe for concurrent use.
type Service struct{ Config }

// New returns a Service.
func New(c Config) *Service { return &Service{c} }

// Page returns at most limit of the scope's API requests of the last 7 days that
// match the filter, newest first, after before (nil: from the newest). more is
// where the next page starts, nil if this is the last. exhausted says that the
// search stopped early because too many lines didn't match.
func (s *Service) Page(ctx context.Context, scope domain.Scope, f domain.RequestFilter, before *domain.RequestID,
	limit int) (page []domain.APIRequest, more *domain.RequestID, exhausted bool, err error) {
	// What is older may not have been deleted yet.
	if oldest := s.Clock.Now().Add(-domain.RequestRetention); f.From == nil || f.From.Before(oldest) {
		f.From = &oldest
	}
	page, reached, err := s.DB.APIRequests(ctx, scope, f, before, limit+1)
	switch {
	case err != nil:
		return nil, nil, false, err
	case len(page) > limit:
		page = page[:limit]
		return page, &page[limit-1].ID, false, nil
	}
	return page, reached, reached != nil, nil
}

// Spans sums up the scope's API requests of the last 7 days that match the filter, of the
// newest as RequestOutcomes says. all says that there are no others.
func (s *Service) Spans(ctx context.Context, scope domain.Scope, f domain.RequestFilter) (spans []domain.RequestSpan, all bool,
	err error) {
	until := s.Clock.Now()
	if oldest := until.Add(-domain.RequestRetention); f.From != nil && f.From.Before(oldest) {
		f.From = &oldest
	}
	requests, all, err := s.DB.RequestOutcomes(ctx, scope, f)
	var from time.Time
	if f.From != nil && all {
		from = *f.From
	}
	if f.To != nil && f.To.Before(until) {
		until = *f.To
	}
	return domain.RequestSpans(requests, from, until), all, err
}

// Get returns one of the scope's API requests of the last 7 days.
// Error: not_found.
func (s *Service) Get(ctx context.Context, scope domain.Scope, id domain.RequestID) (*domain.APIRequest, error) {
	missing := domain.Errorf(domain.CodeNotFound,
		"There is no API request with this id in this account and mode, or it is more than 7 days old.")
	r, err := s.DB.APIRequest(ctx, scope, id)
	if err != nil {
		return nil, db.MissingAs(err, missing)
	}
	if r.At().Before(s.Clock.Now().Add(-domain.RequestRetention)) {
		return nil, missing
	}
	return r, nil
}
