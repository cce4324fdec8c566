package billing_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"candor/internal/testkit/servicetest"
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
				if err := b.runner.Run(b.Ctx, b.Clock.Now()); err != nil {
					t.Error(err)
				}
			})
		}
		work.Wait()
		b.sharesSent(step.want)
	}
	b.to(servicetest.Start.AddDate(0, 1, 0).Add(time.Minute))
	b.use(8)
	b.to(servicetest.Start.AddDate(0, 1, 1))
	b.sharesSent("80 100 125 200 80")
}

// After a step up, the thresholds are those of the new plan, and all are still
// to come.
func TestUsageNoticesAfterAStepUp(t *testing.T) {
	t.Parallel()
	b := newBiller(t)
	run := func() {
		b.Helper()
		for range 2 {
			b.OK(b.runner.Run(b.Ctx, b.Clock.Now()))
		}
	}
	b.use(13)
	run()
	b.sharesSent("125")
	b.OK(b.Billing.ChangePlan(b.Ctx, b.id, servicetest.Someone, "professional"))
	run()
	b.sharesSent("125")
	for _, step := range []struct {
		use  int
		want string
	}{{66, "125"}, {1, "125 80"}, {19, "125 80"}, {1, "125 80 100"}, {24, "125 80 100"}, {1, "125 80 100 125"},
		{1, "125 80 100 125"}} {
		b.use(step.use)
		run()
		b.sharesSent(step.want)
	}
}

// sharesSent reports emails that aren't about these shares of the plan, in percent.
func (b *biller) sharesSent(want string) {
	b.Helper()
	var sent []string
	b.OK(b.DB.Raw().SelectContext(b.Ctx, &sent,
		`SELECT args->>'percent' FROM river_job WHERE kind = 'billing_letter' AND args ? 'percent' ORDER BY id`))
	if got := strings.Join(sent, " "); got != want {
		b.Errorf("sent %q, want %q", got, want)
	}
}

// TestDriftIsFound counts again what was counted wrongly.
func TestDriftIsFound(t *testing.T) {
	t.Parallel()
	b := newBiller(t)
	b.use(3)
	if drifts, err := b.DB.UsageDrifts(b.Ctx, b.Clock.Now()); err != nil || len(drifts) != 0 {
		t.Errorf("counted rightly: %+v, %v", drifts, err)
	}
	_, err := b.DB.Raw().ExecContext(b.Ctx, `DELETE FROM session WHERE id = (SELECT id FROM session WHERE livemode LIMIT 1)`)
	b.OK(err)
	drifts, err := b.DB.UsageDrifts(b.Ctx, b.Clock.Now())
	b.OK(err)
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
	end := servicetest.Start.AddDate(0, 1, 0)
	b.to(end.Add(time.Minute))
	_, err := b.DB.Raw().ExecContext(b.Ctx,
		`UPDATE session SET erased_at = $1 WHERE id = (SELECT id FROM session WHERE livemode LIMIT 1)`, end)
	b.OK(err)
	if drifts, err := b.DB.UsageDrifts(b.Ctx, b.Clock.Now()); err != nil || len(drifts) != 0 {
		t.Errorf("an erased session: %+v, %v; want it to count", drifts, err)
	}
	_, err = b.DB.Raw().ExecContext(b.Ctx, `DELETE FROM session WHERE id = (SELECT id FROM session WHERE livemode LIMIT 1)`)
	b.OK(err)
	for _, day := range []struct{ after, want int }{{0, 1}, {2, 1}, {3, 0}} {
		b.Offset.Store(int64(end.AddDate(0, 0, day.after).Add(2 * time.Minute).Sub(servicetest.Start)))
		drifts, err := b.DB.UsageDrifts(b.Ctx, b.Clock.Now())
		b.OK(err)
		if len(drifts) != day.want || day.want > 0 && (drifts[0].Counted != 3 || drifts[0].Sessions != 2 ||
			!drifts[0].PeriodStart.Equal(servicetest.Start)) {
			t.Errorf("%d days later: drifts %+v, want %d", day.after, drifts, day.want)
		}
	}
}
