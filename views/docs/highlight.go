package docs

import (
	"html"
	"regexp"
	"strings"
)

// kinds are the classes of pieces of code, by the number of their group.
var kinds = []string{"", "code-comment", "code-text", "code-word", "code-number"}

var pieces = regexp.MustCompile(`(?m)((?:^|\s)(?:#|//) .*$)` +
	`|("(?:\\.|[^"\\])*"|'(?:[^'\\])*'|` + "`[^`]*`)" +
	`|\b(await|const|import|from|if|throw|new|func|package|return|defer|with|open|as|def|for|in|not|or|and|export|nil|null|true|false|None|True|False|curl|echo|grep|bash)\b` +
	`|\b(\d+(?:\.\d+)?)\b`)

// highlight is code as HTML, coloured well enough for what is shown here, by one
// pattern for all languages.
func highlight(text string) string {
	var out strings.Builder
	at := 0
	for _, m := range pieces.FindAllStringSubmatchIndex(text, -1) {
		for group := 1; group < len(kinds); group++ {
			if from, to := m[2*group], m[2*group+1]; from >= 0 {
				out.WriteString(html.EscapeString(text[at:from]) + `<span class="` + kinds[group] + `">` +
					html.EscapeString(text[from:to]) + "</span>")
				at = to
			}
		}
	}
	out.WriteString(html.EscapeString(text[at:]))
	return out.String()
}
