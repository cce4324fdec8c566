package page

import (
	"net/url"
	"slices"

	"golang.org/x/net/html/atom"
)

// A Form is what a browser without script can send from a page.
type Form struct {
	Method  string // "GET" or "POST"
	Action  string // "" for the page's own address
	File    bool   // it has a field for files
	Fields  map[string]Field
	Buttons []url.Values // what each button that sends it adds
}

// Forms are the page's forms.
func (p *Page) Forms() (out []Form) {
	for _, form := range p.All("form") {
		out = append(out, form.form())
	}
	return out
}

// Pressed is the form with those fields that the button with that name sends, and what it
// sends when nothing is typed.
func (p *Page) Pressed(button string, fields ...string) (Form, url.Values) {
	p.Helper()
	for _, form := range p.All("form") {
		out := form.form()
		lacks := func(field string) bool { _, has := out.Fields[field]; return !has }
		for n := range form.root.Descendants() {
			sends := n.DataAtom == atom.Button && attr(n, "type") != "button" && !has(n, "disabled")
			if !sends || nameOf(n) != button || slices.ContainsFunc(fields, lacks) {
				continue
			}
			values := out.Values()
			if name := attr(n, "name"); name != "" {
				values.Set(name, attr(n, "value"))
			}
			return out, values
		}
	}
	p.Fatalf("the page has no button %q that sends %q: %.3000s", button, fields, p.Text())
	return Form{}, nil
}

func (p *Page) form() Form {
	out := Form{Method: "GET", Action: p.Attr("action"), Fields: map[string]Field{}}
	if m := p.Attr("method"); m == "post" || m == "POST" {
		out.Method = "POST"
	}
	id := p.Attr("id")
	whole := p.root
	for whole.Parent != nil {
		whole = whole.Parent
	}
	for n := range whole.Descendants() {
		name := attr(n, "name")
		switch {
		case around(n, atom.Form) != p.root && (id == "" || attr(n, "form") != id):
		case n.DataAtom == atom.Button && attr(n, "type") != "button" && name != "":
			out.Buttons = append(out.Buttons, url.Values{name: {attr(n, "value")}})
		case attr(n, "type") == "file":
			out.File = true
		case isControl(n) && name != "" && !has(n, "disabled"):
			field := out.Fields[name]
			p.add(&field, n)
			out.Fields[name] = field
		}
	}
	return out
}

// Values are what the form sends as it stands, without a button.
func (f Form) Values() url.Values {
	out := url.Values{}
	for name, field := range f.Fields {
		if len(field.Values) > 0 {
			out[name] = slices.Clone(field.Values)
		}
	}
	return out
}
