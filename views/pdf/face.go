package pdf

import (
	"bytes"
	"embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync"

	"codeberg.org/go-fonts/dejavu/dejavusanscondensed"
	"github.com/andybalholm/brotli"
	"github.com/go-pdf/fpdf"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// planeSize is the number of runes of the basic multilingual plane, whose widths a
// face keeps.
const planeSize = 1 << 16

// built has the typefaces that static/build.mjs cuts. go:embed needs one file before
// the first build.
//
//go:embed all:fonts
var built embed.FS

// ErrNotBuilt is returned if the program was compiled before the front end.
var ErrNotBuilt = errors.New("views/pdf/fonts has no typefaces: run `make build`")

// A Fonts is the set of faces for documents. A process loads it once with
// LoadFonts and shares it: it is safe for concurrent use.
type Fonts struct {
	// In order of preference. A rune is drawn in the first face that covers
	// it.
	regular, bold []*face
}

// LoadFonts returns Inter, Noto Sans SC for Chinese, DejaVu Sans for other alphabets
// such as Hebrew and Arabic (D80), and, if addition isn't empty, the TrueType font in
// that file for runes that these lack. It fails if the file can't be read or embedded:
// a collection, CFF outlines, a licence that forbids it.
func LoadFonts(addition string) (*Fonts, error) {
	load := func(name, family, file string) *face {
		ttf, _ := built.ReadFile("fonts/" + file) // nil: not built
		return newFace(name, family, ttf)
	}
	inter, semibold := load("Inter", "a", "inter-400.ttf"), load("Inter-SemiBold", "b", "inter-600.ttf")
	packed, _ := built.ReadFile("fonts/noto-sans-sc.ttf.br")
	chinese := &face{name: "NotoSansSC", family: "c", packed: packed}
	if inter.tables["glyf"] == nil || semibold.tables["glyf"] == nil || packed == nil {
		return nil, ErrNotBuilt
	}
	others := newFace("DejaVuSansCondensed", "d", dejavusanscondensed.TTF)
	fonts := &Fonts{regular: []*face{inter, chinese, others}, bold: []*face{semibold, chinese, others}}
	if addition == "" {
		return fonts, nil
	}
	ttf, err := os.ReadFile(addition)
	if err != nil {
		return nil, fmt.Errorf("font: %w", err)
	}
	added := newFace("Fallback", "e", ttf)
	if err := added.check(); err != nil {
		return nil, fmt.Errorf("font %s: %w", addition, err)
	}
	fonts.regular = append(fonts.regular, added)
	fonts.bold = append(fonts.bold, added)
	return fonts, nil
}

func (f *Fonts) chain(bold bool) []*face {
	if bold {
		return f.bold
	}
	return f.regular
}

// A face is one font file with its coverage, which is computed at first use.
type face struct {
	name   string // of the font
	family string // that fpdf knows it by, a letter
	ttf    []byte
	tables map[string][]byte // of ttf
	packed []byte            // ttf by Brotli, unpacked at first use, for a process that draws no Chinese

	once   sync.Once
	font   *sfnt.Font        // nil if ttf can't be read
	table  [planeSize]int16  // advance in 1/1000 em, -1 without a glyph
	glyphs [planeSize]uint16 // index in the font, 0 without a glyph
}

func newFace(name, family string, ttf []byte) *face {
	return &face{name: name, family: family, ttf: ttf, tables: sfntTables(ttf)}
}

// advance returns the width of r in 1/1000 em; ok is false if the face has no
// glyph for r.
func (f *face) advance(r rune) (width int, ok bool) {
	f.once.Do(f.measure)
	switch {
	case r < 0 || f.font == nil:
		return 0, false
	case r >= planeSize: // rare
		width, glyph := f.look(new(sfnt.Buffer), r)
		return width, glyph != 0
	}
	return int(f.table[r]), f.table[r] >= 0
}

// glyph returns the index of r's glyph, 0 without one.
func (f *face) glyph(r rune) uint16 {
	f.once.Do(f.measure)
	if r < planeSize {
		return f.glyphs[r]
	}
	_, glyph := f.look(new(sfnt.Buffer), r)
	return glyph
}

func (f *face) measure() {
	for r := range f.table {
		f.table[r] = -1
	}
	if f.packed != nil {
		f.ttf = unpack(f.packed)
		f.tables = sfntTables(f.ttf)
	}
	font, err := sfnt.Parse(f.ttf)
	if err != nil {
		return // covers nothing
	}
	f.font = font
	var buf sfnt.Buffer
	for r := rune(1); r < planeSize-1; r++ {
		if width, glyph := f.look(&buf, r); glyph != 0 {
			f.table[r], f.glyphs[r] = int16(width), glyph
		}
	}
	f.alignFigures(&buf)
}

// unpack panics if packed isn't by Brotli: it is part of the program.
func unpack(packed []byte) []byte {
	out, err := io.ReadAll(brotli.NewReader(bytes.NewReader(packed)))
	if err != nil {
		panic(err)
	}
	return out
}

// look reads the glyph of r and its advance in 1/1000 em.
func (f *face) look(buf *sfnt.Buffer, r rune) (width int, glyph uint16) {
	index, err := f.font.GlyphIndex(buf, r)
	if err != nil || index == 0 {
		return 0, 0
	}
	width, err = f.width(buf, index)
	if err != nil {
		return 0, 0
	}
	return width, uint16(index)
}

func (f *face) width(buf *sfnt.Buffer, index sfnt.GlyphIndex) (int, error) {
	em := int(f.font.UnitsPerEm())
	advance, err := f.font.GlyphAdvance(buf, index, fixed.I(em), 0)
	return (advance.Round()*1000 + em/2) / em, err
}

// alignFigures draws figures with Inter's glyphs of equal width, or amounts of a
// column wouldn't be aligned. Nothing shapes the text, so they take the place of the
// usual ones.
func (f *face) alignFigures(buf *sfnt.Buffer) {
	figures := map[string]rune{"zero.tf": '0', "one.tf": '1', "two.tf": '2', "three.tf": '3', "four.tf": '4',
		"five.tf": '5', "six.tf": '6', "seven.tf": '7', "eight.tf": '8', "nine.tf": '9'}
	for i := range f.font.NumGlyphs() {
		name, err := f.font.GlyphName(buf, sfnt.GlyphIndex(i))
		if err != nil {
			return
		}
		if r, ok := figures[name]; ok {
			if width, err := f.width(buf, sfnt.GlyphIndex(i)); err == nil {
				f.table[r], f.glyphs[r] = int16(width), uint16(i)
			}
		}
	}
}

// register makes the face known to one document. fpdf takes it for one of the
// fonts that every reader has, so it neither parses nor embeds it: parsing and
// compressing took three quarters of a document's memory. repack embeds it.
func (f *face) register(p *fpdf.Fpdf) {
	p.AddFontFromBytes(f.family, "", []byte(`{"Tp":"Core","Name":"`+f.family+`"}`), nil)
}

// A descriptor is the font's metrics, in 1/1000 em.
type descriptor struct {
	box                        [4]int
	ascent, descent, capHeight int
	stem                       int // width of an upright, about
}

func (f *face) describe() descriptor {
	head, hhea, os2 := f.tables["head"], f.tables["hhea"], f.tables["OS/2"]
	em := int(binary.BigEndian.Uint16(head[18:]))
	at := func(table []byte, offset int) int {
		return int(int16(binary.BigEndian.Uint16(table[offset:]))) * 1000 / em
	}
	d := descriptor{box: [4]int{at(head, 36), at(head, 38), at(head, 40), at(head, 42)}, ascent: at(hhea, 4), descent: at(hhea, 6)}
	d.capHeight = d.ascent
	if len(os2) >= 90 {
		d.capHeight = at(os2, 88)
	}
	weight := int(binary.BigEndian.Uint16(os2[4:]))
	d.stem = 50 + weight*weight/(65*65) // as fpdf and others estimate it
	return d
}

// check returns why the face can't be embedded.
func (f *face) check() (err error) {
	if len(f.ttf) < 12 {
		return errors.New("file is too short")
	}
	switch magic := binary.BigEndian.Uint32(f.ttf); magic {
	case 0x00010000, 0x74727565: // "true"
	default:
		return fmt.Errorf("not a TrueType font (starts with %#08x)", magic)
	}
	if err := f.checkTables(); err != nil {
		return err
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("can't be embedded: %v", p)
		}
	}()
	for r := rune(' '); r < planeSize; r++ {
		if _, ok := f.advance(r); ok {
			var used runeSet
			used.add(r)
			_, glyphs := f.subset(&used, nil)
			if binary.BigEndian.Uint16(glyphs[2*r:]) == 0 {
				return fmt.Errorf("has no glyph of %q", r)
			}
			return nil
		}
	}
	return errors.New("covers no character")
}

// checkTables looks for the tables that describe, subset and sfnt read.
func (f *face) checkTables() error {
	least := map[string]int{"head": 54, "hhea": 36, "hmtx": 4, "maxp": 6, "cmap": 4, "loca": 4, "glyf": 1, "OS/2": 10}
	for _, name := range slices.Sorted(maps.Keys(least)) {
		if len(f.tables[name]) < least[name] {
			return fmt.Errorf("has no readable table %s", strconv.Quote(name))
		}
	}
	if embeddingForbidden(binary.BigEndian.Uint16(f.tables["OS/2"][8:])) {
		return errors.New("its licence forbids embedding")
	}
	if binary.BigEndian.Uint16(f.tables["head"][18:]) == 0 {
		return errors.New("has no units")
	}
	return nil
}

// embeddingForbidden reads OS/2 fsType.
func embeddingForbidden(fsType uint16) bool { return fsType == 0x0002 || fsType&0x0300 != 0 }

// sfntTables returns the tables of a font file that are completely inside it.
func sfntTables(ttf []byte) map[string][]byte {
	const header, record = 12, 16
	tables := map[string][]byte{}
	if len(ttf) < header {
		return tables
	}
	for i := range int(binary.BigEndian.Uint16(ttf[4:])) {
		at := header + i*record
		if at+record > len(ttf) {
			break
		}
		start := uint64(binary.BigEndian.Uint32(ttf[at+8:]))
		end := start + uint64(binary.BigEndian.Uint32(ttf[at+12:]))
		if end <= uint64(len(ttf)) && start < end {
			tables[string(ttf[at:at+4])] = ttf[start:end]
		}
	}
	return tables
}
