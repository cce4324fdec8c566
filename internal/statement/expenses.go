package statement

import "candor/internal/form"

// Expenses is what the customer spends in a month (D19).
type Expenses struct {
	Housing   Housing
	Transport Transport
	Living    Living
}

// Housing is the monthly cost of a home.
type Housing struct{ MortgageRent, Utilities, Insurance, Rates Cents }

// Transport is the monthly cost of transport.
type Transport struct{ CarLoan, Fuel, RegistrationInsurance Cents }

// Living is the monthly cost of everything else.
type Living struct{ Groceries, Clothing, Medical, Entertainment Cents }

// Total is the sum of a month's expenses (D21).
func (e *Expenses) Total() Cents {
	h, t, l := e.Housing, e.Transport, e.Living
	return h.MortgageRent + h.Utilities + h.Insurance + h.Rates +
		t.CarLoan + t.Fuel + t.RegistrationInsurance +
		l.Groceries + l.Clothing + l.Medical + l.Entertainment
}

func (e *Expenses) section() *form.Section {
	h, t, l := &e.Housing, &e.Transport, &e.Living
	money := func(p *Cents, name, label, hint string) form.Field {
		f := form.Money(p, name, label, form.Monthly)
		f.Hint = hint
		return f
	}
	return &form.Section{
		Name:  ExpensesSection,
		Title: "Expenses",
		Intro: "What you spend in a usual month. For a yearly bill, divide by 12; for a quarterly one, by 3; a weekly cost is about 4.33 times as much a month.",
		Groups: []form.Group{
			{Title: "Housing", Fields: []form.Field{
				money(&h.MortgageRent, "housing.mortgage_rent", "Mortgage or rent", ""),
				money(&h.Utilities, "housing.utilities", "Utilities", "Electricity, gas, water, phone and internet."),
				money(&h.Insurance, "housing.insurance", "Home insurance", "Building and contents."),
				money(&h.Rates, "housing.rates", "Rates", "Council rates and body corporate fees."),
			}},
			{Title: "Transport", Fields: []form.Field{
				money(&t.CarLoan, "transport.car_loan", "Car loan", ""),
				money(&t.Fuel, "transport.fuel", "Fuel and fares", "Fuel, tolls, parking and public transport."),
				money(&t.RegistrationInsurance, "transport.registration_insurance", "Registration and car insurance", ""),
			}},
			{Title: "Living", Fields: []form.Field{
				money(&l.Groceries, "living.groceries", "Groceries", ""),
				money(&l.Clothing, "living.clothing", "Clothing", ""),
				money(&l.Medical, "living.medical", "Medical costs", "Doctors, medicines and health insurance."),
				money(&l.Entertainment, "living.entertainment", "Entertainment", "Eating out, subscriptions, sport and hobbies."),
			}},
			{Fields: []form.Field{form.Total(e.Total, "total_monthly_expenses", "Total expenses", form.Monthly)}},
		},
	}
}
