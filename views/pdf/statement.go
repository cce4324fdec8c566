package pdf

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-pdf/fpdf"

	"candor/internal/form"
	"candor/internal/statement"
)

// A Statement is a submitted statement with what a document shows about it.
type Statement struct {
	AccountName  string // the partner's
	Logo         []byte // the partner's, PNG or JPEG; nil for none
	Livemode     bool   // false: drawn with a TEST watermark (D9)
	SessionID    string // public, sess_…
	ReferenceID  string // the partner's own; can be ""
	CustomerName string // from the partner; "" for the name in the answers
	CreatedAt    time.Time
	SubmittedAt  time.Time
	Answers      *statement.Statement // with documents and declaration
}

// A Result is a finished document.
type Result struct {
	Bytes     []byte
	Pages     int
	Uncovered []rune // runes drawn as U+FFFD because no face has them, sorted
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
	d := newDocument(fonts, in.properties())
	d.masthead(in)
	d.summary(figures(in.Answers.Summary()))
	for _, name := range statement.SectionNames {
		d.section(sectionTitle(name))
		switch name {
		case statement.DocumentsSection:
			d.documents(in.Answers.Documents)
		case statement.DeclarationSection:
			d.declaration(in.Answers.Section(name, in.SubmittedAt))
		default:
			d.answers(in.Answers.Section(name, in.SubmittedAt))
		}
	}
	return d.finish()
}

func (in Statement) customer() string {
	if in.CustomerName != "" {
		return in.CustomerName
	}
	return in.Answers.Personal.FullName
}

func (in Statement) properties() properties {
	p := properties{
		title:     "Financial statement – " + in.customer(),
		author:    in.AccountName,
		subject:   in.SessionID,
		created:   in.SubmittedAt,
		head:      in.AccountName + "  ·  Financial statement",
		headRight: in.customer(),
		foot:      in.SessionID + "  ·  Submitted " + longDate(in.SubmittedAt),
		test:      !in.Livemode,
	}
	if p.test {
		p.mark = "TEST"
	}
	return p
}

// masthead draws the top of the first page.
func (d *document) masthead(in Statement) {
	left := d.logo(in.Logo)
	d.text(left, headBaseline, d.fit(in.AccountName, true, 9.5, marginX+contentWidth*0.7-left), 9.5, accent)
	if !in.Livemode {
		mode := d.phrase("Test mode: not a real statement", true)
		d.textRight(pageWidth-marginX, headBaseline, mode.line(0, len(mode.glyphs)), 8, warning)
	}
	d.rule(marginX, pageWidth-marginX, headBaseline+9, 0.9, accent)
	const titleSize, nameSize = 23.0, 12.5
	title := d.phrase("Financial statement", true)
	d.text(marginX, headBaseline+50, title.line(0, len(title.glyphs)), titleSize, ink)
	d.y = headBaseline + 60
	for _, l := range d.phrase(in.customer(), false).wrap(units(contentWidth, nameSize)) {
		d.text(marginX, d.y+nameSize*1.05, l, nameSize, muted)
		d.y += nameSize * 1.35
	}
	d.y += 16
	d.facts([]fact{
		{"Submitted", longTime(in.SubmittedAt), 132},
		{"Started", longDate(in.CreatedAt), 96},
		{"Reference", or(in.ReferenceID, "None"), 92},
		{"Session", in.SessionID, contentWidth - 132 - 96 - 92},
	})
	d.y += 18
}

// logo draws the partner's logo at the top of the first page and returns where
// the text beside it starts.
func (d *document) logo(content []byte) (left float64) {
	const width, height, bottom, gap = 140.0, 26.0, headBaseline + 3, 9.0
	if len(content) == 0 {
		return marginX
	}
	options := fpdf.ImageOptions{ImageType: "PNG"}
	if bytes.HasPrefix(content, []byte("\xff\xd8")) {
		options.ImageType = "JPG"
	}
	info := d.pdf.RegisterImageOptionsReader("logo", options, bytes.NewReader(content))
	if d.pdf.Err() {
		d.pdf.ClearError() // draw the statement without its logo
		return marginX
	}
	scale := min(width/info.Width(), height/info.Height())
	w, h := info.Width()*scale, info.Height()*scale
	d.pdf.ImageOptions("logo", marginX, bottom-h, w, h, false, options, 0, "")
	return marginX + w + gap
}

func sectionTitle(name string) string {
	return strconv.Itoa(statement.SectionNumber(name)) + ".  " + statement.Title(name)
}

func figures(s statement.Summary) []figure {
	amount := func(label string, c statement.Cents, strong bool) figure {
		return figure{label: label, value: c.String(), negative: c < 0, strong: strong}
	}
	return []figure{
		amount("Total assets", s.TotalAssets, false),
		amount("Total liabilities", s.TotalLiabilities, false),
		amount("Net worth", s.NetWorth, true),
		amount("Monthly income, before tax", s.TotalMonthlyIncome, false),
		amount("Monthly expenses", s.TotalMonthlyExpenses, false),
		amount("Monthly surplus", s.MonthlySurplus, true),
	}
}

// answers draws a section from its description.
func (d *document) answers(s *form.Section) {
	for i, g := range s.Groups {
		totals := sectionTotals(g)
		if totals != nil {
			d.skip(totalSpace)
			d.table(table{totals: totals})
			continue
		}
		keep := 0.0
		if i+1 < len(s.Groups) {
			if next := sectionTotals(s.Groups[i+1]); next != nil {
				keep = totalSpace + float64(len(next))*totalHeight
			}
		}
		d.questions(g, keep)
	}
}

const totalSpace = 12.0 // above a section's total

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
		totals = append(totals, total{titled(f), f.Value.Display(), isNegative(f)})
	}
	return totals
}

// questions draws a group, with keep points left free under it.
func (d *document) questions(g form.Group, keep float64) {
	if g.List != nil {
		d.group(g.Title)
		if g.List.Len() == 0 {
			d.note("None declared", keep)
			return
		}
		d.list(g.List, keep)
		return
	}
	period, ok := ledger(g.Fields)
	if !ok {
		d.group(g.Title)
		d.table(table{columns: []column{{width: 168}, {}}, rows: pairs(g.Fields, true), keep: keep})
		return
	}
	d.space()
	d.table(table{
		columns: []column{
			{title: g.Title, strong: true},
			{title: strings.TrimSpace("AUD " + period.Per()), right: true},
		},
		rows: pairs(g.Fields, false), keep: keep,
	})
}

// pairs returns a row for each question and its answer.
func pairs(fields []form.Field, mutedLabels bool) [][]cell {
	var rows [][]cell
	for _, f := range fields {
		if f.Asked() || f.Kind == form.KindOutput {
			label := f.Label
			if entries := f.Entries(); entries != nil {
				label += " (" + entries.String() + ")"
			}
			rows = append(rows, []cell{{text: label, muted: mutedLabels}, answer(f)})
		}
	}
	return rows
}

// ledger reports whether all fields are amounts of the same period.
func ledger(fields []form.Field) (period form.Period, ok bool) {
	for i, f := range fields {
		if !isNumber(f) || i > 0 && f.Period != period {
			return "", false
		}
		period = f.Period
	}
	return period, len(fields) > 0
}

// list draws a list with items.
func (d *document) list(l *form.List, keep float64) {
	t := table{keep: keep}
	for _, f := range l.Item(0) {
		t.columns = append(t.columns, column{title: titled(f), right: isNumber(f)})
	}
	for i := range l.Len() {
		var cells []cell
		for _, f := range l.Item(i) {
			c := answer(f)
			if entries := f.Entries(); entries != nil {
				c.text += " (" + entries.String() + ")"
			}
			cells = append(cells, c)
		}
		t.rows = append(t.rows, cells)
	}
	d.table(t)
}

func (d *document) documents(documents []statement.Document) {
	if len(documents) == 0 {
		d.note("No documents were uploaded", 0)
		return
	}
	t := table{columns: []column{{title: "Category"}, {title: "File name"}, {title: "Type"}, {title: "Size", right: true}}}
	for _, doc := range documents {
		t.rows = append(t.rows, []cell{
			{text: doc.Category.Label()}, {text: doc.FileName},
			{text: fileType(doc.ContentType)}, {text: fileSize(doc.SizeBytes)},
		})
	}
	d.table(t)
}

// declaration draws the accepted text, and on the same page the name and the
// time of the signature.
func (d *document) declaration(s *form.Section) {
	const room = 150
	d.need(room)
	d.y += 4
	d.paragraph(statement.DeclarationText, bodySize+1, ink)
	d.y += 8
	for _, g := range s.Groups {
		d.questions(g, 0)
	}
}

// answer returns a field's cell.
func answer(f form.Field) cell {
	text := f.Value.Display()
	switch {
	case text == "":
		return cell{text: "Not given", muted: true}
	case isNumber(f):
		return cell{text: text, muted: isZero(f), negative: isNegative(f)}
	}
	return cell{text: text}
}

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

func longDate(t time.Time) string { return t.UTC().Format("2 January 2006") } // D2
func longTime(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04 UTC") }

func fileType(contentType string) string {
	_, sub, ok := strings.Cut(contentType, "/")
	if !ok {
		return contentType
	}
	return strings.ToUpper(sub)
}

// fileSize rounds up to whole kilobytes, or to tenths of a megabyte.
func fileSize(bytes int64) string {
	const kb, mb = 1 << 10, 1 << 20
	if bytes < mb {
		return strconv.FormatInt((bytes+kb-1)/kb, 10) + " KB"
	}
	tenths := (bytes*10 + mb - 1) / mb
	return fmt.Sprintf("%d.%d MB", tenths/10, tenths%10)
}
