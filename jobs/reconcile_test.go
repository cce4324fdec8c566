package jobs_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/outbox"
	"candor/internal/testkit"
	"candor/internal/testkit/hooktest"
)

// counting is an Observer that counts.
type counting struct {
	mu       sync.Mutex
	repairs  []string
	events   []domain.EventType
	attempts []string
	first    int
	arrived  int
	worked   map[string]int
	undrawn  int
	emailed  []string
}

func (c *counting) note(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

func (c *counting) EventRecorded(t domain.EventType) {
	c.note(func() { c.events = append(c.events, t) })
}
func (c *counting) Attempted(class string, _ time.Duration) {
	c.note(func() { c.attempts = append(c.attempts, class) })
}
func (c *counting) FirstAttempted(time.Duration) { c.note(func() { c.first++ }) }
func (c *counting) Delivered(time.Duration)      { c.note(func() { c.arrived++ }) }
func (c *counting) Repaired(what string)         { c.note(func() { c.repairs = append(c.repairs, what) }) }
func (c *counting) UsageRecounted(int)           {}
func (c *counting) Undrawn()                     { c.note(func() { c.undrawn++ }) }

func (c *counting) LinkEmailed(kind domain.LinkEmailKind, state domain.LinkEmailState) {
	c.note(func() { c.emailed = append(c.emailed, string(kind)+" "+string(state)) })
}

func (c *counting) Worked(kind string, failed bool) {
	c.note(func() {
		if c.worked == nil {
			c.worked = map[string]int{}
		}
		c.worked[kind]++
		if failed {
			c.worked[kind+" failed"]++
		}
	})
}

// sortedRepairs are the repairs so far.
func (c *counting) sortedRepairs() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(slices.Values(c.repairs))
}

// reconcile runs n workers to their first reconciliation and stops them.
func (h *harness) reconcile(n int) []string {
	h.Helper()
	observer := &counting{}
	before := h.Count("SELECT count(*) FROM river_job WHERE kind = 'reconciliation' AND state = 'completed'")
	var workers []*worker
	for range n {
		workers = append(workers, h.startWorker(func(c *config) { c.Observer = observer }))
	}
	h.Tx(func(tx *db.Tx) error { return h.inserter.Reconcile(h.Ctx, tx) })
	testkit.Await(h, "reconciliation", func() bool {
		return h.Count(
			"SELECT count(*) FROM river_job WHERE kind = 'reconciliation' AND state IN ('available', 'running', 'scheduled', 'retryable')") == 0 &&
			h.Count("SELECT count(*) FROM river_job WHERE kind = 'reconciliation' AND state = 'completed'") > before
	})
	for _, w := range workers {
		h.OK(w.stop(h.Ctx))
	}
	return observer.sortedRepairs()
}

// ended makes sessions that have ended, with their events.
func (h *harness) ended(url string) (completed, expired, cancelled *domain.Session) {
	h.Helper()
	completed, expired, cancelled = h.completed(url, hooktest.Now().Add(-time.Minute)), h.Session(url,
		hooktest.Now().Add(-31*24*time.Hour)), h.Session(url, hooktest.Now())
	h.Tx(func(tx *db.Tx) error {
		_, err := tx.Raw().ExecContext(h.Ctx, `UPDATE session SET status = 'expired', expires_at = $2 WHERE id = $1`, expired.ID,
			hooktest.Now().Add(-time.Minute))
		h.OK(err)
		_, err = tx.Raw().ExecContext(h.Ctx, `UPDATE session SET status = 'cancelled', cancelled_at = $2 WHERE id = $1`, cancelled.ID,
			hooktest.Now())
		h.OK(err)
		answers, err := h.vault.Statement(h.Ctx, tx, completed.ID)
		h.OK(err)
		h.OK(h.Outbox.SessionEvent(h.Ctx, tx, completed, domain.NewCompletedPayload(completed, answers.Summary()), hooktest.Now()))
		return h.Outbox.SessionEvent(h.Ctx, tx, expired, domain.NewExpiredPayload(expired), hooktest.Now())
	})
	return completed, expired, cancelled
}

func TestReconciliation(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := newHarness(t)
	hook := hooktest.NewReceiver(t, nil)
	completed, expired, cancelled := h.ended(hook.URL)
	quiet, _, _ := h.ended("")
	original := h.Events(completed, domain.SessionCompleted)[0]
	if repairs := h.reconcile(1); len(repairs) != 0 {
		t.Fatalf("nothing is missing, yet repaired %v", repairs)
	}
	for _, statement := range []string{
		`DELETE FROM event WHERE session_id = '` + completed.ID.UUID.String() + `'`,
		`DELETE FROM delivery WHERE session_id = '` + expired.ID.UUID.String() + `'`,
	} {
		_, err := h.DB.Raw().ExecContext(h.Ctx, statement)
		h.OK(err)
	}
	if repairs := h.reconcile(2); !slices.Equal(repairs, []string{"delivery", "event"}) {
		t.Fatalf("repaired %v, want one event and one delivery", repairs)
	}
	if repairs := h.reconcile(1); len(repairs) != 0 {
		t.Errorf("repaired again: %v", repairs)
	}
	again := h.Events(completed, domain.SessionCompleted)
	if len(again) != 1 || again[0].ID == original.ID || again[0].Sequence <= original.Sequence {
		t.Fatalf("the repaired event: %+v", again)
	}
	if got, want := hooktest.Data[domain.CompletedPayload](t, again[0].Body), hooktest.Data[domain.CompletedPayload](t,
		original.Body); got.Summary != want.Summary || got.DurationMinutes != want.DurationMinutes ||
		!got.CompletedAt.Equal(want.CompletedAt.Time) {
		t.Errorf("the repaired event says %+v, the first one %+v", got, want)
	}
	for name, session := range map[string]*domain.Session{"expired": expired, "completed": completed} {
		all, err := h.DB.Deliveries(h.Ctx, session.ID)
		h.OK(err)
		// The workers also make the missing PDF and record its event.
		all = slices.DeleteFunc(all, func(d domain.Delivery) bool { return d.EventType == domain.SessionPDFReady })
		if len(all) != 1 {
			t.Errorf("%s: %d deliveries, want 1", name, len(all))
		}
	}
	if all, err := h.DB.Events(h.Ctx, cancelled.ID); err != nil || len(all) != 0 {
		t.Errorf("a cancelled session has events %v, %v", all, err)
	}
	if all, err := h.DB.Deliveries(h.Ctx, quiet.ID); err != nil || len(all) != 0 {
		t.Errorf("a session that had nowhere to send to has deliveries %v, %v", all, err)
	}
}

// TestReconciliationWaitsForTheSweep: a session past its expiry that the sweep
// couldn't get at isn't passed over.
func TestReconciliationWaitsForTheSweep(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := newHarness(t)
	overdue := h.Session("", hooktest.Now().Add(-31*24*time.Hour))
	expiry := hooktest.Now().Add(-3 * time.Hour).Truncate(time.Millisecond)
	_, err := h.DB.Raw().ExecContext(h.Ctx, `UPDATE session SET expires_at = $2 WHERE id = $1`, overdue.ID, expiry)
	h.OK(err)
	h.Tx(func(tx *db.Tx) error {
		_, err := tx.Raw().ExecContext(h.Ctx, `SELECT 1 FROM session WHERE id = $1 FOR UPDATE`, overdue.ID)
		h.OK(err)
		h.reconcile(1)
		return nil
	})
	if to, err := h.DB.CheckedTo(h.Ctx, domain.Expired); err != nil || to.After(expiry) {
		t.Errorf("checked until %s, %v; a session that expired at %s isn't swept", to, err, expiry)
	}
	if to, err := h.DB.CheckedTo(h.Ctx, domain.Completed); err != nil || time.Since(to) > time.Minute {
		t.Errorf("completed ones checked until %s, %v", to, err)
	}
	h.start(sweeping)
	testkit.Await(h, "reconciliation after the sweep", func() bool {
		if h.Count("SELECT count(*) FROM river_job WHERE kind = 'reconciliation' AND finalized_at IS NULL") == 0 {
			h.Tx(func(tx *db.Tx) error { return h.inserter.Reconcile(h.Ctx, tx) })
		}
		to, err := h.DB.CheckedTo(h.Ctx, domain.Expired)
		h.OK(err)
		return time.Since(to) < time.Minute
	})
}

func TestObserversCountEvents(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	hook := hooktest.NewReceiver(t, nil)
	observer := &counting{}
	h.Outbox = outbox.New(h.inserter, observer)
	h.start(func(c *config) { c.Observer, c.observer = observer, observer })
	s := h.Session(hook.URL, hooktest.Now())
	h.Emit(s, 1)
	h.Delivery(s, domain.DeliveryDelivered)
	testkit.Await(h, "all counts", func() bool {
		observer.mu.Lock()
		defer observer.mu.Unlock()
		return slices.Equal(observer.events, []domain.EventType{domain.SessionSectionCompleted}) &&
			slices.Equal(observer.attempts, []string{""}) &&
			observer.first == 1 && observer.arrived == 1 && observer.worked["webhook_wake"] == 1
	})
}
