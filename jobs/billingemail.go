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

// billingEmailArgs sends an email to an account's billing address: a new invoice,
// an invoice's n-th failed payment, or the share of the plan that is used.
type billingEmailArgs struct {
	Invoice  *domain.InvoiceID `json:"invoice_id,omitempty"`
	Failures int               `json:"failures,omitempty"` // 0 for a new invoice
	Account  *domain.AccountID `json:"account_id,omitempty"`
	Percent  int               `json:"percent,omitempty"`
}

// Kind names the job, by the term of when it was first stored.
func (billingEmailArgs) Kind() string { return "billing_letter" }

// InsertOpts puts it into the queue of all emails.
func (billingEmailArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: queueMail, MaxAttempts: emailRuns}
}

// InvoiceEmail sends a new invoice.
func (i *Inserter) InvoiceEmail(ctx context.Context, tx *db.Tx, id domain.InvoiceID) error {
	return i.insert(ctx, tx, billingEmailArgs{Invoice: &id})
}

// PaymentFailedEmail reports the invoice's latest failed payment.
func (i *Inserter) PaymentFailedEmail(ctx context.Context, tx *db.Tx, invoice *domain.Invoice) error {
	return i.insert(ctx, tx, billingEmailArgs{Invoice: &invoice.ID, Failures: invoice.Failures})
}

// UsageEmail reports how many percent of the account's plan are used.
func (i *Inserter) UsageEmail(ctx context.Context, tx *db.Tx, account domain.AccountID, percent int) error {
	return i.insert(ctx, tx, billingEmailArgs{Account: &account, Percent: percent})
}

type billingEmailWorker struct {
	river.WorkerDefaults[billingEmailArgs]
	db       *db.DB
	sender   mail.Sender
	payments billing.Provider
	baseURL  string
}

// Timeout bounds one run.
func (w *billingEmailWorker) Timeout(*river.Job[billingEmailArgs]) time.Duration {
	return emailTimeout
}

// NextRetry spaces failed runs: ten within a day.
func (w *billingEmailWorker) NextRetry(job *river.Job[billingEmailArgs]) time.Time {
	return time.Now().Add(time.Duration(job.Attempt*job.Attempt) * 4 * time.Minute)
}

// errOutdated says that the email has nothing true to report any more.
var errOutdated = errors.New("jobs: the email is out of date")

// Work sends the email, unless it is out of date.
func (w *billingEmailWorker) Work(ctx context.Context, job *river.Job[billingEmailArgs]) error {
	to, m, err := w.email(ctx, job.Args)
	if errors.Is(err, errOutdated) {
		return nil
	}
	if err != nil {
		return err
	}
	return sendEmail(ctx, w.sender, to, m)
}

func (w *billingEmailWorker) email(ctx context.Context, a billingEmailArgs) (to string, m email.Email, err error) {
	url := w.baseURL + "/dashboard/live/billing"
	if a.Invoice != nil {
		return w.invoice(ctx, a, url)
	}
	account, err := w.db.Account(ctx, *a.Account)
	if err != nil {
		return "", m, err
	}
	return account.BillingEmail, email.Usage(a.Percent, url), nil
}

func (w *billingEmailWorker) invoice(ctx context.Context, a billingEmailArgs, url string) (to string, m email.Email, err error) {
	invoice, err := w.db.InvoiceByID(ctx, *a.Invoice)
	if err != nil {
		return "", m, err
	}
	account, err := w.db.Account(ctx, invoice.AccountID)
	if err != nil {
		return "", m, err
	}
	by, err := w.payment(ctx, invoice.AccountID)
	switch {
	case err != nil:
		return "", m, err
	case a.Failures == 0:
		return account.BillingEmail, email.NewInvoice(invoice, by, url), nil
	case !invoice.Status.Unsettled() || invoice.Failures != a.Failures:
		return "", m, errOutdated // the next failure has its own email
	}
	return account.BillingEmail, email.PaymentFailed(invoice, by, url), nil
}

// payment is how the account pays now.
func (w *billingEmailWorker) payment(ctx context.Context, account domain.AccountID) (email.Payment, error) {
	if w.payments.Name() == (billing.Manual{}).Name() {
		return email.Payment{}, nil
	}
	customer, err := billing.StoredCustomers{DB: w.db}.Customer(ctx, account, w.payments.Name())
	return email.Payment{Cards: true, Card: customer.Label}, err
}
