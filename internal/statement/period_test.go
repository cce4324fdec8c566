package statement

import (
	"maps"
	"slices"
	"testing"
	"time"

	"candor/internal/form"
)

// TestEveryAmountHasItsPeriod holds the table to the recurring amounts of the form, both
// ways (D77).
func TestEveryAmountHasItsPeriod(t *testing.T) {
	t.Parallel()
	found := map[string]form.Period{}
	take := func(path string, f form.Field) {
		if f.Kind == form.KindMoney && f.Period != form.Once {
			found[path+"."+f.Name] = f.DefaultPeriod
			if f.AskPeriod == "" {
				t.Errorf("%s.%s has no message for an amount without its period", path, f.Name)
			}
		}
	}
	for _, s := range new(Statement).Sections(time.Time{}) {
		for _, g := range s.Groups {
			for _, f := range g.Fields {
				take(s.Name, f)
			}
			for i := 0; g.List != nil && i < len(g.List.ItemFields()); i++ {
				take(s.Name+"."+g.List.Name, g.List.ItemFields()[i])
			}
		}
	}
	for path, usual := range found {
		if known, ok := periods[path]; !ok || known != usual {
			t.Errorf("%s starts with %q; the table has %q, %t", path, usual, known, ok)
		}
	}
	if len(found) != len(periods) {
		t.Errorf("the form has %q, the table %q", slices.Sorted(maps.Keys(found)), slices.Sorted(maps.Keys(periods)))
	}
}
