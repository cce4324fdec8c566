package pdf

import (
	"encoding/binary"
	"iter"
	"math/bits"
	"slices"
)

// A runeSet is the characters that a document draws in one face, as codes of it.
type runeSet [planeSize / 64]uint64

func (s *runeSet) add(r rune) { s[r/64] |= 1 << (r % 64) }

// firstBeyond is the code of a document's first rune beyond the basic multilingual
// plane. A code has two bytes, and no text has the codes from here on: they are
// UTF-16's surrogates.
const firstBeyond, lastBeyond = 0xD800, 0xDFFF

// codes are a document's runes beyond the basic multilingual plane, by their codes from
// firstBeyond. Other runes are their own codes.
type codes []rune

// of returns the code of r, which it gets at its first use. A document of more than
// 2,048 such runes can't be drawn.
func (c *codes) of(r rune) rune {
	if r < planeSize {
		return r
	}
	i := slices.Index(*c, r)
	if i < 0 {
		i = len(*c)
		*c = append(*c, r)
	}
	if firstBeyond+i > lastBeyond {
		panic("too many characters beyond the basic plane")
	}
	return rune(firstBeyond + i)
}

// rune returns the rune of a code.
func (c codes) rune(code rune) rune {
	if i := int(code) - firstBeyond; i >= 0 && i < len(c) {
		return c[i]
	}
	return code
}

// all yields the codes in order.
func (s *runeSet) all() iter.Seq[rune] {
	return func(yield func(rune) bool) {
		for i, word := range s {
			for ; word != 0; word &= word - 1 {
				if !yield(rune(i*64 + bits.TrailingZeros64(word))) {
					return
				}
			}
		}
	}
}

// A subset is a TrueType font that has only some glyphs of a face. Glyph 0 is the
// face's, for runes without a glyph.
type subset struct {
	face             *face
	glyphs           []uint16          // of the face, in the subset's order
	numbers          map[uint16]uint16 // by the face's glyph
	glyf, loca, hmtx []byte
}

// subset returns the font that draws the codes' runes, and the glyph of each code up to
// the last, two bytes each. The font has the tables that a PDF's fonts need; a
// character map isn't one of them.
func (f *face) subset(used *runeSet, of codes) (program, glyphs []byte) {
	s := subset{face: f, numbers: map[uint16]uint16{}}
	s.number(0)
	for code := range used.all() {
		glyphs = append(glyphs, make([]byte, 2*int(code)-len(glyphs))...)
		glyphs = binary.BigEndian.AppendUint16(glyphs, s.number(f.glyph(of.rune(code))))
	}
	for i := 0; i < len(s.glyphs); i++ { // grows by the parts of composed glyphs
		s.draw(s.glyphs[i])
	}
	s.loca = binary.BigEndian.AppendUint32(s.loca, uint32(len(s.glyf)))
	return s.file(), glyphs
}

// number returns the subset's number of a glyph, which it gives it at its first use.
func (s *subset) number(glyph uint16) uint16 {
	n, known := s.numbers[glyph]
	if !known {
		n = uint16(len(s.glyphs))
		s.numbers[glyph] = n
		s.glyphs = append(s.glyphs, glyph)
	}
	return n
}

// draw appends a glyph's outline and metrics.
func (s *subset) draw(glyph uint16) {
	start := len(s.glyf)
	s.loca = binary.BigEndian.AppendUint32(s.loca, uint32(start))
	s.glyf = append(s.glyf, s.face.outline(glyph)...)
	for part := range parts(s.glyf[start:]) {
		binary.BigEndian.PutUint16(part, s.number(binary.BigEndian.Uint16(part)))
	}
	for len(s.glyf)%4 != 0 {
		s.glyf = append(s.glyf, 0)
	}
	s.hmtx = append(s.hmtx, s.face.metrics(glyph)...)
}

// outline returns a glyph's entry of the table glyf.
func (f *face) outline(glyph uint16) []byte {
	loca, glyf := f.tables["loca"], f.tables["glyf"]
	var start, end uint32
	if binary.BigEndian.Uint16(f.tables["head"][50:]) == 0 {
		at := 2 * int(glyph)
		start, end = 2*uint32(binary.BigEndian.Uint16(loca[at:])), 2*uint32(binary.BigEndian.Uint16(loca[at+2:]))
	} else {
		at := 4 * int(glyph)
		start, end = binary.BigEndian.Uint32(loca[at:]), binary.BigEndian.Uint32(loca[at+4:])
	}
	return glyf[start:end]
}

// metrics returns a glyph's advance and left side bearing, as in the table hmtx.
func (f *face) metrics(glyph uint16) []byte {
	table, full := f.tables["hmtx"], int(binary.BigEndian.Uint16(f.tables["hhea"][34:]))
	at := int(glyph)
	if at < full {
		return table[4*at : 4*at+4]
	}
	bearing := 4*full + 2*(at-full)
	return slices.Concat(table[4*full-4:4*full-2], table[bearing:bearing+2])
}

// parts yields the two bytes of each glyph that an outline is composed of.
func parts(outline []byte) iter.Seq[[]byte] {
	const words, more, scaled, scaledTwice, matrix = 1 << 0, 1 << 5, 1 << 3, 1 << 6, 1 << 7
	return func(yield func([]byte) bool) {
		if len(outline) == 0 || int16(binary.BigEndian.Uint16(outline)) >= 0 {
			return // a glyph of its own
		}
		for at, flags := 10, uint16(more); flags&more != 0; at += 6 {
			flags = binary.BigEndian.Uint16(outline[at:])
			if !yield(outline[at+2 : at+4]) {
				return
			}
			if flags&words != 0 {
				at += 2
			}
			switch {
			case flags&scaled != 0:
				at += 2
			case flags&scaledTwice != 0:
				at += 4
			case flags&matrix != 0:
				at += 8
			}
		}
	}
}

// file puts the tables together, as the TrueType specification says: checksums are
// of tables that are filled to four bytes, and the whole has a fixed one.
func (s *subset) file() []byte {
	with := func(table string, at, value int) []byte {
		t := slices.Clone(s.face.tables[table])
		binary.BigEndian.PutUint16(t[at:], uint16(value))
		return t
	}
	const adjustment, total = 8, 0xB1B0AFBA
	head := with("head", 50, 1) // an entry of loca has 32 bits
	binary.BigEndian.PutUint32(head[adjustment:], 0)
	tables := []sfntTable{
		{"cvt ", s.face.tables["cvt "]}, {"fpgm", s.face.tables["fpgm"]}, {"glyf", s.glyf}, {"head", head},
		{"hhea", with("hhea", 34, len(s.glyphs))}, {"hmtx", s.hmtx}, {"loca", s.loca}, {"maxp", with("maxp", 4, len(s.glyphs))},
		{"prep", s.face.tables["prep"]},
	}
	tables = slices.DeleteFunc(tables, func(t sfntTable) bool { return len(t.content) == 0 }) // fonts without hints
	const header, record = 12, 16
	size := header + record*len(tables)
	at := size
	for _, t := range tables {
		size += len(t.content) + 3
	}
	power := bits.Len(uint(len(tables))) - 1
	out := make([]byte, 0, size)
	for _, n := range []uint16{1, 0, uint16(len(tables)), record << power, uint16(power),
		uint16(record * (len(tables) - 1<<power))} {
		out = binary.BigEndian.AppendUint16(out, n)
	}
	for _, t := range tables {
		out = append(out, t.name...)
		for _, n := range []uint32{checksum(t.content), uint32(at), uint32(len(t.content))} {
			out = binary.BigEndian.AppendUint32(out, n)
		}
		at += (len(t.content) + 3) &^ 3
	}
	for _, t := range tables {
		if t.name == "head" {
			at = len(out) + adjustment
		}
		out = append(out, t.content...)
		for len(out)%4 != 0 {
			out = append(out, 0)
		}
	}
	binary.BigEndian.PutUint32(out[at:], total-checksum(out))
	return out
}

type sfntTable struct {
	name    string
	content []byte
}

// checksum is the sum of a table's 32-bit numbers.
func checksum(table []byte) (sum uint32) {
	for len(table) >= 4 {
		sum += binary.BigEndian.Uint32(table)
		table = table[4:]
	}
	var rest [4]byte
	copy(rest[:], table)
	return sum + binary.BigEndian.Uint32(rest[:])
}
