package statement

import (
	"slices"
	"strings"

	"candor/internal/form"
)

// Expenses is what the customer spends in a month (D19, D54), of what a couple spends
// together the customer's share (D78).
type Expenses struct {
	Share       *int // the customer's, in percent; nil without a partner
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
// of mortgages and car loans beside the home and the car, all others as
// commitments (D55). The section starts with them.
func (s *Statement) SuggestExpenses() Expenses {
	var e Expenses
	for _, m := range s.Liabilities.Mortgages {
		e.Housing.MortgageRent += m.MonthlyRepayment
	}
	for _, p := range s.Liabilities.PersonalLoans {
		if p.isCarLoan() {
			e.Transport.CarLoan += p.MonthlyRepayment
		} else {
			e.Commitments.DebtRepayments += p.MonthlyRepayment
		}
	}
	for _, o := range s.Liabilities.Other {
		e.Commitments.DebtRepayments += o.MonthlyRepayment
	}
	return e
}

// RepaymentFields are the amounts that SuggestExpenses knows.
var RepaymentFields = []string{mortgageRent, carLoan, "commitments.debt_repayments"}

// isCarLoan reports whether the purpose says so, as SuggestLiabilities or as customers do.
func (p *PersonalLoan) isCarLoan() bool {
	return strings.Contains(words(p.Purpose), strings.TrimSuffix(words(loanPrefix), " "))
}

// Total is the sum of a month's expenses (D21).
func (e *Expenses) Total() Cents {
	h, t, l, c := e.Housing, e.Transport, e.Living, e.Commitments
	return h.MortgageRent + h.Utilities + h.Insurance + h.Rates +
		t.CarLoan + t.Fuel + t.RegistrationInsurance +
		l.Groceries + l.Clothing + l.Medical + l.Entertainment + l.Children + l.HealthInsurance + l.PhoneInternet +
		c.DebtRepayments + c.ChildSupport + c.Other
}

// share is what of the household's expenses is the customer's.
func (s *Statement) share() (percent int, known bool) {
	switch {
	case !s.Personal.Household.Couple():
		return 100, true
	case s.Expenses.Share == nil:
		return 0, false
	}
	return *s.Expenses.Share, true
}

// repaysMortgage reports whether the mortgage is in the liabilities, of which the customer
// enters their own part (D55).
func (s *Statement) repaysMortgage() bool {
	return slices.ContainsFunc(s.Liabilities.Mortgages, func(m *Mortgage) bool { return m.MonthlyRepayment > 0 })
}

// Outdated reports whether a section was completed for another share, or the expenses for
// another household.
func (s *Statement) Outdated(section *form.Section) bool {
	return section.Outdated || section.Name == ExpensesSection && s.Personal.Household.Couple() != (s.Expenses.Share != nil)
}

// sharing says which expenses are asked for as whole amounts of a couple.
func (s *Statement) sharing() string {
	switch {
	case !s.Personal.Household.Couple():
		return ""
	case s.repaysMortgage():
		return "all_but_mortgage"
	}
	return "all"
}

// ShareInput is the name of the question for a couple’s share, in Expenses.
const ShareInput = "share"

// expensesSection describes the expenses, of a couple with the share (D78).
func (s *Statement) expensesSection() *form.Section {
	section := s.Expenses.section()
	section.Sharing = s.sharing()
	share := form.PercentOrNull(&s.Expenses.Share, ShareInput, "Your share of household costs").
		Asks("Enter your share of household costs, from 0 to 100")
	share.When = s.Personal.Household.Couple
	section.Groups = append([]form.Group{{Fields: []form.Field{share}}}, section.Groups...)
	if s.Personal.Household.Couple() {
		section.Intro = "Tick what your household pays. Enter its total."
	}
	for _, group := range section.Groups {
		for i, f := range group.Fields {
			by, input := s.share, ""
			if s.Personal.Household.Couple() {
				input = ShareInput
			}
			if f.Name == mortgageRent && s.repaysMortgage() && s.livesElsewhere() {
				f.Hint = addRent // else it is typed over the mortgage
			}
			switch {
			case f.Kind != form.KindMoney:
				continue
			case group.Name == "commitments" || f.Name == carLoan || f.Name == mortgageRent && s.repaysMortgage():
				by, input = all, ""
				switch {
				case !s.Personal.Household.Couple():
				case f.Hint == addRent:
					f.Hint = "Your part. Add your part of the rent."
				default:
					f.Hint = strings.TrimSpace(yourPart + " " + f.Hint)
				}
			}
			group.Fields[i] = f.Shared(by, input)
		}
	}
	return section
}

// yourPart is the hint of an amount that the customer can share with others.
const yourPart = "Your part."

// another adds an amount where it needn't be said of what.
const another = "Add another"

// addRent is the hint beside mortgages of other homes than the customer's.
const addRent = "Add your rent."

// all is the share of what the customer pays alone.
func all() (percent int, known bool) { return 100, true }

// The expenses that repayments of the liabilities are (D55).
const (
	mortgageRent = "housing.mortgage_rent"
	carLoan      = "transport.car_loan"
)

func (e *Expenses) section() *form.Section {
	h, t, l, c := &e.Housing, &e.Transport, &e.Living, &e.Commitments
	return &form.Section{
		Name:            ExpensesSection,
		AsksWhatApplies: true,
		Title:           "Expenses",
		Intro:           "Tick what you pay for your household. Leave out what others pay.",
		Groups: []form.Group{
			{Name: "housing", Title: "Housing", Fields: []form.Field{
				expense(&h.MortgageRent, mortgageRent, "Mortgage or rent").Sums(another),
				expense(&h.Utilities, "housing.utilities", "Utilities").Hints("Power, gas, water.").Sums(another),
				expense(&h.Insurance, "housing.insurance", "Home insurance"),
				expense(&h.Rates, "housing.rates", "Rates").Hints("Council, body corporate."),
			}},
			{Name: "transport", Title: "Transport", Fields: []form.Field{
				expense(&t.CarLoan, carLoan, "Car loan"),
				expense(&t.Fuel, "transport.fuel", "Fuel and fares"),
				expense(&t.RegistrationInsurance, "transport.registration_insurance", "Registration and car insurance").Sums(another),
			}},
			{Name: "living", Title: "Living", Fields: []form.Field{
				expense(&l.Groceries, "living.groceries", "Groceries"),
				expense(&l.Clothing, "living.clothing", "Clothing"),
				expense(&l.Medical, "living.medical", "Medical costs"),
				expense(&l.HealthInsurance, "living.health_insurance", "Health insurance"),
				expense(&l.PhoneInternet, "living.phone_internet", "Phone and internet"),
				expense(&l.Children, "living.children", "Children").Hints("Childcare, school.").Sums(another),
				expense(&l.Entertainment, "living.entertainment", "Entertainment").Hints("Eating out, streaming, sport."),
			}},
			{Name: "commitments", Title: "Other costs", Fields: []form.Field{
				expense(&c.DebtRepayments, "commitments.debt_repayments", "Loan and card repayments").Hints("Not those above.").Sums(another),
				expense(&c.ChildSupport, "commitments.child_support", "Child support paid"),
				expense(&c.Other, "commitments.other", "Any other expenses").Sums(another),
			}},
			{Fields: []form.Field{form.Total(e.Total, "total_monthly_expenses", "Total monthly expenses", form.Monthly)}},
		},
	}
}
