package webhooks

import (
	"context"

	"candor/internal/domain"
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
// once and misses none, however late it commits: numbers become visible in order.
func (s *Service) Events(ctx context.Context, scope domain.Scope, f domain.EventFilter, limit int) (*EventFeed, error) {
	// The range first: what is committed between the two queries has a larger
	// number, and isn't looked at.
	oldest, last, err := s.DB.EventRange(ctx, scope)
	if err != nil {
		return nil, err
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
