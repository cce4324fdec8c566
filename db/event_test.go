package db_test

import (
	"testing"
	"time"

	"candor/db"
	"candor/intake"
)

func (s *store) event(session *intake.Session, at time.Time) *intake.Event {
	s.Helper()
	event, err := intake.NewEvent(session.Scope(), &session.ID, intake.PDFReadyPayload{SessionID: session.ID}, at)
	s.ok(err)
	s.tx(func(tx *db.Tx) error { return tx.InsertEvent(s.ctx, event) })
	return event
}

func (s *store) delivery(event *intake.Event, url string, at time.Time) *intake.Delivery {
	s.Helper()
	delivery := intake.NewDelivery(event.ID, url, at)
	s.tx(func(tx *db.Tx) error { return tx.InsertDelivery(s.ctx, delivery, 1) })
	return delivery
}

func TestDeliveriesAndAttempts(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	session := s.session(s.scope, start)
	event := s.event(session, start)
	delivery := s.delivery(event, "https://example.com/a", start)
	_, err := s.DeliveryWork(s.ctx, delivery.ID)
	s.missing("work without a secret", err)
	s.tx(func(tx *db.Tx) error {
		return tx.InsertWebhookSetting(s.ctx, s.scope, &db.WebhookSetting{Secret: []byte("sealed")})
	})
	_, err = s.DeliveryWork(s.ctx, intake.DeliveryID{})
	s.missing("unknown delivery", err)
	work, err := s.DeliveryWork(s.ctx, delivery.ID)
	s.ok(err)
	if work.ID != delivery.ID || work.URL != delivery.URL || work.State != intake.DeliveryPending || work.Attempts != 0 || !work.NextAttemptAt.Equal(start) ||
		work.AccountID != s.scope.AccountID || work.Livemode || string(work.Body) != string(event.Body) || string(work.Secret) != "sealed" || work.Next != nil {
		t.Errorf("work is %+v", work)
	}
	status, class, text, response := 500, "status", "no", "body"
	next := start.Add(time.Minute)
	record := func(number int, state intake.DeliveryState, next *time.Time) {
		t.Helper()
		attempt := &db.Attempt{DeliveryID: delivery.ID, Number: number, StartedAt: start.Add(time.Duration(number) * time.Second), DurationMS: 7,
			StatusCode: &status, ErrorClass: &class, Error: &text, RequestHeaders: []byte(`{"A":["b"]}`), Response: &response}
		s.ok(s.RecordAttempt(s.ctx, attempt, state, next))
	}
	record(1, intake.DeliveryPending, &next)
	record(1, intake.DeliveryFailed, nil) // recorded already by another worker
	record(3, intake.DeliveryFailed, nil) // out of turn
	record(2, intake.DeliveryDelivered, nil)
	record(3, intake.DeliveryPending, &next) // nothing follows a delivery
	all, err := s.Deliveries(s.ctx, session.ID)
	s.ok(err)
	if len(all) != 1 || all[0].State != intake.DeliveryDelivered || all[0].Attempts != 2 || all[0].NextAttemptAt != nil || !all[0].FinishedAt.Equal(start.Add(2007*time.Millisecond)) || !all[0].FirstAttemptAt.Equal(start.Add(time.Second)) {
		t.Errorf("deliveries %+v", all)
	}
	attempts, err := s.Attempts(s.ctx, delivery.ID)
	s.ok(err)
	if len(attempts) != 2 || attempts[0].Number != 1 || *attempts[1].StatusCode != 500 || *attempts[1].Response != "body" || string(attempts[1].RequestHeaders) != `{"A": ["b"]}` {
		t.Errorf("attempts %+v", attempts)
	}
	events, err := s.Events(s.ctx, session.ID)
	if err != nil || len(events) != 1 || events[0].ID != event.ID || string(events[0].Body) != string(event.Body) || *events[0].SessionID != session.ID {
		t.Errorf("events %+v, %v", events, err)
	}
}

func TestDeliveryOvertakes(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	session, other := s.session(s.scope, start), s.session(s.scope, start)
	const url = "https://example.com/a"
	first := s.delivery(s.event(session, start), url, start)
	second := s.delivery(s.event(session, start), url, start)
	elsewhere := s.delivery(s.event(session, start), "https://example.com/b", start)
	foreign := s.delivery(s.event(other, start), url, start)
	expect := func(when string, d *intake.Delivery, since time.Time, want bool) {
		t.Helper()
		if got, err := s.DeliveryOvertakes(s.ctx, d.ID, since); err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", when, got, err, want)
		}
	}
	before := start.Add(-time.Second)
	expect("the first", first, before, false)
	expect("the second", second, before, true)
	expect("another URL", elsewhere, before, false)
	expect("another session", foreign, before, false)
	expect("long after", second, start, false)
	next := start.Add(time.Minute)
	s.ok(s.RecordAttempt(s.ctx, &db.Attempt{DeliveryID: first.ID, Number: 1, StartedAt: start, RequestHeaders: []byte(`{}`)}, intake.DeliveryPending, &next))
	expect("once the first was tried", second, before, false)
}

func TestStrandedDeliveries(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	session := s.session(s.scope, start)
	jobs := map[string]string{ // job's state → whether it is over
		"available": "NULL", "running": "NULL", "scheduled": "NULL", "retryable": "NULL",
		"discarded": "now()", "cancelled": "now()", "completed": "now()", "gone": "",
	}
	stranded := map[intake.DeliveryID]string{}
	for state, finalized := range jobs {
		delivery := s.delivery(s.event(session, start), "https://example.com/"+state, start)
		id := int64(0)
		if state != "gone" {
			s.ok(s.GetContext(s.ctx, &id, `INSERT INTO river_job (kind, max_attempts, state, args, finalized_at, attempt) VALUES ('x', 25, '`+state+`', '{}', `+finalized+`, 0) RETURNING id`))
		}
		s.tx(func(tx *db.Tx) error { return tx.SetDeliveryJob(s.ctx, delivery.ID, id) })
		if finalized != "NULL" {
			stranded[delivery.ID] = state
		}
	}
	find := func(before time.Time) map[intake.DeliveryID]bool {
		t.Helper()
		found := map[intake.DeliveryID]bool{}
		s.tx(func(tx *db.Tx) error {
			ids, err := tx.StrandedDeliveries(s.ctx, before, 100)
			for _, id := range ids {
				found[id] = true
			}
			return err
		})
		return found
	}
	if found := find(start.Add(-time.Millisecond)); len(found) != 0 {
		t.Errorf("stranded before they are due: %v", found)
	}
	found := find(start)
	if len(found) != len(stranded) {
		t.Errorf("%d stranded, want %d", len(found), len(stranded))
	}
	for id, state := range stranded {
		if !found[id] {
			t.Errorf("the delivery whose job is %s is not found", state)
		}
	}
}
