package form

import "strings"

// LaterInput is the end of the name of an input that leaves a field for later:
// "living.groceries.later".
const LaterInput = ".later"

// deferral is the part of a value that can be left for later.
type deferral struct{ left bool }

func (d *deferral) deferred() *bool { return &d.left }

// deferred is nil for an answer that can't wait: everybody knows it, or nothing is missing
// without it.
func (f Field) deferred() *bool {
	v, ok := f.Value.(interface{ deferred() *bool })
	if !ok || f.Known || f.Optional && f.Kind != KindMoney {
		return nil
	}
	return v.deferred()
}

// CanWait reports whether the customer can leave the answer for later.
func (f Field) CanWait() bool { return f.deferred() != nil }

// Left reports whether the customer leaves the answer for later. An answer takes
// that back.
func (f Field) Left() bool {
	left := f.deferred()
	return left != nil && *left && f.Asked() && f.Value.Empty()
}

// Left lists the paths of the answers that the customer leaves for later.
func (s *Section) Left() []string {
	var out []string
	s.Walk(func(path string, f Field) {
		if f.Left() {
			out = append(out, path)
		}
	})
	return out
}

// A Gap is an answer that is missing, wrong or left for later.
type Gap struct {
	Left   bool   // the customer leaves it for later
	Wrong  bool   // what was typed can't be taken
	Input  string // the name of its first input, or a kind that has no answer
	Label  string
	Item   string // the item of a list, "vehicle"; "" outside lists
	Number int    // the item's, from 1
	Name   string // what the item is called, "" for its number
}

// Gaps lists what keeps the section from being complete on our page, except that
// nothing is ticked.
func (s *Section) Gaps() []Gap {
	var out []Gap
	if s.Outdated && !s.Checked {
		out = append(out, Gap{Input: CheckedInput, Label: "Check of each amount"})
	}
	for _, g := range s.Groups {
		if g.Kind() != "" && s.Has(g.Kind()) && !g.Answered() {
			out = append(out, Gap{Input: g.Kind(), Label: g.Title})
			continue
		}
		if g.List != nil && g.List.excess() {
			out = append(out, Gap{Input: g.List.Name, Label: g.List.Title, Wrong: true})
		}
		out = append(out, gaps(g.Fields, Gap{})...)
		for i := 0; g.List != nil && i < g.List.Len(); i++ {
			if !blank(g.List.Item(i)) {
				out = append(out, gaps(g.List.Item(i), Gap{Input: g.List.path(i), Item: g.List.Singular, Number: i + 1,
					Name: g.List.ItemName(i)})...)
			}
		}
	}
	return out
}

// gaps are those of an item's or a group's fields.
func gaps(fields []Field, of Gap) []Gap {
	var out []Gap
	for _, f := range fields {
		known := f.isPreset() || f.Otherwise != nil && f.Value.Empty() && f.Otherwise() != ""
		if f.Left() || f.errorMessage(true) != "" && !known {
			out = append(out, Gap{
				Left: f.Left(), Wrong: f.Value.ErrorMessage() != "" && !f.lacksPart(),
				Input: of.Input + f.Name + f.ErrorPart(), Label: f.Label, Item: of.Item, Number: of.Number, Name: of.Name,
			})
		}
	}
	return out
}

// lacksPart reports whether the answer is only begun: an amount without its period, a date
// without its year.
func (f Field) lacksPart() bool {
	v, isDate := f.Value.(*date)
	return f.LacksPeriod() || isDate && strings.HasPrefix(v.message, lacksPart)
}
