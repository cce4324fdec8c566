package form

import (
	"net/url"
	"slices"
)

// A MissingItem is an item that a list lacks, to be added by a button.
type MissingItem struct {
	Name   string     // tells it from others
	List   string     // where it is added
	Text   string     // of the button, with {names}
	Args   []string   // what replaces them, in their order
	Inputs url.Values // of the item's fields
}

// MissingFrom are the items that the named list lacks.
func (s *Section) MissingFrom(list string) []MissingItem {
	if s.Missing == nil {
		return nil
	}
	return slices.DeleteFunc(s.Missing(), func(m MissingItem) bool { return m.List != list })
}

// AddMissing adds the missing item of that name to its list, in place of a blank item if
// there is one. It returns the list and the item's number; nil if no such item is missing
// or the list is full.
func (s *Section) AddMissing(name string) (*List, int) {
	for _, g := range s.Groups {
		if g.List == nil {
			continue
		}
		for _, m := range s.MissingFrom(g.List.Name) {
			if m.Name != name {
				continue
			}
			i, added := g.List.addBlank()
			if !added {
				return nil, 0
			}
			parseFields(g.List.Item(i), "", m.Inputs)
			s.Untick(HasNone)
			return g.List, i
		}
	}
	return nil, 0
}

// addBlank returns the number of a blank item, which it adds if there is none.
func (l *List) addBlank() (int, bool) {
	for i := range l.Len() {
		if blank(l.Item(i)) {
			return i, true
		}
	}
	return l.Add()
}
