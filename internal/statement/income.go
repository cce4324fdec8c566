package statement

import (
	"math/big"

	"candor/internal/form"
)

// Income is yearly and before tax (D19).
type Income struct {
	Employment EmploymentIncome
	Other      OtherIncome
}

// EmploymentIncome is what an employer pays in a year, before tax.
type EmploymentIncome struct{ GrossSalary, Bonuses, Allowances Cents }

// OtherIncome is other income of a year, before tax (D54).
type OtherIncome struct {
	Rental, Dividends, Interest                       Cents
	GovernmentPayments, Business, ChildSupport, Other Cents
}

// TotalGross is the sum of a year's income.
func (i *Income) TotalGross() Cents {
	e, o := i.Employment, i.Other
	return e.GrossSalary + e.Bonuses + e.Allowances + o.Rental + o.Dividends + o.Interest +
		o.GovernmentPayments + o.Business + o.ChildSupport + o.Other
}

// Monthly is a twelfth of TotalGross, rounded half up to the cent (D19).
func (i *Income) Monthly() Cents { return form.DivRound(big.NewInt(int64(i.TotalGross())), 12) }

// incomeSection describes the income, for who lives alone without a word about a partner.
func (s *Statement) incomeSection() *form.Section {
	section := s.Income.section()
	if s.Personal.Household.alone() {
		section.Intro = "Tick what you get, before tax."
	}
	return section
}

func (i *Income) section() *form.Section {
	e, o := &i.Employment, &i.Other
	return &form.Section{
		Name:            IncomeSection,
		AsksWhatApplies: true,
		Title:           "Income",
		Intro:           "Tick what you get, before tax. Leave out your partner’s income.",
		Groups: []form.Group{
			{Name: "employment_income", Title: "Pay from a job", Fields: []form.Field{
				income(&e.GrossSalary, "employment_income.gross_salary", "Gross salary").
					Hints("Count overtime. See your payslip, or your income statement in myGov.").Sums("Add another job"),
				income(&e.Bonuses, "employment_income.bonuses", "Bonuses").Hints("Commission, too."),
				income(&e.Allowances, "employment_income.allowances", "Allowances"),
			}},
			{Name: "business_income", Title: "Work for yourself", Fields: []form.Field{
				income(&o.Business, "other_income.business_income", "Business income").Hints("Your share of profit, not drawings.").
					Sums(another).
					RefusesNegative("{label} must be $0 or more. If you made a loss, enter 0 here and what you pay towards it at “Any other expenses” in Expenses"),
			}},
			{Name: "government_payments", Title: "Pensions and benefits", Fields: []form.Field{
				income(&o.GovernmentPayments, "other_income.government_payments", "Pensions and benefits").
					Hints("From Centrelink or Veterans’ Affairs.").Sums(another),
			}},
			{Name: "rental_income", Title: "Rent from a property", Fields: []form.Field{
				income(&o.Rental, "other_income.rental_income", "Rental income").Hints("Your share of the rent, before costs.").Sums(another).
					RefusesNegative("{label} must be $0 or more. Enter the rent before costs, and your share of the costs at “Any other expenses” in Expenses"),
			}},
			{Name: "investment_income", Title: "Dividends and interest", Fields: []form.Field{
				income(&o.Dividends, "other_income.dividends", "Dividends"),
				income(&o.Interest, "other_income.interest", "Interest"),
			}},
			{Name: "other_income", Title: "Other income", Fields: []form.Field{
				income(&o.ChildSupport, "other_income.child_support", "Child support received"),
				income(&o.Other, "other_income.other", "Any other income").Sums(another),
			}},
			{Fields: []form.Field{
				form.Total(i.TotalGross, "total_gross_income", "Total yearly income before tax", form.Yearly),
			}},
		},
	}
}
