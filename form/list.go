package form

import (
	"fmt"
	"net/url"
	"strconv"
)

// A List is a repeated group of questions, such as one per vehicle.
type List struct {
	Name     string // JSON key inside the section, and input name prefix
	Title    string // what the items are, "Vehicles"
	Singular string // one item inside a sentence, "vehicle"

	length func() int
	add    func() // appends one empty item
	remove func(i int)
	bind   func(i int) []Field
	bound  [][]Field // an item's fields keep what was typed, so bind each once
	excess bool      // more items were sent than a list can hold
}

// ListOf describes a list whose items are *items; bind gives one item's
// fields.
func ListOf[T any](items *[]*T, name, title, singular string, bind func(*T) []Field) *List {
	return &List{
		Name: name, Title: title, Singular: singular,
		length: func() int { return len(*items) },
		add:    func() { *items = append(*items, new(T)) },
		remove: func(i int) { *items = append((*items)[:i], (*items)[i+1:]...) },
		bind:   func(i int) []Field { return bind((*items)[i]) },
	}
}

// Len returns the number of items.
func (l *List) Len() int { return l.length() }

// Full reports whether the list holds as many items as it can.
func (l *List) Full() bool { return l.Len() >= MaxListItems }

// Item returns the fields of item i, counted from 0.
func (l *List) Item(i int) []Field {
	for len(l.bound) < l.Len() {
		l.bound = append(l.bound, l.bind(len(l.bound)))
	}
	return l.bound[i]
}

// Add appends an empty item and returns its number; a full list is left as
// it is and false returned.
func (l *List) Add() (int, bool) {
	if l.Full() {
		return 0, false
	}
	l.add()
	return l.Len() - 1, true
}

// Remove deletes item i and reports whether there was one.
func (l *List) Remove(i int) bool {
	if i < 0 || i >= l.Len() {
		return false
	}
	l.Item(i)
	l.remove(i)
	l.bound = append(l.bound[:i], l.bound[i+1:]...)
	return true
}

// ItemFields returns the fields of an item of its own, bound to nothing
// that is stored: a description for schemas and table headings.
func (l *List) ItemFields() []Field {
	l.add()
	last := l.Len() - 1
	fields := l.bind(last)
	l.remove(last)
	return fields
}

// Input returns the name of the input that answers field f of item i.
func (l *List) Input(i int, f Field) string { return l.path(i) + f.Name }

func (l *List) path(i int) string { return l.Name + "." + strconv.Itoa(i) + "." }

func (l *List) clear() {
	for l.Len() > 0 {
		l.remove(l.Len() - 1)
	}
	l.bound = nil
}

// read replaces the items by those in values. An item left wholly blank is
// one the customer did not want.
func (l *List) read(values url.Values) {
	l.clear()
	l.excess = false
	for _, n := range indices(l.Name, values) {
		if l.Full() {
			l.excess = true
			return
		}
		l.add()
		i := l.Len() - 1
		readFields(l.Item(i), l.path(n), values)
		if blank(l.Item(i)) {
			l.Remove(i)
		}
	}
}

func blank(fields []Field) bool {
	for _, f := range fields {
		if f.Kind != KindOutput && (!f.Value.Empty() || f.Value.Problem() != "") {
			return false
		}
	}
	return true
}

func (l *List) validate() Errors {
	var errs Errors
	for i := range l.Len() {
		errs = append(errs, validateFields(l.Item(i), l.path(i))...)
	}
	if l.excess {
		errs = append(errs, Error{l.Name, fmt.Sprintf("%s can have at most %d entries: combine the smallest ones", l.Title, MaxListItems)})
	}
	return errs
}
