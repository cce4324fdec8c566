package jobs_test

import (
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/testkit"
	"candor/internal/testkit/hooktest"
)

// TestExpiryWaitsForNoUpkeep: sessions expire while long runs of upkeep have all its places.
func TestExpiryWaitsForNoUpkeep(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := newHarness(t)
	blocked, err := h.DB.Raw().BeginTxx(h.Ctx, nil)
	h.OK(err)
	defer blocked.Rollback()
	_, err = blocked.ExecContext(h.Ctx, `LOCK TABLE audit_repeat, passkey_challenge`)
	h.OK(err)
	h.start(sweeping)
	testkit.Await(h, "retention and counting to take their time", func() bool {
		return h.Count(`SELECT count(*) FROM river_job WHERE state = 'running' AND kind IN ('retention', 'audit_repeats')`) == 2
	})
	began := time.Now()
	h.Session("", hooktest.Now().Add(-31*24*time.Hour))
	testkit.Await(h, "the session to expire", func() bool {
		return h.Count(`SELECT count(*) FROM session WHERE status = 'expired'`) == 1
	})
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it expired after %s", took)
	}
	h.OK(blocked.Rollback())
}

// Several workers sweep at the same time: each overdue session expires with one
// event (D48).
func TestExpirySweep(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := newHarness(t)
	const n = 450 // more than two batches
	created := hooktest.Now().Add(-30*24*time.Hour - time.Minute)
	_, err := h.DB.Raw().ExecContext(h.Ctx, `
		INSERT INTO session (id, account_id, livemode, status, form_type, customer_email, metadata, created_at, expires_at)
		SELECT gen_random_uuid(), $1, true, 'pending', 'financial_statement', 'jo@customer.example', '{}', $2,
			$2::timestamptz + interval '30 days'
		FROM generate_series(1, $3)`, h.Scope.AccountID, created, n)
	h.OK(err)
	opened, later := h.Session("", created), h.Session("", hooktest.Now())
	active := created.Add(time.Hour)
	h.Tx(func(tx *db.Tx) error {
		if _, err := tx.OpenSession(h.Ctx, opened.ID, created); err != nil {
			return err
		}
		if _, err := tx.LockOpenSession(h.Ctx, opened.ID, active); err != nil {
			return err
		}
		return tx.SetSectionsCompleted(h.Ctx, opened.ID, 4)
	})
	h.SetDefaultURL("")
	for range 3 {
		h.start(sweeping)
	}
	testkit.Await(h, "all to expire", func() bool { return h.Count("SELECT count(*) FROM session WHERE status = 'expired'") == n+1 })
	if events, once := h.Count("SELECT count(*) FROM event WHERE type = 'session.expired'"),
		h.Count("SELECT count(DISTINCT session_id) FROM event"); events != n+1 || once != n+1 {
		t.Errorf("%d events of %d sessions, want %d", events, once, n+1)
	}
	if got, err := h.DB.SessionByID(h.Ctx, later.ID); err != nil || got.Status != domain.Pending {
		t.Errorf("a session that isn't due: %v, %v", got, err)
	}
	expires := form.At(opened.ExpiresAt)
	check := func(got, want domain.ExpiredPayload) {
		t.Helper()
		last := func(p domain.ExpiredPayload) string {
			if p.LastActivityAt == nil {
				return "never"
			}
			return p.LastActivityAt.UTC().String()
		}
		if got.SessionID != want.SessionID || !got.ExpiredAt.Equal(want.ExpiredAt.Time) || got.WasAccessed != want.WasAccessed ||
			got.ProgressPercentage != want.ProgressPercentage || last(got) != last(want) {
			t.Errorf("payload %+v, want %+v", got, want)
		}
	}
	at := form.At(active)
	check(hooktest.Data[domain.ExpiredPayload](t, h.Events(opened, domain.SessionExpired)[0].Body),
		domain.ExpiredPayload{SessionID: opened.ID, ExpiredAt: expires, WasAccessed: true, ProgressPercentage: 57, LastActivityAt: &at})
	var never domain.Session
	h.OK(h.DB.Raw().GetContext(h.Ctx, &never,
		"SELECT id, expires_at FROM session WHERE accessed_at IS NULL AND status = 'expired' LIMIT 1"))
	check(hooktest.Data[domain.ExpiredPayload](t, h.Events(&never, domain.SessionExpired)[0].Body),
		domain.ExpiredPayload{SessionID: never.ID, ExpiredAt: form.At(never.ExpiresAt)})
}

// A worker cancels what staff cancelled and didn't keep, once, also if several sweep; a
// session that ended before stays as it is (D126).
func TestCancelsAreCarriedOut(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := newHarness(t)
	due, later, ended := h.Session("", hooktest.Now()), h.Session("", hooktest.Now()), h.Session("", hooktest.Now())
	by := domain.Actor{Kind: domain.ActorStaff, ID: "staff_1", Name: "sam@lender.example", Address: "192.0.2.1"}
	h.Tx(func(tx *db.Tx) error {
		now := hooktest.Now()
		for _, one := range []*domain.Session{due, later, ended} {
			at := now.Add(-time.Second)
			if one == later {
				at = now.Add(time.Hour)
			}
			if err := tx.RequestCancel(h.Ctx, one.Scope(), one.ID, by, at, now); err != nil {
				return err
			}
		}
		return tx.ExpireSession(h.Ctx, ended.ID)
	})
	for range 2 {
		h.start(sweeping)
	}
	testkit.Await(h, "the requests are carried out", func() bool { return h.Count("SELECT count(*) FROM session_cancel") == 1 })
	for id, want := range map[domain.SessionID]domain.Status{
		due.ID: domain.Cancelled, later.ID: domain.Pending, ended.ID: domain.Expired,
	} {
		if got, err := h.DB.SessionByID(h.Ctx, id); err != nil || got.Status != want {
			t.Errorf("a session is %v (%v), want %s", got.Status, err, want)
		}
	}
	if n := h.Count("SELECT count(*) FROM audit_log WHERE action = 'session.cancelled' AND actor_name = 'sam@lender.example'"); n != 1 {
		t.Errorf("%d lines in the audit log, want 1", n)
	}
}
