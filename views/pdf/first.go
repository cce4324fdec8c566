package pdf

import (
	"bytes"
	"cmp"
	"strings"

	"github.com/go-pdf/fpdf"

	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/statement"
)

// firstPage draws what a decision needs: who applies, the figures, and what is
// lent against properties and cards.
func (d *document) firstPage(in Statement) {
	d.masthead(in)
	personal := in.Answers.Section(statement.PersonalDetailsSection, in.SubmittedAt)
	d.bookmark(d.say("Summary"), contentTop)
	d.sheets(
		d.laySheet(sheet{title: d.sectionTitle(personal.Name), rows: d.details(personal)}, wideSheet),
		d.laySheet(sheet{title: d.say("Statement"), rows: d.particulars(in)}, contentWidth-sheetGap-wideSheet),
	)
	d.y += 14
	d.summary(d.figures(in.Answers))
	for _, text := range d.repaymentsNotes(in.Answers) {
		d.y += 4
		d.paragraph(text, smallSize+0.5, muted)
	}
	d.y += 6
	var none []string
	for _, of := range []struct {
		kind string
		table
	}{{"Property", d.loansToValue(&in.Answers.Assets)}, {"Credit cards", d.cardUse(&in.Answers.Liabilities)}} {
		if len(of.rows) == 0 {
			none = append(none, of.kind)
			continue
		}
		d.group("", total{})
		d.drawTable(d.lay(of.table), 0)
	}
	for _, p := range d.nothing(none) {
		p.draw(0)
	}
}

// copyNote says that a copy in another language isn't what was signed.
const copyNote = "Your copy, in your language. {partner} has the statement in English, which is what you signed."

// onePerson stands in the statement of who lives with a partner.
const onePerson = "This is one person’s statement: a partner’s income and debts are not in it."

// masthead draws the top of the first page.
func (d *document) masthead(in Statement) {
	left := d.logo(in.Logo)
	room := contentWidth * 0.7
	if !in.Livemode {
		mode := d.fit(d.say("Test mode: not a real statement"), true, 8, room)
		d.textRight(pageWidth-marginX, headBaseline, mode, 8, warning)
		room = min(room, contentWidth-mode.points(8)-24)
	}
	d.text(left, headBaseline, d.fit(in.AccountName, true, 9.5, marginX+room-left), 9.5, d.accent)
	d.rule(marginX, pageWidth-marginX, headBaseline+9, 0.9, d.accent)
	const titleSize, nameSize = 21.0, 12.5
	d.text(marginX, headBaseline+42, d.fit(d.say("Financial statement"), true, titleSize, contentWidth), titleSize, ink)
	d.y = headBaseline + 50
	for _, l := range d.phrase(in.customer(), false).wrap(units(contentWidth, nameSize)) {
		d.text(marginX, d.y+nameSize*1.05, l, nameSize, muted)
		d.y += nameSize * 1.35
	}
	if d.about.language != domain.English {
		d.paragraph(d.say(copyNote, in.AccountName), smallSize+0.5, muted)
	}
	if in.Answers.Personal.Household.Couple() {
		d.paragraph(d.say(onePerson), smallSize+0.5, muted)
	}
	d.y += 12
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

// details are the answers about the applicant. An address is two lines: it can
// be in two scripts.
func (d *document) details(s *form.Section) [][]cell {
	var rows [][]cell
	for _, g := range s.Groups {
		if !isAddress(g.Fields) {
			rows = append(rows, d.pairs(g.Fields)...)
			continue
		}
		rows = append(rows,
			[]cell{{text: d.say(g.Title), muted: true}, d.answer(g.Fields[0])},
			[]cell{{}, {text: d.place(g.Fields[1:])}})
	}
	return rows
}

func isAddress(fields []form.Field) bool {
	for _, f := range fields {
		if !strings.HasPrefix(f.Name, "address.") {
			return false
		}
	}
	return len(fields) > 0
}

// particulars are what the partner and Candor know of the statement.
func (d *document) particulars(in Statement) [][]cell {
	rows := [][]cell{
		d.stated("Submitted", d.moment(in.local(in.SubmittedAt), localTime)),
		{{}, {text: longTime(in.SubmittedAt)}},
		d.stated("Started", d.moment(in.local(in.CreatedAt), dateLayout)),
		d.stated("Reference", cmp.Or(in.ReferenceID, d.say("None"))),
		d.stated("Session", in.SessionID),
	}
	if previous := in.Answers.PreviousSession(); previous != "" { // D101
		rows = append(rows, d.stated("Continues", previous))
		changed := in.Answers.ChangedSections()
		if len(changed) == 0 {
			rows = append(rows, d.stated("Changed since", d.say("None")))
		}
		for i, name := range changed {
			row := d.stated("Changed since", d.say(statement.Title(name)))
			if i > 0 {
				row[0] = cell{}
			}
			rows = append(rows, row)
		}
	}
	return rows
}

func (d *document) figures(s *statement.Statement) []figure {
	amount := func(label string, c statement.Cents) figure {
		return figure{label: d.say(label), value: c.String(), negative: c < 0}
	}
	sum := s.Summary()
	return []figure{
		amount("Total assets", sum.TotalAssets),
		amount("Total liabilities", sum.TotalLiabilities),
		amount("Net worth", sum.NetWorth),
		amount("Monthly income before tax", sum.TotalMonthlyIncome),
		amount("Monthly expenses", sum.TotalMonthlyExpenses),
		amount("Left each month before tax", sum.MonthlySurplus),
		amount("Monthly repayments without cards", sum.TotalMonthlyRepayments),
		amount("Of these, not in expenses", sum.RepaymentsLeft),
		amount("Left after these, before tax", sum.LeftAfterRepayments()),
	}
}

// repaymentsNotes say whether the expenses contain the repayments, so that none is counted
// twice or not at all (D55), and of which debts none is known, or all could seem to be.
func (d *document) repaymentsNotes(s *statement.Statement) (notes []string) {
	sum := s.Summary()
	all, left := sum.TotalMonthlyRepayments, sum.RepaymentsLeft
	switch {
	case all == 0:
	case left == 0:
		notes = append(notes, d.say("Monthly expenses contain these repayments: “Left each month before tax” is after them."))
	case left == all:
		notes = append(notes, d.say("Monthly expenses contain none of these repayments: they are taken off in the last figure."))
	default:
		notes = append(notes, d.say("Monthly expenses contain {amount} of these repayments: the other {rest} is taken off in the last figure.",
			(all-left).String(), left.String()))
	}
	if unpaid := s.Liabilities.WithoutRepayment(); unpaid > 0 {
		notes = append(notes, d.say("For {amount} of the debts no repayment is given (none is asked of cards); expenses can contain one.", unpaid.String()))
	}
	return notes
}

// loansToValue is the loan to value of each property.
func (d *document) loansToValue(a *statement.Assets) table {
	t := table{columns: []column{
		{title: d.say("Loan to value: {percentage} overall", a.LoanToValue().String()), strong: true},
		{title: d.say("Whole value"), right: true}, {title: d.say("Whole mortgage"), right: true},
		{title: d.say("Loan to value"), right: true},
	}}
	for _, p := range a.RealProperty {
		t.rows = append(t.rows, []cell{
			{text: p.Description}, {text: p.CurrentValue.String()}, {text: p.MortgageOwing.String()},
			{text: p.LoanToValue().String(), bold: true},
		})
	}
	return t
}

// cardUse is how much of each card's limit is used.
func (d *document) cardUse(l *statement.Liabilities) table {
	t := table{columns: []column{
		{title: d.say("Credit cards: {percentage} used overall", l.CardUse().String()), strong: true},
		{title: d.say("Credit limit"), right: true}, {title: d.say("Balance owing"), right: true}, {title: d.say("Used"), right: true},
	}}
	for _, c := range l.CreditCards {
		t.rows = append(t.rows, []cell{
			{text: c.Issuer}, {text: c.Limit.String()}, {text: c.Balance.String()}, {text: c.Use().String(), bold: true},
		})
	}
	return t
}
