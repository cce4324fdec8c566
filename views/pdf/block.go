package pdf

// A heading is queued until the first block under it is drawn. Without a text
// it is only space.
type heading struct {
	text         string
	sum          total // at the right of the text; zero for none
	size         float64
	space, under float64 // above and below, points
	section      bool    // a section's title; false: a group's
}

const (
	sectionSize  = 13.0
	sectionSpace = 16.0 // above
	groupSize    = 9.25
	sectionUnder = 8.0
	groupSpace   = 12.0
	groupUnder   = 3.0
	firstSpace   = 4.0 // above the first group of a section
)

// heading queues a section's title.
func (d *document) heading(title string) {
	d.pending = append(d.pending, heading{text: title, size: sectionSize, space: sectionSpace, under: sectionUnder, section: true})
}

// group queues the title of a part of a section, with its sum.
func (d *document) group(title string, sum total) {
	if title == "" {
		d.space()
		return
	}
	h := heading{text: title, sum: sum, size: groupSize, space: groupSpace, under: groupUnder}
	if len(d.pending) > 0 {
		h.space = firstSpace
	}
	d.pending = append(d.pending, h)
}

// space queues the space above a group whose title is in its table.
func (d *document) space() {
	if len(d.pending) == 0 {
		d.pending = append(d.pending, heading{space: groupSpace})
	}
}

func (h heading) height(atTop bool) float64 {
	if atTop {
		return h.size*leading + h.under
	}
	return h.space + h.size*leading + h.under
}

func (d *document) drawHeading(h heading) {
	d.skip(h.space)
	if h.text == "" {
		return
	}
	if h.section {
		d.bookmark(h.text, d.y)
	}
	baseline := d.y + h.size*1.05
	amount := d.fit(h.sum.amount, true, bodySize, contentWidth*0.4)
	d.textRight(pageWidth-marginX, baseline, amount, bodySize, ink)
	label := d.fit(h.sum.label, false, smallSize, contentWidth*0.4)
	d.textRight(pageWidth-marginX-amount.points(bodySize)-columnGap, baseline, label, smallSize, muted)
	l := d.fit(h.text, true, h.size, contentWidth-amount.points(bodySize)-label.points(smallSize)-2*columnGap)
	if h.section {
		d.text(marginX, baseline, l, h.size, d.accent)
		d.rule(marginX, pageWidth-marginX, d.y+h.size*leading+3, 0.9, d.accent)
	} else {
		d.text(marginX, baseline, l, h.size, ink)
	}
	d.y += h.size*leading + h.under
}

// paragraph draws running text.
func (d *document) paragraph(s string, size float64, c colour) {
	lines := d.phrase(s, false).wrap(units(contentWidth, size))
	for i, l := range lines {
		keep := 1.0
		if i == 0 && len(lines) > 1 {
			keep = 2 // no single first line at the end of a page
		}
		d.need(keep * size * leading)
		d.text(marginX, d.y+size*1.05, l, size, c)
		d.y += size * leading
	}
}

// note draws a short text in place of a table, with keep points left free
// under it.
func (d *document) note(s string, keep float64) {
	d.need(bodySize*leading + 6 + keep)
	d.y += 3
	d.paragraph(s, bodySize, muted)
	d.y += 3
}

// A fact is a small label over a value, width points wide.
type fact struct {
	label, value string
	width        float64
}

// facts draws facts side by side.
func (d *document) facts(facts []fact) {
	const size = 8.25
	x, bottom := marginX, d.y
	for _, f := range facts {
		d.text(x, d.y+smallSize, d.fit(f.label, false, smallSize, f.width-8), smallSize, muted)
		y := d.y + smallSize*1.7
		for _, l := range d.phrase(f.value, false).wrap(units(f.width-8, size)) {
			d.text(x, y+size, l, size, ink)
			y += size * leading
		}
		x += f.width
		bottom = max(bottom, y)
	}
	d.y = bottom
}

// A figure is one number of the summary box.
type figure struct {
	label, value string
	negative     bool
}

// summary draws figures in a tinted box, three to a row.
func (d *document) summary(figures []figure) {
	const perRow, padding, labelled = 3, 18.0, 39.0
	column := (contentWidth - padding*2) / perRow
	labels, most := make([][]line, len(figures)), 0
	for i, f := range figures {
		labels[i] = d.phrase(f.label, false).wrap(units(column-12, figureLabel))
		most = max(most, len(labels[i]))
	}
	rowHeight := labelled + float64(most)*figureLabel*leading
	rows := (len(figures) + perRow - 1) / perRow
	height := float64(rows)*rowHeight + 10
	d.need(height)
	if d.about.mark == "" { // the fill would hide the watermark
		d.pdf.SetFillColor(panel[0], panel[1], panel[2])
		d.pdf.Rect(marginX, d.y, contentWidth, height, "F")
	}
	d.pdf.SetFillColor(d.accent[0], d.accent[1], d.accent[2])
	d.pdf.Rect(marginX, d.y, 2.4, height, "F")
	for i, f := range figures {
		x := marginX + padding + float64(i%perRow)*column
		y := d.y + 6 + float64(i/perRow)*rowHeight
		if i%perRow == 0 && i > 0 {
			d.rule(marginX+padding, pageWidth-marginX-padding, y+1, hairline, rule)
		}
		d.drawFigure(f, labels[i], x, y, column-12)
	}
	d.y += height
}

const figureLabel = 7.75 // font size

func (d *document) drawFigure(f figure, label []line, x, y, width float64) {
	for i, text := range label {
		d.text(x, y+17+float64(i)*figureLabel*leading, text, figureLabel, muted)
	}
	y += 25 + float64(len(label))*figureLabel*leading
	c := ink
	if f.negative {
		c = warning
	}
	value := d.phrase(f.value, true)
	size := 13.5
	for size > 6 && value.width() > units(width, size) {
		size -= 0.5
	}
	d.text(x, y, value.line(0, len(value.glyphs)), size, c)
}
