package statement

import (
	"slices"

	"candor/internal/form"
)

// Expenses is what the customer spends in a month (D19, D54).
type Expenses struct {
	Housing     Housing
	Transport   Transport
	Living      Living
	Commitments Commitments
}

// Housing is the monthly cost of a home.
type Housing struct{ MortgageRent, Utilities, Insurance, Rates Cents }

// Transport is the monthly cost of transport.
type Transport struct{ CarLoan, Fuel, RegistrationInsurance Cents }

// Living is the monthly cost of everyday life.
type Living struct {
	Groceries, Clothing, Medical, Entertainment Cents
	Children, HealthInsurance, PhoneInternet    Cents
}

// Commitments is what else must be paid each month.
type Commitments struct{ DebtRepayments, ChildSupport, Other Cents }

// SuggestExpenses returns the repayments of the liabilities as expenses: those
// of mortgages and vehicle finance beside the home and the car, all others as
// commitments (D55). The section starts with them.
func SuggestExpenses(a *Assets, l *Liabilities) Expenses {
	var e Expenses
	for _, m := range l.Mortgages {
		e.Housing.MortgageRent += m.MonthlyRepayment
	}
	for _, p := range l.PersonalLoans {
		e.Commitments.DebtRepayments += p.MonthlyRepayment
	}
	for _, o := range l.Other {
		if a.finances(o) {
			e.Transport.CarLoan += o.MonthlyRepayment
		} else {
			e.Commitments.DebtRepayments += o.MonthlyRepayment
		}
	}
	return e
}

// finances reports whether the debt is the finance of one of the vehicles, as
// SuggestLiabilities describes it.
func (a *Assets) finances(o *OtherLiability) bool {
	return slices.ContainsFunc(a.Vehicles, func(v *Vehicle) bool { return financeFor(v) == o.Description })
}

// Total is the sum of a month's expenses (D21).
func (e *Expenses) Total() Cents {
	h, t, l, c := e.Housing, e.Transport, e.Living, e.Commitments
	return h.MortgageRent + h.Utilities + h.Insurance + h.Rates +
		t.CarLoan + t.Fuel + t.RegistrationInsurance +
		l.Groceries + l.Clothing + l.Medical + l.Entertainment + l.Children + l.HealthInsurance + l.PhoneInternet +
		c.DebtRepayments + c.ChildSupport + c.Other
}

func (e *Expenses) section() *form.Section {
	h, t, l, c := &e.Housing, &e.Transport, &e.Living, &e.Commitments
	money := func(p *Cents, name, label, hint string) form.Field {
		return form.Money(p, name, label, form.Monthly).Hints(hint)
	}
	return &form.Section{
		Name:            ExpensesSection,
		AsksWhatApplies: true,
		Title:           "Expenses",
		Intro:           "Tick what you pay for your household. Leave out what others pay.",
		Groups: []form.Group{
			{Name: "housing", Title: "Housing", Fields: []form.Field{
				money(&h.MortgageRent, "housing.mortgage_rent", "Mortgage or rent", ""),
				money(&h.Utilities, "housing.utilities", "Utilities", "Power, gas and water.").Usually(form.Quarterly),
				money(&h.Insurance, "housing.insurance", "Home insurance", "").Usually(form.Yearly),
				money(&h.Rates, "housing.rates", "Rates", "Council and body corporate.").Usually(form.Quarterly),
			}},
			{Name: "transport", Title: "Transport", Fields: []form.Field{
				money(&t.CarLoan, "transport.car_loan", "Car loan", ""),
				money(&t.Fuel, "transport.fuel", "Fuel and fares", "").Usually(form.Weekly),
				money(&t.RegistrationInsurance, "transport.registration_insurance", "Registration and car insurance", "").Usually(form.Yearly),
			}},
			{Name: "living", Title: "Living", Fields: []form.Field{
				money(&l.Groceries, "living.groceries", "Groceries", "").Usually(form.Weekly),
				money(&l.Clothing, "living.clothing", "Clothing", ""),
				money(&l.Medical, "living.medical", "Medical costs", ""),
				money(&l.HealthInsurance, "living.health_insurance", "Health insurance", ""),
				money(&l.PhoneInternet, "living.phone_internet", "Phone and internet", ""),
				money(&l.Children, "living.children", "Children", "Childcare and school."),
				money(&l.Entertainment, "living.entertainment", "Entertainment", "Eating out, streaming, sport."),
			}},
			{Name: "commitments", Title: "Other costs", Fields: []form.Field{
				money(&c.DebtRepayments, "commitments.debt_repayments", "Loan and card repayments", "Not those above.").Sums(),
				money(&c.ChildSupport, "commitments.child_support", "Child support paid", ""),
				money(&c.Other, "commitments.other", "Any other expenses", "").Sums(),
			}},
			{Fields: []form.Field{form.Total(e.Total, "total_monthly_expenses", "Total expenses", form.Monthly)}},
		},
	}
}
