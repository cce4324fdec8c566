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
		one := Form{Method: "GET", Action: form.Attr("action"), Fields: map[string]Field{}}
		if m := form.Attr("method"); m == "post" || m == "POST" {
			one.Method = "POST"
		}
		for n := range form.root.Descendants() {
			name := attr(n, "name")
			switch {
			case n.DataAtom == atom.Button && attr(n, "type") != "button" && name != "":
				one.Buttons = append(one.Buttons, url.Values{name: {attr(n, "value")}})
			case attr(n, "type") == "file":
				one.File = true
			case isControl(n) && name != "" && !has(n, "disabled"):
				field := one.Fields[name]
				p.add(&field, n)
				one.Fields[name] = field
			}
		}
		out = append(out, one)
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
