package pdf

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/bidi"
	"golang.org/x/text/unicode/norm"
)

// A glyph is one rune with the face that draws it and its advance in 1/1000 em.
type glyph struct {
	r     rune
	face  *face
	width int
}

// A phrase is a text that is ready to be broken into lines, in logical order.
type phrase struct {
	glyphs    []glyph
	bidi      bool // has right-to-left text
	base      bidi.Direction
	uncovered []rune
}

// A line is one line of a phrase. Its width is in 1/1000 em.
type line struct {
	runs   []run
	width  int
	second bool // the English under its translation
}

// A run is a part of a line, in visual order, that is drawn in one face.
type run struct {
	face  *face
	text  string
	width int
}

// phrase turns any string into glyphs. What can't be drawn is listed as uncovered and
// stands as its number, "[U+1F98A]": a rune that no face has, a control character, a
// byte that isn't UTF-8 (D80).
func (f *Fonts) phrase(s string, bold bool) phrase {
	chain := f.chain(bold)
	p := phrase{base: bidi.LeftToRight}
	if isPrintableASCII(s) {
		p.glyphs = make([]glyph, len(s))
		for i := range len(s) {
			width, _ := chain[0].advance(rune(s[i]))
			p.glyphs[i] = glyph{rune(s[i]), chain[0], width}
		}
		return p
	}
	text := []rune(norm.NFC.String(strings.ToValidUTF8(s, string(utf8.RuneError))))
	if slices.ContainsFunc(text, isArabicLetter) {
		text = joinArabic(text)
	}
	p.bidi, p.base = direction(text)
	p.glyphs = make([]glyph, 0, len(text))
	for _, r := range text {
		if isInvisible(r) {
			continue
		}
		if r == lineBreak {
			p.glyphs = append(p.glyphs, glyph{r: r})
			continue
		}
		if g, ok := pick(chain, r); ok {
			p.glyphs = append(p.glyphs, g)
			continue
		}
		p.uncovered = append(p.uncovered, r)
		for _, c := range numbered(r) {
			g, _ := pick(chain, c)
			p.glyphs = append(p.glyphs, g)
		}
	}
	return p
}

// numbered is what stands for a rune that can't be drawn.
func numbered(r rune) string { return fmt.Sprintf("[%U]", r) }

// drawable returns a text that can hold any rune, such as a file's name, with numbers in
// place of those that can't be drawn: a document with it isn't held up.
func (f *Fonts) drawable(s string) string {
	if isPrintableASCII(s) {
		return s
	}
	var b strings.Builder
	for _, r := range norm.NFC.String(strings.ToValidUTF8(s, string(utf8.RuneError))) {
		if len(f.phrase(string(r), false).uncovered) > 0 {
			b.WriteString(numbered(r))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func isPrintableASCII(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

func isArabicLetter(r rune) bool { return r >= firstArabic && r <= lastArabicLetter }

// isInvisible reports runes that only control layout: joiners, direction
// marks, soft hyphens, variation selectors.
func isInvisible(r rune) bool {
	return unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r)
}

// pick finds the face for r; ok is false without one.
func pick(chain []*face, r rune) (g glyph, ok bool) {
	if unicode.IsSpace(r) && r != '\u00A0' {
		r = ' '
	}
	if r == utf8.RuneError || unicode.IsControl(r) {
		return glyph{}, false
	}
	for _, f := range chain {
		if width, ok := f.advance(r); ok {
			return glyph{r, f, width}, true
		}
	}
	return glyph{}, false
}

// direction reports whether any rune is right-to-left, and the paragraph's
// direction, which is that of the first strong rune.
func direction(text []rune) (rtl bool, base bidi.Direction) {
	base = bidi.Neutral
	for _, r := range text {
		if r < 0x0590 && !unicode.IsLetter(r) {
			continue
		}
		switch bidiClass(r) {
		case bidi.R, bidi.AL:
			rtl = true
			if base == bidi.Neutral {
				base = bidi.RightToLeft
			}
		case bidi.AN:
			rtl = true
		case bidi.L:
			if base == bidi.Neutral {
				base = bidi.LeftToRight
			}
		}
	}
	if base == bidi.Neutral {
		base = bidi.LeftToRight
	}
	return rtl, base
}

func bidiClass(r rune) bidi.Class {
	properties, _ := bidi.LookupRune(r)
	return properties.Class()
}

// width returns the width of the phrase without further breaks, in 1/1000 em.
func (p phrase) width() int {
	widest, width := 0, 0
	for _, g := range p.glyphs {
		width += g.width
		if g.r == lineBreak {
			width = 0
		}
		widest = max(widest, width)
	}
	return widest
}

func widthOf(glyphs []glyph) int {
	total := 0
	for _, g := range glyphs {
		total += g.width
	}
	return total
}

// longestWord returns the width of the widest word, in 1/1000 em. Words over
// limit don't count, because they are broken anyway.
func (p phrase) longestWord(limit int) int {
	longest, word := 0, 0
	for i, g := range p.glyphs {
		if g.r != ' ' {
			word += g.width
		}
		if g.r == ' ' || g.r == lineBreak || i+1 == len(p.glyphs) || p.breakAfter(i) {
			if word <= limit {
				longest = max(longest, word)
			}
			word = 0
		}
	}
	return longest
}

// wrap breaks the phrase into lines of at most limit (1/1000 em): at its line break, at
// spaces, after hyphens and slashes, between ideographs, and anywhere in a word that
// is too long for a line. There is at least one line.
func (p phrase) wrap(limit int) []line {
	var lines []line
	second := false
	end := func(start, end int) {
		l := p.line(start, end)
		l.second = second
		lines = append(lines, l)
	}
	start, width, fits := 0, 0, 0 // fits: end of the last word that fits on the line
	for i := 0; i < len(p.glyphs); i++ {
		g := p.glyphs[i]
		if g.r == lineBreak {
			end(start, i)
			start, width, fits, second = i+1, 0, i+1, true
			continue
		}
		if width+g.width > limit && i > start && g.r != ' ' {
			at := fits
			if fits <= start {
				at = p.clusterStart(start, i)
			}
			end(start, at)
			start = p.skipSpaces(at)
			i = max(i, start)
			fits = start
			if i >= len(p.glyphs) {
				break
			}
			width = widthOf(p.glyphs[start:i])
			g = p.glyphs[i]
		}
		width += g.width
		if p.breakAfter(i) {
			fits = i + 1
		}
	}
	if start < len(p.glyphs) || len(lines) == 0 {
		end(start, len(p.glyphs))
	}
	return lines
}

// clusterStart moves a break inside a word back, so that a combining mark stays with its letter.
func (p phrase) clusterStart(start, i int) int {
	for at := i; at > start+1; at-- {
		if !unicode.Is(unicode.Mn, p.glyphs[at].r) {
			return at
		}
	}
	return i
}

func (p phrase) skipSpaces(i int) int {
	for i < len(p.glyphs) && p.glyphs[i].r == ' ' {
		i++
	}
	return i
}

func (p phrase) breakAfter(i int) bool {
	r := p.glyphs[i].r
	if r == ' ' {
		return i == 0 || p.glyphs[i-1].r != '×' // “× 50%”
	}
	if i+1 == len(p.glyphs) {
		return false
	}
	next := p.glyphs[i+1].r
	if next == ' ' || unicode.IsPunct(next) || unicode.Is(unicode.Mn, next) {
		return false
	}
	switch r {
	case '-', '–', '—', '/', '@':
		return i > 0 && unicode.IsLetter(next)
	}
	return isIdeograph(r)
}

func isIdeograph(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// line puts glyphs[start:end], without trailing spaces, in visual order.
func (p phrase) line(start, end int) line {
	glyphs := p.glyphs[start:end]
	for len(glyphs) > 0 && glyphs[len(glyphs)-1].r == ' ' {
		glyphs = glyphs[:len(glyphs)-1]
	}
	if p.bidi {
		glyphs = reorder(glyphs, p.base)
	}
	return newLine(glyphs)
}

func newLine(glyphs []glyph) line {
	var l line
	var text strings.Builder
	for i, g := range glyphs {
		if i > 0 && g.face != glyphs[i-1].face {
			l.runs[len(l.runs)-1].text = text.String()
			text.Reset()
		}
		if text.Len() == 0 {
			l.runs = append(l.runs, run{face: g.face})
		}
		text.WriteRune(g.r)
		l.runs[len(l.runs)-1].width += g.width
		l.width += g.width
	}
	if len(l.runs) > 0 {
		l.runs[len(l.runs)-1].text = text.String()
	}
	return l
}

// plainText returns s for the document's properties, where fpdf writes two
// bytes a rune and panics if s isn't UTF-8.
func plainText(s string) string {
	var b strings.Builder
	for _, r := range norm.NFC.String(strings.ToValidUTF8(s, string(utf8.RuneError))) {
		switch {
		case unicode.IsSpace(r):
			b.WriteByte(' ')
		case r >= planeSize-1, unicode.IsControl(r), r == utf8.RuneError:
			b.WriteString(numbered(r))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
