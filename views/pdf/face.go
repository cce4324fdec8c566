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
	const name = "DejaVuSansCondensed"
	faces := func(name, families string, ttf []byte) []*face {
		return []*face{newFace(name, families[:1], cut(ttf, western)), newFace(name, families[1:2], cut(ttf, latin)), newFace(name, families[2:], ttf)}
	}
	fonts := &Fonts{
		regular: faces(name, "abc", dejavusanscondensed.TTF),
		bold:    faces(name+"-Bold", "def", dejavusanscondensedbold.TTF),
	}
	fonts.bold = append(fonts.bold, fonts.regular[len(fonts.regular)-1])
	if fallbackPath == "" {
		return fonts, nil
	}
	ttf, err := os.ReadFile(fallbackPath)
	if err != nil {
		return nil, fmt.Errorf("fallback font: %w", err)
	}
	fallback := newFace("Fallback", "g", ttf)
	if err := fallback.check(); err != nil {
		return nil, fmt.Errorf("fallback font %s: %w", fallbackPath, err)
	}
	fonts.regular = append(fonts.regular, fallback)
	fonts.bold = append(fonts.bold, fallback)
	return fonts, nil
}

// Blocks of runes. Most documents need only western, those of Vietnamese
// customers latin too.
var (
	western = [][2]rune{{' ', '~'}, {0x00A0, 0x00FF}, {0x2010, 0x2030}, {'€', '€'}, {'−', '−'}, {replacement, replacement}}
	latin   = append([][2]rune{{0x0100, 0x024F}, {0x1E00, 0x1EFF}}, western...)
)

// cut returns the part of a font that has the blocks. fpdf parses the whole font
// for each document; a small font saves most of that.
func cut(ttf []byte, blocks [][2]rune) []byte {
	var runes []rune
	for _, block := range blocks {
		for r := block[0]; r <= block[1]; r++ {
			runes = append(runes, r)
		}
	}
	return fpdf.UTF8CutFont(bytes.Clone(ttf), string(runes))
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
	ttf    []byte // shared by all documents: copy it before passing it on

	once  sync.Once
	font  *sfnt.Font       // nil if ttf can't be read
	table [planeSize]int16 // advance in 1/1000 em, -1 without a glyph
}

func newFace(name, family string, ttf []byte) *face {
	return &face{name: name, family: family, ttf: ttf}
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
		f.table[r] = int16((advance.Round()*1000 + em/2) / em)
	}
}

// register adds the face to one document. The bytes are cloned because fpdf
// appends to them, which would corrupt the font of other documents.
func (f *face) register(p *fpdf.Fpdf) {
	p.AddUTF8FontFromBytes(f.family, "", bytes.Clone(f.ttf))
}

// check returns why fpdf can't embed the face. fpdf itself would panic, or
// print to standard output and draw nothing.
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
	trial := fpdf.New("P", "pt", "A4", "")
	f.register(trial)
	trial.AddPage()
	trial.SetFont(f.family, "", 10)
	for r := rune(' '); r < planeSize; r++ {
		if _, ok := f.advance(r); ok {
			trial.Text(10, 10, string(r))
			return trial.Output(new(bytes.Buffer))
		}
	}
	return errors.New("covers no character")
}

func (f *face) checkTables() error {
	tables := sfntTables(f.ttf)
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
