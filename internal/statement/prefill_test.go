package statement_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"candor/internal/form"
	"candor/internal/statement"
	"candor/internal/statement/statementtest"
)

var prefilledSections = statement.SectionNames[:5]

// sectionsOf is the JSON of a statement's first five sections.
func sectionsOf(t testing.TB, s *statement.Statement) []byte {
	t.Helper()
	out := map[string]any{}
	for _, name := range prefilledSections {
		out[name] = s.Section(name, statementtest.Now())
	}
	raw, err := json.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestPrefillReadsData gives the sections of the data object again: every
// question can be given, and shows what was given.
func TestPrefillReadsData(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]*statement.Statement{"full": statementtest.Full(), "sparse": statementtest.Sparse()} {
		s.Entered = nil
		given, errs := statement.ReadPrefill(sectionsOf(t, s), statementtest.Now())
		if errs != nil {
			t.Fatalf("%s: %+v", name, errs)
		}
		shown := &statement.Statement{Prefill: given}
		for _, section := range prefilledSections {
			shown.Section(section, statementtest.Now()).Prefill(given[section])
		}
		if got, want := sectionsOf(t, shown), sectionsOf(t, s); string(got) != string(want) {
			t.Errorf("%s is shown as\n%s, want\n%s", name, got, want)
		}
		for path, result := range shown.Prefilled() {
			if result != statement.Confirmed {
				t.Errorf("%s: %s is %s", name, path, result)
			}
		}
	}
	given, _ := statement.ReadPrefill(sectionsOf(t, statementtest.Full()), statementtest.Now())
	for _, name := range prefilledSections {
		statementtest.Full().Section(name, statementtest.Now()).Walk(func(path string, f form.Field) {
			if (given[name][path] != nil) != f.Asked() {
				t.Errorf("%s.%s is given as %s", name, path, given[name][path])
			}
		})
	}
}

// TestPrefillRefuses checks that each mistake is named by its path, with the
// way to mend it.
func TestPrefillRefuses(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`[]`:                                   " must be an object",
		`{"asets": {}}`:                        "asets is not one of personal_details, income, assets, liabilities, expenses",
		`{"summary": {}}`:                      "summary is not one of personal_details, income, assets, liabilities, expenses",
		`{"declaration": {}}`:                  "declaration is not one of personal_details, income, assets, liabilities, expenses",
		`{"income": []}`:                       "income must be an object",
		`{"income": "x"}`:                      "income must be an object",
		`{"income": {"a": 1}}`:                 "income.a is not a member that the form knows",
		`{"income": {"employment_income": 5}}`: "income.employment_income must be an object",
		`{"income": {"employment_income": {"Gross_Salary": 5}}}`:                    "income.employment_income.Gross_Salary is not a member that the form knows",
		`{"income": {"employment_income.bonuses": 5}}`:                              "income.employment_income.bonuses is not a member that the form knows",
		`{"income": {"employment_income": {"bonuses": -5}}}`:                        "income.employment_income.bonuses must be $0 or more",
		`{"income": {"employment_income": {"bonuses": 0.125}}}`:                     "income.employment_income.bonuses must be an amount such as 1250 or 1250.50, as a number or a string",
		`{"income": {"employment_income": {"bonuses": 1e-3}}}`:                      "income.employment_income.bonuses must be an amount such as 1250 or 1250.50, as a number or a string",
		`{"income": {"employment_income": {"bonuses": "$1,250"}}}`:                  "income.employment_income.bonuses must be an amount such as 1250 or 1250.50, as a number or a string",
		`{"income": {"employment_income": {"bonuses": "90 a week"}}}`:               "income.employment_income.bonuses must be an amount such as 1250 or 1250.50, as a number or a string",
		`{"income": {"employment_income": {"bonuses": true}}}`:                      "income.employment_income.bonuses must be an amount such as 1250 or 1250.50, as a number or a string",
		`{"income": {"employment_income": {"bonuses": ""}}}`:                        "income.employment_income.bonuses must be an amount such as 1250 or 1250.50, as a number or a string",
		`{"income": {"employment_income": {"bonuses": 1000000000000}}}`:             "income.employment_income.bonuses must be $999,999,999,999.99 or less",
		`{"personal_details": {"full_name": 5}}`:                                    "personal_details.full_name must be a string",
		`{"personal_details": {"full_name": "a\nb"}}`:                               "personal_details.full_name must be one line without control characters",
		`{"personal_details": {"full_name": "\ud800"}}`:                             "personal_details.full_name contains characters that can’t be read: type it again",
		`{"personal_details": {"email": "jo"}}`:                                     "personal_details.email must be in the correct format, like name@example.com",
		`{"personal_details": {"date_of_birth": "27/3/1985"}}`:                      "personal_details.date_of_birth must be a date such as 1985-03-27",
		`{"personal_details": {"date_of_birth": "2985-03-27"}}`:                     "personal_details.date_of_birth must be in the past",
		`{"personal_details": {"date_of_birth": "0000-01-01"}}`:                     "personal_details.date_of_birth must be in 1900 or later",
		`{"personal_details": {"address": {"state": "New South Wales"}}}`:           "personal_details.address.state must be one of ACT, NSW, NT, QLD, SA, TAS, VIC, WA",
		`{"personal_details": {"address": {"postcode": 2204}}}`:                     "personal_details.address.postcode must be a string",
		`{"personal_details": {"address": {"postcode": "220"}}}`:                    "personal_details.address.postcode must be 4 digits. If you live abroad, choose your country",
		`{"assets": {"vehicles": {}}}`:                                              "assets.vehicles must be an array",
		`{"assets": {"vehicles": [5]}}`:                                             "assets.vehicles.0 must be an object",
		`{"personal_details": {"address": {"country": "GB", "state": "NSW"}}}`:      "personal_details.address.state is not asked with these answers",
		`{"personal_details": {"address": {"country": "UK"}}}`:                      "personal_details.address.country must be the code of one of the options, such as AU",
		`{"personal_details": {"date_of_birth": "2012-01-01"}}`:                     "personal_details.date_of_birth must be at least 16 years ago. Check the year: younger people can’t use this form",
		`{"personal_details": {"phone": "0412 345 67"}}`:                            "personal_details.phone must be complete, with its area code, like 0412 345 678. If it isn’t Australian, start with +, like +44 20 7946 0958",
		`{"assets": {"vehicles": [null]}}`:                                          "assets.vehicles.0 must be an object",
		`{"assets": {"vehicles": [{}]}}`:                                            "assets.vehicles.0 must have at least one answer",
		`{"assets": {"vehicles": [{"description": " "}]}}`:                          "assets.vehicles.0 must have at least one answer",
		`{"assets": {"vehicles": [{"value": "x"}, {"value": 1}, {"value": "-1"}]}}`: "assets.vehicles.0.value must be an amount such as 1250 or 1250.50, as a number or a string; assets.vehicles.2.value must be $0 or more",
		`{"assets": {"vehicles": [` + strings.Repeat(`{"value": 1},`, 50) + `{}]}}`: "assets.vehicles must have at most 50 items",
		`{"assets": {"real_property": [{"ownership_percentage": 101}]}}`:            "assets.real_property.0.ownership_percentage must be a whole number from 0 to 100",
		`{"assets": {"real_property": [{"ownership_percentage": "50"}]}}`:           "assets.real_property.0.ownership_percentage must be a whole number from 0 to 100",
		`{"assets": {"real_property": [{"ownership_percentage": 50.5}]}}`:           "assets.real_property.0.ownership_percentage must be a whole number from 0 to 100",
		`{"` + strings.Repeat("é", 200) + `": 1}`: strings.Repeat("é", 100) +
			"… is not one of personal_details, income, assets, liabilities, expenses",
		`{"liabilities": {"credit_cards": [{"limit": 1, "mortgages": []}]}}`:          "liabilities.credit_cards.0.mortgages is not a member that the form knows",
		`{"expenses": {"living": {"groceries": null, "pets": 1}}, "income": {"x":1}}`: "expenses.living.pets is not a member that the form knows; income.x is not a member that the form knows",
	} {
		_, errs := statement.ReadPrefill(json.RawMessage(raw), statementtest.Now())
		var got []string
		for _, e := range errs {
			got = append(got, e.Field+" "+e.Rule.String())
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("%.80s: %q, want %q", raw, got, want)
		}
	}
	many := `{"income": {"a": 1`
	for i := range 200 {
		many += fmt.Sprintf(`,"a%d":1`, i)
	}
	if _, errs := statement.ReadPrefill(json.RawMessage(many+`}}`), statementtest.Now()); len(errs) != 50 {
		t.Errorf("%d errors, want 50 at most", len(errs))
	}
	large := `{"income": null` + strings.Repeat(" ", statement.MaxPrefillBytes) + `}`
	if _, errs := statement.ReadPrefill(json.RawMessage(large), statementtest.Now()); len(errs) != 1 ||
		errs[0].Rule.Max != statement.MaxPrefillBytes {
		t.Errorf("a large prefill: %+v", errs)
	}
}

// TestPrefillSchema checks that the schema has what can be given, and nothing
// that is computed.
func TestPrefillSchema(t *testing.T) {
	t.Parallel()
	schema := statement.PrefillSchema()
	if got := slices.Sorted(maps.Keys(schema.Properties)); !slices.Equal(got, slices.Sorted(slices.Values(prefilledSections))) {
		t.Errorf("the schema has %q", got)
	}
	raw, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	for _, absent := range []string{"required", "total_", "net_value"} {
		if strings.Contains(string(raw), absent) {
			t.Errorf("the schema has %q: %s", absent, raw)
		}
	}
	for _, present := range []string{"gross_salary", "ownership_percentage", "date_of_birth", "debt_repayments"} {
		if !strings.Contains(string(raw), present) {
			t.Errorf("the schema lacks %q", present)
		}
	}
}

// FuzzReadPrefill reads arbitrary JSON. What it takes shows again as it was
// given, and can be given again.
func FuzzReadPrefill(f *testing.F) {
	f.Add(sectionsOf(f, statementtest.Full()))
	f.Add(sectionsOf(f, statementtest.Sparse()))
	f.Add(
		[]byte(
			`{"assets":{"vehicles":[{"value":"1.5"},{"value":0},{"description":"\u00ad"}]},"personal_details":{"phone":"\u2066\u00ad","date_of_birth":"1985-02-29"}}`))
	f.Add([]byte(`{"income":{"employment_income":{"gross_salary":1e400,"bonuses":-0}},"expenses":null,"":{}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		given, errs := statement.ReadPrefill(raw, statementtest.Now())
		if len(errs) > 50 {
			t.Fatalf("%d errors", len(errs))
		}
		for _, e := range errs {
			if e.Rule.String() == "" && e.Rule.Code != "bytes" {
				t.Fatalf("%+v says nothing", e)
			}
		}
		if errs != nil {
			return
		}
		shown := &statement.Statement{Prefill: given}
		for name := range given {
			shown.Section(name, statementtest.Now()).Prefill(given[name])
		}
		for path, result := range shown.Prefilled() {
			if result != statement.Confirmed {
				t.Fatalf("%s is %s, given %s", path, result, raw)
			}
		}
		if _, errs := statement.ReadPrefill(sectionsOf(t, shown), statementtest.Now()); errs != nil {
			t.Fatalf("%s shows %s, which can't be given: %+v", raw, sectionsOf(t, shown), errs)
		}
	})
}
