package db_test

import (
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
)

func (s *store) event(session *domain.Session, at time.Time) *domain.Event {
	s.Helper()
	var event *domain.Event
	s.tx(func(tx *db.Tx) error {
		n, err := tx.NextSequence(s.ctx, session.Scope())
		s.ok(err)
		event, err = domain.NewEvent(session.Scope(), &session.ID, n, domain.PDFReadyPayload{SessionID: session.ID}, at)
		s.ok(err)
		return tx.InsertEvent(s.ctx, event)
	})
	return event
}

func (s *store) delivery(event *domain.Event, url string, at time.Time) *domain.Delivery {
	s.Helper()
	var delivery *domain.Delivery
	s.tx(func(tx *db.Tx) error {
		endpoint, err := tx.EndpointFor(s.ctx, s.scope, domain.Origin(url), at)
		s.ok(err)
		delivery = domain.NewDelivery(event, endpoint, url, at)
		return tx.InsertDelivery(s.ctx, delivery)
	})
	return delivery
}

// claim claims what is due at the endpoint for a minute.
func (s *store) claim(endpoint domain.EndpointID, at time.Time, limit int) []db.ClaimedDelivery {
	s.Helper()
	claimed, err := s.ClaimDeliveries(s.ctx, endpoint, at, time.Minute, limit)
	s.ok(err)
	return claimed
}

// endClaims lets time go by until every claim has ended.
func (s *store) endClaims() {
	s.Helper()
	_, err := s.Raw().ExecContext(s.ctx, "UPDATE delivery SET lease_until = now() WHERE lease_until IS NOT NULL")
	s.ok(err)
}

func (s *store) record(d *domain.Delivery, number int, state domain.DeliveryState, next *time.Time) {
	s.Helper()
	status, class, text, response := 500, "status", "no", "body"
	s.ok(s.RecordAttempts(s.ctx, []db.AttemptOutcome{{DeliveryAttempt: domain.DeliveryAttempt{
		DeliveryID: d.ID, Number: number, StartedAt: start.Add(time.Duration(number) * time.Second), DurationMS: 7,
		StatusCode: &status, ErrorClass: &class, Error: &text, RequestHeaders: []byte(`{"A":["b"]}`), Response: &response,
	}, Cycle: d.Cycle, State: state, Next: next}}, nil))
}

func TestDeliveriesAndAttempts(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	session := s.session(s.scope, start)
	event := s.event(session, start)
	delivery := s.delivery(event, "https://example.com/a", start)
	next := start.Add(time.Minute)
	s.record(delivery, 1, domain.DeliveryPending, &next)
	s.record(delivery, 1, domain.DeliveryFailed, nil) // recorded already by another worker
	s.record(delivery, 3, domain.DeliveryFailed, nil) // out of turn
	s.record(delivery, 2, domain.DeliveryDelivered, nil)
	s.record(delivery, 3, domain.DeliveryPending, &next) // nothing follows a delivery
	all, err := s.Deliveries(s.ctx, session.ID)
	s.ok(err)
	if len(all) != 1 || all[0].State != domain.DeliveryDelivered || all[0].Attempts != 2 || all[0].AttemptsTotal != 2 ||
		all[0].NextAttemptAt != nil ||
		!all[0].FinishedAt.Equal(start.Add(2007*time.Millisecond)) || !all[0].FirstAttemptAt.Equal(start.Add(time.Second)) ||
		*all[0].LastStatusCode != 500 {
		t.Errorf("deliveries %+v", all)
	}
	attempts, err := s.Attempts(s.ctx, delivery.ID)
	s.ok(err)
	if len(attempts) != 2 || attempts[0].Number != 1 || *attempts[1].StatusCode != 500 || *attempts[1].Response != "body" ||
		string(attempts[1].RequestHeaders) != `{"A": ["b"]}` {
		t.Errorf("attempts %+v", attempts)
	}
	events, err := s.Events(s.ctx, session.ID)
	if err != nil || len(events) != 1 || events[0].ID != event.ID || string(events[0].Body) != string(event.Body) ||
		*events[0].SessionID != session.ID || events[0].Sequence != 1 {
		t.Errorf("events %+v, %v", events, err)
	}
}

func TestClaimDeliveries(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	session, other := s.session(s.scope, start), s.session(s.scope, start)
	const url = "https://example.com/a"
	first := s.delivery(s.event(session, start), url, start)
	second := s.delivery(s.event(session, start), url, start)
	foreign := s.delivery(s.event(other, start), url, start)
	elsewhere := s.delivery(s.event(session, start), "https://example.net/b", start)
	expect := func(when string, claimed []db.ClaimedDelivery, want ...*domain.Delivery) {
		t.Helper()
		if len(claimed) != len(want) {
			t.Fatalf("%s: %d claimed, want %d", when, len(claimed), len(want))
		}
		for i := range want {
			if claimed[i].ID != want[i].ID || len(claimed[i].Body) == 0 {
				t.Errorf("%s: claimed %v at %d, want %v", when, claimed[i].ID, i, want[i].ID)
			}
		}
	}
	here := first.EndpointID
	expect("before it is due", s.claim(here, start.Add(-time.Millisecond), 10))
	expect("a session's first and the other session's", s.claim(here, start, 10), first, foreign)
	expect("while they are claimed", s.claim(here, start.Add(time.Second), 10))
	expect("another endpoint", s.claim(elsewhere.EndpointID, start, 10), elsewhere)
	next := start.Add(time.Hour)
	s.record(first, 1, domain.DeliveryPending, &next)
	expect("once the first was tried", s.claim(here, start.Add(2*time.Second), 10), second)
	expect("while they are claimed, an hour later by this clock", s.claim(here, start.Add(59*time.Minute), 10))
	s.endClaims()
	ended := s.claim(here, start.Add(2*time.Minute), 1)
	expect("when the claims have ended", ended, second)
	s.ok(s.ReleaseDeliveries(s.ctx, ended))
	mine := s.claim(here, start.Add(2*time.Minute), 10)
	expect("what was given back", mine, second, foreign)
	s.ok(s.ReleaseDeliveries(s.ctx, ended))
	expect("what was given back with a claim of before", s.claim(here, start.Add(2*time.Minute), 10))
}

func TestDueEndpoints(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	session := s.session(s.scope, start)
	due := map[domain.EndpointID]bool{}
	for _, host := range []string{"a", "b", "c"} {
		for range 3 {
			due[s.delivery(s.event(session, start), "https://"+host+".example/", start).EndpointID] = true
		}
	}
	later := s.delivery(s.event(session, start), "https://later.example/", start.Add(time.Hour))
	done := s.delivery(s.event(session, start), "https://done.example/", start)
	s.record(done, 1, domain.DeliveryDelivered, nil)
	find := func(at time.Time) map[domain.EndpointID]bool {
		t.Helper()
		ids, err := s.DueEndpoints(s.ctx, at)
		s.ok(err)
		found := map[domain.EndpointID]bool{}
		for _, id := range ids {
			found[id] = true
		}
		if len(found) != len(ids) {
			t.Errorf("an endpoint was found twice: %v", ids)
		}
		return found
	}
	if found := find(start); len(found) != len(due) {
		t.Errorf("due endpoints %v, want %v", found, due)
	}
	if found := find(start.Add(time.Hour)); len(found) != len(due)+1 || !found[later.EndpointID] {
		t.Errorf("an hour later %v", found)
	}
	for id := range due {
		s.claim(id, start, 10)
	}
	// Each endpoint's second event waits for the first, which is claimed.
	for id := range find(start) {
		if claimed := s.claim(id, start, 10); len(claimed) != 0 {
			t.Errorf("%d more claimed out of turn", len(claimed))
		}
	}
}

func TestEndpointHealth(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	d := s.delivery(s.event(s.session(s.scope, start), start), "https://example.com/a", start)
	health := func(h db.EndpointHealth) *domain.Endpoint {
		t.Helper()
		h.ID = d.EndpointID
		s.ok(s.RecordAttempts(s.ctx, nil, []db.EndpointHealth{h}))
		e, err := s.Endpoint(s.ctx, d.EndpointID)
		s.ok(err)
		return e
	}
	e := health(db.EndpointHealth{Failures: 2, At: start, ErrorClass: "timeout"})
	if e.ConsecutiveFailures != 2 || !e.FailingSince.Equal(start) || e.LastStatusCode != nil || *e.LastErrorClass != "timeout" ||
		e.Gone || e.Origin != "https://example.com" {
		t.Errorf("after two timeouts: %+v", e)
	}
	e = health(db.EndpointHealth{Failures: 1, At: start.Add(time.Minute), StatusCode: 410, ErrorClass: "status"})
	if e.ConsecutiveFailures != 3 || !e.FailingSince.Equal(start) || !e.LastFailureAt.Equal(start.Add(time.Minute)) ||
		*e.LastStatusCode != 410 || !e.Gone {
		t.Errorf("after 410: %+v", e)
	}
	between := start.Add(2 * time.Minute)
	e = health(db.EndpointHealth{Failures: 1, SuccessAt: &between, At: start.Add(3 * time.Minute), StatusCode: 500,
		ErrorClass: "status"})
	if e.ConsecutiveFailures != 1 || !e.FailingSince.Equal(start.Add(3*time.Minute)) || !e.LastSuccessAt.Equal(between) || e.Gone {
		t.Errorf("after a success and a failure at once: %+v", e)
	}
	hour := start.Add(time.Hour)
	e = health(db.EndpointHealth{SuccessAt: &hour, At: hour, StatusCode: 200})
	if e.ConsecutiveFailures != 0 || e.FailingSince != nil || !e.LastSuccessAt.Equal(start.Add(time.Hour)) ||
		e.LastErrorClass != nil || e.Gone {
		t.Errorf("after a success: %+v", e)
	}
	if all, err := s.Endpoints(s.ctx, s.scope, nil); err != nil || len(all) != 1 || all[0].ID != d.EndpointID {
		t.Errorf("endpoints %+v, %v", all, err)
	}
}

// Old events go with their deliveries and attempts; those still on their way
// stay, and numbers go on.
func TestDeleteEvents(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	session := s.session(s.scope, start)
	const url = "https://example.com/a"
	done, pending := s.event(session, start), s.event(session, start)
	unsent, young := s.event(session, start), s.event(session, start.Add(time.Hour))
	delivered := s.delivery(done, url, start)
	s.record(delivered, 1, domain.DeliveryDelivered, nil)
	s.delivery(pending, url, start)
	if n, err := s.DeleteEvents(s.ctx, start.Add(time.Minute), 1); err != nil || n != 1 {
		t.Errorf("deleted %d, %v; want a batch of 1", n, err)
	}
	if n, err := s.DeleteEvents(s.ctx, start.Add(time.Minute), 10); err != nil || n != 1 {
		t.Errorf("deleted %d more, %v; want 1", n, err)
	}
	left, err := s.Events(s.ctx, session.ID)
	s.ok(err)
	if len(left) != 2 || left[0].ID != pending.ID || left[1].ID != young.ID {
		t.Errorf("left are %+v, not %v and %v; %v should be gone", left, pending.ID, young.ID, unsent.ID)
	}
	if attempts, err := s.Attempts(s.ctx, delivered.ID); err != nil || len(attempts) != 0 {
		t.Errorf("attempts of a deleted event: %v, %v", attempts, err)
	}
	if next := s.event(session, start); next.Sequence != 5 {
		t.Errorf("the next number is %d, want 5", next.Sequence)
	}
}
