package webhooks

import (
	"context"
	"net/http"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/webhook"
)

// An EventFeed is a part of a scope's events.
type EventFeed struct {
	Events    []domain.FeedEvent // in the order of their numbers
	More      bool               // more of them follow already
	NextAfter int64              // where to continue: no matching event is numbered between the last one and this
	Oldest    int64              // the smallest number that is kept, 0 if none is
}

// Events returns up to limit of the scope's events that match the filter, in
// the order of their numbers. A reader who continues with NextAfter gets each event
// once and misses none, however late it commits: numbers become visible in order. Error:
// validation_error on after if no event has had that number (D97).
func (s *Service) Events(ctx context.Context, scope domain.Scope, f domain.EventFilter, limit int) (*EventFeed, error) {
	// The range first: what is committed between the two queries has a larger
	// number, and isn't looked at.
	oldest, last, err := s.DB.EventRange(ctx, scope)
	if err != nil {
		return nil, err
	}
	if f.After > last { // of what is kept
		taken, err := s.DB.LastSequence(ctx, scope)
		if err == nil && f.After > taken {
			err = domain.Breaks(domain.CodeValidation, "after", form.Rule{Code: "beyond_end", Max: int(taken)})
		}
		if err != nil {
			return nil, err
		}
	}
	events, err := s.DB.EventFeed(ctx, scope, f, last, limit+1)
	if err != nil {
		return nil, err
	}
	feed := &EventFeed{Events: events, NextAfter: max(last, f.After), Oldest: oldest}
	if len(events) > limit {
		feed.Events, feed.More = events[:limit], true
		feed.NextAfter = events[limit-1].Sequence
	}
	return feed, nil
}

// ListEvents returns up to limit of the scope's events that match the search,
// newest first.
func (s *Service) ListEvents(ctx context.Context, scope domain.Scope, search domain.EventSearch,
	limit int) ([]domain.FeedEvent, error) {
	return s.DB.EventPage(ctx, scope, search, limit)
}

// Event returns one of the scope's events with its deliveries, or not_found.
func (s *Service) Event(ctx context.Context, scope domain.Scope, id domain.EventID) (*domain.FeedEvent,
	[]domain.ListedDelivery, error) {
	event, err := s.DB.Event(ctx, scope, id)
	if err != nil {
		return nil, nil, db.MissingAs(err, domain.Errorf(domain.CodeNotFound,
			"There is no event with this id in this account and mode. Events are kept for 90 days."))
	}
	deliveries, err := s.DB.EventDeliveries(ctx, id)
	return event, deliveries, err
}

// A Sample is an event's webhook as a delivery would send it now.
type Sample struct {
	Header http.Header
	Body   []byte
}

// Samples returns the webhooks of events of the scope, signed with the secrets of
// test mode (D61). An event without a delivery has an id of the same form, made of the
// event's, so that receivers can drop what they have had. Live mode has none: by
// them a client with a live key could pose as Candor. Error: validation_error on
// include.
func (s *Service) Samples(ctx context.Context, scope domain.Scope, events []domain.FeedEvent) ([]Sample, error) {
	if scope.Livemode {
		return nil, domain.Breaks(domain.CodeValidation, "include", form.Rule{Code: "test_mode"})
	}
	secrets, err := s.signingSecrets(ctx, scope, nil)
	if err != nil {
		return nil, err
	}
	out := make([]Sample, len(events))
	for i := range events {
		e := &events[i]
		id := domain.DeliveryID{UUID: e.ID.UUID}
		if e.DeliveryID != nil {
			id = *e.DeliveryID
		}
		request := webhook.Request{Body: e.Body, DeliveryID: id.String(), Attempt: 1, Secrets: secrets}
		header, err := request.Header(s.Clock.Now())
		if err != nil {
			return nil, err
		}
		out[i] = Sample{header, e.Body}
	}
	return out, nil
}
