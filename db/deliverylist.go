package db

import (
	"context"
	"strconv"
	"strings"
	"time"

	"candor/internal/domain"
)

// DeliveryPage returns up to limit of the scope's deliveries that match the
// filter, and what else matches of the last event, newest event first: from the
// newest on, or, where before isn't 0, those of events numbered below it. Every filter is led by an index, and a
// page further on costs no more than the first.
func (q *Queries) DeliveryPage(ctx context.Context, scope domain.Scope, f domain.DeliveryFilter, before int64,
	limit int) ([]domain.ListedDelivery, error) {
	c := deliveryConditions(scope, f)
	if before > 0 {
		c.add("sequence <", before)
	}
	if err := q.boundSequence(ctx, scope, f, c); err != nil {
		return nil, err
	}
	l := list{conditions: *c, columns: "delivery_id, sequence", order: "sequence DESC", ties: true}
	for _, source := range deliverySources(f) {
		switch {
		case source.byEvent && f.Endpoint != nil: // the event names its first one
			l.from(eventDeliveries, source.where(), "NOT d.further")
			l.from("(SELECT *, id AS delivery_id FROM delivery WHERE further) d", source.where())
		case source.byEvent:
			l.from(eventDeliveries, source.where())
		default:
			l.from("(SELECT *, id AS delivery_id FROM delivery) d", source.where())
		}
	}
	if len(l.sources) == 0 {
		return nil, nil
	}
	var out []domain.ListedDelivery
	err := q.all(ctx, &out, `
		SELECT `+qualified("d", deliveryColumns)+`, `+endpointName+`
		FROM (`+l.first(l.arg(limit))+`) p
			JOIN delivery d ON d.id = p.delivery_id JOIN webhook_endpoint e ON e.id = d.endpoint_id
		ORDER BY d.sequence DESC, d.further, d.id`, l.args...)
	return out, wrap(err, "list deliveries")
}

// endpointName is what a delivery's list has of its endpoint.
const endpointName = `e.site AS origin, e.description, e.paused_at`

// deliveryConditions are what the filter says but for the state, in columns
// that deliveries and events have in common, and those of the last attempt.
func deliveryConditions(scope domain.Scope, f domain.DeliveryFilter) *conditions {
	c := &conditions{}
	c.scope(scope)
	filter(c, domain.DeliveryFilters, &f)
	if class, err := strconv.Atoi(strings.TrimSuffix(f.Status, "xx")); err == nil { // as a range it is looked for in an index
		c.add("last_status_code >=", class*100)
		c.add("last_status_code <", class*100+100)
	} else if f.Status != "" {
		c.add("last_error_class =", f.Status)
	}
	if o := f.Undelivered; o != nil {
		c.add("endpoint_id =", o.EndpointID)
		c.add("sequence >=", o.First)
		c.add("sequence <=", o.Last)
	}
	return c
}

// deliverySource is where deliveries of a state, any state for "", are read
// from in the order of their numbers: by the indexes on events, which have
// all, or by those on the deliveries that didn't arrive, which are few.
type deliverySource struct {
	byEvent bool
	state   domain.DeliveryState
	failing bool
}

// where is the source's own condition.
func (s deliverySource) where() sqlText {
	if s.failing {
		return failingInState[s.state]
	}
	return inDeliveryState[s.state]
}

// deliverySources make up a list together. An attempt that failed is never the
// last of what is delivered.
func deliverySources(f domain.DeliveryFilter) []deliverySource {
	failing := f.Status != "" && f.Status != "2xx"
	switch {
	case f.Failing:
		var out []deliverySource
		for _, state := range []domain.DeliveryState{domain.DeliveryPending, domain.DeliveryFailed} {
			if f.State == "" || f.State == state {
				out = append(out, deliverySource{f.Session != nil, state, true})
			}
		}
		return out
	case f.State == domain.DeliveryDelivered && failing:
		return nil
	case f.Session != nil, f.State == domain.DeliveryDelivered, f.State == "" && !failing:
		return []deliverySource{{byEvent: true, state: f.State}}
	case f.State != "":
		return []deliverySource{{state: f.State}}
	}
	return []deliverySource{{state: domain.DeliveryPending}, {state: domain.DeliveryFailed}, {state: domain.DeliveryCancelled}}
}

// inDeliveryState are the conditions that a delivery is in a state, any for "".
// The state is a constant of the text, or no partial index fits.
var inDeliveryState = map[domain.DeliveryState]sqlText{
	"":                       "true",
	domain.DeliveryPending:   "state = 'pending'",
	domain.DeliveryDelivered: "state = 'delivered'",
	domain.DeliveryFailed:    "state = 'failed'",
	domain.DeliveryCancelled: "state = 'cancelled'",
}

// failingInState are the conditions of failing deliveries of a state. One that was sent
// again and not attempted since doesn't wait for a further attempt. An endpoint fails
// since the last attempt that one transaction recorded, so those just before count.
var failingInState = map[domain.DeliveryState]sqlText{
	domain.DeliveryPending: "state = 'pending' AND attempts > 0",
	domain.DeliveryFailed:  "state = 'failed' AND finished_at >= (SELECT e.failing_since - interval '1 minute' FROM webhook_endpoint e WHERE e.id = endpoint_id)",
}

// eventDeliveries are all deliveries, in the order of their events.
const eventDeliveries sqlText = `event
	JOIN (SELECT id AS delivery_id, event_id, further, state, attempts, finished_at, last_status_code, last_error_class
		FROM delivery) d ON d.event_id = event.id`

// sequenceSlack is more than the time by which an event may have happened
// after one with a larger number: a slow transaction, clocks that differ.
const sequenceSlack = 10 * time.Minute

// boundSequence adds what the filter's times mean for the events' numbers, so
// that a list from long ago isn't sought through everything newer.
func (q *Queries) boundSequence(ctx context.Context, scope domain.Scope, f domain.DeliveryFilter, c *conditions) error {
	if f.Since != nil {
		from, err := q.sequenceAt(ctx, scope, f.Since.Add(-sequenceSlack))
		if err != nil {
			return err
		}
		c.add("sequence >=", from)
	}
	if f.Until != nil {
		to, err := q.sequenceAt(ctx, scope, f.Until.Add(sequenceSlack))
		if err != nil {
			return err
		}
		c.add("sequence <", to)
	}
	return nil
}

// sequenceAt returns the number of the first event from about that time on, by
// halving: numbers ascend with time, but for sequenceSlack. One statement does
// it, so that it takes one turn and not twenty.
func (q *Queries) sequenceAt(ctx context.Context, scope domain.Scope, at time.Time) (int64, error) {
	var first int64
	err := q.get(ctx, &first, `
		WITH RECURSIVE halving AS (
			SELECT coalesce(min(sequence), 1) AS first, coalesce(max(sequence), 0) + 1 AS next FROM event WHERE account_id = $1
				AND livemode = $2
			UNION ALL
			SELECT CASE WHEN before THEN middle + 1 ELSE first END, CASE WHEN before THEN next ELSE middle END
			FROM halving CROSS JOIN LATERAL (SELECT first + (next - first) / 2 AS middle) m CROSS JOIN LATERAL (
				SELECT created_at < $3 AS before FROM event WHERE account_id = $1 AND livemode = $2 AND sequence >= middle ORDER BY sequence
					LIMIT 1
			) e
			WHERE first < next
		)
		SELECT first FROM halving WHERE first >= next`,
		scope.AccountID, scope.Livemode, at)
	return first, wrap(err, "find event number by time")
}

// Delivery returns one of the scope's deliveries, or ErrNotFound.
func (q *Queries) Delivery(ctx context.Context, scope domain.Scope, id domain.DeliveryID) (*domain.ListedDelivery, error) {
	var out domain.ListedDelivery
	err := q.get(ctx, &out, `
		SELECT `+qualified("d", deliveryColumns)+`, `+endpointName+` FROM delivery d JOIN webhook_endpoint e ON e.id = d.endpoint_id
		WHERE d.id = $1 AND d.account_id = $2 AND d.livemode = $3`, id, scope.AccountID, scope.Livemode)
	return &out, wrap(err, "get delivery")
}

// DeliveredEvent returns the event of a delivery, or ErrNotFound.
func (q *Queries) DeliveredEvent(ctx context.Context, delivery *domain.Delivery) (*domain.Event, error) {
	var e domain.Event
	err := q.get(ctx, &e, `SELECT `+eventColumns+` FROM event WHERE id = $1`, delivery.EventID)
	return &e, wrap(err, "get event of delivery")
}

// EndpointsAt returns the scope's endpoints of that origin, those with that URL first.
func (q *Queries) EndpointsAt(ctx context.Context, scope domain.Scope, origin, url string) ([]domain.Endpoint, error) {
	var out []domain.Endpoint
	err := q.all(ctx, &out, `
		SELECT `+endpointColumns+` FROM webhook_endpoint WHERE account_id = $1 AND livemode = $2 AND site = $3
		ORDER BY url = $4 DESC NULLS LAST, created_at, id`,
		scope.AccountID, scope.Livemode, origin, url)
	return out, wrap(err, "find webhook endpoints by origin")
}

// DeliveryScope returns the scope that a delivery belongs to, or ErrNotFound.
func (q *Queries) DeliveryScope(ctx context.Context, id domain.DeliveryID) (domain.Scope, error) {
	var scope domain.Scope
	err := q.get(ctx, &scope, `SELECT account_id, livemode FROM delivery WHERE id = $1`, id)
	return scope, wrap(err, "find delivery")
}
