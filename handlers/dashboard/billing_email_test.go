package dashboard_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"candor/internal/domain"
	"candor/internal/platform/mail"
	"candor/internal/service/billing"
	"candor/internal/testkit/harness"
)

// attached is what the one file of an email says, a PDF of that name.
func attached(t *testing.T, m mail.Message, name string) string {
	t.Helper()
	if len(m.Attachments) != 1 || m.Attachments[0].Name != name || m.Attachments[0].ContentType != "application/pdf" {
		t.Fatalf("%s: attached %d files, want %s", m.Subject, len(m.Attachments), name)
	}
	return textOf(t, m.Attachments[0].Content)
}

// An account gets its invoice as a PDF, one reminder before it is due, and one
// receipt, whatever runs at the same time. What it used is told as it is.
func TestBillingEmails(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	box := h.Mailbox()
	const to = "partner@lender.example"
	atOnce := func(work func()) {
		var all sync.WaitGroup
		for range 4 {
			all.Go(work)
		}
		all.Wait()
	}
	extraUse(h, 13)
	h.OK(h.Service.Billing.SetSpendLimits(h.Context(), h.Account.AccountID, harness.Operator, billing.SpendParams{Cap: "500"}))
	atOnce(func() { bill(h) })
	used := box.Email(to, "You’ve used all your 10 included sessions, and 3 extra")
	if !strings.Contains(used.Text, "That is 3 extra at $10 each. This period has cost $30.00 so far.") ||
		!strings.Contains(used.Text, "Live sessions stop at the spend cap of $500.") || strings.Contains(used.Text, "Nothing stops") {
		t.Errorf("the email about usage:\n%s", used.Text)
	}
	invoice := h.LastInvoice(h.Account.AccountID)
	issued := box.Email(to, "Your invoice CAN-000002")
	if text := attached(t, issued, "CAN-000002.pdf"); !strings.Contains(text, "$30.00") || strings.Contains(text, "PAID") {
		t.Errorf("attached:\n%s", text)
	}
	if path := box.Link(issued); path != "/dashboard/live/billing/invoices/"+invoice.ID.String() {
		t.Errorf("the email leads to %s", path)
	}
	h.Clock.Advance(invoice.DueAt.Sub(h.Clock.Now()) - domain.ReminderBefore - time.Minute)
	bill(h)
	box.Idle()
	h.Clock.Advance(time.Minute)
	atOnce(func() { bill(h) })
	reminder := box.Email(to, "Invoice CAN-000002 is due on 4 January 2027")
	if !strings.Contains(reminder.Text, "by bank transfer, with CAN-000002 as the reference") ||
		!strings.Contains(attached(t, reminder, "CAN-000002.pdf"), "BSB 062-000") {
		t.Errorf("the reminder:\n%s", reminder.Text)
	}
	h.Clock.Advance(24 * time.Hour)
	bill(h)
	box.Idle()
	var paid atomic.Int32
	atOnce(func() {
		if _, err := h.Service.Billing.MarkPaid(h.Context(), invoice.ID, harness.Operator, "transfer 77"); err == nil {
			paid.Add(1)
		}
	})
	receipt := box.Email(to, "Receipt for invoice CAN-000002")
	if text := attached(t, receipt, "CAN-000002.pdf"); paid.Load() != 1 || !strings.Contains(text, "PAID") ||
		!strings.Contains(receipt.Text, "Payment reference: transfer 77") {
		t.Errorf("paid %d times; the receipt:\n%s\n%s", paid.Load(), receipt.Text, text)
	}
	h.Clock.Advance(3 * 24 * time.Hour)
	bill(h)
	box.Idle()
	audited(h, domain.AuditInvoicePaid, 1)
}

// An invoice that is paid before its reminder's job runs is not reminded of.
func TestReminderOfAPaidInvoiceIsNotSent(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	extraUse(h, 11)
	invoice := h.LastInvoice(h.Account.AccountID)
	h.Clock.Advance(12 * 24 * time.Hour)
	bill(h)
	_, err := h.Service.Billing.MarkPaid(h.Context(), invoice.ID, harness.Operator, "transfer 77")
	h.OK(err)
	if n := harness.QueryOne[int](h, `SELECT count(*) FROM river_job WHERE args->>'reminder' = 'true'`); n != 1 {
		t.Fatalf("%d reminders were asked for, want 1", n)
	}
	box := h.Mailbox()
	box.Email("partner@lender.example", "Receipt for invoice CAN-000002")
	box.Idle()
}
