// Package pdf draws submitted financial statements and invoices as A4 documents.
//
// A statement's sections are walked through their form.Section description,
// so a question is drawn with the label it was asked with. The package does no
// I/O but reading a fallback font, knows no database and no HTTP, and takes
// every time from its input: the same input gives the same bytes.
//
// The files, from the bottom up: face.go holds the fonts and subset.go cuts them;
// arabic.go, bidi.go and text.go turn a string into lines of glyphs; document.go
// keeps the pages; words.go says its texts in a language; metadata.go ends the file and embed.go puts the fonts in;
// block.go, table.go, columns.go, sheet.go and watermark.go draw on them; part.go
// keeps sections whole; first.go and statement.go draw the statement and
// invoice.go the invoice.
package pdf

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/go-pdf/fpdf"

	"candor/internal/domain"
	"candor/views/ui"
)

// Sizes in points. A4 is 210 mm by 297 mm.
const (
	pageWidth     = 595.28
	pageHeight    = 841.89
	marginX       = 54.0
	contentWidth  = pageWidth - 2*marginX
	contentTop    = 72.0 // under the running head
	contentBottom = pageHeight - 60.0
	footBaseline  = pageHeight - 38.0
	headBaseline  = 46.0

	bodySize  = 8.5
	smallSize = 7.25
	leading   = 1.42 // line height over font size

	hairline = 0.4
)

// A colour is red, green, blue.
type colour [3]int

// One accent colour, the partner's if it has one. Everything else is ink and greys that a photocopier
// keeps.
var (
	ink       = colour{28, 34, 43}
	muted     = colour{96, 104, 116}
	rule      = colour{216, 220, 226}
	accent    = colour{22, 72, 92}
	panel     = colour{245, 247, 248}
	warning   = colour{156, 38, 38} // negative amounts
	watermark = colour{241, 243, 245}
)

// A properties is a document's metadata, and what is on each page.
type properties struct {
	title, author string
	subject       string
	created       time.Time // UTC
	head, foot    string    // text at the left of the top and the foot of each page
	headRight     string
	mark          string // a word across each page, "" for none
	test          bool   // the head says "Test mode"
	brand         string // six hex digits; "" for Candor's accent
	language      domain.Language
	words         words
}

// A document is an A4 document that is drawn from top to bottom.
type document struct {
	words
	pdf   *fpdf.Fpdf
	fonts *Fonts
	about properties

	used      map[*face]*runeSet // faces that fpdf knows
	codes     codes
	accent    colour
	uncovered map[rune]bool
	font      *face // as last selected on this page
	size      float64
	y         float64 // top of the next block
	pending   []heading
	attached  attachment
}

// newDocument returns a document with an open first page. It is deterministic:
// it uses no clock, and its catalogue is sorted.
func newDocument(fonts *Fonts, about properties) *document {
	p := fpdf.New("P", "pt", "A4", "")
	p.SetAutoPageBreak(false, 0)
	p.SetMargins(marginX, contentTop, marginX)
	p.SetCatalogSort(true)
	p.SetCompression(false) // repack compresses
	p.SetCreationDate(about.created.UTC())
	p.SetModificationDate(about.created.UTC())
	p.SetProducer("Candor", true)
	p.SetCreator("Candor", true)
	p.SetTitle(plainText(about.title), true)
	p.SetAuthor(plainText(about.author), true)
	p.SetSubject(plainText(about.subject), true)
	p.SetLang(string(about.language))
	p.SetXmpMetadata(about.xmp())
	d := &document{words: about.words, pdf: p, fonts: fonts, about: about, used: map[*face]*runeSet{}, uncovered: map[rune]bool{}}
	d.accent = accent
	if r, g, b, ok := ui.BrandOnPaper(about.brand); ok {
		d.accent = colour{r, g, b}
	}
	d.newPage()
	return d
}

// newPage starts a page. The watermark is drawn first, so that it is under the
// text.
func (d *document) newPage() {
	d.pdf.AddPage()
	d.font = nil
	d.y = contentTop
	if d.about.mark != "" {
		d.drawWatermark(d.about.mark)
	}
}

// need makes room for h points and the queued headings, and draws the
// headings: a heading is never left alone on a page.
func (d *document) need(h float64) {
	total := h
	for i, hd := range d.pending {
		total += hd.height(i == 0 && d.atTop())
	}
	if d.y+total > contentBottom && !d.atTop() {
		d.newPage()
	}
	for _, hd := range d.pending {
		d.drawHeading(hd)
	}
	d.pending = nil
}

func (d *document) atTop() bool { return d.y <= contentTop }

// skip leaves vertical space, except at the top of a page.
func (d *document) skip(h float64) {
	if !d.atTop() {
		d.y += h
	}
}

// phrase prepares a text and records what can't be drawn.
func (d *document) phrase(s string, bold bool) phrase {
	p := d.fonts.phrase(s, bold)
	for _, r := range p.uncovered {
		d.uncovered[r] = true
	}
	return p
}

// points is the line's width at a font size.
func (l line) points(size float64) float64 { return float64(l.width) * size / 1000 }

// units converts points at a font size to 1/1000 em.
func units(points, size float64) int { return int(points * 1000 / size) }

// text draws one line with its baseline at y.
func (d *document) text(x, y float64, l line, size float64, c colour) {
	if l.second {
		c = muted
	}
	d.pdf.SetTextColor(c[0], c[1], c[2])
	for _, r := range l.runs {
		d.use(r.face, size)
		d.pdf.Text(x, y, d.encode(r))
		x += float64(r.width) * size / 1000
	}
}

// encode returns a run's text in the fonts' encoding, and notes its runes.
func (d *document) encode(r run) string {
	used := d.used[r.face]
	b := make([]byte, 0, 128)
	for _, c := range r.text {
		code := d.codes.of(c)
		used.add(code)
		b = append(b, byte(code>>8), byte(code))
	}
	return string(b)
}

// bookmark adds an entry to the document's outline.
func (d *document) bookmark(title string, y float64) {
	b := []byte("\xFE\xFF") // big-endian
	for _, r := range plainText(oneLine(title)) {
		b = append(b, byte(r>>8), byte(r))
	}
	d.pdf.Bookmark(string(b), 0, y)
}

// textRight draws one line that ends at x.
func (d *document) textRight(x, y float64, l line, size float64, c colour) {
	d.text(x-l.points(size), y, l, size, c)
}

func (d *document) use(f *face, size float64) {
	if d.font == f && d.size == size {
		return
	}
	if d.used[f] == nil {
		f.register(d.pdf)
		d.used[f] = new(runeSet)
	}
	d.pdf.SetFont(f.family, "", size)
	d.font, d.size = f, size
}

// rule draws a horizontal line.
func (d *document) rule(x1, x2, y, width float64, c colour) {
	d.pdf.SetDrawColor(c[0], c[1], c[2])
	d.pdf.SetLineWidth(width)
	d.pdf.Line(x1, y, x2, y)
}

// fit shortens a one-line text to limit points, with an ellipsis.
func (d *document) fit(s string, bold bool, size, limit float64) line {
	p := d.phrase(oneLine(s), bold)
	if p.width() <= units(limit, size) {
		return p.line(0, len(p.glyphs))
	}
	dots := d.phrase("…", bold).glyphs
	room := units(limit, size) - widthOf(dots)
	end, width := 0, 0
	for end < len(p.glyphs) && width+p.glyphs[end].width <= room {
		width += p.glyphs[end].width
		end++
	}
	p.glyphs = append(p.glyphs[:end:end], dots...)
	return p.line(0, len(p.glyphs))
}

// finish adds the head and foot of every page, now that the number of pages is
// known, and returns the file.
func (d *document) finish() (Result, error) {
	pages := d.pdf.PageCount()
	for page := 1; page <= pages; page++ {
		d.pdf.SetPage(page)
		d.font = nil
		if page > 1 {
			d.drawHead()
		}
		d.drawFoot(page, pages)
	}
	var file bytes.Buffer
	if err := d.pdf.Output(&file); err != nil {
		return Result{}, fmt.Errorf("write pdf: %w", err)
	}
	content, err := repack(file.Bytes(), d.used, d.codes, d.attached)
	if err != nil {
		return Result{}, fmt.Errorf("write pdf: %w", err)
	}
	return Result{Bytes: content, Pages: pages, Uncovered: slices.Sorted(maps.Keys(d.uncovered))}, nil
}

func (d *document) drawHead() {
	right := d.fit(d.about.headRight, false, smallSize, contentWidth/2)
	d.textRight(pageWidth-marginX, headBaseline, right, smallSize, muted)
	head := d.about.head
	if d.about.test {
		head = oneLine(d.say("Test mode")) + "  ·  " + head
	}
	left := d.fit(head, true, smallSize, contentWidth-right.points(smallSize)-24)
	d.text(marginX, headBaseline, left, smallSize, d.accent)
	d.rule(marginX, pageWidth-marginX, headBaseline+8, hairline, rule)
}

func (d *document) drawFoot(page, pages int) {
	d.rule(marginX, pageWidth-marginX, footBaseline-13, hairline, rule)
	number := d.fit(d.say("Page {page} of {pages}", strconv.Itoa(page), strconv.Itoa(pages)), false, smallSize, contentWidth/2)
	d.textRight(pageWidth-marginX, footBaseline, number, smallSize, muted)
	left := d.fit(d.about.foot, false, smallSize, contentWidth-number.points(smallSize)-24)
	d.text(marginX, footBaseline, left, smallSize, muted)
}
