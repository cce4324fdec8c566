package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"candor/internal/form"
)

// A Result is what a command prints: its text for people, or its JSON.
type Result interface{ Text() string }

// Print writes a result as text, or as JSON if --json was given.
func (f *Flags) Print(w io.Writer, r Result) error {
	if f.JSON {
		return writeJSON(w, r)
	}
	_, err := io.WriteString(w, r.Text())
	return err
}

func writeJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}

// A Table is text in columns.
type Table struct {
	text    *strings.Builder
	columns *tabwriter.Writer
}

// NewTable returns a table with a line of heads; without heads it starts empty.
func NewTable(heads ...any) *Table {
	t := &Table{text: new(strings.Builder)}
	t.columns = tabwriter.NewWriter(t.text, 0, 0, 2, ' ', 0)
	if len(heads) > 0 {
		t.Row(heads...)
	}
	return t
}

// Row adds a line.
func (t *Table) Row(cells ...any) {
	for i, cell := range cells {
		if i > 0 {
			fmt.Fprint(t.columns, "\t")
		}
		fmt.Fprint(t.columns, strings.ReplaceAll(Printable(cellText(cell)), "\n", " "))
	}
	fmt.Fprintln(t.columns)
}

// String returns the table. Nothing can be added to it after that.
func (t *Table) String() string {
	_ = t.columns.Flush() // to a strings.Builder, which never fails
	return t.text.String()
}

// cellText is "-" for nil; times are in UTC.
func cellText(cell any) string {
	switch v := cell.(type) {
	case form.Timestamp:
		return Time(v)
	case *form.Timestamp:
		if v != nil {
			return Time(*v)
		}
		return "-"
	case *string:
		if v != nil {
			return *v
		}
		return "-"
	case bool:
		if v {
			return "yes"
		}
		return "no"
	}
	return fmt.Sprint(cell)
}

// Time returns a time as people read it, UTC.
func Time(t form.Timestamp) string { return t.UTC().Format(time.RFC3339) }

// Printable returns a text from outside without what could control the
// operator's terminal or reverse its lines.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\t", "    "))
}
