package statement_test

import (
	"math/big"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"

	"candor/internal/form"
	"candor/internal/statement"
	"candor/internal/statement/statementtest"
)

// amount returns small, odd and extreme amounts, which round differently.
func amount(r *rand.Rand) form.Cents {
	switch r.IntN(4) {
	case 0:
		return form.Cents(r.Int64N(200))
	case 1:
		return form.MaxCents - form.Cents(r.Int64N(200))
	case 2:
		return 0
	}
	return form.Cents(r.Int64N(int64(form.MaxCents)))
}

func items[T any](r *rand.Rand, item func() *T) []*T {
	out := make([]*T, r.IntN(6))
	if r.IntN(20) == 0 {
		out = make([]*T, form.MaxListItems)
	}
	for i := range out {
		out[i] = item()
	}
	return out
}

func random(r *rand.Rand) *statement.Statement {
	a := func() form.Cents { return amount(r) }
	return &statement.Statement{
		Income: statement.Income{
			Employment: statement.EmploymentIncome{GrossSalary: a(), Bonuses: a(), Allowances: a()},
			Other:      statement.OtherIncome{Rental: a(), Dividends: a(), Interest: a()},
		},
		Assets: statement.Assets{
			RealProperty: items(r, func() *statement.Property {
				return &statement.Property{OwnershipPercentage: r.IntN(101), CurrentValue: a(), MortgageOwing: a(), Address: "x"}
			}),
			Vehicles:       items(r, func() *statement.Vehicle { return &statement.Vehicle{Value: a(), AmountOwing: a()} }),
			BankAccounts:   items(r, func() *statement.BankAccount { return &statement.BankAccount{Balance: a()} }),
			Superannuation: items(r, func() *statement.SuperFund { return &statement.SuperFund{Balance: a()} }),
			Investments:    items(r, func() *statement.Investment { return &statement.Investment{Value: a()} }),
		},
		Liabilities: statement.Liabilities{
			Mortgages: items(r, func() *statement.Mortgage { return &statement.Mortgage{Balance: a(), MonthlyRepayment: a()} }),
			PersonalLoans: items(r, func() *statement.PersonalLoan {
				return &statement.PersonalLoan{Balance: a(), MonthlyRepayment: a()}
			}),
			CreditCards: items(r, func() *statement.CreditCard { return &statement.CreditCard{Balance: a(), Limit: a()} }),
			Other: items(r, func() *statement.OtherLiability {
				return &statement.OtherLiability{Balance: a(), MonthlyRepayment: a()}
			}),
		},
		Expenses: statement.Expenses{
			Housing:   statement.Housing{MortgageRent: a(), Utilities: a(), Insurance: a(), Rates: a()},
			Transport: statement.Transport{CarLoan: a(), Fuel: a(), RegistrationInsurance: a()},
			Living: statement.Living{
				Groceries: a(), Clothing: a(), Medical: a(), Entertainment: a(), Children: a(), HealthInsurance: a(), PhoneInternet: a(),
			},
			Commitments: statement.Commitments{DebtRepayments: a(), ChildSupport: a(), Other: a()},
		},
	}
}

// exact is a sum in dollars without rounding.
type exact struct{ big.Rat }

func (e *exact) add(cents form.Cents, factor int64, divisor int64) {
	e.Add(&e.Rat, new(big.Rat).Mul(big.NewRat(int64(cents), 100), big.NewRat(factor, divisor)))
}

func (e *exact) addAll(cents ...form.Cents) {
	for _, c := range cents {
		e.add(c, 1, 1)
	}
}

// rounded returns cents as FloatString rounds: halves away from zero (D49).
func (e *exact) rounded(t *testing.T) form.Cents {
	t.Helper()
	cents, ok := new(big.Int).SetString(strings.Replace(e.FloatString(2), ".", "", 1), 10)
	if !ok || !cents.IsInt64() {
		t.Fatalf("%s isn't an amount", e.FloatString(2))
	}
	return form.Cents(cents.Int64())
}

func TestTotals(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2000) {
		s := random(rand.New(rand.NewPCG(seed, 21)))
		var assets, debts, repayments, gross, monthly, expenses exact
		for i, p := range s.Assets.RealProperty {
			var net exact
			net.add(p.CurrentValue-p.MortgageOwing, int64(p.OwnershipPercentage), 100)
			if want := net.rounded(t); p.Net() != want {
				t.Fatalf("seed %d: property %d of %s less %s at %d %% nets %s, want %s", seed, i, p.CurrentValue, p.MortgageOwing,
					p.OwnershipPercentage, p.Net(), want)
			}
			assets.add(p.CurrentValue, int64(p.OwnershipPercentage), 100)
		}
		for _, v := range s.Assets.Vehicles {
			assets.addAll(v.Value)
		}
		for _, b := range s.Assets.BankAccounts {
			assets.addAll(b.Balance)
		}
		for _, f := range s.Assets.Superannuation {
			assets.addAll(f.Balance)
		}
		for _, i := range s.Assets.Investments {
			assets.addAll(i.Value)
		}
		for _, m := range s.Liabilities.Mortgages {
			debts.addAll(m.Balance)
			repayments.addAll(m.MonthlyRepayment)
		}
		for _, p := range s.Liabilities.PersonalLoans {
			debts.addAll(p.Balance)
			repayments.addAll(p.MonthlyRepayment)
		}
		for _, c := range s.Liabilities.CreditCards {
			debts.addAll(c.Balance)
		}
		for _, o := range s.Liabilities.Other {
			debts.addAll(o.Balance)
			repayments.addAll(o.MonthlyRepayment)
		}
		e, o := s.Income.Employment, s.Income.Other
		for _, c := range []form.Cents{e.GrossSalary, e.Bonuses, e.Allowances, o.Rental, o.Dividends, o.Interest, o.GovernmentPayments,
			o.Business, o.ChildSupport, o.Other} {
			gross.addAll(c)
			monthly.add(c, 1, 12)
		}
		h, tr, l, c := s.Expenses.Housing, s.Expenses.Transport, s.Expenses.Living, s.Expenses.Commitments
		expenses.addAll(h.MortgageRent, h.Utilities, h.Insurance, h.Rates, tr.CarLoan, tr.Fuel, tr.RegistrationInsurance,
			l.Groceries, l.Clothing, l.Medical, l.Entertainment, l.Children, l.HealthInsurance, l.PhoneInternet,
			c.DebtRepayments, c.ChildSupport, c.Other)

		want := statement.Summary{
			TotalAssets: assets.rounded(t), TotalLiabilities: debts.rounded(t),
			NetWorth:           assets.rounded(t) - debts.rounded(t),
			TotalMonthlyIncome: monthly.rounded(t), TotalMonthlyExpenses: expenses.rounded(t),
			MonthlySurplus: monthly.rounded(t) - expenses.rounded(t), TotalMonthlyRepayments: repayments.rounded(t),
		}
		got := s.Summary()
		want.RepaymentsLeft = got.RepaymentsLeft // TestRepaymentsLeft
		if got != want {
			t.Fatalf("seed %d: summary %v, want %v", seed, got, want)
		}
		if got := s.Income.TotalGross(); got != gross.rounded(t) {
			t.Fatalf("seed %d: gross income %s, want %s", seed, got, gross.rounded(t))
		}
	}
}

// TestRounding checks the edge cases: halves of a cent are rounded away from
// zero, and a sum of shares is rounded once.
func TestRounding(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		value, owing form.Cents
		percentage   int
		net          form.Cents
	}{
		{1, 0, 50, 1}, {0, 1, 50, -1}, {1, 0, 49, 0}, {0, 1, 49, 0}, {3, 0, 50, 2}, {0, 3, 50, -2},
		{100, 0, 0, 0}, {100, 40, 100, 60}, {form.MaxCents, 0, 50, 50_000_000_000_000}, {0, form.MaxCents, 50, -50_000_000_000_000},
	} {
		p := statement.Property{CurrentValue: tt.value, MortgageOwing: tt.owing, OwnershipPercentage: tt.percentage}
		if got := p.Net(); got != tt.net {
			t.Errorf("%s less %s at %d %% nets %s, want %s", tt.value, tt.owing, tt.percentage, got, tt.net)
		}
	}
	half := &statement.Property{CurrentValue: 1, OwnershipPercentage: 50}
	a := statement.Assets{RealProperty: []*statement.Property{half, half}}
	if got := a.Total(); got != 1 {
		t.Errorf("two halves of a cent are %s, want one cent", got)
	}
	for gross, monthly := range map[form.Cents]form.Cents{6: 1, 5: 0, 18: 2, 12: 1, 17: 1, 100: 8, 90: 8} {
		i := statement.Income{Other: statement.OtherIncome{Interest: gross}}
		if got := i.Monthly(); got != monthly {
			t.Errorf("a twelfth of %s is %s, want %s", gross, got, monthly)
		}
	}
}

func TestSuggest(t *testing.T) {
	t.Parallel()
	a := statement.Assets{
		RealProperty: []*statement.Property{
			{Address: "1 First St", OwnershipPercentage: 50, CurrentValue: 100, MortgageOwing: 33_333},
			{Address: "2 Second St", OwnershipPercentage: 100, CurrentValue: 100},
			{Address: "3 Third St", OwnershipPercentage: 0, MortgageOwing: 500},
			{Address: "4 Fourth St", OwnershipPercentage: 100, MortgageOwing: form.MaxCents},
		},
		Vehicles: []*statement.Vehicle{
			{Description: "Toyota", Value: 10, AmountOwing: 2_000},
			{Description: "Bicycle", Value: 10},
			{Description: strings.Repeat("é", 500), AmountOwing: 1},
			{Description: strings.Repeat("caravan ", 50), AmountOwing: 1},
		},
	}
	s := statement.Statement{Liabilities: statement.SuggestLiabilities(&a)}
	l := s.Liabilities
	if len(l.Mortgages) != 2 || len(l.PersonalLoans) != 3 || len(l.Other)+len(l.CreditCards) != 0 {
		t.Fatalf("suggested: %+v", l)
	}
	if want := (statement.Mortgage{Property: "1 First St", Balance: 16_667}); *l.Mortgages[0] != want {
		t.Errorf("first mortgage %+v, want %+v", *l.Mortgages[0], want)
	}
	if want := (statement.Mortgage{Property: "4 Fourth St", Balance: form.MaxCents}); *l.Mortgages[1] != want {
		t.Errorf("second mortgage %+v, want %+v", *l.Mortgages[1], want)
	}
	if want := (statement.PersonalLoan{Purpose: "Car loan, Toyota", Balance: 2_000}); *l.PersonalLoans[0] != want {
		t.Errorf("car loan %+v, want %+v", *l.PersonalLoans[0], want)
	}
	if got, want := l.PersonalLoans[2].Purpose, "Car loan,"+strings.Repeat(" caravan", 23); got != want {
		t.Errorf("a long purpose is %q, want whole words: %q", got, want)
	}
	section := s.Section(statement.LiabilitiesSection, statementtest.Now())
	again := section.Inputs()
	for _, e := range section.Decode(again) {
		if !strings.HasSuffix(e.Message, "enter the lender") {
			t.Errorf("a suggestion isn't accepted: %+v", e)
		}
	}
	if len(s.Liabilities.Mortgages) != 2 || len(s.Liabilities.PersonalLoans) != 3 {
		t.Errorf("a posted suggestion comes back as %+v", s.Liabilities)
	}
	if none := statement.SuggestLiabilities(&statement.Assets{}); len(none.Mortgages)+len(none.PersonalLoans) != 0 {
		t.Errorf("suggested from nothing: %+v", none)
	}
}

func TestSuggestExpenses(t *testing.T) {
	t.Parallel()
	full := statementtest.Full()
	full.Liabilities.PersonalLoans = append(full.Liabilities.PersonalLoans, &statement.PersonalLoan{Purpose: "Car loan, Mazda 3",
		MonthlyRepayment: 315_50})
	got := full.SuggestExpenses()
	want := statement.Expenses{
		Housing:     statement.Housing{MortgageRent: 3_630_25},
		Transport:   statement.Transport{CarLoan: 315_50},
		Commitments: statement.Commitments{DebtRepayments: 1_104_90},
	}
	if got != want {
		t.Errorf("suggested %+v, want %+v", got, want)
	}
	if got.Total() != full.Summary().TotalMonthlyRepayments {
		t.Errorf("suggested %s of repayments, want %s", got.Total(), full.Summary().TotalMonthlyRepayments)
	}
}

// TestEveryAmountIsInATotal answers one question at a time. The total of the
// section has each amount of income and expenses.
func TestEveryAmountIsInATotal(t *testing.T) {
	t.Parallel()
	for name, total := range map[string]func(*statement.Statement) form.Cents{
		statement.IncomeSection:   func(s *statement.Statement) form.Cents { return s.Income.TotalGross() },
		statement.ExpensesSection: func(s *statement.Statement) form.Cents { return s.Expenses.Total() },
	} {
		for field := range statementtest.Values(name) {
			if strings.HasSuffix(field, ".period") {
				continue
			}
			s := new(statement.Statement)
			if errs := s.Section(name, statementtest.Now()).Decode(url.Values{field: {"1"}}); len(errs) > 0 {
				t.Fatalf("%s: %v", field, errs)
			}
			if got := total(s); got != 100 {
				t.Errorf("with $1 in %s of %s the total is %s", field, name, got)
			}
		}
	}
}
