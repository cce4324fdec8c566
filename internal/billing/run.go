package billing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"candor/db"
	"candor/internal/domain"
)

const (
	// PaymentTimeout bounds one attempt at a payment, which can take several
	// calls of the provider.
	PaymentTimeout = 3 * time.Minute
	// RunTimeout bounds a billing run. A payment is started only if all of its
	// time is left.
	RunTimeout = PaymentTimeout + time.Minute
	// paymentLease is the time after which a payment with an unknown outcome
	// is tried again, with the same idempotency key. It is longer than a run.
	paymentLease = 10 * time.Minute
	// recordTimeout bounds storing an outcome.
	recordTimeout = 10 * time.Second
	// paymentPending is the time after which a pending payment is asked for
	// again.
	paymentPending = 24 * time.Hour
)

// A Runner does billing runs.
type Runner struct {
	DB       *db.DB
	Ledger   *Ledger
	Provider Provider
	Logger   *slog.Logger
}

// Run closes the periods that have ended by now, sends usage notices and
// reminders, and collects due payments. Payments are last because a provider can be slow.
// Several processes can run it at once: each period, notice and payment is one
// transaction.
func (r *Runner) Run(ctx context.Context, now time.Time) error {
	return errors.Join(r.closePeriods(ctx, now), r.noticeUsage(ctx, now), r.noticeSpending(ctx, now), r.remind(ctx, now),
		r.collect(ctx, now))
}

// closePeriods closes periods one by one. A period that can't be closed
// doesn't stop the others.
func (r *Runner) closePeriods(ctx context.Context, now time.Time) error {
	var failed []domain.SubscriptionID
	var failures error
	for ctx.Err() == nil {
		var at *domain.Subscription
		err := r.DB.InTx(ctx, func(tx *db.Tx) (err error) {
			if at, err = tx.LockClosing(ctx, now.Add(-Grace), failed); err != nil {
				return err
			}
			return r.Ledger.Close(ctx, tx, at, now)
		})
		switch {
		case at == nil || at.SubscriptionID == (domain.SubscriptionID{}):
			if !errors.Is(err, db.ErrNotFound) {
				failures = errors.Join(failures, err)
			}
			return failures
		case err != nil:
			failed = append(failed, at.SubscriptionID)
			failures = errors.Join(failures, fmt.Errorf("billing: close period of %s: %w", at.SubscriptionID, err))
		}
	}
	return errors.Join(failures, ctx.Err())
}

// collect tries due payments while there is time for another one.
func (r *Runner) collect(ctx context.Context, now time.Time) error {
	var failures error
	for ctx.Err() == nil {
		if end, ok := ctx.Deadline(); ok && time.Until(end) < PaymentTimeout {
			return failures
		}
		invoice, err := r.DB.ClaimPayment(ctx, now, now.Add(paymentLease))
		if errors.Is(err, db.ErrNotFound) {
			return failures
		}
		if err != nil {
			return errors.Join(failures, err)
		}
		if err := r.pay(ctx, invoice, now); err != nil {
			failures = errors.Join(failures, fmt.Errorf("billing: payment of %s: %w", invoice.NumberText(), err))
		}
	}
	return errors.Join(failures, ctx.Err())
}

func (r *Runner) pay(ctx context.Context, i *domain.Invoice, now time.Time) error {
	outcome, err := r.charge(ctx, i)
	if err != nil {
		return err
	}
	// The outcome is stored even if the run is cancelled now.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	err = r.DB.InTx(ctx, func(tx *db.Tx) error {
		switch outcome.State {
		case Paid:
			stored, err := r.Ledger.Pay(ctx, tx, i.ID, outcome.Reference, now)
			if errors.Is(err, ErrSettled) {
				ReportSettled(ctx, r.Logger, stored, outcome.Reference)
			}
			return err
		case Failed:
			return r.Ledger.FailAttempt(ctx, tx, i, outcome.Reason, now)
		}
		return tx.PutOffPayment(ctx, i, now.Add(paymentPending))
	})
	if errors.Is(err, ErrSettled) || errors.Is(err, ErrCounted) {
		return nil // the provider's event was first
	}
	return err
}

func (r *Runner) charge(ctx context.Context, i *domain.Invoice) (Outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, PaymentTimeout)
	defer cancel()
	return r.Provider.Charge(ctx, i)
}

// ReportSettled logs a payment for an invoice that something else has settled:
// an operator must return the money. It ignores a repeated report of the same
// payment.
func ReportSettled(ctx context.Context, logger *slog.Logger, i *domain.Invoice, reference string) {
	if i.Reference != nil && *i.Reference == reference {
		return
	}
	logger.ErrorContext(ctx, "a payment came for a settled invoice: return it at the payment provider",
		"invoice", i.NumberText(), "status", string(i.Status), "reference", reference)
}

// noticeSpending emails accounts whose period has come to an amount at which they
// want an email, or to their spend cap, once a period for each amount.
func (r *Runner) noticeSpending(ctx context.Context, now time.Time) error {
	accounts, err := r.DB.SpendingAccounts(ctx, now)
	if err != nil {
		return err
	}
	for account, limits := range accounts {
		reached, err := r.reached(ctx, account, limits, now)
		if err != nil {
			return err
		}
		for _, notice := range reached {
			err := r.DB.InTx(ctx, func(tx *db.Tx) error {
				first, err := tx.InsertSpendNotice(ctx, notice, now)
				if err != nil || !first {
					return err
				}
				return r.Ledger.Events.SpendEmail(ctx, tx, notice)
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// reached returns what an account's open period has reached and wasn't told of.
func (r *Runner) reached(ctx context.Context, account domain.AccountID, limits domain.SpendLimits,
	now time.Time) ([]domain.SpendNotice, error) {
	s, err := r.DB.Subscription(ctx, account, now)
	if errors.Is(err, db.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	running, err := RunningOf(ctx, &r.DB.Queries, s, now)
	if err != nil {
		return nil, err
	}
	told, err := r.DB.SpendNotices(ctx, account, running.Period.Start)
	if err != nil {
		return nil, err
	}
	for i := range told {
		told[i].PeriodStart = running.Period.Start // the same moment in another zone
	}
	return slices.DeleteFunc(running.Reached(account, limits), func(n domain.SpendNotice) bool {
		return slices.Contains(told, n)
	}), nil
}

// remind emails accounts whose invoices are due soon, once each: the note of it
// and its job commit together.
func (r *Runner) remind(ctx context.Context, now time.Time) error {
	return r.DB.InTx(ctx, func(tx *db.Tx) error {
		ids, err := tx.NoteReminders(ctx, now)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := r.Ledger.Events.ReminderEmail(ctx, tx, id); err != nil {
				return err
			}
		}
		return nil
	})
}

// noticeUsage emails accounts that have used much of their plan.
func (r *Runner) noticeUsage(ctx context.Context, now time.Time) error {
	heavy, err := r.DB.HeavyUses(ctx, now)
	if err != nil {
		return err
	}
	for _, h := range heavy {
		threshold := domain.UsageThreshold(h.Used, h.Included)
		if threshold <= h.Told {
			continue
		}
		notice := db.UsageNotice{AccountID: h.AccountID, PeriodStart: h.PeriodStart, PlanID: h.PlanID, Percent: threshold}
		err := r.DB.InTx(ctx, func(tx *db.Tx) error {
			first, err := tx.InsertUsageNotice(ctx, notice, now)
			if err != nil || !first {
				return err
			}
			return r.Ledger.Events.UsageEmail(ctx, tx, h.AccountID, threshold)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
