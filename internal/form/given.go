package form

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Given are answers that someone else gave for the customer: some of a section's,
// each valid by itself, by their paths inside the section. The values are as
// MarshalJSON writes them.
type Given map[string]json.RawMessage

// maxGivenErrors bounds the response to a request of nothing but mistakes.
const maxGivenErrors = 50

// ReadGiven reads an object with the JSON of any of the sections, as their
// ReadGiven does, by their names. The errors' paths begin with the name.
func ReadGiven(raw json.RawMessage, sections []*Section) (map[string]Given, Errors) {
	var given members
	var r givenReader
	if json.Unmarshal(raw, &given) != nil || given == nil {
		r.refuse("", "must be an object")
	}
	known := map[string]*Section{}
	var names []string
	for _, s := range sections {
		known[s.Name], names = s, append(names, s.Name)
	}
	out := map[string]Given{}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if string(given[name]) == "null" {
			continue
		}
		if known[name] == nil {
			r.refuse(Shortened(name), "is not one of "+strings.Join(names, ", "))
			continue
		}
		answers, wrong := known[name].ReadGiven(given[name])
		for _, e := range wrong {
			r.refuse(strings.TrimSuffix(name+"."+e.Field, "."), e.Rule.Value)
		}
		if len(answers) > 0 {
			out[name] = answers
		}
	}
	return out, r.errs
}

// ReadGiven reads the section's JSON as MarshalJSON writes it, of which any part
// can be missing or null, and returns the answers in it. Empty texts are no
// answers. Computed members are ignored, so that what was read can be given
// again. Any other member without a field is an error, as is a value that the
// form would refuse. The section itself then holds the answers.
func (s *Section) ReadGiven(raw json.RawMessage) (Given, Errors) {
	r := givenReader{inputs: url.Values{}}
	r.object(s.shape(), raw, "")
	s.Read(r.inputs)
	out := Given{}
	s.Walk(func(path string, f Field) {
		if !r.has(path, f) {
			return
		}
		if problem := f.givenProblem(); problem != "" {
			r.refuse(path, problem)
			return
		}
		if v, ok := f.Value.(*money); ok {
			v.typed = nil // a given 0 is an empty input, which ticks no kind
			out[path], _ = v.MarshalJSON()
		} else if !f.Value.Empty() {
			out[path], _ = f.Value.MarshalJSON() // a valid answer has its JSON
		}
	})
	return out, r.errs
}

// Prefill shows given answers in place of the section's own. A list with a given
// item has the given items only. A given amount is the customer's share: it is left out
// where the question is about the whole, unless the share is known to be all of it (D78).
func (s *Section) Prefill(g Given) {
	items := map[string]int{}
	for path := range g {
		name, rest, _ := strings.Cut(path, ".")
		number, _, _ := strings.Cut(rest, ".")
		if i, err := strconv.Atoi(number); err == nil {
			items[name] = max(items[name], i+1)
		}
	}
	for name, n := range items {
		list := s.List(name)
		if list == nil {
			continue // the form asked for it when it was given
		}
		list.clear()
		for range min(n, MaxListItems) {
			list.add()
		}
	}
	s.Walk(func(path string, f Field) {
		raw := g[path]
		if f.AskedOnPage && string(raw) == "0" && f.Kind == KindMoney {
			raw = json.RawMessage(typedZero) // else the page would ask for it
		}
		if raw != nil && f.askedWhole() {
			_ = f.Value.UnmarshalJSON(raw) // ReadGiven wrote it
		}
	})
}

// Shows reports whether the section shows any of the given answers.
func (s *Section) Shows(g Given) (shown bool) {
	s.Walk(func(path string, f Field) { shown = shown || g[path] != nil && !f.Value.Empty() })
	return shown
}

// Same returns the paths of given answers that are the section's answers, too.
func (s *Section) Same(g Given) map[string]bool {
	out := map[string]bool{}
	s.Walk(func(path string, f Field) {
		raw := g[path]
		if raw == nil {
			return
		}
		answer, _ := f.Value.MarshalJSON() // what is stored has its JSON
		out[path] = bytes.Equal(answer, raw)
		if f.Kind == KindMoney { // a typed 0 is written as 0.00
			var one, two Cents
			_, _ = one.UnmarshalJSON(answer), two.UnmarshalJSON(raw)
			out[path] = one == two
		}
	})
	return out
}

// GivenSchema is Schema without the computed members and with none required.
func (s *Section) GivenSchema() *Schema {
	all := s.Schema()
	all.drop(s.shape())
	return all
}

func (s *Schema) drop(of *node) {
	s.Required = nil
	for key, member := range of.members {
		switch member := member.(type) {
		case *node:
			s.Properties[key].drop(member)
			if len(s.Properties[key].Properties) == 0 {
				delete(s.Properties, key)
			}
		case *List:
			item := s.Properties[key].Items
			item.drop(shapeOf(member.ItemFields()))
			item.MinProps = 1
		case Field:
			if member.Kind == KindOutput {
				delete(s.Properties, key)
			}
		}
	}
}

// shape has the section's fields and lists as the leaves of its JSON.
func (s *Section) shape() *node {
	root := &node{}
	for _, g := range s.Groups {
		for _, f := range g.Fields {
			root.set(f.Name, f)
		}
		if g.List != nil {
			root.set(g.List.Name, g.List)
		}
	}
	return root
}

func shapeOf(fields []Field) *node {
	n := &node{}
	for _, f := range fields {
		n.set(f.Name, f)
	}
	return n
}

// givenReader collects inputs from JSON, as if they were typed.
type givenReader struct {
	inputs url.Values
	errs   Errors
}

func (r *givenReader) has(path string, f Field) bool {
	return r.inputs.Has(path + f.Parts()[0])
}

// refuse adds an error; problem follows the field's name.
func (r *givenReader) refuse(path, problem string) {
	if len(r.errs) < maxGivenErrors {
		r.errs = append(r.errs, Error{Field: path, Rule: Rule{Code: RuleGiven, Value: problem}})
	}
}

// object reads the members of one object whose path is the prefix, "" or
// ending in a point.
func (r *givenReader) object(of *node, raw json.RawMessage, prefix string) {
	var given members
	if json.Unmarshal(raw, &given) != nil || given == nil {
		r.refuse(strings.TrimSuffix(prefix, "."), "must be an object")
		return
	}
	for _, key := range slices.Sorted(maps.Keys(given)) {
		path, value := prefix+key, given[key]
		if string(value) == "null" {
			continue
		}
		switch member := of.members[key].(type) {
		case nil:
			r.refuse(prefix+Shortened(key), "is not a member that the form knows")
		case *node:
			r.object(member, value, path+".")
		case *List:
			r.list(member, value)
		case Field:
			r.field(member, value, path)
		}
	}
}

// Shortened keeps the name of a member that a client made up to a readable length.
func Shortened(key string) string {
	if utf8.RuneCountInString(key) <= maxCode {
		return key
	}
	return string([]rune(key)[:maxCode]) + "…"
}

func (r *givenReader) list(l *List, raw json.RawMessage) {
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		r.refuse(l.Name, "must be an array")
		return
	}
	if len(items) > MaxListItems {
		r.refuse(l.Name, "must have at most "+strconv.Itoa(MaxListItems)+" items")
		return
	}
	shape := shapeOf(l.ItemFields())
	for i, item := range items {
		r.inputs.Set(l.path(i), "") // an item without a readable answer keeps its number
		before, errs := len(r.inputs), len(r.errs)
		r.object(shape, item, l.path(i))
		if len(r.inputs) == before && len(r.errs) == errs {
			r.refuse(strings.TrimSuffix(l.path(i), "."), "must have at least one answer") // the form drops blank items
		}
	}
}

// plainAmount is an amount with at most two decimals.
var plainAmount = regexp.MustCompile(`^-?[0-9]+(?:\.[0-9]{1,2})?$`)

// field takes one answer's JSON as what a customer would type.
func (r *givenReader) field(f Field, raw json.RawMessage, path string) {
	var text string
	isText := json.Unmarshal(raw, &text) == nil
	switch f.Kind {
	case KindOutput:
	case KindMoney:
		if !isText {
			text = Plain(string(raw))
		}
		if !plainAmount.MatchString(text) {
			r.refuse(path, "must be an amount such as 1250 or 1250.50, as a number or a string")
			return
		}
		r.inputs.Set(path, text)
	case KindPercent, KindNumber:
		whole := Plain(string(raw))
		if isText || strings.Trim(whole, "-0123456789") != "" {
			r.refuse(path, "must be a whole number from 0 to "+f.Value.Schema().Maximum.String())
			return
		}
		r.inputs.Set(path, whole)
	default:
		if !isText {
			r.refuse(path, "must be a string")
			return
		}
		if clean, _ := CleanText(text, len(text)); clean == "" {
			return
		}
		if f.Kind == KindDate {
			r.date(path, text)
			return
		}
		r.inputs.Set(path, text)
	}
}

func (r *givenReader) date(path, text string) {
	day, err := time.Parse(DateLayout, text)
	if err != nil {
		r.refuse(path, "must be a date such as 1985-03-27")
		return
	}
	r.inputs.Set(path+".day", strconv.Itoa(day.Day()))
	r.inputs.Set(path+".month", strconv.Itoa(int(day.Month())))
	r.inputs.Set(path+".year", text[:4])
}

// givenProblem is what is wrong with a given answer, or "".
func (f Field) givenProblem() string {
	if !f.Asked() {
		return "is not asked with these answers"
	}
	problem := strings.Replace(f.Value.ErrorMessage(), valuePlace, f.concerned(), 1)
	if problem == "" || f.Kind != KindChoice {
		return problem
	}
	codes := f.Value.Schema().Enum
	if codes == nil {
		return "must be the code of one of the options, such as " + f.Options[0].Code
	}
	return "must be one of " + strings.Join(codes, ", ")
}
