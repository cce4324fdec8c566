package form_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"candor/internal/statement/statementtest"
	"candor/internal/testkit/harness"
	"candor/internal/testkit/page"
)

// livesAs posts personal details with who lives on the customer's money.
func livesAs(c *harness.Customer, kind string) (next string) {
	c.Helper()
	values := statementtest.Values("personal_details")
	values.Set("household.type", kind)
	return c.WantRedirect(c.Post("personal_details", values))
}

// spending is what a couple with 60 and 40 per cent spends; the car loan is the customer's.
func spending() url.Values {
	return url.Values{
		"share": {"60"}, "housing.mortgage_rent": {"600"}, "housing.mortgage_rent.period": {"week"},
		"living.groceries": {"333.33"}, "living.groceries.period": {"fortnight"}, "living.clothing": {"100"},
		"transport.car_loan": {"300"},
	}
}

// signed is what the partner reads of a couple's money.
type signed struct {
	Personal struct {
		Household struct {
			Type       string
			Dependants *int
		}
	} `json:"personal_details"`
	Expenses struct {
		Share   *int
		Housing struct {
			Rent json.Number `json:"mortgage_rent"`
		}
		Living struct{ Groceries, Clothing json.Number }
		Total  json.Number `json:"total_monthly_expenses"`
	}
	Entered map[string]json.RawMessage
	Summary struct {
		Surplus json.Number `json:"monthly_surplus"`
	}
}

// sign submits the form and reads its data.
func sign(t *testing.T, c *harness.Customer) signed {
	c.Helper()
	c.WantRedirect(c.Post("documents", url.Values{"action": {"continue"}}))
	c.WantRedirect(c.Sign())
	data, err := c.Service.Sessions.Data(c.Context(), c.TestScope(), c.ID, harness.Operator)
	c.OK(err)
	var out signed
	c.OK(json.Unmarshal([]byte(toJSON(t, data.Statement)), &out))
	for path, entry := range out.Entered {
		var b bytes.Buffer
		c.OK(json.Compact(&b, entry))
		out.Entered[path] = b.Bytes()
	}
	return out
}

// A couple gives what the household spends and the customer's share. The contract's fields
// have the share, rounded once; what was typed is beside it (D78).
func TestCouplesShare(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	livesAs(c, "couple")
	c.WantRedirect(c.Post("income", url.Values{"employment_income.gross_salary": {"120000"}}))
	for _, none := range []string{"assets", "liabilities"} {
		c.WantRedirect(c.Post(none, url.Values{"has": {"none"}}))
	}
	without := spending()
	without.Del("share")
	c.WantPage(c.Post("expenses", without), http.StatusUnprocessableEntity).
		Shows("Enter your share of household costs, from 0 to 100")
	c.WantRedirect(c.Post("expenses", spending()))
	c.WantPage(c.Get("expenses"), http.StatusOK).WantField("housing.mortgage_rent", "600").WantField("share", "60").
		Shows("× 60% = $1,560.00 a month", "× 60% = $60.00 a month")
	c.WantPage(c.Get("declaration"), http.StatusOK).Shows("× 60%")
	c.WantPage(c.Get(""), http.StatusOK).Shows("Zoë Margaret O'Brien’s statement", "Your partner makes a statement of their own")

	got := sign(t, c)
	// 600 × 52 ÷ 12 × 0.6 = 1,560; 333.33 × 26 ÷ 12 × 0.6 = 433.329; 100 × 0.6; 300 is the customer's own.
	if e := got.Expenses; e.Housing.Rent != "1560" || e.Living.Groceries != "433.33" || e.Living.Clothing != "60" ||
		e.Total != "2353.33" || *e.Share != 60 {
		t.Errorf("expenses %+v", e)
	}
	if got.Summary.Surplus != "7646.67" || got.Personal.Household.Type != "couple" || *got.Personal.Household.Dependants != 2 {
		t.Errorf("surplus %s of %+v", got.Summary.Surplus, got.Personal.Household)
	}
	for path, want := range map[string]string{
		"expenses.housing.mortgage_rent": `{"amount":600,"period":"week","share":60}`,
		"expenses.living.clothing":       `{"amount":100,"period":"month","share":60}`,
		"expenses.transport.car_loan":    ``,
	} {
		if entry := string(got.Entered[path]); entry != want {
			t.Errorf("%s was entered as %s, want %s", path, entry, want)
		}
	}
}

// Expenses that were completed for another household must be looked at again before the
// signature, and have no old sum (D78).
func TestHouseholdChanges(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	livesAs(c, "couple")
	c.WantRedirect(c.Post("income", url.Values{"employment_income.gross_salary": {"120000"}}))
	for _, none := range []string{"assets", "liabilities"} {
		c.WantRedirect(c.Post(none, url.Values{"has": {"none"}}))
	}
	c.WantRedirect(c.Post("expenses", spending()))
	c.WantRedirect(c.Post("documents", url.Values{"action": {"continue"}}))

	if next := livesAs(c, "single"); next != "expenses" {
		t.Errorf("another household leads to %s, want the expenses", next)
	}
	c.WantPage(c.Get(""), http.StatusOK).Shows("Changes to finish")
	c.WantPage(c.Sign(), http.StatusUnprocessableEntity)
	page := c.WantPage(c.Get("expenses"), http.StatusOK).WantField("housing.mortgage_rent", "600")
	page.Shows(outdated, "= $2,600.00 a month").Hides("share of household costs", "$1,560.00")

	livesAs(c, "couple")
	c.WantPage(c.Get(""), http.StatusOK).Hides("Changes to finish") // as it was
	c.WantRedirect(c.Post("liabilities", url.Values{
		"mortgages.0.lender": {"ANZ"}, "mortgages.0.balance": {"300000"}, "mortgages.0.monthly_repayment": {"1800"},
	}))
	c.WantPage(c.Get(""), http.StatusOK).Shows("Changes to finish")
	c.WantPage(c.Get("expenses"), http.StatusOK).Shows("Your part.", "= $2,600.00 a month", outdated)
	again := spending()
	again.Set("housing.mortgage_rent", "1800")
	again.Set("housing.mortgage_rent.period", "month")
	c.WantRedirect(c.Post("expenses", again))
	if got := sign(t, c); got.Expenses.Housing.Rent != "1800" || got.Expenses.Living.Clothing != "60" {
		t.Errorf("with a mortgage of their own: %+v", got.Expenses)
	}
}

// A page of who lives alone says nothing of a partner, also beside an error.
func TestNothingOfAPartnerBesideErrors(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	const partner = "Leave out your partner’s income."
	for kind, seen := range map[string]func(*page.Page){
		"single": func(p *page.Page) { p.Hides(partner) }, "couple": func(p *page.Page) { p.Shows(partner) },
	} {
		livesAs(c, kind)
		seen(c.WantPage(c.Get("income"), http.StatusOK))
		seen(c.WantPage(c.Post("income", url.Values{"employment_income.gross_salary": {"x"}}), http.StatusUnprocessableEntity))
	}
}

// TestCheckPageOpensAtItsWarning: a change that leaves another section unfinished leads to the
// check page's top, where it says so, and not to the section that was changed.
func TestCheckPageOpensAtItsWarning(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	tell(c, nil)
	back := func(kind string) *page.Page {
		t.Helper()
		values := statementtest.Values("personal_details")
		values.Set("household.type", kind)
		c.WantRedirect(c.Post("personal_details?return=declaration", values))
		return c.WantPage(c.Get("declaration"), http.StatusOK)
	}
	atTop := func(p *page.Page) bool { return p.All("h1")[0].Has("autofocus") }
	if p := back("single"); atTop(p) {
		t.Error("with nothing to finish it opens at its top")
	}
	if p := back("couple").Shows("Some sections aren’t finished"); !atTop(p) {
		t.Error("the warning is not in view")
	}
}

// outdated is the tick for amounts that were typed for another household.
const outdated = "I have checked each amount here."

// An amount is taken as its page asked for it: once that changed, nothing is completed before
// the customer ticks that the amounts are right, whatever they do before (D78).
func TestPageOfAnotherHousehold(t *testing.T) {
	t.Parallel()
	mortgage := func(c *harness.Customer) {
		c.WantRedirect(c.Post("liabilities", url.Values{
			"mortgages.0.lender": {"ANZ"}, "mortgages.0.balance": {"300000"}, "mortgages.0.monthly_repayment": {"1800"},
		}))
	}
	alone := func(c *harness.Customer) { livesAs(c, "single") }
	for name, tt := range map[string]struct {
		before string // what is done with the page before the household changes
		change func(*harness.Customer)
		after  string // what is done with it then, before Continue
	}{
		"draft, mortgage":          {"autosave", mortgage, ""},
		"open page, mortgage":      {"", mortgage, ""},
		"saves itself, mortgage":   {"", mortgage, "autosave"},
		"open page, no partner":    {"", alone, ""},
		"saves itself, no partner": {"autosave", alone, "autosave"},
		"saved, no partner":        {"save", alone, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := harness.New(t).NewCustomer()
			livesAs(c, "couple")
			tab := load(c, "expenses")
			for input, typed := range map[string]string{"share": "50", "housing.mortgage_rent": "3600",
				"housing.mortgage_rent.period": "month", "living.groceries": "1000"} {
				tab.values.Set(input, typed)
			}
			switch tt.before {
			case "autosave":
				tab.press("autosave", http.StatusOK).Shows("× 50% = $1,800.00 a month").Hides(outdated)
			case "save":
				tab.values.Set("action", "save")
				c.WantRedirect(c.Post("expenses", tab.values))
				tab = load(c, "expenses")
			}
			tt.change(c)
			if tt.after != "" {
				tab.press(tt.after, http.StatusOK, "living.groceries", "1001")
			}
			if tt.before != "" {
				c.WantPage(c.Get("expenses"), http.StatusOK).Shows(outdated)
			}
			tab.press("add:housing.utilities", http.StatusOK).Shows(outdated)
			tab.values.Set("action", "save")
			c.WantRedirect(c.Post("expenses", tab.values))
			for range 2 {
				tab.press("continue", http.StatusUnprocessableEntity).Shows("Check each amount, then tick that you have").
					WantField("housing.mortgage_rent", "3,600")
			}
			tab = load(c, "expenses")
			tick := tab.tick
			tab.press("autosave", http.StatusOK, "sharing.checked", "as all for another household")
			tab.press("continue", http.StatusUnprocessableEntity).Shows(outdated) // which it isn't a tick for
			tab.press("autosave", http.StatusOK, "sharing.checked", tick)
			c.WantPage(c.Get("expenses"), http.StatusOK).Shows(outdated).WantField("sharing.checked", tick) // until Continue
			tab.values.Set("action", "continue")
			c.WantRedirect(c.Post("expenses", tab.values))
			c.WantPage(c.Get("expenses"), http.StatusOK).Hides(outdated)
		})
	}
}

// Amounts of a page for another household that arrive beside those of this one aren't taken
// for amounts of this one.
func TestPagesOfTwoHouseholds(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	livesAs(c, "single")
	stale := load(c, "expenses")
	livesAs(c, "couple")
	fresh := load(c, "expenses")
	fresh.press("autosave", http.StatusOK, "share", "50", "living.groceries", "1000").Hides(outdated)
	stale.press("autosave", http.StatusOK, "living.clothing", "200")
	fresh.press("continue", http.StatusUnprocessableEntity).Shows(outdated).WantField("living.clothing", "200")
	// A tick isn't one for amounts that come from another page beside it, or collide with its own.
	stale.press("autosave", http.StatusOK, "living.clothing", "201")
	fresh.press("autosave", http.StatusOK, "living.clothing", "202", "sharing.checked", fresh.tick)
	c.WantPage(c.Get("expenses"), http.StatusOK).WantField("living.clothing", "201").WantField("sharing.checked", "")
	fresh.press("take:living.clothing", http.StatusOK)
	stale.press("autosave", http.StatusOK, "living.medical", "300")
	fresh.press("continue", http.StatusUnprocessableEntity, "sharing.checked", fresh.tick).Shows(outdated).
		WantField("living.medical", "300")
	fresh.press("continue", http.StatusUnprocessableEntity)
	fresh.values.Set("sharing.checked", fresh.tick)
	c.WantRedirect(c.Post("expenses", fresh.values))
	c.WantPage(c.Get("expenses"), http.StatusOK).Hides(outdated).Shows("× 50% = $100.50 a month", "× 50% = $150.00 a month")
}

// A script that knows only the contract has no household and no share. A page asks both.
func TestScriptHasNoHousehold(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	values := statementtest.Values("personal_details")
	values.Del("household.type")
	values.Del("household.dependants")
	c.WantRedirect(c.Post("personal_details", values))
	page := maps.Clone(values)
	page.Set("was", values.Encode())
	c.WantPage(c.Post("personal_details", page), http.StatusUnprocessableEntity).Shows("Select whether you live with a partner",
		"Enter how many dependants you have, 0 for none")
	c.WantRedirect(c.Post("personal_details", values))
	c.WantRedirect(c.Post("income", url.Values{"employment_income.gross_salary": {"120000"}}))
	for _, none := range []string{"assets", "liabilities"} {
		c.WantRedirect(c.Post(none, url.Values{"has": {"none"}}))
	}
	c.WantRedirect(c.Post("expenses", url.Values{"housing.mortgage_rent": {"2600"}}))
	got := sign(t, c)
	if got.Expenses.Housing.Rent != "2600" || got.Expenses.Share != nil || got.Personal.Household.Type != "" ||
		got.Personal.Household.Dependants != nil || len(got.Entered) != 0 {
		t.Errorf("a script's statement is %+v", got)
	}
}

// A car that isn't paid off is a personal loan with a name, which asks for its lender (D20).
func TestCarLoanIsAPersonalLoan(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	c.WantRedirect(c.Post("assets", url.Values{
		"vehicles.0.description": {"Mazda 3"}, "vehicles.0.value": {"15000"}, "vehicles.0.amount_owing": {"9000"},
	}))
	page := c.WantPage(c.Get("liabilities"), http.StatusOK)
	page.WantField("personal_loans.0.purpose", "Car loan, Mazda 3").WantField("personal_loans.0.balance", "9,000").
		Hides("Your part.")
	if !strings.Contains(page.Source, "<h3>Car loan, Mazda 3</h3>") {
		t.Error("the loan isn't titled by what it is")
	}
	loan := url.Values{"personal_loans.0.purpose": {"Car loan, Mazda 3"}, "personal_loans.0.balance": {"9000"},
		"personal_loans.0.monthly_repayment": {"310"}}
	c.WantPage(c.Post("liabilities", loan), http.StatusUnprocessableEntity).Shows("Car loan, Mazda 3: enter the lender")
	loan.Set("personal_loans.0.lender", "Plenti")
	c.WantRedirect(c.Post("liabilities", loan))
	c.WantPage(c.Get("expenses"), http.StatusOK).WantField("transport.car_loan", "310").WantField("commitments.debt_repayments", "")
}
