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

// OtherIncome is other income of a year, before tax.
type OtherIncome struct{ Rental, Dividends, Interest Cents }

// TotalGross is the sum of a year's income.
func (i *Income) TotalGross() Cents {
	e, o := i.Employment, i.Other
	return e.GrossSalary + e.Bonuses + e.Allowances + o.Rental + o.Dividends + o.Interest
}

// Monthly is a twelfth of TotalGross, rounded half up to the cent (D19).
func (i *Income) Monthly() Cents { return form.DivRound(big.NewInt(int64(i.TotalGross())), 12) }

func (i *Income) section() *form.Section {
	salary := form.Money(&i.Employment.GrossSalary, "employment_income.gross_salary", "Gross salary", form.Yearly)
	salary.Hint = "Your yearly pay before tax. It is on your payslip or group certificate."
	bonuses := form.Money(&i.Employment.Bonuses, "employment_income.bonuses", "Bonuses", form.Yearly)
	bonuses.Hint = "Bonuses, commission and overtime."
	return &form.Section{
		Name:  IncomeSection,
		Title: "Income",
		Intro: "What you earn in a year, before tax. Leave a box empty where you have none.",
		Groups: []form.Group{
			{Title: "From work", Fields: []form.Field{
				salary,
				bonuses,
				form.Money(&i.Employment.Allowances, "employment_income.allowances", "Allowances", form.Yearly),
			}},
			{Title: "Other income", Fields: []form.Field{
				form.Money(&i.Other.Rental, "other_income.rental_income", "Rental income", form.Yearly),
				form.Money(&i.Other.Dividends, "other_income.dividends", "Dividends", form.Yearly),
				form.Money(&i.Other.Interest, "other_income.interest", "Interest", form.Yearly),
			}},
			{Fields: []form.Field{
				form.Total(i.TotalGross, "total_gross_income", "Total gross income", form.Yearly),
			}},
		},
	}
}
