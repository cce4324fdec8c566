package service_test

import (
	"strings"
	"sync"
	"testing"
	"time"
)

// TestUsageNotices tells an account once of each threshold.
func TestUsageNotices(t *testing.T) {
	t.Parallel()
	b := newBiller(t)
	for _, step := range []struct {
		use  int
		want string
	}{{7, ""}, {1, "80"}, {1, "80"}, {1, "80 100"}, {2, "80 100"}, {1, "80 100 125"}, {8, "80 100 125 200"}} {
		b.use(step.use)
		var work sync.WaitGroup
		for range 3 {
			work.Go(func() {
				if err := b.runner.Run(b.ctx, b.Clock.Now()); err != nil {
					t.Error(err)
				}
			})
		}
		work.Wait()
		b.toldOf(step.want)
	}
	b.to(start.AddDate(0, 1, 0).Add(time.Minute))
	b.use(8)
	b.to(start.AddDate(0, 1, 1))
	b.toldOf("80 100 125 200 80")
}

// After a step up, the thresholds are those of the new plan, and all are still
// to come.
func TestUsageNoticesAfterAStepUp(t *testing.T) {
	t.Parallel()
	b := newBiller(t)
	run := func() {
		b.Helper()
		for range 2 {
			b.ok(b.runner.Run(b.ctx, b.Clock.Now()))
		}
	}
	b.use(13)
	run()
	b.toldOf("125")
	b.ok(b.Billing.ChangePlan(b.ctx, b.id, someone, "professional"))
	run()
	b.toldOf("125")
	for _, step := range []struct {
		use  int
		want string
	}{{66, "125"}, {1, "125 80"}, {19, "125 80"}, {1, "125 80 100"}, {24, "125 80 100"}, {1, "125 80 100 125"}, {1, "125 80 100 125"}} {
		b.use(step.use)
		run()
		b.toldOf(step.want)
	}
}

// toldOf reports letters that aren't about these shares of the plan, in percent.
func (b *biller) toldOf(want string) {
	b.Helper()
	var told []string
	b.ok(b.DB.Raw().SelectContext(b.ctx, &told, `SELECT args->>'percent' FROM river_job WHERE kind = 'billing_letter' AND args ? 'percent' ORDER BY id`))
	if got := strings.Join(told, " "); got != want {
		b.Errorf("told of %q, want %q", got, want)
	}
}

// TestDriftIsFound counts anew what was counted wrongly.
func TestDriftIsFound(t *testing.T) {
	t.Parallel()
	b := newBiller(t)
	b.use(3)
	if drifts, err := b.Billing.UsageDrifts(b.ctx); err != nil || len(drifts) != 0 {
		t.Errorf("counted rightly: %+v, %v", drifts, err)
	}
	_, err := b.DB.Raw().ExecContext(b.ctx, `DELETE FROM session WHERE id = (SELECT id FROM session WHERE livemode LIMIT 1)`)
	b.ok(err)
	drifts, err := b.Billing.UsageDrifts(b.ctx)
	b.ok(err)
	if len(drifts) != 1 || drifts[0].AccountID != b.id || drifts[0].Counted != 3 || drifts[0].Sessions != 2 {
		t.Errorf("drifts %+v, want 3 counted and 2 sessions", drifts)
	}
}

// What goes wrong after the last recount of a period is found on its invoice,
// for three days.
func TestDriftOfAnInvoiceIsFound(t *testing.T) {
	t.Parallel()
	b := newBiller(t)
	b.use(3)
	end := start.AddDate(0, 1, 0)
	b.to(end.Add(time.Minute))
	_, err := b.DB.Raw().ExecContext(b.ctx, `UPDATE session SET erased_at = $1 WHERE id = (SELECT id FROM session WHERE livemode LIMIT 1)`, end)
	b.ok(err)
	if drifts, err := b.Billing.UsageDrifts(b.ctx); err != nil || len(drifts) != 0 {
		t.Errorf("an erased session: %+v, %v; want it to count", drifts, err)
	}
	_, err = b.DB.Raw().ExecContext(b.ctx, `DELETE FROM session WHERE id = (SELECT id FROM session WHERE livemode LIMIT 1)`)
	b.ok(err)
	for _, day := range []struct{ after, want int }{{0, 1}, {2, 1}, {3, 0}} {
		b.offset.Store(int64(end.AddDate(0, 0, day.after).Add(2 * time.Minute).Sub(start)))
		drifts, err := b.Billing.UsageDrifts(b.ctx)
		b.ok(err)
		if len(drifts) != day.want || day.want > 0 && (drifts[0].Counted != 3 || drifts[0].Sessions != 2 || !drifts[0].PeriodStart.Equal(start)) {
			t.Errorf("%d days later: drifts %+v, want %d", day.after, drifts, day.want)
		}
	}
}
