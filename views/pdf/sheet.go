package pdf

const (
	sheetGap   = 24.0
	wideSheet  = 230.0 // width of the wider of two sheets
	sheetUnder = 5.0   // under a sheet's title
)

// A sheet is a title over labels and values, which stands beside another. Between an
// amount and its label stands how it was given, "" for just so.
type sheet struct {
	title string
	unit  string // of the amounts
	rows  [][]cell
	note  string // under the rows
	money bool   // the values are amounts
}

// A laidSheet is a sheet that is laid out.
type laidSheet struct {
	sheet
	width, label float64
	head         [3][]line // the title, what is over amounts as given, and the unit
	given        float64   // from the right edge to where amounts as given begin; 0 without any
	rows         []sheetRow
	note         []line
}

// A sheetRow is the lines of a label and its value.
type sheetRow struct {
	cells               []cell
	label, given, value []line
	height              float64
}

// laySheet lays a sheet out in width points.
func (d *document) laySheet(s sheet, width float64) laidSheet {
	l := laidSheet{sheet: s, width: width}
	padding := 1.5
	if s.money {
		padding = 2 * rowPadding
	} else {
		for _, r := range s.rows {
			l.label = max(l.label, float64(d.phrase(r[0].text, false).width())*bodySize/1000)
		}
		l.label = min(l.label+columnGap, width/2)
	}
	amounts, given := 0.0, 0.0
	if s.money {
		amounts, given = d.widest(s.rows, 2), min(d.widest(s.rows, 1), widestGiven)
	}
	if given > 0 {
		l.given = amounts + columnGap + given
	}
	l.head = d.sheetHead(l)
	for _, r := range s.rows {
		label, value := d.phrase(r[0].text, false), d.phrase(r[len(r)-1].text, false)
		row := sheetRow{cells: r}
		if s.money {
			row.value = []line{value.line(0, len(value.glyphs))}
			row.label = label.wrap(units(width-max(l.given, amounts)-columnGap, bodySize))
			row.given = d.phrase(r[1].text, false).wrap(units(given, bodySize))
		} else {
			row.value = value.wrap(units(width-l.label, bodySize))
			row.label = label.wrap(units(l.label-columnGap/2, bodySize))
		}
		row.height = float64(max(len(row.label), len(row.given), len(row.value)))*bodySize*leading + padding
		l.rows = append(l.rows, row)
	}
	if s.note != "" {
		l.note = d.phrase(s.note, false).wrap(units(width, bodySize))
	}
	return l
}

// widestGiven is the room that an amount as given has at most, on one line.
const widestGiven = 108.0

// widest is the width of a column's widest text, in points.
func (d *document) widest(rows [][]cell, column int) float64 {
	most := 0
	for _, r := range rows {
		most = max(most, d.phrase(r[column].text, false).width())
	}
	if most == 0 {
		return 0
	}
	return float64(most)*bodySize/1000 + 0.1 // rounding breaks no line
}

// sheetHead lays out what is over the rows.
func (d *document) sheetHead(l laidSheet) (head [3][]line) {
	head[2] = d.phrase(l.unit, false).wrap(units(l.width/2, smallSize))
	room := l.width - columnGap/2 - max(l.given, head[2][0].points(smallSize), head[2][len(head[2])-1].points(smallSize))
	if l.given > 0 {
		head[1] = d.phrase(d.say(asGiven), false).wrap(units(l.given/2, smallSize))
	}
	head[0] = d.phrase(l.title, true).wrap(units(room, groupSize))
	return head
}

// headHeight is that of what is over the rows.
func (l laidSheet) headHeight() float64 {
	return float64(max(len(l.head[0]), len(l.head[1]), len(l.head[2]))) * groupSize * leading
}

// height is that of the whole sheet.
func (l laidSheet) height() float64 {
	h := l.headHeight() + sheetUnder
	for _, r := range l.rows {
		h += r.height
	}
	if len(l.note) > 0 {
		h += float64(len(l.note))*bodySize*leading + rowPadding
	}
	return h
}

// ledgers are one or two sheets side by side; below each other as tables, which can be
// broken, if they could be taller than a page with a section's title and its totals.
func (d *document) ledgers(sheets []laidSheet) []part {
	if len(sheets) == 0 {
		return nil
	}
	height := 0.0
	for _, s := range sheets {
		height = max(height, s.height())
	}
	if height > contentBottom-contentTop-100 {
		return d.tables(sheets)
	}
	return []part{d.titled("", total{}), {height: height, draw: func(keep float64) {
		d.need(height + keep)
		d.sheets(sheets...)
	}}}
}

// tables are ledgers as tables.
func (d *document) tables(ledgers []laidSheet) (parts []part) {
	for _, l := range ledgers {
		columns := []column{{title: l.title, strong: true}, {}, {title: l.unit, right: true}}
		if l.given > 0 {
			columns[1].title = d.say(asGiven)
		}
		parts = append(parts, d.titled("", total{}), d.rows(table{columns, l.sheet.rows}))
		if l.sheet.note != "" {
			parts = append(parts, d.line(l.sheet.note, rowPadding).after())
		}
	}
	return parts
}

// sheets draws sheets side by side.
func (d *document) sheets(sheets ...laidSheet) {
	top, bottom, x := d.y, d.y, marginX
	for _, s := range sheets {
		d.y = top
		d.drawSheet(s, x)
		bottom = max(bottom, d.y)
		x += s.width + sheetGap
	}
	d.y = bottom
}

func (d *document) drawSheet(l laidSheet, x float64) {
	right := x + l.width
	title := d.accent
	if l.money {
		title = ink
	}
	baseline := func(i int) float64 { return d.y + groupSize*1.05 + float64(i)*groupSize*leading }
	for i, text := range l.head[0] {
		d.text(x, baseline(i), text, groupSize, title)
	}
	for i, text := range l.head[1] {
		d.text(right-l.given, baseline(i), text, smallSize, muted)
	}
	for i, text := range l.head[2] {
		d.textRight(right, baseline(i), text, smallSize, muted)
	}
	d.y += l.headHeight()
	d.rule(x, right, d.y+1, 0.6, muted)
	d.y += sheetUnder
	for _, r := range l.rows {
		d.drawSheetRow(l, r, x)
	}
	for _, text := range l.note {
		d.text(x, d.y+bodySize*1.05+rowPadding/2, text, bodySize, muted)
		d.y += bodySize * leading
	}
	if len(l.note) > 0 {
		d.y += rowPadding
	}
}

func (d *document) drawSheetRow(l laidSheet, r sheetRow, x float64) {
	top, right := d.y+bodySize*1.05, x+l.width
	if l.money {
		top += rowPadding / 2
	}
	for i, text := range r.label {
		d.text(x, top+float64(i)*bodySize*leading, text, bodySize, r.cells[0].colour())
	}
	for i, text := range r.given {
		d.text(right-l.given, top+float64(i)*bodySize*leading, text, bodySize, r.cells[1].colour())
	}
	for i, text := range r.value {
		at := x + l.label
		if l.money {
			at = right - text.points(bodySize)
		}
		d.text(at, top+float64(i)*bodySize*leading, text, bodySize, r.cells[len(r.cells)-1].colour())
	}
	d.y += r.height
	if l.money {
		d.rule(x, right, d.y-rowPadding/2, hairline, rule)
	}
}
