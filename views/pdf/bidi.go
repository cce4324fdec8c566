package pdf

import (
	"slices"

	"golang.org/x/text/unicode/bidi"
)

// Direct marks that force the base direction of a line. They are added for the
// analysis and never drawn.
const (
	leftToRightMark = '\u200E'
	rightToLeftMark = '\u200F'
)

// A stretch is a part of a line with one direction.
type stretch struct {
	glyphs []glyph
	rtl    bool
	letter bool // has a strongly left-to-right letter
}

// reorder returns one line's glyphs in visual order. x/text returns the
// stretches of a line in logical order and leaves their order to the caller.
func reorder(glyphs []glyph, base bidi.Direction) []glyph {
	stretches := split(glyphs, base)
	if base == bidi.RightToLeft {
		slices.Reverse(stretches)
	} else {
		swapRightToLeft(stretches)
	}
	visual := make([]glyph, 0, len(glyphs))
	for _, s := range stretches {
		if !s.rtl {
			visual = append(visual, s.glyphs...)
			continue
		}
		for _, g := range slices.Backward(s.glyphs) {
			visual = append(visual, mirror(g))
		}
	}
	return visual
}

// split analyses a line with the Unicode bidirectional algorithm.
func split(glyphs []glyph, base bidi.Direction) []stretch {
	mark := leftToRightMark
	if base == bidi.RightToLeft {
		mark = rightToLeftMark
	}
	text := make([]rune, 0, len(glyphs)+1)
	text = append(text, mark)
	for _, g := range glyphs {
		text = append(text, g.r)
	}
	var paragraph bidi.Paragraph
	whole := []stretch{{glyphs: glyphs}}
	if _, err := paragraph.SetString(string(text)); err != nil {
		return whole
	}
	order, err := paragraph.Order()
	if err != nil {
		return whole
	}
	var stretches []stretch
	for i := range order.NumRuns() {
		r := order.Run(i)
		first, last := r.Pos() // in runes, with the mark
		s := stretch{glyphs: glyphs[max(first-1, 0):last], rtl: r.Direction() == bidi.RightToLeft}
		s.letter = slices.ContainsFunc(s.glyphs, func(g glyph) bool { return bidiClass(g.r) == bidi.L })
		if len(s.glyphs) > 0 {
			stretches = append(stretches, s)
		}
	}
	return stretches
}

// swapRightToLeft reverses each group of right-to-left stretches in a
// left-to-right line, with the numbers between them.
func swapRightToLeft(stretches []stretch) {
	for i := 0; i < len(stretches); i++ {
		if !stretches[i].rtl {
			continue
		}
		end := i + 1
		for end < len(stretches) && (stretches[end].rtl || isNumeral(stretches[end])) {
			end++
		}
		slices.Reverse(stretches[i:end])
		i = end
	}
}

func isNumeral(s stretch) bool {
	if s.letter || len(s.glyphs) == 0 {
		return false
	}
	switch bidiClass(s.glyphs[0].r) {
	case bidi.EN, bidi.AN, bidi.ET:
		return true
	}
	return false
}

func mirror(g glyph) glyph {
	mirrored := []rune(bidi.ReverseString(string(g.r)))
	if len(mirrored) == 1 && mirrored[0] != g.r {
		if width, ok := g.face.advance(mirrored[0]); ok {
			return glyph{mirrored[0], g.face, width}
		}
	}
	return g
}
