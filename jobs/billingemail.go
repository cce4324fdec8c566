package jobs

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/riverqueue/river"

	"candor/db"
	"candor/internal/billing"
	"candor/internal/domain"
	"candor/internal/platform/mail"
	"candor/internal/statement"
	"candor/views/email"
	"candor/views/pdf"
)

// billingEmailArgs sends an email to an account's billing address: a new invoice,
// its receipt, its reminder, its n-th failed payment, the share of the plan that
// is used, or a spend limit that is reached.
type billingEmailArgs struct {
	emailArgs
	Invoice  *domain.InvoiceID `json:"invoice_id,omitempty"`
	Failures int               `json:"failures,omitempty"`
	Receipt  bool              `json:"receipt,omitempty"`
	Reminder bool              `json:"reminder,omitempty"`
	Account  *domain.AccountID `json:"account_id,omitempty"`
	Percent  int               `json:"percent,omitempty"`
	Alert    *statement.Cents  `json:"alert,omitempty"` // of the account's spending
	Cap      *statement.Cents  `json:"cap,omitempty"`
}

// Kind names the job, by the term of when it was first stored.
func (billingEmailArgs) Kind() string { return "billing_letter" }

// InvoiceEmail sends a new invoice.
func (i *Inserter) InvoiceEmail(ctx context.Context, tx *db.Tx, id domain.InvoiceID) error {
	return i.insert(ctx, tx, billingEmailArgs{Invoice: &id})
}

// ReceiptEmail reports that the invoice is paid.
func (i *Inserter) ReceiptEmail(ctx context.Context, tx *db.Tx, id domain.InvoiceID) error {
	return i.insert(ctx, tx, billingEmailArgs{Invoice: &id, Receipt: true})
}

// ReminderEmail reports that the invoice is due soon.
func (i *Inserter) ReminderEmail(ctx context.Context, tx *db.Tx, id domain.InvoiceID) error {
	return i.insert(ctx, tx, billingEmailArgs{Invoice: &id, Reminder: true})
}

// PaymentFailedEmail reports the invoice's latest failed payment.
func (i *Inserter) PaymentFailedEmail(ctx context.Context, tx *db.Tx, invoice *domain.Invoice) error {
	return i.insert(ctx, tx, billingEmailArgs{Invoice: &invoice.ID, Failures: invoice.Failures})
}

// UsageEmail reports how many percent of the account's plan are used.
func (i *Inserter) UsageEmail(ctx context.Context, tx *db.Tx, account domain.AccountID, percent int) error {
	return i.insert(ctx, tx, billingEmailArgs{Account: &account, Percent: percent})
}

// SpendEmail reports a spend limit that the account's period has reached.
func (i *Inserter) SpendEmail(ctx context.Context, tx *db.Tx, n domain.SpendNotice) error {
	args := billingEmailArgs{Account: &n.AccountID, Alert: &n.Cents}
	if n.Cap {
		args.Alert, args.Cap = nil, &n.Cents
	}
	return i.insert(ctx, tx, args)
}

type billingEmailWorker struct {
	emailWorker[billingEmailArgs]
	db       *db.DB
	sender   mail.Sender
	payments billing.Provider
	fonts    *pdf.Fonts
	baseURL  string
	clock    domain.Clock
}

// NextRetry spaces failed runs: ten within a day.
func (w *billingEmailWorker) NextRetry(job *river.Job[billingEmailArgs]) time.Time {
	return time.Now().Add(time.Duration(job.Attempt*job.Attempt) * 4 * time.Minute)
}

// errOutdated says that the email has nothing true to report any more.
var errOutdated = errors.New("jobs: the email is out of date")

// billingEmail is an email with its address and files.
type billingEmail struct {
	email.Email
	to    string
	files []mail.Attachment
}

// Work sends the email, unless it is out of date.
func (w *billingEmailWorker) Work(ctx context.Context, job *river.Job[billingEmailArgs]) error {
	compose := w.usage
	if job.Args.Invoice != nil {
		compose = w.invoice
	}
	m, err := compose(ctx, job.Args)
	if errors.Is(err, errOutdated) {
		return nil
	}
	if err != nil {
		return err
	}
	return sendEmail(ctx, w.sender, m.to, m.Email, m.files...)
}

// usage reports what is used now, which can be more than when the job was
// inserted.
func (w *billingEmailWorker) usage(ctx context.Context, a billingEmailArgs) (*billingEmail, error) {
	now := w.clock.Now()
	account, err := w.db.Account(ctx, *a.Account)
	if err != nil {
		return nil, err
	}
	s, err := w.db.Subscription(ctx, account.ID, now)
	if errors.Is(err, db.ErrNotFound) {
		return nil, errOutdated
	}
	if err != nil {
		return nil, err
	}
	running, err := billing.RunningOf(ctx, &w.db.Queries, s, now)
	if err != nil {
		return nil, err
	}
	limits, err := w.db.SpendLimits(ctx, account.ID)
	if err != nil {
		return nil, err
	}
	if a.Alert != nil || a.Cap != nil {
		return w.spending(a, account, running, limits)
	}
	used := running.Carried + running.Used
	if s.SessionsIncluded == nil || domain.UsageThreshold(used, *s.SessionsIncluded) < a.Percent {
		return nil, errOutdated // of another plan or period
	}
	return &billingEmail{Email: email.Usage(used, s.Plan, running.Lines().Total(), limits.Cap, w.page("")),
		to: account.BillingEmail}, nil
}

// spending reports what the period has come to, unless a limit was changed or the
// period is over.
func (w *billingEmailWorker) spending(a billingEmailArgs, account *domain.Account, running *billing.Running,
	limits domain.SpendLimits) (*billingEmail, error) {
	total, m := running.Total(running.Used), &billingEmail{to: account.BillingEmail}
	switch {
	case a.Alert != nil && total >= *a.Alert && slices.Contains(limits.Alerts, *a.Alert):
		m.Email = email.SpendAlert(total, *a.Alert, running.Period.End, w.page(""))
	case a.Cap != nil && limits.Cap != nil && *limits.Cap == *a.Cap && !running.Admits(*a.Cap):
		m.Email = email.SpendCap(total, *a.Cap, running.Period.End, w.page(""))
	default:
		return nil, errOutdated
	}
	return m, nil
}

// page is the address of a page below Billing.
func (w *billingEmailWorker) page(below string) string {
	return w.baseURL + "/dashboard/live/billing" + below
}

func (w *billingEmailWorker) invoice(ctx context.Context, a billingEmailArgs) (*billingEmail, error) {
	invoice, err := w.db.InvoiceByID(ctx, *a.Invoice)
	if err != nil {
		return nil, err
	}
	account, err := w.db.Account(ctx, invoice.AccountID)
	if err != nil {
		return nil, err
	}
	by, err := w.payment(ctx, invoice.AccountID)
	if err != nil {
		return nil, err
	}
	m, err := w.about(a, invoice, by)
	if err != nil {
		return nil, err
	}
	file, err := pdf.RenderInvoice(invoice, w.fonts)
	if err != nil {
		return nil, err
	}
	return &billingEmail{Email: m, to: account.BillingEmail, files: []mail.Attachment{
		{Name: invoice.NumberText() + ".pdf", ContentType: "application/pdf", Content: file.Bytes},
	}}, nil
}

// about words an email about an invoice, or returns errOutdated.
func (w *billingEmailWorker) about(a billingEmailArgs, i *domain.Invoice, by email.Payment) (m email.Email, err error) {
	url, paid := w.page("/invoices/"+i.ID.String()), i.Status == domain.InvoicePaid
	switch {
	case a.Receipt:
		return email.Receipt(i, url), nil
	case a.Reminder && (!i.Status.Unsettled() || !w.clock.Now().Before(i.DueAt) || by.Card != ""):
		return m, errOutdated // it is paid, late, or collected by itself
	case a.Reminder:
		return email.Reminder(i, by, url), nil
	case a.Failures == 0 && paid:
		return m, errOutdated // the receipt has its own email
	case a.Failures == 0:
		return email.NewInvoice(i, by, url), nil
	case !i.Status.Unsettled() || i.Failures != a.Failures:
		return m, errOutdated // the next failure has its own email
	}
	return email.PaymentFailed(i, by, url), nil
}

// payment is how the account pays now.
func (w *billingEmailWorker) payment(ctx context.Context, account domain.AccountID) (by email.Payment, err error) {
	s, err := w.db.Subscription(ctx, account, w.clock.Now())
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		return by, err
	}
	by.Admits = err == nil && s.Admits()
	if w.payments.Name() == (billing.Manual{}).Name() {
		return by, nil
	}
	customer, err := billing.StoredCustomers{DB: w.db}.Customer(ctx, account, w.payments.Name())
	by.Cards, by.Card = true, customer.Label
	return by, err
}
