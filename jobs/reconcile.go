package jobs

import (
	"context"
	"log/slog"
	"time"

	"github.com/riverqueue/river"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/outbox"
	"candor/internal/vault"
)

const (
	// reconcileOverlap is how far a run goes back behind the last one. It is more
	// than any transaction takes and any clocks differ.
	reconcileOverlap = 2 * time.Hour
	// reconcileHistory is how far back a first run looks.
	reconcileHistory = 30 * 24 * time.Hour
)

// reconcileArgs checks that each finished session has its terminal event and the
// event's delivery.
type reconcileArgs struct{ upkeepArgs }

// Kind names the job.
func (reconcileArgs) Kind() string { return "reconciliation" }

type reconcileWorker struct {
	upkeepWorker[reconcileArgs]
	vault    *vault.Vault
	db       *db.DB
	outbox   *outbox.Outbox
	clock    domain.Clock
	logger   *slog.Logger
	observer Observer
}

// Work checks the sessions that completed or expired since the last run and
// repairs what is missing. Nothing ever should be: each repair is an error in
// the log and counts in the metrics.
func (w *reconcileWorker) Work(ctx context.Context, _ *river.Job[reconcileArgs]) error {
	now := w.clock.Now()
	for _, status := range []domain.Status{domain.Completed, domain.Expired} {
		if err := w.check(ctx, status, now); err != nil {
			return err
		}
	}
	return nil
}

// check walks the sessions of that status in batches and stores its progress
// after each.
func (w *reconcileWorker) check(ctx context.Context, status domain.Status, now time.Time) error {
	checked, err := w.db.CheckedTo(ctx, status)
	if err != nil {
		return err
	}
	if now.Before(checked) {
		checked = now // the clock was ahead
	}
	from := checked.Add(-reconcileOverlap)
	if oldest := now.Add(-reconcileHistory); from.Before(oldest) {
		from = oldest
	}
	to, err := w.sweptTo(ctx, status, now)
	if err != nil {
		return err
	}
	for at := (db.FinishedSession{FinishedAt: from}); ; {
		batch, err := w.db.FinishedSessions(ctx, status, at, to, sweepBatch)
		if err != nil {
			return err
		}
		for _, session := range batch {
			if !session.MissingEvent && !session.MissingDelivery {
				continue
			}
			if err := w.repair(ctx, session.ID); err != nil {
				return err
			}
		}
		if len(batch) < sweepBatch {
			return w.db.SetCheckedTo(ctx, status, to)
		}
		at = batch[len(batch)-1]
		if err := w.db.SetCheckedTo(ctx, status, at.FinishedAt); err != nil {
			return err
		}
	}
}

// sweptTo is the time up to which all sessions have their final status. The
// sweep expires them some time after they are due.
func (w *reconcileWorker) sweptTo(ctx context.Context, status domain.Status, now time.Time) (time.Time, error) {
	if status != domain.Expired {
		return now, nil
	}
	overdue, err := w.db.OldestOverdue(ctx, now)
	if err != nil || overdue.IsZero() {
		return now, err
	}
	return overdue, nil
}

// repair checks the session again under its lock and writes what is missing. Of
// two runs at the same time, one repairs.
func (w *reconcileWorker) repair(ctx context.Context, id domain.SessionID) error {
	repaired := ""
	err := w.db.InTx(ctx, func(tx *db.Tx) error {
		repaired = ""
		session, missing, err := tx.LockFinishedSession(ctx, id)
		switch {
		case err != nil:
			return err
		case missing.MissingEvent:
			repaired = "event"
			return w.recordEnd(ctx, tx, session)
		case missing.MissingDelivery:
			repaired = "delivery"
			event, err := tx.TerminalEvent(ctx, id)
			if err != nil {
				return err
			}
			return w.outbox.MissingDelivery(ctx, tx, event, w.clock.Now())
		}
		return nil
	})
	if err != nil || repaired == "" {
		return err
	}
	w.observer.Repaired(repaired)
	w.logger.ErrorContext(ctx, "a finished session lacked its event or delivery: repaired", "session_id", id, "lacked", repaired)
	return nil
}

// recordEnd records the terminal event of a session.
func (w *reconcileWorker) recordEnd(ctx context.Context, tx *db.Tx, session *domain.Session) error {
	if session.Status == domain.Expired {
		return w.outbox.SessionEvent(ctx, tx, session, domain.NewExpiredPayload(session), w.clock.Now())
	}
	answers, err := w.vault.Statement(ctx, tx, session.ID)
	if err != nil {
		return err
	}
	return w.outbox.SessionEvent(ctx, tx, session, domain.NewCompletedPayload(session, answers.Summary()), w.clock.Now())
}
