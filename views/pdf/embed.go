package pdf

import (
	"crypto/sha256"
	"fmt"
	"strconv"
)

// toUnicode says that a text's characters are those of UTF-16.
const toUnicode = `/CIDInit /ProcSet findresource begin
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
	program, glyphs := f.subset(used)
	name := r.subsetName(f)
	file, runes, unicode, descriptor, descendant := r.number(), r.number(), r.number(), r.number(), r.number()
	r.stream(file, fmt.Sprintf(" /Length1 %d", len(program)), program)
	r.stream(runes, "", glyphs)
	r.stream(unicode, "", []byte(toUnicode))
	const symbolic, nonsymbolic = 4, 32
	d := f.describe()
	r.write(descriptor, fmt.Appendf(nil, `<</Type /FontDescriptor /FontName /%s /Flags %d /FontBBox [%d %d %d %d] /ItalicAngle %d
/Ascent %d /Descent %d /CapHeight %d /StemV %d /MissingWidth %d /FontFile2 %d 0 R>>`,
		name, d.Flags|symbolic&^nonsymbolic, d.FontBBox.Xmin, d.FontBBox.Ymin, d.FontBBox.Xmax, d.FontBBox.Ymax, d.ItalicAngle,
		d.Ascent, d.Descent, d.CapHeight, d.StemV, d.MissingWidth, file))
	r.write(descendant, fmt.Appendf(nil, `<</Type /Font /Subtype /CIDFontType2 /BaseFont /%s /CIDSystemInfo <</Registry (Adobe) /Ordering (UCS) /Supplement 0>>
/FontDescriptor %d 0 R /DW %d /W [%s] /CIDToGIDMap %d 0 R>>`, name, descriptor, d.MissingWidth, f.widths(used), runes))
	r.write(number, fmt.Appendf(nil, `<</Type /Font /Subtype /Type0 /BaseFont /%s /Encoding /Identity-H /DescendantFonts [%d 0 R] /ToUnicode %d 0 R>>`,
		name, descendant, unicode))
}

// widths lists the advances of runes, each row of them after its first.
func (f *face) widths(used *runeSet) (list []byte) {
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
		width, _ := f.advance(c)
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
