package statement

import (
	"slices"
	"strings"

	"candor/internal/form"
)

// The lists of debts that are repaid.
const (
	mortgageList     = "mortgages"
	personalLoanList = "personal_loans"
	otherDebtList    = "other_liabilities"
)

// How many characters a description and a purpose can have (D24).
const (
	maxDescription = 500
	maxPurpose     = 200
)

// Liabilities is what the customer owes: the customer's share of each debt
// (D20). Repayments are monthly (D19).
type Liabilities struct {
	Mortgages     []*Mortgage
	PersonalLoans []*PersonalLoan
	CreditCards   []*CreditCard
	Other         []*OtherLiability
}

// Mortgage is a loan secured by property.
type Mortgage struct {
	Lender, Property          string
	Balance, MonthlyRepayment Cents
}

// PersonalLoan is an unsecured loan.
type PersonalLoan struct {
	Lender, Purpose           string
	Balance, MonthlyRepayment Cents
}

// CreditCard is a card or a buy-now-pay-later account.
type CreditCard struct {
	Issuer         string
	Limit, Balance Cents
}

// OtherLiability is any other debt (D22).
type OtherLiability struct {
	Description, Lender       string
	Balance, MonthlyRepayment Cents
}

// Total is the sum of all balances.
func (l *Liabilities) Total() Cents {
	return l.mortgageBalance() + l.loanBalance() + l.cardBalance() + l.otherBalance()
}

func (l *Liabilities) mortgageBalance() Cents {
	return sumOf(l.Mortgages, func(m *Mortgage) Cents { return m.Balance })
}

func (l *Liabilities) loanBalance() Cents {
	return sumOf(l.PersonalLoans, func(p *PersonalLoan) Cents { return p.Balance })
}

func (l *Liabilities) cardBalance() Cents {
	return sumOf(l.CreditCards, func(c *CreditCard) Cents { return c.Balance })
}

func (l *Liabilities) otherBalance() Cents {
	return sumOf(l.Other, func(o *OtherLiability) Cents { return o.Balance })
}

// Repayments is the sum of all monthly repayments (D55).
func (l *Liabilities) Repayments() Cents {
	return sumOf(l.Mortgages, func(m *Mortgage) Cents { return m.MonthlyRepayment }) +
		sumOf(l.PersonalLoans, func(p *PersonalLoan) Cents { return p.MonthlyRepayment }) +
		sumOf(l.Other, func(o *OtherLiability) Cents { return o.MonthlyRepayment })
}

// WithoutRepayment is what is owed on debts for which no repayment is given: none is asked of cards.
func (l *Liabilities) WithoutRepayment() Cents {
	sum := l.cardBalance()
	for _, d := range l.debts() {
		if d.repayment == 0 {
			sum += d.balance
		}
	}
	return sum
}

// SuggestLiabilities returns the liabilities that follow from the assets: a mortgage for
// each mortgaged property, at the customer's share, and a personal loan for each vehicle
// that isn't paid off. The section starts with them, so that customers type nothing twice (D20).
func SuggestLiabilities(a *Assets) Liabilities {
	var l Liabilities
	for _, o := range a.owed() {
		if o.list == mortgageList {
			l.Mortgages = append(l.Mortgages, &Mortgage{Property: o.value, Balance: o.balance})
		} else {
			l.PersonalLoans = append(l.PersonalLoans, &PersonalLoan{Purpose: o.value, Balance: o.balance})
		}
	}
	return l
}

// loanPrefix is what the purpose of a vehicle's loan begins with.
const loanPrefix = "Car loan, "

// loanFor is the purpose of a vehicle's loan, of as many whole words as a text can have (D24).
func loanFor(v *Vehicle) string {
	whole := loanPrefix + v.Description
	purpose := within(whole, maxPurpose)
	rest, cut := strings.CutPrefix(whole, purpose)
	if end := strings.LastIndexByte(purpose, ' '); cut && rest != "" && rest[0] != ' ' && end > len(loanPrefix) {
		return purpose[:end]
	}
	return purpose
}

func within(text string, limit int) string {
	runes := []rune(text)
	return strings.TrimSpace(string(runes[:min(len(runes), limit)]))
}

// liabilitiesSection describes the liabilities. Who shares a property has the bank's paper
// with the whole repayment of its mortgage, and may share cards, so balances and cards ask for
// their part, and the repayment for what they pay: one owner can pay it all.
func (s *Statement) liabilitiesSection() *form.Section {
	l, part, paid := &s.Liabilities, "", ""
	if slices.ContainsFunc(s.Assets.RealProperty, (*Property).shared) {
		part, paid = yourPart, "What you pay."
	}
	mortgage := func(m *Mortgage) []form.Field { return m.fields(part, paid) }
	card := func(c *CreditCard) []form.Field { return c.fields(part) }
	return &form.Section{
		Name:            LiabilitiesSection,
		AsksWhatApplies: true,
		Title:           "Liabilities",
		Intro:           "Tick all debts. Count store cards, buy now pay later, study loans. If shared, your part.",
		Groups: []form.Group{
			{Title: "Mortgages",
				List:     form.ListOf(&l.Mortgages, mortgageList, "Mortgages", "mortgage", mortgage),
				Subtotal: form.Subtotal(l.mortgageBalance, "Total owing")},
			{Title: "Personal loans",
				List:     form.ListOf(&l.PersonalLoans, personalLoanList, "Personal loans", "personal loan", (*PersonalLoan).fields),
				Subtotal: form.Subtotal(l.loanBalance, "Total owing")},
			{Title: "Credit cards",
				List:     form.ListOf(&l.CreditCards, "credit_cards", "Credit cards", "credit card", card),
				Subtotal: form.Subtotal(l.cardBalance, "Total owing")},
			{Title: "Other debts",
				List:     form.ListOf(&l.Other, otherDebtList, "Other debts", "debt", (*OtherLiability).fields),
				Subtotal: form.Subtotal(l.otherBalance, "Total owing")},
			{Fields: []form.Field{form.Total(l.Total, "total_liabilities", "Total liabilities", form.Once)}},
		},
	}
}

func (m *Mortgage) fields(part, paid string) []form.Field {
	return []form.Field{
		form.Text(&m.Lender, "lender", "Lender").Asks("Enter the lender").Suggests(lenderList),
		form.LongText(&m.Property, "property", "Property").NotRequired().Names(),
		amountOf(&m.Balance, "balance", "Balance owing").Hints(part),
		repayment(&m.MonthlyRepayment, mortgageList).Hints(paid),
	}
}

func (p *PersonalLoan) fields() []form.Field {
	return []form.Field{
		form.Text(&p.Lender, "lender", "Lender").Asks("Enter the lender").Suggests(lenderList),
		form.Text(&p.Purpose, "purpose", "Purpose").NotRequired().Names(),
		amountOf(&p.Balance, "balance", "Balance owing"),
		repayment(&p.MonthlyRepayment, personalLoanList),
	}
}

func (c *CreditCard) fields(hint string) []form.Field {
	return []form.Field{
		form.Text(&c.Issuer, "issuer", "Card issuer").Asks("Enter the card issuer").Suggests(lenderList).Names(),
		amountOf(&c.Limit, "limit", "Credit limit").Hints(hint),
		amountOf(&c.Balance, "balance", "Balance owing").Hints(hint).
			RefusesNegative("{label} must be $0 or more. If the card is in credit, enter 0"),
	}
}

func (o *OtherLiability) fields() []form.Field {
	return []form.Field{
		form.LongText(&o.Description, "description", "Description").Asks("Enter a description").Names(),
		form.Text(&o.Lender, "lender", "Lender").NotRequired().Suggests(lenderList),
		amountOf(&o.Balance, "balance", "Balance owing"),
		repayment(&o.MonthlyRepayment, otherDebtList),
	}
}
