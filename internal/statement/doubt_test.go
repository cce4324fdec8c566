package statement_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"testing"
	"time"

	"candor/internal/form"
	"candor/internal/statement"
)

// TestDebtsAreFound lists which debts of the assets are missing in liabilities
// that name them otherwise.
func TestDebtsAreFound(t *testing.T) {
	t.Parallel()
	const home, flat, car = "assets.real_property.0.mortgage_owing", "assets.real_property.1.mortgage_owing",
		"assets.vehicles.0.amount_owing"
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
		"none":         {l{}, []string{home, flat, car}},
		"as suggested": {statement.SuggestLiabilities(&assets), nil},
		"shorter names": {mortgages(&statement.Mortgage{Property: "12 smith st"},
			&statement.Mortgage{Property: "112 Smith St."}), []string{car}},
		"by the share's amount": {mortgages(&statement.Mortgage{Property: "home", Balance: 35_000_00}), []string{flat, car}},
		"by the whole amount":   {mortgages(&statement.Mortgage{Lender: "ANZ", Balance: 70_000_00}), []string{flat, car}},
		"by another name":       {mortgages(&statement.Mortgage{Property: "our home", Balance: 1}), []string{flat, car}},
		"two loans for one": {mortgages(&statement.Mortgage{Property: "112 Smith St"},
			&statement.Mortgage{Property: "112 Smith St"}), []string{home, car}},
		"not filled in": {mortgages(&statement.Mortgage{}), []string{home, flat, car}},
		"a car loan":    {l{PersonalLoans: []*statement.PersonalLoan{{Purpose: "Buy the Mazda"}}}, []string{home, flat}},
		"a loan of that amount": {l{PersonalLoans: []*statement.PersonalLoan{{Lender: "Wisr", Balance: 9_000_00}}},
			[]string{home, flat}},
		"another loan": {l{PersonalLoans: []*statement.PersonalLoan{{Purpose: "Holiday", Balance: 9_000_01}}},
			[]string{home, flat, car}},
		"finance, car renamed": {l{Other: []*statement.OtherLiability{{Description: "Finance for Mazda 3"}}}, []string{home, flat}},
		"a mortgage isn't for it": {l{Mortgages: []*statement.Mortgage{{Property: "Farm"}, {Property: "Farm"}}},
			[]string{home, flat, car}},
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

// TestFormDocumentHasEachDoubt compares the list in doc/form.md with the rules.
func TestFormDocumentHasEachDoubt(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile("../../doc/form.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|").FindAllStringSubmatch(string(document), -1) {
		listed = append(listed, row[1])
	}
	if want := statement.DoubtCode("").Enum(); !slices.Equal(listed, want) {
		t.Errorf("doc/form.md lists %q, want %q", listed, want)
	}
}

// ordinary is a statement in which nothing is odd.
func ordinary() *statement.Statement {
	s := &statement.Statement{
		Personal: statement.PersonalDetails{
			FullName: "Mia Chen", DateOfBirth: time.Date(1990, 3, 27, 0, 0, 0, 0, time.UTC),
			Address: statement.Address{Street: "Unit 4, 12 Smith Street", Suburb: "Marrickville", State: "NSW", Postcode: "2204"},
		},
		Assets: statement.Assets{RealProperty: []*statement.Property{{Address: "12 Smith St", Ownership: "sole",
			OwnershipPercentage: 100, CurrentValue: 500_000_00, MortgageOwing: 300_000_00}}},
		Liabilities: statement.Liabilities{
			Mortgages: []*statement.Mortgage{{Lender: "ANZ", Property: "12 Smith St", Balance: 300_000_00,
				MonthlyRepayment: 1_800_00}},
			PersonalLoans: []*statement.PersonalLoan{{Lender: "Wisr", Balance: 200_00, MonthlyRepayment: 200_00}},
			CreditCards:   []*statement.CreditCard{{Issuer: "Amex", Limit: 5_000_00, Balance: 5_000_00}},
		},
	}
	s.Income.Employment = statement.EmploymentIncome{GrossSalary: 60_000_00, Bonuses: 60_000_00}
	s.Income.Other.Business = 600_000_00
	s.Expenses.Housing = statement.Housing{MortgageRent: 1_800_00, Utilities: 60_000_00}
	s.Expenses.Commitments.DebtRepayments = 200_00
	s.Declaration.FullName = "Mia Chen"
	return s
}

// give takes an income as it is typed on the page.
func give(t *testing.T, s *statement.Statement, input, amount, period string) {
	t.Helper()
	section := s.Section(statement.IncomeSection, time.Time{})
	inputs := section.Inputs()
	inputs.Set(input, amount)
	inputs.Set(input+".period", period)
	if errs := section.Decode(inputs); len(errs) > 0 {
		t.Fatal(errs)
	}
	s.KeepEntered(section)
}

// TestOddAmounts has an odd statement for each rule of amounts, and one that just isn't.
func TestOddAmounts(t *testing.T) {
	t.Parallel()
	type s = statement.Statement
	const salary, business, rent = "employment_income.gross_salary", "other_income.business_income", "expenses.housing.mortgage_rent"
	const pension, child, rental = "other_income.government_payments", "other_income.child_support", "other_income.rental_income"
	given := func(s *s, amount string) {
		s.Prefill = statement.Prefill{statement.IncomeSection: form.Given{salary: json.RawMessage(amount)}}
	}
	givenRent := func(s *s) {
		s.Assets.RealProperty, s.Liabilities = nil, statement.Liabilities{}
		s.Prefill = statement.Prefill{statement.ExpensesSection: form.Given{"housing.mortgage_rent": json.RawMessage("2600")}}
	}
	renter := func(s *s) {
		s.Assets.RealProperty, s.Liabilities.Mortgages, s.Expenses.Housing.MortgageRent = nil, nil, 0
	}
	only := func(s *s, total statement.Cents) {
		s.Expenses, s.Liabilities.PersonalLoans, s.Liabilities.Mortgages = statement.Expenses{
			Living: statement.Living{Groceries: total}}, nil, nil
		s.Assets.RealProperty[0].MortgageOwing = 0
	}
	for name, tt := range map[string]struct {
		change func(s *s)
		want   []string // code, path and sentence
	}{
		"ordinary": {func(*s) {}, nil},
		"bonus": {func(s *s) { s.Income.Employment.Bonuses = 104_000_00; s.Income.Employment.GrossSalary = 60_000_00 },
			[]string{
				"bonus_above_salary income.employment_income.bonuses Your bonuses are $104,000.00 a year. Your salary is $60,000.00 a year."}},
		"bonus by a cent": {func(s *s) { s.Income.Employment.Bonuses++ },
			[]string{
				"bonus_above_salary income.employment_income.bonuses Your bonuses are $60,000.01 a year. Your salary is $60,000.00 a year."}},
		"business above ten salaries": {func(s *s) { s.Income.Other.Business += 10 },
			[]string{
				"business_above_salary income.other_income.business_income Your business income is $600,000.10 a year. Your salary is $60,000.00 a year."}},
		"business without a salary": {func(s *s) {
			s.Income.Employment = statement.EmploymentIncome{}
			s.Income.Other.Business = 900_000_00
		}, nil},
		"a year's profit a fortnight": {func(s *s) { give(t, s, business, "41,250", "fortnight") },
			[]string{
				"income_period income.other_income.business_income Business income: $41,250.00 a fortnight makes $1,072,500.00 a year."}},
		"a year's salary a week": {func(s *s) { give(t, s, salary, "85,000", "week") },
			[]string{"income_period income.employment_income.gross_salary Gross salary: $85,000.00 a week makes $4,420,000.00 a year."}},
		"a month's of a rich one": {func(s *s) { give(t, s, salary, "20,833.33", "month") }, nil},
		"a year's salary a month": {func(s *s) { give(t, s, salary, "20,833.34", "month") },
			[]string{"income_period income.employment_income.gross_salary Gross salary: $20,833.34 a month makes $250,000.08 a year."}},
		"a year's salary a quarter": {func(s *s) { give(t, s, salary, "62,500.01", "quarter") },
			[]string{"income_period income.employment_income.gross_salary Gross salary: $62,500.01 a quarter makes $250,000.04 a year."}},
		"a year's salary a year": {func(s *s) { give(t, s, salary, "2,000,000", "year") }, nil},
		"a year's pension a fortnight": {func(s *s) { give(t, s, pension, "12,000", "fortnight") },
			[]string{
				"income_period income.other_income.government_payments Pensions and benefits: $12,000.00 a fortnight makes $312,000.00 a year."}},
		"a year's child support a month": {func(s *s) { give(t, s, child, "4,000", "month") },
			[]string{
				"income_period income.other_income.child_support Child support received: $4,000.00 a month makes $48,000.00 a year."}},
		"much child support": {func(s *s) { give(t, s, child, "2,000", "month") }, nil},
		"a year's rent a week": {func(s *s) { give(t, s, rental, "9,000", "week") },
			[]string{"income_period income.other_income.rental_income Rental income: $9,000.00 a week makes $468,000.00 a year."}},
		"much rent a week, pension a fortnight": {func(s *s) {
			give(t, s, rental, "3,846.15", "week")
			give(t, s, pension, "3,076.92", "fortnight")
			s.Assets.RealProperty[0].CurrentValue = 1_600_000_00
		}, nil},
		"a month's rent a week": {func(s *s) { give(t, s, rental, "1,202", "week") },
			[]string{"rent_above_value income.other_income.rental_income Your rental income is $62,504.00 a year. " +
				"Your share of your properties is worth $500,000.00."}},
		"much rent for the home": {func(s *s) { give(t, s, rental, "1,201", "week") }, nil},
		"rent without a property": {func(s *s) {
			give(t, s, rental, "1,202", "week")
			s.Assets.RealProperty, s.Liabilities.Mortgages = nil, nil
		}, nil},
		"bonuses without a salary": {func(s *s) { s.Income.Employment.GrossSalary, s.Income.Other.Business = 0, 660_000_00 },
			[]string{"bonus_above_salary income.employment_income.gross_salary You entered bonuses and no salary."}},
		"a fortnight's pay for a given year's": {func(s *s) {
			s.Income.Employment.Bonuses, s.Income.Other.Business, s.Expenses.Housing.Utilities = 0, 0, 0
			s.Expenses.Housing.MortgageRent, s.Liabilities = 0, statement.Liabilities{}
			s.Income.Other.Dividends, s.Expenses.Living.Groceries, s.Assets.RealProperty[0].MortgageOwing = 90_000_00, 2_000_00, 0
			given(s, "85000")
			give(t, s, salary, "1,640", "year")
		},
			[]string{
				"given_period income.employment_income.gross_salary Gross salary: $1,640.00 a year. It was filled in as $85,000.00."}},
		"another pay for a given one":            {func(s *s) { given(s, "65000"); give(t, s, salary, "100,000", "year") }, nil},
		"a period of its own for a given amount": {func(s *s) { given(s, "850000"); give(t, s, salary, "2,500", "fortnight") }, nil},
		"a week's rent for a given month's": {func(s *s) {
			givenRent(s)
			s.Expenses.Housing.MortgageRent = 650_00
		}, []string{"given_period " + rent + " Mortgage or rent: $650.00 a month. It was filled in as $2,600.00."}},
		"another rent for a given one":    {func(s *s) { givenRent(s); s.Expenses.Housing.MortgageRent = 1_900_00 }, nil},
		"half of the rent that was given": {func(s *s) { givenRent(s); s.Expenses.Housing.MortgageRent = 1_600_00 }, nil},
		"more than ten times what was given": {func(s *s) {
			s.Prefill = statement.Prefill{statement.ExpensesSection: form.Given{"housing.utilities": json.RawMessage("5999.99")}}
		}, []string{"given_period expenses.housing.utilities Utilities: $60,000.00 a month. It was filled in as $5,999.99."}},
		"an expense": {func(s *s) { s.Expenses.Housing.Utilities++ },
			[]string{"expense_above_income expenses.housing.utilities Utilities: $60,000.01 a month. Your income before tax is $60,000.00 a month."}},
		"rent is asked about once": {func(s *s) { s.Expenses.Housing.MortgageRent = 60_000_01 },
			[]string{"rent_above_income " + rent + " Your mortgage or rent is $60,000.01 a month. Your income before tax is $60,000.00 a month."}},
		"a phone of another country": {func(s *s) {
			s.Personal.Phone, s.Personal.Address.Suburb = "+64 4 472 3000", "Wellington"
		}, []string{"phone_country personal_details.address.country " +
			"Your phone number is +64 4 472 3000. Your address is in Wellington, NSW, Australia."}},
		"an Australian phone, from abroad": {func(s *s) { s.Personal.Phone = "+61 412 345 678" }, nil},
		"a phone abroad":                   {func(s *s) { s.Personal.Phone, s.Personal.Address.Country = "+64 4 472 3000", "NZ" }, nil},
		"no income": {func(s *s) {
			s.Income = statement.Income{}
		}, []string{"no_income income.total_gross_income You have no income."}},
		"asked for documents": {func(s *s) { s.DocumentsAsked, s.Documents = true, nil },
			[]string{"no_documents documents You were asked for documents and added none."}},
		"asked for documents, one given": {func(s *s) { s.DocumentsAsked, s.Documents = true, []statement.Document{{}} }, nil},
		"a renter":                       {renter, []string{"no_rent " + rent + " You pay no rent and own no home."}},
		"a renter who pays":              {func(s *s) { renter(s); s.Expenses.Housing.MortgageRent = 1_00 }, nil},
		"an owner": {func(s *s) {
			renter(s)
			s.Assets.RealProperty = []*statement.Property{{Address: "4/12 Smith St", Ownership: "sole", OwnershipPercentage: 100,
				CurrentValue: 1}}
		}, nil},
		"a renter with a mortgage": {func(s *s) { s.Personal.Address.Street = "112 Smith Street" },
			[]string{"no_rent " + rent + " You pay no rent, and don’t own the home where you live."}},
		"a renter with a mortgage who pays": {func(s *s) {
			s.Personal.Address.Street = "112 Smith Street"
			s.Expenses.Housing.MortgageRent += 600_00
			s.Entered = map[string]map[string]form.Entries{statement.ExpensesSection: {"housing.mortgage_rent": {
				{Amount: 1_800_00, Period: form.Monthly}, {Amount: 600_00, Period: form.Monthly}}}}
		}, nil},
		"a rent typed over a mortgage": {func(s *s) {
			s.Personal.Address.Street = "112 Smith Street"
			s.Expenses.Housing.MortgageRent = 2_400_00
		}, []string{"housing_above_repayments " + rent + " Your mortgage or rent is $2,400.00 a month. " +
			"$1,800.00 of it repays mortgages, and $600.00 is rent."}},
		"a rent typed over a bigger mortgage": {func(s *s) {
			s.Personal.Address.Street = "112 Smith Street"
			s.Expenses.Housing.MortgageRent = 1_500_00
		}, []string{"repayments_missing " + rent + " You repay $1,800.00 a month on mortgages. Your mortgage or rent is $1,500.00 a month."}},
		"a renter at a number that is the end of the home's": {func(s *s) {
			s.Assets.RealProperty[0].Address, s.Liabilities.Mortgages[0].Property = "112 Smith Street", "112 Smith Street"
			s.Personal.Address.Street = "12 Smith St"
		}, []string{"no_rent " + rent + " You pay no rent, and don’t own the home where you live."}},
		"a rent abroad typed over a mortgage": {func(s *s) {
			s.Personal.Address.Street, s.Personal.Address.Country = "Torstraße 55", "DE"
			s.Expenses.Housing.MortgageRent = 1_850_00
		}, []string{"housing_above_repayments " + rent + " Your mortgage or rent is $1,850.00 a month. " +
			"$1,800.00 of it repays mortgages, and $50.00 is rent."}},
		"an owner abroad": {func(s *s) {
			s.Personal.Address.Street, s.Personal.Address.Country = "Torstraße 55", "DE"
			s.Expenses.Housing.MortgageRent = 1_830_00
			const home = "torstraße 55, 10115 Berlin"
			s.Assets.RealProperty[0].Address, s.Liabilities.Mortgages[0].Property = home, home
		}, nil},
		"an owner with a PO box":      {func(s *s) { s.Personal.Address.Street = "PO Box 12 Hawthorn" }, nil},
		"an owner of a home named so": {func(s *s) { s.Assets.RealProperty[0].Address, s.Liabilities.Mortgages[0].Property = "Home", "Home" }, nil},
		"an owner in an avenue": {func(s *s) {
			s.Personal.Address.Street, s.Assets.RealProperty[0].Address, s.Liabilities.Mortgages[0].Property = "12 The Ave.",
				"12 The Avenue", "12 The Avenue"
		}, nil},
		"a renter in a street of saints": {func(s *s) {
			s.Personal.Address.Street, s.Assets.RealProperty[0].Address, s.Liabilities.Mortgages[0].Property = "5 St Kilda Rd",
				"5 St Georges Rd", "5 St Georges Rd"
		}, []string{"no_rent " + rent + " You pay no rent, and don’t own the home where you live."}},
		"enough to live on": {func(s *s) { only(s, 1_543_32) }, nil},
		"too little to live on": {func(s *s) { only(s, 1_543_31) },
			[]string{"low_expenses expenses.total_monthly_expenses You spend $1,543.31 a month in total."}},
		"less than half of what a couple spends": {func(s *s) {
			only(s, 617_32)
			share := 20
			s.Personal.Household.Type, s.Expenses.Share = "couple", &share
		}, nil},
		"too little for a couple": {func(s *s) {
			only(s, 617_31)
			share := 20
			s.Personal.Household.Type, s.Expenses.Share = "couple", &share
		}, []string{"low_expenses expenses.total_monthly_expenses You spend $617.31 a month in total."}},
		"rent is missing in too little": {func(s *s) { only(s, 1_000_00); s.Assets.RealProperty = nil },
			[]string{"low_expenses expenses.total_monthly_expenses You spend $1,000.00 a month in total. You pay no rent."}},
		"a last repayment": {func(s *s) { s.Liabilities.PersonalLoans[0].Balance-- },
			[]string{
				"repayment_above_balance liabilities.personal_loans.0.monthly_repayment You owe $199.99 (Wisr) and repay $200.00 a month."}},
		"a loan that isn't repaid": {func(s *s) {
			s.Liabilities.PersonalLoans[0].MonthlyRepayment = 0
			s.Liabilities.Mortgages[0].MonthlyRepayment = 0
		}, []string{"debt_without_repayment liabilities.mortgages.0.monthly_repayment You owe $300,000.00 (ANZ) and repay nothing.",
			"debt_without_repayment liabilities.personal_loans.0.monthly_repayment You owe $200.00 (Wisr) and repay nothing."}},
		"a study loan, repaid with the tax": {func(s *s) {
			s.Liabilities.Other = []*statement.OtherLiability{{Description: "HELP", Balance: 19_000_00}}
		}, nil},
		"a rounded repayment": {func(s *s) { s.Expenses.Housing.MortgageRent = 1_764_00 }, nil},
		"less than the repayment": {func(s *s) { s.Expenses.Housing.MortgageRent = 1_763_99 },
			[]string{"repayments_missing expenses.housing.mortgage_rent " +
				"You repay $1,800.00 a month on mortgages. Your mortgage or rent is $1,763.99 a month."}},
		"a rounded mortgage": {func(s *s) { s.Assets.RealProperty[0].MortgageOwing += 3_000_00 }, nil},
		"a mortgage that was paid down": {func(s *s) { s.Assets.RealProperty[0].MortgageOwing -= 20_000_00 },
			[]string{"debt_differs assets.real_property.0.mortgage_owing " +
				"You owe $280,000.00 on 12 Smith St. In your liabilities it is $300,000.00."}},
		"the customer's share of a mortgage": {func(s *s) {
			home := s.Assets.RealProperty[0]
			home.MortgageOwing, home.Ownership, home.OwnershipPercentage = 400_000_00, "joint", 75
		}, nil},
		"a mortgage that the assets no longer have": {func(s *s) { s.Assets.RealProperty[0].MortgageOwing = 0 },
			[]string{"debt_differs assets.real_property.0.mortgage_owing " +
				"You owe $0.00 on 12 Smith St. In your liabilities it is $300,000.00."}},
		"a debt beside a home that is paid off": {func(s *s) {
			s.Assets.RealProperty[0].MortgageOwing, s.Liabilities.Mortgages, s.Expenses.Housing.MortgageRent = 0, nil, 0
			s.Liabilities.Other = []*statement.OtherLiability{{Description: "Council rates, 12 Smith St", Balance: 1_200_00}}
		}, nil},
		"two cars of one name, one paid off": {func(s *s) {
			s.Assets.Vehicles = []*statement.Vehicle{{Description: "Corolla"}, {Description: "Corolla 2020", AmountOwing: 9_000_00}}
			s.Liabilities.PersonalLoans = []*statement.PersonalLoan{{Purpose: "Car loan, Corolla 2020", Balance: 19_000_00,
				MonthlyRepayment: 1}}
		}, []string{"debt_differs assets.vehicles.1.amount_owing " +
			"You owe $9,000.00 on Corolla 2020. In your liabilities it is $19,000.00."}},
		"a whole mortgage of half a home": {func(s *s) {
			s.Assets.RealProperty[0].Ownership, s.Assets.RealProperty[0].OwnershipPercentage = "joint", 50
		}, []string{"debt_differs liabilities.mortgages.0.balance " +
			"You own 50% of 12 Smith St. Its mortgage is $300,000.00. In your liabilities it is $300,000.00."}},
		"a mortgage of a property that was removed": {func(s *s) { s.Assets.RealProperty = nil },
			[]string{"mortgage_without_property liabilities.mortgages.0.balance " +
				"You have a mortgage of $300,000.00 (ANZ) and no property."}},
		"a mortgage of one of two properties that was removed": {func(s *s) {
			s.Liabilities.Mortgages = append(s.Liabilities.Mortgages, &statement.Mortgage{Lender: "NAB", Property: "5 Hill Rd",
				Balance: 200_000_00, MonthlyRepayment: 100})
			s.Expenses.Housing.MortgageRent += 100
		}, []string{"mortgage_without_property liabilities.mortgages.1.balance " +
			"You have a mortgage on 5 Hill Rd, which isn’t in your assets."}},
		"two mortgages on one home": {func(s *s) {
			s.Liabilities.Mortgages = append(s.Liabilities.Mortgages, &statement.Mortgage{Lender: "NAB", Property: "12 Smith Street",
				Balance: 200_000_00, MonthlyRepayment: 100})
			s.Assets.RealProperty[0].Address = "12 Smith Street"
			s.Liabilities.Mortgages[0].Property = "12 smith street"
			s.Assets.RealProperty[0].MortgageOwing += 200_000_00
			s.Expenses.Housing.MortgageRent += 100
		}, nil},
		"a debt that two devices added": {func(s *s) {
			s.Liabilities.Other = []*statement.OtherLiability{{Description: "HECS", Balance: 19_000_00},
				{Description: "Tax", Balance: 19_000_00}, {Description: "hecs", Lender: "ATO", Balance: 19_000_00}}
		}, []string{"debt_listed_twice liabilities.other_liabilities.2.monthly_repayment You have listed $19,000.00 (hecs) twice."}},
		"a sole owner of most of a home": {func(s *s) {
			s.Assets.RealProperty[0].OwnershipPercentage = 99
		}, []string{"sole_owner_share assets.real_property.0.ownership_percentage " +
			"You are the sole owner of 12 Smith St. Your share is 99%."}},
		"all of a joint home": {func(s *s) { s.Assets.RealProperty[0].Ownership = "joint" },
			[]string{"joint_owner_share assets.real_property.0.ownership_percentage 12 Smith St has more than one owner. Your share is 100%."}},
		"a repayment that was corrected": {func(s *s) { s.Expenses.Housing.MortgageRent = 1_836_01 },
			[]string{"housing_above_repayments " + rent + " Your mortgage or rent is $1,836.01 a month. " +
				"$1,800.00 of it repays mortgages."}},
		"a repayment that was rounded up": {func(s *s) { s.Expenses.Housing.MortgageRent = 1_836_00 }, nil},
		"a third of a home": {func(s *s) {
			home := s.Assets.RealProperty[0]
			home.CurrentValue, home.MortgageOwing, home.Ownership, home.OwnershipPercentage = 950_000_00, 900_000_00, "joint", 33
		}, nil},
		"a mortgage in two parts, one without a name": {func(s *s) {
			s.Liabilities.Mortgages = []*statement.Mortgage{
				{Lender: "ANZ", Property: "12 Smith St", Balance: 200_000_00, MonthlyRepayment: 900_00},
				{Lender: "ANZ", Balance: 100_000_00, MonthlyRepayment: 900_00},
			}
		}, nil},
		"one mortgage for two homes": {func(s *s) {
			s.Assets.RealProperty = append(s.Assets.RealProperty, &statement.Property{Address: "5 King St", Ownership: "sole",
				OwnershipPercentage: 100, CurrentValue: 500_000_00, MortgageOwing: 200_000_00})
			s.Liabilities.Mortgages = []*statement.Mortgage{{Lender: "ANZ", Property: "12 Smith St and 5 King St", Balance: 500_000_00,
				MonthlyRepayment: 1_800_00}}
		}, []string{"debt_not_listed assets.real_property.1.mortgage_owing Assets say that you owe $200,000.00 on 5 King St. Your liabilities leave it out."}},
		"a mortgage in two parts": {func(s *s) {
			one := &statement.Mortgage{Lender: "ANZ", Property: "12 Smith St", Balance: 150_000_00, MonthlyRepayment: 900_00}
			s.Liabilities.Mortgages = []*statement.Mortgage{one, one}
		}, nil},
		"a mortgage and what was borrowed on it": {func(s *s) {
			s.Liabilities.Other = []*statement.OtherLiability{{Description: "Roof of 12 Smith St", Balance: 9_000_00,
				MonthlyRepayment: 1_00}}
			s.Expenses.Commitments.DebtRepayments = 201_00
		}, nil},
		"the bank's whole repayment of half a home": {func(s *s) {
			home := s.Assets.RealProperty[0]
			home.Ownership, home.OwnershipPercentage, s.Liabilities.Mortgages[0].Balance = "joint", 50, 150_000_00
		}, []string{"repayment_of_all_owners liabilities.mortgages.0.monthly_repayment Your part of the mortgage on 12 Smith St " +
			"is $150,000.00. You pay $1,800.00 a month yourself."}},
		"a ninth of half a mortgage": {func(s *s) {
			home := s.Assets.RealProperty[0]
			home.Ownership, home.OwnershipPercentage, s.Liabilities.Mortgages[0].Balance = "joint", 50, 150_000_00
			s.Liabilities.Mortgages[0].MonthlyRepayment, s.Expenses.Housing.MortgageRent = 1_388_88, 1_388_88
		}, nil},
		"more than a ninth of half a mortgage": {func(s *s) {
			home := s.Assets.RealProperty[0]
			home.Ownership, home.OwnershipPercentage, s.Liabilities.Mortgages[0].Balance = "joint", 50, 150_000_00
			s.Liabilities.Mortgages[0].MonthlyRepayment, s.Expenses.Housing.MortgageRent = 1_388_89, 1_388_89
		}, []string{"repayment_of_all_owners liabilities.mortgages.0.monthly_repayment Your part of the mortgage on 12 Smith St " +
			"is $150,000.00. You pay $1,388.89 a month yourself."}},
		"the whole repayment of one home of two": {func(s *s) {
			s.Assets.RealProperty = append(s.Assets.RealProperty, &statement.Property{Address: "5 King St", Ownership: "joint",
				OwnershipPercentage: 50, CurrentValue: 500_000_00, MortgageOwing: 200_000_00})
			s.Liabilities.Mortgages = append(s.Liabilities.Mortgages, &statement.Mortgage{Lender: "ANZ", Property: "5 King St",
				Balance: 100_000_00, MonthlyRepayment: 1_050_00})
			s.Liabilities.Mortgages[0].MonthlyRepayment, s.Expenses.Housing.MortgageRent = 2_600_00, 3_650_00
		}, []string{"repayment_of_all_owners liabilities.mortgages.1.monthly_repayment Your part of the mortgage on 5 King St " +
			"is $100,000.00. You pay $1,050.00 a month yourself."}},
		"a card": {func(s *s) { s.Liabilities.CreditCards[0].Balance++ },
			[]string{"card_above_limit liabilities.credit_cards.0.balance You owe $5,000.01 on Amex. Its limit is $5,000.00."}},
		"more debts than assets": {func(s *s) {
			s.Liabilities.Other = []*statement.OtherLiability{{Description: "Fine", Balance: 9_000_000_00, MonthlyRepayment: 1_00}}
			s.Expenses.Commitments.DebtRepayments = 201_00
		}, nil},
	} {
		s := ordinary()
		tt.change(s)
		var got []string
		for _, d := range s.Doubts(time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)) {
			got = append(got, string(d.Code)+" "+d.Path+" "+d.English())
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: asked\n%q, want\n%q", name, got, tt.want)
		}
	}
}

// TestConfirmedStay has confirmations of which today's rules ask the same, ask otherwise, or
// ask nothing, and of those without a text, which are older.
func TestConfirmedStay(t *testing.T) {
	t.Parallel()
	const card, rent, age = "liabilities.credit_cards.0.balance", "expenses.housing.mortgage_rent", "personal_details.date_of_birth"
	s := ordinary()
	s.Declaration.SignedAt = time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	s.Liabilities.CreditCards[0].Balance++
	const text, asked = "You owe {amount} on {card}. Its limit is {limit}. ", "You owe $5,000.01 on Amex. Its limit is $5,000.00."
	for _, tt := range []struct {
		kept statement.Confirmation
		want string // the text to translate, and the sentence
	}{
		{statement.Confirmation{Code: "card_above_limit", Path: card, Text: asked}, text + asked},
		{statement.Confirmation{Code: "card_above_limit", Path: card}, text + asked},
		{statement.Confirmation{Code: "card_above_limit", Path: card, Text: "Amex is over."}, "Amex is over. Amex is over."},
		{statement.Confirmation{Code: "no_rent", Path: rent, Text: "No rent at {home}."}, "No rent at {home}. No rent at {home}."},
		{statement.Confirmation{Code: "left_out", Path: age, Text: "You are old."}, "You are old. You are old."},
		{statement.Confirmation{Code: "age", Path: age}, ""},
	} {
		s.Declaration.Confirmations = []statement.Confirmation{tt.kept}
		stored, err := s.Declaration.Stored()
		if err == nil {
			err = s.Read(statement.DeclarationSection, stored)
		}
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, d := range s.Confirmed() {
			got += d.Text + " " + d.English()
		}
		if got != tt.want {
			t.Errorf("of %v is shown %q, want %q", tt.kept, got, tt.want)
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
