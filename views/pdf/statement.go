package pdf

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"candor/internal/form"
	"candor/internal/statement"
	"candor/views/i18n"
	"candor/views/ui"
)

// A Statement is a submitted statement with what a document shows about it.
type Statement struct {
	AccountName string // the partner's
	Brand       string // the partner’s colour, six hex digits; "" for none
	Logo        []byte // the partner's, PNG or JPEG; nil for none
	Livemode    bool   // false: drawn with a TEST watermark (D9)
	SessionID   string // public, sess_…
	ReferenceID string // the partner's own; can be ""
	CreatedAt   time.Time
	SubmittedAt time.Time
	Answers     *statement.Statement // with documents and declaration
}

// A Result is a finished document.
type Result struct {
	Bytes     []byte
	Pages     int
	Uncovered []rune // of the answers: runes that no face has, sorted; the document isn't to be used (D80)
}

// Render draws the statement. The same input gives the same bytes. A text that
// can't be drawn never fails it. An error means that there are no answers or
// no SubmittedAt, or that fpdf failed, which panics on unexpected input.
func Render(in Statement, fonts *Fonts) (result Result, err error) {
	if in.Answers == nil || in.SubmittedAt.IsZero() {
		return Result{}, errors.New("render statement: not submitted")
	}
	defer func() {
		if p := recover(); p != nil {
			result, err = Result{}, fmt.Errorf("render statement %s: %v", in.SessionID, p)
		}
	}()
	in.AccountName, in.ReferenceID = fonts.drawable(in.AccountName), fonts.drawable(in.ReferenceID)
	d := newDocument(fonts, in.properties())
	d.firstPage(in)
	for _, name := range statement.SectionNames[1:] {
		switch name {
		case statement.DocumentsSection:
			d.section(sectionTitle(name), d.documents(in.Answers.Documents))
		case statement.DeclarationSection:
			parts, err := d.declaration(in)
			if err != nil {
				return Result{}, fmt.Errorf("render statement %s: %w", in.SessionID, err)
			}
			d.section(sectionTitle(name), parts)
		default:
			d.section(sectionTitle(name), d.answers(in.Answers.Section(name, in.SubmittedAt)))
		}
	}
	return d.finish()
}

// customer is who the answers name, who is who signs (D80).
func (in Statement) customer() string { return in.Answers.Personal.FullName }

func (in Statement) properties() properties {
	p := properties{
		title:     "Financial statement – " + in.customer(),
		author:    in.AccountName,
		subject:   in.SessionID,
		created:   in.SubmittedAt,
		head:      in.AccountName + "  ·  Financial statement",
		headRight: in.customer(),
		foot:      in.SessionID + "  ·  Submitted " + in.localDate(in.SubmittedAt),
		test:      !in.Livemode,
		brand:     in.Brand,
	}
	if p.test {
		p.mark = "TEST"
	}
	return p
}

func sectionTitle(name string) string {
	return strconv.Itoa(statement.SectionNumber(name)) + ".  " + statement.Title(name)
}

// answers are a section's parts, from its description. Ledgers stand side by
// side. What isn't declared is one line.
func (d *document) answers(s *form.Section) []part {
	var parts []part
	var none []string
	var waiting []laidSheet // a ledger that waits for one beside it
	zeros := s.TypedZeros()
	for _, g := range s.Groups {
		totals := sectionTotals(g)
		switch {
		case totals != nil:
			parts = append(parts, d.ledgers(waiting)...)
			parts = append(append(parts, d.nothing(none)...), d.sums(totals))
			waiting, none = nil, nil
		case !asks(g):
		case isEmpty(g):
			none = append(none, form.InSentence(g.Title))
		case isLedger(g):
			if waiting = append(waiting, d.laySheet(ledger(g, zeros), (contentWidth-sheetGap)/2)); len(waiting) == 2 {
				parts, waiting = append(parts, d.ledgers(waiting)...), nil
			}
		default:
			parts = append(append(parts, d.ledgers(waiting)...), d.questions(g)...)
			waiting = nil
		}
	}
	return append(append(parts, d.ledgers(waiting)...), d.nothing(none)...)
}

// asks reports whether the group has a question, which depends on other answers.
func asks(g form.Group) bool { return g.List != nil || slices.ContainsFunc(g.Fields, form.Field.Asked) }

// isEmpty reports whether a list has no item, or all amounts of a ledger are
// zero.
func isEmpty(g form.Group) bool {
	if g.List != nil {
		return g.List.Len() == 0
	}
	return isLedger(g) && !slices.ContainsFunc(g.Fields, func(f form.Field) bool { return !isZero(f) })
}

// nothing is the line of the kinds that aren't declared.
func (d *document) nothing(kinds []string) []part {
	if len(kinds) == 0 {
		return nil
	}
	return []part{d.line("Nothing declared: "+strings.Join(kinds, ", "), 8).after()}
}

// sectionTotals returns the lines of a group with only computed amounts; nil
// for other groups.
func sectionTotals(g form.Group) []total {
	if g.List != nil {
		return nil
	}
	var totals []total
	for _, f := range g.Fields {
		if f.Kind != form.KindOutput || !isNumber(f) {
			return nil
		}
		totals = append(totals, total{f.Label, f.Value.Display(), isNegative(f)})
	}
	return totals
}

// questions are a group's parts.
func (d *document) questions(g form.Group) []part {
	if g.List != nil {
		return []part{d.titled(g.Title), d.rows(list(g.List))}
	}
	return []part{d.titled(g.Title), d.rows(table{columns: []column{{width: 168}, {}}, rows: pairs(g.Fields)})}
}

// isLedger reports whether all of a group's fields are amounts of the same
// period.
func isLedger(g form.Group) bool {
	for _, f := range g.Fields {
		if !isNumber(f) || f.Period != g.Fields[0].Period {
			return false
		}
	}
	return len(g.Fields) > 0
}

// ledger is the sheet of a group's amounts, each as it was given and in the sheet's unit.
// Zeros are one line, but those that were typed (zeros, by their fields' names).
func ledger(g form.Group, zeros []string) sheet {
	s := sheet{title: g.Title, unit: strings.TrimSpace("AUD " + g.Fields[0].Period.Per()), money: true}
	var none []string
	for _, f := range g.Fields {
		entries := f.Entries()
		if isZero(f) && entries == nil && !slices.Contains(zeros, f.Name) {
			none = append(none, form.InSentence(f.Label))
			continue
		}
		s.rows = append(s.rows, []cell{{text: f.Label}, {text: entries.String(), muted: true}, answer(f)})
	}
	if len(none) > 0 {
		s.note = "No: " + strings.Join(none, ", ")
	}
	return s
}

// pairs returns a row for each question and its answer.
func pairs(fields []form.Field) [][]cell {
	var rows [][]cell
	for _, f := range fields {
		if f.Asked() || f.Kind == form.KindOutput {
			rows = append(rows, []cell{{text: f.Label, muted: true}, answer(f)})
		}
	}
	return rows
}

// stated is a row of what Candor says about the statement.
func stated(label, value string) []cell { return []cell{{text: label, muted: true}, {text: value}} }

// list is the table of a list's items. An amount that was given in another form has a
// column for that.
func list(l *form.List) table {
	t := table{rows: make([][]cell, l.Len())}
	for n, f := range l.Item(0) {
		given := make([]cell, l.Len())
		isGiven := false
		for i := range given {
			given[i] = cell{text: l.Item(i)[n].Entries().String(), muted: true}
			isGiven = isGiven || given[i].text != ""
		}
		if isGiven {
			t.columns = append(t.columns, column{title: asGiven})
		}
		t.columns = append(t.columns, column{title: titled(f), right: isNumber(f)})
		for i := range given {
			if isGiven {
				t.rows[i] = append(t.rows[i], given[i])
			}
			t.rows[i] = append(t.rows[i], answer(l.Item(i)[n]))
		}
	}
	return t
}

// asGiven is over the amounts as the customer gave them.
const asGiven = "As given"

func (d *document) documents(documents []statement.Document) []part {
	if len(documents) == 0 {
		return []part{d.line("No documents were uploaded", 3)}
	}
	t := table{columns: []column{{title: "What it proves"}, {title: "File name"}, {title: "Size", right: true}, {title: "SHA-256", width: 176}}}
	for _, doc := range documents {
		t.rows = append(t.rows, []cell{
			{text: doc.Category.Label()}, {text: d.fonts.drawable(doc.FileName)}, {text: ui.FileSize(doc.SizeBytes)}, {text: halves(doc.SHA256), muted: true},
		})
	}
	return []part{d.rows(t)}
}

// declaration is the accepted text with the signature: the name as typed, when,
// and the digest of what was signed.
func (d *document) declaration(in Statement) ([]part, error) {
	data, err := in.Answers.MarshalJSON()
	if err != nil {
		return nil, err
	}
	d.attachData(in, data)
	s := in.Answers.Section(statement.DeclarationSection, in.SubmittedAt)
	var rows [][]cell
	for _, g := range s.Groups {
		rows = append(rows, pairs(g.Fields)...)
	}
	if in.Answers.SignedByAnother() {
		rows = append(rows, stated("Customer’s full name", in.Answers.Personal.FullName+". The signature is in another name.")) // D79
	}
	for _, doubt := range in.Answers.Confirmed() {
		rows = append(rows, stated("Confirmed when asked", doubt.Say(english)))
	}
	rows = append(rows,
		stated(in.localTime(in.Answers.Declaration.SignedAt, "2 January 2006, 3:04:05 pm")),
		stated("SHA-256 of the data", fmt.Sprintf("%x", sha256.Sum256(data))))
	return []part{
		d.prose(statement.DeclarationText, 4, bodySize+1, ink),
		d.titled("").after(),
		d.rows(table{columns: []column{{width: 168}, {}}, rows: rows}).after(),
	}, nil
}

// english replaces a text's {names}.
func english(text string, args ...string) string { return i18n.T(context.Background(), text, args...) }

// answer returns a field's cell.
func answer(f form.Field) cell {
	text := f.Value.Display()
	switch {
	case text == "":
		return cell{text: "Not given", muted: true}
	case isNumber(f):
		return cell{text: text, muted: isZero(f), negative: isNegative(f)}
	case f.Kind == form.KindChoice && contractTerms[text] != "":
		return cell{text: text + " (" + contractTerms[text] + ")"}
	}
	return cell{text: text}
}

// contractTerms are the contract's words for plainer ones of the form.
var contractTerms = map[string]string{"Owned in shares": "tenants in common"}

// isNumber reports whether the field's answers are right-aligned.
func isNumber(f form.Field) bool {
	switch f.Value.Schema().Type {
	case "number", "integer":
		return true
	}
	return false
}

func isZero(f form.Field) bool     { return f.Value.Display() == form.Cents(0).String() }
func isNegative(f form.Field) bool { return strings.HasPrefix(f.Value.Display(), "−") }

// titled is a field's label with its amount's period.
func titled(f form.Field) string { return strings.TrimSpace(f.Label + " " + f.Period.Per()) }

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// localTime is a time on the customer's clock, under a label that says whose
// clock it is.
func (in Statement) localTime(t time.Time, layout string) (label, text string) {
	zone, known := in.Answers.Personal.Address.Zone()
	label = "Customer’s time"
	if !known {
		label = "Sydney’s time"
	}
	return label, t.In(zone).Format(layout + " (UTC-07:00)")
}

// localDate is the day on the same clock, as the customer's pages show it.
func (in Statement) localDate(t time.Time) string {
	zone, _ := in.Answers.Personal.Address.Zone()
	return t.In(zone).Format(dateLayout)
}

const dateLayout = "2 January 2006" // D2

func longDate(t time.Time) string { return t.UTC().Format(dateLayout) }
func longTime(t time.Time) string { return t.UTC().Format(dateLayout + ", 15:04 UTC") }

// halves breaks a digest into two lines.
func halves(digest string) string {
	middle := len(digest) / 2
	return digest[:middle] + " " + digest[middle:]
}
