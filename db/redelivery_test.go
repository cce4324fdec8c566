package db_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"candor/db"
	"candor/intake"
)

func (s *store) redeliver(id intake.DeliveryID, at time.Time) (d *intake.Delivery, err error) {
	s.Helper()
	err = s.InTx(s.ctx, func(tx *db.Tx) error {
		d, err = tx.Redeliver(s.ctx, s.scope, id, at)
		return err
	})
	return d, err
}

func (s *store) cancelDelivery(id intake.DeliveryID, at time.Time) (d *intake.Delivery, err error) {
	s.Helper()
	err = s.InTx(s.ctx, func(tx *db.Tx) error {
		d, err = tx.CancelDelivery(s.ctx, s.scope, id, at)
		return err
	})
	return d, err
}

func (s *store) get(id intake.DeliveryID) *intake.Delivery {
	s.Helper()
	d, err := s.Delivery(s.ctx, s.scope, id)
	s.ok(err)
	return &d.Delivery
}

// newDelivery makes a delivery that is due at start.
func (s *store) newDelivery() *intake.Delivery {
	s.Helper()
	return s.delivery(s.event(s.session(s.scope, start), start), "https://example.com/a", start)
}

func TestRedeliverStartsTheScheduleAnew(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	d := s.newDelivery()
	s.record(d, 1, intake.DeliveryFailed, nil)
	later := start.Add(time.Hour)
	again, err := s.redeliver(d.ID, later)
	s.ok(err)
	if again.ID != d.ID || again.State != intake.DeliveryPending || again.Cycle != 2 || again.Attempts != 0 || again.AttemptsTotal != 1 || !again.NextAttemptAt.Equal(later) || again.FinishedAt != nil {
		t.Errorf("a failed one again: %+v", again)
	}
	next := later.Add(time.Minute)
	s.record(again, 2, intake.DeliveryPending, &next)
	again, err = s.redeliver(d.ID, later)
	s.ok(err)
	if again.Cycle != 2 || again.Attempts != 1 || !again.NextAttemptAt.Equal(later) {
		t.Errorf("a pending one at once: %+v", again)
	}
	other := *s
	for _, scope := range []intake.Scope{s.newScope("Other"), {AccountID: s.scope.AccountID, Livemode: true}} {
		other.scope = scope
		_, err = other.redeliver(d.ID, later)
		s.missing("redelivering another scope's", err)
		_, err = other.cancelDelivery(d.ID, later)
		s.missing("cancelling another scope's", err)
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
		came      intake.DeliveryState
		next      *time.Time
		wantState intake.DeliveryState
	}{
		"cancelled, then to be retried":   {false, intake.DeliveryPending, &next, intake.DeliveryCancelled},
		"cancelled, then failed":          {false, intake.DeliveryFailed, nil, intake.DeliveryCancelled},
		"cancelled, then delivered":       {false, intake.DeliveryDelivered, nil, intake.DeliveryDelivered},
		"made again, then to be retried":  {true, intake.DeliveryPending, &next, intake.DeliveryPending},
		"made again, then failed":         {true, intake.DeliveryFailed, nil, intake.DeliveryPending},
		"made again, then it had arrived": {true, intake.DeliveryDelivered, nil, intake.DeliveryPending},
	} {
		d := s.newDelivery()
		if claimed := s.claim(d.EndpointID, start, 10); len(claimed) != 1 {
			t.Fatalf("claimed %d", len(claimed))
		}
		at := start.Add(time.Second)
		_, err := s.cancelDelivery(d.ID, at)
		s.ok(err)
		_, err = s.cancelDelivery(d.ID, at)
		s.missing("cancelling twice", err)
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
		s.ok(second(s.ExecContext(s.ctx, `DELETE FROM delivery`)))
	}
}

func second[T any](_ T, err error) error { return err }

// A pending delivery that is asked for again while an attempt is under way gets
// that attempt, and no second one beside it.
func TestRedeliverWhileAnAttemptIsUnderWay(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	d := s.newDelivery()
	s.claim(d.EndpointID, start, 10)
	at, next := start.Add(time.Second), start.Add(time.Minute)
	again, err := s.redeliver(d.ID, at)
	s.ok(err)
	if again.Cycle != 1 || !again.NextAttemptAt.Equal(at) {
		t.Errorf("asked for again: %+v", again)
	}
	if claimed := s.claim(d.EndpointID, at, 10); len(claimed) != 0 {
		t.Error("it was claimed beside the attempt that is under way")
	}
	s.record(d, 1, intake.DeliveryPending, &next)
	if got := s.get(d.ID); got.State != intake.DeliveryPending || got.Attempts != 1 || !got.NextAttemptAt.Equal(next) {
		t.Errorf("after the attempt: %+v", got)
	}
}

// started is a running redelivery of all failed deliveries.
func (s *store) started(rate int) *intake.Redelivery {
	s.Helper()
	since := start.Add(-time.Hour)
	f := intake.DeliveryFilter{Since: &since}
	r := intake.NewRedelivery(s.scope, f, rate, "jo", start)
	s.tx(func(tx *db.Tx) error { return tx.InsertRedelivery(s.ctx, r, f) })
	return r
}

func (s *store) step(r *intake.Redelivery) db.RedeliveryStep {
	s.Helper()
	step, err := s.StepRedelivery(s.ctx, r.ID, start.Add(24*time.Hour))
	s.ok(err)
	return step
}

// pass lets so much time pass for a redelivery's rate.
func (s *store) pass(r *intake.Redelivery, d time.Duration) {
	s.Helper()
	s.ok(second(s.ExecContext(s.ctx, `UPDATE redelivery SET paced_until = clock_timestamp() - $2 * interval '1 microsecond' WHERE id = $1`, r.ID, d.Microseconds())))
}

func (s *store) progress(r *intake.Redelivery) *intake.Redelivery {
	s.Helper()
	return must(s.Redelivery(s.ctx, s.scope, r.ID))
}

// failedAt makes n failed deliveries at the URL.
func (s *store) failedAt(url string, n int) (out []*intake.Delivery) {
	s.Helper()
	session := s.session(s.scope, start)
	for range n {
		d := s.delivery(s.event(session, start), url, start)
		s.record(d, 1, intake.DeliveryFailed, nil)
		out = append(out, d)
	}
	return out
}

// countFailed is how many failed deliveries match, to all endpoints.
func (s *store) countFailed(f intake.DeliveryFilter) (n int64) {
	s.Helper()
	at, err := s.CountFailed(s.ctx, s.scope, f, 0)
	s.ok(err)
	for i, e := range at {
		if e.Count == 0 || e.Origin == "" || i > 0 && e.Count > at[i-1].Count {
			s.Errorf("failed deliveries are counted as %+v", at)
		}
		n += e.Count
	}
	return n
}

// outcome is what became of what a redelivery made again.
func (s *store) outcome(r *intake.Redelivery, most int) string {
	s.Helper()
	got, err := s.RedeliveryOutcome(s.ctx, r.ID, most)
	s.ok(err)
	return fmt.Sprintf("%d pending, %d delivered, %d failed, %d cancelled", got[intake.DeliveryPending], got[intake.DeliveryDelivered], got[intake.DeliveryFailed], got[intake.DeliveryCancelled])
}

func TestRedeliveryOutcome(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	failed := s.failedAt("https://a.example/", 10)
	other := s.failedAt("https://b.example/", 1)
	r := s.started(100)
	s.pass(r, time.Second)
	s.step(r)
	_, err := s.redeliver(other[0].ID, start) // pending: it stays the redelivery's
	s.ok(err)
	if got, want := s.outcome(r, 100), "11 pending, 0 delivered, 0 failed, 0 cancelled"; got != want {
		t.Errorf("after the step: %s, want %s", got, want)
	}
	for i, d := range failed[:7] {
		is := s.get(d.ID)
		switch {
		case i < 4:
			s.record(is, is.AttemptsTotal+1, intake.DeliveryDelivered, nil)
		case i < 6:
			s.record(is, is.AttemptsTotal+1, intake.DeliveryFailed, nil)
		default:
			_, err := s.cancelDelivery(d.ID, start)
			s.ok(err)
		}
	}
	_, err = s.redeliver(failed[5].ID, start) // by hand, once it had failed
	s.ok(err)
	if got, want := s.outcome(r, 100), "4 pending, 4 delivered, 1 failed, 1 cancelled"; got != want {
		t.Errorf("later: %s, want %s", got, want)
	}
	if got, want := s.outcome(r, 3), "3 pending, 3 delivered, 1 failed, 1 cancelled"; got != want {
		t.Errorf("counted to 3: %s, want %s", got, want)
	}
}

func TestRedeliveryIsPaced(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	failed := s.failedAt("https://a.example/", 25)
	since := start.Add(-time.Hour)
	n := s.countFailed(intake.DeliveryFilter{Since: &since})
	r := s.started(5)
	if n != 25 || r.Matched != n {
		t.Fatalf("preview %d, matched %d, want 25", n, r.Matched)
	}
	s.pass(r, 500*time.Millisecond)
	step := s.step(r)
	if got := s.progress(r); got.Requeued < 2 || got.Requeued > 4 || step.Ended || len(step.Endpoints) != 1 || step.Endpoints[0] != failed[0].EndpointID {
		t.Errorf("after half a second at 5 a second: %+v, %+v", got, step)
	}
	if first := s.get(failed[0].ID); first.State != intake.DeliveryPending || first.Cycle != 2 {
		t.Errorf("the oldest isn't first: %+v", first)
	}
	s.pass(r, time.Hour) // a long pause isn't made up for
	s.step(r)
	if got := s.progress(r); got.Requeued > 4+10 || got.State != intake.RedeliveryRunning {
		t.Errorf("after an hour: %+v", got)
	}
	for range 2 {
		s.pass(r, 2*time.Second)
		step = s.step(r)
	}
	if !step.Ended {
		t.Errorf("the end: %+v", step)
	}
	if got := s.progress(r); got.State != intake.RedeliveryDone || got.Requeued != 25 || got.Skipped != 0 || got.FinishedAt == nil {
		t.Errorf("the end: %+v", got)
	}
	if step = s.step(r); !step.Ended {
		t.Errorf("a step after the end: %+v", step)
	}
}

// TestRedeliveryLeavesRoom: what happens meanwhile waits behind few.
func TestRedeliveryLeavesRoom(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	slow := s.failedAt("https://slow.example/", 60)
	fast := s.failedAt("https://fast.example/", 3)
	r := s.started(100)
	s.pass(r, 2*time.Second)
	s.step(r)
	if got := s.progress(r); got.Requeued != 32+3 {
		t.Errorf("%d made pending at once, want 32 at one endpoint and 3 at the other", got.Requeued)
	}
	if s.get(slow[31].ID).State != intake.DeliveryPending || s.get(slow[32].ID).State != intake.DeliveryFailed {
		t.Error("those made pending at the slow endpoint aren't the oldest")
	}
	if s.get(fast[2].ID).State != intake.DeliveryPending {
		t.Error("a slow endpoint holds up another one")
	}
	s.pass(r, 2*time.Second)
	if step := s.step(r); len(step.Endpoints) != 0 {
		t.Errorf("no room, yet more are due at %v", step.Endpoints)
	}
}

func (s *store) stop(scope intake.Scope, id intake.RedeliveryID) error {
	s.Helper()
	err := s.InTx(s.ctx, func(tx *db.Tx) error {
		_, err := tx.StopRedelivery(s.ctx, scope, id, start)
		return err
	})
	s.ok(s.ForgetRedeliveryItems(s.ctx, id))
	return err
}

func TestRedeliveryIsStopped(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	failed := s.failedAt("https://a.example/", 5)
	r := s.started(1)
	for _, scope := range []intake.Scope{s.newScope("Other"), {AccountID: s.scope.AccountID, Livemode: true}} {
		s.missing("stopping another scope's", s.stop(scope, r.ID))
		_, err := s.Redelivery(s.ctx, scope, r.ID)
		s.missing("another scope's", err)
	}
	s.ok(s.stop(s.scope, r.ID))
	s.missing("stopping twice", s.stop(s.scope, r.ID))
	s.pass(r, 2*time.Second)
	if step := s.step(r); !step.Ended || s.get(failed[0].ID).State != intake.DeliveryFailed || s.progress(r).State != intake.RedeliveryStopped {
		t.Errorf("a step after the stop: %+v", step)
	}
}

// TestRedeliverySkipsWhatHasChanged: what was made again by itself, or is
// deleted, when its turn comes.
func TestRedeliverySkipsWhatHasChanged(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	failed := s.failedAt("https://a.example/", 4)
	r := s.started(100)
	_, err := s.redeliver(failed[0].ID, start)
	s.ok(err)
	s.ok(second(s.ExecContext(s.ctx, `DELETE FROM event WHERE id = $1`, failed[1].EventID)))
	s.pass(r, time.Second)
	s.step(r)
	if got := s.progress(r); got.Requeued != 2 || got.Skipped != 2 || got.State != intake.RedeliveryDone {
		t.Errorf("%+v, want 2 and 2 skipped", got)
	}
	if d := s.get(failed[0].ID); d.Cycle != 2 {
		t.Errorf("one was made twice: %+v", d)
	}
}

// TestStepsSideBySide deal with each delivery once.
func TestStepsSideBySide(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	failed := s.failedAt("https://a.example/", 30)
	r := s.started(100)
	s.pass(r, 2*time.Second)
	var steps sync.WaitGroup
	for range 8 {
		steps.Go(func() {
			for range 5 {
				if _, err := s.StepRedelivery(s.ctx, r.ID, start); err != nil {
					t.Error(err)
				}
			}
		})
	}
	steps.Wait()
	got := s.progress(r)
	if got.Requeued != 30 || got.Skipped != 0 {
		t.Errorf("%+v", got)
	}
	for _, d := range failed {
		if cycle := s.get(d.ID).Cycle; cycle != 2 {
			t.Errorf("delivery in cycle %d, want 2", cycle)
		}
	}
}

// TestStepIsCutOff: of a step whose connection dies in its middle nothing
// stays, and the next one does it all.
func TestStepIsCutOff(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	failed := s.failedAt("https://a.example/", 3)
	r := s.started(100)
	s.pass(r, time.Second)
	blocker, err := s.Beginx()
	s.ok(err)
	defer func() { _ = blocker.Rollback() }()
	s.ok(second(blocker.ExecContext(s.ctx, `SELECT FROM delivery WHERE id = $1 FOR UPDATE`, failed[2].ID)))
	cut := make(chan error, 1)
	go func() {
		_, err := s.StepRedelivery(s.ctx, r.ID, start)
		cut <- err
	}()
	for killed := false; !killed; {
		select {
		case err := <-cut:
			t.Fatalf("the step didn't wait: %v", err)
		default:
		}
		s.ok(s.GetContext(s.ctx, &killed, `
			SELECT coalesce(bool_or(pg_terminate_backend(pid)), false) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%redelivery_item%'`))
	}
	if err := <-cut; err == nil {
		t.Error("a step that was cut off says nothing")
	}
	s.ok(blocker.Rollback())
	if got := s.progress(r); got.Requeued != 0 || got.State != intake.RedeliveryRunning || s.get(failed[0].ID).State != intake.DeliveryFailed {
		t.Errorf("after a step that was cut off: %+v", got)
	}
	if step := s.step(r); !step.Ended || s.progress(r).Requeued != 3 {
		t.Errorf("the next step: %+v, %+v", step, s.progress(r))
	}
}

func TestStalledAndOldRedeliveries(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	s.failedAt("https://a.example/", 1)
	idle, busy := s.started(1), s.started(1)
	s.pass(idle, 3*time.Minute)
	stalled, err := s.StalledRedeliveries(s.ctx, 2*time.Minute)
	s.ok(err)
	if !slices.Equal(stalled, []intake.RedeliveryID{idle.ID}) {
		t.Errorf("stalled %v, want %v", stalled, idle.ID)
	}
	s.ok(s.stop(s.scope, busy.ID))
	if n, err := s.DeleteRedeliveries(s.ctx, start, 10); n != 1 || err != nil {
		t.Errorf("deleted %d, %v; want the stopped one", n, err)
	}
	if all, err := s.Redeliveries(s.ctx, s.scope, 10); err != nil || len(all) != 1 || all[0].ID != idle.ID {
		t.Errorf("left: %v, %v", all, err)
	}
}

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
		s.ok(second(s.ExecContext(s.ctx, `DELETE FROM event`)))
	}
}

// TestRetentionMeetsRedelivery: the same, each order on its own.
func TestRetentionMeetsRedelivery(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	ctx, cancel := context.WithTimeout(s.ctx, 20*time.Second)
	defer cancel()
	past := start.Add(time.Hour)
	failed := s.failedAt("https://a.example/", 3)
	r := s.started(100)
	s.pass(r, time.Second)

	deleting, err := s.Beginx()
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
		s.ok(s.GetContext(ctx, &waiting, `
			SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%FOR KEY SHARE%')`))
	}
	s.ok(deleting.Commit())
	s.missing("a delivery that retention was deleting", <-again)

	for _, d := range failed[1:] {
		s.record(s.get(d.ID), 2, intake.DeliveryFailed, nil)
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
	if got := s.get(failed[1].ID); got.State != intake.DeliveryPending || len(s.claim(got.EndpointID, past, 10)) != 1 {
		t.Errorf("made again beside retention: %+v", got)
	}
}
