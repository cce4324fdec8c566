package jobs

import (
	"context"
	"errors"
	"time"

	"github.com/riverqueue/river"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/outbox"
	"candor/internal/platform/mail"
	"candor/views/email"
)

// alertEvery is the time between two looks for what is to be reported.
const alertEvery = time.Minute

// alertArgs reports endpoints that fail or have recovered, and keys that are used
// from a new network.
type alertArgs struct{ sweepArgs }

// Kind names the job.
func (alertArgs) Kind() string { return "alert_sweep" }

type alertWorker struct {
	upkeepWorker[alertArgs]
	db     *db.DB
	outbox *outbox.Outbox
	clock  domain.Clock
}

// Work stores the alerts that are due. Each commits with its endpoints' marks and
// its emails, so that none is sent twice and none is lost.
func (w *alertWorker) Work(ctx context.Context, _ *river.Job[alertArgs]) error {
	now := w.clock.Now()
	due, err := w.db.DueAlerts(ctx, now, sweepBatch)
	if err != nil {
		return err
	}
	for _, one := range due {
		err = errors.Join(err, w.db.InTx(ctx, func(tx *db.Tx) error { return w.report(ctx, tx, one, now) }))
	}
	return err
}

func (w *alertWorker) report(ctx context.Context, tx *db.Tx, due db.DueAlert, now time.Time) error {
	subjects, err := tx.TakeAlerted(ctx, due.Scope(), due.Kind, now)
	if err != nil || len(subjects) == 0 {
		return err
	}
	alert := &domain.Alert{ID: domain.NewAlertID(), AccountID: due.AccountID, Livemode: due.Livemode, Kind: due.Kind,
		Subjects: subjects, CreatedAt: now}
	if err := tx.InsertAlert(ctx, alert); err != nil {
		return err
	}
	readers, err := tx.AlertReaders(ctx, due.AccountID)
	for i := range readers {
		if err == nil && wants(&readers[i], due.Kind) {
			err = w.outbox.AlertEmail(ctx, tx, alert.ID, readers[i].ID)
		}
	}
	return err
}

// wants reports whether the person gets alerts of the kind by email.
func wants(r *db.AlertReader, kind domain.AlertKind) bool {
	return r.May(domain.AlertReaders) && r.Want(kind)
}

// alertEmailArgs sends an alert to one person.
type alertEmailArgs struct {
	emailArgs
	Alert domain.AlertID `json:"alert_id"`
	Staff domain.StaffID `json:"staff_id"`
}

// Kind names the job.
func (alertEmailArgs) Kind() string { return "alert_email" }

// AlertEmail sends an alert to a staff user.
func (i *Inserter) AlertEmail(ctx context.Context, tx *db.Tx, alert domain.AlertID, staff domain.StaffID) error {
	return i.insert(ctx, tx, alertEmailArgs{Alert: alert, Staff: staff})
}

type alertEmailWorker struct {
	emailWorker[alertEmailArgs]
	db      *db.DB
	sender  mail.Sender
	baseURL string
}

// NextRetry spaces failed runs.
func (w *alertEmailWorker) NextRetry(job *river.Job[alertEmailArgs]) time.Time {
	return time.Now().Add(time.Duration(job.Attempt) * 30 * time.Second)
}

// Work sends the email, unless the person has turned it off or may no longer
// read it.
func (w *alertEmailWorker) Work(ctx context.Context, job *river.Job[alertEmailArgs]) error {
	alert, err := w.db.Alert(ctx, job.Args.Alert)
	if errors.Is(err, db.ErrNotFound) {
		return nil
	} else if err != nil {
		return err
	}
	reader, err := w.db.AlertReader(ctx, job.Args.Staff)
	if errors.Is(err, db.ErrNotFound) {
		return nil
	} else if err != nil || !wants(reader, alert.Kind) {
		return err
	}
	account, err := w.db.Account(ctx, alert.AccountID)
	if err != nil {
		return err
	}
	return sendEmail(ctx, w.sender, reader.Email, email.Alert(alert, w.baseURL+"/dashboard", account.Zone()))
}
