package form

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// A List is a repeated group of questions, such as one for each vehicle. After
// it is bound, only its methods add and remove items.
type List struct {
	Name     string // JSON key inside the section, and input name prefix
	Title    string // "Vehicles"
	Singular string // one item in a sentence, "vehicle"
	// Version changes when items are added, removed or replaced: two pages with
	// the same one mean the same item by a number. "" for a list as scripts post
	// it (D47).
	Version string

	length   func() int
	add      func() // appends one empty item
	remove   func(i int)
	bind     func(i int) []Field
	describe func() []Field
	bound    [][]Field // bound once, because an item's fields keep what was typed
}

// mostItems is how many items are read: those that a list can't hold are shown
// again and refused (D85).
const mostItems = 2 * MaxListItems

// versionInput is the name of a version's input, after that of its list.
const versionInput = ".version"

// ListOf describes a list whose items are *items; bind gives one item's
// fields.
func ListOf[T any](items *[]*T, name, title, singular string, bind func(*T) []Field) *List {
	return &List{
		Name: name, Title: title, Singular: singular,
		length: func() int { return len(*items) },
		add:    func() { *items = append(*items, new(T)) },
		// of this list only: copied answers share its array
		remove:   func(i int) { *items = slices.Delete(slices.Clone(*items), i, i+1) },
		bind:     func(i int) []Field { return bind((*items)[i]) },
		describe: func() []Field { return bind(new(T)) },
	}
}

// Len returns the number of items.
func (l *List) Len() int { return l.length() }

// Full reports whether the list has MaxListItems items.
func (l *List) Full() bool { return l.Len() >= MaxListItems }

// excess reports whether the list has more items than it can hold.
func (l *List) excess() bool { return l.Len() > MaxListItems }

// Item returns the fields of item i, counted from 0.
func (l *List) Item(i int) []Field {
	for len(l.bound) < l.Len() {
		l.bound = append(l.bound, l.bind(len(l.bound)))
	}
	return l.bound[i]
}

// Add appends an empty item and returns its number; false if the list is full.
func (l *List) Add() (int, bool) {
	if l.Full() {
		return 0, false
	}
	l.add()
	l.Version = rand.Text()
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
	l.Version = rand.Text()
	return true
}

// ItemName is what item i is called by its answers, "Car loan, Mazda 3", with a number if others
// have the same name; "" without a name.
func (l *List) ItemName(i int) string {
	name := l.nameOf(i)
	number, same := 0, 0
	for other := range l.Len() {
		if l.nameOf(other) == name {
			same++
			if other <= i {
				number++
			}
		}
	}
	if name == "" || same == 1 {
		return name
	}
	return name + " (" + strconv.Itoa(number) + ")"
}

func (l *List) nameOf(i int) string {
	if i >= l.Len() {
		return ""
	}
	for _, f := range l.Item(i) {
		if f.NamesItem && f.Value.ErrorMessage() == "" {
			return f.Value.Display()
		}
	}
	return ""
}

// ItemFields returns the fields of a new item outside the list: a description
// for schemas and table headings.
func (l *List) ItemFields() []Field { return l.describe() }

// Input returns the name of the input for field f of item i.
func (l *List) Input(i int, f Field) string { return l.path(i) + f.Name }

func (l *List) path(i int) string { return l.Name + "." + strconv.Itoa(i) + "." }

func (l *List) clear() {
	for l.Len() > 0 {
		l.remove(l.Len() - 1)
	}
	l.bound = nil
}

// read replaces the items by those in values, numbered from 0. An item without
// any answer is kept while the page is filled in, so that the others keep
// their numbers, and dropped when the section is submitted.
func (l *List) read(values url.Values, keepBlank bool) {
	l.clear()
	version, _ := CleanText(values.Get(l.Name+versionInput), maxCode)
	if len(version) > maxCode {
		version = "" // none of ours
	}
	shifted := false
	l.Version = version
	for _, n := range indices(l.Name, values) {
		if l.Len() == mostItems {
			break
		}
		l.add()
		i := l.Len() - 1
		parseFields(l.Item(i), l.path(n), values)
		clearUnasked(l.Item(i))
		if !keepBlank && blank(l.Item(i)) {
			l.Remove(i)
			continue
		}
		fillIn(l.Item(i), keepBlank)
		if l.Version != version {
			shifted = true
		}
	}
	if !shifted { // blank items at the end leave the others in their place
		l.Version = version
	}
}

// SetVersions gives each list the version of its content, if it has none that is
// stored.
func (s *Section) SetVersions() {
	for _, g := range s.Groups {
		if g.List != nil {
			inputs := url.Values{}
			g.List.Version = ""
			g.List.inputs(inputs)
			sum := sha256.Sum256([]byte(inputs.Encode()))
			g.List.Version = hex.EncodeToString(sum[:8])
		}
	}
}

// inputs adds the inputs of all items and of the version.
func (l *List) inputs(out url.Values) {
	for i := range l.Len() {
		for _, f := range l.Item(i) {
			if f.Asked() {
				maps.Copy(out, f.Typed(l.Input(i, f)))
			}
		}
	}
	if l.Version != "" {
		out.Set(l.Name+versionInput, l.Version)
	}
}

func blank(fields []Field) bool {
	for _, f := range fields {
		if f.Kind != KindOutput && (!f.Value.Empty() || f.Value.ErrorMessage() != "" || f.Left()) {
			return false
		}
	}
	return true
}

func (l *List) validate(fromPage bool) Errors {
	var errs Errors
	for i := range l.Len() {
		for _, e := range validateFields(l.Item(i), l.path(i), fromPage) {
			e.Wording.Item, e.Wording.Number = l.Singular, i+1
			own := newError(e.Field, e.Wording)
			own.Wording.Name = l.ItemName(i) // not in Message, which is counted
			errs = append(errs, own)
		}
	}
	if l.excess() {
		text := fmt.Sprintf("%s: enter at most %d, and combine the smallest ones", labelPlace, MaxListItems)
		errs = append(errs, newError(l.Name, Wording{Text: text, Label: l.Title}))
	}
	return errs
}

// General returns the error without its wording, without the number of a list's item and
// without what was typed: it can be kept, and counted over many customers' forms.
func (e Error) General() Error {
	e.Wording, e.Message = Wording{}, Untyped(e.Message)
	parts := strings.Split(e.Field, ".")
	for at, part := range parts {
		i, err := strconv.Atoi(part)
		if err != nil {
			continue
		}
		return Error{
			Field:   strings.Join(slices.Delete(parts, at, at+1), "."),
			Message: strings.Replace(e.Message, " "+strconv.Itoa(i+1)+": ", ": ", 1),
		}
	}
	return e
}
