package demo

import (
	"math/rand/v2"
	"time"

	"candor/internal/form"
	"candor/internal/sample"
	"candor/internal/statement"
)

// slip is a mistake that people make in a section: the input that it is made
// in, and what is typed into it.
type slip struct{ input, typed string }

// slips are the mistakes in each section, the likelier ones more than once.
var slips = map[string][]slip{
	statement.PersonalDetailsSection: {{"date_of_birth.year", ""}, {"date_of_birth.month", "13"}, {"phone", "n/a"},
		{"address.postcode", "220"}, {"address.postcode", "220"}, {"address.suburb", ""}},
	statement.IncomeSection: {{"employment_income.gross_salary", "about 90k"}, {"employment_income.gross_salary",
		"1.800,50 a fortnight"}, {"employment_income.bonuses", "none"}},
	statement.AssetsSection: {
		{"vehicles.0.value", "20-25k"}, {"vehicles.0.description", ""}, {"superannuation.0.balance", "not sure"},
		{"superannuation.0.balance", "?"},
		{"superannuation.0.balance", "don’t know"},
	},
	statement.LiabilitiesSection: {{"mortgages.0.lender", ""}, {"mortgages.0.lender", ""}, {"credit_cards.0.limit", "ten thousand"},
		{"other_liabilities.0.balance", "see above"}},
	statement.ExpensesSection: {{"living.groceries", "200-250"}, {"living.groceries", "about 250"},
		{"housing.mortgage_rent", "580 or so"}, {"transport.fuel", "varies"}},
}

// slipIn is the section with a mistake in it, and what the form says to it;
// nothing where there is no place for it.
func slipIn(r *rand.Rand, s *statement.Statement, name string, now time.Time) (*form.Section, form.Errors) {
	of := slips[name]
	right := s.Section(name, now)
	if len(of) == 0 || right == nil {
		return nil, nil
	}
	made, inputs := sample.Pick(r, of), right.Inputs()
	if !inputs.Has(made.input) {
		return nil, nil
	}
	inputs.Set(made.input, made.typed)
	inputs.Del(form.SharingInput)
	wrong := new(statement.Statement).Section(name, now)
	return wrong, wrong.Decode(inputs)
}
