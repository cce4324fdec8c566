package pdf

// A cell is one text of a table.
type cell struct {
	text     string
	bold     bool
	muted    bool
	negative bool
}

func (c cell) colour() colour {
	switch {
	case c.negative:
		return warning
	case c.muted:
		return muted
	}
	return ink
}

// A column is a column of a table.
type column struct {
	title  string
	strong bool    // the title is the table's title, drawn as a group's heading
	right  bool    // numbers: right-aligned, not wrapped if there is room
	width  float64 // points; 0 to fit the contents
}

// A table is rows under a header that is repeated on each page. A short table
// stays on one page.
type table struct {
	columns []column
	rows    [][]cell
}

// A total is a line under a table: the label on the left, the amount on the
// right.
type total struct {
	label, amount string
	negative      bool
}

const (
	columnGap   = 10.0
	rowPadding  = 2.4
	totalHeight = 19.0
	short       = 150.0 // height of a table that isn't broken
	tall        = 12    // lines of a row that can be broken
	smallest    = 6.25  // font size of a table too wide for bodySize
)

// A layout is a table with the columns' places and the cells' lines.
type layout struct {
	size   float64
	x      []float64
	width  []float64
	header [][]line
	height float64 // of the header
	titled bool
}

// A row is the lines of each cell.
type row struct {
	cells []cell
	lines [][]line
	count int // of the cell with the most lines
}

// A laid is a table that is laid out.
type laid struct {
	table
	layout
	wrapped []row
}

// lay lays a table out.
func (d *document) lay(t table) laid {
	texts := d.prepare(t)
	l := d.layOut(t, texts)
	return laid{t, l, l.wrapRows(t, texts)}
}

// whole is the table's height on one page.
func (l laid) whole() float64 {
	whole := l.height
	for _, r := range l.wrapped {
		whole += l.rowHeight(r)
	}
	return whole
}

// drawTable draws a table, with keep points left free under it on the page of
// its last row.
func (d *document) drawTable(l laid, keep float64) {
	whole := l.whole() + keep
	rows := l.wrapped
	switch {
	case whole <= short, len(rows) == 0, len(rows) == 1 && rows[0].count < tall:
		d.need(whole)
	default:
		d.need(l.height + l.rowHeight(rows[0].lead()) + rowPadding)
	}
	d.drawHeader(l.table, l.layout)
	for i, r := range rows {
		reserved := 0.0
		if i == len(rows)-1 {
			reserved = keep
		}
		d.flow(l.table, l.layout, r, reserved)
		d.rule(marginX, pageWidth-marginX, d.y, hairline, rule)
	}
}

// flow draws one row, on the next page if it doesn't fit on this one together
// with the reserved space. It breaks a tall row, and a row that would fit on
// no page.
func (d *document) flow(t table, l layout, r row, reserved float64) {
	for {
		if d.y+l.rowHeight(r)+reserved <= contentBottom {
			break
		}
		fresh := d.y <= contentTop+l.height
		n := int((contentBottom - d.y - 2*rowPadding) / l.lineHeight())
		if fresh && n >= r.count {
			break // only the reserved space doesn't fit, on any page
		}
		if n = min(n, r.count-2); fresh || r.count >= tall && n >= tall/3 {
			d.drawRow(t, l, r.cut(0, max(n, 1)))
			r = r.cut(max(n, 1), r.count)
		}
		d.newPage()
		d.drawHeader(t, l)
	}
	d.drawRow(t, l, r)
}

// lead is the part of a row that must be under the table's header.
func (r row) lead() row {
	if r.count < tall {
		return r
	}
	return r.cut(0, tall/3)
}

// cut returns the row with only the lines from up to to.
func (r row) cut(from, to int) row {
	part := row{cells: r.cells, lines: make([][]line, len(r.lines)), count: to - from}
	for i, lines := range r.lines {
		part.lines[i] = lines[min(from, len(lines)):min(to, len(lines))]
	}
	return part
}

func (d *document) prepare(t table) [][]phrase {
	texts := make([][]phrase, len(t.rows))
	for i, cells := range t.rows {
		texts[i] = make([]phrase, len(cells))
		for j, c := range cells {
			texts[i][j] = d.phrase(c.text, c.bold)
		}
	}
	return texts
}

func (l layout) lineHeight() float64       { return l.size * leading }
func (l layout) rowHeight(r row) float64   { return float64(r.count)*l.lineHeight() + 2*rowPadding }
func (l layout) titleSize() float64        { return min(smallSize, l.size) }
func (l layout) titleLineHeight() float64  { return l.titleSize() * 1.3 }
func (l layout) limit(column int) int      { return units(l.width[column], l.size) }
func (l layout) titleLimit(column int) int { return units(l.width[column], l.titleSize()) }

// layOut chooses the font size and the columns' widths.
func (d *document) layOut(t table, texts [][]phrase) layout {
	titles := make([]phrase, len(t.columns))
	l := layout{size: bodySize}
	for i, c := range t.columns {
		titles[i] = d.phrase(c.title, c.strong)
		l.titled = l.titled || c.title != ""
	}
	for generous := true; ; generous = false {
		var fits bool
		if l.width, fits = t.widths(texts, titles, l.size, generous); fits || l.size <= smallest {
			break
		}
		if !generous {
			l.size -= 0.25
		}
	}
	x := marginX
	most := 0
	for i, c := range t.columns {
		l.x = append(l.x, x)
		x += l.width[i] + columnGap
		limit := l.titleLimit(i)
		if c.strong {
			limit = units(l.width[i], groupSize)
		}
		lines := titles[i].wrap(limit)
		l.header = append(l.header, lines)
		most = max(most, len(lines))
	}
	if l.titled {
		l.height = float64(most)*l.titleLineHeight() + 2*rowPadding
	}
	for i, c := range t.columns {
		if c.strong {
			l.height = max(l.height, float64(len(l.header[i]))*groupSize*leading+2*rowPadding)
		}
	}
	return l
}

// wrapRows breaks each cell into lines.
func (l layout) wrapRows(t table, texts [][]phrase) []row {
	rows := make([]row, len(texts))
	for i, phrases := range texts {
		r := row{cells: t.rows[i], lines: make([][]line, len(phrases))}
		for j, p := range phrases {
			r.lines[j] = p.wrap(l.limit(j))
			r.count = max(r.count, len(r.lines[j]))
		}
		rows[i] = r
	}
	return rows
}

func (d *document) drawHeader(t table, l layout) {
	if !l.titled {
		return
	}
	for i, lines := range l.header {
		if t.columns[i].strong {
			for n, line := range lines {
				d.text(marginX, d.y+l.height-rowPadding-2.2-float64(len(lines)-1-n)*groupSize*leading, line, groupSize, ink)
			}
			continue
		}
		size := l.titleSize()
		top := d.y + l.height - rowPadding - float64(len(lines))*l.titleLineHeight()
		for n, line := range lines {
			d.textIn(t.columns[i], l, i, top+float64(n)*l.titleLineHeight()+size, line, size, muted)
		}
	}
	d.y += l.height
	d.rule(marginX, pageWidth-marginX, d.y, 0.6, muted)
}

func (d *document) drawRow(t table, l layout, r row) {
	top := d.y + rowPadding
	for i, lines := range r.lines {
		c := r.cells[i].colour()
		for n, line := range lines {
			baseline := top + float64(n)*l.lineHeight() + l.size*1.05
			d.textIn(t.columns[i], l, i, baseline, line, l.size, c)
		}
	}
	d.y += l.rowHeight(r)
}

func (d *document) textIn(c column, l layout, i int, baseline float64, text line, size float64, col colour) {
	if c.right {
		d.textRight(l.x[i]+l.width[i], baseline, text, size, col)
		return
	}
	d.text(l.x[i], baseline, text, size, col)
}

func (d *document) drawTotal(t total) {
	c := ink
	if t.negative {
		c = warning
	}
	d.rule(marginX, pageWidth-marginX, d.y, 0.6, ink)
	amount := d.fit(t.amount, true, bodySize, contentWidth*0.6)
	d.textRight(pageWidth-marginX, d.y+14, amount, bodySize, c)
	d.text(marginX, d.y+14, d.fit(t.label, true, bodySize, contentWidth-amount.points(bodySize)-columnGap), bodySize, ink)
	d.y += totalHeight
}
