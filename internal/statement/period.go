package statement

import "candor/internal/form"

// periods are those in which people know each recurring amount, by its path in the data
// object without the numbers of items. The page starts with them (D77). With form.Once
// none is true of most people, so the customer says it: pay comes weekly, fortnightly or
// monthly; rent isn't a mortgage; childcare is billed by the week, school by the term;
// eating out is by the week, streaming by the month; and the others can be anything.
var periods = map[string]form.Period{
	"income.employment_income.gross_salary":   form.Once,
	"income.employment_income.bonuses":        form.Yearly,
	"income.employment_income.allowances":     form.Yearly,
	"income.other_income.business_income":     form.Yearly,
	"income.other_income.government_payments": form.Fortnightly, // as Centrelink pays them
	"income.other_income.rental_income":       form.Weekly,
	"income.other_income.dividends":           form.Yearly,
	"income.other_income.interest":            form.Yearly,
	"income.other_income.child_support":       form.Monthly, // as Services Australia assesses it
	"income.other_income.other":               form.Once,

	"liabilities.mortgages.monthly_repayment":         form.Monthly,
	"liabilities.personal_loans.monthly_repayment":    form.Monthly,
	"liabilities.other_liabilities.monthly_repayment": form.Monthly,

	"expenses.housing.mortgage_rent":            form.Once,
	"expenses.housing.utilities":                form.Quarterly,
	"expenses.housing.insurance":                form.Yearly,
	"expenses.housing.rates":                    form.Quarterly,
	"expenses.transport.car_loan":               form.Monthly,
	"expenses.transport.fuel":                   form.Weekly,
	"expenses.transport.registration_insurance": form.Yearly,
	"expenses.living.groceries":                 form.Weekly,
	"expenses.living.clothing":                  form.Monthly,
	"expenses.living.medical":                   form.Monthly,
	"expenses.living.health_insurance":          form.Monthly,
	"expenses.living.phone_internet":            form.Monthly,
	"expenses.living.children":                  form.Once,
	"expenses.living.entertainment":             form.Once,
	"expenses.commitments.debt_repayments":      form.Monthly,
	"expenses.commitments.child_support":        form.Monthly,
	"expenses.commitments.other":                form.Once,
}

// income describes an amount of a year, before tax (D19). The name is its path in the
// section.
func income(p *Cents, name, label string) form.Field {
	return form.Money(p, name, label, form.Yearly).DefaultsTo(periods[IncomeSection+"."+name], "Say how often you get {label}")
}

// repayment describes what is paid each month for a debt of the list (D19).
func repayment(p *Cents, list string) form.Field {
	const name = "monthly_repayment"
	return form.Money(p, name, "Repayment", form.Monthly).DefaultsTo(periods[LiabilitiesSection+"."+list+"."+name], sayHowOften)
}

// expense describes an amount of a month (D19). The name is its path in the section.
func expense(p *Cents, name, label string) form.Field {
	return form.Money(p, name, label, form.Monthly).DefaultsTo(periods[ExpensesSection+"."+name], sayHowOften)
}

const sayHowOften = "Say how often you pay {label}"
