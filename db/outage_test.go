package db_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
)

// attempt is a delivery's next attempt at a time: it failed with the status, or arrived.
func (s *store) attempt(d *domain.Delivery, number, status int, at time.Time) db.AttemptOutcome {
	class, next := "status", at.Add(time.Hour)
	out := db.AttemptOutcome{Scope: s.scope, Cycle: 1, State: domain.DeliveryDelivered, DeliveryAttempt: domain.DeliveryAttempt{
		DeliveryID: d.ID, Number: number, StartedAt: at, RequestHeaders: []byte(`{}`), StatusCode: &status}}
	if status >= 300 {
		out.State, out.Next, out.ErrorClass = domain.DeliveryPending, &next, &class
	}
	return out
}

// attempts records attempts with their endpoints' health, as the recorder does.
func (s *store) attempts(deliveries []*domain.Delivery, number, status int, at time.Time) {
	s.Helper()
	var outcomes []db.AttemptOutcome
	var health []db.EndpointHealth
	of := map[domain.EndpointID]int{}
	for _, d := range deliveries {
		outcomes = append(outcomes, s.attempt(d, number, status, at))
		i, known := of[d.EndpointID]
		if !known {
			i, of[d.EndpointID] = len(health), len(health)
			health = append(health, db.EndpointHealth{ID: d.EndpointID, At: at, StatusCode: status})
		}
		h := &health[i]
		h.Counted.Attempts++
		if status < 300 {
			h.SuccessAt = &at
			h.Counted.Delivered++
		} else {
			h.Failures++
			h.ErrorClass = "status"
		}
	}
	s.ok(s.RecordAttempts(s.ctx, outcomes, health))
}

// pastOutages gives the delivery's endpoint n outages of the last 90 days that are over.
func (s *store) pastOutages(d *domain.Delivery, n int) {
	s.Helper()
	_, err := s.Raw().ExecContext(s.ctx, `
		INSERT INTO outage (id, account_id, livemode, endpoint_id, started_at, last_failure_at, answered_at, first_sequence,
			last_sequence, answers)
		SELECT gen_random_uuid(), $1, false, $2, at, at, at, -i, -i, '{"503": 1}'
		FROM (SELECT i, $3::timestamptz - interval '1 day' - i * interval '10 minutes' AS at FROM generate_series(1, $4) i) o`,
		s.scope.AccountID, d.EndpointID, start, n)
	s.ok(err)
	_, err = s.Raw().ExecContext(s.ctx, `ANALYZE outage`)
	s.ok(err)
}

// atEndpoints are deliveries of new events, each to an endpoint of its own.
func (s *store) atEndpoints(n int) (out []*domain.Delivery) {
	s.Helper()
	session := s.session(s.scope, start)
	for i := range n {
		out = append(out, s.delivery(s.event(session, start), fmt.Sprintf("https://%d.example", i), start))
	}
	return out
}

// TestOutagesOfABatch: each endpoint of a batch has its own outage, with its own attempts.
func TestOutagesOfABatch(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	first, second := s.atEndpoints(3), s.atEndpoints(3)
	told := func(want ...string) {
		t.Helper()
		got := s.lines(`
			SELECT concat_ws(' ', e.origin, first_sequence, last_sequence, answers, to_char(o.answered_at - started_at, 'HH24:MI'),
				to_char(o.confirmed_at - started_at, 'HH24:MI'))
			FROM outage o JOIN webhook_endpoint e ON e.id = endpoint_id ORDER BY e.origin, started_at`)
		if !slices.Equal(got, want) {
			t.Errorf("outages %q, want %q", got, want)
		}
	}
	s.attempts(append(first[:2:2], second[:2]...), 1, 503, start)
	told(`https://0.example 1 4 {"503": 2}`, `https://1.example 2 5 {"503": 2}`)
	s.attempts([]*domain.Delivery{first[2], second[2]}, 1, 200, start)
	s.attempts(first[:1], 2, 200, start.Add(time.Hour))
	s.attempts(second[:2], 2, 500, start.Add(2*time.Hour))
	told(`https://0.example 1 4 {"500": 1, "503": 2} 01:00`, `https://1.example 2 5 {"500": 1, "503": 2}`)
}

// TestAttemptsAreCountedOnce: a batch that is recorded again, because its commit wasn't
// answered, counts nothing twice.
func TestAttemptsAreCountedOnce(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	batch := s.atEndpoints(2)
	counted := func() []string {
		return s.lines(`
			SELECT concat_ws(' ', e.origin, e.consecutive_failures, d.attempts, o.answers, x.attempts_total)
			FROM webhook_endpoint e JOIN endpoint_day d ON d.endpoint_id = e.id JOIN outage o ON o.endpoint_id = e.id
				JOIN delivery x ON x.endpoint_id = e.id ORDER BY e.origin`)
	}
	s.attempts(batch, 1, 503, start)
	once := counted()
	s.attempts(batch, 1, 503, start)
	if again := counted(); len(once) != 2 || !slices.Equal(again, once) {
		t.Errorf("recorded twice: %q, once: %q", again, once)
	}
	s.attempts(batch, 2, 503, start.Add(time.Minute))
	if next := counted(); len(next) != 2 || next[0] != `https://0.example 2 2 {"503": 2} 2` {
		t.Errorf("after the next attempts: %q", next)
	}
}

// TestPlansOfOutages: what a batch costs under its endpoints' locks depends neither on how
// many endpoints fail at once nor on how many outages they have had.
func TestPlansOfOutages(t *testing.T) {
	t.Parallel()
	for _, mode := range planModes {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s := newPlanStore(t, "SET plan_cache_mode = "+mode)
			const some = 64
			all := s.atEndpoints(some)
			s.pastOutages(all[0], 13_000)
			s.expectRows(500, "a failure at an endpoint with many outages", func() { s.attempts(all[:1], 1, 503, start) })
			s.expectRows(500, "a delivery there", func() { s.attempts(all[:1], 2, 200, start.Add(time.Minute)) })
			s.expectRows(500, "a delivery a week later", func() { s.attempts(s.atEndpoints(1), 1, 200, start.AddDate(0, 0, 7)) })
			s.expectRows(some*25, "failures at many endpoints", func() { s.attempts(all[1:], 1, 503, start) })
		})
	}
}

// BenchmarkOutages records batches of 256 failed attempts: at as many endpoints, and at one
// that has had 13,000 outages.
func BenchmarkOutages(b *testing.B) {
	const batch = 256
	for name, past := range map[string]int{"endpoints=256": 0, "outages=13000": 13_000} {
		b.Run(name, func(b *testing.B) {
			s := newStore(b)
			all := s.atEndpoints(batch)
			if past > 0 {
				s.pastOutages(all[0], past)
				session := s.session(s.scope, start)
				for i := range all[1:] {
					all[1+i] = s.delivery(s.event(session, start), "https://0.example", start)
				}
			}
			number := 0
			for b.Loop() {
				number++
				s.attempts(all, number, 503, start.Add(time.Duration(number)*time.Second))
			}
		})
	}
}
