package pdf

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"candor/internal/domain"
	"candor/internal/statement"
)

// An invoice is drawn from what is stored of it, and nothing else.
type invoice struct{ *domain.Invoice }

// RenderInvoice draws the invoice in its state: due, paid or void. The same
// input gives the same bytes; the document is dated IssuedAt in every state. A
// text that can't be drawn never fails it. An error means that there is no
// invoice or no IssuedAt, or that fpdf failed, which panics on unexpected
// input.
func RenderInvoice(of *domain.Invoice, fonts *Fonts) (result Result, err error) {
	if of == nil || of.IssuedAt.IsZero() {
		return Result{}, errors.New("render invoice: not issued")
	}
	in := invoice{of}
	defer func() {
		if p := recover(); p != nil {
			result, err = Result{}, fmt.Errorf("render invoice %s: %v", in.NumberText(), p)
		}
	}()
	d := newDocument(fonts, in.properties())
	d.invoiceTop(in)
	d.summary(in.state())
	d.y += groupSpace
	d.invoiceLines(in)
	title, paragraphs := in.settlement()
	if len(paragraphs) > 0 {
		d.group(title, total{})
	}
	for _, p := range paragraphs {
		d.paragraph(p, bodySize+0.5, ink)
		d.y += 2
	}
	return d.finish()
}

func (in invoice) properties() properties {
	name := in.Title() + " " + in.NumberText()
	p := properties{
		language: domain.English, words: english,
		title:     name,
		author:    in.Seller.Name,
		subject:   name + " for " + in.AccountName,
		created:   in.IssuedAt,
		head:      name,
		headRight: in.AccountName,
		foot:      in.NumberText() + "  ·  Issued " + longDate(in.IssuedAt) + "  ·  All dates are UTC",
	}
	if in.Status == domain.InvoiceVoid {
		p.mark = "VOID"
	}
	return p
}

// period is the invoice's period, with times of day: a period ends at the time
// when the next one starts.
func (in invoice) period() string {
	const format = "2 Jan 2006, 15:04"
	return in.PeriodStart.UTC().Format(format) + " – " + in.PeriodEnd.UTC().Format(format) + " UTC"
}

// settled is the day when the invoice was paid or voided.
func (in invoice) settled() string {
	if in.SettledAt == nil {
		return ""
	}
	return longDate(*in.SettledAt)
}

// invoiceTop draws everything above the figures.
func (d *document) invoiceTop(in invoice) {
	d.text(marginX, headBaseline, d.fit(in.Seller.Name, true, 9.5, contentWidth), 9.5, d.accent)
	d.rule(marginX, pageWidth-marginX, headBaseline+9, 0.9, d.accent)
	const titleSize = 23.0
	title := d.phrase(in.Title(), true)
	d.text(marginX, headBaseline+50, title.line(0, len(title.glyphs)), titleSize, ink)
	switch in.Status {
	case domain.InvoicePaid:
		d.stamp("PAID", headBaseline+50, d.accent)
	case domain.InvoiceVoid:
		d.stamp("VOID", headBaseline+50, warning)
	}
	d.y = headBaseline + 72
	d.facts([]fact{
		{"Invoice number", in.NumberText(), 98},
		{"Issued", longDate(in.IssuedAt), 98},
		{"Due", longDate(in.DueAt), 98},
		{"Billing period", in.period(), contentWidth - 3*98},
	})
	d.y += 16
	d.parties(in)
	d.y += 18
}

// stamp draws a framed word at the right-hand margin.
func (d *document) stamp(word string, baseline float64, c colour) {
	const size, padding = 17.0, 9.0
	p := d.phrase(word, true)
	l := p.line(0, len(p.glyphs))
	width := l.points(size) + 2*padding
	d.pdf.SetDrawColor(c[0], c[1], c[2])
	d.pdf.SetLineWidth(1.4)
	d.pdf.Rect(pageWidth-marginX-width, baseline-size-3, width, size+11, "D")
	d.textRight(pageWidth-marginX-padding, baseline, l, size, c)
}

// parties draws seller and buyer side by side.
func (d *document) parties(in invoice) {
	const column = contentWidth / 2
	top := d.y
	buyer, seller := in.BilledTo(), in.Seller
	d.party(marginX, column-columnGap, "Billed to", buyer.Name, append(buyer.Lines(), in.BillingEmail))
	bottom := d.y
	lines := seller.Lines()
	if seller.Name != "" || len(lines) > 0 {
		d.y = top
		d.party(marginX+column, column, "From", seller.Name, lines)
	}
	d.y = max(d.y, bottom)
}

// party draws a name with lines under it, width points wide.
func (d *document) party(x, width float64, label, name string, lines []string) {
	const nameSize, size = 10.5, 8.5
	d.text(x, d.y+smallSize, d.fit(label, false, smallSize, width), smallSize, muted)
	d.y += smallSize * 1.8
	for _, l := range d.phrase(name, true).wrap(units(width, nameSize)) {
		d.text(x, d.y+nameSize, l, nameSize, ink)
		d.y += nameSize * leading
	}
	for _, text := range lines {
		for _, l := range d.phrase(text, false).wrap(units(width, size)) {
			d.text(x, d.y+size, l, size, ink)
			d.y += size * leading
		}
	}
}

// state is the invoice's state, in three figures.
func (in invoice) state() []figure {
	const nothing = statement.Cents(0)
	switch in.Status {
	case domain.InvoicePaid:
		return []figure{
			{label: "Paid on", value: cmp.Or(in.settled(), "–")},
			{label: "Amount paid", value: in.Total.String()},
			{label: "Amount due", value: nothing.String()},
		}
	case domain.InvoiceVoid:
		return []figure{
			{label: "Void since", value: cmp.Or(in.settled(), "–"), negative: true},
			{label: "Was for", value: in.Total.String()},
			{label: "Amount due", value: nothing.String()},
		}
	}
	return []figure{
		{label: "Amount due", value: in.Total.String()},
		{label: "Due", value: longDate(in.DueAt)},
		{label: "Sessions used", value: number(in.SessionsUsed)},
	}
}

// invoiceLines draws the lines, and the total on the page of the last one.
func (d *document) invoiceLines(in invoice) {
	const totalHeight, noteHeight = 30.0, 14.0
	var notes []string
	if in.Taxed() {
		notes = append(notes, "Total includes GST of "+in.GST.String())
	}
	if carried := in.Lines.Carried(); carried > 0 {
		notes = append(notes, number(carried)+" used in the period that was cancelled before count against the sessions included")
	}
	keep := totalHeight + float64(len(notes))*noteHeight
	if len(in.Lines) == 0 {
		d.note("No sessions were used in this period", keep)
	} else {
		d.drawTable(d.lay(table{
			columns: []column{{title: "Description"}, {title: "Sessions", right: true}, {title: "Price each", right: true},
				{title: "Amount", right: true}},
			rows: lineRows(in.Lines),
		}), keep)
	}
	const size = 13.5
	d.rule(marginX, pageWidth-marginX, d.y, 0.6, ink)
	amount := d.fit(in.Total.String(), true, size, contentWidth/2)
	d.textRight(pageWidth-marginX, d.y+20, amount, size, d.accent)
	d.text(marginX, d.y+20, d.fit("Total in "+in.Currency, true, size, contentWidth-amount.points(size)-columnGap), size, ink)
	d.y += totalHeight
	for _, note := range notes {
		d.textRight(pageWidth-marginX, d.y+bodySize, d.fit(note, false, bodySize, contentWidth), bodySize, muted)
		d.y += noteHeight
	}
}

func lineRows(lines domain.InvoiceLines) [][]cell {
	rows := make([][]cell, len(lines))
	for i, l := range lines {
		price := cell{text: l.Price.String()}
		if !l.Overage {
			price = cell{text: "Included", muted: true}
		}
		rows[i] = []cell{
			{text: lineText(l)}, {text: number(l.Sessions)}, price,
			{text: l.Amount.String(), muted: l.Amount == 0, negative: l.Amount < 0},
		}
	}
	return rows
}

func lineText(l domain.InvoiceLine) string {
	switch {
	case l.Overage:
		return l.Plan + " plan: beyond the sessions included"
	case l.Included != nil:
		return l.Plan + " plan: within the " + number(*l.Included) + " sessions included"
	}
	return l.Plan + " plan: sessions without a limit"
}

// number formats a number of sessions, "12,345".
func number(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// settlement is the text about payment under the total.
func (in invoice) settlement() (title string, paragraphs []string) {
	reference := ""
	if in.Reference != nil {
		reference = *in.Reference
	}
	switch {
	case in.Status == domain.InvoiceVoid:
		paragraphs = []string{"This invoice was taken back. Nothing is owed by it."}
		if reference != "" {
			paragraphs = append(paragraphs, "Reason: "+reference)
		}
		return "Void", paragraphs
	case in.Total == 0:
		return "Payment", []string{"There is nothing to pay."}
	case in.Status == domain.InvoicePaid:
		paragraphs = []string{"Paid in full. Thank you."}
		if reference != "" {
			paragraphs = append(paragraphs, "Reference: "+reference)
		}
		return "Payment", paragraphs
	}
	seller := in.Seller
	if seller.Cards {
		return "How to pay", []string{"It is collected from your card."}
	}
	transfer := slices.Clone(seller.Transfer)
	if len(transfer) == 0 {
		transfer = []string{"By bank transfer. Ask for the bank details at the address that this invoice was emailed from."}
	}
	return "How to pay", append(transfer, "Reference: "+in.NumberText())
}
