// Package markdown writes a page's HTML as Markdown, for programs that read the
// documentation. It knows the elements that the documentation has, and not what they say.
package markdown

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// Of returns the main element of a page as Markdown, all of it if it has none. Links are
// made absolute: base is the service's address without a slash, path the page's.
func Of(page []byte, base, path string) (string, error) {
	document, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		return "", fmt.Errorf("markdown: %w", err)
	}
	root := document
	for node := range document.Descendants() {
		if node.Data == "main" {
			root = node
		}
	}
	return writer{base, path}.blocks(root) + "\n", nil
}

type writer struct{ base, path string }

// skipped are elements that only help a person at a screen, as are those of the class
// page-only.
var skipped = []string{"head", "script", "style", "nav", "button", "fieldset", "summary"}

func isSkipped(n *html.Node) bool {
	if n.Type != html.ElementNode {
		return n.Type == html.CommentNode
	}
	return slices.Contains(skipped, n.Data) || hasClass(n, "visually-hidden") || hasClass(n, "page-only")
}

// inlines are elements within a line of text.
var inlines = []string{"a", "code", "strong", "em", "span", "bdi", "br"}

func isInline(n *html.Node) bool {
	return n.Type == html.TextNode || n.Type == html.ElementNode && slices.Contains(inlines, n.Data)
}

// blocks writes what is in an element: paragraphs, lists and so on.
func (w writer) blocks(parent *html.Node) string {
	var out []string
	line := ""
	end := func() {
		if text := strings.TrimSpace(line); text != "" {
			out = append(out, text)
		}
		line = ""
	}
	for n := range parent.ChildNodes() {
		switch {
		case isSkipped(n):
		case isInline(n):
			line += w.inline(n)
		default:
			end()
			if text := w.block(n); text != "" {
				out = append(out, text)
			}
		}
	}
	end()
	return strings.Join(out, "\n\n")
}

func (w writer) block(n *html.Node) string {
	switch n.Data {
	case "h1", "h2", "h3", "h4", "h5", "h6":
		return strings.Repeat("#", int(n.Data[1]-'0')) + " " + w.text(n)
	case "p", "dt":
		return w.text(n)
	case "figcaption":
		return w.text(n) + ":"
	case "ul", "ol", "dl":
		if hasClass(n, "codes") {
			return w.codes(n)
		}
		return w.list(n)
	case "pre":
		return fence(n)
	case "table":
		return w.table(n)
	}
	return w.blocks(n)
}

// list writes a list, or the fields of an object.
func (w writer) list(n *html.Node) string {
	var out strings.Builder
	number := 0
	for item := range n.ChildNodes() {
		if item.Type != html.ElementNode {
			continue
		}
		number++
		bullet := "- "
		if n.Data == "ol" {
			bullet = fmt.Sprintf("%d. ", number)
		}
		text := w.blocks(item)
		if n.Data == "dl" {
			text = w.definition(item)
		}
		indent := strings.Repeat(" ", len(bullet))
		fmt.Fprintf(&out, "%s%s\n", bullet, strings.ReplaceAll(text, "\n", "\n"+indent))
	}
	return blankIndent.ReplaceAllString(strings.TrimSuffix(out.String(), "\n"), "")
}

// codes writes a list of codes in one line.
func (w writer) codes(n *html.Node) string {
	var out []string
	for item := range n.Descendants() {
		if item.Data == "code" {
			out = append(out, w.inline(item))
		}
	}
	return strings.Join(out, ", ")
}

var blankIndent = regexp.MustCompile(`(?m)^ +$`)

// definition writes a term, what it means, and the terms below it.
func (w writer) definition(n *html.Node) string {
	term, meaning := "", ""
	for child := range n.ChildNodes() {
		switch child.Data {
		case "dt":
			term = w.text(child)
		case "dd":
			meaning = w.blocks(child)
		}
	}
	if meaning == "" || strings.HasPrefix(meaning, "- ") {
		return strings.TrimRight(term+"\n"+meaning, "\n")
	}
	return term + ": " + strings.Replace(meaning, "\n\n- ", "\n- ", 1)
}

// languages are the names of languages where they aren't those of the page.
var languages = map[string]string{"curl": "sh", "node": "js", "text": ""}

func fence(n *html.Node) string {
	language := ""
	for child := range n.Descendants() {
		if child.Data == "code" {
			language = strings.TrimPrefix(attribute(child, "class"), "language-")
		}
	}
	if name, ok := languages[language]; ok {
		language = name
	}
	return "```" + language + "\n" + strings.Trim(raw(n), "\n ") + "\n```"
}

func (w writer) table(n *html.Node) string {
	var out []string
	for row := range n.Descendants() {
		if row.Data != "tr" {
			continue
		}
		var cells []string
		for cell := range row.ChildNodes() {
			if cell.Type == html.ElementNode {
				cells = append(cells, strings.ReplaceAll(w.text(cell), "|", `\|`))
			}
		}
		if out = append(out, "| "+strings.Join(cells, " | ")+" |"); len(out) == 1 {
			out = append(out, "|"+strings.Repeat("---|", len(cells)))
		}
	}
	return strings.Join(out, "\n")
}

// text is the line of text in an element.
func (w writer) text(parent *html.Node) string {
	var out strings.Builder
	for n := range parent.ChildNodes() {
		out.WriteString(w.inline(n))
	}
	return strings.TrimSpace(spaces.ReplaceAllString(out.String(), " "))
}

var spaces = regexp.MustCompile(`\s+`)

func (w writer) inline(n *html.Node) string {
	switch {
	case n.Type == html.TextNode:
		return strings.ReplaceAll(spaces.ReplaceAllString(n.Data, " "), "<", `\<`)
	case isSkipped(n):
		return ""
	case n.Data == "code":
		return "`" + raw(n) + "`"
	case n.Data == "strong":
		return "**" + w.text(n) + "**"
	case n.Data == "em":
		return "*" + w.text(n) + "*"
	case n.Data == "br":
		return " "
	case hasClass(n, "required"):
		return "(" + w.text(n) + ")"
	case hasClass(n, "method"):
		return w.text(n) + " "
	case n.Data == "a" && !hasClass(n, "anchor"):
		return "[" + w.text(n) + "](" + w.absolute(attribute(n, "href")) + ")"
	}
	return w.text(n)
}

func (w writer) absolute(link string) string {
	switch {
	case strings.HasPrefix(link, "#"):
		return w.base + w.path + link
	case strings.HasPrefix(link, "/"):
		return w.base + link
	}
	return link
}

// raw is an element's text, as it stands.
func raw(n *html.Node) string {
	var out strings.Builder
	for child := range n.Descendants() {
		if child.Type == html.TextNode {
			out.WriteString(child.Data)
		}
	}
	return out.String()
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func hasClass(n *html.Node, class string) bool {
	return slices.Contains(strings.Fields(attribute(n, "class")), class)
}
