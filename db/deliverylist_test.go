package db_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/testkit"
)

// An outcome is what a delivery has come to.
type outcome struct {
	state  domain.DeliveryState
	status *int
	class  *string
}

func outcomes() []outcome {
	code, class := func(n int) *int { return &n }, func(c string) *string { return &c }
	return []outcome{
		{domain.DeliveryPending, nil, nil}, {domain.DeliveryPending, code(503), class("status")},
		{domain.DeliveryPending, nil, class("timeout")},
		{domain.DeliveryDelivered, code(200), nil}, {domain.DeliveryDelivered, code(204), nil},
		{domain.DeliveryFailed, code(500), class("status")}, {domain.DeliveryFailed, code(404), class("status")},
		{domain.DeliveryFailed, nil, class("dns")},
		{domain.DeliveryCancelled, nil, nil}, {domain.DeliveryCancelled, code(410), class("status")},
	}
}

// history makes n events about a minute apart, some of which happened before
// one with a smaller number, with a delivery each to one of the URLs in any
// state, and returns the deliveries, the newest number first.
func (s *store) history(scope domain.Scope, n int, random *rand.Rand, urls ...string) []domain.Delivery {
	s.Helper()
	var sessions []*domain.Session
	for range 5 {
		sessions = append(sessions, s.session(scope, start))
	}
	payloads := []domain.Payload{domain.PDFReadyPayload{}, domain.AccessedPayload{}, domain.SectionCompletedPayload{}}
	var out []domain.Delivery
	s.tx(func(tx *db.Tx) error {
		for i := range n {
			at := start.Add(time.Duration(i-random.IntN(5)) * time.Minute)
			url := urls[random.IntN(len(urls))]
			endpoint, err := tx.EndpointFor(s.ctx, scope, domain.Origin(url), at)
			s.ok(err)
			number, err := tx.NextSequence(s.ctx, scope)
			s.ok(err)
			event, err := domain.NewEvent(scope, &sessions[random.IntN(len(sessions))].ID, number, payloads[random.IntN(len(payloads))],
				at)
			s.ok(err)
			event.URL, event.EndpointID = &url, &endpoint
			s.ok(tx.InsertEvent(s.ctx, event))
			delivery := domain.NewDelivery(event, endpoint, url, at)
			s.ok(tx.InsertDelivery(s.ctx, delivery))
			is := outcomes()[random.IntN(len(outcomes()))]
			delivery.State, delivery.LastStatusCode, delivery.LastErrorClass = is.state, is.status, is.class
			_, err = tx.Raw().ExecContext(s.ctx, `
				UPDATE delivery SET state = $2, last_status_code = $3, last_error_class = $4, attempts = ($4::text IS NOT NULL)::int,
					next_attempt_at = CASE WHEN $2 = 'pending' THEN next_attempt_at END, finished_at = CASE
						WHEN $2 <> 'pending' THEN created_at END
				WHERE id = $1`, delivery.ID, is.state, is.status, is.class)
			s.ok(err)
			out = append(out, *delivery)
		}
		return nil
	})
	slices.Reverse(out)
	return out
}

// failingSince is since when the endpoints fail that do.
type failingSince map[domain.EndpointID]time.Time

// matches is what a filter means, told plainly.
func (since failingSince) matches(f domain.DeliveryFilter, d *domain.Delivery) bool {
	failing, endedSince := since[d.EndpointID], d.CreatedAt.Add(time.Minute) // which is when history ends them
	switch {
	case f.Failing && d.State == domain.DeliveryPending && d.LastErrorClass == nil,
		f.Failing && d.State == domain.DeliveryFailed && (failing.IsZero() || endedSince.Before(failing)),
		f.Failing && d.State != domain.DeliveryPending && d.State != domain.DeliveryFailed:
		return false
	}
	switch {
	case f.State != "" && d.State != f.State, f.Endpoint != nil && d.EndpointID != *f.Endpoint, f.Type != "" &&
		d.EventType != f.Type,
		f.Session != nil && *d.SessionID != *f.Session, f.Since != nil && d.CreatedAt.Before(*f.Since), f.Until != nil &&
			!d.CreatedAt.Before(*f.Until):
		return false
	}
	class, isStatus := strings.CutSuffix(f.Status, "xx")
	switch {
	case f.Status == "":
		return true
	case isStatus:
		return d.LastStatusCode != nil && fmt.Sprint(*d.LastStatusCode/100) == class
	}
	return d.LastErrorClass != nil && *d.LastErrorClass == f.Status
}

func TestDeliveriesAgainstNaiveFilter(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	s := newStore(t)
	random := rand.New(rand.NewPCG(1, 2))
	urls := []string{"https://a.example/x", "https://b.example/", "https://a.example/y"}
	s.history(s.newScope("Neighbour"), 40, random, urls...)
	s.history(domain.Scope{AccountID: s.scope.AccountID, Livemode: true}, 40, random, urls...)
	all := s.history(s.scope, 200, random, urls...)
	early, late := start.Add(40*time.Minute), start.Add(150*time.Minute)
	since := failingSince{all[0].EndpointID: start.Add(100 * time.Minute)}
	s.ok(second(s.Raw().ExecContext(s.ctx, `UPDATE webhook_endpoint SET failing_since = $2 WHERE id = $1`, all[0].EndpointID,
		since[all[0].EndpointID])))
	seen := 0
	for range 400 {
		f := domain.DeliveryFilter{
			State:    pick(random, append(slices.Clone(domain.DeliveryStates), "", "", "")),
			Type:     pick(random, []domain.EventType{"", "", domain.SessionPDFReady, domain.SessionAccessed, domain.BillingInvoicePaid}),
			Status:   pick(random, []string{"", "", "", "2xx", "4xx", "5xx", "status", "dns", "timeout"}),
			Endpoint: pick(random, []*domain.EndpointID{nil, nil, &all[0].EndpointID, &all[7].EndpointID}),
			Session:  pick(random, []*domain.SessionID{nil, nil, nil, all[3].SessionID}),
			Since:    pick(random, []*time.Time{nil, nil, &early}), Until: pick(random, []*time.Time{nil, nil, &late}),
			Failing: pick(random, []bool{false, false, true}),
		}
		var want []domain.Delivery
		for _, d := range all {
			if since.matches(f, &d) {
				want = append(want, d)
			}
		}
		limit := 1 + random.IntN(30)
		var got []domain.Delivery
		for before := int64(0); ; before = got[len(got)-1].Sequence {
			page, err := s.DeliveryPage(s.ctx, s.scope, f, before, limit)
			s.ok(err)
			for _, d := range page {
				if d.Origin != domain.Origin(d.URL) {
					t.Fatalf("origin %s of %s", d.Origin, d.URL)
				}
				got = append(got, d.Delivery)
			}
			if len(page) < limit || len(got) > len(all) {
				break
			}
		}
		same := slices.EqualFunc(got, want, func(a, b domain.Delivery) bool { return a.ID == b.ID && a.State == b.State })
		if !same {
			t.Errorf("%+v, pages of %d: %d deliveries, want %d", f, limit, len(got), len(want))
		}
		n := s.countFailed(f)
		if failed := count(all, func(d *domain.Delivery) bool {
			again := f
			if !f.Failing {
				again.State = domain.DeliveryFailed
			}
			return since.matches(again, d)
		}); n != failed {
			t.Errorf("%+v: %d failed, want %d", f, n, failed)
		}
		seen += len(want)
	}
	if seen < 1000 {
		t.Errorf("the filters found %d deliveries in all: they test nothing", seen)
	}
}

func pick[T any](random *rand.Rand, from []T) T { return from[random.IntN(len(from))] }

func count(all []domain.Delivery, is func(*domain.Delivery) bool) (n int64) {
	for i := range all {
		if is(&all[i]) {
			n++
		}
	}
	return n
}

func TestDeliveryIsItsScopesAlone(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	own := s.history(s.scope, 1, rand.New(rand.NewPCG(1, 2)), "https://a.example/")[0]
	got, err := s.Delivery(s.ctx, s.scope, own.ID)
	s.ok(err)
	if got.Origin != "https://a.example" || got.EventType != own.EventType {
		t.Errorf("delivery %+v", got)
	}
	for _, scope := range []domain.Scope{s.newScope("Other"), {AccountID: s.scope.AccountID, Livemode: true}} {
		_, err := s.Delivery(s.ctx, scope, own.ID)
		s.missing("a delivery of another scope", err)
		if at, err := s.EndpointsAt(s.ctx, scope, "https://a.example", ""); err != nil || len(at) > 0 {
			t.Errorf("endpoints of another scope: %v, %v", at, err)
		}
	}
}

// manyDeliveries are several times as many as a request may touch.
const manyDeliveries = 5 * fewRows

// TestPlansOfDeliveryLists: no filter of the delivery log and of the feed
// reads in proportion to the history, with plans made for the values and with
// those made for any.
func TestPlansOfDeliveryLists(t *testing.T) {
	t.Parallel()
	s := newPlanStore(t)
	urls := []string{"https://a.example/", "https://rare.example/"}
	s.history(s.scope, 20, rand.New(rand.NewPCG(1, 2)), urls...)
	delivery := s.delivery(s.event(s.session(s.scope, start), start), urls[0], start)
	s.record(delivery, 1, domain.DeliveryDelivered, nil)
	s.multiply(delivery, manyDeliveries, "delivered")
	s.untriggered(`UPDATE event e SET endpoint_id = d.endpoint_id, created_at = e.created_at + e.sequence * interval '1 second'
		FROM delivery d WHERE d.event_id = e.id`)
	s.untriggered(`UPDATE delivery d SET created_at = e.created_at FROM event e WHERE d.event_id = e.id`)
	s.vacuum("event", "delivery")
	rare, err := s.EndpointsAt(s.ctx, s.scope, "https://rare.example", "")
	s.ok(err)
	s.withEachPlan(t, func(s *store) {
		s.expectFewDeliveries(delivery, rare[0].ID)
		s.expectFewEvents(delivery)
	})
}

// expectFewDeliveries reads the delivery log of manyDeliveries like the one given.
func (s *store) expectFewDeliveries(delivery *domain.Delivery, rare domain.EndpointID) {
	s.Helper()
	middle := start.Add(manyDeliveries / 2 * time.Second)
	filters := map[string]domain.DeliveryFilter{
		"all": {}, "of a rare type": {Type: domain.SessionSectionCompleted}, "of no type": {Type: domain.BillingInvoicePaid},
		"at a rare endpoint": {Endpoint: &rare},
		"of a session":       {Session: delivery.SessionID}, "until long ago": {Until: &middle}, "since": {Since: &middle},
		"delivered": {State: domain.DeliveryDelivered},
		"failed":    {State: domain.DeliveryFailed}, "pending": {State: domain.DeliveryPending},
		"cancelled": {State: domain.DeliveryCancelled}, "by class": {Status: "dns"},
		"failed until": {State: domain.DeliveryFailed, Until: &middle}, "failing": {Failing: true, Endpoint: &rare},
		"failing in all":       {Failing: true},
		"failing of a session": {Failing: true, Session: delivery.SessionID},
	}
	for name, f := range filters {
		s.expectFew("deliveries "+name, func() error { _, err := s.DeliveryPage(s.ctx, s.scope, f, 0, 25); return err })
		s.expectFew("deliveries "+name+", further on", func() error {
			_, err := s.DeliveryPage(s.ctx, s.scope, f, manyDeliveries/2, 25)
			return err
		})
	}
	since := start.Add((manyDeliveries - 1_000) * time.Second)
	s.expectFew("failed since", func() error {
		_, err := s.CountFailed(s.ctx, s.scope, domain.DeliveryFilter{Since: &since}, 10_000)
		return err
	})
	s.expectFew("outcome of a redelivery", func() error {
		_, err := s.RedeliveryOutcome(s.ctx, domain.NewRedeliveryID(), 1000)
		return err
	})
	s.expectFew("redeliveries", func() error { _, err := s.Redeliveries(s.ctx, s.scope, 100); return err })
	s.expectFew("backlog", func() error { _, err := s.DeliveryBacklog(s.ctx, start); return err })
}

// expectFewEvents reads the feed of their events.
func (s *store) expectFewEvents(delivery *domain.Delivery) {
	s.Helper()
	_, last, err := s.EventRange(s.ctx, s.scope)
	s.ok(err)
	for name, f := range map[string]domain.EventFilter{
		"all": {}, "after": {After: manyDeliveries * 4 / 5}, "of a rare type": {Type: domain.SessionSectionCompleted},
		"of no type": {Type: domain.BillingInvoicePaid}, "of a session": {Session: delivery.SessionID},
	} {
		s.expectFew("events "+name, func() error { _, err := s.EventFeed(s.ctx, s.scope, f, last, 101); return err })
	}
	for name, search := range map[string]domain.EventSearch{
		"newest": {}, "from the middle on": {Before: manyDeliveries / 2}, "of a rare type": {Type: domain.SessionSectionCompleted},
		"of no type":   {Type: domain.BillingInvoicePaid},
		"of a session": {Session: delivery.SessionID}, "by id": {Event: &delivery.EventID}, "by delivery": {Delivery: &delivery.ID},
		"by number": {Sequence: 7},
	} {
		s.expectFew("events "+name, func() error { _, err := s.EventPage(s.ctx, s.scope, search, 25); return err })
	}
	s.expectFew("event range", func() error { _, _, err := s.EventRange(s.ctx, s.scope); return err })
}
