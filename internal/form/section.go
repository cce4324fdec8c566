// Package form describes each section of a form once, bound to typed answers:
// the page, decoding, validation, JSON, API schema and PDF all walk that
// description. It knows no financial statement, no HTTP and no storage.
//
// Its words:
//
//	asked    a question whose condition holds; others have no answer
//	kind     a group that the customer ticks first, if it applies (D56)
//	blank    a list's item without any answer
//	draft    inputs as typed, valid or not: Read keeps them, Decode refuses them
//	entered  how an amount was given, if that is in another period or in parts (D53)
//	given    answers that someone else gave, with which the form is prefilled (D58)
//	left     for later: "I don't know yet"
//	missing  an item that other answers speak of and the list lacks
//	preset   the option with which the page starts a choice
//	unsaid   an amount's period that must be said and wasn't (D77)
package form

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// MaxListItems is how many items a list can hold (D24).
const MaxListItems = 50

// A Section is one page of the form, bound to one customer's answers. It keeps
// what the customer typed, so each request needs its own.
type Section struct {
	Name   string // URL segment and JSON key, "personal_details"
	Title  string
	Intro  string // one or two sentences under the title
	Groups []Group
	// AsksWhatApplies is true if the customer first ticks the kinds of groups
	// that apply (D56).
	AsksWhatApplies bool
	// Sharing says which amounts are whole ones, of which the customer has a share, "" if none
	// is. A page sends it back: what was typed there means what its page asked for (D78).
	Sharing string
	// Outdated is true if amounts were given for another share than is asked for now: after
	// UnmarshalJSON they have what was typed, and other sums; after Read or Decode the page had
	// another Sharing. Checked is true if the customer ticked that they are right (D78).
	Outdated, Checked bool
	// Followed is true if amounts that were given before were replaced by what other answers make
	// of them now.
	Followed bool
	// FromPage is true if our page sends the answers: questions that are AskedOnPage
	// are required (D78).
	FromPage bool
	// Suggestions are the values that a customer can choose for fields that name
	// them, or type another one.
	Suggestions map[string][]string

	// Missing, if not nil, returns items that follow from answers of other sections
	// and aren't in the lists.
	Missing func() []MissingItem

	has   []string // the ticked kinds
	typed string   // the Sharing of the page whose inputs were read
}

// SharingInput is the name of the input with a page's Sharing, CheckedInput that of the tick
// that outdated amounts are right, whose value is CheckedFor.
const (
	SharingInput = "sharing"
	CheckedInput = "sharing.checked"
)

// formerSharing is that of stored answers, if it isn't the Sharing.
const formerSharing = "former"

// Outdate says that the answers were given for another share.
func (s *Section) Outdate() { s.Outdated, s.typed = true, formerSharing }

// CheckedFor says what the page asked for on which amounts were checked: a tick of before the
// next change isn't one after it.
func (s *Section) CheckedFor() string { return "as " + s.Sharing }

// TypedSharing is the Sharing of the page on which the answers were typed.
func (s *Section) TypedSharing() string {
	if s.Outdated {
		return s.typed
	}
	return s.Sharing
}

// A Group is a set of questions under one heading, or a list of such sets.
type Group struct {
	Name   string // its kind in a section that asks what applies; of a list, the list's name
	Title  string // "" if the section's title is enough
	Hint   string
	Fields []Field
	List   *List // nil for a plain group
	// Subtotal, if not nil, is what the list adds to the section's total.
	Subtotal *Field
}

// A Field is one question, or one computed line (Output).
type Field struct {
	// What it is.
	Name  string // JSON path inside the section or list item, and input name
	Kind  Kind
	Value Value

	// What the page says and starts with.
	Label        string
	Hint         string
	Autocomplete string // HTML autocomplete token
	Suggestions  string // name of the values in the section's Suggestions, or ""
	FillButton   string // the button that answers with the only one of them, or ""
	NamesItem    bool   // the answer is what the list's item is called

	// Whether it needs an answer. The functions may be nil, and are evaluated after
	// decoding: they may read earlier answers of the same list item, and the section's
	// answers outside lists.
	Ask         string        // message without an answer; "" for "Enter" or "Select" and the label
	Optional    bool          // it needs none
	AskedOnPage bool          // required of our page; a script that knows only the contract may leave it out (D47, D78)
	Known       bool          // by everybody of themselves: it can't be left for later
	When        func() bool   // whether the question is asked
	FreeWhen    func() bool   // whether the answer can be any text, or left out
	Awaits      func() bool   // whether it will follow from an answer that is missing or wrong: then only that one is asked for
	Otherwise   func() string // the answer if none is given, from any answers of the same section or list item; it may be ""

	// Of amounts.
	Period        Period // of the stored amount
	DefaultPeriod Period // in which people know it: the page starts with it; Once if the customer must say it (D77)
	AskPeriod     string // message for an amount without a period
	BelowZero     string // message for a negative amount that people have; "" for one that is a mistake
	SharedBy      string // the question, of the section or of the same item, for the share of an amount, or ""
	Another       string // the button for one more amount of the sum: the pay of two jobs; "" if there is one amount
	Owned         Share  // the customer's of the amount, which is stored whole; nil for all

	// Of choices.
	Options []Option
	Preset  string // the option that the page starts with, which PresetInput stands for, or ""
}

// A Kind is a field's type of answer.
type Kind string

// The kinds of fields.
const (
	KindText     Kind = "text"
	KindEmail    Kind = "email"
	KindPhone    Kind = "phone"
	KindPostcode Kind = "postcode"
	KindMoney    Kind = "money"
	KindPercent  Kind = "percent"
	KindNumber   Kind = "number"
	KindDate     Kind = "date"
	KindChoice   Kind = "choice"
	KindCheckbox Kind = "checkbox"
	KindOutput   Kind = "output" // computed, never asked
)

// An Option is one option of a Choice: the stored code and its label.
type Option struct{ Code, Label string }

// An Error is a message about one field. It can be shown to the customer.
type Error struct {
	// Field is the input's name, "real_property.0.address", without the part
	// for a date. It is the list's name if the list has too many items.
	Field   string `json:"field"`
	Message string `json:"message"`
	// Wording is the message in its parts; zero for a fixed text.
	Wording Wording `json:"-"`
	// Rule is the rule that the answer breaks; zero if only Message names it.
	Rule Rule `json:"-"`
}

// Errors are the validation errors of a section, in field order.
type Errors []Error

// Error makes Errors an error. Its text has no answers.
func (e Errors) Error() string { return fmt.Sprintf("answers that need attention: %d", len(e)) }

// For returns the message for the named input, or "".
func (e Errors) For(name string) string {
	for _, fe := range e {
		if fe.Field == name {
			return fe.Message
		}
	}
	return ""
}

// Asked reports whether the question is asked, given the answers so far.
func (f Field) Asked() bool { return f.Kind != KindOutput && (f.When == nil || f.When()) }

// Free reports whether the answer can be any text, or left out.
func (f Field) Free() bool { return f.FreeWhen != nil && f.FreeWhen() }

// Parts lists the suffixes of the field's inputs: one empty suffix; ".day",
// ".month" and ".year" for a date (D47); also ".period" for a recurring amount,
// and ".2", ".2.period" for a second one (D53).
func (f Field) Parts() []string {
	if f.Kind == KindDate {
		return []string{".day", ".month", ".year"}
	}
	if v, ok := f.Value.(*money); ok {
		parts := v.parts()
		for i, part := range parts[1:] {
			parts[i+1] = "." + part
		}
		return parts
	}
	return []string{""}
}

// Read reads what the customer typed without validating it: before adding or
// removing a list item, or to redisplay a draft. List items keep their order
// and are numbered from 0, also blank ones. Answers to questions that aren't
// asked are cleared.
func (s *Section) Read(values url.Values) { s.read(values, true) }

// Decode reads what the customer typed, drops blank list items, and returns an
// error for every missing or invalid answer, for kinds without any, and for outdated amounts,
// in page order.
func (s *Section) Decode(values url.Values) Errors {
	s.read(values, false)
	var errs Errors
	if s.Outdated && !s.Checked {
		errs = append(errs, newError(CheckedInput, Wording{Text: "Check each amount, then tick that you have"}))
	}
	for _, g := range s.Groups {
		errs = append(errs, s.validateTick(g)...)
		errs = append(errs, s.validateGroup(g)...)
	}
	if s.AsksWhatApplies && len(s.has) == 0 && !s.anyAnswered() {
		errs = append(errs, newError(HasInput, Wording{Text: "Tick what applies, or None of these"}))
	}
	return errs
}

func (s *Section) read(values url.Values, keepBlank bool) {
	s.readKinds(values)
	s.typed = values.Get(SharingInput)
	s.Outdated = s.typed != s.Sharing
	s.Checked = s.Outdated && values.Get(CheckedInput) == s.CheckedFor()
	for _, g := range s.Groups {
		parseFields(g.Fields, "", values)
	}
	for _, g := range s.Groups {
		clearUnasked(g.Fields)
		fillIn(g.Fields, keepBlank)
	}
	for _, g := range s.Groups {
		if g.List != nil {
			g.List.read(values, keepBlank)
		}
	}
}

// Validate returns an error for every missing or invalid answer, in page
// order.
func (s *Section) Validate() Errors {
	var errs Errors
	for _, g := range s.Groups {
		errs = append(errs, s.validateGroup(g)...)
	}
	return errs
}

func (s *Section) validateGroup(g Group) Errors {
	errs := validateFields(g.Fields, "", s.FromPage)
	if g.List != nil {
		errs = append(errs, g.List.validate(s.FromPage)...)
	}
	return errs
}

// Inputs returns every input as the customer last typed it, by input name. A
// draft stores it, valid or not (D85): Read of the result gives the same section.
func (s *Section) Inputs() url.Values {
	values := url.Values{}
	if len(s.has) > 0 {
		values[HasInput] = s.has
	}
	if typed := s.TypedSharing(); typed != "" {
		values.Set(SharingInput, typed)
	}
	if s.Checked {
		values.Set(CheckedInput, s.CheckedFor())
	}
	for _, g := range s.Groups {
		for _, f := range g.Fields {
			if f.Asked() {
				maps.Copy(values, f.Typed(f.Name))
			}
		}
		if g.List != nil {
			g.List.inputs(values)
		}
	}
	return values
}

// implied reports whether the answer is a share or a state that follows from others: its
// input is blank, so that it doesn't outlast them.
func (f Field) implied() bool {
	v, isChoice := f.Value.(*choice)
	follows := f.Otherwise != nil && (f.Kind == KindPercent || isChoice && v.followed)
	return follows && f.Value.Input("") == f.Otherwise()
}

// Typed are the field's inputs as last typed; path is the field's name in the
// section.
func (f Field) Typed(path string) url.Values {
	values := url.Values{}
	for _, part := range f.Parts() {
		values.Set(path+part, f.Value.Input(strings.TrimPrefix(part, ".")))
	}
	if f.implied() {
		values.Set(path, "")
	}
	if f.Left() {
		values.Set(path+LaterInput, "true")
	}
	return values
}

// Walk visits every field in page order with its path inside the section.
func (s *Section) Walk(visit func(path string, f Field)) {
	for _, g := range s.Groups {
		for _, f := range g.Fields {
			visit(f.Name, f)
		}
		if g.List == nil {
			continue
		}
		for i := range g.List.Len() {
			for _, f := range g.List.Item(i) {
				visit(g.List.path(i)+f.Name, f)
			}
		}
	}
}

// FillIn answers the field at the path with its only suggestion, and reports whether
// there is one and a button for it.
func (s *Section) FillIn(path string) (filled bool) {
	s.Walk(func(at string, f Field) {
		if values := s.Suggestions[f.Suggestions]; at == path && f.FillButton != "" && len(values) == 1 {
			f.Value.Parse(func(string) string { return values[0] })
			filled = true
		}
	})
	return filled
}

// List returns the section's list with that name, or nil.
func (s *Section) List(name string) *List {
	for _, g := range s.Groups {
		if g.List != nil && g.List.Name == name {
			return g.List
		}
	}
	return nil
}

func parseFields(fields []Field, prefix string, values url.Values) {
	for _, f := range fields {
		if f.Kind == KindOutput {
			continue
		}
		f.Value.Parse(func(part string) string {
			if part != "" {
				part = "." + part
			}
			input := prefix + f.Name + part
			if f.Kind == KindMoney && strings.HasSuffix(part, ".period") && values.Has(input) && values.Get(input) == "" {
				return string(unsaid) // a script's amount without this input is in the field's own period (D53)
			}
			return values.Get(input)
		})
		if left := f.deferred(); left != nil {
			*left = values.Get(prefix+f.Name+LaterInput) != ""
			if f.Left() && f.Value.Input("") == PresetInput { // a tick says more than what the page starts with
				f.Value.Parse(nothing)
			}
		}
	}
}

// maxCode is the longest input that isn't text: an amount, a number, a code.
const maxCode = 100

func clearUnasked(fields []Field) {
	for _, f := range fields {
		if !f.Asked() {
			f.Value.Parse(nothing)
		}
	}
}

func nothing(string) string { return "" }

// fillIn answers what follows from other answers. In a draft that is only what the
// page doesn't show: a state that was filled in would outlast a correction of the
// postcode.
func fillIn(fields []Field, draft bool) {
	for _, f := range fields {
		if !f.Asked() || f.Left() {
			continue
		}
		if f.Value.Empty() && f.Otherwise != nil && (!draft || f.Kind == KindPercent) {
			f.Value.Parse(func(string) string { return f.Otherwise() })
			if v, isChoice := f.Value.(*choice); isChoice {
				v.followed = true
			}
		} else if !draft && f.Preset != "" && f.Value.Input("") == PresetInput {
			f.Value.Parse(func(string) string { return f.Preset })
		}
	}
}

func validateFields(fields []Field, prefix string, fromPage bool) Errors {
	var errs Errors
	for _, f := range fields {
		if text := f.errorMessage(fromPage); text != "" {
			errs = append(errs, newError(prefix+f.Name, Wording{Text: text, Label: f.Label, Value: f.concerned()}))
		}
	}
	return errs
}

// concerned is what stands for {value} in an error: the year that was meant, or the
// character that can't be printed.
func (f Field) concerned() string {
	switch v := f.Value.(type) {
	case *date:
		return v.meant
	case *text:
		return v.odd
	}
	return ""
}

// errorMessage is the text of what is wrong with the answer, or "".
func (f Field) errorMessage(fromPage bool) string {
	if !f.Asked() {
		return ""
	}
	if f.LacksPeriod() && f.AskPeriod != "" {
		return f.AskPeriod
	}
	if tail := f.Value.ErrorMessage(); tail != "" {
		if tail == belowZero && f.BelowZero != "" {
			return f.BelowZero
		}
		return labelPlace + " " + tail
	}
	if f.Optional || f.Free() || f.AskedOnPage && !fromPage || !f.Value.Empty() || f.Awaits != nil && f.Awaits() {
		return ""
	}
	switch {
	case f.Ask != "":
		return f.Ask
	case f.Kind == KindChoice || f.Kind == KindCheckbox:
		return "Select " + labelPlace
	}
	return "Enter " + labelPlace
}

// indices returns the item numbers in the input names of a list, in order.
func indices(name string, values url.Values) []int {
	var out []int
	for key := range values {
		rest, ok := strings.CutPrefix(key, name+".")
		if !ok {
			continue
		}
		number, _, ok := strings.Cut(rest, ".")
		if !ok {
			continue
		}
		if i, err := strconv.Atoi(number); err == nil && i >= 0 && strconv.Itoa(i) == number {
			out = append(out, i)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Fills sets the HTML autocomplete token.
func (f Field) Fills(token string) Field {
	f.Autocomplete = token
	return f
}

// Asks sets the message for a missing answer.
func (f Field) Asks(message string) Field {
	f.Ask = message
	return f
}

// Hints sets the line of help under the label.
func (f Field) Hints(hint string) Field {
	f.Hint = hint
	return f
}

// Suggests offers the values of that name in the section's Suggestions.
func (f Field) Suggests(list string) Field {
	f.Suggestions = list
	return f
}

// FilledBy offers a button that answers with the field's only suggestion.
func (f Field) FilledBy(button string) Field {
	f.FillButton = button
	return f
}

// DefaultsTo sets the period that the page starts with, Once for one that the customer
// must say, and the message for an amount without one.
func (f Field) DefaultsTo(period Period, ask string) Field {
	f.DefaultPeriod, f.AskPeriod = period, ask
	return f
}

// RefusesNegative sets the message for a negative amount.
func (f Field) RefusesNegative(message string) Field {
	f.BelowZero = message
	return f
}

// Names calls the list's item by the answer.
func (f Field) Names() Field {
	f.NamesItem = true
	return f
}

// Presets sets the option that the page starts with.
func (f Field) Presets(code string) Field {
	f.Preset = code
	return f
}

// Sums lets the customer add up several amounts, by a button that says of what.
func (f Field) Sums(another string) Field {
	f.Another = another
	return f
}

// NotRequired makes the question optional.
func (f Field) NotRequired() Field {
	f.Optional = true
	return f
}

// RequiredOnPage requires an answer of our page only, of an amount also a typed 0.
func (f Field) RequiredOnPage() Field {
	f.AskedOnPage, f.Optional = true, false
	return f
}
