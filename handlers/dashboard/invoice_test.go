package dashboard_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"candor/internal/domain"
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
		h.NewSession(domain.Scope{AccountID: h.Account.AccountID, Livemode: true}, domain.NewSession{ReferenceID: fmt.Sprintf("LOAN-%d", i+1)})
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
	if list := finance.Get("/dashboard/live/billing").Body.String(); !strings.Contains(list, `href="`+path+`"`) || !strings.Contains(list, `href="`+path+`/pdf"`) {
		t.Error("the list doesn't lead to the invoice and its PDF")
	}
	finance.WantPage(finance.Get(path), http.StatusOK, "Tax invoice CAN-000002", "Starter, included", "Starter, extra, $10.00 each", "GST included in the total", "$1.82",
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
	if got := h.StaffOf(h.NewAccount("other@lender.example", "starter").AccountID, domain.RoleFinance).Get(path); got.Code != http.StatusNotFound {
		t.Errorf("another account sees the invoice: status %d", got.Code)
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
		finance.WantRedirect(finance.Post("/dashboard/live/billing/cancel", map[string][]string{"when": {"now"}, "reason": {"a mistake"}}), "/dashboard/live/billing")
		if n := harness.QueryOne[int](h, `SELECT count(*) FROM invoice`); n != used {
			t.Errorf("%d sessions used in half a minute: %d invoices, want %d", used, n, used)
		}
		if n := harness.QueryOne[int](h, `SELECT count(*) FROM event WHERE type = 'billing.invoice_paid'`); n != used {
			t.Errorf("%d sessions used in half a minute: %d events of invoices, want %d", used, n, used)
		}
		finance.WantRedirect(finance.Post("/dashboard/live/billing/subscribe", map[string][]string{"plan": {"starter"}}), "/dashboard/live/billing")
	}
}

// TestFinanceInABrowser signs in as finance does and is at an invoice's PDF
// after two clicks.
func TestFinanceInABrowser(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	for i, options := range harness.Looks() {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			h, base := harness.Listen(t)
			extraUse(h, 36)
			h.LastInvoice(h.Account.AccountID)
			h.OK(h.Service.Billing.Subscribe(h.Context(), h.Account.AccountID, harness.Operator, "starter"))
			h.NewSession(domain.Scope{AccountID: h.Account.AccountID, Livemode: true}, domain.NewSession{})
			tab := browsertest.New(t, options)
			signInTo(h, tab, base, "/dashboard/live")
			if options.Device == browsertest.Phone {
				tab.Open(base + "/dashboard/live/billing")
			} else {
				tab.Click("nav a[href$='/billing']") // the first click
			}
			tab.WaitForText("h1", "Billing")
			view(tab, "billing-extra")
			h.Logs.Clear()
			tab.Click("a[href$='/pdf']") // the second
			for deadline := time.Now().Add(10 * time.Second); !strings.Contains(h.Logs.String(), "/billing/invoices/:invoice/pdf"); {
				if time.Now().After(deadline) {
					t.Fatal("the PDF was not fetched by the second click")
				}
			}
			tab.Open(base + "/dashboard/live/billing")
			tab.Click("td a.mono")
			tab.WaitForText("h1", "CAN-000002")
			view(tab, "invoice")
		})
	}
}
