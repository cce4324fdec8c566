package domain

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"time"

	"candor/internal/statement"
)

// Currency is the currency of all prices (D2).
const Currency = "AUD"

// A PlanStretch is a part of a period under one plan. From is how many
// sessions were used before it, with carried sessions.
type PlanStretch struct {
	Plan
	From int
}

// An InvoiceLine is sessions at one price. Amounts are in cents.
type InvoiceLine struct {
	Plan     string // its name
	Included *int   // the plan's included sessions, on the line of sessions within them; nil for overage and for an unlimited plan
	Overage  bool   // beyond the included ones
	Sessions int
	Carried  int // carried sessions, which reduce the included ones; on the first line
	Price    statement.Cents
	Amount   statement.Cents
}

// storedLine is an InvoiceLine in whole cents. The JSON of Cents is in
// dollars.
type storedLine struct {
	Plan        string `json:"plan"`
	Included    *int   `json:"included,omitempty"`
	Overage     bool   `json:"overage"`
	Sessions    int    `json:"sessions"`
	Carried     int    `json:"carried,omitempty"`
	PriceCents  int64  `json:"price_cents"`
	AmountCents int64  `json:"amount_cents"`
}

// InvoiceLines are an invoice's lines, stored as JSON.
type InvoiceLines []InvoiceLine

// Value encodes the lines for the database.
func (l InvoiceLines) Value() (driver.Value, error) {
	stored := make([]storedLine, len(l))
	for i, line := range l {
		stored[i] = storedLine{line.Plan, line.Included, line.Overage, line.Sessions, line.Carried, int64(line.Price),
			int64(line.Amount)}
	}
	b, err := json.Marshal(stored)
	return string(b), err
}

// Scan decodes stored lines.
func (l *InvoiceLines) Scan(value any) error {
	b, ok := value.([]byte)
	if !ok {
		return fmt.Errorf("domain: invoice lines: %T", value)
	}
	var stored []storedLine
	if err := json.Unmarshal(b, &stored); err != nil {
		return fmt.Errorf("domain: invoice lines: %w", err)
	}
	*l = make(InvoiceLines, len(stored))
	for i, s := range stored {
		(*l)[i] = InvoiceLine{s.Plan, s.Included, s.Overage, s.Sessions, s.Carried, statement.Cents(s.PriceCents),
			statement.Cents(s.AmountCents)}
	}
	return nil
}

// Total is the sum of the lines, in cents.
func (l InvoiceLines) Total() (sum statement.Cents) {
	for _, line := range l {
		sum += line.Amount
	}
	return sum
}

// PriceSessions prices the sessions used in a period. A session's price is
// fixed when it is created: by the plan at that time, and by how many sessions
// were used before it under any plan. So a step up doesn't change the price of
// earlier sessions, and the new plan's included sessions count from the start
// of the period.
func PriceSessions(stretches []PlanStretch, used int) InvoiceLines {
	var lines InvoiceLines
	for i, s := range stretches {
		to := stretches[0].From + used
		if i+1 < len(stretches) {
			to = stretches[i+1].From
		}
		sessions, overage := to-s.From, s.Overage(to)-s.Overage(s.From)
		if within := sessions - overage; within > 0 || i == len(stretches)-1 && overage == 0 {
			lines = append(lines, InvoiceLine{Plan: s.Name, Included: s.SessionsIncluded, Sessions: within})
		}
		if overage > 0 {
			price := statement.Cents(*s.OverageCents)
			lines = append(lines, InvoiceLine{Plan: s.Name, Overage: true, Sessions: overage, Price: price,
				Amount: price * statement.Cents(overage)})
		}
	}
	if len(lines) > 0 && stretches[0].SessionsIncluded != nil {
		lines[0].Carried = stretches[0].From
	}
	return lines
}

// ByCreation returns a function that returns the line of each session, in the
// order of their creation; ok is false after the last one. A session's price is
// fixed when it is created, so the lines follow that order.
func (l InvoiceLines) ByCreation() func() (line InvoiceLine, ok bool) {
	at, used := 0, 0
	return func() (InvoiceLine, bool) {
		for at < len(l) && used == l[at].Sessions {
			at, used = at+1, 0
		}
		if at == len(l) {
			return InvoiceLine{}, false
		}
		used++
		return l[at], true
	}
}

// Carried is the number of carried sessions.
func (l InvoiceLines) Carried() int {
	if len(l) == 0 {
		return 0
	}
	return l[0].Carried
}

// A Projection is a period's expected usage at the present rate; Total is in
// cents.
type Projection struct {
	Sessions int
	Total    statement.Cents
}

// GSTIn returns the goods and services tax included in an amount, in cents,
// halves away from zero. The rate is in basis points: 1000 is 10 %.
func GSTIn(amount statement.Cents, basisPoints int) statement.Cents {
	rate := statement.Cents(basisPoints)
	return (amount*rate*2 + 10_000 + rate) / (2 * (10_000 + rate))
}

// An InvoiceStatus is an invoice's state (D46).
type InvoiceStatus string

// The states of an invoice (D46). A failed invoice is tried again at
// NextAttemptAt, unless that is nil.
const (
	InvoiceOpen   InvoiceStatus = "open"
	InvoicePaid   InvoiceStatus = "paid"
	InvoiceFailed InvoiceStatus = "failed"
	InvoiceVoid   InvoiceStatus = "void"
)

// Unsettled reports whether a payment is still expected.
func (s InvoiceStatus) Unsettled() bool { return s == InvoiceOpen || s == InvoiceFailed }

// An Invoice is what an account owes for a period (D46). Its lines and amounts
// never change; its payment does. Times are UTC, amounts in cents.
type Invoice struct {
	ID             InvoiceID       `db:"id"`
	Number         int64           `db:"number"` // 1, 2, 3 … over all accounts, without a gap
	AccountID      AccountID       `db:"account_id"`
	SubscriptionID SubscriptionID  `db:"subscription_id"`
	PeriodStart    time.Time       `db:"period_start"`
	PeriodEnd      time.Time       `db:"period_end"`
	IssuedAt       time.Time       `db:"issued_at"`
	DueAt          time.Time       `db:"due_at"`
	AccountName    string          `db:"account_name"` // at the time of issue
	BillingEmail   string          `db:"billing_email"`
	Currency       string          `db:"currency"`
	SessionsUsed   int             `db:"sessions_used"`
	Lines          InvoiceLines    `db:"lines"`
	Total          statement.Cents `db:"total_cents"` // GST included
	GSTBasisPoints int             `db:"gst_basis_points"`
	GST            statement.Cents `db:"gst_cents"`
	Seller         Seller          `db:"seller"` // at the time of issue
	Buyer          Buyer           `db:"buyer"`  // at the time of issue

	Status        InvoiceStatus `db:"status"`
	Failures      int           `db:"failures"`        // of payments
	EarlyFailures int           `db:"early_failures"`  // of these, before DueAt
	FailureReason *string       `db:"failure_reason"`  // of the last failure
	NextAttemptAt *time.Time    `db:"next_attempt_at"` // of payment; nil for none
	SettledAt     *time.Time    `db:"settled_at"`      // when it was paid or voided
	Reference     *string       `db:"reference"`       // of the payment, or why it is void
}

// InvoicePrefix starts the text of an invoice's number.
const InvoicePrefix = "CAN-"

// NumberText is the invoice's number as text, "CAN-000042".
func (i *Invoice) NumberText() string { return fmt.Sprintf("%s%06d", InvoicePrefix, i.Number) }

// BilledTo is the invoice's buyer, with a name.
func (i *Invoice) BilledTo() Buyer {
	b := i.Buyer
	if b.Name == "" {
		b.Name = i.AccountName
	}
	return b
}

// Taxed reports whether the invoice says that its total includes GST: there is
// a rate, and its seller can charge GST.
func (i *Invoice) Taxed() bool {
	return i.GSTBasisPoints > 0 && i.Seller.ChargesGST()
}

// Title is what the document is called: a tax invoice only if there is tax.
func (i *Invoice) Title() string {
	if i.GST > 0 && i.Taxed() {
		return "Tax invoice"
	}
	return "Invoice"
}

// When accounts are reminded of an invoice.
const (
	ReminderBefore = 3 * 24 * time.Hour // the due date
	ReminderTerms  = 7 * 24 * time.Hour // shorter terms have no reminder
)

// PaymentRetries is how many times a failed payment is retried automatically.
const PaymentRetries = 3

// retryDays are the days from each failed payment to the next attempt.
var retryDays = [PaymentRetries]int{3, 5, 7}

// Fail records that a payment failed at now. It is retried after 3, 5 and 7
// days, then no more. A failure before the invoice is due doesn't count as one
// of these: the next attempt is 3 days later, but not before DueAt.
func (i *Invoice) Fail(reason string, now time.Time) {
	i.Failures++
	i.Status, i.FailureReason, i.NextAttemptAt = InvoiceFailed, &reason, nil
	if now.Before(i.DueAt) {
		i.EarlyFailures++
		next := now.AddDate(0, 0, retryDays[0])
		if next.Before(i.DueAt) {
			next = i.DueAt
		}
		i.NextAttemptAt = &next
	} else if n := i.Failures - i.EarlyFailures; n <= len(retryDays) {
		next := now.AddDate(0, 0, retryDays[n-1])
		i.NextAttemptAt = &next
	}
}

// Overdue reports whether a payment failed when it was due or later, and is
// still expected.
func (i *Invoice) Overdue() bool { return i.Status == InvoiceFailed && i.Failures > i.EarlyFailures }

// LastAttemptAt returns when an invoice with a NextAttemptAt is tried for the
// last time, if every attempt fails.
func (i *Invoice) LastAttemptAt() time.Time {
	at := *i.NextAttemptAt
	// An extra attempt, such as after a new card, can make more failures than
	// retries.
	for _, days := range retryDays[min(i.Failures-i.EarlyFailures, PaymentRetries):] {
		at = at.AddDate(0, 0, days)
	}
	return at
}

// A Seller issues invoices. It is stored with each invoice. Unknown fields are
// empty.
type Seller struct {
	Name     string   `json:"name"`
	ABN      string   `json:"abn"`      // Australian Business Number, as shown
	Address  []string `json:"address"`  // lines
	Transfer []string `json:"transfer"` // how to pay by bank transfer, line by line
	Cards    bool     `json:"cards"`    // collected from the account's card
}

// ChargesGST reports whether the seller can charge GST on an invoice: a tax
// invoice must name the seller and its ABN (GST Act 1999, s 29-70).
func (s *Seller) ChargesGST() bool { return s.Name != "" && s.ABN != "" }

// Lines are the seller's ABN and address, as invoices show them below the name.
func (s *Seller) Lines() []string {
	if s.ABN == "" {
		return s.Address
	}
	return append([]string{"ABN " + s.ABN}, s.Address...)
}

// Value encodes the seller for the database.
func (s Seller) Value() (driver.Value, error) {
	b, err := json.Marshal(s)
	return string(b), err
}

// Scan decodes a stored seller.
func (s *Seller) Scan(value any) error {
	b, ok := value.([]byte)
	if !ok {
		return fmt.Errorf("domain: seller: %T", value)
	}
	*s = Seller{}
	return json.Unmarshal(b, s)
}
