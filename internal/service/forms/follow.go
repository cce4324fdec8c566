package forms

import (
	"context"
	"encoding/json"
	"net/url"
	"time"

	"candor/db"
	"candor/internal/statement"
)

// repayments are the expenses that are offered (D55).
func (f *State) repayments() statement.Expenses {
	return statement.SuggestExpenses(&f.Statement.Assets, &f.Statement.Liabilities)
}

// beginning returns the inputs with which Expenses begin.
func (f *State) beginning(e statement.Expenses) url.Values {
	offered := &statement.Statement{Personal: f.Statement.Personal, Liabilities: f.Statement.Liabilities, Expenses: e}
	return offered.Section(statement.ExpensesSection, f.now).Inputs()
}

// followRepayments stores what the repayments come to now where Expenses still have what
// they were offered with before: the form filled that in, and it was not changed (D55).
func (s *Service) followRepayments(ctx context.Context, tx *db.Tx, state *State, offered statement.Expenses,
	now time.Time) error {
	const name = statement.ExpensesSection
	own, begun := state.Sections[name]
	if !begun || offered == state.repayments() {
		return nil
	}
	before, after := state.beginning(offered), state.beginning(state.repayments())
	values, changed := state.Section(name).Inputs(), false
	for _, field := range statement.RepaymentFields {
		was, period := before.Get(field), field+".period"
		if was != "" && values.Get(field) == was && values.Get(period) == before.Get(period) && after.Get(field) != was {
			values.Set(field, after.Get(field))
			changed = true
		}
	}
	section := state.Empty(name)
	switch {
	case !changed:
		return nil
	case own.Draft != nil || len(section.Decode(values))+len(section.Left()) > 0: // what is to be looked at again stays so
		draft, err := json.Marshal(values)
		if err != nil {
			return err
		}
		own.Draft = values
		state.Sections[name] = own
		return s.Vault.SaveDraft(ctx, tx, state.Session.ID, state.stored, name, draft, nil, now)
	}
	answers, err := section.Stored()
	if err != nil {
		return err
	}
	if err := s.completeSection(ctx, tx, state.Session, state.stored, name, answers, now); err != nil {
		return err
	}
	return state.completed(name, answers)
}
