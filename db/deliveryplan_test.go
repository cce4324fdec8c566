package db_test

import (
	"strings"
	"testing"

	"github.com/lib/pq"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/testkit"
)

const (
	oldDeliveries = 20_000
	burst         = 3_000
	claimed       = 20
	// rowsForClaimed is what claiming or recording them may touch: each a few
	// times, its event, those ahead of it and those that others have claimed.
	rowsForClaimed = 300
)

// A burst of deliveries comes upon statistics of a time when nothing was
// pending, or calm upon those of a burst. What claims, records and looks out
// mustn't read all that is pending, let alone all that was delivered.
func TestPlansOfDeliveriesHoldInABurst(t *testing.T) {
	t.Parallel()
	for _, gathered := range []string{"before the burst", "in the burst"} {
		t.Run("statistics of "+gathered, func(t *testing.T) {
			t.Parallel()
			s := newPlanStore(t)
			delivery := s.delivery(s.event(s.session(s.scope, start), start), "https://example.com/a", start)
			s.record(delivery, 1, domain.DeliveryDelivered, nil)
			s.multiply(delivery, oldDeliveries, "delivered")
			if gathered == "in the burst" {
				s.multiply(delivery, burst, "pending")
			}
			s.vacuum("event", "delivery", "delivery_attempt")
			if gathered == "before the burst" {
				s.multiply(delivery, burst, "pending")
			}
			s.withEachPlan(t, func(s *store) {
				for range 3 {
					s.expectFewInBurst(delivery.EndpointID)
				}
			})
		})
	}
}

// vacuum leaves the tables as autovacuum does within its minute. What the test
// server commits without waiting for the disk counts as seen by all only once it is
// written, so that is waited for first, and it is done until all but a page here and
// there is seen.
func (s *store) vacuum(tables ...string) {
	s.Helper()
	_, err := s.Raw().ExecContext(s.ctx, "SET synchronous_commit = on; ANALYZE "+strings.Join(tables, ", "))
	s.ok(err)
	testkit.Await(s, "VACUUM leaves something unseen", func() bool {
		_, err := s.Raw().ExecContext(s.ctx, "VACUUM "+strings.Join(tables, ", "))
		s.ok(err)
		var behind int
		s.ok(s.Raw().GetContext(s.ctx, &behind,
			`SELECT count(*) FROM pg_class WHERE relname = ANY ($1) AND relkind = 'r' AND relpages - relallvisible > 1 + relpages / 100`,
			pq.Array(tables)))
		return behind == 0
	})
}

// multiply makes n events and deliveries like the one given, ten to a session,
// that were delivered or are due.
func (s *store) multiply(like *domain.Delivery, n int, state string) {
	s.Helper()
	for _, statement := range []string{
		`WITH s AS (SELECT array_agg(gen_random_uuid()) AS ids FROM generate_series(1, $1 / 10))
		INSERT INTO event (id, account_id, livemode, session_id, sequence, type, body, created_at)
		SELECT gen_random_uuid(), account_id, livemode, s.ids[1 + i % cardinality(s.ids)], (SELECT max(sequence)
			FROM event) + i, type, body, created_at
		FROM event, s, generate_series(1, $1) i WHERE id = $2 AND $3 <> ''`,
		`INSERT INTO delivery (id, account_id, livemode, type, event_id, endpoint_id, session_id, sequence, url, state, next_attempt_at, finished_at, attempts_total, created_at)
		SELECT gen_random_uuid(), e.account_id, e.livemode, e.type, e.id, d.endpoint_id, e.session_id, e.sequence, d.url, $3,
			CASE WHEN $3 = 'pending' THEN e.created_at END, CASE WHEN $3 <> 'pending' THEN e.created_at END, ($3 <> 'pending')::int,
				e.created_at
		FROM event e, delivery d WHERE d.event_id = $2 AND e.sequence > (SELECT max(sequence) - $1 FROM event)`,
	} {
		s.untriggered(statement, n, like.EventID, state)
	}
}

// untriggered changes rows without looking for what they refer to.
func (s *store) untriggered(statement string, values ...any) {
	s.Helper()
	s.tx(func(tx *db.Tx) error {
		s.ok(second(tx.Raw().ExecContext(s.ctx, "SET LOCAL session_replication_role = replica")))
		return second(tx.Raw().ExecContext(s.ctx, statement, values...))
	})
}

func (s *store) expectFewInBurst(endpoint domain.EndpointID) {
	s.Helper()
	var batch []db.ClaimedDelivery
	s.expectRows(rowsForClaimed, "a claim", func() { batch = s.claim(endpoint, start, claimed) })
	if len(batch) != claimed {
		s.Fatalf("%d deliveries claimed, want %d", len(batch), claimed)
	}
	s.expectRows(rowsForClaimed, "a second look", func() {
		still, err := s.StillClaimed(s.ctx, batch)
		s.ok(err)
		if len(still) != len(batch) {
			s.Errorf("%d of %d are still claimed", len(still), len(batch))
		}
	})
	outcomes := make([]db.AttemptOutcome, claimed-1)
	for i, d := range batch[1:] {
		outcomes[i] = db.AttemptOutcome{
			DeliveryAttempt: domain.DeliveryAttempt{DeliveryID: d.ID, Number: 1, StartedAt: start, RequestHeaders: []byte("{}")},
			Cycle:           d.Cycle, State: domain.DeliveryDelivered,
		}
	}
	s.expectRows(rowsForClaimed, "a record", func() { s.ok(s.RecordAttempts(s.ctx, outcomes, nil)) })
	s.expectRows(rowsForClaimed, "a release", func() { s.ok(s.ReleaseDeliveries(s.ctx, batch[:1])) })
	s.expectRows(rowsForClaimed, "a look-out", func() {
		due, err := s.DueEndpoints(s.ctx, start)
		s.ok(err)
		if len(due) != 1 || due[0] != endpoint {
			s.Fatalf("due endpoints %v, want %v", due, endpoint)
		}
	})
}

// TestPlanOfEndpointList: an account can have an endpoint for each session.
func TestPlanOfEndpointList(t *testing.T) {
	t.Parallel()
	s := newPlanStore(t)
	_, err := s.Raw().ExecContext(s.ctx, `
		INSERT INTO webhook_endpoint (id, account_id, livemode, origin, created_at, failing_since, last_failure_at)
		SELECT gen_random_uuid(), $1, false, 'https://' || n || '.example', $2::timestamptz + n * interval '1 minute', $2, $2
		FROM generate_series(1, 20000) n`, s.scope.AccountID, start)
	s.ok(err)
	s.vacuum("webhook_endpoint")
	s.withEachPlan(t, func(s *store) {
		s.expectAtMost(5*domain.EndpointsMost, "the list of endpoints", func() error {
			all, err := s.Endpoints(s.ctx, s.scope, nil)
			if len(all) <= domain.EndpointsMost || all[0].Origin > all[1].Origin {
				s.Errorf("%d endpoints, the first %s and %s; want more than %d by origin", len(all), all[0].Origin, all[1].Origin,
					domain.EndpointsMost)
			}
			return err
		})
	})
}
