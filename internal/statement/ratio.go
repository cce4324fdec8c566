package statement

import (
	"math/big"
	"strconv"

	"candor/internal/form"
)

// A Ratio is a part of a whole amount.
type Ratio struct{ Part, Whole Cents }

// String returns the ratio in percent with one decimal, halves away from zero:
// 53.3%. It is a dash if the whole isn't positive.
func (r Ratio) String() string {
	if r.Whole <= 0 {
		return "–"
	}
	tenths := int64(form.DivRound(new(big.Int).Mul(big.NewInt(int64(r.Part)), big.NewInt(1000)), int64(r.Whole)))
	return strconv.FormatInt(tenths/10, 10) + "." + strconv.FormatInt(tenths%10, 10) + "%"
}

func (r Ratio) plus(other Ratio) Ratio { return Ratio{r.Part + other.Part, r.Whole + other.Whole} }

// LoanToValue is the mortgage on the whole property to its whole value.
func (p *Property) LoanToValue() Ratio { return Ratio{p.MortgageOwing, p.CurrentValue} }

// LoanToValue is all mortgages to the value of all properties, both whole.
func (a *Assets) LoanToValue() Ratio {
	var all Ratio
	for _, p := range a.RealProperty {
		all = all.plus(p.LoanToValue())
	}
	return all
}

// Use is the balance to the limit.
func (c *CreditCard) Use() Ratio { return Ratio{c.Balance, c.Limit} }

// CardUse is the balance of all cards to their limits.
func (l *Liabilities) CardUse() Ratio {
	var all Ratio
	for _, c := range l.CreditCards {
		all = all.plus(c.Use())
	}
	return all
}

// repaymentsLeft is the part of the monthly repayments that the expenses can't
// contain, because the lines for it are smaller (D55). Car loans and other repayments
// are one: a customer can have given a debt in either line.
func (s *Statement) repaymentsLeft() Cents {
	owed := s.SuggestExpenses()
	return s.missing(owed.Housing.MortgageRent, s.Expenses.Housing.MortgageRent) + s.missing(owed.otherRepayments(),
		s.Expenses.otherRepayments())
}

// otherRepayments are those that aren't of mortgages.
func (e *Expenses) otherRepayments() Cents { return e.Transport.CarLoan + e.Commitments.DebtRepayments }

// missing is by how much what is paid is less than the repayments that it should contain,
// unless the rounding of each to a month explains it (D53).
func (s *Statement) missing(owed, paid Cents) Cents {
	if left := owed - paid; left > Cents(len(s.Liabilities.debts())+1)/2 {
		return left
	}
	return 0
}
