package statement

import (
	"math/big"
	"strconv"
	"strings"

	"candor/internal/form"
)

// Assets is what the customer owns.
type Assets struct {
	RealProperty   []*Property
	Vehicles       []*Vehicle
	BankAccounts   []*BankAccount
	Superannuation []*SuperFund
	Investments    []*Investment
}

// Property is real estate, with its full value and mortgage. The customer's
// share is OwnershipPercentage (D20).
type Property struct {
	Description         string
	Address             string
	Ownership           string // sole, joint or tenants_in_common (D22)
	OwnershipPercentage int    // 0–100
	CurrentValue        Cents
	MortgageOwing       Cents
}

// Vehicle is a car, a boat or something similar.
type Vehicle struct {
	Description        string
	Value, AmountOwing Cents
}

// BankAccount is money in a bank.
type BankAccount struct {
	Institution string
	AccountType string // transaction, savings, term_deposit, offset or other (D22)
	Balance     Cents
}

// SuperFund is a superannuation balance.
type SuperFund struct {
	FundName string
	Balance  Cents
}

// Investment is shares, managed funds, crypto-assets or something similar.
type Investment struct {
	Description string
	Value       Cents
}

const soleOwner = "sole"

var ownerships = []form.Option{
	{Code: soleOwner, Label: "Sole owner"},
	{Code: "joint", Label: "Joint owners"},
	{Code: "tenants_in_common", Label: "Owned in shares"},
}

var accountTypes = []form.Option{
	{Code: "transaction", Label: "Everyday account"},
	{Code: "savings", Label: "Savings"},
	{Code: "term_deposit", Label: "Term deposit"},
	{Code: "offset", Label: "Offset"},
	{Code: "other", Label: "Other"},
}

// Net is the customer's share of value less mortgage, halves of a cent away
// from zero; negative if the mortgage is larger (D20, D49).
func (p *Property) Net() Cents {
	return (p.CurrentValue - p.MortgageOwing).Share(p.OwnershipPercentage)
}

// shared reports whether others own the property, too.
func (p *Property) shared() bool { return p.OwnershipPercentage < 100 }

// share is the customer's as a text.
func (p *Property) share() string { return strconv.Itoa(p.OwnershipPercentage) + "%" }

// Total is the customer's share of property, plus everything else at full
// value (D20).
func (a *Assets) Total() Cents {
	return a.propertyShare() + a.vehicleValue() + a.bankBalance() + a.superBalance() + a.investmentValue()
}

// propertyShare is the sum of the customer's shares, rounded once.
func (a *Assets) propertyShare() Cents {
	shares := new(big.Int)
	for _, p := range a.RealProperty {
		shares.Add(shares, new(big.Int).Mul(big.NewInt(int64(p.CurrentValue)), big.NewInt(int64(p.OwnershipPercentage))))
	}
	return form.DivRound(shares, 100)
}

func (a *Assets) vehicleValue() Cents {
	return sumOf(a.Vehicles, func(v *Vehicle) Cents { return v.Value })
}

func (a *Assets) bankBalance() Cents {
	return sumOf(a.BankAccounts, func(b *BankAccount) Cents { return b.Balance })
}

func (a *Assets) superBalance() Cents {
	return sumOf(a.Superannuation, func(f *SuperFund) Cents { return f.Balance })
}

func (a *Assets) investmentValue() Cents {
	return sumOf(a.Investments, func(i *Investment) Cents { return i.Value })
}

func sumOf[T any](items []*T, amount func(*T) Cents) (sum Cents) {
	for _, item := range items {
		sum += amount(item)
	}
	return sum
}

func (a *Assets) section() *form.Section {
	return &form.Section{
		Name:            AssetsSection,
		AsksWhatApplies: true,
		Title:           "Assets",
		Intro:           "Tick what you own. If shared, your part, except property. Careful estimates are fine.",
		Groups: []form.Group{
			{Title: "Property", Hint: "All owners’ amounts.",
				List:     form.ListOf(&a.RealProperty, "real_property", "Property", "property", (*Property).fields),
				Subtotal: form.Subtotal(a.propertyShare, "Value of your share")},
			{Title: "Vehicles",
				List:     form.ListOf(&a.Vehicles, "vehicles", "Vehicles", "vehicle", (*Vehicle).fields),
				Subtotal: form.Subtotal(a.vehicleValue, "Total value")},
			{Title: "Bank accounts",
				List:     form.ListOf(&a.BankAccounts, "bank_accounts", "Bank accounts", "bank account", (*BankAccount).fields),
				Subtotal: form.Subtotal(a.bankBalance, "Total value")},
			{Title: "Superannuation",
				List:     form.ListOf(&a.Superannuation, "superannuation", "Superannuation", "super fund", (*SuperFund).fields),
				Subtotal: form.Subtotal(a.superBalance, "Total value")},
			{Title: "Investments", Hint: "Shares, managed funds, crypto.",
				List:     form.ListOf(&a.Investments, "investments", "Investments", "investment", (*Investment).fields),
				Subtotal: form.Subtotal(a.investmentValue, "Total value")},
			{Fields: []form.Field{form.Total(a.Total, "total_assets", "Total assets", form.Once)}},
		},
	}
}

func (p *Property) fields() []form.Field {
	percentage := form.Percent(&p.OwnershipPercentage, "ownership_percentage", "Your share")
	percentage.Otherwise = func() string { return wholeOf(p.Ownership) }
	value := amountOf(&p.CurrentValue, "current_value", "Current value")
	owing := form.Money(&p.MortgageOwing, "mortgage_owing", "Mortgage owing", form.Once)
	value.Owned = func() (int, bool) {
		return p.OwnershipPercentage, !percentage.Value.Empty() && percentage.Value.ErrorMessage() == ""
	}
	value.SharedBy = percentage.Name
	owing.Owned, owing.SharedBy = value.Owned, value.SharedBy
	return []form.Field{
		form.LongText(&p.Description, "description", "Description").
			Asks("Enter a description").Hints("For example, family home.").Names(),
		form.LongText(&p.Address, "address", "Address").Asks("Enter its address").Suggests(homeList).FilledBy("This is my home"),
		form.Choice(&p.Ownership, "ownership", "Ownership", ownerships).Asks("Select how it is owned"),
		percentage,
		value,
		owing,
		form.Total(p.Net, "net_value", "Net value of your share", form.Once),
	}
}

// amountOf is what a thing with a name is worth, or what is owed on it: a blank isn't signed as 0.
func amountOf(p *Cents, name, label string) form.Field {
	return form.Money(p, name, label, form.Once).RequiredOnPage().Asks("Enter the " + strings.ToLower(label))
}

// wholeOf is the share of a sole owner; "" of others, who must say it.
func wholeOf(ownership string) string {
	if ownership == soleOwner {
		return "100"
	}
	return ""
}

func (v *Vehicle) fields() []form.Field {
	return []form.Field{
		form.LongText(&v.Description, "description", "Description").
			Asks("Enter a description").Hints("Make, model and year.").Names(),
		amountOf(&v.Value, "value", "Value"),
		form.Money(&v.AmountOwing, "amount_owing", "Amount owing", form.Once),
	}
}

func (b *BankAccount) fields() []form.Field {
	return []form.Field{
		form.Text(&b.Institution, "institution", "Bank or institution").Asks("Enter the bank or institution").
			Suggests(bankList).Names(),
		form.Choice(&b.AccountType, "account_type", "Account type", accountTypes).Asks("Select the type of account").
			Presets("transaction"),
		amountOf(&b.Balance, "balance", "Balance").
			RefusesNegative("{label} must be $0 or more. If the account is overdrawn, enter 0 here and what you owe at “Other debts” in Liabilities"),
	}
}

func (f *SuperFund) fields() []form.Field {
	return []form.Field{
		form.Text(&f.FundName, "fund_name", "Fund name").Asks("Enter the name of the fund").Suggests(fundList).Names(),
		amountOf(&f.Balance, "balance", "Balance"),
	}
}

func (i *Investment) fields() []form.Field {
	return []form.Field{
		form.LongText(&i.Description, "description", "Description").Asks("Enter a description").Names(),
		amountOf(&i.Value, "value", "Value"),
	}
}
