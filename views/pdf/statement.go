package pdf

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"candor/internal/domain"
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

// Of returns what a document says of a completed session, without the logo.
func Of(account *domain.Account, s *domain.Session, answers *statement.Statement) Statement {
	in := Statement{
		AccountName: account.Name, Livemode: s.Livemode, SessionID: s.ID.String(), ReferenceID: s.Reference(),
		CreatedAt: s.CreatedAt, SubmittedAt: *s.CompletedAt, Answers: answers,
	}
	if account.BrandColour != nil {
		in.Brand = *account.BrandColour
	}
	return in
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
func Render(in Statement, fonts *Fonts) (Result, error) {
	return RenderCopy(context.Background(), in, fonts)
}

// RenderCopy draws the statement as Render does, for the customer: in the context's
// language beside English (D59).
func RenderCopy(ctx context.Context, in Statement, fonts *Fonts) (result Result, err error) {
	if in.Answers == nil || in.SubmittedAt.IsZero() {
		return Result{}, errors.New("render statement: not submitted")
	}
	defer func() {
		if p := recover(); p != nil {
			result, err = Result{}, fmt.Errorf("render statement %s: %v", in.SessionID, p)
		}
	}()
	in.AccountName, in.ReferenceID = fonts.drawable(in.AccountName), fonts.drawable(in.ReferenceID)
	d := newDocument(fonts, in.properties(i18n.Language(ctx), beside(ctx)))
	d.firstPage(in)
	var documents []part
	for _, name := range statement.SectionNames[1:] {
		switch name {
		case statement.DocumentsSection:
			documents = d.documents(in.Answers.Documents)
		case statement.DeclarationSection:
			parts, err := d.declaration(in)
			if err != nil {
				return Result{}, fmt.Errorf("render statement %s: %w", in.SessionID, err)
			}
			d.together(sectionHeight(documents) + sectionHeight(parts))
			d.section(d.sectionTitle(statement.DocumentsSection), documents)
			d.section(d.sectionTitle(name), parts)
		case statement.LiabilitiesSection:
			d.section(d.sectionTitle(name), append(d.answers(in.Answers.Section(name, in.SubmittedAt)), d.repayments(in.Answers)...))
		default:
			d.section(d.sectionTitle(name), d.answers(in.Answers.Section(name, in.SubmittedAt)))
		}
	}
	return d.finish()
}

// customer is who the answers name, who is who signs (D80).
func (in Statement) customer() string { return in.Answers.Personal.FullName }

func (in Statement) properties(language domain.Language, w words) properties {
	p := properties{
		language: language, words: w,
		title:     "Financial statement – " + in.customer(),
		author:    in.AccountName,
		subject:   in.SessionID,
		created:   in.SubmittedAt,
		head:      in.AccountName + "  ·  " + oneLine(w.say("Financial statement")),
		headRight: in.customer(),
		foot:      in.SessionID + "  ·  " + oneLine(w.submitted(in.local(in.SubmittedAt))),
		test:      !in.Livemode,
		brand:     in.Brand,
	}
	if p.test {
		p.mark = "TEST"
	}
	return p
}

// answers are a section's parts, from its description. Ledgers stand side by
// side. What isn't declared is one line.
func (d *document) answers(s *form.Section) (parts []part) {
	var none []string
	var waiting []laidSheet // a ledger that waits for one beside it
	lead := false           // the part before is a line about the ledgers, which isn't left alone
	lay := func() {
		for _, p := range d.ledgers(waiting) {
			p.follows = p.follows || lead
			parts = append(parts, p)
		}
		waiting, lead = nil, false
	}
	for _, g := range s.Groups {
		totals := d.sectionTotals(g)
		switch {
		case totals != nil:
			lay()
			parts = append(append(parts, d.nothing(none)...), d.sums(totals))
			none = nil
		case !asks(g):
		case isEmpty(g):
			none = append(none, g.Title)
		case isLedger(g):
			if waiting = append(waiting, d.laySheet(d.ledger(g), (contentWidth-sheetGap)/2)); len(waiting) == 2 {
				lay()
			}
		default:
			lay()
			parts, lead = append(parts, d.questions(g)...), g.Title == ""
		}
	}
	lay()
	return append(parts, d.nothing(none)...)
}

// asks reports whether the group has a question, which depends on other answers.
func asks(g form.Group) bool { return g.List != nil || slices.ContainsFunc(g.Fields, form.Field.Asked) }

// isEmpty reports whether a list has no item, or a ledger no amount.
func isEmpty(g form.Group) bool {
	if g.List != nil {
		return g.List.Len() == 0
	}
	return isLedger(g) && !slices.ContainsFunc(g.Fields, func(f form.Field) bool { return !isBlank(f) })
}

// nothing is the line of the kinds that aren't declared.
func (d *document) nothing(kinds []string) []part {
	if len(kinds) == 0 {
		return nil
	}
	return []part{d.line(d.list("Nothing declared: {names}", kinds), 8).after()}
}

// repayments is the sum of the lists' repayments.
func (d *document) repayments(s *statement.Statement) []part {
	all := s.Summary().TotalMonthlyRepayments
	if all == 0 {
		return nil
	}
	return []part{d.sums([]total{{d.say("Monthly repayments without cards"), all.String(), false}})}
}

// sectionTotals returns the lines of a group with only computed amounts; nil
// for other groups.
func (d *document) sectionTotals(g form.Group) []total {
	if g.List != nil {
		return nil
	}
	var totals []total
	for _, f := range g.Fields {
		if f.Kind != form.KindOutput || !isNumber(f) {
			return nil
		}
		totals = append(totals, total{d.say(f.Label), f.Value.Display(), isNegative(f)})
	}
	return totals
}

// questions are a group's parts.
func (d *document) questions(g form.Group) []part {
	if g.List != nil {
		return []part{d.titled(d.say(g.Title), d.subtotal(g)), d.rows(d.items(g.List))}
	}
	return []part{d.titled(d.say(g.Title), total{}), d.rows(table{columns: []column{{width: 168}, {}}, rows: d.pairs(g.Fields)})}
}

// subtotal is what a list adds to the section's total.
func (d *document) subtotal(g form.Group) total {
	if g.Subtotal == nil {
		return total{}
	}
	return total{label: d.say(g.Subtotal.Label), amount: g.Subtotal.Value.Display()}
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
// What wasn't given is one line; a typed 0, and what is 0 by the share, was.
func (d *document) ledger(g form.Group) sheet {
	s := sheet{title: d.say(g.Title), unit: d.unit(g.Fields[0].Period), money: true}
	var none []string
	for _, f := range g.Fields {
		if isBlank(f) {
			none = append(none, f.Label)
			continue
		}
		s.rows = append(s.rows, []cell{{text: d.say(f.Label)}, {text: d.given(f), muted: true}, d.answer(f)})
	}
	if len(none) > 0 {
		s.note = d.list("No: {names}", none)
	}
	return s
}

// pairs returns a row for each question and its answer.
func (d *document) pairs(fields []form.Field) [][]cell {
	var rows [][]cell
	for _, f := range fields {
		if f.Asked() || f.Kind == form.KindOutput {
			rows = append(rows, []cell{{text: d.say(f.Label), muted: true}, d.answer(f)})
		}
	}
	return rows
}

// stated is a row of what Candor says about the statement.
func (d *document) stated(label, value string) []cell {
	return []cell{{text: d.say(label), muted: true}, {text: value}}
}

// items is the table of a list's items. An amount that was given in another form has a
// column for that. A percentage has none if the amounts of each item say it.
func (d *document) items(l *form.List) table {
	t := table{rows: make([][]cell, l.Len())}
	said := true
	for i := range t.rows {
		said = said && form.HasPart(l.Item(i))
	}
	for n, f := range l.Item(0) {
		if f.Kind == form.KindPercent && said {
			continue
		}
		given := make([]cell, l.Len())
		isGiven := false
		for i := range given {
			given[i] = cell{text: d.given(l.Item(i)[n]), muted: true}
			isGiven = isGiven || given[i].text != ""
		}
		if isGiven {
			t.columns = append(t.columns, column{title: d.say(asGiven)})
		}
		t.columns = append(t.columns, column{title: d.per(f.Label, f.Period), right: isNumber(f)})
		for i := range given {
			if isGiven {
				t.rows[i] = append(t.rows[i], given[i])
			}
			t.rows[i] = append(t.rows[i], d.answer(l.Item(i)[n]))
		}
	}
	return t
}

// asGiven is over the amounts as the customer gave them.
const asGiven = "As given"

func (d *document) documents(documents []statement.Document) []part {
	if len(documents) == 0 {
		return []part{d.line(d.say("No documents were uploaded"), 3)}
	}
	t := table{columns: []column{{title: d.say("What it proves")}, {title: d.say("File name")}, {title: d.say("Size"), right: true},
		{title: "SHA-256", width: 176}}}
	for _, doc := range documents {
		t.rows = append(t.rows, []cell{
			{text: d.say(doc.Category.Label())}, {text: d.fonts.drawable(doc.FileName)}, {text: ui.FileSize(doc.SizeBytes)},
			{text: halves(doc.SHA256), muted: true},
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
		rows = append(rows, d.pairs(g.Fields)...)
	}
	clock := "Customer’s time"
	if _, known := in.Answers.Personal.Address.Zone(); !known {
		clock = "Sydney’s time"
	}
	rows = slices.Insert(rows, len(rows)-1, // above when it was signed, which is UTC
		d.stated(clock, d.moment(in.local(in.Answers.Declaration.SignedAt), localTime)))
	if in.Answers.SignedByAnother() {
		// D79
		rows = append(rows, d.stated("Customer’s full name", d.say("{customer}. The signature is in another name.",
			in.Answers.Personal.FullName)))
	}
	for _, doubt := range in.Answers.Confirmed() {
		rows = append(rows, d.stated("Confirmed when asked", d.doubt(doubt)))
	}
	rows = append(rows, d.stated("SHA-256 of the data", halves(fmt.Sprintf("%x", sha256.Sum256(data)))))
	return []part{
		d.prose(d.say(statement.DeclarationText), 4, bodySize+1, ink),
		d.titled("", total{}).after(),
		d.rows(table{columns: []column{{width: 168}, {}}, rows: rows}).after(),
	}, nil
}

// answer returns a field's cell: of an amount what is the customer's.
func (d *document) answer(f form.Field) cell {
	text := f.Value.Display()
	if part, _, isPart := f.Part(); isPart {
		text = part.String()
	}
	switch {
	case text == "":
		return cell{text: d.say("Not given"), muted: true}
	case isNumber(f):
		return cell{text: text, muted: isZero(f), negative: isNegative(f)}
	case f.Kind == form.KindChoice && contractTerms[text] != "":
		return cell{text: d.say(text) + " (" + contractTerms[text] + ")"}
	}
	return cell{text: d.answered(f)}
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

// isBlank reports whether the field is an amount that wasn't given, which counts as 0 (D19).
func isBlank(f form.Field) bool { return f.Kind == form.KindMoney && f.Value.Empty() }

func isZero(f form.Field) bool     { return f.Value.Display() == form.Cents(0).String() }
func isNegative(f form.Field) bool { return strings.HasPrefix(f.Value.Display(), "−") }

// local is the instant on the customer's clock, as their pages show it, or on Sydney's.
func (in Statement) local(t time.Time) time.Time {
	zone, _ := in.Answers.Personal.Address.Zone()
	return t.In(zone)
}

const (
	dateLayout = "2 January 2006" // D2
	localTime  = "2 January 2006, 3:04:05 pm (UTC-07:00)"
)

func longDate(t time.Time) string { return t.UTC().Format(dateLayout) }
func longTime(t time.Time) string { return t.UTC().Format(dateLayout + ", 15:04 UTC") }

// halves breaks a digest into two lines.
func halves(digest string) string {
	middle := len(digest) / 2
	return digest[:middle] + " " + digest[middle:]
}
