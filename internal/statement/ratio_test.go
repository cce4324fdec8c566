package statement_test

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"candor/internal/form"
	"candor/internal/statement"
)

// The ratio in percent is rounded exactly. big.Rat computes it independently:
// FloatString rounds halves away from zero.
func TestRatio(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(13, 10))
	check := func(part, whole int64) {
		t.Helper()
		percent := new(big.Rat).Mul(big.NewRat(part, whole), big.NewRat(100, 1))
		got := statement.Ratio{Part: statement.Cents(part), Whole: statement.Cents(whole)}.String()
		if want := percent.FloatString(1) + "%"; got != want {
			t.Errorf("%d of %d is %s, want %s", part, whole, got, want)
		}
	}
	check(0, 1)
	check(1, 2000) // 0.05 %
	check(1, 2001)
	check(int64(form.MaxCents)*50, 1)
	check(1, int64(form.MaxCents)*50)
	for range 2000 {
		check(random.Int64N(1<<random.IntN(47)+1), 1+random.Int64N(1<<random.IntN(47)+1))
	}
	for _, r := range []statement.Ratio{{}, {Part: 5}} {
		if got := r.String(); got != "–" {
			t.Errorf("%d of %d is %s, want a dash", r.Part, r.Whole, got)
		}
	}
}

// The repayments that expenses lack: a high rent doesn't pay a loan, but a debt can be in
// either of the other lines, and rounding is nothing.
func TestRepaymentsLeft(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(13, 11))
	for range 500 {
		var s statement.Statement
		amount := func() statement.Cents { return statement.Cents(random.Int64N(4) * 10_001) }
		owed := [3]statement.Cents{amount(), amount(), amount()}
		paid := [3]statement.Cents{amount(), amount(), amount()}
		s.Liabilities.Mortgages = []*statement.Mortgage{{MonthlyRepayment: owed[0] / 2}, {MonthlyRepayment: owed[0] - owed[0]/2}}
		s.Liabilities.Other = []*statement.OtherLiability{{Description: "Tax", MonthlyRepayment: owed[2] / 3}}
		s.Liabilities.PersonalLoans = []*statement.PersonalLoan{
			{Purpose: "Car loan, Car", MonthlyRepayment: owed[1]}, {MonthlyRepayment: owed[2] - owed[2]/3},
		}
		s.Expenses.Housing.MortgageRent, s.Expenses.Transport.CarLoan, s.Expenses.Commitments.DebtRepayments = paid[0], paid[1], paid[2]
		want := max(0, owed[0]-paid[0]) + max(0, owed[1]+owed[2]-paid[1]-paid[2])
		s.Expenses.Housing.MortgageRent -= statement.Cents(random.Int64N(3)) // half a cent for each of five debts, and its own
		if owed[0] > paid[0] {
			want += paid[0] - s.Expenses.Housing.MortgageRent
		}
		if got := s.Summary().RepaymentsLeft; got != want {
			t.Fatalf("owed %v, paid %v: %d are left, want %d", owed, paid, got, want)
		}
	}
}

func TestWithoutRepayment(t *testing.T) {
	t.Parallel()
	l := statement.Liabilities{
		Mortgages:     []*statement.Mortgage{{Balance: 100}, {Balance: 20, MonthlyRepayment: 1}},
		PersonalLoans: []*statement.PersonalLoan{{Balance: 3_000}, {Balance: 400, MonthlyRepayment: 1}},
		CreditCards:   []*statement.CreditCard{{Balance: 50_000}},
		Other:         []*statement.OtherLiability{{Balance: 6_000_000}, {Balance: 7, MonthlyRepayment: 1}},
	}
	if got, want := l.WithoutRepayment(), statement.Cents(6_053_100); got != want {
		t.Errorf("no repayment is given for %d, want %d", got, want)
	}
}
