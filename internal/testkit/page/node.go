package page

import (
	"iter"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// elements yields the elements of the page in its order, a part's own first.
func (p *Page) elements() iter.Seq[*html.Node] {
	return func(yield func(*html.Node) bool) {
		if p.root.Type == html.ElementNode && !yield(p.root) {
			return
		}
		for n := range p.root.Descendants() {
			if n.Type == html.ElementNode && !yield(n) {
				return
			}
		}
	}
}

// byID finds an element in the whole page, also for a part.
func (p *Page) byID(id string) *html.Node {
	root := p.root
	for root.Parent != nil {
		root = root.Parent
	}
	for n := range root.Descendants() {
		if id != "" && attr(n, "id") == id {
			return n
		}
	}
	return nil
}

// around is the nearest element of that kind in which n is.
func around(n *html.Node, kind atom.Atom) *html.Node {
	for n = n.Parent; n != nil && n.DataAtom != kind; n = n.Parent {
	}
	return n
}

func has(n *html.Node, name string) bool {
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == name })
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// nameOf is what a screen reader calls a link or button.
func nameOf(n *html.Node) string {
	if label := attr(n, "aria-label"); label != "" {
		return label
	}
	return textOf(n)
}

// Words of these elements stand in a line with those around them.
var inline = []atom.Atom{
	atom.A, atom.Abbr, atom.B, atom.Bdi, atom.Bdo, atom.Code, atom.Em, atom.I, atom.Kbd, atom.Mark, atom.Small, atom.Span,
	atom.Strong, atom.Sub, atom.Sup, atom.Time, atom.Wbr,
}

// What these have inside isn't on the page.
var unseen = []atom.Atom{atom.Head, atom.Script, atom.Style, atom.Template}

func textOf(n *html.Node) string {
	var b strings.Builder
	write(&b, n)
	return collapsed(b.String())
}

func write(b *strings.Builder, n *html.Node) {
	switch {
	case n.Type == html.TextNode:
		b.WriteString(n.Data)
		return
	case slices.Contains(unseen, n.DataAtom) || has(n, "hidden") || attr(n, "type") == "hidden":
		return
	case n.DataAtom == atom.Input && !isChoice(n):
		b.WriteString(" " + attr(n, "value") + " ")
		return
	case attr(n, "role") == "img" && attr(n, "aria-label") != "":
		b.WriteString(" " + attr(n, "aria-label") + " ")
		return
	case n.DataAtom == atom.Img:
		b.WriteString(" " + attr(n, "alt") + " ")
		return
	case n.DataAtom == atom.Select:
		if n = chosenOption(n); n == nil {
			return
		}
	}
	block := n.Type == html.ElementNode && !slices.Contains(inline, n.DataAtom)
	if block {
		b.WriteByte(' ')
	}
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		write(b, child)
	}
	if block {
		b.WriteByte(' ')
	}
}

func childText(n *html.Node) string {
	var b strings.Builder
	for child := range n.Descendants() {
		if child.Type == html.TextNode {
			b.WriteString(child.Data)
		}
	}
	return b.String()
}

// collapsed has one space for each run of HTML's whitespace.
func collapsed(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\n\r\f", r) }), " ")
}
