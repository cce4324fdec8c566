package statement_test

import (
	"slices"
	"testing"
	"time"

	"candor/internal/statement"
)

// TestDebtsAreFound lists which debts of the assets are missing in liabilities
// that name them otherwise.
func TestDebtsAreFound(t *testing.T) {
	t.Parallel()
	const home, flat, car = "assets.real_property.0.mortgage_owing", "assets.real_property.1.mortgage_owing", "assets.vehicles.0.amount_owing"
	assets := statement.Assets{
		RealProperty: []*statement.Property{
			{Address: "12 Smith St, Perth WA 6000", OwnershipPercentage: 50, CurrentValue: 90_000_00, MortgageOwing: 70_000_00},
			{Address: "112 Smith St", OwnershipPercentage: 100, CurrentValue: 50_000_00, MortgageOwing: 40_000_00},
			{Address: "Farm", OwnershipPercentage: 100, CurrentValue: 1},
			{Address: "Not mine", OwnershipPercentage: 0, CurrentValue: 1, MortgageOwing: 1},
		},
		Vehicles: []*statement.Vehicle{{Description: "Mazda", Value: 1, AmountOwing: 9_000_00}, {Description: "Ute"}},
	}
	type l = statement.Liabilities
	mortgages := func(m ...*statement.Mortgage) l { return l{Mortgages: m} }
	for name, tt := range map[string]struct {
		l
		missing []string
	}{
		"none":                    {l{}, []string{home, flat, car}},
		"as suggested":            {statement.SuggestLiabilities(&assets), nil},
		"shorter names":           {mortgages(&statement.Mortgage{Property: "12 smith st"}, &statement.Mortgage{Property: "112 Smith St."}), []string{car}},
		"by the share's amount":   {mortgages(&statement.Mortgage{Property: "home", Balance: 35_000_00}), []string{flat, car}},
		"by the whole amount":     {mortgages(&statement.Mortgage{Lender: "ANZ", Balance: 70_000_00}), []string{flat, car}},
		"by another name":         {mortgages(&statement.Mortgage{Property: "our home", Balance: 1}), []string{flat, car}},
		"two loans for one":       {mortgages(&statement.Mortgage{Property: "112 Smith St"}, &statement.Mortgage{Property: "112 Smith St"}), []string{home, car}},
		"not filled in":           {mortgages(&statement.Mortgage{}), []string{home, flat, car}},
		"a car loan":              {l{PersonalLoans: []*statement.PersonalLoan{{Purpose: "Buy the Mazda"}}}, []string{home, flat}},
		"a loan of that amount":   {l{PersonalLoans: []*statement.PersonalLoan{{Lender: "Wisr", Balance: 9_000_00}}}, []string{home, flat}},
		"another loan":            {l{PersonalLoans: []*statement.PersonalLoan{{Purpose: "Holiday", Balance: 9_000_01}}}, []string{home, flat, car}},
		"finance, car renamed":    {l{Other: []*statement.OtherLiability{{Description: "Finance for Mazda 3"}}}, []string{home, flat}},
		"a mortgage isn't for it": {l{Mortgages: []*statement.Mortgage{{Property: "Farm"}, {Property: "Farm"}}}, []string{home, flat, car}},
	} {
		s := statement.Statement{Assets: assets, Liabilities: tt.l}
		var missing []string
		for _, d := range s.Doubts(time.Now()) {
			if d.Code == statement.DebtNotListed {
				missing = append(missing, d.Path)
			}
		}
		if !slices.Equal(missing, tt.missing) {
			t.Errorf("%s: missing %q, want %q", name, missing, tt.missing)
		}
	}
}

// TestAgeOfDoubt is asked until the eighteenth birthday begins where the customer lives,
// in Sydney if that isn't known, and from the day after the last one at a hundred.
func TestAgeOfDoubt(t *testing.T) {
	t.Parallel()
	born := time.Date(2008, 3, 1, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		state string
		at    time.Time
		odd   bool
	}{
		{"", time.Date(2026, 2, 28, 12, 59, 0, 0, time.UTC), true},
		{"", time.Date(2026, 2, 28, 13, 0, 0, 0, time.UTC), false},
		{"NSW", time.Date(2026, 2, 28, 12, 59, 0, 0, time.UTC), true},
		{"NSW", time.Date(2026, 2, 28, 13, 0, 0, 0, time.UTC), false},
		{"WA", time.Date(2026, 2, 28, 15, 59, 0, 0, time.UTC), true},
		{"WA", time.Date(2026, 2, 28, 16, 0, 0, 0, time.UTC), false},
		{"WA", time.Date(2109, 2, 28, 15, 59, 0, 0, time.UTC), false},
		{"WA", time.Date(2109, 2, 28, 16, 0, 0, 0, time.UTC), true},
	} {
		s := statement.Statement{Personal: statement.PersonalDetails{DateOfBirth: born, Address: statement.Address{State: tt.state}}}
		s.Declaration.SignedAt = tt.at
		s.Declaration.Confirmations = []statement.Confirmation{{Code: "age", Path: "personal_details.date_of_birth"}}
		isAge := func(d statement.Doubt) bool { return d.Code == "age" }
		if got := slices.ContainsFunc(s.Doubts(tt.at), isAge); got != tt.odd {
			t.Errorf("%s at %s: asked %t, want %t", tt.state, tt.at, got, tt.odd)
		}
		if got := slices.ContainsFunc(s.Confirmed(), isAge); got != tt.odd {
			t.Errorf("%s, signed at %s: confirmed %t, want %t", tt.state, tt.at, got, tt.odd)
		}
	}
}
