package pdf

// widest is the largest width that a long text counts with when columns share
// the page, so that an address of 500 characters leaves room for other
// columns.
const widest = 230.0

// A demand is the width that a column needs, in points.
type demand struct {
	least   float64 // its longest word
	natural float64 // its longest text on one line
}

// roomy is the width of a column of numbers if there is room, so that the
// amounts of most tables are aligned.
const roomy = 82.0

// widths shares the page's width between the columns at a font size. If
// generous, columns of numbers are roomy. fits is false if a smaller size, or
// generous false, would avoid breaking words.
func (t table) widths(texts [][]phrase, titles []phrase, size float64, generous bool) (widths []float64, fits bool) {
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
			if generous {
				widths[i] = max(widths[i], roomy)
			}
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
	wanted := min(natural, 200) // or the text columns would be narrow and long
	if generous {
		wanted = min(natural, contentWidth/2)
	}
	return widths, room >= least && room >= wanted
}

// share returns a text column's part of the width that all text columns share.
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
	const (
		longestKept = 100.0 // points; a longer word can be broken
		shortest    = 30.0
	)
	points := func(units int) float64 { return float64(units)*size/1000 + 0.5 }
	limit := units(longestKept, size)
	d := demand{least: max(shortest, points(title.longestWord(limit)))}
	if t.columns[i].right {
		d.least = points(title.longestWord(limit))
	}
	d.natural = d.least
	for _, phrases := range texts {
		d.natural = max(d.natural, points(phrases[i].width()))
		d.least = max(d.least, points(phrases[i].longestWord(limit)))
	}
	if !t.columns[i].right {
		d.natural = max(d.least, min(max(d.natural, points(title.width())), widest))
	}
	return d
}
