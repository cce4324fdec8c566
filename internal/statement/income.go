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

func (i *Income) section() *form.Section {
	e, o := &i.Employment, &i.Other
	money := func(p *Cents, name, label, hint string) form.Field {
		return form.Money(p, name, label, form.Yearly).Hints(hint)
	}
	return &form.Section{
		Name:            IncomeSection,
		AsksWhatApplies: true,
		Title:           "Income",
		Intro:           "Tick what you get, before tax. Leave out your partner’s income.",
		Groups: []form.Group{
			{Name: "employment_income", Title: "Pay from a job", Fields: []form.Field{
				money(&e.GrossSalary, "employment_income.gross_salary", "Gross salary",
					"See your payslip, or your income statement in myGov.").Sums(),
				money(&e.Bonuses, "employment_income.bonuses", "Bonuses", "Overtime and commission, too."),
				money(&e.Allowances, "employment_income.allowances", "Allowances", ""),
			}},
			{Name: "business_income", Title: "Work for yourself", Fields: []form.Field{
				money(&o.Business, "other_income.business_income", "Business income", "Your share of the profit.").Sums(),
			}},
			{Name: "government_payments", Title: "Pensions and benefits", Fields: []form.Field{
				money(&o.GovernmentPayments, "other_income.government_payments", "Pensions and benefits",
					"From Centrelink or Veterans’ Affairs.").Sums(),
			}},
			{Name: "rental_income", Title: "Rent from a property", Fields: []form.Field{
				money(&o.Rental, "other_income.rental_income", "Rental income", "Your share of the rent, before costs.").Sums(),
			}},
			{Name: "investment_income", Title: "Dividends and interest", Fields: []form.Field{
				money(&o.Dividends, "other_income.dividends", "Dividends", ""),
				money(&o.Interest, "other_income.interest", "Interest", ""),
			}},
			{Name: "other_income", Title: "Other income", Fields: []form.Field{
				money(&o.ChildSupport, "other_income.child_support", "Child support received", ""),
				money(&o.Other, "other_income.other", "Any other income", "").Sums(),
			}},
			{Fields: []form.Field{
				form.Total(i.TotalGross, "total_gross_income", "Total gross income", form.Yearly),
			}},
		},
	}
}
