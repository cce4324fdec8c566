package db_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
)

// started is a running redelivery of all failed deliveries.
func (s *store) started(rate int) *domain.Redelivery {
	s.Helper()
	since := start.Add(-time.Hour)
	f := domain.DeliveryFilter{Since: &since}
	r := domain.NewRedelivery(s.scope, f, rate, "jo", start)
	s.tx(func(tx *db.Tx) error { return tx.InsertRedelivery(s.ctx, r, f) })
	return r
}

func (s *store) step(r *domain.Redelivery) db.RedeliveryStep {
	s.Helper()
	step, err := s.StepRedelivery(s.ctx, r.ID, start.Add(24*time.Hour))
	s.ok(err)
	return step
}

// pass lets so much time pass for a redelivery's rate.
func (s *store) pass(r *domain.Redelivery, d time.Duration) {
	s.Helper()
	s.ok(second(s.Raw().ExecContext(s.ctx,
		`UPDATE redelivery SET paced_until = clock_timestamp() - $2 * interval '1 microsecond' WHERE id = $1`, r.ID, d.Microseconds())))
}

func (s *store) progress(r *domain.Redelivery) *domain.Redelivery {
	s.Helper()
	return must(s.Redelivery(s.ctx, s.scope, r.ID))
}

// failedAt makes n failed deliveries at the URL.
func (s *store) failedAt(url string, n int) (out []*domain.Delivery) {
	s.Helper()
	session := s.session(s.scope, start)
	for range n {
		d := s.delivery(s.event(session, start), url, start)
		s.record(d, 1, domain.DeliveryFailed, nil)
		out = append(out, d)
	}
	return out
}

// countFailed is how many failed deliveries match, to all endpoints.
func (s *store) countFailed(f domain.DeliveryFilter) (n int64) {
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
func (s *store) outcome(r *domain.Redelivery, most int) string {
	s.Helper()
	got, err := s.RedeliveryOutcome(s.ctx, r.ID, most)
	s.ok(err)
	return fmt.Sprintf("%d pending, %d delivered, %d failed, %d cancelled", got[domain.DeliveryPending],
		got[domain.DeliveryDelivered], got[domain.DeliveryFailed], got[domain.DeliveryCancelled])
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
			s.record(is, is.AttemptsTotal+1, domain.DeliveryDelivered, nil)
		case i < 6:
			s.record(is, is.AttemptsTotal+1, domain.DeliveryFailed, nil)
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
	n := s.countFailed(domain.DeliveryFilter{Since: &since})
	r := s.started(5)
	if n != 25 || r.Matched != n {
		t.Fatalf("preview %d, matched %d, want 25", n, r.Matched)
	}
	s.pass(r, 500*time.Millisecond)
	step := s.step(r)
	if got := s.progress(r); got.Requeued < 2 || got.Requeued > 4 || step.Ended || len(step.Endpoints) != 1 ||
		step.Endpoints[0] != failed[0].EndpointID {
		t.Errorf("after half a second at 5 a second: %+v, %+v", got, step)
	}
	if first := s.get(failed[0].ID); first.State != domain.DeliveryPending || first.Cycle != 2 {
		t.Errorf("the oldest isn't first: %+v", first)
	}
	s.pass(r, time.Hour) // a long pause isn't made up for
	s.step(r)
	if got := s.progress(r); got.Requeued > 4+10 || got.State != domain.RedeliveryRunning {
		t.Errorf("after an hour: %+v", got)
	}
	for range 2 {
		s.pass(r, 2*time.Second)
		step = s.step(r)
	}
	if !step.Ended {
		t.Errorf("the end: %+v", step)
	}
	if got := s.progress(r); got.State != domain.RedeliveryDone || got.Requeued != 25 || got.Skipped != 0 || got.FinishedAt == nil {
		t.Errorf("the end: %+v", got)
	}
	if step = s.step(r); !step.Ended {
		t.Errorf("a step after the end: %+v", step)
	}
}

// TestRedeliveryLeavesRoom checks that new events wait behind few deliveries.
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
	if s.get(slow[31].ID).State != domain.DeliveryPending || s.get(slow[32].ID).State != domain.DeliveryFailed {
		t.Error("those made pending at the slow endpoint aren't the oldest")
	}
	if s.get(fast[2].ID).State != domain.DeliveryPending {
		t.Error("a slow endpoint holds up another one")
	}
	s.pass(r, 2*time.Second)
	if step := s.step(r); len(step.Endpoints) != 0 {
		t.Errorf("no room, yet more are due at %v", step.Endpoints)
	} else if !step.Idle {
		t.Error("a step that found no room isn't idle")
	}
}

// TestStepLooksAtItsEndpointsAlone: an account has an endpoint for each origin of its
// sessions' own URLs.
func TestStepLooksAtItsEndpointsAlone(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	s.Raw().SetMaxOpenConns(1) // see touched
	_, err := s.Raw().ExecContext(s.ctx, `
		INSERT INTO webhook_endpoint (id, account_id, livemode, origin, created_at)
		SELECT gen_random_uuid(), $1, $2, 'https://' || n || '.example', $3 FROM generate_series(1, 5000) n`,
		s.scope.AccountID, s.scope.Livemode, start)
	s.ok(err)
	s.failedAt("https://a.example/", 5)
	s.failedAt("https://b.example/", 5)
	s.vacuum("webhook_endpoint", "delivery", "event")
	r := s.started(1)
	s.pass(r, 2*time.Second)
	before := s.touched()
	s.step(r)
	if rows, got := s.touched()-before, s.progress(r).Requeued; rows > 500 || got < 2 {
		t.Errorf("a step of %d deliveries touches %d rows, want at most 500", got, rows)
	}
}

func (s *store) stop(scope domain.Scope, id domain.RedeliveryID) error {
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
	for _, scope := range []domain.Scope{s.newScope("Other"), {AccountID: s.scope.AccountID, Livemode: true}} {
		s.refused("stopping another scope's", s.stop(scope, r.ID))
		_, err := s.Redelivery(s.ctx, scope, r.ID)
		s.missing("another scope's", err)
	}
	s.ok(s.stop(s.scope, r.ID))
	s.refused("stopping twice", s.stop(s.scope, r.ID))
	s.pass(r, 2*time.Second)
	if step := s.step(r); !step.Ended || s.get(failed[0].ID).State != domain.DeliveryFailed || s.progress(r).
		State != domain.RedeliveryStopped {
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
	s.ok(second(s.Raw().ExecContext(s.ctx, `DELETE FROM event WHERE id = $1`, failed[1].EventID)))
	s.pass(r, time.Second)
	s.step(r)
	if got := s.progress(r); got.Requeued != 2 || got.Skipped != 2 || got.State != domain.RedeliveryDone {
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

// TestStepIsCutOff: of a step whose connection dies in its middle, and whose process
// ends then, nothing stays, and the next one does it all.
func TestStepIsCutOff(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	failed := s.failedAt("https://a.example/", 3)
	r := s.started(100)
	s.pass(r, time.Second)
	blocker, err := s.Raw().Beginx()
	s.ok(err)
	defer func() { _ = blocker.Rollback() }()
	s.ok(second(blocker.ExecContext(s.ctx, `SELECT FROM delivery WHERE id = $1 FOR UPDATE`, failed[2].ID)))
	cut := make(chan error, 1)
	ctx, end := context.WithCancel(s.ctx)
	defer end()
	go func() {
		_, err := s.StepRedelivery(ctx, r.ID, start)
		cut <- err
	}()
	for killed := false; !killed; {
		select {
		case err := <-cut:
			t.Fatalf("the step didn't wait: %v", err)
		default:
		}
		s.ok(s.Raw().GetContext(s.ctx, &killed, `
			SELECT coalesce(bool_or(pg_terminate_backend(pid)), false) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%redelivery_item%'`))
	}
	end() // it would be made again on another connection
	if err := <-cut; err == nil {
		t.Error("a step that was cut off says nothing")
	}
	s.ok(blocker.Rollback())
	if got := s.progress(r); got.Requeued != 0 || got.State != domain.RedeliveryRunning || s.get(failed[0].ID).
		State != domain.DeliveryFailed {
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
	if !slices.Equal(stalled, []domain.RedeliveryID{idle.ID}) {
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

// TestWaitingAreSentAgain: what waits for its next attempt is made again from the start
// of the schedule, once; one that is being attempted, or was never, is left alone (D107).
func TestWaitingAreSentAgain(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	next := start.Add(time.Minute)
	waiting, claimed, untried := s.newDelivery(), s.newDelivery(), s.newDelivery()
	for _, d := range []*domain.Delivery{waiting, claimed} {
		s.record(d, 1, domain.DeliveryPending, &next)
	}
	s.ok(second(s.Raw().ExecContext(s.ctx, `UPDATE delivery SET lease_until = now() + interval '1 minute' WHERE id = $1`,
		claimed.ID)))
	since := start.Add(-time.Hour)
	f := domain.DeliveryFilter{Since: &since, Failing: true}
	if n := s.countFailed(f); n != 2 {
		t.Errorf("%d are counted, want 2", n)
	}
	r := domain.NewRedelivery(s.scope, f, 100, "jo", start)
	s.tx(func(tx *db.Tx) error { return tx.InsertRedelivery(s.ctx, r, f) })
	s.pass(r, time.Second)
	s.step(r)
	if got := s.progress(r); got.Matched != 2 || got.Requeued != 1 || got.Skipped != 1 || got.State != domain.RedeliveryDone {
		t.Errorf("%+v, want one sent again and one skipped", got)
	}
	for d, cycle := range map[*domain.Delivery]int{waiting: 2, claimed: 1, untried: 1} {
		if is := s.get(d.ID); is.Cycle != cycle || is.State != domain.DeliveryPending || cycle == 2 && is.Attempts != 0 {
			t.Errorf("%+v, want cycle %d", is, cycle)
		}
	}
}
