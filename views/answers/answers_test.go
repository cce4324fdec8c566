package answers_test

import (
	"slices"
	"testing"
	"time"

	"candor/internal/form"
	"candor/internal/statement"
	"candor/internal/statement/statementtest"
	"candor/views/answers"
)

// TestDifferencesOfShare: another share is one difference, not one of each amount that it is of.
func TestDifferencesOfShare(t *testing.T) {
	t.Parallel()
	expenses := func(share string) *form.Section {
		s := &statement.Statement{Personal: statement.PersonalDetails{Household: statement.Household{Type: "couple"}}}
		section := s.Section(statement.ExpensesSection, time.Time{})
		values := statementtest.Values(statement.ExpensesSection)
		values.Set(statement.ShareInput, share)
		section.Read(values)
		return section
	}
	got := answers.Differences(t.Context(), expenses("50"), expenses("60"))
	want := []answers.Difference{{Label: "Your share of household costs", Before: "50%", Now: "60%"}}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}
