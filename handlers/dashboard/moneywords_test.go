package dashboard_test

import (
	"net/http"
	"strings"
	"testing"

	"candor/internal/domain"
	"candor/internal/testkit/harness"
)

// TestCapThatStopsAsksFirst: a cap below what the period has cost stops live sessions
// only once that is confirmed (D108); every other one is stored at once.
func TestCapThatStopsAsksFirst(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	extraUse(h, 14) // 10 included, 4 at $10
	finance := h.Staff(domain.RoleFinance)
	limits := func() string {
		t.Helper()
		stored, err := h.Service.Billing.SpendLimits(t.Context(), h.Account.AccountID)
		h.OK(err)
		if stored.Cap == nil {
			return "none"
		}
		return stored.Cap.String()
	}
	asked := finance.WantPage(finance.Post(billingSpend, spendForm("45", "20")), http.StatusUnprocessableEntity,
		"Stop live sessions now, until 20 Jan 2027")
	breaks(asked, h.Account.Email)
	asked.WantError("spend_cap", "This period has cost $40.00 so far, so this cap stops live sessions at once.").
		WantField("spend_cap", "45").WantField("alert_1", "20").WantField("stop_now", "")
	if status, _ := createLive(h, "still"); status != http.StatusCreated || limits() != "none" {
		t.Errorf("without an answer: %d, cap %s", status, limits())
	}
	finance.WantRedirect(finance.Post(billingSpend, spendForm("60")), billingPage) // one more session
	wrong := spendForm("45", "never")
	wrong.Set("stop_now", "yes")
	finance.WantPage(finance.Post(billingSpend, wrong), http.StatusUnprocessableEntity).WantField("stop_now", "yes").
		WantError("alert_1", "Enter an amount")
	yes := spendForm("45")
	yes.Set("stop_now", "yes")
	finance.WantRedirect(finance.Post(billingSpend, yes), billingPage)
	if status, code := createLive(h, "stopped"); status != http.StatusForbidden || code != "spend_cap_reached" ||
		limits() != "$45.00" {
		t.Errorf("confirmed: %d %s, cap %s", status, code, limits())
	}
	finance.WantRedirect(finance.Post(billingSpend, spendForm("46")), billingPage) // they are stopped already
	h.OK(h.Service.Billing.Cancel(t.Context(), h.Account.AccountID, harness.Operator, true, "other"))
	finance.WantPage(finance.Post(billingSpend, wrong), http.StatusUnprocessableEntity).WantError("alert_1", "Enter an amount")
	finance.WantRedirect(finance.Post(billingSpend, spendForm("0")), billingPage)
}

// TestBillingSaysWhereToPay: without bank details the pages say where to ask, and each
// page with amounts has their currency once.
func TestBillingSaysWhereToPay(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	extraUse(h, 12)
	bill(h)
	terms := harness.InvoiceTerms()
	terms.Seller.Transfer = nil
	invoice := billingPage + "/invoices/" + h.LastInvoice(h.Account.AccountID).ID.String()
	for contact, want := range map[string]string{"accounts@candor.example": "Write to accounts@candor.example for the bank details.",
		"": "The bank details aren’t set up yet"} {
		terms.Contact = contact
		finance := restarted(h, terms).Staff(domain.RoleFinance)
		page := finance.WantPage(finance.Get(billingPage), http.StatusOK, "By bank transfer. "+want).Hides("By bank transfer to:")
		if contact != "" {
			page.LeadsTo("mailto:" + contact)
		}
		for _, path := range []string{"/dashboard/live", billingPage, invoice} {
			shown := finance.WantPage(finance.Get(path), http.StatusOK, "$").Text()
			if n := strings.Count(shown, domain.Currency); n != 1 {
				t.Errorf("%s says %d times that amounts are in %s", path, n, domain.Currency)
			}
		}
	}
}
