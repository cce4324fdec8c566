package pdf

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// toUnicode says which rune each code is: itself, but for those beyond the basic plane.
// A block has 100 entries at most.
func (c codes) toUnicode() []byte {
	var list []byte
	for block := range slices.Chunk(c, 100) {
		list = fmt.Appendf(list, "%d beginbfchar\n", len(block))
		for _, r := range block {
			high, low := utf16.EncodeRune(r)
			list = fmt.Appendf(list, "<%04X> <%04X%04X>\n", c.of(r), high, low)
		}
		list = append(list, "endbfchar\n"...)
	}
	return []byte(strings.Replace(identity, "endcmap", string(list)+"endcmap", 1))
}

// identity is the map of a text whose characters are those of UTF-16.
const identity = `/CIDInit /ProcSet findresource begin
12 dict begin
begincmap
/CIDSystemInfo
<</Registry (Adobe)
/Ordering (UCS)
/Supplement 0
>> def
/CMapName /Adobe-Identity-UCS def
/CMapType 2 def
1 begincodespacerange
<0000> <FFFF>
endcodespacerange
1 beginbfrange
<0000> <FFFF> <0000>
endbfrange
endcmap
CMapName currentdict /CMap defineresource pop
end
end`

// font writes the font that a face is registered as: a composite font whose
// characters are runes, with the subset of glyphs that the document draws.
func (r *repacked) font(number int, family string) error {
	for f, used := range r.faces {
		if f.family == family {
			r.embed(number, f, used)
			return nil
		}
	}
	return errUnknownFile
}

func (r *repacked) embed(number int, f *face, used *runeSet) {
	program, glyphs := f.subset(used, r.codes)
	name := r.subsetName(f)
	file, runes, unicode, descriptor, descendant := r.number(), r.number(), r.number(), r.number(), r.number()
	r.stream(file, fmt.Sprintf(" /Length1 %d", len(program)), program)
	r.stream(runes, "", glyphs)
	r.stream(unicode, "", r.codes.toUnicode())
	const symbolic = 4
	d := f.describe()
	missing := binary.BigEndian.Uint16(f.metrics(0))
	width := int(missing) * 1000 / int(f.font.UnitsPerEm())
	r.write(descriptor, fmt.Appendf(nil, `<</Type /FontDescriptor /FontName /%s /Flags %d /FontBBox [%d %d %d %d] /ItalicAngle 0
/Ascent %d /Descent %d /CapHeight %d /StemV %d /MissingWidth %d /FontFile2 %d 0 R>>`,
		name, symbolic, d.box[0], d.box[1], d.box[2], d.box[3], d.ascent, d.descent, d.capHeight, d.stem, width, file))
	r.write(descendant, fmt.Appendf(nil, `<</Type /Font /Subtype /CIDFontType2 /BaseFont /%s /CIDSystemInfo <</Registry (Adobe) /Ordering (UCS) /Supplement 0>>
/FontDescriptor %d 0 R /DW %d /W [%s] /CIDToGIDMap %d 0 R>>`, name, descriptor, width, f.widths(used, r.codes), runes))
	r.write(number, fmt.Appendf(nil,
		`<</Type /Font /Subtype /Type0 /BaseFont /%s /Encoding /Identity-H /DescendantFonts [%d 0 R] /ToUnicode %d 0 R>>`,
		name, descendant, unicode))
}

// widths lists the advances of codes, each row of them after its first.
func (f *face) widths(used *runeSet, of codes) (list []byte) {
	next := rune(-1)
	for c := range used.all() {
		if c != next {
			if next >= 0 {
				list = append(list, "] "...)
			}
			list = fmt.Appendf(list, "%d [", c)
		} else {
			list = append(list, ' ')
		}
		width, _ := f.advance(of.rune(c))
		list = strconv.AppendInt(list, int64(width), 10)
		next = c + 1
	}
	return append(list, ']')
}

// subsetName is a tag of six letters, which differs for each file, a plus sign
// and the font's name.
func (r *repacked) subsetName(f *face) string {
	seed := sha256.Sum256(append(r.digest[:], f.family...))
	var tag [6]byte
	for i := range tag {
		tag[i] = 'A' + seed[i]%26
	}
	return string(tag[:]) + "+" + f.name
}
