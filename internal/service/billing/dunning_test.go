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
	for early, noted := range map[string][]int{"none": nil, "one on the first day": {1}, "more than there are retries": {1, 2,
		3, 4, 5}, "on the eve": {13}} {
		t.Run(early, func(t *testing.T) {
			t.Parallel()
			b := newBiller(t)
			b.runner.Ledger.Terms, b.runner.Provider = billing.Terms{DueDays: 14}, billing.Manual{}
			b.use(11)
			b.to(servicetest.Start.AddDate(0, 1, 0).Add(time.Minute))
			issued := b.last()
			now := func() *domain.Invoice {
				i, err := b.DB.InvoiceByID(b.Ctx, issued.ID)
				b.OK(err)
				return i
			}
			on := func(days int) time.Time { return issued.IssuedAt.AddDate(0, 0, days).Add(time.Second) }
			first := issued.DueAt
			for _, day := range noted {
				b.to(on(day))
				failed, err := b.Billing.MarkFailed(b.Ctx, issued.ID, servicetest.Someone, "The cheque was returned.")
				b.OK(err)
				if failed.NextAttemptAt == nil || failed.NextAttemptAt.Before(issued.DueAt) {
					t.Errorf("after a failure on day %d the next attempt is at %v, before %s", day, failed.NextAttemptAt, issued.DueAt)
				}
				if again := on(day).AddDate(0, 0, 3); again.After(first) {
					first = again
				}
			}
			b.to(first.AddDate(0, 0, -1))
			for n, days := range []int{0, 3, 8, 15} {
				at := first.AddDate(0, 0, days)
				b.to(at.Add(-time.Hour))
				if got := now(); got.Failures != len(noted)+n || b.status() != domain.SubscriptionActive {
					t.Errorf("before %s: %d failures, %s", at, got.Failures, b.status())
				}
				b.to(at.Add(time.Minute))
				if got := now(); got.Failures != len(noted)+n+1 || *got.FailureReason != "No payment has arrived by the due date." {
					t.Errorf("at %s: %d failures, %q", at, got.Failures, *got.FailureReason)
				}
			}
			if b.status() != domain.SubscriptionPastDue {
				t.Errorf("in the end the subscription is %s", b.status())
			}
		})
	}
}

// TestBankTransferIsDueOnADate: it can arrive until the end of the date that the invoice
// shows, even if that is the day of issue.
func TestBankTransferIsDueOnADate(t *testing.T) {
	t.Parallel()
	for _, days := range []int{0, 14} {
		b := newBiller(t)
		b.runner.Ledger.Terms, b.runner.Provider = billing.Terms{DueDays: days}, billing.Manual{}
		b.use(11)
		b.to(servicetest.Start.AddDate(0, 1, 0).Add(time.Minute))
		issued := b.last()
		if got, want := issued.DueAt.UTC().Format(time.DateOnly), issued.IssuedAt.UTC().AddDate(0, 0, days).
			Format(time.DateOnly); got != want || billing.TermsOf(&issued).DueDays != days {
			t.Errorf("%d days: due on %s, want %s; its terms are %+v", days, got, want, billing.TermsOf(&issued))
		}
		end := issued.IssuedAt.UTC().Truncate(24*time.Hour).AddDate(0, 0, days+1)
		b.to(end.Add(-time.Second))
		if got := b.last(); got.Status != domain.InvoiceOpen {
			t.Errorf("%d days: it is %s on its due date", days, got.Status)
		}
		b.to(end)
		if got := b.last(); !got.Overdue() {
			t.Errorf("%d days: it is %s after its due date", days, got.Status)
		}
	}
}
