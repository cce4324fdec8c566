package db

import (
	"context"
	"time"

	"candor/internal/domain"
)

const invoiceColumns = `id, number, account_id, subscription_id, period_start, period_end, issued_at, due_at, account_name, billing_email, currency,
	sessions_used, lines, total_cents, gst_basis_points, gst_cents, seller, buyer, status, failures, early_failures,
		failure_reason, next_attempt_at, settled_at, reference`

// NextInvoiceNumber takes the next invoice number. It holds all other invoices
// up until the transaction ends, so that numbers have no gap; take it as late
// as possible.
func (tx *Tx) NextInvoiceNumber(ctx context.Context) (int64, error) {
	var n int64
	err := tx.get(ctx, &n, `UPDATE invoice_number SET last = last + 1 RETURNING last`)
	return n, wrap(err, "take invoice number")
}

// InsertInvoice stores an invoice. A second one for a period is refused by the
// database.
func (tx *Tx) InsertInvoice(ctx context.Context, i *domain.Invoice) error {
	_, err := tx.execNamed(ctx, `
		INSERT INTO invoice (`+invoiceColumns+`)
		VALUES (:id, :number, :account_id, :subscription_id, :period_start, :period_end, :issued_at, :due_at, :account_name,
			:billing_email, :currency, :sessions_used, :lines,
			:total_cents, :gst_basis_points, :gst_cents, :seller, :buyer, :status, :failures,
			:early_failures, :failure_reason, :next_attempt_at, :settled_at, :reference)`, i)
	tx.announceInvoice(i)
	return wrap(err, "insert invoice")
}

// announceInvoice tells those who follow the account's invoices, which pages of both
// modes show.
func (tx *Tx) announceInvoice(i *domain.Invoice) {
	for _, live := range []bool{false, true} {
		tx.Announce(domain.Scope{AccountID: i.AccountID, Livemode: live}, domain.InvoiceChanged, nil)
	}
}

// Invoices returns up to limit invoices of an account, the newest first, from
// the one after the number before on; 0 for the newest.
func (q *Queries) Invoices(ctx context.Context, account domain.AccountID, before int64, limit int) ([]domain.Invoice, error) {
	l := list{columns: invoiceColumns, order: "number DESC"}
	l.add("account_id =", account)
	if before > 0 {
		l.below("number", before)
	}
	l.from("invoice")
	var out []domain.Invoice
	err := q.all(ctx, &out, l.first(l.arg(limit)), l.args...)
	return out, wrap(err, "list invoices")
}

// UnpaidInvoice returns the account's oldest invoice that is neither paid nor
// void, or ErrNotFound.
func (q *Queries) UnpaidInvoice(ctx context.Context, account domain.AccountID) (*domain.Invoice, error) {
	var i domain.Invoice
	err := q.get(ctx, &i, `
		SELECT `+invoiceColumns+` FROM invoice
		WHERE account_id = $1 AND status IN ('open', 'failed')
		ORDER BY number LIMIT 1`, account)
	return &i, wrap(err, "get unpaid invoice")
}

// NewestInvoice returns the newest invoice of all accounts, or ErrNotFound.
func (q *Queries) NewestInvoice(ctx context.Context) (*domain.Invoice, error) {
	var i domain.Invoice
	err := q.get(ctx, &i, `SELECT `+invoiceColumns+` FROM invoice ORDER BY number DESC LIMIT 1`)
	return &i, wrap(err, "get newest invoice")
}

// UnsettledInvoices returns the invoices of all accounts that aren't settled,
// the oldest first.
func (q *Queries) UnsettledInvoices(ctx context.Context) ([]domain.Invoice, error) {
	var out []domain.Invoice
	err := q.all(ctx, &out, `SELECT `+invoiceColumns+` FROM invoice WHERE settled_at IS NULL ORDER BY number`)
	return out, wrap(err, "list unsettled invoices")
}

// Invoice returns an invoice of the account, or ErrNotFound.
func (q *Queries) Invoice(ctx context.Context, account domain.AccountID, id domain.InvoiceID) (*domain.Invoice, error) {
	var i domain.Invoice
	err := q.get(ctx, &i, `SELECT `+invoiceColumns+` FROM invoice WHERE id = $1 AND account_id = $2`, id, account)
	return &i, wrap(err, "get invoice")
}

// InvoiceByID returns an invoice, or ErrNotFound.
func (q *Queries) InvoiceByID(ctx context.Context, id domain.InvoiceID) (*domain.Invoice, error) {
	var i domain.Invoice
	err := q.get(ctx, &i, `SELECT `+invoiceColumns+` FROM invoice WHERE id = $1`, id)
	return &i, wrap(err, "get invoice")
}

// LockInvoice returns an invoice, locked for this transaction, or ErrNotFound.
func (tx *Tx) LockInvoice(ctx context.Context, id domain.InvoiceID) (*domain.Invoice, error) {
	var i domain.Invoice
	err := tx.get(ctx, &i, `SELECT `+invoiceColumns+` FROM invoice WHERE id = $1 FOR UPDATE`, id)
	return &i, wrap(err, "lock invoice")
}

// InvoiceByNumber returns the id of the invoice of that number, or ErrNotFound.
func (q *Queries) InvoiceByNumber(ctx context.Context, number int64) (domain.InvoiceID, error) {
	var id domain.InvoiceID
	err := q.get(ctx, &id, `SELECT id FROM invoice WHERE number = $1`, number)
	return id, wrap(err, "find invoice")
}

// UpdatePayment stores how the payment of a locked invoice stands.
func (tx *Tx) UpdatePayment(ctx context.Context, i *domain.Invoice) error {
	result, err := tx.execNamed(ctx, `
		UPDATE invoice SET status = :status, failures = :failures, early_failures = :early_failures, failure_reason = :failure_reason,
			next_attempt_at = :next_attempt_at,
			settled_at = :settled_at, reference = :reference
		WHERE id = :id`, i)
	tx.announceInvoice(i)
	return changedOne(result, err, "update payment")
}

// ClaimPayment returns an invoice whose payment is due at now, and puts it off
// until later: so that another worker doesn't try it, too, and that it is tried
// again where this one dies. ErrNotFound where none is due.
func (d *DB) ClaimPayment(ctx context.Context, now, later time.Time) (*domain.Invoice, error) {
	var i domain.Invoice
	err := d.get(ctx, &i, `
		WITH due AS MATERIALIZED (
			SELECT id AS due_id FROM invoice WHERE next_attempt_at <= $1 ORDER BY next_attempt_at LIMIT 1 FOR UPDATE SKIP LOCKED)
		UPDATE invoice SET next_attempt_at = $2 FROM due WHERE id = due_id
		RETURNING `+invoiceColumns, now, later)
	return &i, wrap(err, "claim payment")
}

// NoteReminders returns unsettled invoices that are due within
// domain.ReminderBefore of now, and notes that they were reminded of: each is
// returned once. Invoices that are due within domain.ReminderTerms of their issue
// have no reminder.
func (tx *Tx) NoteReminders(ctx context.Context, now time.Time) ([]domain.InvoiceID, error) {
	var ids []domain.InvoiceID
	err := tx.all(ctx, &ids, `
		WITH due AS MATERIALIZED (
			SELECT id AS due_id FROM invoice
			WHERE settled_at IS NULL AND reminded_at IS NULL AND due_at > $1 AND due_at <= $2
				AND due_at - issued_at >= $3 * interval '1 second'
			ORDER BY number LIMIT 100 FOR UPDATE SKIP LOCKED)
		UPDATE invoice SET reminded_at = $1 FROM due WHERE id = due_id
		RETURNING id`, now, now.Add(domain.ReminderBefore), int64(domain.ReminderTerms/time.Second))
	return ids, wrap(err, "note reminders")
}

// HasFailedInvoice reports whether the account has an invoice whose payment
// failed as often as it is tried by itself, since it was due. One that is tried
// once more, as when a card was stored, is still such.
func (tx *Tx) HasFailedInvoice(ctx context.Context, account domain.AccountID) (bool, error) {
	var has bool
	err := tx.get(ctx, &has, `
		SELECT EXISTS (SELECT 1 FROM invoice WHERE account_id = $1 AND status = 'failed'
			AND failures - early_failures > $2)`, account, domain.PaymentRetries)
	return has, wrap(err, "look for failed invoices")
}

// NotePaymentEvent remembers what a payment provider told and reports whether
// it is new.
func (tx *Tx) NotePaymentEvent(ctx context.Context, provider, id string, now time.Time) (bool, error) {
	result, err := tx.exec(ctx, `
		INSERT INTO payment_event (provider, id, created_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`, provider, id, now)
	n, err := affected(result, err, "note payment event")
	return n > 0, err
}

// PaymentMethod is how an account pays where a provider collects by itself.
type PaymentMethod struct {
	AccountID  domain.AccountID `db:"account_id"`
	Provider   string           `db:"provider"`
	CustomerID string           `db:"customer_id"` // the account's at the provider
	MethodID   *string          `db:"method_id"`   // nil until one is stored there
	Label      *string          `db:"label"`       // "Visa ending in 4242"
}

// PaymentMethod returns how an account pays at a provider, or ErrNotFound.
func (q *Queries) PaymentMethod(ctx context.Context, account domain.AccountID, provider string) (*PaymentMethod, error) {
	var m PaymentMethod
	err := q.get(ctx, &m, `
		SELECT account_id, provider, customer_id, method_id, label FROM payment_method WHERE account_id = $1
			AND provider = $2`, account, provider)
	return &m, wrap(err, "get payment method")
}

// SetCustomer stores an account's customer at a provider in the place of the
// former one, "" for none, unless it has another there.
func (q *Queries) SetCustomer(ctx context.Context, m *PaymentMethod, former string) error {
	_, err := q.exec(ctx, `
		INSERT INTO payment_method AS m (account_id, provider, customer_id) VALUES ($1, $2, $3)
		ON CONFLICT (account_id) DO UPDATE SET provider = excluded.provider, customer_id = excluded.customer_id, method_id = NULL,
			label = NULL
			WHERE m.provider <> excluded.provider OR m.customer_id = $4`, m.AccountID, m.Provider, m.CustomerID, former)
	return wrap(err, "set customer")
}

// SetPaymentMethod stores how the account with that customer at the provider
// pays, and returns the account. ErrNotFound where there is none, or where it
// pays by this method or a newer one already; at is when the method was made.
func (tx *Tx) SetPaymentMethod(ctx context.Context, provider, customer, method, label string,
	at time.Time) (domain.AccountID, error) {
	var id domain.AccountID
	err := tx.get(ctx, &id, `
		UPDATE payment_method SET method_id = $3, label = $4, method_at = $5
		WHERE provider = $1 AND customer_id = $2 AND (method_at IS NULL OR method_at < $5)
		RETURNING account_id`, provider, customer, method, label, at)
	return id, wrap(err, "set payment method")
}

// DropPaymentMethod forgets a method of payment that is no longer stored at the
// provider, and returns its account and its label. Returns
// ErrNotFound if no account has it.
func (tx *Tx) DropPaymentMethod(ctx context.Context, provider, method string) (account domain.AccountID, label string,
	err error) {
	err = tx.row(ctx, `
		UPDATE payment_method m SET method_id = NULL, label = NULL
		FROM (SELECT account_id, label FROM payment_method WHERE provider = $1 AND method_id = $2 FOR UPDATE) was
		WHERE m.account_id = was.account_id
		RETURNING was.account_id, coalesce(was.label, '')`, provider, method).Scan(&account, &label)
	return account, label, wrap(err, "drop payment method")
}

// PayNow brings the payments of an account's unsettled invoices forward to now,
// as when a payment method was added. One that hasn't failed isn't charged before it is
// due: until then a transfer can be on its way.
func (tx *Tx) PayNow(ctx context.Context, account domain.AccountID, now time.Time) error {
	_, err := tx.exec(ctx, `
		UPDATE invoice SET next_attempt_at = CASE WHEN status = 'failed' THEN $2 ELSE greatest($2, due_at) END
		WHERE account_id = $1 AND settled_at IS NULL`, account, now)
	return wrap(err, "bring payments forward")
}

// SetBillingEmail stores where an account's invoices go.
func (tx *Tx) SetBillingEmail(ctx context.Context, account domain.AccountID, email string) error {
	result, err := tx.exec(ctx, `UPDATE account SET billing_email = $2 WHERE id = $1`, account, email)
	return changedOne(result, err, "set billing email")
}

// UsageNotice is a threshold of an account's usage of a plan that was reached.
type UsageNotice struct {
	AccountID   domain.AccountID `db:"account_id"`
	PeriodStart time.Time        `db:"period_start"`
	PlanID      string           `db:"plan_id"`
	Percent     int              `db:"percent"`
}

// InsertUsageNotice records that an account is notified of a threshold. It
// returns false if it was before.
func (tx *Tx) InsertUsageNotice(ctx context.Context, n UsageNotice, now time.Time) (bool, error) {
	result, err := tx.exec(ctx, `
		INSERT INTO usage_notice (account_id, period_start, plan_id, percent, at) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`,
		n.AccountID, n.PeriodStart, n.PlanID, n.Percent, now)
	inserted, err := affected(result, err, "insert usage notice")
	return inserted > 0, err
}

// HeavyUse is an account that used much of its plan in the open period, with
// what it carries from an interrupted one.
type HeavyUse struct {
	AccountID   domain.AccountID `db:"account_id"`
	PeriodStart time.Time        `db:"period_start"`
	PlanID      string           `db:"plan_id"`
	Used        int              `db:"used"`
	Included    int              `db:"included"`
	Told        int              `db:"told"` // the highest threshold of this plan that it was notified of, percent
}

// HeavyUses returns the accounts that have reached FirstUsageThreshold of their
// plan in the open period.
func (q *Queries) HeavyUses(ctx context.Context, now time.Time) ([]HeavyUse, error) {
	var out []HeavyUse
	err := q.all(ctx, &out, `
		SELECT s.account_id, s.billed_to AS period_start, s.plan_id, u.used, p.sessions_included AS included, coalesce(n.told,
			0) AS told
		FROM subscription s
		JOIN plan p ON p.id = s.plan_id AND p.sessions_included IS NOT NULL
		CROSS JOIN LATERAL (
			SELECT coalesce(sum(sessions), 0) + CASE WHEN s.billed_to = s.started_at THEN s.carried_sessions ELSE 0 END AS used
			FROM subscription_usage u WHERE u.account_id = s.account_id AND u.period_start = s.billed_to) u
		CROSS JOIN LATERAL (
			SELECT max(percent) AS told FROM usage_notice n WHERE n.account_id = s.account_id AND n.period_start = s.billed_to
				AND n.plan_id = s.plan_id) n
		WHERE s.closes_at IS NOT NULL AND (s.effective_at IS NULL OR s.effective_at > $2)
			AND u.used * 100 >= p.sessions_included * $1`, domain.FirstUsageThreshold, now)
	return out, wrap(err, "list heavy users")
}

// PutOffPayment puts the next attempt at an invoice's payment off, where one is
// still expected and none has failed since the invoice was read.
func (tx *Tx) PutOffPayment(ctx context.Context, i *domain.Invoice, to time.Time) error {
	_, err := tx.exec(ctx, `
		UPDATE invoice SET next_attempt_at = $3 WHERE id = $1 AND failures = $2 AND settled_at IS NULL`, i.ID, i.Failures, to)
	return wrap(err, "put payment off")
}
