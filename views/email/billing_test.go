package email_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"candor/internal/domain"
	"candor/views/email"
)

// TestInvoiceEmailsFitThePayment: an account that pays by bank transfer never
// reads that a payment is tried, and one that pays by card is never asked to pay.
func TestInvoiceEmailsFitThePayment(t *testing.T) {
	t.Parallel()
	due := time.Date(2026, 7, 15, 0, 12, 0, 0, time.UTC)
	later := func(days int) time.Time { return due.AddDate(0, 0, days) }
	open := domain.Invoice{
		Number: 42, PeriodStart: time.Date(2026, 6, 1, 0, 12, 0, 0, time.UTC), PeriodEnd: time.Date(2026, 7, 1, 0, 12, 0, 0, time.UTC),
		IssuedAt: due.AddDate(0, 0, -14), DueAt: due, Total: 12_345, Status: domain.InvoiceOpen,
	}
	atOnce := open
	atOnce.DueAt = atOnce.IssuedAt
	failing := func(days ...int) *domain.Invoice {
		i := open
		for _, day := range days {
			i.Fail("No money came.", later(day))
		}
		return &i
	}
	paid := open
	paidAt, reference := later(-5), "transfer 7"
	paid.Status, paid.SettledAt, paid.Reference = domain.InvoicePaid, &paidAt, &reference
	card := email.Payment{Cards: true, Card: "Visa ending in 4242"}
	subscribed := card
	subscribed.Admits = true
	for name, tt := range map[string]struct {
		email   email.Email
		subject string
		with    []string
		without []string
	}{
		"new, by transfer": {email.NewInvoice(&open, email.Payment{}, ""), "Your invoice CAN-000042",
			[]string{"CAN-000042 for 1 June 2026, 00:12 to 1 July 2026, 00:12 UTC: $123.45.", "due on 15 July 2026", "how to pay it"},
			[]string{"card"}},
		"new, by card": {email.NewInvoice(&atOnce, card, ""), "Your invoice CAN-000042",
			[]string{"We charge it to your card, Visa ending in 4242."}, []string{"how to pay", "transfer", "due"}},
		"new, by card later": {email.NewInvoice(&open, card, ""), "Your invoice CAN-000042",
			[]string{"We charge it to your card, Visa ending in 4242, on 15 July 2026."}, []string{"how to pay", "transfer"}},
		"new, without a card": {email.NewInvoice(&open, email.Payment{Cards: true}, ""), "Your invoice CAN-000042",
			[]string{"No card is stored. Add one"}, []string{"how to pay", "transfer"}},
		"new, but declined": {email.NewInvoice(failing(-14), card, ""), "Your invoice CAN-000042",
			[]string{"couldn’t collect it so far", "PDF is attached"}, []string{"charge it", "how to pay", "transfer"}},
		"overdue": {email.PaymentFailed(failing(0), email.Payment{Admits: true}, ""), "Invoice CAN-000042 is overdue",
			[]string{"No money came.", "was due on 15 July 2026", "by bank transfer, with CAN-000042 as the reference",
				"look again on 18 July 2026", "by 30 July 2026, your subscription is past due"}, []string{"try", "tried", "card"}},
		"overdue, the last look": {email.PaymentFailed(failing(0, 3, 8), email.Payment{Admits: true}, ""),
			"Invoice CAN-000042 is overdue",
			[]string{"look again on 30 July 2026", "by 30 July 2026, your"}, []string{"try", "tried"}},
		"past due, by transfer": {email.PaymentFailed(failing(0, 3, 8, 15), email.Payment{}, ""), "Invoice CAN-000042 is past due",
			[]string{"Pay it by bank transfer, with CAN-000042 as the reference", "The invoice is still owed."},
			[]string{"try", "tried", "look again", "subscription"}},
		"returned before it is due": {email.PaymentFailed(failing(-10), email.Payment{}, ""),
			"The payment of invoice CAN-000042 failed",
			[]string{"No money came.", "due on 15 July 2026"}, []string{"overdue", "try", "past due"}},
		"declined": {email.PaymentFailed(failing(0), card, ""), "The payment of invoice CAN-000042 failed",
			[]string{"We try again on 18 July 2026."}, []string{"transfer", "Add a card"}},
		"declined, for no card": {email.PaymentFailed(failing(0), email.Payment{Cards: true}, ""),
			"The payment of invoice CAN-000042 failed", []string{"We try again on 18 July 2026. Add a card"}, []string{"transfer"}},
		"declined for good": {email.PaymentFailed(failing(0, 3, 8, 15), card, ""), "Invoice CAN-000042 is past due",
			[]string{"We don’t try again by ourselves.", "The invoice is still owed."}, []string{"transfer", "Your subscription",
				"keep working"}},
		"declined for good, and subscribed": {email.PaymentFailed(failing(0, 3, 8, 15), subscribed, ""),
			"Invoice CAN-000042 is past due",
			[]string{"Your subscription is past due until the invoice is paid. Live sessions keep working."}, []string{"still owed"}},
		"overdue, but not subscribed": {email.PaymentFailed(failing(0), email.Payment{}, ""), "Invoice CAN-000042 is overdue",
			[]string{"look again on 18 July 2026. The invoice is still owed."}, []string{"subscription", "keep working"}},
		"receipt": {email.Receipt(&paid, ""), "Receipt for invoice CAN-000042", []string{"$123.45", "paid on 10 July 2026",
			"Payment reference: transfer 7"}, []string{"how to pay"}},
		"reminder, by transfer": {email.Reminder(&open, email.Payment{}, ""), "Invoice CAN-000042 is due on 15 July 2026",
			[]string{"$123.45", "by bank transfer, with CAN-000042 as the reference"}, []string{"card", "overdue"}},
		"reminder, without a card": {email.Reminder(&open, email.Payment{Cards: true}, ""), "Invoice CAN-000042 is due on 15 July 2026",
			[]string{"No card is stored. Add one"}, []string{"transfer"}},
	} {
		text := tt.email.Text()
		if tt.email.Subject != tt.subject {
			t.Errorf("%s: subject %q, want %q", name, tt.email.Subject, tt.subject)
		}
		for _, s := range append(tt.with, "All dates are UTC.") {
			if !strings.Contains(text, s) {
				t.Errorf("%s: the email lacks %q:\n%s", name, s, text)
			}
		}
		for _, s := range tt.without {
			if strings.Contains(text, s) {
				t.Errorf("%s: the email has %q:\n%s", name, s, text)
			}
		}
	}
}

// TestUsageEmail: it says the true use, within the plan and beyond.
func TestUsageEmail(t *testing.T) {
	t.Parallel()
	included, price := 100, int64(500)
	plan := domain.Plan{Name: "Professional", SessionsIncluded: &included, OverageCents: &price}
	for used, extra := range map[int]string{85: "", 100: "",
		363: "That is 263 extra at $5 each. This period has cost $1,315.00 so far."} {
		e := email.Usage(used, plan, 131_500, nil, "")
		want := fmt.Sprintf("You’ve used %d of your 100 included sessions", used)
		if used > included {
			want = "You’ve used all your 100 included sessions, and 263 extra"
		}
		if text := e.Text(); e.Subject != want || !strings.Contains(text, extra) || strings.Contains(text,
			"extra at") != (extra != "") || !strings.Contains(text, "Each extra session costs $5.") {
			t.Errorf("%d used: subject %q\n%s", used, e.Subject, text)
		}
	}
}
