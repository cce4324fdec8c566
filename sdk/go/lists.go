package candor

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"time"
)

// AllSessions lists the sessions of every page, the newest first. It misses none and has none
// twice, though sessions are created or change while it runs: it asks for those before the last
// one that it has, not for numbered pages. It ends after an error.
func (c *Client) AllSessions(ctx context.Context, params ListSessionsParams) iter.Seq2[SessionItem, error] {
	return func(yield func(SessionItem, error) bool) {
		params.PerPage = cmp.Or(params.PerPage, 100)
		var at time.Time
		seen := map[string]bool{} // of those that were created at that time
		for params.Page = 1; ; {
			list, err := c.ListSessions(ctx, params)
			if err != nil {
				yield(SessionItem{}, err)
				return
			}
			for _, one := range list.Data {
				if !one.CreatedAt.Equal(at) {
					at, seen = one.CreatedAt, map[string]bool{}
				}
				if !seen[one.ID] && !yield(one, nil) {
					return
				}
				seen[one.ID] = true
			}
			if list.Pagination.Page >= list.Pagination.TotalPages {
				return
			}
			// Times in answers have whole milliseconds, so this has all of the last one.
			params.Page++
			if before := at.Add(time.Millisecond); params.CreatedBefore.IsZero() || before.Before(params.CreatedBefore) {
				params.CreatedBefore, params.Page = before, 1
			}
		}
	}
}

// A GapError says that events after the last one that you have are no longer kept.
type GapError struct{ After, Oldest int64 }

// Error says which events are gone.
func (e *GapError) Error() string {
	return fmt.Sprintf("candor: the events from %d to %d are no longer kept", e.After+1, e.Oldest-1)
}

// Events follows the feed of events without an end: it has each event after params.After in its
// order, once, and waits for the next. It ends with the context, or after an error that retries
// don't overcome; start it again with the sequence of your last event as After.
func (c *Client) Events(ctx context.Context, params ListEventsParams) iter.Seq2[FeedEvent, error] {
	return func(yield func(FeedEvent, error) bool) {
		for params.Limit, params.Wait = 100, 25; ; {
			page, err := c.ListEvents(ctx, params)
			if err == nil && params.After > 0 && page.OldestSequence != nil && *page.OldestSequence > params.After+1 {
				err = &GapError{params.After, *page.OldestSequence}
			}
			if err != nil {
				yield(FeedEvent{}, err)
				return
			}
			for _, event := range page.Data {
				if !yield(event, nil) {
					return
				}
			}
			params.After = page.NextAfter
		}
	}
}
