package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/riverqueue/river"

	"candor/billing"
	"candor/db"
	"candor/intake"
)

const (
	// paymentLease is how long a payment may take before it is tried again, by
	// its key at the provider the same one.
	paymentLease = 10 * time.Minute
	// paymentPending is when a provider is asked again that hasn't told.
	paymentPending = 24 * time.Hour
)

// billingArgs asks for what is due: periods to be closed, payments, notices.
type billingArgs struct{}

// Kind names the job.
func (billingArgs) Kind() string { return "billing" }

// InsertOpts: the next run comes anyway.
func (billingArgs) InsertOpts() river.InsertOpts { return upkeepOpts() }

type billingWorker struct {
	river.WorkerDefaults[billingArgs]
	db       *db.DB
	enqueuer *Enqueuer
	books    *billing.Books
	provider billing.Provider
	clock    intake.Clock
}

// Timeout bounds one run.
func (w *billingWorker) Timeout(*river.Job[billingArgs]) time.Duration { return upkeepTimeout }

// Work closes the periods that have ended, tries the payments that are due and
// tells of used plans. Any number of workers can be at it: each period, payment
// and notice is one transaction's.
func (w *billingWorker) Work(ctx context.Context, _ *river.Job[billingArgs]) error {
	now := w.clock.Now()
	return errors.Join(w.closePeriods(ctx, now), w.collect(ctx, now), w.noticeUsage(ctx, now))
}

// closePeriods closes one after the other. One that can't be closed holds up no
// other.
func (w *billingWorker) closePeriods(ctx context.Context, now time.Time) error {
	var failed []intake.SubscriptionID
	var failures error
	for ctx.Err() == nil {
		var at *intake.Subscription
		err := w.db.InTx(ctx, func(tx *db.Tx) (err error) {
			if at, err = tx.LockClosing(ctx, now.Add(-billing.Grace), failed); err != nil {
				return err
			}
			return w.books.Close(ctx, tx, at, now)
		})
		switch {
		case at == nil || at.SubscriptionID == (intake.SubscriptionID{}):
			if !errors.Is(err, db.ErrNotFound) {
				failures = errors.Join(failures, err)
			}
			return failures
		case err != nil:
			failed = append(failed, at.SubscriptionID)
			failures = errors.Join(failures, fmt.Errorf("jobs: close period of %s: %w", at.SubscriptionID, err))
		}
	}
	return errors.Join(failures, ctx.Err())
}

// collect tries the payments that are due.
func (w *billingWorker) collect(ctx context.Context, now time.Time) error {
	var failures error
	for ctx.Err() == nil {
		invoice, err := w.db.ClaimPayment(ctx, now, now.Add(paymentLease))
		if errors.Is(err, db.ErrNotFound) {
			return failures
		}
		if err != nil {
			return errors.Join(failures, err)
		}
		if err := w.pay(ctx, invoice, now); err != nil {
			failures = errors.Join(failures, fmt.Errorf("jobs: payment of %s: %w", invoice.NumberText(), err))
		}
	}
	return errors.Join(failures, ctx.Err())
}

func (w *billingWorker) pay(ctx context.Context, i *intake.Invoice, now time.Time) error {
	outcome, err := w.provider.Charge(ctx, i)
	if err != nil {
		return err
	}
	err = w.db.InTx(ctx, func(tx *db.Tx) error {
		switch outcome.State {
		case billing.Paid:
			_, err := w.books.Pay(ctx, tx, i.ID, outcome.Reference, now)
			return err
		case billing.Failed:
			_, err := w.books.Fail(ctx, tx, i.ID, outcome.Reason, now)
			return err
		}
		return tx.PutOffPayment(ctx, i.ID, now.Add(paymentPending))
	})
	if errors.Is(err, billing.ErrSettled) {
		return nil // somebody was told earlier
	}
	return err
}

// noticeUsage tells accounts that have used much of their plan.
func (w *billingWorker) noticeUsage(ctx context.Context, now time.Time) error {
	heavy, err := w.db.HeavyUses(ctx, intake.FirstUsageThreshold, now)
	if err != nil {
		return err
	}
	for _, h := range heavy {
		threshold := intake.UsageThreshold(h.Used, h.Included)
		if threshold <= h.Told {
			continue
		}
		notice := db.UsageNotice{AccountID: h.AccountID, PeriodStart: h.PeriodStart, Percent: threshold}
		err := w.db.InTx(ctx, func(tx *db.Tx) error {
			first, err := tx.InsertUsageNotice(ctx, notice, now)
			if err != nil || !first {
				return err
			}
			_, err = w.enqueuer.insert(ctx, tx, billingLetterArgs{Account: &h.AccountID, Percent: threshold})
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// recountArgs asks whether usage is counted rightly.
type recountArgs struct{}

// Kind names the job.
func (recountArgs) Kind() string { return "usage_recount" }

// InsertOpts: the next run comes anyway.
func (recountArgs) InsertOpts() river.InsertOpts { return upkeepOpts() }

type recountWorker struct {
	river.WorkerDefaults[recountArgs]
	db       *db.DB
	clock    intake.Clock
	logger   *slog.Logger
	observer Observer
}

// Timeout bounds one run: it reads a month of sessions.
func (w *recountWorker) Timeout(*river.Job[recountArgs]) time.Duration { return 10 * time.Minute }

// Work counts the open periods' live sessions anew and reports where that isn't
// what was counted when they were created. It mends nothing: an operator must
// know how it came to that.
func (w *recountWorker) Work(ctx context.Context, _ *river.Job[recountArgs]) error {
	drifts, err := w.db.UsageDrifts(ctx, w.clock.Now())
	if err != nil {
		return err
	}
	w.observer.UsageRecounted(len(drifts))
	for _, d := range drifts {
		w.logger.ErrorContext(ctx, "used sessions are counted wrongly", "account_id", d.AccountID.String(),
			"period_start", d.PeriodStart, "counted", d.Counted, "sessions", d.Sessions)
	}
	return nil
}
