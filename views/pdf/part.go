package pdf

// A part is a piece of a section. It is laid out first, so that a section's
// height is known before it is drawn.
type part struct {
	height  float64
	follows bool               // it stays on the page of the part before it
	draw    func(keep float64) // with keep points left free under it
}

// after returns the part so that it stays on the page of the part before it.
func (p part) after() part {
	p.follows = true
	return p
}

// little is the end of a page, a third of it, in which no section begins that it can't hold.
const little = (contentBottom - contentTop) / 3

// section draws parts under a title. It is broken between them, or in a long table.
func (d *document) section(title string, parts []part) {
	if remains := contentBottom - d.y; remains < little && sectionHeight(parts) > remains {
		d.newPage()
	}
	d.heading(title)
	for i, p := range parts {
		keep := 0.0
		for _, next := range parts[i+1:] {
			if !next.follows {
				break
			}
			keep += next.height
		}
		p.draw(keep)
	}
}

// together begins a page for sections of that height, if it holds them and this one, which
// isn't left half empty, doesn't.
func (d *document) together(height float64) {
	const page = contentBottom - contentTop
	if remains := contentBottom - d.y; height > remains && height <= page && remains < page*0.45 {
		d.newPage()
	}
}

func sectionHeight(parts []part) float64 {
	height := sectionSpace + sectionSize*leading + sectionUnder
	for _, p := range parts {
		height += p.height
	}
	return height
}

// titled is a group's title with its sum, or only the space above a group whose title is in
// its table.
func (d *document) titled(title string, sum total) part {
	height := groupSpace
	if title != "" {
		height += groupSize*leading + groupUnder
	}
	return part{height: height, draw: func(float64) { d.group(title, sum) }}
}

// rows is a table.
func (d *document) rows(t table) part {
	l := d.lay(t)
	return part{height: l.whole(), draw: func(keep float64) { d.drawTable(l, keep) }}
}

// sums is the total of a section.
func (d *document) sums(totals []total) part {
	const space = 10.0
	return part{height: space + float64(len(totals))*totalHeight, follows: true, draw: func(float64) {
		d.need(0)
		d.skip(space)
		for _, t := range totals {
			d.drawTotal(t)
		}
	}}
}

// line is a short muted text under space points.
func (d *document) line(s string, space float64) part { return d.prose(s, space, bodySize, muted) }

// prose is a text that stays on one page, under space points.
func (d *document) prose(s string, space, size float64, c colour) part {
	lines := d.phrase(s, false).wrap(units(contentWidth, size))
	height := space + float64(len(lines))*size*leading
	return part{height: height, draw: func(keep float64) {
		d.need(height + keep)
		d.skip(space)
		for _, l := range lines {
			d.text(marginX, d.y+size*1.05, l, size, c)
			d.y += size * leading
		}
	}}
}
