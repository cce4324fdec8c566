package form_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"candor/internal/form"
	"candor/internal/statement"
	"candor/internal/statement/statementtest"
	"candor/internal/testkit"
	"candor/internal/testkit/browsertest"
	"candor/internal/testkit/harness"
)

// fortnightly is the income of a customer with two payslips.
func fortnightly() url.Values {
	return url.Values{
		"employment_income.gross_salary": {"2,240"}, "employment_income.gross_salary.period": {"fortnight"},
		"employment_income.gross_salary.2": {"$300 per week"},
		"other_income.interest":            {"12"}, "other_income.interest.period": {"month"},
		"other_income.dividends": {"5"},
	}
}

// Amounts are kept, shown again, printed for the check and in the data as they
// were given (D53).
func TestAmountsInTheirPeriods(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	c.WantRedirect(c.Post("income", fortnightly()))
	page := c.WantPage(c.Get("income"), http.StatusOK)
	page.WantField("employment_income.gross_salary", "2,240").WantField("employment_income.gross_salary.period", "fortnight")
	page.WantField("employment_income.gross_salary.2", "300").WantField("employment_income.gross_salary.2.period", "week")
	page.WantField("other_income.dividends", "5").WantField("other_income.dividends.period", "year")
	page.WantField("other_income.rental_income.period", "week")
	page.Shows("= $73,840.00 a year", "= $144.00 a year", "$73,989.00", "Total yearly income before tax")
	for _, amount := range []string{"employment_income.gross_salary", "employment_income.gross_salary.2"} {
		if got := page.Field(amount).Description; !strings.Contains(got, "= $73,840.00 a year") {
			t.Errorf("%s is described by %q", amount, got)
		}
	}

	for _, section := range []string{"personal_details", "assets", "liabilities", "expenses"} {
		c.Answer(section)
	}
	c.WantRedirect(c.Post("documents", url.Values{"action": {"continue"}}))
	c.WantPage(c.Get("declaration"), http.StatusOK).Shows("$2,240.00 fortnightly + $300.00 weekly", "$73,840.00 yearly")
	c.Sign()
	data, err := c.Service.Sessions.Data(t.Context(), c.TestScope(), c.ID, harness.Operator)
	c.OK(err)
	var got struct {
		Income struct {
			Total json.Number `json:"total_gross_income"`
		} `json:"income"`
		Entered map[string]json.RawMessage `json:"entered"`
	}
	c.OK(json.Unmarshal([]byte(toJSON(t, data.Statement)), &got))
	if got.Income.Total != "73989" {
		t.Errorf("total %s, want 73989", got.Income.Total)
	}
	want := []string{"expenses.living.health_insurance", "income.employment_income.gross_salary", "income.other_income.interest"}
	if paths := slices.Sorted(maps.Keys(got.Entered)); !slices.Equal(paths, want) {
		t.Errorf("entered %q, want %q", paths, want)
	}
}

// Without script the button shows the page with one more amount; nothing is lost.
func TestAddAnotherAmount(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	values := url.Values{"employment_income.gross_salary": {"1000"}, "action": {"add:employment_income.gross_salary"}}
	page := c.WantPage(c.Post("income", values), http.StatusOK)
	page.WantField("employment_income.gross_salary", "1,000").WantField("employment_income.gross_salary.2", "")
	values.Set("employment_income.bonuses.period", string(form.Monthly)) // chosen before its amount
	c.WantPage(c.Post("income", values), http.StatusOK).WantField("employment_income.bonuses", "").
		WantField("employment_income.bonuses.period", string(form.Monthly))
	for _, name := range []string{"employment_income.bonuses", "nothing", "employment_income.gross_salary.2"} {
		values.Set("action", "add:"+name)
		if got := c.Post("income", values); got.Code != http.StatusBadRequest {
			t.Errorf("add:%s: status %d, want 400", name, got.Code)
		}
	}
}

// TestWrongAmountOfSeveral leads to the amount that is wrong, and says what of that one.
func TestWrongAmountOfSeveral(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	const salary = "employment_income.gross_salary"
	for name, values := range map[string]url.Values{
		"amount": {salary: {"1000"}, salary + ".period": {"week"}, salary + ".2": {"x"}, salary + ".2.period": {"week"}},
		"period": {salary: {"1000"}, salary + ".period": {"week"}, salary + ".2": {"5"}, salary + ".2.period": {""}},
	} {
		page := c.WantPage(c.Post("income", values), http.StatusUnprocessableEntity)
		wrong := map[string]string{"amount": salary + ".2", "period": salary + ".2.period"}[name]
		page.WantError(wrong, "")
		for _, input := range slices.Concat(page.All("input"), page.All("select")) {
			id := input.Attr("id")
			if marked := input.Attr("aria-invalid") == "true"; marked != (id == wrong) {
				t.Errorf("%s: %s is marked %t", name, id, marked)
			}
			if strings.HasPrefix(id, salary) && strings.Contains(input.Attr("aria-describedby"), salary+"-error") !=
				strings.HasPrefix(id, salary+".2") && !strings.HasSuffix(id, ".period") {
				t.Errorf("%s: %s is described by %q", name, id, input.Attr("aria-describedby"))
			}
		}
	}
}

// Repayments are typed once: Expenses starts with those of the liabilities (D55).
func TestExpensesStartWithRepayments(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	c.WantPage(c.Get("expenses"), http.StatusOK).WantField("housing.mortgage_rent", "").Hides("We added")
	c.Answer("assets")
	c.Answer("liabilities")
	page := c.WantPage(c.Get("expenses"), http.StatusOK).Shows("We added repayments, without cards")
	page.WantField("housing.mortgage_rent", "3,630.25").WantField("transport.car_loan", "").
		WantField("commitments.debt_repayments", "1,104.90")
	page = c.WantPage(c.Post("expenses", url.Values{"housing.mortgage_rent": {"3,630.25"}, "action": {"add:housing.mortgage_rent"}}),
		http.StatusOK) // the rent of who lives elsewhere
	page.WantField("housing.mortgage_rent", "3,630.25").WantField("housing.mortgage_rent.2", "").Hides("Add your rent.")
	moved := statementtest.Values("personal_details")
	moved.Set("address.street", "5 King Street")
	c.WantRedirect(c.Post("personal_details", moved))
	c.WantPage(c.Get("expenses"), http.StatusOK).Shows("Add your rent.")
	c.WantRedirect(c.Post("expenses", url.Values{"housing.mortgage_rent": {"1"}}))
	c.WantPage(c.Get("expenses"), http.StatusOK).WantField("housing.mortgage_rent", "1").WantField("transport.car_loan", "").
		Hides("We added")
}

// The state follows from the postcode, and the home address and the customer's
// banks are offered: also on a page that shows errors.
func TestNothingIsTypedTwice(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	values := statementtest.Values(statement.PersonalDetailsSection)
	values.Del("address.state")
	c.WantRedirect(c.Post("personal_details", values))
	c.WantPage(c.Get("personal_details"), http.StatusOK).WantField("address.state", "NSW")
	c.WantPage(c.Get("declaration"), http.StatusOK).Shows("Marrickville, New South Wales, 2204")
	offers := func(page *httptest.ResponseRecorder, names ...string) {
		t.Helper()
		for _, name := range names {
			if !strings.Contains(page.Body.String(), `<option value="`+name+`">`) {
				t.Errorf("%q isn't offered", name)
			}
		}
	}
	const home = "Unit 4, 18 Wattle Street, Marrickville NSW 2204"
	offers(c.Get("assets"), home, "Westpac", "HESTA")
	offers(c.Post("assets", url.Values{}), home)
	c.WantRedirect(c.Post("assets", url.Values{"bank_accounts.0.institution": {"Hume Bank"},
		"bank_accounts.0.account_type": {"savings"}}))
	offers(c.Get("liabilities"), "Hume Bank", "Westpac", "Zip")
}

// TestStateFollowsACorrectedPostcode refuses a page with a wrong postcode for another
// answer: the state that followed from it doesn't stay.
func TestStateFollowsACorrectedPostcode(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	tab := load(c, statement.PersonalDetailsSection)
	for name, typed := range statementtest.Values(statement.PersonalDetailsSection) {
		tab.values[name] = typed
	}
	tab.press("continue", http.StatusUnprocessableEntity, "address.state", "", "address.postcode", "2000", "phone", "").
		WantField("address.state", "")
	stored(c, statement.PersonalDetailsSection, "address.postcode", "2000", "address.state", "")
	tab.values.Set("address.postcode", "3000")
	tab.values.Set("phone", "0412 345 678")
	c.WantRedirect(c.Post(statement.PersonalDetailsSection, tab.values))
	c.WantPage(c.Get("declaration"), http.StatusOK).Shows("Victoria, 3000").Hides("is in VIC")
}

// In a browser the conversion is there while an amount is typed, as Go computes it, and a
// period that is chosen stays with its amount.
func TestBrowserPeriods(t *testing.T) {
	t.Parallel()
	h, base := harness.Listen(t)
	c := h.NewCustomer()
	tab := browsertest.New(t, browsertest.Options{Device: browsertest.Phone})
	couple := statementtest.Values(statement.PersonalDetailsSection)
	couple.Set("household.type", "couple")
	c.WantRedirect(c.Post(statement.PersonalDetailsSection, couple))
	arrive(tab, base, c, statement.ExpensesSection)
	agreesWithGo(t, tab, "share", "housing.utilities", utilities)
	tab.Open(base + c.Path(statement.AssetsSection))
	agreesWithGo(t, tab, "real_property.0.ownership_percentage", "real_property.0.current_value", propertyValue)
	tab.Open(base + c.Path(statement.IncomeSection))
	const salary = "employment_income.gross_salary"
	tab.Click(input("employment_income"))
	tab.WaitForFocus(salary)
	tab.Press("2240")
	tab.Select(input(salary+".period"), "fortnight")
	tab.WaitForText(input(salary+"-conversion"), "= $58,240.00 a year")
	tab.WaitForText(".totals", "$58,240.00")
	if got := tab.Value(input("other_income.interest.period")); got != "year" {
		t.Errorf("interest is %q, want year", got)
	}
	tab.Click(`button[value="add:` + salary + `"]`)
	tab.WaitForFocus(salary + ".2")
	tab.Press("100")
	tab.Select(input(salary+".2.period"), "month")
	tab.WaitForText(input(salary+"-conversion"), "= $59,440.00 a year")
	tab.Click(input("investment_income"))
	tab.Type(input("other_income.interest"), "1.234,56")
	tab.Click(".actions .button-primary")
	tab.WaitForFocus("error-summary")
	tab.WaitForText(".error-summary", "must have a point before the cents, like 1,250.50")
	tab.Axe()
	tab.FitsWidth()
	tab.NoErrors()
}

// A typedAmount is what is typed into an amount, with its period and a couple's share.
type typedAmount struct{ Typed, Period, Share string }

// typedAmounts are odd ones, and as many at random.
func typedAmounts() []typedAmount {
	out := []typedAmount{
		{"1000", "year", "100"}, {"1,000.10", "week", "50"}, {"0.06", "year", "100"}, {"0.05", "year", "100"},
		{"0.01", "fortnight", "1"}, {"$ 7.5", "quarter", "33"},
		{"999,999,999", "week", "99"}, {".99", "fortnight", "100"}, {"12 345.67", "quarter", "60%"}, {"500", "month", "100"},
		{"500", "month", "50"}, {"500", "month", "0"},
		{"2k", "month", "100"}, {"$ 2.5K", "year", "50"}, {"85 k", "year", "100"}, {"+500", "week", "100"}, {"+ A$500", "week", "100"},
		{"AUD 1,000", "year", "100"}, {"２ｋ", "week", "100"}, {".5k", "week", "100"},
		{"k", "week", "100"}, {"1,5k", "week", "100"}, {"2kk", "week", "100"}, {"5m", "year", "100"}, {"-500", "week", "100"},
		{"$+500", "week", "100"}, {"1e3", "week", "100"},
		{"1,50", "week", "50"}, {"12.345", "week", "50"}, {"2,000 per year", "week", "50"}, {"x", "year", "50"}, {"", "year", "50"},
		{"500", "year", ""}, {"500", "year", "101"}, {"500", "year", "half"},
	}
	random := rand.New(rand.NewPCG(26, 7))
	for range 500 {
		digits := strconv.Itoa(int(math.Pow(10, 9*random.Float64())))
		if random.IntN(2) == 0 {
			digits += "." + strconv.Itoa(10+random.IntN(90))
		}
		out = append(out, typedAmount{digits, string(form.Periods[random.IntN(len(form.Periods))]), strconv.Itoa(random.IntN(101))})
	}
	return out
}

// agreesWithGo types amounts, and a share of them, and compares what the script says at
// once with what Go computes. The script is asked without a save between.
func agreesWithGo(t *testing.T, tab *browsertest.Tab, share, amount string, want func(typedAmount) string) {
	t.Helper()
	all := typedAmounts()
	got := browsertest.Eval[[]string](tab, fmt.Sprintf(`%s.map(({ Typed, Period, Share }) => {
		const [share, amount, period, line] =
			[%[2]q, %[3]q, "%[3]s.period", "%[3]s-conversion"].map((id) => document.getElementById(id));
		[share.value, amount.value] = [Share, Typed];
		if (period) period.value = Period;
		amount.dispatchEvent(new Event("change", { bubbles: true }));
		return line.textContent.trim();
	})`, toJSON(t, all), share, amount))
	for i, tt := range all {
		if want := want(tt); got[i] != want {
			t.Errorf("%s: %s a %s, %q: the script says %q, Go %q", amount, tt.Typed, tt.Period, tt.Share, got[i], want)
		}
	}
}

// utilities is what Go says of a couple's expense.
func utilities(tt typedAmount) string {
	var cents form.Cents
	percent, err := strconv.Atoi(strings.TrimSuffix(tt.Share, "%"))
	known := err == nil && percent <= 100
	field := form.Money(&cents, "f", "F", form.Monthly).Shared(func() (int, bool) { return percent, known }, "share")
	field.Value.Parse(func(part string) string { return map[string]string{"": tt.Typed, "period": tt.Period}[part] })
	switch {
	case field.Entries() == nil || !known || tt.Typed == "2,000 per year": // which the server says after a save
		return ""
	case percent == 100:
		return "= " + cents.String() + " a month"
	}
	return "× " + strconv.Itoa(percent) + "% = " + cents.String() + " a month"
}

// propertyValue is what Go says of the value of a property.
func propertyValue(tt typedAmount) string {
	s := new(statement.Statement)
	s.Section(statement.AssetsSection, time.Time{}).Read(url.Values{"has": {"real_property"},
		"real_property.0.ownership_percentage": {tt.Share}, "real_property.0.current_value": {tt.Typed}})
	if p := s.Assets.RealProperty; len(p) > 0 && p[0].OwnershipPercentage != 100 {
		percent, err := strconv.Atoi(strings.TrimSuffix(tt.Share, "%"))
		if _, isAmount := form.ParseAmount(tt.Typed); isAmount && err == nil && percent == p[0].OwnershipPercentage {
			return "× " + strconv.Itoa(percent) + "% = " + p[0].CurrentValue.Share(percent).String()
		}
	}
	return ""
}

// TestPartOfAProperty says beside a whole amount what of it is the customer's, once a share is
// known, so that the page's column adds up.
func TestPartOfAProperty(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	for share, want := range map[string]string{"33": "× 33% = $33.00", "0": "× 0% = $0.00", "100": "", "": "", "x": ""} {
		c.Post(statement.AssetsSection, url.Values{"has": {"real_property"}, "real_property.0.ownership": {"joint"},
			"real_property.0.ownership_percentage": {share}, "real_property.0.current_value": {"100.01"},
			"real_property.0.mortgage_owing": {"x"}, "action": {"save"}})
		page := c.WantPage(c.Get(statement.AssetsSection), http.StatusOK)
		for id, want := range map[string]string{"current_value": want, "mortgage_owing": ""} {
			if got := page.Field("real_property.0." + id).Description; got != want {
				t.Errorf("%q: beside the %s stands %q, want %q", share, id, got, want)
			}
		}
	}
	c.Answer(statement.AssetsSection)
	got := c.WantPage(c.Get(statement.AssetsSection), http.StatusOK).Field("real_property.0.mortgage_owing").Description
	if got != "× 50% = $306,200.38" { // half of $612,400.75
		t.Errorf("beside the mortgage stands %q", got)
	}
}

// A first amount that is cleared stays blank on the page, though the stored ones move up,
// and typing there again collides with nothing.
func TestBrowserClearedAmountStays(t *testing.T) {
	t.Parallel()
	c := newTyping(t)
	tab := c.device(t, statement.IncomeSection)
	const salary = "employment_income.gross_salary"
	tab.Click(input("employment_income"))
	tab.Type(input(salary), "1000")
	tab.Click(`button[value="add:` + salary + `"]`)
	tab.WaitForFocus(salary + ".2")
	tab.Type(input(salary+".2"), "500")
	tab.WaitForText(saveStatus, "Saved ")
	stored(c.Customer, statement.IncomeSection, salary+".2", "500")
	tab.Type(input(salary), "")
	tab.Click(input("investment_income"))
	await := func(amounts string) {
		t.Helper()
		testkit.Await(t, amounts, func() bool {
			values := load(c.Customer, statement.IncomeSection).values
			return values.Get(salary)+" "+values.Get(salary+".2") == amounts
		})
	}
	await("500 ")
	tab.WaitForText(saveStatus, "Saved ")
	if first, second := tab.Value(input(salary)), tab.Value(input(salary+".2")); first != "" || second != "500" {
		t.Errorf("the amounts are %q and %q, want none and 500", first, second)
	}
	tab.Type(input(salary), "600")
	await("600 500")
	tab.WaitGone("[data-collision]")
	tab.NoErrors()
}
