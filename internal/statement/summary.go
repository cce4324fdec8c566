package statement

import (
	"encoding/json"
	"time"

	"candor/internal/form"
)

// Summary is the statement in eight amounts (D19–D21, D55).
type Summary struct {
	TotalAssets            Cents `json:"total_assets" doc:"The customer’s share of everything owned, dollars."`
	TotalLiabilities       Cents `json:"total_liabilities" doc:"Sum of all balances owed, dollars."`
	NetWorth               Cents `json:"net_worth" doc:"total_assets less total_liabilities, dollars; may be negative."`
	TotalMonthlyIncome     Cents `json:"total_monthly_income" doc:"Monthly income before tax: a twelfth of total_gross_income, dollars, rounded half up to the cent."`
	TotalMonthlyExpenses   Cents `json:"total_monthly_expenses" doc:"Sum of the expenses section, dollars a month."`
	MonthlySurplus         Cents `json:"monthly_surplus" doc:"Left each month before tax: total_monthly_income less total_monthly_expenses, dollars; may be negative."`
	TotalMonthlyRepayments Cents `json:"total_monthly_repayments" doc:"Sum of the liabilities’ repayments, dollars a month. Expenses contain what the customer entered there."`
	RepaymentsLeft         Cents `json:"repayments_not_in_expenses" doc:"The part of total_monthly_repayments that the expenses can’t contain, dollars a month: monthly_surplus less this is left after all repayments."`
}

// LeftAfterRepayments is what is left each month, before tax, once all repayments are made.
func (s Summary) LeftAfterRepayments() Cents { return s.MonthlySurplus - s.RepaymentsLeft }

// Summary computes the eight amounts.
func (s *Statement) Summary() Summary {
	out := Summary{
		TotalAssets:            s.Assets.Total(),
		TotalLiabilities:       s.Liabilities.Total(),
		TotalMonthlyIncome:     s.Income.Monthly(),
		TotalMonthlyExpenses:   s.Expenses.Total(),
		TotalMonthlyRepayments: s.Liabilities.Repayments(),
		RepaymentsLeft:         s.repaymentsLeft(),
	}
	out.NetWorth = out.TotalAssets - out.TotalLiabilities
	out.MonthlySurplus = out.TotalMonthlyIncome - out.TotalMonthlyExpenses
	return out
}

// MarshalJSON writes the data object of the data endpoint: the five sections
// of answers, the summary, the documents and the declaration.
func (s *Statement) MarshalJSON() ([]byte, error) {
	type member struct {
		key   string
		value any
	}
	var members []member
	for _, section := range s.Sections(time.Time{}) {
		if section.Name != DeclarationSection {
			members = append(members, member{section.Name, section})
		}
	}
	entered := map[string]form.Entries{}
	for section, amounts := range s.Entered {
		for path, entries := range amounts {
			entered[section+"."+path] = entries
		}
	}
	members = append(members, member{enteredMember, entered}, member{prefilledMember, s.Prefilled()})
	if previous := s.PreviousSession(); previous != "" {
		members = append(members, member{previousMember, previous}, member{changedMember, s.ChangedSections()})
	}
	members = append(members, // arrays also if there are none
		member{confirmationsMember, append([]Confirmation{}, s.Declaration.Confirmations...)}, member{"summary", s.Summary()},
		member{DocumentsSection, append([]Document{}, s.Documents...)}, member{DeclarationSection, s.Declaration.section()})
	b := []byte{'{'}
	for i, m := range members {
		raw, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `"`+m.key+`":`...)
		b = append(b, raw...)
	}
	return append(b, '}'), nil
}

// enteredMember is the member of the data object with Statement.Entered.
const enteredMember = "entered"

// prefilledMember is the member of the data object with Statement.Prefilled.
const prefilledMember = "prefilled"

// previousMember and changedMember are the members of the data object with
// Statement.PreviousSession and ChangedSections. Only a session that continues another
// one has them.
const (
	previousMember = "previous_session_id"
	changedMember  = "changed_sections"
)

// confirmationsMember is the member of the data object, and of a stored
// declaration, with Declaration.Confirmations.
const confirmationsMember = "confirmations"

// DataSchema describes what MarshalJSON writes, given the schemas of Summary
// and of lists of Documents and Confirmations.
func DataSchema(summary, documents, confirmations *form.Schema) *form.Schema {
	confirmations.Description = "The odd answers that the customer was asked about before signing, and confirmed."
	root := &form.Schema{Type: "object", Title: "Form data", Properties: map[string]*form.Schema{
		"summary": summary, DocumentsSection: documents, confirmationsMember: confirmations,
		enteredMember: {Type: "object",
			Description: "The amounts that the customer gave in another period than the field’s, as several, or for a household of which they pay a share, by their paths in this object.",
			Additional:  form.EntriesSchema()},
		prefilledMember: {Type: "object",
			Description: "The answers that were given as prefill, by their paths in this object: confirmed if the customer submitted the same value there, else changed.",
			Additional:  &form.Schema{Type: "string", Enum: PrefillResult("").Enum()}},
		previousMember: {Type: "string", Pattern: "^sess_[0-7][0-9a-hjkmnp-tv-z]{25}$",
			Description: "The session of prefill_from, whose answers were offered. Absent for a session without."},
		changedMember: {Type: "array", Items: &form.Schema{Type: "string", Enum: BeforeDeclaration},
			Description: "The sections whose answers aren’t the former session’s last valid ones; documents, if there is a file that it didn’t have. Absent for a session without prefill_from."},
	}, Required: []string{"summary", DocumentsSection, enteredMember, prefilledMember, confirmationsMember}}
	for _, section := range new(Statement).Sections(time.Time{}) {
		root.Properties[section.Name] = section.Schema()
		root.Required = append(root.Required, section.Name)
	}
	return root
}
