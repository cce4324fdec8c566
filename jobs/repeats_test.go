package jobs_test

import (
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/testkit"
	"candor/internal/testkit/hooktest"
)

// What the audit log has counted for a minute becomes one entry, and what is counted
// since then waits (D89).
func TestRepeatsAreRecorded(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := newHarness(t)
	began := hooktest.Now().Add(-2 * time.Minute)
	count := func(alike string, at time.Time) {
		h.Tx(func(tx *db.Tx) error {
			return tx.RepeatAudit(h.Ctx, &domain.AuditEntry{
				ID: domain.NewAuditID(), AccountID: h.Scope.AccountID, At: at, ActorKind: domain.ActorStaff, Action: domain.AuditDataRead,
			}, alike)
		})
	}
	for i := range 3 {
		count("old", began.Add(time.Duration(i)*time.Second))
	}
	count("new", hooktest.Now().Add(time.Hour))
	h.start(sweeping)
	testkit.Await(h, "the entry", func() bool { return h.Count("SELECT count(*) FROM audit_log WHERE times = 3") == 1 })
	var e domain.AuditEntry
	h.OK(h.DB.Raw().GetContext(h.Ctx, &e, "SELECT at, until FROM audit_log WHERE times = 3"))
	if !e.At.Equal(began) || !e.Until.Equal(began.Add(2*time.Second)) {
		t.Errorf("between %s and %s, want %s and two seconds later", e.At, e.Until, began)
	}
	if n := h.Count("SELECT count(*) FROM audit_repeat"); n != 1 {
		t.Errorf("%d are counted, want the new one", n)
	}
}
