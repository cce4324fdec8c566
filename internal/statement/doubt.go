package statement

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"candor/internal/form"
)

// A DoubtCode says why an answer is asked about before the signature.
type DoubtCode string

// Enum lists the codes.
func (DoubtCode) Enum() []string {
	var out []string
	for _, rule := range doubts {
		out = append(out, string(rule.code))
	}
	return out
}

// A Doubt is an odd answer. It is asked about and never refused (D79).
type Doubt struct {
	Code  DoubtCode
	Path  string   // of the answer in the data object
	Text  string   // what is odd, with {names}
	Label string   // of the answer's question; it replaces the first of them, unless it is ""
	Args  []string // what replaces the others, in their order
}

// Say is what is odd in a language. translate replaces a text's {names} by the
// arguments.
func (d Doubt) Say(translate func(text string, args ...string) string) string {
	args := d.Args
	if d.Label != "" {
		args = slices.Concat([]string{translate(d.Label)}, args)
	}
	return translate(d.Text, args...)
}

// English is what is odd in English.
func (d Doubt) English() string {
	return d.Say(func(text string, args ...string) string { return form.Fill(text, text, args) })
}

// Key is what was asked: the sentence with its figures. After a change of the answer it
// is another one, which is asked about again.
func (d Doubt) Key() string {
	return strings.Join(append([]string{string(d.Code), d.Path, d.Text}, d.Args...), "|")
}

// A Confirmation says that the customer was asked about an odd answer and
// confirmed it.
type Confirmation struct {
	Code        DoubtCode      `json:"code" doc:"Why it was asked about."`
	Path        string         `json:"path" doc:"Path of the answer in this object."`
	Text        string         `json:"text,omitempty" doc:"What the customer confirmed, in English; absent in older statements."`
	ConfirmedAt form.Timestamp `json:"confirmed_at" doc:"When the customer confirmed it, UTC."`
}

// Customers of these ages and between them aren't asked.
const youngest, oldest = 18, 100

// DebtNotListed is a debt that the assets mention and the liabilities lack. Its
// path is also the name of the liabilities' offer to add it.
const DebtNotListed DoubtCode = "debt_not_listed"

// doubts are the rules. Each returns what is odd, without its code.
var doubts = []struct {
	code DoubtCode
	find func(s *Statement, now time.Time) []Doubt
}{
	{"age", func(s *Statement, now time.Time) []Doubt {
		age := s.Personal.age(now)
		return when(!s.Personal.DateOfBirth.IsZero() && (age < youngest || age > oldest), Doubt{
			Path: "personal_details.date_of_birth", Text: "You are {age} years old.", Args: []string{strconv.Itoa(age)},
		})
	}},
	{"state_postcode", func(s *Statement, _ time.Time) []Doubt {
		a := s.Personal.Address
		state := stateOf(a.Postcode)
		return when(state != "" && a.State != "" && state != a.State, Doubt{
			Path: "personal_details.address.state", Text: "You chose {state}, but postcode {postcode} is in {other}.",
			Args: []string{a.State, a.Postcode, state},
		})
	}},
	{"phone_country", func(s *Statement, _ time.Time) []Doubt {
		a, phone := s.Personal.Address, s.Personal.Phone
		return when(!a.Abroad() && strings.HasPrefix(phone, "+") && !strings.HasPrefix(phone, "+61"), Doubt{
			Path: "personal_details.address.country", Text: "Your phone number is {phone}. Your address is in {suburb}, {state}, Australia.",
			Args: []string{phone, a.Suburb, a.State},
		})
	}},
	{"no_income", func(s *Statement, _ time.Time) []Doubt {
		return when(s.Income.TotalGross() == 0, Doubt{Path: "income.total_gross_income", Text: "You have no income."})
	}},
	{"income_period", incomeByPeriod},
	{"given_period", givenPeriod},
	{"bonus_above_salary", func(s *Statement, _ time.Time) []Doubt {
		bonuses, salary := s.Income.Employment.Bonuses, s.Income.Employment.GrossSalary
		d := Doubt{
			Path: "income.employment_income.bonuses", Text: "Your bonuses are {bonuses} a year. Your salary is {salary} a year.",
			Args: []string{bonuses.String(), salary.String()},
		}
		if salary == 0 {
			d.Path, d.Text, d.Args = "income.employment_income.gross_salary", "You entered bonuses and no salary.", nil
		}
		return when(bonuses > salary, d)
	}},
	{"business_above_salary", func(s *Statement, _ time.Time) []Doubt {
		business, salary := s.Income.Other.Business, s.Income.Employment.GrossSalary
		return when(salary > 0 && business/10 > salary && !s.askedByPeriod(businessIncome), Doubt{
			Path: businessIncome, Text: "Your business income is {business} a year. Your salary is {salary} a year.",
			Args: []string{business.String(), salary.String()},
		})
	}},
	{"rent_above_value", rentAboveValue},
	{"rent_above_income", func(s *Statement, _ time.Time) []Doubt {
		rent, income := s.Expenses.Housing.MortgageRent, s.Income.Monthly()
		return when(income > 0 && rent > income, Doubt{
			Path: "expenses.housing.mortgage_rent", Text: "Your mortgage or rent is {rent} a month. Your income before tax is {income} a month.",
			Args: []string{rent.String(), income.String()},
		})
	}},
	{"expense_above_income", expensesAboveIncome},
	{"no_rent", func(s *Statement, now time.Time) []Doubt {
		text := "You pay no rent and own no home."
		if s.livesElsewhere() {
			text = "You pay no rent, and don’t own the home where you live."
		}
		return when(s.paysNoRent() && len(lowExpenses(s, now)) == 0, Doubt{Path: "expenses.housing.mortgage_rent", Text: text})
	}},
	{"low_expenses", lowExpenses},
	{"sole_owner_share", func(s *Statement, _ time.Time) (out []Doubt) {
		for i, p := range s.Assets.RealProperty {
			out = append(out, when(p.Ownership == soleOwner && p.OwnershipPercentage < 100, Doubt{
				Path: item("assets.real_property", i, "ownership_percentage"),
				Text: "You are the sole owner of {property}. Your share is {share}.",
				Args: []string{p.Address, p.share()},
			})...)
		}
		return out
	}},
	{"joint_owner_share", func(s *Statement, _ time.Time) (out []Doubt) {
		for i, p := range s.Assets.RealProperty {
			out = append(out, when(p.Ownership != soleOwner && p.OwnershipPercentage == 100, Doubt{
				Path: item("assets.real_property", i, "ownership_percentage"),
				Text: "{property} has more than one owner. Your share is 100%.", Args: []string{p.Address},
			})...)
		}
		return out
	}},
	{"mortgage_above_value", func(s *Statement, _ time.Time) (out []Doubt) {
		for i, p := range s.Assets.RealProperty {
			out = append(out, when(p.MortgageOwing > p.CurrentValue, Doubt{
				Path: item("assets.real_property", i, "mortgage_owing"), Text: "The mortgage on {property} is {owing}. It is worth {value}.",
				Args: []string{p.Address, p.MortgageOwing.String(), p.CurrentValue.String()},
			})...)
		}
		return out
	}},
	{DebtNotListed, func(s *Statement, _ time.Time) (out []Doubt) {
		for _, debt := range unlisted(&s.Assets, &s.Liabilities) {
			out = append(out, Doubt{Path: debt.path, Text: "Assets say that you owe {amount} on {thing}. Your liabilities leave it out.",
				Args: []string{debt.balance.String(), debt.thing}})
		}
		return out
	}},
	{"debt_differs", func(s *Statement, _ time.Time) (out []Doubt) {
		for _, debt := range differing(&s.Assets, &s.Liabilities) {
			text := "You owe {amount} on {thing}. In your liabilities it is {listed}."
			args := []string{debt.balance.String(), debt.thing, debt.listed.String()}
			if debt.shared() { // who owns half can owe the whole loan
				text = "You own {share} of {property}. Its mortgage is {whole}. In your liabilities it is {listed}."
				args = []string{debt.share, debt.thing, debt.whole.String(), debt.listed.String()}
			}
			out = append(out, Doubt{Path: debt.path, Text: text, Args: args})
		}
		return out
	}},
	{"mortgage_without_property", func(s *Statement, _ time.Time) (out []Doubt) {
		properties := s.Assets.RealProperty
		for i, m := range s.Liabilities.Mortgages {
			path := item("liabilities."+mortgageList, i, "balance")
			// One property can be called by several names, so they are counted as well.
			gone := m.Property != "" && len(s.Liabilities.Mortgages) > len(properties) &&
				!slices.ContainsFunc(properties, func(p *Property) bool {
					return sameName(p.Address, m.Property) || sameName(p.Description, m.Property)
				})
			out = append(out, when(m.Balance > 0 && len(properties) == 0, Doubt{
				Path: path, Text: "You have a mortgage of {amount} ({lender}) and no property.", Args: []string{m.Balance.String(), m.Lender},
			})...)
			out = append(out, when(m.Balance > 0 && len(properties) > 0 && gone, Doubt{
				Path: path, Text: "You have a mortgage on {property}, which isn’t in your assets.", Args: []string{m.Property},
			})...)
		}
		return out
	}},
	{"debt_listed_twice", func(s *Statement, _ time.Time) (out []Doubt) {
		all := s.Liabilities.debts() // two devices can each have added one
		for i, d := range all {
			part := strings.HasPrefix(d.path, "liabilities."+mortgageList) // mortgages are split
			again := !part && slices.ContainsFunc(all[:i], func(other debt) bool {
				return other.balance == d.balance && words(other.name) == words(d.name)
			})
			out = append(out, when(d.balance > 0 && again, Doubt{
				Path: d.path, Text: "You have listed {amount} ({debt}) twice.", Args: []string{d.balance.String(), d.name},
			})...)
		}
		return out
	}},
	{"debt_without_repayment", func(s *Statement, _ time.Time) (out []Doubt) {
		for _, debt := range s.Liabilities.debts() {
			// Others are repaid in other ways, as a study loan with the tax.
			other := strings.HasPrefix(debt.path, "liabilities."+otherDebtList)
			out = append(out, when(!other && debt.balance > 0 && debt.repayment == 0, Doubt{
				Path: debt.path, Text: "You owe {amount} ({debt}) and repay nothing.", Args: []string{debt.balance.String(), debt.name},
			})...)
		}
		return out
	}},
	{"repayment_above_balance", func(s *Statement, _ time.Time) (out []Doubt) {
		for _, debt := range s.Liabilities.debts() {
			out = append(out, when(debt.repayment > debt.balance, Doubt{
				Path: debt.path, Text: "You owe {amount} ({debt}) and repay {repayment} a month.", Args: []string{debt.balance.String(),
					debt.name, debt.repayment.String()},
			})...)
		}
		return out
	}},
	{"repayment_of_all_owners", repaymentsOfAllOwners},
	{"card_above_limit", func(s *Statement, _ time.Time) (out []Doubt) {
		for i, c := range s.Liabilities.CreditCards {
			out = append(out, when(c.Balance > c.Limit, Doubt{
				Path: item("liabilities.credit_cards", i, "balance"), Text: "You owe {amount} on {card}. Its limit is {limit}.",
				Args: []string{c.Balance.String(), c.Issuer, c.Limit.String()},
			})...)
		}
		return out
	}},
	{"repayments_missing", func(s *Statement, _ time.Time) (out []Doubt) {
		owed, paid := s.SuggestExpenses(), s.Expenses
		left := s.missing(owed.otherRepayments(), paid.otherRepayments()) > 0
		for _, line := range []struct {
			path, text string
			owed, paid Cents
			asked      bool
		}{
			{"housing.mortgage_rent", "You repay {owed} a month on mortgages. Your mortgage or rent is {paid} a month.", owed.Housing.MortgageRent,
				paid.Housing.MortgageRent, true},
			{"transport.car_loan", "You repay {owed} a month on vehicles. In your expenses it is {paid}.", owed.Transport.CarLoan,
				paid.Transport.CarLoan, left},
			{"commitments.debt_repayments", "You repay {owed} a month on other debts. In your expenses it is {paid}.",
				owed.Commitments.DebtRepayments, paid.Commitments.DebtRepayments, left},
		} {
			out = append(out, when(line.asked && s.missing(line.owed, line.paid) > rounding(line.owed), Doubt{
				Path: "expenses." + line.path, Text: line.text, Args: []string{line.owed.String(), line.paid.String()},
			})...)
		}
		return out
	}},
	{"housing_above_repayments", housingAboveRepayments},
	{"no_documents", func(s *Statement, _ time.Time) []Doubt {
		return when(s.DocumentsAsked && len(s.Documents) == 0, Doubt{
			Path: DocumentsSection, Text: "You were asked for documents and added none.",
		})
	}},
	{SignatureName, otherSignature},
}

func when(odd bool, d Doubt) []Doubt {
	if !odd {
		return nil
	}
	return []Doubt{d}
}

func item(list string, i int, field string) string {
	return list + "." + strconv.Itoa(i) + "." + field
}

// Doubts are the odd answers of a statement whose sections are finished, in page
// order of their rules.
func (s *Statement) Doubts(now time.Time) []Doubt {
	var out []Doubt
	for _, rule := range doubts {
		for _, d := range rule.find(s, now) {
			d.Code = rule.code
			out = append(out, d)
		}
	}
	return out
}

// Confirmed are the doubts that the customer confirmed: those of today's rules if they say the
// same, so that they can be translated, else what was kept.
func (s *Statement) Confirmed() (out []Doubt) {
	today := s.Doubts(s.Declaration.SignedAt)
	for _, c := range s.Declaration.Confirmations {
		i := slices.IndexFunc(today, func(d Doubt) bool {
			return d.Code == c.Code && d.Path == c.Path && (c.Text == "" || c.Text == d.English())
		})
		if i >= 0 {
			out = append(out, today[i])
		} else if c.Text != "" {
			out = append(out, Doubt{Code: c.Code, Path: c.Path, Text: c.Text})
		}
	}
	return out
}

// A debt is a line of the liabilities that is repaid.
type debt struct {
	path               string // of its repayment in the data object
	name               string
	balance, repayment Cents
}

func (l *Liabilities) debts() []debt {
	var out []debt
	for i, m := range l.Mortgages {
		out = append(out, debt{item("liabilities."+mortgageList, i, "monthly_repayment"), m.Lender, m.Balance, m.MonthlyRepayment})
	}
	for i, p := range l.PersonalLoans {
		out = append(out, debt{item("liabilities."+personalLoanList, i, "monthly_repayment"), p.Lender, p.Balance, p.MonthlyRepayment})
	}
	for i, o := range l.Other {
		out = append(out, debt{item("liabilities."+otherDebtList, i, "monthly_repayment"), o.Description, o.Balance,
			o.MonthlyRepayment})
	}
	return out
}

// Stored is what is kept of a signed declaration: its section's JSON with the
// confirmations.
func (d *Declaration) Stored() ([]byte, error) {
	answers, err := d.section().MarshalJSON()
	if err != nil || len(d.Confirmations) == 0 {
		return answers, err
	}
	confirmed, err := json.Marshal(d.Confirmations)
	return slices.Concat(answers[:len(answers)-1], []byte(`,"`+confirmationsMember+`":`), confirmed, []byte("}")), err
}

// Read takes what is stored of the named section's valid answers. The expenses must come
// after the sections that they depend on.
func (s *Statement) Read(name string, stored []byte) error {
	section := s.Section(name, time.Time{})
	if section == nil {
		return nil
	}
	if err := section.UnmarshalJSON(stored); err != nil {
		return err
	}
	s.KeepEntered(section)
	if name == PersonalDetailsSection && s.Personal.Address.Country == "" {
		s.Personal.Address.Country = Australia // from before D82
	}
	if name == ExpensesSection {
		s.ExpensesOutdated = s.Outdated(section)
	}
	if name != DeclarationSection {
		return nil
	}
	var kept struct{ Confirmations []Confirmation }
	err := json.Unmarshal(stored, &kept)
	s.Declaration.Confirmations = kept.Confirmations
	return err
}
