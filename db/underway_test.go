package db_test

import (
	"testing"
	"time"

	"candor/internal/domain"
)

// TestRedeliverWhileAnAttemptIsUnderWay: what comes of the attempt is recorded, and another one
// is due, whose place in the schedule is the one that the first had (D99).
func TestRedeliverWhileAnAttemptIsUnderWay(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	next := start.Add(time.Hour)
	for came, next := range map[domain.DeliveryState]*time.Time{domain.DeliveryDelivered: nil, domain.DeliveryFailed: nil,
		domain.DeliveryPending: &next} {
		d := s.newDelivery()
		claimed := s.claim(d.EndpointID, start, 10)
		if len(claimed) != 1 {
			t.Fatalf("claimed %d", len(claimed))
		}
		later := start.Add(time.Second)
		_, err := s.redeliver(d.ID, later)
		s.ok(err)
		if twice := s.claim(d.EndpointID, later, 10); len(twice) != 0 {
			t.Errorf("%s: claimed while its attempt is under way", came)
		}
		s.record(&claimed[0].Delivery, 1, came, next)
		if got := s.get(d.ID); got.State != domain.DeliveryPending || got.Attempts != 0 || got.AttemptsTotal != 1 ||
			!got.NextAttemptAt.Equal(later) {
			t.Errorf("%s: after the first attempt %+v", came, got)
		}
		again := s.claim(d.EndpointID, later, 10)
		if len(again) != 1 {
			t.Fatalf("%s: %d are due", came, len(again))
		}
		s.record(&again[0].Delivery, 2, domain.DeliveryDelivered, nil)
		if got := s.get(d.ID); got.State != domain.DeliveryDelivered || got.AttemptsTotal != 2 {
			t.Errorf("%s: after the second attempt %+v", came, got)
		}
	}
}
