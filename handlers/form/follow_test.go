package form_test

import (
	"net/http"
	"net/url"
	"testing"

	"candor/internal/testkit/browsertest"
	"candor/internal/testkit/harness"
)

// Repayments that the form filled into Expenses follow the liabilities, unless they were
// changed (D55).
func TestFilledInRepaymentsFollow(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		spend        func(tab *loaded) // in Expenses, before the liabilities change
		change, loan string            // the mortgage's and the loan's repayment then
		want         []string
	}{
		"untouched": {finish, "2150.5", "300", []string{"housing.mortgage_rent", "2,150.50", "commitments.debt_repayments", "300",
			"living.groceries", "400"}},
		"by a cent": {finish, "1800.01", "300", []string{"housing.mortgage_rent", "1,800.01"}},
		"repaid":    {finish, "1800", "", []string{"housing.mortgage_rent", "1,800", "commitments.debt_repayments", ""}},
		"as a draft": {func(tab *loaded) { tab.press("autosave", http.StatusOK, "living.groceries", "400") }, "2150", "300",
			[]string{"housing.mortgage_rent", "2,150", "living.groceries", "400"}},
		"changed": {func(tab *loaded) {
			tab.values.Set("housing.mortgage_rent", "1900")
			finish(tab)
		}, "2150", "310", []string{"housing.mortgage_rent", "1,900", "commitments.debt_repayments", "310"}},
		"another period": {func(tab *loaded) {
			tab.values.Set("housing.mortgage_rent.period", "fortnight")
			finish(tab)
		}, "2150", "300", []string{"housing.mortgage_rent", "1,800", "housing.mortgage_rent.period", "fortnight"}},
		"rent besides": {func(tab *loaded) {
			tab.press("add:housing.mortgage_rent", http.StatusOK)
			tab.values.Set("housing.mortgage_rent.2", "500")
			tab.values.Set("housing.mortgage_rent.2.period", "week")
			finish(tab)
		}, "2150", "300", []string{"housing.mortgage_rent", "2,150", "housing.mortgage_rent.2", "500"}},
		"not begun": {func(*loaded) {}, "2150", "300", []string{"housing.mortgage_rent", "2,150"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := owing(t)
			tt.spend(load(c, "expenses"))
			repay(c, tt.change, tt.loan)
			stored(c, "expenses", tt.want...)
		})
	}
}

// A repayment that comes to be after Expenses were completed is filled in there and looked at
// before the signature, also that of a loan which was taken out and comes back.
func TestNewRepaymentIsLookedAt(t *testing.T) {
	t.Parallel()
	c := owing(t)
	finish(load(c, "expenses"))
	repay(c, "1800", "")
	stored(c, "expenses", "commitments.debt_repayments", "", "living.groceries", "400")
	next, tab := repay(c, "1800", "300")
	if next != "expenses" {
		t.Errorf("leads to %s, want Expenses", next)
	}
	tab.WantPage(tab.Get(next), http.StatusOK).Shows("Your repayments in Expenses have changed, too.")
	tab.WantPage(tab.Get(next), http.StatusOK).Hides("have changed, too.")
	stored(c, "expenses", "commitments.debt_repayments", "300", "living.groceries", "400")
	c.WantPage(c.Get(""), http.StatusOK).Shows("Expenses Changes to finish")
	tab = load(c, "expenses")
	tab.values.Set("action", "continue")
	c.WantRedirect(tab.Post("expenses", tab.values))
	stored(c, "expenses", "commitments.debt_repayments", "300")
	c.WantPage(c.Get(""), http.StatusOK).Hides("Changes to finish")
}

// TestBrowserNewRepaymentIsTold: who continues from Liabilities sees it, and "Save" tells it, too.
func TestBrowserNewRepaymentIsTold(t *testing.T) {
	t.Parallel()
	h, base := harness.Listen(t)
	c := h.NewCustomer()
	livesAs(c, "single")
	c.WantRedirect(c.Post("liabilities", debts("1800", "")))
	finish(load(c, "expenses"))
	tab := browsertest.New(t, browsertest.Options{})
	for button, repaid := range map[string]string{".actions .button-primary": "300", `.actions [value="save"]`: "310"} {
		arrive(tab, base, c, "liabilities")
		tab.Type(input("personal_loans.0.monthly_repayment"), repaid)
		tab.Click(button)
		tab.WaitForText("main .banner", "Your repayments in Expenses have changed, too.")
	}
}

// A page of Expenses that was open while the liabilities changed has the new amount, too.
func TestOpenExpensesTakeTheNewRepayment(t *testing.T) {
	t.Parallel()
	c := owing(t)
	finish(load(c, "expenses"))
	open := load(c, "expenses")
	repay(c, "2150", "300")
	open.values.Set("living.clothing", "50")
	open.values.Set("action", "continue")
	c.WantRedirect(c.Post("expenses", open.values))
	stored(c, "expenses", "housing.mortgage_rent", "2,150", "living.clothing", "50")
}

// Without the mortgage a couple's expenses are asked for another share, and are to be
// looked at again (D78).
func TestRepaidMortgageOfACouple(t *testing.T) {
	t.Parallel()
	c := owing(t)
	livesAs(c, "couple")
	tab := load(c, "expenses")
	tab.values.Set("share", "60")
	finish(tab)
	repay(c, "", "300")
	c.WantPage(c.Get("expenses"), http.StatusOK).Shows(outdated).WantField("housing.mortgage_rent", "").
		WantField("commitments.debt_repayments", "300").WantField("living.groceries", "400")
}

// What a script sends stays as it is.
func TestRepaymentsOfScriptsStay(t *testing.T) {
	t.Parallel()
	c := owing(t)
	finish(load(c, "expenses"))
	c.WantRedirect(c.Post("liabilities", debts("2150", "300")))
	stored(c, "expenses", "housing.mortgage_rent", "1,800")
}

func debts(mortgage, loan string) url.Values {
	return url.Values{
		"mortgages.0.lender": {"ANZ"}, "mortgages.0.balance": {"300000"}, "mortgages.0.monthly_repayment": {mortgage},
		"personal_loans.0.lender": {"Latitude"}, "personal_loans.0.balance": {"9000"}, "personal_loans.0.monthly_repayment": {loan},
	}
}

// owing is a customer with a mortgage and a loan.
func owing(t *testing.T) *harness.Customer {
	t.Helper()
	c := harness.New(t).NewCustomer()
	livesAs(c, "single")
	c.WantRedirect(c.Post("liabilities", debts("1800", "300")))
	return c
}

func finish(tab *loaded) {
	tab.values.Set("living.groceries", "400")
	tab.values.Set("action", "continue")
	tab.WantRedirect(tab.Post("expenses", tab.values))
}

// repay changes the repayments on the page, which saves what is typed before Continue does.
func repay(c *harness.Customer, mortgage, loan string) (next string, tab *loaded) {
	c.Helper()
	tab = load(c, "liabilities")
	tab.press("autosave", http.StatusOK, "mortgages.0.monthly_repayment", mortgage, "personal_loans.0.monthly_repayment", loan)
	tab.values.Set("action", "continue")
	return c.WantRedirect(tab.Post("liabilities", tab.values)), tab
}
