package sample

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"time"

	"candor/internal/form"
	"candor/internal/statement"
)

var (
	banks = []string{"Commonwealth Bank", "Westpac", "NAB", "ANZ", "ING", "Macquarie", "Bendigo Bank", "Bank of Queensland",
		"Suncorp", "Great Southern Bank"}
	funds = []string{"AustralianSuper", "Australian Retirement Trust", "Aware Super", "UniSuper", "Hostplus", "Rest",
		"Cbus", "HESTA"}
	cards    = []string{"Commonwealth Bank", "American Express", "Westpac", "Latitude", "NAB", "Coles Mastercard"}
	lenders  = []string{"Plenti", "SocietyOne", "Latitude", "Wisr", "Harmoney", "MoneyMe"}
	purposes = []string{"Bathroom renovation", "Wedding", "Consolidation of card debts", "Solar panels", "Dental work",
		"Moving interstate", "Holiday"}
	vehicles = []vehicle{
		{"Toyota Corolla", 22}, {"Mazda CX-5", 29}, {"Toyota HiLux", 42}, {"Ford Ranger", 45}, {"Hyundai i30", 19},
		{"Tesla Model 3", 48}, {"Kia Sportage", 31},
		{"Subaru Forester", 27}, {"Volkswagen Golf", 24}, {"Honda Jazz", 12}, {"Isuzu D-Max", 40}, {"Mitsubishi Triton", 28},
	}
	holdings = []string{
		"Vanguard Australian Shares ETF", "BHP shares", "iShares S&P 500 ETF", "Commonwealth Bank shares", "CSL shares", "Bitcoin",
		"Betashares A200", "Managed fund, balanced",
	}
)

type vehicle struct {
	name  string
	price int // thousands
}

// dollars is an amount in thousands, as people round it.
func dollars(r *rand.Rand, thousands, spread float64) form.Cents {
	whole := thousands * 1000 * (1 + spread*(2*r.Float64()-1))
	step := 1.0
	switch {
	case whole > 100_000:
		step = 5000
	case whole > 20_000:
		step = 250
	case whole > 1000 && Chance(r, 0.6):
		step = 50
	}
	amount := form.Cents(whole/step) * form.Cents(step) * 100
	if step == 1 && Chance(r, 0.5) {
		amount += form.Cents(r.IntN(100))
	}
	return amount
}

// NewStatement is what the person answers, without documents and declaration.
func NewStatement(r *rand.Rand, p Person, now time.Time) *statement.Statement {
	s := new(statement.Statement)
	s.Personal = statement.PersonalDetails{
		FullName: p.Name, DateOfBirth: time.Date(now.Year()-p.age, time.Month(1+r.IntN(12)), 1+r.IntN(28), 0, 0, 0, 0, time.UTC),
		Occupation: p.job.title, Employer: p.job.employer, Email: p.Email,
		Address: statement.Address{Street: p.street, Suburb: p.place.suburb, State: p.place.state, Postcode: p.place.postcode,
			Country: statement.Australia},
		Phone:     Pick(r, phones),
		Household: statement.Household{Type: "single", Dependants: new(int)},
	}
	if Chance(r, 0.5) {
		s.Personal.Household.Type = "couple"
	}
	if Chance(r, 0.35) {
		*s.Personal.Household.Dependants = 1 + r.IntN(3)
	}
	if Chance(r, 0.005) {
		s.Personal.Phone = abroad // who has just moved here
	}
	salary := float64(p.job.salary) * (0.8 + float64(p.age)/120)
	switch {
	case p.job.employer == "Self-employed":
		s.Income.Other.Business = dollars(r, salary, 0.4)
	case salary > 0:
		s.Income.Employment.GrossSalary = dollars(r, salary, 0.12)
	default:
		s.Income.Other.GovernmentPayments = dollars(r, benefit(p.age), 0.08)
	}
	if Chance(r, 0.35) && s.Income.Employment.GrossSalary > 0 {
		s.Income.Employment.Bonuses = dollars(r, salary*0.06, 0.6)
	}
	if Chance(r, 0.2) {
		s.Income.Employment.Allowances = dollars(r, 2.4, 0.7)
	}
	addHomes(r, p, s)
	addSavings(r, p, s, salary)
	give(r, s, statement.IncomeSection, nil)
	AddDebts(r, s)
	AddExpenses(r, s)
	return s
}

// give takes a section's recurring amounts in the periods in which people know them (D77), and
// more inputs.
func give(r *rand.Rand, s *statement.Statement, name string, more url.Values) {
	section := s.Section(name, time.Time{})
	inputs := section.Inputs()
	section.Walk(func(path string, f form.Field) {
		period := f.DefaultPeriod
		if period == form.Once {
			period = Pick(r, form.Periods[:3])
		}
		if f.Period == form.Once || period == f.Period || f.Amount() == 0 {
			return
		}
		yearly, times := form.Entry{Amount: f.Amount(), Period: f.Period}.Yearly(), form.Entry{Amount: 1, Period: period}.Yearly()
		inputs.Set(path, (yearly / times / 100 * 100).Decimal())
		inputs.Set(path+".period", string(period))
	})
	maps.Copy(inputs, more)
	section.Read(inputs)
	s.KeepEntered(section)
}

// benefit is what someone of that age without work gets in a year, in thousands:
// the pension, or JobSeeker Payment with help for the rent.
func benefit(age int) float64 {
	if age >= 67 {
		return 29
	}
	return 25
}

func addHomes(r *rand.Rand, p Person, s *statement.Statement) {
	owns := Chance(r, 0.25+float64(p.age)/110)
	if owns {
		home := &statement.Property{
			Description: "Family home", Address: p.street + ", " + p.place.suburb + " " + p.place.state + " " + p.place.postcode,
			Ownership: "joint", OwnershipPercentage: 50, CurrentValue: dollars(r, 820*p.place.prices, 0.25),
		}
		if !s.Personal.Household.Couple() || Chance(r, 0.1) {
			home.Ownership, home.OwnershipPercentage = "sole", 100
		}
		if left := 0.85 - float64(p.age-25)*0.018 - r.Float64()*0.2; left > 0.05 && p.job.salary > 0 { // a bank asks for pay
			home.MortgageOwing = form.Cents(float64(home.CurrentValue) * left)
		}
		s.Assets.RealProperty = append(s.Assets.RealProperty, home)
	}
	if owns && Chance(r, 0.22) {
		at := Pick(r, places)
		s.Assets.RealProperty = append(s.Assets.RealProperty, &statement.Property{
			Description: Pick(r, []string{"Rental flat", "Rental house", "Investment unit", "Holiday house"}),
			Address:     fmt.Sprintf("%d %s, %s %s %s", 1+r.IntN(90), Pick(r, streets), at.suburb, at.state, at.postcode),
			Ownership:   "tenants_in_common", OwnershipPercentage: 50, CurrentValue: dollars(r, 560*at.prices, 0.2),
			MortgageOwing: dollars(r, 380*at.prices, 0.15),
		})
		s.Income.Other.Rental = dollars(r, 24, 0.25)
	}
}

func addSavings(r *rand.Rand, p Person, s *statement.Statement, salary float64) {
	for range 1 + r.IntN(2) {
		v := Pick(r, vehicles)
		car := &statement.Vehicle{Description: fmt.Sprintf("%s %d", v.name, 2014+r.IntN(12)), Value: dollars(r, float64(v.price), 0.35)}
		if Chance(r, 0.4) {
			car.AmountOwing = form.Cents(float64(car.Value)*(0.2+r.Float64()*0.6)) / 100 * 100
		}
		s.Assets.Vehicles = append(s.Assets.Vehicles, car)
		if Chance(r, 0.55) {
			break
		}
	}
	bank := Pick(r, banks)
	s.Assets.BankAccounts = []*statement.BankAccount{{Institution: bank, AccountType: "transaction", Balance: dollars(r, 3.2, 0.9)}}
	if Chance(r, 0.75) {
		s.Assets.BankAccounts = append(s.Assets.BankAccounts, &statement.BankAccount{
			Institution: Pick(r, append([]string{bank, bank}, banks...)), AccountType: Pick(r, []string{"savings", "savings", "offset",
				"term_deposit"}),
			Balance: dollars(r, 18*float64(p.age)/38, 0.9),
		})
	}
	s.Assets.Superannuation = []*statement.SuperFund{{FundName: Pick(r, funds),
		Balance: dollars(r, 2+salary*float64(p.age-20)*0.055, 0.35)}}
	if Chance(r, 0.33) {
		s.Assets.Investments = []*statement.Investment{{Description: Pick(r, holdings), Value: dollars(r, 14, 0.9)}}
		s.Income.Other.Dividends = dollars(r, 0.6, 0.8)
	}
	if Chance(r, 0.5) {
		s.Income.Other.Interest = dollars(r, 0.4, 0.9)
	}
}

// AddDebts begins, as the form does, with what the assets say.
func AddDebts(r *rand.Rand, s *statement.Statement) {
	s.Liabilities = statement.SuggestLiabilities(&s.Assets)
	for _, m := range s.Liabilities.Mortgages {
		m.Lender, m.MonthlyRepayment = Pick(r, banks), m.Balance*6/1000/100*100
		if Chance(r, 0.05) {
			m.Balance = m.Balance / 1000_00 * 1000_00
		}
	}
	for _, o := range s.Liabilities.PersonalLoans {
		o.Lender, o.MonthlyRepayment = Pick(r, []string{"Toyota Finance", "Macquarie Leasing", "Pepper Money", "Angle Finance"}),
			o.Balance*22/1000/100*100
	}
	for range r.IntN(3) {
		limit, used := form.Cents(2+r.IntN(12))*1000*100, r.Float64()*0.9
		if Chance(r, 0.1) {
			used = 0.9 + r.Float64()*0.105 // fees can take it above the limit
		}
		s.Liabilities.CreditCards = append(s.Liabilities.CreditCards, &statement.CreditCard{
			Issuer: Pick(r, cards), Limit: limit, Balance: form.Cents(float64(limit) * used),
		})
	}
	if Chance(r, 0.25) {
		borrowed := dollars(r, 14, 0.7)
		loan := &statement.PersonalLoan{Lender: Pick(r, lenders), Purpose: Pick(r, purposes),
			Balance: borrowed * form.Cents(1+r.IntN(36)) / 36, MonthlyRepayment: borrowed * 4 / 100 / 100 * 100}
		if Chance(r, 0.03) {
			loan.Lender, loan.MonthlyRepayment = "My parents", 0
		}
		s.Liabilities.PersonalLoans = append(s.Liabilities.PersonalLoans, loan)
	}
	if Chance(r, 0.3) {
		s.Liabilities.Other = append(s.Liabilities.Other, &statement.OtherLiability{ // repaid with the tax
			Description: "HELP study loan", Lender: "Australian Taxation Office", Balance: dollars(r, 19, 0.6),
		})
	}
}

// AddExpenses makes up the expenses, with the repayments of the liabilities, the rates of
// the assets, a rent, if any, that most incomes allow, and a couple's share.
func AddExpenses(r *rand.Rand, s *statement.Statement) {
	s.Expenses = s.SuggestExpenses()
	e := &s.Expenses
	if len(s.Assets.RealProperty) > 0 {
		e.Housing.Rates = dollars(r, 0.19, 0.3)
	} else if !Chance(r, 0.02) { // who lives with relatives pays none
		allowed := s.Income.Monthly() * form.Cents(30+r.IntN(72)) / 100
		e.Housing.MortgageRent = min(dollars(r, 2.3, 0.3), allowed/100*100)
	}
	e.Housing.Utilities, e.Housing.Insurance = dollars(r, 0.34, 0.4), dollars(r, 0.14, 0.5)
	e.Transport.Fuel, e.Transport.RegistrationInsurance = dollars(r, 0.24, 0.5), dollars(r, 0.16, 0.3)
	e.Living = statement.Living{
		Groceries: dollars(r, 0.95, 0.4), Clothing: dollars(r, 0.12, 0.7), Medical: dollars(r, 0.17, 0.8),
		Entertainment: dollars(r, 0.33, 0.7),
	}
	more := url.Values{}
	if len(s.Liabilities.Mortgages) > 0 {
		const input = "housing.mortgage_rent" // what the form offers, which few round
		repaid := e.Housing.MortgageRent
		if Chance(r, 0.02) {
			repaid = (repaid/50_00 + form.Cents(r.IntN(2))) * 50_00
		}
		more.Set(input, repaid.Decimal())
		more.Set(input+".period", string(form.Monthly))
	}
	if n := s.Personal.Household.Dependants; n != nil && *n > 0 {
		e.Living.Children = dollars(r, 0.35*float64(*n), 0.8)
	}
	if s.Personal.Household.Couple() {
		for _, p := range []*form.Cents{&e.Living.Groceries, &e.Living.Clothing, &e.Living.Medical, &e.Living.Entertainment} {
			*p = *p * 3 / 2
		}
		more.Set(statement.ShareInput, Pick(r, []string{"50", "50", "50", "60", "40", "100"}))
	}
	give(r, s, statement.ExpensesSection, more)
}
