package pdf

import (
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// drawWatermark puts a short word across the page. It is drawn as outlines, so
// that it isn't part of the document's text.
func (d *document) drawWatermark(word string) {
	const size, angle = 190.0, 52.0
	bold := d.fonts.bold[0]
	width := 0.0
	for _, r := range word {
		advance, _ := bold.advance(r)
		width += float64(advance) * size / 1000
	}
	x, y := (pageWidth-width)/2, pageHeight/2+size*0.36
	d.pdf.TransformBegin()
	d.pdf.TransformRotate(angle, pageWidth/2, pageHeight/2)
	d.pdf.SetFillColor(watermark[0], watermark[1], watermark[2])
	for _, r := range word {
		d.outline(bold, r, x, y, size)
		advance, _ := bold.advance(r)
		x += float64(advance) * size / 1000
	}
	d.pdf.TransformEnd()
	d.font = nil // the transformation's end restores the former font
}

// outline fills the shape of one glyph with its origin at x, y.
func (d *document) outline(f *face, r rune, x, y, size float64) {
	if f.font == nil {
		return
	}
	var buf sfnt.Buffer
	glyph, err := f.font.GlyphIndex(&buf, r)
	if err != nil {
		return
	}
	segments, err := f.font.LoadGlyph(&buf, glyph, fixed.I(1000), nil)
	if err != nil {
		return
	}
	at := func(p fixed.Point26_6) (float64, float64) {
		const unit = 64 * 1000
		return x + float64(p.X)*size/unit, y + float64(p.Y)*size/unit
	}
	var fromX, fromY float64
	for _, s := range segments {
		toX, toY := at(s.Args[0])
		switch s.Op {
		case sfnt.SegmentOpMoveTo:
			d.pdf.MoveTo(toX, toY)
		case sfnt.SegmentOpLineTo:
			d.pdf.LineTo(toX, toY)
		case sfnt.SegmentOpQuadTo: // PDF knows cubic curves only
			cx, cy := toX, toY
			toX, toY = at(s.Args[1])
			d.pdf.CurveBezierCubicTo(fromX+(cx-fromX)*2/3, fromY+(cy-fromY)*2/3, toX+(cx-toX)*2/3, toY+(cy-toY)*2/3, toX, toY)
		case sfnt.SegmentOpCubeTo:
			ax, ay := toX, toY
			bx, by := at(s.Args[1])
			toX, toY = at(s.Args[2])
			d.pdf.CurveBezierCubicTo(ax, ay, bx, by, toX, toY)
		}
		fromX, fromY = toX, toY
	}
	d.pdf.DrawPath("F")
}
