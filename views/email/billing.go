package email

import (
	"fmt"
	"time"

	"candor/internal/domain"
	"candor/internal/statement"
)

// Payment is how an account pays what it owes.
type Payment struct {
	Cards  bool   // paid by card, else by bank transfer
	Card   string // "Visa ending in 4242"; "" for none stored
	Admits bool   // the account's subscription admits live sessions
}

// allUTC ends emails that have dates in them.
const allUTC = "All dates are UTC."

// invoiceEmail is what emails about an invoice have in common.
func invoiceEmail(i *domain.Invoice, subject, url string, lines ...string) Email {
	what := fmt.Sprintf("%s for %s to %s UTC: %s.", i.NumberText(), dateTime(i.PeriodStart), dateTime(i.PeriodEnd), i.Total)
	return Email{Subject: fmt.Sprintf(subject, i.NumberText()), Lines: append([]string{what}, lines...), After: []string{allUTC},
		Button: "Open invoice", URL: url}
}

// dateTime has a time of day: a period ends when the next one starts.
func dateTime(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04") }

// NewInvoice announces an unpaid invoice. If it has been voided since, or its
// payment has failed, the email says so.
func NewInvoice(i *domain.Invoice, by Payment, url string) Email {
	if i.Status == domain.InvoiceVoid {
		return invoiceEmail(i, "Invoice %s is void", url, "We took it back. You don’t owe anything for it.")
	}
	line := fmt.Sprintf("It is due on %s. The attached PDF says how to pay it.", day(i.DueAt))
	switch {
	case by.Cards && by.Card == "":
		line = "No card is stored. Add one in the dashboard, under Billing, and we charge this invoice to it. The PDF is attached."
	case by.Cards && i.Failures > 0: // this email was late
		line = "We couldn’t collect it so far. Another email says why, and what is next. The PDF is attached."
	case by.Cards && i.DueAt.After(i.IssuedAt):
		line = fmt.Sprintf("We charge it to your card, %s, on %s. The PDF is attached.", by.Card, day(i.DueAt))
	case by.Cards:
		line = fmt.Sprintf("We charge it to your card, %s. The PDF is attached.", by.Card)
	}
	return invoiceEmail(i, "Your invoice %s", url, line)
}

// Receipt reports that an invoice is paid.
func Receipt(i *domain.Invoice, url string) Email {
	lines := []string{"It is paid. Thank you. The attached PDF is your receipt."}
	if i.SettledAt != nil {
		lines[0] = fmt.Sprintf("It was paid on %s. Thank you. The attached PDF is your receipt.", day(*i.SettledAt))
	}
	if i.Reference != nil {
		lines = append(lines, "Payment reference: "+*i.Reference)
	}
	return invoiceEmail(i, "Receipt for invoice %s", url, lines...)
}

// Reminder reports that an unpaid invoice is due soon.
func Reminder(i *domain.Invoice, by Payment, url string) Email {
	subject := "Invoice %s is due on " + day(i.DueAt)
	if by.Cards {
		return invoiceEmail(i, subject, url,
			"No card is stored. Add one in the dashboard, under Billing, and we charge this invoice to it.")
	}
	return invoiceEmail(i, subject, url,
		fmt.Sprintf("Pay it by bank transfer, with %s as the reference. The attached PDF has the bank details.", i.NumberText()),
		"If you have paid it already, do nothing: a transfer can take some days.")
}

// PaymentFailed tells why the invoice's latest payment failed and what is next.
func PaymentFailed(i *domain.Invoice, by Payment, url string) Email {
	if !by.Cards {
		return transferMissing(i, by, url)
	}
	if i.NextAttemptAt == nil {
		return invoiceEmail(i, "Invoice %s is past due", url, *i.FailureReason,
			"We don’t try again by ourselves. Use another card, or write to us. "+
				by.owed("Your subscription is past due until the invoice is paid."))
	}
	next := fmt.Sprintf("We try again on %s.", day(*i.NextAttemptAt))
	if by.Card == "" {
		next += " Add a card in the dashboard, and we charge it at once."
	}
	return invoiceEmail(i, "The payment of invoice %s failed", url, *i.FailureReason, next)
}

// owed says what an unpaid invoice means: to a subscription that admits live
// sessions, what pastDue says.
func (p Payment) owed(pastDue string) string {
	if !p.Admits {
		return "The invoice is still owed."
	}
	return pastDue + " Live sessions keep working."
}

// transferMissing is PaymentFailed for bank transfers, which Candor can't retry:
// it only checks again what has arrived.
func transferMissing(i *domain.Invoice, by Payment, url string) Email {
	how := fmt.Sprintf("by bank transfer, with %s as the reference", i.NumberText())
	if i.NextAttemptAt == nil {
		return invoiceEmail(i, "Invoice %s is past due", url, *i.FailureReason,
			fmt.Sprintf("Pay it %s, or write to us. ", how)+by.owed("Your subscription is past due until then."))
	}
	if !i.Overdue() {
		return invoiceEmail(i, "The payment of invoice %s failed", url, *i.FailureReason,
			fmt.Sprintf("It is due on %s. Pay it %s.", day(i.DueAt), how))
	}
	return invoiceEmail(i, "Invoice %s is overdue", url, *i.FailureReason,
		fmt.Sprintf("It was due on %s. Pay it %s.", day(i.DueAt), how),
		fmt.Sprintf("We look again on %s. ", day(*i.NextAttemptAt))+
			by.owed(fmt.Sprintf("If it hasn’t arrived by %s, your subscription is past due after that.", day(i.LastAttemptAt()))))
}

// Usage reports how many sessions are used of those that the plan includes, and what
// the period has cost so far. The spend cap is nil for none.
func Usage(used int, of domain.Plan, total statement.Cents, spendCap *statement.Cents, url string) Email {
	price := statement.Cents(*of.OverageCents).Short()
	e := Email{
		Subject: fmt.Sprintf("You’ve used %d of your %d included sessions", used, *of.SessionsIncluded),
		Button:  "Open billing", URL: url,
		Lines: []string{fmt.Sprintf("You’ve used %d of the %d live sessions that %s includes in this billing period.", used,
			*of.SessionsIncluded, of.Name)},
	}
	if extra := of.Overage(used); extra > 0 {
		e.Subject = fmt.Sprintf("You’ve used all your %d included sessions, and %d extra", *of.SessionsIncluded, extra)
		e.Lines = []string{
			fmt.Sprintf("You’ve used all %d live sessions that %s includes in this billing period.", *of.SessionsIncluded, of.Name),
			fmt.Sprintf("That is %d extra at %s each. This period has cost %s so far.", extra, price, total),
		}
	}
	e.After = []string{fmt.Sprintf(
		"Nothing stops at %d. Each extra session costs %s. You can set a spend cap, or change the plan, under Billing.",
		*of.SessionsIncluded, price)}
	if spendCap != nil {
		e.After = []string{fmt.Sprintf(
			"Each extra session costs %s. Live sessions stop at the spend cap of %s. You can change the cap, or the plan, under Billing.",
			price, spendCap.Short())}
	}
	return e
}

// SpendAlert reports that a period, which ends at end, has come to an amount at
// which the account wants an email.
func SpendAlert(total, alert statement.Cents, end time.Time, url string) Email {
	return Email{
		Subject: fmt.Sprintf("You’ve spent %s in this billing period", total), Button: "Open billing", URL: url,
		Lines: []string{
			fmt.Sprintf("Your live sessions have cost %s in the billing period that ends on %s. You asked for an email at %s.", total,
				day(end), alert.Short()),
			"You can change your alerts, or set a spend cap, under Billing.",
		},
		After: []string{allUTC},
	}
}

// SpendCap reports that a period, which ends at end, has come to the account's
// spend cap.
func SpendCap(total, limit statement.Cents, end time.Time, url string) Email {
	return Email{
		Subject: fmt.Sprintf("Live sessions are stopped: your spend cap of %s is reached", limit.Short()),
		Button:  "Open billing", URL: url,
		Lines: []string{
			fmt.Sprintf(
				"Your live sessions have cost %s in the billing period that ends on %s. The next one would go beyond your spend cap of %s, so Candor refuses it.", total, day(end), limit.Short()),
			"Forms that are open keep working. To create live sessions again now, raise or remove the cap under Billing.",
		},
		After: []string{allUTC},
	}
}
