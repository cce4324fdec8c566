package form_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"candor/internal/form"
	"candor/internal/statement"
	"candor/internal/testkit/harness"
)

// meant is what a person types into an amount, and what that comes to in the section's
// unit: a year for income, a month for the others.
type meant struct {
	typed  string
	chosen string // the period that the person chooses because the page asks; else it isn't touched
	sum    json.Number
}

// meanings have every recurring amount of the form.
var meanings = map[string]map[string]meant{
	statement.IncomeSection: {
		"employment_income.gross_salary":   {"1,500", "week", "78000"},  // 1,500 × 52
		"employment_income.bonuses":        {"2,000", "", "2000"},       // a year
		"employment_income.allowances":     {"1,500", "", "1500"},       // a year
		"other_income.business_income":     {"41,250", "", "41250"},     // a year
		"other_income.government_payments": {"1,149", "", "29874"},      // 1,149 × 26
		"other_income.rental_income":       {"450", "", "23400"},        // 450 × 52
		"other_income.dividends":           {"640", "", "640"},          // a year
		"other_income.interest":            {"120", "", "120"},          // a year
		"other_income.child_support":       {"350", "", "4200"},         // 350 × 12
		"other_income.other":               {"50", "fortnight", "1300"}, // 50 × 26
		"total_gross_income":               {"", "", "182284"},
	},
	statement.LiabilitiesSection: {
		"mortgages.0.monthly_repayment":         {"2,150", "", "2150"},
		"personal_loans.0.monthly_repayment":    {"289.90", "", "289.9"},
		"other_liabilities.0.monthly_repayment": {"420", "", "420"},
	},
	statement.ExpensesSection: {
		"housing.mortgage_rent":            {"520", "week", "2253.33"}, // 520 × 52 = 27,040; ÷ 12 = 2,253.333…
		"housing.utilities":                {"390", "", "130"},         // 390 ÷ 3
		"housing.insurance":                {"1,420", "", "118.33"},    // 1,420 ÷ 12 = 118.333…
		"housing.rates":                    {"480", "", "160"},         // 480 ÷ 3
		"transport.car_loan":               {"507", "", "507"},
		"transport.fuel":                   {"85", "", "368.33"},   // 85 × 52 = 4,420; ÷ 12 = 368.333…
		"transport.registration_insurance": {"1,860", "", "155"},   // 1,860 ÷ 12
		"living.groceries":                 {"260", "", "1126.67"}, // 260 × 52 = 13,520; ÷ 12 = 1,126.666…
		"living.clothing":                  {"120", "", "120"},
		"living.medical":                   {"75", "", "75"},
		"living.health_insurance":          {"210", "", "210"},
		"living.phone_internet":            {"89", "", "89"},
		"living.children":                  {"450", "week", "1950"},
		"living.entertainment":             {"160", "month", "160"},
		"commitments.debt_repayments":      {"250", "", "250"},
		"commitments.child_support":        {"400", "", "400"},
		"commitments.other":                {"30", "week", "130"}, // 30 × 52 ÷ 12
		"total_monthly_expenses":           {"", "", "8202.66"},
	},
}

// TestWhatIsTypedIsWhatIsMeant types an amount into every recurring one without touching
// its period, as a browser posts the page. Where the page can't know the period, it asks.
func TestWhatIsTypedIsWhatIsMeant(t *testing.T) {
	t.Parallel()
	for section, amounts := range meanings {
		t.Run(section, func(t *testing.T) {
			t.Parallel()
			c := harness.New(t).NewCustomer()
			values, asked := typePlausibly(c, section, amounts), map[string]bool{}
			if got := c.Post(section, values); got.Code != http.StatusSeeOther {
				refused := c.WantPage(got, http.StatusUnprocessableEntity)
				values = refused.Forms()[0].Values()
				for name, message := range refused.Errors() {
					if field, of := strings.CutSuffix(name, ".period"); of {
						asked[field] = strings.Contains(message, "Say how often you ")
					}
				}
			}
			for name, m := range amounts {
				if asked[name] != (m.chosen != "") {
					t.Errorf("%s: the page asks how often: %t", name, asked[name])
				}
				if m.chosen != "" {
					values.Set(name+".period", m.chosen)
				}
			}
			c.WantRedirect(c.Post(section, values))
			wantAnswers(c, section, amounts)
		})
	}
}

// typePlausibly is what the page sends after the amounts were typed.
func typePlausibly(c *harness.Customer, section string, amounts map[string]meant) url.Values {
	c.Helper()
	values := c.WantPage(c.Get(section), http.StatusOK).Forms()[0].Values()
	for name := range values {
		if field, recurs := strings.CutSuffix(name, ".period"); recurs {
			if _, ok := amounts[field]; !ok {
				c.Errorf("%s is missing in the test", field)
			}
		}
	}
	values["has"] = nil
	for _, g := range new(statement.Statement).Section(section, c.Clock.Now()).Groups {
		kind := g.Kind()
		if kind == "credit_cards" || kind == "" {
			continue
		}
		values.Add(form.HasInput, kind)
		if g.List != nil {
			values.Set(kind+".0.lender", "ANZ")
			values.Set(kind+".0.balance", "9,000")
		}
	}
	if section == statement.LiabilitiesSection {
		values.Set("other_liabilities.0.description", "Study loan")
	}
	for name, m := range amounts {
		if m.typed != "" {
			values.Set(name, m.typed)
		}
	}
	return values
}

// wantAnswers compares the stored answers by their paths.
func wantAnswers(c *harness.Customer, section string, amounts map[string]meant) {
	c.Helper()
	var data map[string]any
	decoder := json.NewDecoder(strings.NewReader(toJSON(c, c.Open(c.ID).Statement)))
	decoder.UseNumber()
	c.OK(decoder.Decode(&data))
	for name, m := range amounts {
		if got := at(data[section], name); got != m.sum {
			c.Errorf("%s: %s comes to %v, want %s", name, m.typed, got, m.sum)
		}
	}
}

// at is the value at a path of decoded JSON.
func at(value any, path string) any {
	for key := range strings.SplitSeq(path, ".") {
		switch of := value.(type) {
		case map[string]any:
			value = of[key]
		case []any:
			value = of[int(key[0]-'0')]
		}
	}
	return value
}
