package form

import (
	"net/url"
	"slices"
)

// An Offer is an item that a list lacks, to be added by a button.
type Offer struct {
	Name   string     // tells it from others
	List   string     // where it is added
	Text   string     // of the button, with {names}
	Args   []string   // what replaces them, in their order
	Inputs url.Values // of the item's fields
}

// Offered are the offers for the named list.
func (s *Section) Offered(list string) []Offer {
	if s.Offers == nil {
		return nil
	}
	return slices.DeleteFunc(s.Offers(), func(o Offer) bool { return o.List != list })
}

// Take adds what is offered under that name to its list, in place of a blank item
// if there is one. It returns the list and the item's number; nil if there is no
// such offer or the list is full.
func (s *Section) Take(name string) (*List, int) {
	for _, g := range s.Groups {
		if g.List == nil {
			continue
		}
		for _, o := range s.Offered(g.List.Name) {
			if o.Name != name {
				continue
			}
			i, added := g.List.addBlank()
			if !added {
				return nil, 0
			}
			parseFields(g.List.Item(i), "", o.Inputs)
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
