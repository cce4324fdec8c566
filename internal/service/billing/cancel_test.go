package billing_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"candor/internal/billing"
	"candor/internal/domain"
	"candor/internal/testkit"
	"candor/internal/testkit/servicetest"
)

// again cancels the subscription at once and starts another.
func (b *biller) again(plan string) {
	b.Helper()
	b.OK(b.Billing.Cancel(b.Ctx, b.id, servicetest.Someone, true, "again"))
	b.OK(b.Billing.Subscribe(b.Ctx, b.id, servicetest.Someone, plan))
}

// Cancelling and subscribing again doesn't bring the included sessions back
// before the month is over that was interrupted first.
func TestIncludedSessionsCannotBeReset(t *testing.T) {
	t.Parallel()
	b := newBiller(t)
	total := 0
	for range 5 {
		b.use(10)
		b.again("starter")
	}
	var carried []int // as the invoices show them, the newest first
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
	s, err := b.Billing.Subscription(b.Ctx, b.id)
	if b.OK(err); s.Carried != 50 || s.Used != 0 || *s.Remaining != 0 {
		t.Errorf("%d carried, %d used, %d remaining; want 50, 0, 0", s.Carried, s.Used, *s.Remaining)
	}
	b.balanced()

	// The second period of the last one has all of them again.
	b.to(servicetest.Start.AddDate(0, 1, 0).Add(time.Minute))
	if s, err = b.Billing.Subscription(b.Ctx, b.id); err != nil || s.Carried != 0 || *s.Remaining != 10 {
		t.Errorf("in the second period: %d carried, %d remaining, %v", s.Carried, *s.Remaining, err)
	}
}

// What is carried is forgotten once the month is over that was interrupted
// first, though later periods were interrupted, too.
func TestCarriedSessionsAreForgotten(t *testing.T) {
	t.Parallel()
	end := servicetest.Start.AddDate(0, 1, 0)
	for name, test := range map[string]struct {
		again time.Time
		want  int
	}{"just before": {end.Add(-time.Millisecond), 12}, "at the end": {end, 0}, "a week later": {end.AddDate(0, 0, 7), 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBiller(t)
			b.use(7)
			b.to(servicetest.Start.AddDate(0, 0, 20))
			b.again("starter")
			b.use(5)
			b.to(test.again)
			b.again("starter")
			if s, err := b.Billing.Subscription(b.Ctx, b.id); err != nil || s.Carried != test.want {
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
	b.Pass(time.Hour)
	b.again("starter")
	b.OK(b.runner.Run(b.Ctx, b.Clock.Now()))
	b.sharesSent("80") // of the new one: what counts against it, and isn't said twice
	b.use(3)           // two of them beyond
	b.OK(b.Billing.ChangePlan(b.Ctx, b.id, servicetest.Someone, "professional"))
	b.use(90) // two of them beyond
	s, err := b.Billing.Subscription(b.Ctx, b.id)
	if b.OK(err); s.Lines.Total() != 3000 || s.Used != 93 || *s.Remaining != 0 {
		t.Errorf("%s for %d, %d remaining; want $30.00 for 93", s.Lines.Total(), s.Used, *s.Remaining)
	}
	b.to(servicetest.Start.AddDate(0, 1, 1))
	if i := b.last(); i.Total != 3000 || i.SessionsUsed != 93 {
		t.Errorf("invoice of %s for %d", i.Total, i.SessionsUsed)
	}
	b.balanced()
}

// Only operators move an account to a plan that is by agreement.
func TestEnterpriseIsByAgreement(t *testing.T) {
	t.Parallel()
	b := newBiller(t)
	b.Code("changed by staff", b.Billing.ChangePlan(b.Ctx, b.id, jo, "enterprise"), domain.CodeValidation)
	b.OK(b.Billing.ChangePlan(b.Ctx, b.id, servicetest.Someone, "enterprise"))
	b.OK(b.Billing.ChangePlan(b.Ctx, b.id, jo, "starter"))
	b.OK(b.Billing.ChangePlan(b.Ctx, b.id, jo, "enterprise")) // stays, as it was agreed on
	b.OK(b.Billing.ChangePlan(b.Ctx, b.id, jo, "starter"))
	// The period is over, but not closed.
	b.Offset.Store(int64(servicetest.Start.AddDate(0, 1, 0).Sub(servicetest.Start)))
	b.Code("taken back too late", b.Billing.ChangePlan(b.Ctx, b.id, jo, "enterprise"), domain.CodeValidation)
	b.OK(b.Billing.Cancel(b.Ctx, b.id, jo, true, "the end"))
	b.Pass(time.Second)
	b.Code("subscribed by staff", b.Billing.Subscribe(b.Ctx, b.id, jo, "enterprise"), domain.CodeValidation)
	b.OK(b.Billing.Subscribe(b.Ctx, b.id, jo, "starter"))
}

// jo is a staff user.
var jo = domain.Actor{Kind: domain.ActorStaff, ID: "staff_1", Name: "jo@lender.example"}

// slow is the biller's service on a server whose clock is behind.
func (b *biller) slow(by time.Duration) *biller {
	c := b.Config
	c.Clock = func() time.Time { return b.Clock.Now().Add(-by) }
	return &biller{Fixture: b.Using(servicetest.New(c)), runner: b.runner, bank: b.bank, id: b.id}
}

// An ended subscription isn't revived, whichever request is first and whatever the time
// is elsewhere.
func TestCancelledNowIsNotReactivated(t *testing.T) {
	t.Parallel()
	b := newBiller(t)
	for round := range 30 {
		b.Pass(time.Minute)
		b.OK(b.Billing.Cancel(b.Ctx, b.id, servicetest.Someone, false, "at the end"))
		other := b.slow(time.Duration(round%2) * time.Second)
		done := servicetest.Race(
			func() error { return b.Billing.Cancel(b.Ctx, b.id, servicetest.Someone, true, "now") },
			func() error { return other.Billing.Reactivate(b.Ctx, b.id, servicetest.Someone) },
		)
		b.OK(done[0])
		if err := other.Billing.Reactivate(b.Ctx, b.id, servicetest.Someone); !errors.Is(err,
			&domain.Error{Code: domain.CodeSubscriptionNotFound}) {
			t.Fatalf("round %d: reactivated after its end: %v", round, err)
		}
		if _, err := other.Billing.Subscription(b.Ctx, b.id); !errors.Is(err, &domain.Error{Code: domain.CodeSubscriptionNotFound}) {
			t.Fatalf("round %d: it continues after its end: %v", round, err)
		}
		if n := b.Count(`SELECT count(*) FROM subscription WHERE effective_at IS NULL OR closes_at IS NOT NULL`); n != 0 {
			t.Fatalf("round %d: %d subscriptions are open", round, n)
		}
		b.OK(b.Billing.Subscribe(b.Ctx, b.id, servicetest.Someone, "starter"))
		b.use(1)
	}
	b.balanced()
}

// A change that waits for the lock sees the time after it: a subscription that
// ended before it has ended.
func TestTheClockIsReadUnderTheLock(t *testing.T) {
	t.Parallel()
	b := newBiller(t)
	b.OK(b.Billing.Cancel(b.Ctx, b.id, servicetest.Someone, false, "at the end"))
	end := servicetest.Start.AddDate(0, 1, 0)
	b.Offset.Store(int64(end.Add(-time.Second).Sub(servicetest.Start)))
	tx, err := b.DB.Raw().BeginTxx(b.Ctx, nil)
	b.OK(err)
	_, err = tx.ExecContext(b.Ctx, `SELECT 1 FROM subscription FOR UPDATE`)
	b.OK(err)
	done := make(chan error, 1)
	go func() { done <- b.Billing.Reactivate(b.Ctx, b.id, servicetest.Someone) }()
	testkit.Await(t, "no request waits for the lock", func() bool {
		return b.Count(`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) > 0
	})
	b.Pass(time.Second)
	b.OK(tx.Rollback())
	b.Code("reactivated at its end", <-done, domain.CodeSubscriptionNotFound)
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
			b.OK(other.Billing.Cancel(b.Ctx, b.id, servicetest.Someone, true, "before it started"))
			b.OK(other.Billing.Subscribe(b.Ctx, b.id, servicetest.Someone, "starter"))
			other.use(3)
			b.OK(other.Billing.Cancel(b.Ctx, b.id, servicetest.Someone, true, "once more"))
			b.OK(other.Billing.Subscribe(b.Ctx, b.id, servicetest.Someone, "starter"))
			if s, err := other.Billing.Subscription(b.Ctx, b.id); err != nil || s.Carried != 5 || s.Used != 0 {
				t.Errorf("%+v, %v; want 5 carried", s, err)
			}
			b.Pass(time.Hour)
			b.use(4)
			b.OK(other.Billing.Cancel(b.Ctx, b.id, servicetest.Someone, true, "before its last session"))
			b.OK(b.Billing.Subscribe(b.Ctx, b.id, servicetest.Someone, "starter"))

			// Just after a period's end, which the slow one hasn't seen.
			s, err := b.Billing.Subscription(b.Ctx, b.id)
			b.OK(err)
			b.Offset.Store(int64(s.Period.End.Add(time.Second).Sub(servicetest.Start)))
			b.use(1)
			b.OK(other.Billing.Cancel(b.Ctx, b.id, servicetest.Someone, false, "at the end"))
			b.OK(b.Billing.Reactivate(b.Ctx, b.id, servicetest.Someone))
			b.to(s.Period.End.Add(billing.Grace))
			b.OK(other.Billing.Cancel(b.Ctx, b.id, servicetest.Someone, true, "before the latest close"))
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
