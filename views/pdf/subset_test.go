package pdf

import (
	"bytes"
	"encoding/binary"
	"testing"

	"codeberg.org/go-fonts/dejavu/dejavusansmono"
)

// TestSubset compares each glyph of a subset with that of the whole font.
func TestSubset(t *testing.T) {
	t.Parallel()
	fonts := loadFonts(t, otherFont(t, func([]byte) []byte { return dejavusansmono.TTF })) // its last glyphs share an advance
	for _, whole := range fonts.bold {
		var used runeSet
		for _, r := range world + "Ầǻ½ fi\u00a0\u2212\ufffd ﻻ" { // composed letters, and parts of parts
			used.add(r)
		}
		program, glyphs := whole.subset(&used, nil)
		if sum := checksum(program); sum != 0xB1B0AFBA {
			t.Errorf("%s: the file's checksum is %#x", whole.name, sum)
		}
		if len(program) > 60<<10 {
			t.Errorf("%s: a subset has %d bytes", whole.name, len(program))
		}
		cut := newFace(whole.name, "", program)
		for r := range used.all() {
			if n := binary.BigEndian.Uint16(glyphs[2*r:]); (n == 0) != (whole.glyphs[r] == 0) {
				t.Errorf("%s: %q is glyph %d, and %d of the whole font", whole.name, r, n, whole.glyphs[r])
			} else {
				sameGlyph(t, whole, whole.glyphs[r], cut, n)
			}
		}
	}
}

// sameGlyph compares two fonts' glyphs with all their parts.
func sameGlyph(t *testing.T, whole *face, a uint16, cut *face, b uint16) {
	t.Helper()
	if !bytes.Equal(whole.metrics(a), cut.metrics(b)) {
		t.Errorf("%s: glyph %d of the subset has other metrics than %d of the font", whole.name, b, a)
	}
	outline, other := bytes.Clone(whole.outline(a)), bytes.Clone(cut.outline(b))
	numbers := func(outline []byte) (list []uint16) {
		for part := range parts(outline) {
			list = append(list, binary.BigEndian.Uint16(part))
			clear(part)
		}
		return list
	}
	as, bs := numbers(outline), numbers(other)
	filled := func(outline []byte) []byte { return bytes.TrimRight(outline, "\x00") } // to four bytes
	if len(as) != len(bs) || !bytes.Equal(filled(outline), filled(other)) {
		t.Errorf("%s: glyph %d of the subset isn't %d of the font", whole.name, b, a)
		return
	}
	for i := range as {
		sameGlyph(t, whole, as[i], cut, bs[i])
	}
}
