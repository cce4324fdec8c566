package db_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/testkit/dbtest"
)

// start is when the tests' days begin, at noon so that hours stay within one.
var start = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// patience is how long one test may take: PostgreSQL doesn't see that a test
// waits for itself, where one of its transactions needs what another holds.
const patience = 5 * time.Minute

// store is a test's own database with one account in it.
type store struct {
	*db.DB
	testing.TB
	ctx   context.Context
	scope domain.Scope
}

func newStore(t testing.TB) *store {
	t.Helper()
	_, pool := dbtest.Lend(t)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	s := &store{DB: pool, TB: t, ctx: ctx}
	s.scope = s.newScope("Lender")
	return s
}

func (s *store) newScope(name string) domain.Scope {
	s.Helper()
	account := &domain.Account{ID: domain.NewAccountID(), Name: name, BillingEmail: "bills@lender.example", CreatedAt: start}
	s.tx(func(tx *db.Tx) error { return tx.InsertAccount(s.ctx, account) })
	return domain.Scope{AccountID: account.ID}
}

func (s *store) ok(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *store) tx(work func(tx *db.Tx) error) {
	s.Helper()
	s.ok(s.InTx(s.ctx, work))
}

func (s *store) missing(what string, err error) {
	s.Helper()
	if !errors.Is(err, db.ErrNotFound) {
		s.Errorf("%s: %v, want ErrNotFound", what, err)
	}
}

func (s *store) refused(what string, err error) {
	s.Helper()
	if !errors.Is(err, db.ErrState) {
		s.Errorf("%s: %v, want ErrState", what, err)
	}
}

// session makes a pending session of 30 days, created at the given time.
func (s *store) session(scope domain.Scope, at time.Time, change ...func(*domain.Session)) *domain.Session {
	s.Helper()
	session, err := domain.NewSession{FormType: domain.FinancialStatement, CustomerEmail: "Jo@Customer.example"}.
		Session(scope, at, func(string) error { return nil }, nil)
	s.ok(err)
	for _, f := range change {
		f(session)
	}
	s.tx(func(tx *db.Tx) error { return tx.InsertSession(s.ctx, session) })
	return session
}

// completed takes a new session to completion.
func (s *store) completed(scope domain.Scope, created, opened, completed time.Time) *domain.Session {
	s.Helper()
	session := s.session(scope, created)
	s.tx(func(tx *db.Tx) error {
		if _, err := tx.OpenSession(s.ctx, session.ID, opened); err != nil {
			return err
		}
		locked, err := tx.LockOpenSession(s.ctx, session.ID, completed)
		if err != nil {
			return err
		}
		locked.CompletedAt, locked.SectionsCompleted = &completed, 7
		return tx.CompleteSession(s.ctx, locked)
	})
	return session
}

// dayCount is what is counted of one scope and day, by name.
type dayCount struct {
	Account   domain.AccountID `db:"account_id"`
	Livemode  bool             `db:"livemode"`
	Day       time.Time        `db:"day"`   // UTC
	Local     time.Time        `db:"local"` // of the account's zone
	Created   int64            `db:"created"`
	Pending   int64            `db:"pending"`
	Progress  int64            `db:"in_progress"`
	Completed int64            `db:"completed"`
	Expired   int64            `db:"expired"`
	Cancelled int64            `db:"cancelled"`
	Seconds   string           `db:"seconds"`
	ThatDay   int64            `db:"that_day"`
}

// counted is what the counters say; recounted what the sessions do.
func (s *store) counted() []dayCount {
	s.Helper()
	var out []dayCount
	s.ok(s.Raw().SelectContext(s.ctx, &out, `
		SELECT account_id, livemode, day, day + ahead AS local, sum(created)::bigint AS created, sum(pending)::bigint AS pending,
			sum(in_progress)::bigint AS in_progress,
			sum(completed)::bigint AS completed, sum(expired)::bigint AS expired, sum(cancelled)::bigint AS cancelled,
			trim_scale(sum(completion_seconds))::text AS seconds, sum(completed_that_day)::bigint AS that_day
		FROM session_count GROUP BY 1, 2, 3, 4
		HAVING sum(created) <> 0 OR sum(completed_that_day) <> 0 ORDER BY 1, 2, 3, 4`))
	return out
}

func (s *store) recounted() []dayCount {
	s.Helper()
	var out []dayCount
	s.ok(s.Raw().SelectContext(s.ctx, &out, `
		SELECT account_id, livemode, day, local, count(status) AS created, count(*) FILTER (WHERE status = 'pending') AS pending,
			count(*) FILTER (WHERE status = 'in_progress') AS in_progress, count(*) FILTER (WHERE status = 'completed') AS completed,
			count(*) FILTER (WHERE status = 'expired') AS expired, count(*) FILTER (WHERE status = 'cancelled') AS cancelled,
			trim_scale(coalesce(sum(seconds), 0))::text AS seconds, sum(that_day) AS that_day
		FROM (
			SELECT account_id, livemode, s.created_at::date AS day, (s.created_at AT TIME ZONE time_zone)::date AS local, status,
				extract(epoch FROM completed_at - s.created_at) AS seconds, 0 AS that_day
			FROM session s JOIN account a ON a.id = account_id
			UNION ALL
			SELECT account_id, livemode, completed_at::date, (completed_at AT TIME ZONE time_zone)::date, NULL, 0, 1
			FROM session s JOIN account a ON a.id = account_id WHERE completed_at IS NOT NULL
		) s GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4`))
	return out
}

func (s *store) checkCounters(when string) {
	s.Helper()
	got, want := fmt.Sprint(s.counted()), fmt.Sprint(s.recounted())
	if got != want {
		s.Errorf("%s: counters say\n%s\nsessions are\n%s", when, got, want)
	}
}
