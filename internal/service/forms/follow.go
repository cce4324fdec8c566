package forms

import (
	"context"
	"net/url"
	"time"

	"candor/db"
	"candor/internal/statement"
)

// beginning returns the inputs with which Expenses begin.
func (f *State) beginning(e statement.Expenses) url.Values {
	offered := &statement.Statement{Personal: f.Statement.Personal, Liabilities: f.Statement.Liabilities, Expenses: e}
	return offered.Section(statement.ExpensesSection, f.now).Inputs()
}

// follow replaces the inputs that still have what Expenses were offered with by what the repayments
// come to now, and reports whether there are any, and whether one was empty.
func (f *State) follow(values url.Values, offered statement.Expenses) (changed, added bool) {
	before, after := f.beginning(offered), f.beginning(f.Statement.SuggestExpenses())
	for _, field := range statement.RepaymentFields {
		was, period := before.Get(field), field+".period"
		same := values.Get(field) == was && (was == "" || values.Get(period) == before.Get(period))
		if !same || after.Get(field) == was {
			continue
		}
		values.Set(field, after.Get(field))
		changed = true
		if was == "" {
			values.Set(period, after.Get(period))
			added = true
		}
	}
	return changed, added
}

// followRepayments stores what the repayments come to now where Expenses still have what
// they were offered with before: the form filled that in, and it was not changed (D55). A
// repayment that wasn't there may be among other amounts: the customer looks at them again.
func (s *Service) followRepayments(ctx context.Context, tx *db.Tx, state *State, offered statement.Expenses,
	now time.Time) (changed bool, err error) {
	const name = statement.ExpensesSection
	own, begun := state.Sections[name]
	if !begun || offered == state.Statement.SuggestExpenses() {
		return false, nil
	}
	values := state.Section(name).Inputs()
	changed, added := state.follow(values, offered)
	if !changed {
		return false, nil
	}
	section, whole := state.Empty(name), state.Empty(name)
	section.Read(values)
	done := &Edited{Stored: section}
	if own.Draft == nil && !added && len(whole.Decode(values))+len(whole.Left()) == 0 {
		done.Stored, done.complete = whole, true
	}
	if err := s.storeEdited(ctx, tx, state, done, now); err != nil || done.complete {
		return true, err
	}
	own.Draft = done.Stored.Inputs() // where Next leads
	state.Sections[name] = own
	return true, nil
}
