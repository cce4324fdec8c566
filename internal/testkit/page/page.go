// Package page reads HTML as a person or a screen reader does: texts, labels,
// buttons, links and tables. Tests of pages use it, so that markup may change
// while a page says and offers the same. It knows nothing of the service.
package page

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// A Page is a page, or a part of one.
type Page struct {
	testing.TB
	Source string // the markup of a whole page, for tests of escaping and of secrets
	root   *html.Node
}

// Read parses a page.
func Read(t testing.TB, source string) *Page {
	t.Helper()
	root, err := html.ParseWithOptions(strings.NewReader(source), html.ParseOptionEnableScripting(false))
	if err != nil {
		t.Fatal(err)
	}
	return &Page{Source: source, TB: t, root: root}
}

// Text is the text of the page with the values of its fields and the names of
// its pictures. Whitespace is collapsed; blocks are separated by a space.
func (p *Page) Text() string { return textOf(p.root) }

// Shows fails the test unless the text has all of these.
func (p *Page) Shows(texts ...string) *Page {
	p.Helper()
	shown := p.Text()
	for _, text := range texts {
		if !strings.Contains(shown, text) {
			p.Errorf("the page doesn't show %q: %.3000s", text, shown)
		}
	}
	return p
}

// Hides fails the test if the text or the markup has one of these.
func (p *Page) Hides(texts ...string) *Page {
	p.Helper()
	shown := p.Text()
	for _, text := range texts {
		if strings.Contains(shown, text) || strings.Contains(p.Source, text) {
			p.Errorf("the page shows %q: %.3000s", text, shown)
		}
	}
	return p
}

// All returns the elements with that tag name, in the page's order.
func (p *Page) All(tag string) (out []*Page) {
	for n := range p.elements() {
		if n.Data == tag {
			out = append(out, &Page{TB: p.TB, root: n})
		}
	}
	return out
}

// Has reports whether the element has the attribute.
func (p *Page) Has(name string) bool { return has(p.root, name) }

// Attr is an attribute of a part, "" if it has none.
func (p *Page) Attr(name string) string { return attr(p.root, name) }

// Title is the title of the page's window.
func (p *Page) Title() string { return collapsed(childText(p.All("title")[0].root)) }

// Lang is the language of the page.
func (p *Page) Lang() string { return p.All("html")[0].Attr("lang") }

// Status is what a screen reader announces when the page appears.
func (p *Page) Status() (out string) {
	for n := range p.elements() {
		if attr(n, "role") == "status" {
			out += textOf(n)
		}
	}
	return out
}

// Current are the places of menus and switches that are marked as where one is.
func (p *Page) Current() (out []string) {
	for n := range p.elements() {
		if now := attr(n, "aria-current"); now != "" && now != "false" {
			out = append(out, textOf(n))
		}
	}
	return out
}

// Errors are the lines of the error summary by the id of the place to which
// each leads. The test fails if there is no such place.
func (p *Page) Errors() map[string]string {
	p.Helper()
	out := map[string]string{}
	for alert := range p.elements() {
		if attr(alert, "role") != "alert" {
			continue
		}
		for n := range alert.Descendants() {
			id, inside := strings.CutPrefix(attr(n, "href"), "#")
			if !inside {
				continue
			}
			if p.byID(id) == nil {
				p.Errorf("the error %q leads to %q, which isn't on the page", textOf(n), id)
			}
			out[id] = textOf(n)
		}
	}
	return out
}

// WantError fails the test unless the error summary leads to that field with
// that text, "" for any.
func (p *Page) WantError(field, text string) *Page {
	p.Helper()
	if got, ok := p.Errors()[field]; !ok || !strings.Contains(got, text) {
		p.Errorf("errors %q, want %q of %s", p.Errors(), text, field)
	}
	return p
}

// Copies is what the button with that name puts on the clipboard.
func (p *Page) Copies(button string) string {
	p.Helper()
	for n := range p.elements() {
		if n.DataAtom == atom.Button && nameOf(n) == button {
			if from := p.byID(attr(n, "data-copy")); from != nil {
				return childText(from)
			}
		}
	}
	p.Fatalf("the page has no button %q that copies: %.3000s", button, p.Text())
	return ""
}

// Link is the address of the link with that name.
func (p *Page) Link(name string) string {
	p.Helper()
	for _, a := range p.All("a") {
		if nameOf(a.root) == name {
			return a.Attr("href")
		}
	}
	p.Fatalf("the page has no link %q: %.3000s", name, p.Text())
	return ""
}

// Leads returns the addresses with that prefix to which the page's links and
// forms lead, without "#" and its end.
func (p *Page) Leads(prefix string) (out []string) {
	for n := range p.elements() {
		for _, of := range []string{"href", "action", "formaction"} {
			address, _, _ := strings.Cut(attr(n, of), "#")
			if n.DataAtom != atom.Link && address != "" && strings.HasPrefix(address, prefix) {
				out = append(out, address)
			}
		}
	}
	return out
}

// Loads returns the addresses with that prefix of what a browser loads with the
// page: pictures, scripts and style sheets.
func (p *Page) Loads(prefix string) (out []string) {
	for n := range p.elements() {
		address := attr(n, "src")
		if n.DataAtom == atom.Link {
			address = attr(n, "href")
		}
		if address != "" && strings.HasPrefix(address, prefix) {
			out = append(out, address)
		}
	}
	return out
}

// LeadsTo fails the test unless a link or form leads to each of the addresses.
func (p *Page) LeadsTo(addresses ...string) *Page {
	p.Helper()
	for _, address := range addresses {
		if !slices.Contains(p.Leads(""), address) {
			p.Errorf("the page doesn't lead to %s, only to %q", address, p.Leads(""))
		}
	}
	return p
}

// Offers fails the test unless the page has a field, or a button or link that
// works, by each of these names.
func (p *Page) Offers(names ...string) *Page {
	p.Helper()
	for _, name := range names {
		if !p.offers(name) {
			p.Errorf("the page doesn't offer %q: %.3000s", name, p.Text())
		}
	}
	return p
}

// Lacks fails the test if the page offers one of these.
func (p *Page) Lacks(names ...string) *Page {
	p.Helper()
	for _, name := range names {
		if p.offers(name) {
			p.Errorf("the page offers %q: %.3000s", name, p.Text())
		}
	}
	return p
}

func (p *Page) offers(name string) bool {
	for n := range p.elements() {
		works := n.DataAtom == atom.Button && !has(n, "disabled") || n.DataAtom == atom.A && has(n, "href")
		if works && attr(n, "aria-hidden") != "true" && nameOf(n) == name {
			return true
		}
	}
	return len(p.fields(name)) > 0
}

// Rows are the texts of the cells of the tables' rows, without headings of
// columns.
func (p *Page) Rows() (out [][]string) {
	for row := range p.elements() {
		if row.DataAtom != atom.Tr || row.Parent.DataAtom == atom.Thead {
			continue
		}
		var cells []string
		for n := row.FirstChild; n != nil; n = n.NextSibling {
			if n.DataAtom == atom.Th || n.DataAtom == atom.Td {
				cells = append(cells, textOf(n))
			}
		}
		out = append(out, cells)
	}
	return out
}

// Fact is the description beside a term in a list of facts.
func (p *Page) Fact(term string) (out string) {
	p.Helper()
	for _, dt := range p.All("dt") {
		if dt.Text() != term {
			continue
		}
		for n := dt.root.NextSibling; n != nil && n.DataAtom != atom.Dt; n = n.NextSibling {
			out += " " + textOf(n)
		}
		return collapsed(out)
	}
	p.Errorf("the page has no fact %q: %.3000s", term, p.Text())
	return ""
}
