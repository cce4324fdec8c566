package service_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"candor/internal/billing"
	"candor/internal/domain"
	"candor/internal/testkit/servicetest"
)

// again cancels the subscription at once and starts another.
func (b *biller) again(plan string) {
	b.Helper()
	b.ok(b.Billing.Cancel(b.ctx, b.id, someone, true, "again"))
	b.ok(b.Billing.Subscribe(b.ctx, b.id, someone, plan))
}

// Cancelling and subscribing anew doesn't bring the included sessions back
// before the month is over that was interrupted first.
func TestIncludedSessionsCannotBeReset(t *testing.T) {
	t.Parallel()
	b := newBiller(t)
	total := 0
	for range 5 {
		b.use(10)
		b.again("starter")
	}
	var carried []int // as they are told on paper, the newest first
	for _, i := range b.invoices() {
		total += int(i.Total)
		carried = append(carried, i.Lines.Carried())
	}
	if !slices.Equal(carried, []int{40, 30, 20, 10, 0}) {
		t.Errorf("the invoices tell of %d carried sessions", carried)
	}
	if total != 40*1000 {
		t.Errorf("50 sessions in a month cost %d cents, want those of 40", total)
	}
	s, err := b.Billing.Subscription(b.ctx, b.id)
	if b.ok(err); s.Carried != 50 || s.Used != 0 || *s.Remaining != 0 {
		t.Errorf("%d carried, %d used, %d remaining; want 50, 0, 0", s.Carried, s.Used, *s.Remaining)
	}
	b.balanced()

	// The second period of the last one has all of them again.
	b.to(start.AddDate(0, 1, 0).Add(time.Minute))
	if s, err = b.Billing.Subscription(b.ctx, b.id); err != nil || s.Carried != 0 || *s.Remaining != 10 {
		t.Errorf("in the second period: %d carried, %d remaining, %v", s.Carried, *s.Remaining, err)
	}
}

// What is carried is forgotten once the month is over that was interrupted
// first, though later periods were interrupted, too.
func TestCarriedSessionsAreForgotten(t *testing.T) {
	t.Parallel()
	end := start.AddDate(0, 1, 0)
	for name, test := range map[string]struct {
		again time.Time
		want  int
	}{"just before": {end.Add(-time.Millisecond), 12}, "at the end": {end, 0}, "a week later": {end.AddDate(0, 0, 7), 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBiller(t)
			b.use(7)
			b.to(start.AddDate(0, 0, 20))
			b.again("starter")
			b.use(5)
			b.to(test.again)
			b.again("starter")
			if s, err := b.Billing.Subscription(b.ctx, b.id); err != nil || s.Carried != test.want {
				t.Errorf("%d carried, %v; want %d", s.Carried, err, test.want)
			}
			if i := b.last(); i.Total != 2000 {
				t.Errorf("the second subscription cost %s, want $20.00", i.Total)
			}
		})
	}
}

// A step up counts what is carried as it does what was used.
func TestCarriedSessionsAndAStepUp(t *testing.T) {
	t.Parallel()
	b := newBiller(t)
	b.use(9)
	b.pass(time.Hour)
	b.again("starter")
	b.ok(b.runner.Run(b.ctx, b.Clock.Now()))
	b.toldOf("80") // of the new one: what counts against it, and isn't said twice
	b.use(3)       // two of them beyond
	b.ok(b.Billing.ChangePlan(b.ctx, b.id, someone, "professional"))
	b.use(90) // two of them beyond
	s, err := b.Billing.Subscription(b.ctx, b.id)
	if b.ok(err); s.Lines.Total() != 3000 || s.Used != 93 || *s.Remaining != 0 {
		t.Errorf("%s for %d, %d remaining; want $30.00 for 93", s.Lines.Total(), s.Used, *s.Remaining)
	}
	b.to(start.AddDate(0, 1, 1))
	if i := b.last(); i.Total != 3000 || i.SessionsUsed != 93 {
		t.Errorf("invoice of %s for %d", i.Total, i.SessionsUsed)
	}
	b.balanced()
}

// Only operators move an account to a plan that is by agreement.
func TestEnterpriseIsByAgreement(t *testing.T) {
	t.Parallel()
	b := newBiller(t)
	b.code("changed by staff", b.Billing.ChangePlan(b.ctx, b.id, jo, "enterprise"), domain.CodeValidation)
	b.ok(b.Billing.ChangePlan(b.ctx, b.id, someone, "enterprise"))
	b.ok(b.Billing.ChangePlan(b.ctx, b.id, jo, "starter"))
	b.ok(b.Billing.ChangePlan(b.ctx, b.id, jo, "enterprise")) // stays, as it was agreed on
	b.ok(b.Billing.ChangePlan(b.ctx, b.id, jo, "starter"))
	// The period is over, though nobody has closed it.
	b.offset.Store(int64(start.AddDate(0, 1, 0).Sub(start)))
	b.code("taken back too late", b.Billing.ChangePlan(b.ctx, b.id, jo, "enterprise"), domain.CodeValidation)
	b.ok(b.Billing.Cancel(b.ctx, b.id, jo, true, "the end"))
	b.pass(time.Second)
	b.code("subscribed by staff", b.Billing.Subscribe(b.ctx, b.id, jo, "enterprise"), domain.CodeValidation)
	b.ok(b.Billing.Subscribe(b.ctx, b.id, jo, "starter"))
}

// slow is the biller's service on a server whose clock is behind.
func (b *biller) slow(by time.Duration) *biller {
	c := b.Config
	c.Clock = func() time.Time { return b.Clock.Now().Add(-by) }
	return &biller{bench: &bench{TB: b.TB, Services: servicetest.New(c), ctx: b.ctx, account: b.account}, runner: b.runner, bank: b.bank, id: b.id}
}

// An ended subscription isn't revived, whoever is first and whatever the time
// is elsewhere.
func TestCancelledNowIsNotReactivated(t *testing.T) {
	t.Parallel()
	b := newBiller(t)
	for round := range 30 {
		b.pass(time.Minute)
		b.ok(b.Billing.Cancel(b.ctx, b.id, someone, false, "at the end"))
		other := b.slow(time.Duration(round%2) * time.Second)
		done := race(
			func() error { return b.Billing.Cancel(b.ctx, b.id, someone, true, "now") },
			func() error { return other.Billing.Reactivate(b.ctx, b.id, someone) },
		)
		b.ok(done[0])
		if err := other.Billing.Reactivate(b.ctx, b.id, someone); !errors.Is(err, &domain.Error{Code: domain.CodeSubscriptionNotFound}) {
			t.Fatalf("round %d: reactivated after its end: %v", round, err)
		}
		if _, err := other.Billing.Subscription(b.ctx, b.id); !errors.Is(err, &domain.Error{Code: domain.CodeSubscriptionNotFound}) {
			t.Fatalf("round %d: it goes on after its end: %v", round, err)
		}
		if n := b.count(`SELECT count(*) FROM subscription WHERE effective_at IS NULL OR closes_at IS NOT NULL`); n != 0 {
			t.Fatalf("round %d: %d subscriptions are open", round, n)
		}
		b.ok(b.Billing.Subscribe(b.ctx, b.id, someone, "starter"))
		b.use(1)
	}
	b.balanced()
}

// A change that waits for the lock sees the time after it: a subscription that
// ended meanwhile has ended.
func TestTheClockIsReadUnderTheLock(t *testing.T) {
	t.Parallel()
	b := newBiller(t)
	b.ok(b.Billing.Cancel(b.ctx, b.id, someone, false, "at the end"))
	end := start.AddDate(0, 1, 0)
	b.offset.Store(int64(end.Add(-time.Second).Sub(start)))
	tx, err := b.DB.Raw().BeginTxx(b.ctx, nil)
	b.ok(err)
	_, err = tx.ExecContext(b.ctx, `SELECT 1 FROM subscription FOR UPDATE`)
	b.ok(err)
	done := make(chan error, 1)
	go func() { done <- b.Billing.Reactivate(b.ctx, b.id, someone) }()
	deadline := time.Now().Add(10 * time.Second)
	for b.count(`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) == 0 {
		if time.Now().After(deadline) {
			t.Fatal("nobody waits for the lock")
		}
	}
	b.pass(time.Second)
	b.ok(tx.Rollback())
	b.code("reactivated at its end", <-done, domain.CodeSubscriptionNotFound)
}

// However far behind the clock is of the server that cancels or subscribes, each
// session is in one period, and each period ends after its sessions.
func TestCancelledByASlowClock(t *testing.T) {
	t.Parallel()
	for _, behind := range []time.Duration{2 * time.Second, 10 * time.Minute} {
		t.Run(behind.String(), func(t *testing.T) {
			t.Parallel()
			b := newBiller(t)
			other := b.slow(behind)
			b.use(2)
			b.ok(other.Billing.Cancel(b.ctx, b.id, someone, true, "before it started"))
			b.ok(other.Billing.Subscribe(b.ctx, b.id, someone, "starter"))
			other.use(3)
			b.ok(other.Billing.Cancel(b.ctx, b.id, someone, true, "once more"))
			b.ok(other.Billing.Subscribe(b.ctx, b.id, someone, "starter"))
			if s, err := other.Billing.Subscription(b.ctx, b.id); err != nil || s.Carried != 5 || s.Used != 0 {
				t.Errorf("%+v, %v; want 5 carried", s, err)
			}
			b.pass(time.Hour)
			b.use(4)
			b.ok(other.Billing.Cancel(b.ctx, b.id, someone, true, "before its last session"))
			b.ok(b.Billing.Subscribe(b.ctx, b.id, someone, "starter"))

			// Just after a period's end, which the slow one hasn't seen.
			s, err := b.Billing.Subscription(b.ctx, b.id)
			b.ok(err)
			b.offset.Store(int64(s.Period.End.Add(time.Second).Sub(start)))
			b.use(1)
			b.ok(other.Billing.Cancel(b.ctx, b.id, someone, false, "at the end"))
			b.ok(b.Billing.Reactivate(b.ctx, b.id, someone))
			b.to(s.Period.End.Add(billing.Grace))
			b.ok(other.Billing.Cancel(b.ctx, b.id, someone, true, "before the latest close"))
			b.balanced()
			sum := 0
			for _, i := range b.invoices() {
				sum += i.SessionsUsed
				if i.PeriodEnd.Before(i.PeriodStart) || i.SessionsUsed > 0 && !i.PeriodEnd.After(i.PeriodStart) {
					t.Errorf("%d sessions from %s to %s", i.SessionsUsed, i.PeriodStart, i.PeriodEnd)
				}
			}
			if sum != 10 {
				t.Errorf("%d sessions are invoiced, want 10\n%s", sum, b.ledger())
			}
		})
	}
}
