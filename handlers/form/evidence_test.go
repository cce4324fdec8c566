package form_test

import (
	"net/http"
	"net/url"
	"testing"

	"candor/internal/testkit/browsertest"
	"candor/internal/testkit/harness"
)

// TestBrowserEvidenceBesideItsLine adds a payslip from the income section and returns.
func TestBrowserEvidenceBesideItsLine(t *testing.T) {
	t.Parallel()
	h, base := harness.Listen(t)
	c := h.NewCustomer()
	tab := browsertest.New(t, browsertest.Options{})
	arrive(tab, base, c, "income")
	tab.Click(input("employment_income"))
	tab.Type(input("employment_income.gross_salary"), "98500")
	tab.FitsWidth()
	tab.View("form/20-evidence")
	tab.Click(`button[value="evidence:income_evidence"]`)
	tab.WaitForURL("/documents?category=income_evidence&from=income")
	stored(c, "income", "employment_income.gross_salary", "98,500")
	tab.Upload("#file", temporaryFile(t, "payslip.pdf", []byte("%PDF-1.7\n")))
	tab.WaitForText("#stored", "payslip.pdf")
	c.WantPage(c.Get("documents"), http.StatusOK).Shows("payslip.pdf")
	if n := counted(c, `SELECT count(*) FROM document WHERE category = 'income_evidence'`); n != 1 {
		t.Errorf("%d documents are proof of income, want 1", n)
	}
	tab.View("form/21-evidence-added")
	tab.Click(".actions .button-primary")
	tab.WaitForURL("/income")
	if got := tab.Value(input("employment_income.gross_salary")); got != "98,500" {
		t.Errorf("the salary is %q, want what was typed", got)
	}
}

func TestEvidenceLinksBack(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	c.WantPage(c.Get("liabilities"), http.StatusOK).
		Offers("Add a statement for mortgages", "Add a statement for personal loans", "Add a statement for credit cards")
	typed := url.Values{"action": {"evidence:income_evidence"}, "has": {"employment_income"},
		"employment_income.gross_salary": {"98500"}}
	if next := c.WantRedirect(c.Post("income", typed)); next != "documents?category=income_evidence&from=income" {
		t.Errorf("the button of an income leads to %q", next)
	}
	stored(c, "income", "employment_income.gross_salary", "98,500")
	for action, want := range map[string]string{"evidence:loan_statement": "documents?category=loan_statement&from=liabilities",
		"evidence:bank_statement": "documents?category=bank_statement&from=liabilities"} {
		if next := c.WantRedirect(c.Post("liabilities", url.Values{"action": {action}})); next != want {
			t.Errorf("%s leads to %q, want %q", action, next, want)
		}
	}
	if next := c.WantRedirect(c.Post("liabilities?return=declaration",
		url.Values{"action": {
			"evidence:loan_statement"}})); next != "documents?category=loan_statement&from=liabilities&return=declaration" {
		t.Errorf("from the check page it leads to %q", next)
	}
	page := c.WantPage(c.Get("documents?category=loan_statement&from=liabilities"), http.StatusOK)
	page.LeadsTo(c.Path("liabilities"))
	page.WantField("category", "loan_statement")
	if next := c.WantRedirect(c.Post("documents?from=liabilities&return=declaration",
		url.Values{"action": {"continue"}})); next != "liabilities?return=declaration" {
		t.Errorf("Continue leads to %q, want the section", next)
	}
	for _, from := range []string{"documents", "//evil.example", harness.Hostile, ""} {
		if next := c.WantRedirect(c.Post("documents?from="+url.QueryEscape(from), url.Values{"action": {"continue"}})); next == "" ||
			next[0] == '/' {
			t.Errorf("from %q leads to %q", from, next)
		}
	}
	for _, unknown := range []string{"evidence", "evidence:", "evidence:passport", "evidence:" + harness.Hostile} {
		if got := c.Post("income", url.Values{"action": {unknown}}); got.Code != http.StatusBadRequest {
			t.Errorf("%s: status %d, want 400", unknown, got.Code)
		}
	}
}
