package page

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// A Field is what a form asks for: an input, a list, or choices with one name.
type Field struct {
	Value       string   // as it would be sent, "" for nothing
	Values      []string // all that would be sent: several boxes can be ticked
	Choices     []string // the values of options, radios or boxes
	Description string   // hint and error, as a screen reader reads them
	Invalid     bool
	Focused     bool // has the focus when the page appears
}

// Field is the field with that label, legend or name in the posted form, which isn't
// in the page's header. The test fails if there is none, or if several forms have one with other values.
func (p *Page) Field(label string) Field {
	p.Helper()
	fields := p.fields(label)
	if len(fields) == 0 || slices.ContainsFunc(fields, func(f Field) bool { return f.Value != fields[0].Value }) {
		p.Fatalf("the page has %d fields %q, want one: %.3000s", len(fields), label, p.Text())
	}
	return fields[0]
}

// WantField fails the test unless the field has the value.
func (p *Page) WantField(label, value string) *Page {
	p.Helper()
	if got := p.Field(label).Value; got != value {
		p.Errorf("the field %q has %q, want %q", label, got, value)
	}
	return p
}

func (p *Page) fields(label string) (out []Field) {
	type place struct {
		form *html.Node
		name string
	}
	var places []place
	for n := range p.elements() {
		if around(n, atom.Header) != nil || !isControl(n) || attr(n, "name") != label && p.labelOf(n) != label && legendOf(n) != label {
			continue
		}
		at, one := place{around(n, atom.Form), attr(n, "name")}, isChoice(n)
		if i := slices.Index(places, at); one && i >= 0 {
			p.add(&out[i], n)
			continue
		}
		places, out = append(places, at), append(out, Field{})
		p.add(&out[len(out)-1], n)
	}
	return out
}

// add adds a control to its field.
func (p *Page) add(f *Field, n *html.Node) {
	f.Invalid = f.Invalid || attr(n, "aria-invalid") == "true"
	f.Focused = f.Focused || has(n, "autofocus")
	about := attr(n, "aria-describedby")
	if set := around(n, atom.Fieldset); set != nil && isChoice(n) {
		about += " " + attr(set, "aria-describedby")
	}
	for id := range strings.FieldsSeq(about) {
		if text := p.byID(id); text != nil && !strings.Contains(f.Description, textOf(text)) {
			f.Description = collapsed(f.Description + " " + textOf(text))
		}
	}
	switch {
	case n.DataAtom == atom.Select:
		for o := range n.Descendants() {
			if o.DataAtom == atom.Option {
				f.Choices = append(f.Choices, optionValue(o))
			}
		}
		if chosen := chosenOption(n); chosen != nil {
			f.Values = append(f.Values, optionValue(chosen))
		}
	case isChoice(n):
		f.Choices = append(f.Choices, attr(n, "value"))
		if has(n, "checked") {
			f.Values = append(f.Values, attr(n, "value"))
		}
	case n.DataAtom == atom.Textarea:
		f.Values = append(f.Values, childText(n))
	default:
		f.Values = append(f.Values, attr(n, "value"))
	}
	if len(f.Values) > 0 {
		f.Value = f.Values[0]
	}
}

// labelOf is the name of a control: its own, its label's, or that of the label
// around it.
func (p *Page) labelOf(n *html.Node) string {
	if own := attr(n, "aria-label"); own != "" {
		return own
	}
	if label := around(n, atom.Label); label != nil && isChoice(n) {
		return textOf(label)
	}
	for label := range p.elements() {
		if label.DataAtom == atom.Label && attr(label, "for") != "" && attr(label, "for") == attr(n, "id") {
			return textOf(label)
		}
	}
	return ""
}

// legendOf is what a screen reader reads before choices.
func legendOf(n *html.Node) string {
	set := around(n, atom.Fieldset)
	if set == nil || !isChoice(n) {
		return ""
	}
	for child := set.FirstChild; child != nil; child = child.NextSibling {
		if child.DataAtom == atom.Legend {
			return textOf(child)
		}
	}
	return ""
}

func isControl(n *html.Node) bool {
	return n.DataAtom == atom.Input || n.DataAtom == atom.Select || n.DataAtom == atom.Textarea
}

func isChoice(n *html.Node) bool {
	kind := attr(n, "type")
	return n.DataAtom == atom.Input && (kind == "radio" || kind == "checkbox")
}

// chosenOption is the option that a list shows: the selected one, or the first.
func chosenOption(list *html.Node) (first *html.Node) {
	for n := range list.Descendants() {
		switch {
		case n.DataAtom != atom.Option:
		case has(n, "selected"):
			return n
		case first == nil:
			first = n
		}
	}
	return first
}

func optionValue(n *html.Node) string {
	if has(n, "value") {
		return attr(n, "value")
	}
	return collapsed(childText(n))
}
