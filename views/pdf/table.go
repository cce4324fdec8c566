package pdf

// A cell is one text of a table.
type cell struct {
	text     string
	bold     bool
	muted    bool
	negative bool
}

// A column is a column of a table.
type column struct {
	title string
	right bool    // numbers: right-aligned, never wrapped where there is room
	width float64 // points; 0 to fit the contents
}

// A table is rows under a header that is repeated on each page. The last row
// stays on one page with the totals.
type table struct {
	columns []column
	rows    [][]cell
	totals  []total
	keep    float64 // points to keep free under the last row and the totals
}

// A total is a line under a table: the label to the left, the amount to the right.
type total struct {
	label, amount string
	negative      bool
}

const (
	columnGap   = 10.0
	rowPadding  = 4.0
	totalHeight = 21.0
	smallest    = 6.25 // font size of a table too wide for bodySize
)

// A layout is a table with its columns' places and its cells' lines.
type layout struct {
	size   float64
	x      []float64
	width  []float64
	header [][]line
	height float64 // of the header
	titled bool
}

// A row is the lines of each cell; split says that the row goes on.
type row struct {
	cells []cell
	lines [][]line
	count int
	split bool
}

// table draws t.
func (d *document) table(t table) {
	texts := d.prepare(t)
	l := d.layOut(t, texts)
	rows := l.wrapRows(t, texts)
	after := float64(len(t.totals))*totalHeight + t.keep
	if len(rows) == 0 {
		d.need(after)
	}
	for i, r := range rows {
		room := l.rowHeight(r)
		if i == len(rows)-1 {
			room += after
		}
		switch {
		case i == 0:
			d.need(l.height + room)
			d.drawHeader(t, l)
		case d.y+room > contentBottom:
			d.newPage()
			d.drawHeader(t, l)
		}
		d.drawRow(t, l, r)
	}
	for _, total := range t.totals {
		d.drawTotal(total)
	}
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
		titles[i] = d.phrase(c.title, false)
		l.titled = l.titled || c.title != ""
	}
	for ; ; l.size -= 0.25 {
		var fits bool
		if l.width, fits = t.widths(texts, titles, l.size); fits || l.size <= smallest {
			break
		}
	}
	x := marginX
	most := 0
	for i := range t.columns {
		l.x = append(l.x, x)
		x += l.width[i] + columnGap
		lines := titles[i].wrap(l.titleLimit(i))
		l.header = append(l.header, lines)
		most = max(most, len(lines))
	}
	if l.titled {
		l.height = float64(most)*l.titleLineHeight() + 2*rowPadding
	}
	return l
}

// wrapRows breaks each cell into lines, and a row too tall for a page into
// several.
func (l layout) wrapRows(t table, texts [][]phrase) []row {
	limit := int((contentBottom - contentTop - l.height - 2*rowPadding - totalHeight*3) / l.lineHeight())
	rows := make([]row, 0, len(texts))
	for i, phrases := range texts {
		r := row{cells: t.rows[i], lines: make([][]line, len(phrases))}
		for j, p := range phrases {
			r.lines[j] = p.wrap(l.limit(j))
			r.count = max(r.count, len(r.lines[j]))
		}
		for r.count > limit {
			head := row{cells: r.cells, lines: make([][]line, len(r.lines)), count: limit, split: true}
			for j, lines := range r.lines {
				n := min(limit, len(lines))
				head.lines[j], r.lines[j] = lines[:n], lines[n:]
			}
			rows = append(rows, head)
			r.count -= limit
		}
		rows = append(rows, r)
	}
	return rows
}

func (d *document) drawHeader(t table, l layout) {
	if !l.titled {
		return
	}
	size := l.titleSize()
	for i, lines := range l.header {
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
		c := ink
		switch {
		case r.cells[i].negative:
			c = warning
		case r.cells[i].muted:
			c = muted
		}
		for n, line := range lines {
			baseline := top + float64(n)*l.lineHeight() + l.size*1.05
			d.textIn(t.columns[i], l, i, baseline, line, l.size, c)
		}
	}
	d.y += l.rowHeight(r)
	if !r.split {
		d.rule(marginX, pageWidth-marginX, d.y, hairline, rule)
	}
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
