package db_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
)

func (s *store) redeliver(id domain.DeliveryID, at time.Time) (d *domain.Delivery, err error) {
	s.Helper()
	err = s.InTx(s.ctx, func(tx *db.Tx) error {
		d, err = tx.Redeliver(s.ctx, s.scope, id, at)
		return err
	})
	return d, err
}

func (s *store) cancelDelivery(id domain.DeliveryID, at time.Time) (d *domain.Delivery, err error) {
	s.Helper()
	err = s.InTx(s.ctx, func(tx *db.Tx) error {
		d, err = tx.CancelDelivery(s.ctx, s.scope, id, at)
		return err
	})
	return d, err
}

func (s *store) get(id domain.DeliveryID) *domain.Delivery {
	s.Helper()
	d, err := s.Delivery(s.ctx, s.scope, id)
	s.ok(err)
	return &d.Delivery
}

// newDelivery makes a delivery that is due at start.
func (s *store) newDelivery() *domain.Delivery {
	s.Helper()
	return s.delivery(s.event(s.session(s.scope, start), start), "https://example.com/a", start)
}

func TestRedeliverRestartsTheSchedule(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	d := s.newDelivery()
	s.record(d, 1, domain.DeliveryFailed, nil)
	later := start.Add(time.Hour)
	again, err := s.redeliver(d.ID, later)
	s.ok(err)
	if again.ID != d.ID || again.State != domain.DeliveryPending || again.Cycle != 2 || again.Attempts != 0 ||
		again.AttemptsTotal != 1 || !again.NextAttemptAt.Equal(later) || again.FinishedAt != nil {
		t.Errorf("a failed one again: %+v", again)
	}
	next := later.Add(time.Minute)
	s.record(again, 2, domain.DeliveryPending, &next)
	again, err = s.redeliver(d.ID, later)
	s.ok(err)
	if again.Cycle != 2 || again.Attempts != 1 || !again.NextAttemptAt.Equal(later) {
		t.Errorf("a pending one at once: %+v", again)
	}
	other := *s
	for _, scope := range []domain.Scope{s.newScope("Other"), {AccountID: s.scope.AccountID, Livemode: true}} {
		other.scope = scope
		_, err = other.redeliver(d.ID, later)
		s.missing("redelivering another scope's", err)
		_, err = other.cancelDelivery(d.ID, later)
		s.refused("cancelling another scope's", err)
	}
	if n := len(must(s.Attempts(s.ctx, d.ID))); n != 2 {
		t.Errorf("%d attempts recorded, want 2", n)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestAttemptUnderWayMeetsItsEnd: an attempt that is under way while its
// delivery is cancelled, or cancelled and made again, is recorded; only its
// success ends a cancelled one, and it never ends the next cycle.
func TestAttemptUnderWayMeetsItsEnd(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	next := start.Add(time.Minute)
	for name, tt := range map[string]struct {
		again     bool
		came      domain.DeliveryState
		next      *time.Time
		wantState domain.DeliveryState
	}{
		"cancelled, then to be retried":   {false, domain.DeliveryPending, &next, domain.DeliveryCancelled},
		"cancelled, then failed":          {false, domain.DeliveryFailed, nil, domain.DeliveryCancelled},
		"cancelled, then delivered":       {false, domain.DeliveryDelivered, nil, domain.DeliveryDelivered},
		"made again, then to be retried":  {true, domain.DeliveryPending, &next, domain.DeliveryPending},
		"made again, then failed":         {true, domain.DeliveryFailed, nil, domain.DeliveryPending},
		"made again, then it had arrived": {true, domain.DeliveryDelivered, nil, domain.DeliveryPending},
	} {
		d := s.newDelivery()
		if claimed := s.claim(d.EndpointID, start, 10); len(claimed) != 1 {
			t.Fatalf("claimed %d", len(claimed))
		}
		at := start.Add(time.Second)
		_, err := s.cancelDelivery(d.ID, at)
		s.ok(err)
		_, err = s.cancelDelivery(d.ID, at)
		s.refused("cancelling twice", err)
		if tt.again {
			_, err = s.redeliver(d.ID, at)
			s.ok(err)
		}
		s.record(d, 1, tt.came, tt.next)
		got := s.get(d.ID)
		if got.State != tt.wantState || got.AttemptsTotal != 1 || len(must(s.Attempts(s.ctx, d.ID))) != 1 {
			t.Errorf("%s: %+v", name, got)
		}
		if tt.again && (got.Cycle != 2 || got.Attempts != 0 || !got.NextAttemptAt.Equal(at)) {
			t.Errorf("%s: the next cycle is %+v", name, got)
		}
		s.ok(second(s.Raw().ExecContext(s.ctx, `DELETE FROM delivery`)))
	}
}

func second[T any](_ T, err error) error { return err }

// TestRetentionAgainstRedelivery: of a delivery that is made again while its
// event is deleted, the caller learns that it is gone, or it stays.
func TestRetentionAgainstRedelivery(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	random := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		d := s.failedAt("https://a.example/", 1)[0]
		var race sync.WaitGroup
		var again, deleted error
		for _, i := range random.Perm(2) {
			race.Go(func() {
				if i == 0 {
					_, again = s.redeliver(d.ID, start)
				} else {
					_, deleted = s.DeleteEvents(s.ctx, start.Add(time.Hour), 10)
				}
			})
		}
		race.Wait()
		s.ok(deleted)
		_, err := s.Delivery(s.ctx, s.scope, d.ID)
		if (again == nil) != (err == nil) {
			t.Errorf("redelivering: %v, afterwards: %v", again, err)
		}
		s.ok(second(s.Raw().ExecContext(s.ctx, `DELETE FROM event`)))
	}
}

// TestRetentionMeetsRedelivery: the same, each order on its own.
func TestRetentionMeetsRedelivery(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	ctx, cancel := context.WithTimeout(s.ctx, time.Minute)
	defer cancel()
	past := start.Add(time.Hour)
	failed := s.failedAt("https://a.example/", 3)
	r := s.started(100)
	s.pass(r, time.Second)

	deleting, err := s.Raw().Beginx()
	s.ok(err)
	defer func() { _ = deleting.Rollback() }()
	s.ok(second(deleting.ExecContext(ctx, `DELETE FROM event WHERE id = $1`, failed[0].EventID)))
	if _, err := s.StepRedelivery(ctx, r.ID, start); err != nil {
		t.Fatalf("a step waits for retention: %v", err)
	}
	if got := s.progress(r); got.Requeued != 2 || got.Skipped != 1 {
		t.Errorf("a step beside retention: %+v", got)
	}
	again := make(chan error, 1)
	go func() {
		_, err := s.redeliver(failed[0].ID, start)
		again <- err
	}()
	for waiting := false; !waiting; {
		s.ok(s.Raw().GetContext(ctx, &waiting, `
			SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
				AND query LIKE '%FOR KEY SHARE%')`))
	}
	s.ok(deleting.Commit())
	s.missing("a delivery that retention was deleting", <-again)

	for _, d := range failed[1:] {
		s.record(s.get(d.ID), 2, domain.DeliveryFailed, nil)
	}
	s.tx(func(tx *db.Tx) error {
		if _, err := tx.Redeliver(ctx, s.scope, failed[1].ID, start); err != nil {
			return err
		}
		if n, err := s.DeleteEvents(ctx, past, 10); n != 1 || err != nil {
			t.Errorf("retention beside a redelivery deleted %d, %v; want the other one", n, err)
		}
		return nil
	})
	if got := s.get(failed[1].ID); got.State != domain.DeliveryPending || len(s.claim(got.EndpointID, past, 10)) != 1 {
		t.Errorf("made again beside retention: %+v", got)
	}
}

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
