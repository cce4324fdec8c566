package letter

import (
	"fmt"
	"time"

	"candor/intake"
)

// Invoice tells how an invoice stands: new, failed or settled.
func Invoice(i *intake.Invoice, url string) Letter {
	l := Letter{Button: "Open billing", URL: url}
	what := fmt.Sprintf("%s for %s to %s: %s", i.NumberText(), day(i.PeriodStart), day(i.PeriodEnd.Add(-time.Nanosecond)), i.Total)
	switch {
	case i.Status == intake.InvoicePaid:
		l.Subject = "Invoice " + i.NumberText() + " is paid"
		l.Lines = []string{what + ".", "It is paid. Thank you."}
	case i.Status == intake.InvoiceVoid:
		l.Subject = "Invoice " + i.NumberText() + " is void"
		l.Lines = []string{what + ".", "It was taken back: you don’t owe anything by it."}
	case i.Status == intake.InvoiceFailed && i.NextAttemptAt == nil:
		l.Subject = "Invoice " + i.NumberText() + " is past due"
		l.Lines = []string{what + ".", *i.FailureReason, "It isn’t tried again by itself. Please pay it, or write to us; your subscription is past due until then. Live sessions keep working."}
	case i.Status == intake.InvoiceFailed:
		l.Subject = "The payment of invoice " + i.NumberText() + " failed"
		l.Lines = []string{what + ".", *i.FailureReason, fmt.Sprintf("We try again on %s.", day(*i.NextAttemptAt))}
	default:
		l.Subject = "Your invoice " + i.NumberText()
		l.Lines = []string{what + ".", fmt.Sprintf("It is due on %s. You find it as a PDF, and how to pay it, in the dashboard.", day(i.DueAt))}
	}
	return l
}

// Usage tells that so many percent of a plan's included sessions are used.
func Usage(percent int, url string) Letter {
	l := Letter{
		Subject: fmt.Sprintf("%d %% of your plan is used", percent), Button: "Open billing", URL: url,
		Lines: []string{fmt.Sprintf("Your live sessions of this billing period have come to %d %% of those that your plan includes.", percent)},
	}
	if percent < 100 {
		l.After = []string{"Nothing stops at 100 %: sessions beyond those included are charged at your plan’s price for each."}
	} else {
		l.After = []string{"Further sessions are charged at your plan’s price for each. You can see what it comes to, and change the plan, in the dashboard."}
	}
	return l
}
