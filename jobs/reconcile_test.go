package jobs_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/jobs"
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

// told are the repairs so far, sorted.
func (c *counting) told() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(slices.Values(c.repairs))
}

// reconcile runs n workers to their first reconciliation and stops them.
func (b *bench) reconcile(n int) []string {
	b.Helper()
	observer := &counting{}
	before := b.count("SELECT count(*) FROM river_job WHERE kind = 'reconciliation' AND state = 'completed'")
	var workers []*jobs.Worker
	for range n {
		w := b.worker(func(c *jobs.Config) { c.Observer = observer })
		b.ok(w.Start(b.ctx))
		workers = append(workers, w)
	}
	b.tx(func(tx *db.Tx) error { return b.enqueuer.Reconcile(b.ctx, tx) })
	b.eventually("reconciliation", func() bool {
		return b.count("SELECT count(*) FROM river_job WHERE kind = 'reconciliation' AND state IN ('available', 'running', 'scheduled', 'retryable')") == 0 &&
			b.count("SELECT count(*) FROM river_job WHERE kind = 'reconciliation' AND state = 'completed'") > before
	})
	for _, w := range workers {
		b.ok(w.Stop(b.ctx))
	}
	return observer.told()
}

// ended makes sessions that have come to their ends with all that follows.
func (b *bench) ended(url string) (completed, expired, cancelled *domain.Session) {
	b.Helper()
	completed, expired, cancelled = b.completed(url, now().Add(-time.Minute)), b.session(url, now().Add(-31*24*time.Hour)), b.session(url, now())
	b.tx(func(tx *db.Tx) error {
		_, err := tx.Raw().ExecContext(b.ctx, `UPDATE session SET status = 'expired', expires_at = $2 WHERE id = $1`, expired.ID, now().Add(-time.Minute))
		b.ok(err)
		_, err = tx.Raw().ExecContext(b.ctx, `UPDATE session SET status = 'cancelled', cancelled_at = $2 WHERE id = $1`, cancelled.ID, now())
		b.ok(err)
		answers, err := b.vault.Statement(b.ctx, tx, completed.ID)
		b.ok(err)
		b.ok(b.enqueuer.SessionEvent(b.ctx, tx, completed, domain.NewCompletedPayload(completed, answers.Summary()), now()))
		return b.enqueuer.SessionEvent(b.ctx, tx, expired, domain.NewExpiredPayload(expired), now())
	})
	return completed, expired, cancelled
}

func TestReconciliation(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	hook := newReceiver(t, nil)
	completed, expired, cancelled := b.ended(hook.URL)
	quiet, _, _ := b.ended("")
	original := b.events(completed, domain.SessionCompleted)[0]
	if repairs := b.reconcile(1); len(repairs) != 0 {
		t.Fatalf("nothing is missing, yet repaired %v", repairs)
	}
	for _, statement := range []string{
		`DELETE FROM event WHERE session_id = '` + completed.ID.UUID.String() + `'`,
		`DELETE FROM delivery WHERE session_id = '` + expired.ID.UUID.String() + `'`,
	} {
		_, err := b.db.Raw().ExecContext(b.ctx, statement)
		b.ok(err)
	}
	if repairs := b.reconcile(2); !slices.Equal(repairs, []string{"delivery", "event"}) {
		t.Fatalf("repaired %v, want one event and one delivery", repairs)
	}
	if repairs := b.reconcile(1); len(repairs) != 0 {
		t.Errorf("repaired again: %v", repairs)
	}
	again := b.events(completed, domain.SessionCompleted)
	if len(again) != 1 || again[0].ID == original.ID || again[0].Sequence <= original.Sequence {
		t.Fatalf("the repaired event: %+v", again)
	}
	if got, want := data[domain.CompletedPayload](t, again[0].Body), data[domain.CompletedPayload](t, original.Body); got.Summary != want.Summary || got.DurationMinutes != want.DurationMinutes || !got.CompletedAt.Equal(want.CompletedAt.Time) {
		t.Errorf("the repaired event says %+v, the first one %+v", got, want)
	}
	for name, session := range map[string]*domain.Session{"expired": expired, "completed": completed} {
		all, err := b.db.Deliveries(b.ctx, session.ID)
		b.ok(err)
		// The workers also make the PDF that the session lacks, and tell of it.
		all = slices.DeleteFunc(all, func(d domain.Delivery) bool { return d.EventType == domain.SessionPDFReady })
		if len(all) != 1 {
			t.Errorf("%s: %d deliveries, want 1", name, len(all))
		}
	}
	if all, err := b.db.Events(b.ctx, cancelled.ID); err != nil || len(all) != 0 {
		t.Errorf("a cancelled session has events %v, %v", all, err)
	}
	if all, err := b.db.Deliveries(b.ctx, quiet.ID); err != nil || len(all) != 0 {
		t.Errorf("a session that had nowhere to send to has deliveries %v, %v", all, err)
	}
}

// TestReconciliationWaitsForTheSweep: a session past its expiry that the sweep
// couldn't get at isn't passed over.
func TestReconciliationWaitsForTheSweep(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	overdue := b.session("", now().Add(-31*24*time.Hour))
	expiry := now().Add(-3 * time.Hour).Truncate(time.Millisecond)
	_, err := b.db.Raw().ExecContext(b.ctx, `UPDATE session SET expires_at = $2 WHERE id = $1`, overdue.ID, expiry)
	b.ok(err)
	b.tx(func(tx *db.Tx) error {
		_, err := tx.Raw().ExecContext(b.ctx, `SELECT 1 FROM session WHERE id = $1 FOR UPDATE`, overdue.ID)
		b.ok(err)
		b.reconcile(1)
		return nil
	})
	if to, err := b.db.CheckedTo(b.ctx, domain.Expired); err != nil || to.After(expiry) {
		t.Errorf("checked until %s, %v; a session that expired at %s isn't swept", to, err, expiry)
	}
	if to, err := b.db.CheckedTo(b.ctx, domain.Completed); err != nil || time.Since(to) > time.Minute {
		t.Errorf("completed ones checked until %s, %v", to, err)
	}
	b.start(sweeping)
	b.eventually("reconciliation after the sweep", func() bool {
		if b.count("SELECT count(*) FROM river_job WHERE kind = 'reconciliation' AND finalized_at IS NULL") == 0 {
			b.tx(func(tx *db.Tx) error { return b.enqueuer.Reconcile(b.ctx, tx) })
		}
		to, err := b.db.CheckedTo(b.ctx, domain.Expired)
		b.ok(err)
		return time.Since(to) < time.Minute
	})
}

func TestObserverHearsOfEvents(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	hook := newReceiver(t, nil)
	observer := &counting{}
	var err error
	b.enqueuer, err = jobs.NewEnqueuer(b.db, discard, observer)
	b.ok(err)
	b.start(func(c *jobs.Config) { c.Observer = observer })
	s := b.session(hook.URL, now())
	b.emit(s, 1)
	b.delivery(s, domain.DeliveryDelivered)
	b.eventually("all is told", func() bool {
		observer.mu.Lock()
		defer observer.mu.Unlock()
		return slices.Equal(observer.events, []domain.EventType{domain.SessionSectionCompleted}) && slices.Equal(observer.attempts, []string{""}) &&
			observer.first == 1 && observer.arrived == 1 && observer.worked["webhook_wake"] == 1
	})
}
