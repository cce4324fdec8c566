package form_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"candor/internal/statement/statementtest"
	"candor/internal/testkit/harness"
	"candor/internal/testkit/page"
)

// TestRefusedTextStays posts what a text can't have with the page's own inputs: it is
// refused by name, as of a script (D85), and stays on the page and in the draft.
func TestRefusedTextStays(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"control": "Nurse\tat night", "undecodable": "Nurse \ufffd", "long": strings.Repeat("nurse ", 100) + "end",
		"very long": strings.Repeat("nurse ", 1000) + "end",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := harness.New(t).NewCustomer()
			script := statementtest.Values("personal_details")
			script.Set("occupation", text)
			c.WantPage(c.OtherBrowser().Post("personal_details", script), http.StatusUnprocessableEntity).WantError("occupation", "").
				WantField("occupation", text)
			c.Answer("personal_details")
			tab := load(c, "personal_details")
			for _, action := range []string{"autosave", "continue"} {
				status := http.StatusOK
				if action == "continue" {
					status = http.StatusUnprocessableEntity
				}
				p := tab.press(action, status, "occupation", text).WantField("occupation", text)
				if action == "continue" {
					p.WantError("occupation", "")
				}
			}
			if len(text) < 800 {
				stored(c, "personal_details", "occupation", text)
				c.WantPage(c.Get(""), http.StatusOK).Shows("Occupation")
			}
			tab.press("autosave", http.StatusOK, "occupation", "Nurse").Lacks("Keep Nurse")
			stored(c, "personal_details", "occupation", "Nurse")
		})
	}
}

// TestNamedThingsHaveAmounts: a blank amount of a loan that has a name isn't signed as 0. A 0 is
// typed, and a script that knows only the contract may leave it out (D19).
func TestNamedThingsHaveAmounts(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	for section, tt := range map[string]struct {
		named  map[string]string
		asked  []string
		amount []string
	}{
		"assets": {map[string]string{"vehicles.0.description": "Mazda", "superannuation.0.fund_name": "Rest",
			"investments.0.description": "Shares", "bank_accounts.0.institution": "ING"},
			[]string{"Mazda: enter the value", "Rest: enter the balance", "Shares: enter the value", "ING: enter the balance"},
			[]string{"vehicles.0.value", "superannuation.0.balance", "investments.0.value", "bank_accounts.0.balance"}},
		"liabilities": {map[string]string{"credit_cards.0.issuer": "ANZ", "personal_loans.0.lender": "Wisr",
			"mortgages.0.lender": "Ubank", "other_liabilities.0.description": "Fine"},
			[]string{"ANZ: enter the credit limit", "ANZ: enter the balance owing", "Fine: enter the balance owing"},
			[]string{"credit_cards.0.limit", "credit_cards.0.balance", "personal_loans.0.balance", "mortgages.0.balance",
				"other_liabilities.0.balance"}},
	} {
		script := url.Values{}
		for input, text := range tt.named {
			script.Set(input, text)
		}
		script.Set("bank_accounts.0.account_type", "transaction")
		c.WantRedirect(c.Post(section, script))
		tab := load(c, section)
		page := tab.press("continue", http.StatusUnprocessableEntity)
		if got := page.Errors(); len(got) != len(tt.amount) {
			t.Errorf("errors %q, want %d", got, len(tt.amount))
		}
		page.Shows(tt.asked...)
		for _, input := range tt.amount {
			tab.values.Set(input, "0")
		}
		tab.values.Set("action", "continue")
		c.WantRedirect(c.Post(section, tab.values))
	}
}

// TestItemsBeyondTheListStay posts a 51st vehicle with the page's own inputs.
func TestItemsBeyondTheListStay(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	tab := load(c, "assets")
	for i := range 51 {
		tab.values.Set(fmt.Sprintf("vehicles.%d.description", i), fmt.Sprint("Bike ", i))
		tab.values.Set(fmt.Sprintf("vehicles.%d.value", i), "1")
	}
	tab.press("continue", http.StatusUnprocessableEntity, "has", "vehicles").WantField("vehicles.50.description", "Bike 50").
		WantError("vehicles", "Vehicles: enter at most 50, and combine the smallest ones").Lacks("Add another vehicle")
	stored(c, "assets", "vehicles.50.description", "Bike 50")
	if got := c.WantPage(c.Get(""), http.StatusOK).Link("Vehicles"); got != c.Path("assets")+"#vehicles" {
		t.Errorf("the list of sections leads to %s", got)
	}
	tab.press("remove:vehicles.50", http.StatusOK)
	tab.values.Set("action", "continue")
	c.WantRedirect(c.Post("assets", tab.values))
}

// TestUnknownPeriodStays posts a period that isn't one, as a script does: the amount is
// refused, and the period stays as it was sent (D85).
func TestUnknownPeriodStays(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	script := url.Values{"other_income.interest": {"120"}, "other_income.interest.period": {"decade"}}
	for name, p := range map[string]*page.Page{
		"refused": c.WantPage(c.Post("income", script), http.StatusUnprocessableEntity).WantError("other_income.interest.period",
			"Say how often you get interest"),
		"again": c.WantPage(c.Get("income"), http.StatusOK),
	} {
		t.Log(name)
		p.WantField("other_income.interest", "120").WantField("other_income.interest.period", "decade")
	}
	stored(c, "income", "other_income.interest.period", "decade")
	script.Set("other_income.interest.period", "month")
	c.WantRedirect(c.Post("income", script))
}
