package email

import (
	"fmt"
	"time"

	"candor/internal/domain"
)

// Payment is how an account pays what it owes.
type Payment struct {
	Cards bool   // paid by card, else by bank transfer
	Card  string // "Visa ending in 4242"; "" for none stored
}

// allUTC ends emails that have dates in them.
const allUTC = "All dates are UTC."

// invoiceEmail is what emails about an invoice have in common.
func invoiceEmail(i *domain.Invoice, subject, url string, lines ...string) Email {
	what := fmt.Sprintf("%s for %s to %s UTC: %s.", i.NumberText(), dateTime(i.PeriodStart), dateTime(i.PeriodEnd), i.Total)
	return Email{Subject: fmt.Sprintf(subject, i.NumberText()), Lines: append([]string{what}, lines...), After: []string{allUTC}, Button: "Open billing", URL: url}
}

// dateTime has a time of day: a period ends when the next one starts.
func dateTime(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04") }

// NewInvoice announces an invoice. If the invoice has been settled since, or its
// payment has failed, the email says so.
func NewInvoice(i *domain.Invoice, by Payment, url string) Email {
	switch i.Status {
	case domain.InvoicePaid:
		return invoiceEmail(i, "Invoice %s is paid", url, "It is paid. Thank you.")
	case domain.InvoiceVoid:
		return invoiceEmail(i, "Invoice %s is void", url, "It was taken back: you don’t owe anything by it.")
	}
	line := fmt.Sprintf("It is due on %s. You find it as a PDF, and how to pay it, in the dashboard.", day(i.DueAt))
	switch {
	case by.Cards && by.Card == "":
		line = "No card is stored: store one in the dashboard, and it is charged to that. You find it as a PDF there, too."
	case by.Cards && i.Failures > 0: // this email was late
		line = "It couldn’t be collected so far: another email says why, and what is next. You find it as a PDF in the dashboard."
	case by.Cards && i.DueAt.After(i.IssuedAt):
		line = fmt.Sprintf("It is charged to your card, %s, on %s. You find it as a PDF in the dashboard.", by.Card, day(i.DueAt))
	case by.Cards:
		line = fmt.Sprintf("It is charged to your card, %s. You find it as a PDF in the dashboard.", by.Card)
	}
	return invoiceEmail(i, "Your invoice %s", url, line)
}

// PaymentFailed tells why the invoice's latest payment failed and what is next.
func PaymentFailed(i *domain.Invoice, by Payment, url string) Email {
	if !by.Cards {
		return transferMissing(i, url)
	}
	if i.NextAttemptAt == nil {
		return invoiceEmail(i, "Invoice %s is past due", url, *i.FailureReason,
			"It isn’t tried again by itself. Please pay it, or write to us; your subscription is past due until then. Live sessions keep working.")
	}
	next := fmt.Sprintf("We try again on %s.", day(*i.NextAttemptAt))
	if by.Card == "" {
		next += " Store a card in the dashboard, and it is charged at once."
	}
	return invoiceEmail(i, "The payment of invoice %s failed", url, *i.FailureReason, next)
}

// transferMissing is PaymentFailed for bank transfers, which Candor can't retry:
// it only checks again what has arrived.
func transferMissing(i *domain.Invoice, url string) Email {
	how := fmt.Sprintf("by bank transfer, with %s as the reference", i.NumberText())
	if i.NextAttemptAt == nil {
		return invoiceEmail(i, "Invoice %s is past due", url, *i.FailureReason,
			fmt.Sprintf("Please pay it %s, or write to us; your subscription is past due until then. Live sessions keep working.", how))
	}
	if !i.Overdue() {
		return invoiceEmail(i, "The payment of invoice %s failed", url, *i.FailureReason,
			fmt.Sprintf("It is due on %s. Please pay it %s.", day(i.DueAt), how))
	}
	return invoiceEmail(i, "Invoice %s is overdue", url, *i.FailureReason,
		fmt.Sprintf("It was due on %s. Please pay it %s.", day(i.DueAt), how),
		fmt.Sprintf("We look again on %s. If it hasn’t arrived by %s, your subscription is past due after that; live sessions keep working.",
			day(*i.NextAttemptAt), day(i.LastAttemptAt())))
}

// Usage reports how many percent of the plan's included sessions are used.
func Usage(percent int, url string) Email {
	e := Email{
		Subject: fmt.Sprintf("%d %% of your plan is used", percent), Button: "Open billing", URL: url,
		Lines: []string{fmt.Sprintf("Your live sessions of this billing period have come to %d %% of those that your plan includes.", percent)},
	}
	if percent < 100 {
		e.After = []string{"Nothing stops at 100 %: sessions beyond those included are charged at your plan’s price for each."}
	} else {
		e.After = []string{"Further sessions are charged at your plan’s price for each. You can see what it comes to, and change the plan, in the dashboard."}
	}
	return e
}
