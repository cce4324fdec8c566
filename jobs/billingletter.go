package jobs

import (
	"context"
	"errors"
	"time"

	"github.com/riverqueue/river"

	"candor/db"
	"candor/internal/billing"
	"candor/internal/domain"
	"candor/internal/platform/mail"
	"candor/views/email"
)

// billingLetterArgs asks for a letter to an account's billing address: about a
// new invoice, about the payment of one that failed for the n-th time, or about
// a share of the plan that was used.
type billingLetterArgs struct {
	Invoice  *domain.InvoiceID `json:"invoice_id,omitempty"`
	Failures int               `json:"failures,omitempty"` // 0 for a new invoice
	Account  *domain.AccountID `json:"account_id,omitempty"`
	Percent  int               `json:"percent,omitempty"`
}

// Kind names the job.
func (billingLetterArgs) Kind() string { return "billing_letter" }

// InsertOpts: it goes with the other letters.
func (billingLetterArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: queueMail, MaxAttempts: letterRuns}
}

// InvoiceEmail asks for the letter that tells of a new invoice.
func (e *Enqueuer) InvoiceEmail(ctx context.Context, tx *db.Tx, id domain.InvoiceID) error {
	_, err := e.insert(ctx, tx, billingLetterArgs{Invoice: &id})
	return err
}

// PaymentFailedEmail asks for the letter that tells of an invoice's last failed
// payment.
func (e *Enqueuer) PaymentFailedEmail(ctx context.Context, tx *db.Tx, i *domain.Invoice) error {
	_, err := e.insert(ctx, tx, billingLetterArgs{Invoice: &i.ID, Failures: i.Failures})
	return err
}

// UsageEmail asks for the letter that tells an account how many percent of its
// plan are used.
func (e *Enqueuer) UsageEmail(ctx context.Context, tx *db.Tx, account domain.AccountID, percent int) error {
	_, err := e.insert(ctx, tx, billingLetterArgs{Account: &account, Percent: percent})
	return err
}

type billingLetterWorker struct {
	river.WorkerDefaults[billingLetterArgs]
	db       *db.DB
	sender   mail.Sender
	payments billing.Provider
	baseURL  string
}

// Timeout bounds one run.
func (w *billingLetterWorker) Timeout(*river.Job[billingLetterArgs]) time.Duration {
	return letterTimeout
}

// NextRetry spaces failed runs: ten within a day.
func (w *billingLetterWorker) NextRetry(job *river.Job[billingLetterArgs]) time.Time {
	return time.Now().Add(time.Duration(job.Attempt*job.Attempt) * 4 * time.Minute)
}

// errOutdated says that a letter would tell what is no longer so.
var errOutdated = errors.New("jobs: the letter is out of date")

// Work sends the letter, unless what it tells of has passed.
func (w *billingLetterWorker) Work(ctx context.Context, job *river.Job[billingLetterArgs]) error {
	to, l, err := w.letter(ctx, job.Args)
	if errors.Is(err, errOutdated) {
		return nil
	}
	if err != nil {
		return err
	}
	return sendLetter(ctx, w.sender, to, l)
}

func (w *billingLetterWorker) letter(ctx context.Context, a billingLetterArgs) (to string, l email.Letter, err error) {
	url := w.baseURL + "/dashboard/live/billing"
	if a.Invoice != nil {
		return w.invoiceLetter(ctx, a, url)
	}
	account, err := w.db.Account(ctx, *a.Account)
	if err != nil {
		return "", l, err
	}
	return account.BillingEmail, email.Usage(a.Percent, url), nil
}

func (w *billingLetterWorker) invoiceLetter(ctx context.Context, a billingLetterArgs, url string) (to string, l email.Letter, err error) {
	invoice, err := w.db.InvoiceByID(ctx, *a.Invoice)
	if err != nil {
		return "", l, err
	}
	account, err := w.db.Account(ctx, invoice.AccountID)
	if err != nil {
		return "", l, err
	}
	by, err := w.payment(ctx, invoice.AccountID)
	switch {
	case err != nil:
		return "", l, err
	case a.Failures == 0:
		return account.BillingEmail, email.NewInvoice(invoice, by, url), nil
	case !invoice.Status.Unsettled() || invoice.Failures != a.Failures:
		return "", l, errOutdated // the next failure has a letter of its own
	}
	return account.BillingEmail, email.PaymentFailed(invoice, by, url), nil
}

// payment is how the account pays now.
func (w *billingLetterWorker) payment(ctx context.Context, account domain.AccountID) (email.Payment, error) {
	if w.payments.Name() == (billing.Manual{}).Name() {
		return email.Payment{}, nil
	}
	customer, err := billing.StoredCustomers{DB: w.db}.Customer(ctx, account, w.payments.Name())
	return email.Payment{Cards: true, Card: customer.Label}, err
}
