package pdf

// widest is the most a long text counts when columns share the room, so that
// one address of 500 characters leaves room for its neighbours.
const widest = 230.0

// A demand is what a column asks for, in points.
type demand struct {
	least   float64 // its longest word
	natural float64 // its longest text on one line
}

// widths shares the page's width between the columns at a font size; fits is
// false where a smaller size would spare breaking words.
func (t table) widths(texts [][]phrase, titles []phrase, size float64) (widths []float64, fits bool) {
	room := contentWidth - columnGap*float64(len(t.columns)-1)
	widths = make([]float64, len(t.columns))
	demands := make([]demand, len(t.columns))
	var least, natural float64
	for i, c := range t.columns {
		demands[i] = t.demand(i, texts, titles[i], size)
		switch {
		case c.width > 0:
			widths[i] = c.width
			room -= c.width
		case c.right:
			widths[i] = demands[i].natural
			room -= widths[i]
		default:
			least += demands[i].least
			natural += demands[i].natural
		}
	}
	for i, c := range t.columns {
		if c.right || c.width > 0 {
			continue
		}
		widths[i] = share(demands[i], room, least, natural)
	}
	return widths, room >= least
}

// share gives a text column its part of the room that all text columns share.
func share(d demand, room, least, natural float64) float64 {
	const narrowest = 24
	switch {
	case natural <= room: // all fit on one line: spread what is left
		return d.natural + (room-natural)*d.natural/natural
	case least <= room:
		return d.least + (room-least)*(d.natural-d.least)/(natural-least)
	}
	return max(narrowest, room*d.least/least)
}

func (t table) demand(i int, texts [][]phrase, title phrase, size float64) demand {
	const longestKept = 110.0 // points; a longer word may be broken
	points := func(units int) float64 { return float64(units)*size/1000 + 0.5 }
	d := demand{least: points(title.longestWord())}
	d.natural = d.least
	for _, phrases := range texts {
		p := phrases[i]
		d.natural = max(d.natural, points(p.width()))
		d.least = max(d.least, points(p.longestWord()))
	}
	if t.columns[i].right {
		return d
	}
	d.natural = min(max(d.natural, points(title.width())), widest)
	d.least = min(d.least, longestKept, d.natural)
	return d
}
