package pdf

// widest is the most a long text counts when columns share the room, so that
// one address of 500 characters leaves room for its neighbours.
const widest = 230.0

// A demand is what a column asks for, in points.
type demand struct {
	least   float64 // its longest word
	natural float64 // its longest text on one line
}

// roomy is the width of a column of numbers where there is room, so that the
// amounts of most tables stand under one another.
const roomy = 82.0

// widths shares the page's width between the columns at a font size, with
// roomy columns of numbers when generous; fits is false where a smaller size or
// less generosity would spare breaking words.
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
	wanted := min(natural, 200) // or the text columns would be thin and long
	if generous {
		wanted = min(natural, contentWidth/2)
	}
	return widths, room >= least && room >= wanted
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
	const (
		longestKept = 100.0 // points; a longer word may be broken
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
