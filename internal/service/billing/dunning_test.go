package billing_test

import (
	"testing"
	"time"

	"candor/internal/billing"
	"candor/internal/domain"
	"candor/internal/testkit/servicetest"
)

// TestBankTransferIsDunnedOnceItIsDue has operators note failures before an
// invoice is due: they don't bring the reminders forward.
func TestBankTransferIsDunnedOnceItIsDue(t *testing.T) {
	t.Parallel()
	for early, noted := range map[string][]int{"none": nil, "one on the first day": {1}, "more than there are retries": {1, 2, 3, 4, 5}, "on the eve": {13}} {
		t.Run(early, func(t *testing.T) {
			t.Parallel()
			b := newBiller(t)
			b.runner.Ledger.Terms.DueDays, b.runner.Provider = 14, billing.Manual{}
			b.use(11)
			b.to(servicetest.Start.AddDate(0, 1, 0).Add(time.Minute))
			issued := b.last()
			now := func() *domain.Invoice {
				i, err := b.DB.InvoiceByID(b.Ctx, issued.ID)
				b.OK(err)
				return i
			}
			on := func(days int) time.Time { return issued.IssuedAt.AddDate(0, 0, days).Add(time.Second) }
			first := 14
			for _, day := range noted {
				b.to(on(day))
				failed, err := b.Billing.MarkFailed(b.Ctx, issued.ID, servicetest.Someone, "The cheque was returned.")
				b.OK(err)
				if failed.NextAttemptAt == nil || failed.NextAttemptAt.Before(issued.DueAt) {
					t.Errorf("after a failure on day %d the next attempt is at %v, before %s", day, failed.NextAttemptAt, issued.DueAt)
				}
				first = max(14, day+3)
			}
			b.to(on(first - 1))
			for n, day := range []int{first, first + 3, first + 8, first + 15} {
				b.to(on(day).Add(-time.Hour))
				if got := now(); got.Failures != len(noted)+n || b.status() != domain.SubscriptionActive {
					t.Errorf("before day %d: %d failures, %s", day, got.Failures, b.status())
				}
				b.to(on(day).Add(time.Minute))
				if got := now(); got.Failures != len(noted)+n+1 || *got.FailureReason != "No payment has arrived by the due date." {
					t.Errorf("on day %d: %d failures, %q", day, got.Failures, *got.FailureReason)
				}
			}
			if b.status() != domain.SubscriptionPastDue {
				t.Errorf("in the end the subscription is %s", b.status())
			}
		})
	}
}
