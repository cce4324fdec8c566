package db_test

import (
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/testkit"
)

// act makes one random change to a random session, as its customer, partner
// or the sweep would, at a random time around the sessions' days.
func (s *store) act(random *rand.Rand, sessions []*domain.Session) error {
	session := sessions[random.IntN(len(sessions))]
	now := session.CreatedAt.Add(time.Duration(random.Int64N(int64(40 * 24 * time.Hour)))).Truncate(time.Millisecond)
	var err error
	switch random.IntN(8) {
	case 0:
		_, err = s.cancel(session.Scope(), session.ID, now)
	case 1, 2, 3:
		err = transitions["open"](s, session.ID, now)
	case 4, 5:
		err = s.InTx(s.ctx, func(tx *db.Tx) error {
			locked, err := tx.LockOpenSession(s.ctx, session.ID, now)
			if err != nil {
				return err
			}
			locked.CompletedAt, locked.SectionsCompleted = &now, 7
			return tx.CompleteSession(s.ctx, locked)
		})
	case 6:
		err = s.InTx(s.ctx, func(tx *db.Tx) error { _, err := tx.ExpireSessions(s.ctx, now, 3); return err })
	case 7:
		fresh, makeErr := domain.NewSession{FormType: domain.FinancialStatement, CustomerEmail: "jo@customer.example"}.
			Session(session.Scope(), now, func(string) error { return nil }, nil)
		if makeErr != nil {
			return makeErr
		}
		err = s.InTx(s.ctx, func(tx *db.Tx) error { return tx.InsertSession(s.ctx, fresh) })
	}
	if errors.Is(err, db.ErrState) {
		return nil // it was in another state
	}
	return err
}

// inBothModes makes sessions in test and live mode by turns, on so many days. change may be nil.
func (s *store) inBothModes(n, days int, change func(i int, x *domain.Session)) (out []*domain.Session) {
	s.Helper()
	for i := range n {
		scope := domain.Scope{AccountID: s.scope.AccountID, Livemode: i%2 == 1}
		out = append(out, s.session(scope, start.AddDate(0, 0, i%days), func(x *domain.Session) {
			if change != nil {
				change(i, x)
			}
		}))
	}
	return out
}

// sideBySide changes sessions by so many writers while two others do something again and
// again. It calls written between the last change and their end.
func (s *store) sideBySide(writers int, sessions []*domain.Session, beside func(turn int) error, written func()) {
	s.Helper()
	var writing, others sync.WaitGroup
	var done atomic.Bool
	for range 2 {
		others.Go(func() {
			for turn := 0; !done.Load(); turn++ {
				if err := beside(turn); err != nil {
					s.Errorf("beside changes: %v", err)
				}
			}
		})
	}
	for i := range writers {
		writing.Go(func() {
			random := rand.New(rand.NewPCG(7, uint64(i)))
			for range 25 {
				if err := s.act(random, sessions); err != nil {
					s.Errorf("change: %v", err)
				}
			}
		})
	}
	writing.Wait()
	written()
	done.Store(true)
	others.Wait()
}

// However sessions change side by side, and while the counters are folded,
// they say what a recount says. No deadlock comes up.
func TestCountersUnderConcurrency(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	s := newStore(t)
	s.sideBySide(20, s.inBothModes(60, 5, nil), func(int) error {
		return s.InTx(s.ctx, func(tx *db.Tx) error {
			_, err := tx.FoldSessionCounts(s.ctx, start.AddDate(1, 0, 0), 7)
			return err
		})
	}, func() { s.checkCounters("while folding") })
	s.checkCounters("after folding")
	for {
		var n int
		s.tx(func(tx *db.Tx) (err error) {
			n, err = tx.FoldSessionCounts(s.ctx, start.AddDate(1, 0, 0), 100)
			return err
		})
		if n < 100 {
			break
		}
	}
	var rows, unfolded int
	s.ok(s.Raw().QueryRowContext(s.ctx, "SELECT count(*), count(*) FILTER (WHERE shard > 0) FROM session_count").Scan(&rows,
		&unfolded))
	if unfolded != 0 || rows == 0 {
		t.Errorf("%d of %d rows are not folded", unfolded, rows)
	}
	s.checkCounters("all folded")
}

func TestFoldLeavesRecentDays(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	for i := range 3 {
		s.session(s.scope, start.AddDate(0, 0, i))
	}
	s.tx(func(tx *db.Tx) error {
		if n, err := tx.FoldSessionCounts(s.ctx, start.AddDate(0, 0, 2), 100); err != nil || n != 2 {
			t.Errorf("folded %d rows, %v; want 2", n, err)
		}
		return nil
	})
	s.checkCounters("folded")
}
