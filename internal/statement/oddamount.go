package statement

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	"candor/internal/form"
)

// The limits of odd amounts (D79); doc/form.md has their sources.
const (
	// hugeIncome is a year's. An income above it that was given for a shorter time is
	// probably that of a year: few people have as much. hugeIncomes has lower limits.
	hugeIncome Cents = 250_000_00
	// bareMinimum is what a person spends in a month at the least: the lowest basic rate of
	// JobSeeker Payment from the age of 22, that of each partner of a couple, $712.30 a
	// fortnight from 20 September 2024 (Services Australia). It is below the poverty lines of
	// the Melbourne Institute and of ACOSS with UNSW.
	bareMinimum Cents = 1_543_32
)

// hugeIncomes are the limits, by paths in the section, of incomes that the page asks for
// by week, fortnight or month: who has only a year's figure types that.
var hugeIncomes = map[string]Cents{
	"other_income.government_payments": 80_000_00,
	"other_income.rental_income":       200_000_00,
	"other_income.child_support":       24_000_00,
}

const (
	businessIncome = "income.other_income.business_income"
	rentalIncome   = "income.other_income.rental_income"
)

// yearlyOf are the sentences about an amount by the period in which it was given.
var yearlyOf = map[form.Period]string{
	form.Weekly:      "{label}: {amount} a week makes {year} a year.",
	form.Fortnightly: "{label}: {amount} a fortnight makes {year} a year.",
	form.Monthly:     "{label}: {amount} a month makes {year} a year.",
	form.Quarterly:   "{label}: {amount} a quarter makes {year} a year.",
}

// incomeByPeriod are the incomes of a week to a quarter that make a huge one.
func incomeByPeriod(s *Statement, _ time.Time) (out []Doubt) {
	s.Section(IncomeSection, time.Time{}).Walk(func(path string, f form.Field) {
		limit := cmp.Or(hugeIncomes[path], hugeIncome)
		for _, e := range f.Entries() {
			out = append(out, when(e.Period != form.Yearly && e.Yearly() > limit, Doubt{
				Path: IncomeSection + "." + path, Text: yearlyOf[e.Period], Label: f.Label, Args: []string{e.Amount.String(),
					e.Yearly().String()},
			})...)
		}
	})
	return out
}

// askedByPeriod reports whether incomeByPeriod asks about the income at path.
func (s *Statement) askedByPeriod(path string) bool {
	return slices.ContainsFunc(incomeByPeriod(s, time.Time{}), func(d Doubt) bool { return d.Path == path })
}

// givenPeriod are the amounts that are what was given in another period, within a quarter, or of
// quite another size, if that replaced the period that the page starts with: the customer
// probably meant another one.
func givenPeriod(s *Statement, _ time.Time) (out []Doubt) {
	for _, name := range []string{IncomeSection, ExpensesSection} {
		s.Section(name, time.Time{}).Walk(func(path string, f form.Field) {
			var given Cents
			if f.Entries() != nil || f.SharedBy != "" || f.DefaultPeriod == f.Period ||
				given.UnmarshalJSON(s.Prefill[name][path]) != nil || given == 0 {
				return
			}
			amount, text := f.Amount(), "{label}: {amount} a month. It was filled in as {given}."
			if f.Period == form.Yearly {
				text = "{label}: {amount} a year. It was filled in as {given}."
			}
			yearly := form.Entry{Amount: given, Period: f.Period}.Yearly()
			odd := amount < given/10 || amount > 10*given || slices.ContainsFunc(form.Periods, func(p form.Period) bool {
				other := form.Entry{Amount: amount, Period: p}.Yearly()
				return p != f.Period && other > yearly*3/4 && other < yearly*5/4
			})
			out = append(out, when(amount > 0 && odd, Doubt{
				Path: name + "." + path, Text: text, Label: f.Label, Args: []string{amount.String(), given.String()},
			})...)
		})
	}
	return out
}

// expensesAboveIncome are the expenses that are above the whole income, except the rent,
// which has a rule of its own.
func expensesAboveIncome(s *Statement, _ time.Time) (out []Doubt) {
	income := s.Income.Monthly()
	s.Section(ExpensesSection, time.Time{}).Walk(func(path string, f form.Field) {
		out = append(out, when(f.Asked() && path != "housing.mortgage_rent" && income > 0 && f.Amount() > income, Doubt{
			Path: ExpensesSection + "." + path, Text: "{label}: {expense} a month. Your income before tax is {income} a month.", Label: f.Label,
			Args: []string{f.Amount().String(), income.String()},
		})...)
	})
	return out
}

// repaymentsOfAllOwners are those of shared properties that are probably the bank's whole figure
// beside the customer's part of the balance: a year's is above a ninth of it. At 6 % it is
// 7 % with 30 years to go, and as much as a ninth with 13.
func repaymentsOfAllOwners(s *Statement, _ time.Time) (out []Doubt) {
	for i, m := range s.Liabilities.Mortgages {
		for _, p := range s.Assets.RealProperty {
			its := sameName(p.Address, m.Property) || len(s.Assets.RealProperty) == 1
			out = append(out, when(its && p.shared() && m.MonthlyRepayment <= m.Balance && m.MonthlyRepayment*12 > m.Balance/9, Doubt{
				Path: item("liabilities."+mortgageList, i, "monthly_repayment"),
				Text: "Your part of the mortgage on {property} is {amount}. You pay {repayment} a month yourself.",
				Args: []string{p.Address, m.Balance.String(), m.MonthlyRepayment.String()},
			})...)
		}
	}
	return out
}

// rounding is by how much an expense can differ from the repayments that the form offers: people
// round them.
func rounding(repaid Cents) Cents { return repaid / 50 }

// paysNoRent reports whether the customer lives for nothing in a home that isn't theirs: they
// pay nothing for housing, or the mortgages of other properties. Less than those is probably
// rent, and asked about with them. Mortgages without any property have a rule of their own.
func (s *Statement) paysNoRent() bool {
	repaid, paid := s.SuggestExpenses().Housing.MortgageRent, s.Expenses.Housing.MortgageRent
	return (paid == 0 || s.missing(paid, repaid) == 0 && s.missing(repaid, paid) <= rounding(repaid)) &&
		(s.livesElsewhere() || len(s.Assets.RealProperty)+len(s.Liabilities.Mortgages) == 0)
}

// livesElsewhere reports whether the customer lives in none of their properties, which in
// Australia only addresses with a house tell, not "Home" or a PO box.
func (s *Statement) livesElsewhere() bool {
	a := &s.Personal.Address
	return (a.Abroad() || houseOf(a.Street) != "") && len(s.Assets.RealProperty) > 0 &&
		!slices.ContainsFunc(s.Assets.RealProperty, func(p *Property) bool { return p.canBeAt(a) })
}

// canBeAt reports whether the property can be the one at the address. Abroad a house is told
// in other ways ("Torstraße 55"), so there the whole street line counts.
func (p *Property) canBeAt(a *Address) bool {
	home, its := houseOf(a.Street), houseOf(p.Address)
	switch {
	case sameName(a.Street, p.Address), sameName(strings.Join(a.oneLine(), " "), p.Address):
		return true
	case home == "" || its == "":
		return !a.Abroad()
	}
	abbreviated := strings.Count(its, " ") > 1 && (strings.HasPrefix(its, home) || strings.HasPrefix(home, its)) // "12 The Ave"
	return its == home || abbreviated
}

// rentAboveValue is a rent for which the properties are too cheap: above an eighth of their value
// a year. Who types a month's rent as a week's gets that of 3 %.
func rentAboveValue(s *Statement, _ time.Time) []Doubt {
	rent, worth := s.Income.Other.Rental, s.Assets.propertyShare()
	return when(worth > 0 && rent > worth/8 && !s.askedByPeriod(rentalIncome), Doubt{
		Path: rentalIncome, Text: "Your rental income is {rent} a year. Your share of your properties is worth {value}.",
		Args: []string{rent.String(), worth.String()},
	})
}

// housingAboveRepayments is one amount of housing costs that is above the repayments of
// mortgages: the rent was probably typed over those of another home, or a repayment was
// corrected since. What is above the whole income or without a property has rules of its own.
func housingAboveRepayments(s *Statement, _ time.Time) []Doubt {
	repaid, paid := s.SuggestExpenses().Housing.MortgageRent, s.Expenses.Housing.MortgageRent
	text, allowed := "Your mortgage or rent is {paid} a month. {owed} of it repays mortgages.", rounding(repaid)
	if s.livesElsewhere() {
		text, allowed = "Your mortgage or rent is {paid} a month. {owed} of it repays mortgages, and {rent} is rent.", 0
	}
	one := len(s.Entered[ExpensesSection][mortgageRent]) < 2 && len(s.Assets.RealProperty) > 0 && paid <= s.Income.Monthly()
	return when(one && repaid > 0 && s.missing(paid, repaid) > allowed, Doubt{
		Path: ExpensesSection + "." + mortgageRent, Text: text,
		Args: []string{paid.String(), repaid.String(), (paid - repaid).String()},
	})
}

// house is what an address has of a house, however the rest of it is written: "18 Wattle",
// "5 St Kilda"; of a PO box it is the box.
var house = regexp.MustCompile(`(?:box\s+)?\d+\p{L}?\s+(?:(?:st|saint|mt|mount|the)\s+)?\p{L}+`)

func houseOf(address string) string {
	its := house.FindString(strings.ReplaceAll(strings.ToLower(address), ".", ""))
	if strings.HasPrefix(its, "box") {
		return ""
	}
	return its
}

// lowExpenses are all expenses together if they are too low to live on. Rent that is missing
// explains them, so it is asked about in one.
func lowExpenses(s *Statement, _ time.Time) []Doubt {
	text := "You spend {expenses} a month in total."
	if s.paysNoRent() {
		text = "You spend {expenses} a month in total. You pay no rent."
	}
	minimum, total := bareMinimum, s.Expenses.Total()
	if percent, known := s.share(); known && percent < 50 {
		minimum = minimum * Cents(percent) / 50 // of what both spend
	}
	return when(total < minimum, Doubt{Path: "expenses.total_monthly_expenses", Text: text, Args: []string{total.String()}})
}
