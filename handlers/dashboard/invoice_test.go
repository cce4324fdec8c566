package dashboard_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"candor/internal/domain"
	"candor/internal/service/billing"
	"candor/internal/testkit"
	"candor/internal/testkit/browsertest"
	"candor/internal/testkit/harness"
)

// extraUse has the account use more of Starter than it includes, a month after
// its first period: sessions in all.
func extraUse(h *harness.Harness, sessions int) {
	h.Helper()
	h.OK(h.Service.Billing.ChangePlan(h.Context(), h.Account.AccountID, harness.Operator, "starter"))
	h.Clock.Advance(31 * 24 * time.Hour)
	bill(h)
	for i := range sessions {
		h.NewSession(domain.Scope{AccountID: h.Account.AccountID, Livemode: true},
			domain.NewSession{ReferenceID: fmt.Sprintf("LOAN-%d", i+1)})
	}
}

// An invoice's page says what its PDF says, open and paid.
func TestInvoicePage(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	extraUse(h, 12)
	invoice := h.LastInvoice(h.Account.AccountID)
	finance := h.Staff(domain.RoleFinance)
	path := "/dashboard/live/billing/invoices/" + invoice.ID.String()
	if list := finance.Get("/dashboard/live/billing").Body.String(); !strings.Contains(list, `href="`+path+`"`) ||
		!strings.Contains(list, `href="`+path+`/pdf"`) {
		t.Error("the list doesn't lead to the invoice and its PDF")
	}
	finance.WantPage(finance.Get(path), http.StatusOK, "Tax invoice CAN-000002", "Starter, included", "Starter, extra, $10.00 each",
		"GST included in the total", "$1.82",
		"Issued", "21 December 2026", "Due", "4 January 2027", "Pay $20.00 by 4 January 2027, with CAN-000002 as the reference.",
		"BSB 062-000, account 1234 5678", "Billed to", "partner@lender.example", "Candor Pty Ltd", "ABN 51 824 753 556")
	h.Clock.Advance(24 * time.Hour)
	_, err := h.Service.Billing.MarkPaid(h.Context(), invoice.ID, harness.Operator, "transfer 77")
	h.OK(err)
	finance = h.Staff(domain.RoleFinance)
	finance.WantPage(finance.Get(path), http.StatusOK, "Paid", "22 December 2026", "transfer 77")
	if text := finance.Get(path).Body.String(); strings.Contains(text, "How to pay") {
		t.Error("a paid invoice asks to be paid")
	}
	for _, other := range []domain.Role{domain.RoleDeveloper, domain.RoleSupport} {
		if got := h.Staff(other).Get(path); got.Code != http.StatusForbidden {
			t.Errorf("%s sees the invoice: status %d", other, got.Code)
		}
	}
	if got := h.StaffOf(h.NewAccount("other@lender.example", "starter").AccountID, domain.RoleFinance).
		Get(path); got.Code != http.StatusNotFound {
		t.Errorf("another account sees the invoice: status %d", got.Code)
	}
}

// What the account says about itself is checked, and is on the invoices that are
// issued from then on, page and PDF; issued ones keep what they say.
func TestInvoiceSaysWhoBuys(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	finance := h.Staff(domain.RoleFinance)
	const page = "/dashboard/live/billing"
	details := url.Values{"buyer_name": {"Lender & Sons Pty Ltd"}, "abn": {"51824753557"},
		"address": {"Level 2\r\n\r\n 1 High St\r\nHobart TAS 7000"}, "purchase_order": {"PO-7781"}}
	finance.WantPage(finance.Post(page+"/details", details), http.StatusUnprocessableEntity, "Check the ABN: it has 11 digits").
		WantField("abn", "51824753557")
	for field, wrong := range map[string]string{
		"buyer_name": strings.Repeat("n", domain.MaxName+1), "address": "1\n2\n3\n4\n5\n6", "purchase_order": strings.Repeat("7", 51),
	} {
		bad := url.Values{"abn": {""}, field: {wrong}}
		if got := finance.Post(page+"/details", bad); got.Code != http.StatusUnprocessableEntity {
			t.Errorf("%s %.20q: status %d, want 422", field, wrong, got.Code)
		}
	}
	audited(h, domain.AuditBuyer, 0)
	extraUse(h, 11)
	before := h.LastInvoice(h.Account.AccountID)
	pdfOf := func(i *domain.Invoice) string {
		return textOf(t, finance.Get(page+"/invoices/"+i.ID.String()+"/pdf").Body.Bytes())
	}
	finance = h.Staff(domain.RoleFinance)
	was := pdfOf(before)
	details.Set("abn", "51824753556")
	finance.WantRedirect(finance.Post(page+"/details", details), page)
	finance.WantPage(finance.Get(page), http.StatusOK, "Your next invoice shows it").WantField("abn", "51 824 753 556")
	audited(h, domain.AuditBuyer, 1)
	h.OK(h.Service.Billing.Subscribe(h.Context(), h.Account.AccountID, harness.Operator, "starter"))
	h.NewSession(domain.Scope{AccountID: h.Account.AccountID, Livemode: true}, domain.NewSession{})
	after := h.LastInvoice(h.Account.AccountID)
	text := pdfOf(after)
	finance.WantPage(finance.Get(page+"/invoices/"+after.ID.String()), http.StatusOK, "Lender & Sons Pty Ltd", "ABN 51 824 753 556",
		"Level 2", "1 High St", "Hobart TAS 7000", "Purchase order PO-7781")
	for _, want := range []string{"Lender & Sons Pty Ltd", "ABN 51 824 753 556", "Level 2", "1 High St", "Hobart TAS 7000",
		"Purchase order PO-7781"} {
		if !strings.Contains(text, want) {
			t.Errorf("the PDF doesn't say %q:\n%s", want, text)
		}
	}
	if now := pdfOf(before); now != was || strings.Contains(now, "PO-7781") {
		t.Errorf("an issued invoice follows the account:\n%s", now)
	}
	if _, err := h.DB.Raw().ExecContext(h.Context(), `UPDATE invoice SET buyer = '{}' WHERE id = $1`, after.ID); err == nil {
		t.Error("the buyer of an issued invoice was changed")
	}
	if got := h.Staff(domain.RoleDeveloper).Post(page+"/details", details); got.Code != http.StatusForbidden {
		t.Errorf("a developer changes what invoices say: status %d", got.Code)
	}
}

// A subscription that is cancelled within a minute, unused, leaves no invoice
// (D66); one that was used does.
func TestPeriodWithoutLengthHasNoInvoice(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	live := domain.Scope{AccountID: h.Account.AccountID, Livemode: true}
	finance := h.Staff(domain.RoleFinance)
	for _, used := range []int{0, 1} {
		for range used {
			h.NewSession(live, domain.NewSession{})
		}
		h.Clock.Advance(30 * time.Second)
		finance.WantRedirect(finance.Post("/dashboard/live/billing/cancel", map[string][]string{"when": {"now"},
			"reason": {"a mistake"}}), "/dashboard/live/billing")
		if n := harness.QueryOne[int](h, `SELECT count(*) FROM invoice`); n != used {
			t.Errorf("%d sessions used in half a minute: %d invoices, want %d", used, n, used)
		}
		if n := harness.QueryOne[int](h, `SELECT count(*) FROM event WHERE type = 'billing.invoice_paid'`); n != used {
			t.Errorf("%d sessions used in half a minute: %d events of invoices, want %d", used, n, used)
		}
		finance.WantRedirect(finance.Post("/dashboard/live/billing/subscribe", map[string][]string{"plan": {"starter"}}),
			"/dashboard/live/billing")
	}
}

// fetchesPDF fails unless the click fetches an invoice's PDF.
func fetchesPDF(h *harness.Harness, click func()) {
	h.Helper()
	h.Logs.Clear()
	click()
	testkit.Await(h, "the click didn't fetch the PDF", func() bool {
		return strings.Contains(h.Logs.String(), "/billing/invoices/:invoice/pdf")
	})
}

// TestBrowserFinance signs in as finance does and is at the latest invoice's PDF
// after one click, at another's after two at a desk.
func TestBrowserFinance(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h, base := harness.Listen(t)
	extraUse(h, 12)
	h.Clock.Advance(31 * 24 * time.Hour)
	bill(h)
	for range 14 {
		h.NewSession(domain.Scope{AccountID: h.Account.AccountID, Livemode: true}, domain.NewSession{})
	}
	h.OK(h.Service.Billing.SetBuyer(h.Context(), h.Account.AccountID, harness.Operator, billing.BuyerParams{
		Name: "Lender & Sons Pty Ltd", ABN: "51824753556", Address: "Level 2\n1 High St\nHobart TAS 7000", PurchaseOrder: "PO-7781",
	}))
	h.OK(h.Service.Billing.SetSpendLimits(h.Context(), h.Account.AccountID, harness.Operator,
		billing.SpendParams{Cap: "45", StopNow: true, Alerts: [3]string{"20", "30", ""}}))
	tab := browsertest.New(t, browsertest.Options{Device: browsertest.Desktop})
	role := func(role domain.Role) {
		execSQL(h, `UPDATE staff_user SET role = $1`, role)
	}
	role(domain.RoleFinance)
	signInTo(h, tab, base, "/dashboard/live")
	view(tab, "home-finance")
	fetchesPDF(h, func() { tab.Click("#latest-invoice a[href$='/pdf']") }) // the only click
	tab.Click("nav a[href$='/billing']")                                   // the first click
	tab.WaitForText("h1", "Billing")
	view(tab, "billing-extra")
	fetchesPDF(h, func() { tab.Click("a[href$='/pdf']") }) // the second
	role(domain.RoleOwner)
	tab.Open(base + "/dashboard/live/billing")
	tab.Click("td a.mono")
	tab.WaitForText("h1", "CAN-000002")
	view(tab, "invoice")
	_, err := h.Service.Billing.MarkPaid(h.Context(), harness.QueryOne[domain.InvoiceID](h,
		`SELECT id FROM invoice WHERE number = 2`), harness.Operator, "transfer 77")
	h.OK(err)
	tab.WaitForText("#invoice", "transfer 77") // by itself
	tab.Open(base + "/dashboard/live/sessions/new")
	tab.Type("#customer_email", "jo@customer.example")
	tab.Press("\r")
	tab.WaitForFocus("error-summary")
	view(tab, "session-beyond-cap")
}
