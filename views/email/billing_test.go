package email_test

import (
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
	card := email.Payment{Cards: true, Card: "Visa ending in 4242"}
	for name, tt := range map[string]struct {
		email   email.Email
		subject string
		with    []string
		without []string
	}{
		"new, by transfer": {email.NewInvoice(&open, email.Payment{}, ""), "Your invoice CAN-000042",
			[]string{"CAN-000042 for 1 June 2026, 00:12 to 1 July 2026, 00:12 UTC: $123.45.", "due on 15 July 2026", "how to pay it"}, []string{"card"}},
		"new, by card": {email.NewInvoice(&atOnce, card, ""), "Your invoice CAN-000042",
			[]string{"charged to your card, Visa ending in 4242."}, []string{"how to pay", "transfer", "due"}},
		"new, by card later": {email.NewInvoice(&open, card, ""), "Your invoice CAN-000042",
			[]string{"charged to your card, Visa ending in 4242, on 15 July 2026."}, []string{"how to pay", "transfer"}},
		"new, without a card": {email.NewInvoice(&open, email.Payment{Cards: true}, ""), "Your invoice CAN-000042",
			[]string{"No card is stored: store one"}, []string{"how to pay", "transfer"}},
		"new, but declined": {email.NewInvoice(failing(-14), card, ""), "Your invoice CAN-000042",
			[]string{"couldn’t be collected so far", "as a PDF"}, []string{"is charged", "how to pay", "transfer"}},
		"overdue": {email.PaymentFailed(failing(0), email.Payment{}, ""), "Invoice CAN-000042 is overdue",
			[]string{"No money came.", "was due on 15 July 2026", "by bank transfer, with CAN-000042 as the reference", "look again on 18 July 2026", "by 30 July 2026, your subscription is past due"}, []string{"try", "tried", "card"}},
		"overdue, the last look": {email.PaymentFailed(failing(0, 3, 8), email.Payment{}, ""), "Invoice CAN-000042 is overdue",
			[]string{"look again on 30 July 2026", "by 30 July 2026, your"}, []string{"try", "tried"}},
		"past due, by transfer": {email.PaymentFailed(failing(0, 3, 8, 15), email.Payment{}, ""), "Invoice CAN-000042 is past due",
			[]string{"Please pay it by bank transfer, with CAN-000042 as the reference"}, []string{"try", "tried", "look again"}},
		"returned before it is due": {email.PaymentFailed(failing(-10), email.Payment{}, ""), "The payment of invoice CAN-000042 failed",
			[]string{"No money came.", "due on 15 July 2026"}, []string{"overdue", "try", "past due"}},
		"declined":              {email.PaymentFailed(failing(0), card, ""), "The payment of invoice CAN-000042 failed", []string{"We try again on 18 July 2026."}, []string{"transfer", "Store a card"}},
		"declined, for no card": {email.PaymentFailed(failing(0), email.Payment{Cards: true}, ""), "The payment of invoice CAN-000042 failed", []string{"We try again on 18 July 2026. Store a card"}, []string{"transfer"}},
		"declined for good":     {email.PaymentFailed(failing(0, 3, 8, 15), card, ""), "Invoice CAN-000042 is past due", []string{"It isn’t tried again by itself."}, []string{"transfer"}},
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
