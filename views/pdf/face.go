package pdf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"

	"codeberg.org/go-fonts/dejavu/dejavusanscondensed"
	"codeberg.org/go-fonts/dejavu/dejavusanscondensedbold"
	"github.com/go-pdf/fpdf"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// planeSize is the number of runes fpdf can write: the basic multilingual plane.
const planeSize = 1 << 16

// replacement is drawn in place of a rune that no face covers.
const replacement = '\uFFFD'

// A Fonts is the set of faces for documents. A process loads it once with
// LoadFonts and shares it: it is safe for concurrent use.
type Fonts struct {
	// In order of preference. A rune is drawn in the first face that covers
	// it.
	regular, bold []*face
}

// LoadFonts returns DejaVu Sans (Latin, Vietnamese, Greek, Cyrillic, Hebrew,
// Arabic) and, if fallbackPath isn't empty, the TrueType font in that file for
// runes that DejaVu lacks. It fails if the file can't be read, or if fpdf
// can't embed the font: a collection, CFF outlines, a licence that forbids it.
func LoadFonts(fallbackPath string) (*Fonts, error) {
	regular := newFace("DejaVuSansCondensed", "a", dejavusanscondensed.TTF)
	bold := newFace("DejaVuSansCondensed-Bold", "b", dejavusanscondensedbold.TTF)
	fonts := &Fonts{regular: []*face{regular}, bold: []*face{bold, regular}}
	if fallbackPath == "" {
		return fonts, nil
	}
	ttf, err := os.ReadFile(fallbackPath)
	if err != nil {
		return nil, fmt.Errorf("fallback font: %w", err)
	}
	fallback := newFace("Fallback", "c", ttf)
	if err := fallback.check(); err != nil {
		return nil, fmt.Errorf("fallback font %s: %w", fallbackPath, err)
	}
	fonts.regular = append(fonts.regular, fallback)
	fonts.bold = append(fonts.bold, fallback)
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

	once   sync.Once
	font   *sfnt.Font        // nil if ttf can't be read
	table  [planeSize]int16  // advance in 1/1000 em, -1 without a glyph
	glyphs [planeSize]uint16 // index in the font, 0 without a glyph

	described  sync.Once
	descriptor fpdf.FontDescType
}

func newFace(name, family string, ttf []byte) *face {
	return &face{name: name, family: family, ttf: ttf, tables: sfntTables(ttf)}
}

// advance returns the width of r in 1/1000 em; ok is false if the face has no
// glyph for r.
func (f *face) advance(r rune) (width int, ok bool) {
	f.once.Do(f.measure)
	if r < 0 || r >= planeSize || f.table[r] < 0 {
		return 0, false
	}
	return int(f.table[r]), true
}

func (f *face) measure() {
	for r := range f.table {
		f.table[r] = -1
	}
	font, err := sfnt.Parse(f.ttf)
	if err != nil {
		return // covers nothing
	}
	f.font = font
	var buf sfnt.Buffer
	em := int(font.UnitsPerEm())
	// In fpdf U+FFFF means "no width" and U+0000 "no rune".
	for r := rune(1); r < planeSize-1; r++ {
		glyph, err := font.GlyphIndex(&buf, r)
		if err != nil || glyph == 0 {
			continue
		}
		advance, err := font.GlyphAdvance(&buf, glyph, fixed.I(em), 0)
		if err != nil {
			continue
		}
		f.table[r], f.glyphs[r] = int16((advance.Round()*1000+em/2)/em), uint16(glyph)
	}
}

// register makes the face known to one document. fpdf takes it for one of the
// fonts that every reader has, so it neither parses nor embeds it: parsing and
// compressing took three quarters of a document's memory. repack embeds it.
func (f *face) register(p *fpdf.Fpdf) {
	p.AddFontFromBytes(f.family, "", []byte(`{"Tp":"Core","Name":"`+f.family+`"}`), nil)
}

// describe returns the font's metrics as fpdf reads them.
func (f *face) describe() fpdf.FontDescType {
	f.described.Do(func() {
		p := fpdf.New("P", "pt", "A4", "")
		p.AddUTF8FontFromBytes(f.family, "", bytes.Clone(f.ttf)) // it appends to the bytes
		f.descriptor = p.GetFontDesc(f.family, "")
	})
	return f.descriptor
}

// check returns why the face can't be embedded. fpdf would panic, or print to
// standard output.
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
	f.describe()
	for r := rune(' '); r < planeSize; r++ {
		if _, ok := f.advance(r); ok {
			var used runeSet
			used.add(r)
			_, glyphs := f.subset(&used)
			if binary.BigEndian.Uint16(glyphs[2*r:]) == 0 {
				return fmt.Errorf("has no glyph of %q", r)
			}
			return nil
		}
	}
	return errors.New("covers no character")
}

func (f *face) checkTables() error {
	tables := f.tables
	for _, name := range []string{"name", "head", "hhea", "hmtx", "maxp", "cmap", "loca", "glyf", "post", "OS/2"} {
		if tables[name] == nil {
			return fmt.Errorf("has no readable table %s", strconv.Quote(name))
		}
	}
	if t := tables["name"]; len(t) < 2 || binary.BigEndian.Uint16(t) != 0 {
		return errors.New("name table isn't of format 0")
	}
	if t := tables["OS/2"]; len(t) < 10 || embeddingForbidden(binary.BigEndian.Uint16(t[8:])) {
		return errors.New("its licence forbids embedding")
	}
	return nil
}

// embeddingForbidden reads OS/2 fsType as fpdf does.
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
