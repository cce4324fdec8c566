package billing_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"candor/internal/billing"
	"candor/internal/domain"
	"candor/internal/testkit/servicetest"
)

// naive is an account's own reckoning of what it pays: each session is priced
// when it is created.
type naive struct {
	at         time.Time
	subscribed bool
	cancelled  bool // at the period's end
	plan, next string
	anchor     time.Time // when the subscription started
	start, end time.Time // of the period
	used, owed int       // in the period
	carried    int       // counts against what is included in the period
	until      time.Time // when the period that was interrupted first would have ended
	want       []int     // cents by invoice
}

var (
	planIncluded = map[string]int{"starter": 10, "professional": 100, "enterprise": 1 << 30}
	planPrice    = map[string]int{"starter": 1000, "professional": 500}
	planRank     = map[string]int{"starter": 0, "professional": 1, "enterprise": 2}
)

func (n *naive) subscribe(plan string) {
	if !n.until.After(n.at) {
		n.carried, n.until = 0, time.Time{}
	}
	n.subscribed, n.cancelled, n.plan, n.next, n.anchor, n.used, n.owed = true, false, plan, "", n.at, 0, 0
	n.start, n.end = n.at, n.periodEnd()
}

func (n *naive) periodEnd() time.Time {
	return (&domain.Subscription{StartedAt: n.anchor}).PeriodAt(n.at).End
}

// price is what so many further sessions come to.
func (n *naive) price(sessions int) (cents int) {
	for i := range sessions {
		if n.carried+n.used+i >= planIncluded[n.plan] {
			cents += planPrice[n.plan]
		}
	}
	return cents
}

func (n *naive) use() {
	n.owed += n.price(1)
	n.used++
}

// pass lets time go by.
func (n *naive) pass(d time.Duration) {
	n.at = n.at.Add(d)
	for n.subscribed && !n.at.Before(n.end) {
		n.want = append(n.want, n.owed)
		n.used, n.owed, n.carried, n.until = 0, 0, 0, time.Time{}
		if n.next != "" {
			n.plan, n.next = n.next, ""
		}
		n.subscribed = !n.cancelled
		n.start, n.end = n.end, n.periodEnd()
	}
}

func (n *naive) cancelNow() {
	if n.used > 0 || n.at.Sub(n.start) >= billing.ShortestPeriod { // D66
		n.want = append(n.want, n.owed)
	}
	if n.carried == 0 {
		n.until = n.end
	}
	n.carried += n.used
	n.subscribed = false
}

// change moves to another plan and reports whether that changes anything.
func (n *naive) change(to string) bool {
	switch {
	case to == n.plan && n.next == "", to == n.next:
		return false
	case planRank[to] > planRank[n.plan]:
		n.plan, n.next = to, ""
	case to == n.plan:
		n.next = ""
	default:
		n.next = to
	}
	return true
}

// refused reports a step that was done though it can't be, or wasn't though it
// can.
func (b *biller) refused(step string, err error, want bool) {
	b.Helper()
	if (err != nil) != want {
		b.Errorf("%s: %v, want refused: %v", step, err, want)
	}
}

// step does one thing at random, in the ledger and in the reckoning.
func (b *biller) step(random *rand.Rand, n *naive) {
	b.Helper()
	n.pass(time.Millisecond) // nothing happens at the very moment of something else
	b.Offset.Store(int64(n.at.Sub(servicetest.Start)))
	plans := []string{"starter", "professional", "enterprise"}
	switch random.IntN(12) {
	case 0, 1:
		to := plans[random.IntN(3)]
		err := b.Billing.ChangePlan(b.Ctx, b.id, servicetest.Someone, to)
		b.refused("change to "+to, err, !n.subscribed || n.cancelled || !n.change(to))
	case 2, 3, 4:
		n.pass(time.Duration(random.IntN(20*24)) * time.Hour)
		b.Offset.Store(int64(n.at.Sub(servicetest.Start)))
		// Sometimes the worker is late: the first request closes the period.
		if random.IntN(2) == 0 {
			n.pass(time.Minute)
			b.to(n.at)
		}
	case 5:
		b.refused("cancel now", b.Billing.Cancel(b.Ctx, b.id, servicetest.Someone, true, "random"), !n.subscribed)
		if n.subscribed {
			n.cancelNow()
		}
	case 6:
		b.refused("cancel", b.Billing.Cancel(b.Ctx, b.id, servicetest.Someone, false, "random"), !n.subscribed || n.cancelled)
		if n.subscribed {
			n.cancelled, n.next = true, ""
		}
	case 7:
		b.refused("reactivate", b.Billing.Reactivate(b.Ctx, b.id, servicetest.Someone), !n.subscribed || !n.cancelled)
		n.cancelled = false
	case 8, 9:
		plan := plans[random.IntN(3)]
		b.refused("subscribe", b.Billing.Subscribe(b.Ctx, b.id, servicetest.Someone, plan), n.subscribed)
		if !n.subscribed {
			n.subscribe(plan)
		}
	default:
		for range random.IntN(12) {
			b.refused("a live session", b.createLive(), !n.subscribed || n.cancelled)
			if n.subscribed && !n.cancelled {
				n.use()
			}
		}
	}
}

// agrees reports where the service doesn't show what the reckoning has.
func (b *biller) agrees(n *naive) {
	b.Helper()
	s, err := b.Billing.Subscription(b.Ctx, b.id)
	if !n.subscribed {
		if !errors.Is(err, &domain.Error{Code: domain.CodeSubscriptionNotFound}) {
			b.Fatalf("without a subscription: %v", err)
		}
		return
	}
	b.OK(err)
	if s.Plan.ID != n.plan || s.Used != n.used || s.Carried != n.carried || int(s.Lines.Total()) != n.owed ||
		!s.Period.End.Equal(n.end) {
		b.Fatalf("%s: %d used, %d carried, %s until %s; want %+v", s.Plan.ID, s.Used, s.Carried, s.Lines.Total(), s.Period.End, n)
	}
	if included := planIncluded[n.plan]; s.Remaining != nil && *s.Remaining != max(0, included-n.carried-n.used) {
		b.Fatalf("%d remaining; want of %+v", *s.Remaining, n)
	}
	if s.Projection != nil && int(s.Projection.Total) != n.owed+n.price(s.Projection.Sessions-n.used) {
		b.Fatalf("projection %+v; want of %+v", s.Projection, n)
	}
}

// TestRandomHistories compares what random histories come to with a naive
// account of them.
func TestRandomHistories(t *testing.T) {
	t.Parallel()
	for range 4 {
		seed := rand.Uint64()
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			t.Logf("seed %d", seed)
			b := newBiller(t)
			random := rand.New(rand.NewPCG(seed, 5))
			n := &naive{at: servicetest.Start}
			n.subscribe("starter")
			for step := 0; step < 60 && len(n.want) < 8; step++ {
				b.step(random, n)
				b.agrees(n)
			}
			n.pass(2 * time.Minute)
			b.to(n.at)
			b.balanced()
			all := b.invoices()
			slices.SortFunc(all, func(a, c domain.Invoice) int { return a.PeriodStart.Compare(c.PeriodStart) })
			var got []int
			for _, i := range all {
				got = append(got, int(i.Total))
			}
			if !slices.Equal(got, n.want) {
				t.Errorf("invoices of %v cents, want %v\n%s", got, n.want, b.ledger())
			}
		})
	}
}
