package form_test

import (
	"testing"

	"candor/internal/form"
)

func TestErrorInGeneral(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ err, want form.Error }{
		{form.Error{Field: "email", Message: "Enter email 1: now"}, form.Error{Field: "email", Message: "Enter email 1: now"}},
		{form.Error{Field: "born.day", Message: "Born must be in the past"}, form.Error{Field: "born.day",
			Message: "Born must be in the past"}},
		{form.Error{Field: "vehicles.0.value", Message: "Vehicle 1: enter value"}, form.Error{Field: "vehicles.value",
			Message: "Vehicle: enter value"}},
		{
			form.Error{Field: "vehicles.11.loan.owing", Message: "Vehicle 12: owing must be 1: one"},
			form.Error{Field: "vehicles.loan.owing", Message: "Vehicle: owing must be 1: one"},
		},
		{form.Error{Field: "vehicles", Message: "Vehicles: enter at most 50"}, form.Error{Field: "vehicles",
			Message: "Vehicles: enter at most 50"}},
		{form.Error{Field: "vehicles.0.make", Message: "Vehicle 1: make has a character we can’t print: ไ. Use English letters"},
			form.Error{Field: "vehicles.make", Message: "Vehicle: make has a character we can’t print. Use English letters"}},
		{form.Error{Field: "born", Message: "Born must have a year of four digits. Did you mean 1985?"},
			form.Error{Field: "born", Message: "Born must have a year of four digits"}},
		{},
	} {
		if got := tt.err.General(); got != tt.want {
			t.Errorf("%+v in general is %+v, want %+v", tt.err, got, tt.want)
		}
	}
}

// TestItemName numbers only items of one name.
func TestItemName(t *testing.T) {
	t.Parallel()
	type loan struct{ purpose string }
	loans := []*loan{{"Toyota"}, {"Boat"}, {"Toyota"}, {}}
	list := form.ListOf(&loans, "loans", "Loans", "loan", func(l *loan) []form.Field {
		return []form.Field{form.Text(&l.purpose, "purpose", "Purpose").Names()}
	})
	for i, want := range []string{"Toyota (1)", "Boat", "Toyota (2)", "", ""} {
		if got := list.ItemName(i); got != want {
			t.Errorf("item %d is called %q, want %q", i, got, want)
		}
	}
}
