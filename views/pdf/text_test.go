package pdf

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"codeberg.org/go-fonts/dejavu/dejavusanscondensed"
	"codeberg.org/go-fonts/dejavu/dejavusansmono"
	"golang.org/x/text/unicode/norm"
)

// visual is a text as printed, from left to right, with Arabic presentation
// forms turned back into letters.
func visual(l line) string {
	var b strings.Builder
	for _, r := range l.runs {
		b.WriteString(r.text)
	}
	return norm.NFKC.String(b.String())
}

func TestVisualOrder(t *testing.T) {
	t.Parallel()
	fonts := loadFonts(t, "")
	for _, c := range []struct{ name, in, want string }{
		{"latin", "Jo (Li)", "Jo (Li)"},
		{"hebrew", "אבג דה", "הד גבא"},
		{"latin then hebrew", "Jo אבג", "Jo גבא"},
		{"hebrew then latin", "אבג Jo", "Jo גבא"},
		{"number after hebrew", "אבג 12", "12 גבא"},
		{"number between hebrew in latin", "Jo אב 12 גד x", "Jo דג 12 בא x"},
		{"number after latin", "Jo 12 אב", "Jo 12 בא"},
		{"two hebrew words around latin", "אב Jo גד", "דג Jo בא"},
		{"brackets turn", "אב (גד)", "(דג) בא"},
		{"direction override is dropped", "a\u202Egnp", "agnp"},
		{"decomposed letter", "e\u0301", "é"},
		{"controls", "a\x00b\tc", "a[U+0000]b c"},
		{"invalid", "a\xffb", "a[U+FFFD]b"},
		{"beyond the plane", "a😀", "a😀"},
		{"not in any font", "a🦊ก", "a[U+1F98A][U+0E01]"},
		{"zero-width joiner", "a\u200Db\uFE0F", "ab"},
	} {
		p := fonts.phrase(c.in, false)
		if got := visual(p.line(0, len(p.glyphs))); got != c.want {
			t.Errorf("%s: %q is drawn as %q, want %q", c.name, c.in, got, c.want)
		}
	}
}

func TestJoinArabic(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in string
		want     []rune
	}{
		{"one letter", "م", []rune{0xFEE1}},
		{"muhammad", "محمد", []rune{0xFEE3, 0xFEA4, 0xFEE4, 0xFEAA}},
		{"no join after reh", "رم", []rune{0xFEAD, 0xFEE1}},
		{"lam alef alone", "لا", []rune{0xFEFB}},
		{"lam alef joined", "بلا", []rune{0xFE91, 0xFEFC}},
		{"vowel mark between", "مَم", []rune{0xFEE3, 0x064E, 0xFEE2}},
		{"space parts", "م م", []rune{0xFEE1, ' ', 0xFEE1}},
		{"non-joiner parts", "م\u200Cم", []rune{0xFEE1, 0x200C, 0xFEE1}},
		{"persian", "پگ", []rune{0xFB58, 0xFB93}},
	} {
		if got := joinArabic([]rune(c.in)); string(got) != string(c.want) {
			t.Errorf("%s: %U, want %U", c.name, got, c.want)
		}
	}
}

func TestWrap(t *testing.T) {
	t.Parallel()
	fonts := loadFonts(t, "")
	m, _ := fonts.regular[0].advance('m')
	for _, c := range []struct {
		name, in string
		limit    int
		want     []string
	}{
		{"empty", "", 5 * m, []string{""}},
		{"fits", "mm mm", 5 * m, []string{"mm mm"}},
		{"at the space", "mmm mmm", 5 * m, []string{"mmm", "mmm"}},
		{"space at the edge", "mmmmm m", 5 * m, []string{"mmmmm", "m"}},
		{"spaces are dropped at a break", "mmmm    m", 5 * m, []string{"mmmm", "m"}},
		{"long word", "mmmmmmm", 3 * m, []string{"mmm", "mmm", "m"}},
		{"after a hyphen", "mm-mmmm", 5 * m, []string{"mm-", "mmmm"}},
		{"before “×”", "mmm × 50%", 6 * m, []string{"mmm", "× 50%"}},
		{"before a mark never", "mmm\u0331m", 3 * m, []string{"mmm\u0331", "m"}},
		{"narrower than a letter", "mm", 1, []string{"m", "m"}},
		{"no room at all", "mm", -5, []string{"m", "m"}},
	} {
		var got []string
		for _, l := range fonts.phrase(c.in, false).wrap(c.limit) {
			got = append(got, visual(l))
		}
		if strings.Join(got, "|") != strings.Join(c.want, "|") {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func FuzzWrap(f *testing.F) {
	for _, s := range []string{"", "a b", world, "אב 12 Jo", "\xff\x00😀", "مَم\u200Cم", "xxxx-xxxx/x@x"} {
		f.Add(s, 3000)
	}
	fonts, err := LoadFonts("")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string, limit int) {
		p := fonts.phrase(s, true)
		want, got := 0, 0
		for _, g := range p.glyphs {
			if g.r != ' ' {
				want++
			}
		}
		for _, l := range p.wrap(limit) {
			for _, r := range l.runs {
				for _, c := range r.text {
					if c != ' ' {
						got++
					}
					if c == unicode.ReplacementChar {
						t.Fatalf("%q: a line holds %U", s, c)
					}
				}
			}
		}
		if got != want {
			t.Errorf("%q at %d: lines hold %d characters of %d", s, limit, got, want)
		}
	})
}

// otherFont is DejaVu under another name, as a fallback font.
func otherFont(t *testing.T, change func(ttf []byte) []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "font.ttf")
	if err := os.WriteFile(path, change(append([]byte(nil), dejavusanscondensed.TTF...)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLoadFontsFallback(t *testing.T) {
	t.Parallel()
	fonts := loadFonts(t, otherFont(t, func(ttf []byte) []byte { return ttf }))
	first, second := fonts.regular[0], fonts.regular[len(fonts.regular)-1]
	for _, f := range fonts.regular[:len(fonts.regular)-1] {
		f.once.Do(f.measure)
		f.table['ж'] = -1 // as if no typeface had Cyrillic zhe
	}
	p := fonts.phrase("дж", false)
	if p.glyphs[0].face != first || p.glyphs[1].face != second || len(p.uncovered) != 0 {
		t.Errorf("zhe isn't drawn in the fallback: %+v", p)
	}
	answers := full().Answers
	answers.Personal.Employer = "дж"
	result, err := Render(Statement{AccountName: "дж", SubmittedAt: submitted, Answers: answers}, fonts)
	if err != nil {
		t.Fatal(err)
	}
	if text := textOf(t, result.Bytes); !strings.Contains(text, "дж") {
		t.Error("a word of two faces isn't in the document as one word")
	}
	if out := poppler(t, result.Bytes, "pdffonts", "FILE"); !strings.Contains(out, "+Fallback") {
		t.Errorf("the fallback isn't embedded:\n%s", out)
	}
	plain := render(t, full())
	if out := poppler(t, plain.Bytes, "pdffonts", "FILE"); strings.Contains(out, "+Fallback") {
		t.Errorf("an unused fallback is embedded:\n%s", out)
	}
}

// fpdf writes into the bytes of a font whose last glyphs have the same
// advance, as in a monospaced font. That must not affect other documents.
func TestRenderLeavesFontsAlone(t *testing.T) {
	t.Parallel()
	fonts := loadFonts(t, otherFont(t, func([]byte) []byte { return dejavusansmono.TTF }))
	last := len(fonts.regular) - 1
	fallback := fonts.regular[last]
	before := bytes.Clone(fallback.ttf)
	for _, f := range fonts.regular[:last] {
		f.once.Do(f.measure)
		for r := range f.table {
			f.table[r] = -1
		}
	}
	if _, err := Render(full(), fonts); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(fallback.ttf, before) {
		t.Error("drawing a document changed the font")
	}
}

func TestLoadFontsRefuses(t *testing.T) {
	t.Parallel()
	if _, err := LoadFonts(filepath.Join(t.TempDir(), "none.ttf")); err == nil {
		t.Error("a missing file is accepted")
	}
	for name, change := range map[string]func([]byte) []byte{
		"empty":      func([]byte) []byte { return nil },
		"text":       func([]byte) []byte { return []byte("not a font, but long enough to hold a header") },
		"collection": func(ttf []byte) []byte { return append([]byte("ttcf"), ttf[4:]...) },
		"cff":        func(ttf []byte) []byte { return append([]byte("OTTO"), ttf[4:]...) },
		"cut":        func(ttf []byte) []byte { return ttf[:len(ttf)/2] },
		"head only":  func(ttf []byte) []byte { return ttf[:12] },
		"no tables":  func(ttf []byte) []byte { ttf[4], ttf[5] = 0, 0; return ttf },
	} {
		if _, err := LoadFonts(otherFont(t, change)); err == nil {
			t.Errorf("%s: accepted as a font", name)
		}
	}
}
