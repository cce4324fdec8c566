package jobs

import (
	"context"
	"errors"
	"time"

	"github.com/riverqueue/river"

	"candor/db"
	"candor/intake"
	"candor/mail"
	"candor/views/letter"
)

// billingLetterArgs asks for a letter to an account's billing address: about an
// invoice, as it stands when the letter is sent, or about a share of the plan
// that was used.
type billingLetterArgs struct {
	Invoice *intake.InvoiceID `json:"invoice_id,omitempty"`
	Account *intake.AccountID `json:"account_id,omitempty"`
	Percent int               `json:"percent,omitempty"`
}

// Kind names the job.
func (billingLetterArgs) Kind() string { return "billing_letter" }

// InsertOpts: it goes with the other letters.
func (billingLetterArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: queueMail, MaxAttempts: letterRuns}
}

// InvoiceLetter asks for the letter that tells how an invoice stands.
func (e *Enqueuer) InvoiceLetter(ctx context.Context, tx *db.Tx, id intake.InvoiceID) error {
	_, err := e.insert(ctx, tx, billingLetterArgs{Invoice: &id})
	return err
}

// UsageLetter asks for the letter that tells an account how many percent of its
// plan are used.
func (e *Enqueuer) UsageLetter(ctx context.Context, tx *db.Tx, account intake.AccountID, percent int) error {
	_, err := e.insert(ctx, tx, billingLetterArgs{Account: &account, Percent: percent})
	return err
}

type billingLetterWorker struct {
	river.WorkerDefaults[billingLetterArgs]
	db      *db.DB
	sender  mail.Sender
	baseURL string
}

// Timeout bounds one run.
func (w *billingLetterWorker) Timeout(*river.Job[billingLetterArgs]) time.Duration {
	return letterTimeout
}

// NextRetry spaces failed runs: ten within a day.
func (w *billingLetterWorker) NextRetry(job *river.Job[billingLetterArgs]) time.Time {
	return time.Now().Add(time.Duration(job.Attempt*job.Attempt) * 4 * time.Minute)
}

// Work sends the letter.
func (w *billingLetterWorker) Work(ctx context.Context, job *river.Job[billingLetterArgs]) error {
	to, l, err := w.letter(ctx, job.Args)
	if err != nil {
		return err
	}
	html, err := l.HTML()
	if err != nil {
		return err
	}
	err = w.sender.Send(ctx, mail.Message{To: to, Subject: l.Subject, Text: l.Text(), HTML: html})
	if errors.Is(err, mail.ErrRefused) {
		return river.JobCancel(err)
	}
	return err
}

func (w *billingLetterWorker) letter(ctx context.Context, a billingLetterArgs) (to string, l letter.Letter, err error) {
	url := w.baseURL + "/dashboard/live/billing"
	if a.Invoice != nil {
		invoice, err := w.db.InvoiceByID(ctx, *a.Invoice)
		if err != nil {
			return "", l, err
		}
		account, err := w.db.Account(ctx, invoice.AccountID)
		if err != nil {
			return "", l, err
		}
		return account.BillingEmail, letter.Invoice(invoice, url), nil
	}
	account, err := w.db.Account(ctx, *a.Account)
	if err != nil {
		return "", l, err
	}
	return account.BillingEmail, letter.Usage(a.Percent, url), nil
}
