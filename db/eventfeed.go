package db

import (
	"cmp"
	"context"
	"slices"

	"candor/internal/domain"
)

// EventRange returns the smallest and the largest number of the scope's events
// that are kept and committed, both 0 where there is none. As numbers become
// visible in their order, none up to the largest can appear later.
func (q *Queries) EventRange(ctx context.Context, scope domain.Scope) (first, last int64, err error) {
	var r struct {
		First int64 `db:"first"`
		Last  int64 `db:"last"`
	}
	err = q.get(ctx, &r, `
		SELECT coalesce((SELECT min(sequence) FROM event WHERE account_id = $1 AND livemode = $2), 0) AS first,
			coalesce((SELECT max(sequence) FROM event WHERE account_id = $1 AND livemode = $2), 0) AS last`,
		scope.AccountID, scope.Livemode)
	return r.First, r.Last, wrap(err, "get event range")
}

// EventFeed returns up to limit of the scope's events with numbers above after
// and up to last, in their order; of one type and one session, where given.
func (q *Queries) EventFeed(ctx context.Context, scope domain.Scope, f domain.EventFilter, last int64,
	limit int) ([]domain.FeedEvent, error) {
	l := list{columns: "*", order: "sequence"}
	l.scope(scope)
	filter(&l.conditions, domain.EventFilters, &f)
	l.add("sequence <=", last)
	from := sqlText("event")
	if f.Session != nil {
		// Its few events are found by their own index. Without OFFSET 0 a plan
		// made for unknown sessions reads the whole feed.
		from = "(SELECT * FROM event WHERE session_id = " + l.arg(*f.Session) + " OFFSET 0) event"
	}
	l.from(from)
	var out []domain.FeedEvent
	err := q.all(ctx, &out, `
		SELECT `+qualified("e", eventColumns)+`, s.pdf_sha256, d.id AS delivery_id, d.delivery_url, d.delivery_endpoint_id, d.further::int AS further, d.state,
			d.attempts_total, d.last_status_code, d.last_error_class, d.next_attempt_at, d.finished_at
		FROM (`+l.first(l.arg(limit))+`) e
			LEFT JOIN (SELECT *, url AS delivery_url, endpoint_id AS delivery_endpoint_id FROM delivery) d ON d.event_id = e.id
			LEFT JOIN session s ON s.id = e.session_id AND e.type = 'session.pdf_ready'
		ORDER BY e.sequence`, l.args...)
	return eachOnce(out), wrap(err, "read event feed")
}

// EventPage returns up to limit of the scope's events that match the search,
// newest first, with the states of their deliveries. Their bodies are left out.
func (q *Queries) EventPage(ctx context.Context, scope domain.Scope, f domain.EventSearch,
	limit int) ([]domain.FeedEvent, error) {
	l := list{columns: "id, session_id, sequence, type, created_at", order: "sequence DESC"}
	l.scope(scope)
	if f.Before > 0 {
		l.add("sequence <", f.Before)
	}
	if f.Sequence > 0 {
		l.add("sequence =", f.Sequence)
	}
	if f.Type != "" {
		l.add("type =", f.Type)
	}
	if f.Event != nil {
		l.add("id =", *f.Event)
	}
	if f.Delivery != nil {
		l.and("id = (SELECT event_id FROM delivery WHERE id = " + l.arg(*f.Delivery) + ")")
	}
	from := sqlText("event")
	if f.Session != nil { // as in EventFeed
		from = "(SELECT * FROM event WHERE session_id = " + l.arg(*f.Session) + " OFFSET 0) event"
	}
	l.from(from)
	var out []domain.FeedEvent
	err := q.all(ctx, &out, `
		SELECT e.id, e.session_id, e.sequence, e.type, e.created_at, d.id AS delivery_id, d.further::int AS further, d.state,
			`+erasedWebhooks+` AS erased
		FROM (`+l.first(l.arg(limit))+`) e LEFT JOIN delivery d ON d.event_id = e.id
		ORDER BY e.sequence DESC`, l.args...)
	return eachOnce(out), wrap(err, "list events")
}

// eachOnce gathers the rows of an event, one for each of its deliveries. To sort them in
// the database would have it read all deliveries.
func eachOnce(rows []domain.FeedEvent) []domain.FeedEvent {
	var out []domain.FeedEvent
	for i := range rows {
		if n := len(out); n > 0 && out[n-1].ID == rows[i].ID {
			out[n-1].More = append(out[n-1].More, rows[i].EventDelivery)
		} else {
			out = append(out, rows[i])
		}
	}
	for i := range out {
		if out[i].More == nil {
			continue
		}
		all := append(out[i].More, out[i].EventDelivery)
		slices.SortFunc(all, func(a, b domain.EventDelivery) int {
			return cmp.Or(cmp.Compare(*a.Further, *b.Further), a.DeliveryID.Compare(*b.DeliveryID))
		})
		out[i].EventDelivery, out[i].More = all[0], all[1:]
	}
	return out
}

// erasedWebhooks tells whether webhooks of event e's session were erased.
const erasedWebhooks = `EXISTS (SELECT 1 FROM erasure r WHERE r.session_id = e.session_id AND r.deliveries > 0)`

// Event returns one of the scope's events without its delivery, or ErrNotFound.
func (q *Queries) Event(ctx context.Context, scope domain.Scope, id domain.EventID) (*domain.FeedEvent, error) {
	var e domain.FeedEvent
	err := q.get(ctx, &e, `
		SELECT `+eventColumns+`, `+erasedWebhooks+` AS erased FROM event e WHERE id = $1 AND account_id = $2 AND livemode = $3`,
		id, scope.AccountID, scope.Livemode)
	return &e, wrap(err, "get event")
}

// EventDeliveries returns the deliveries of an event.
func (q *Queries) EventDeliveries(ctx context.Context, id domain.EventID) ([]domain.ListedDelivery, error) {
	var out []domain.ListedDelivery
	err := q.all(ctx, &out, `
		SELECT `+qualified("d", deliveryColumns)+`, `+endpointName+` FROM delivery d JOIN webhook_endpoint e ON e.id = d.endpoint_id
		WHERE d.event_id = $1 ORDER BY d.created_at, d.further, d.id LIMIT 100`, id)
	return out, wrap(err, "list an event's deliveries")
}
