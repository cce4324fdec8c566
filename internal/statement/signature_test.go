package statement_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"candor/internal/sample"
	"candor/internal/statement"
)

// names are pairs that are of one person, or not.
var names = []struct {
	one, other string
	same       bool
}{
	{"Mia Chen", "Mia Chen", true},
	{"mia chen", "MIA  CHEN ", true},
	{"Chen Mia", "Mia Chen", true},
	{"Chen, Mia", "Mia Chen", true},
	{"Mia Jane Chen", "Mia Chen", true},
	{"Mia J Chen", "Mia Chen", true},
	{"Mia J. Chen", "Mia Jane Chen", true},
	{"M. Chen", "Mia Chen", true},
	{"M Chen", "Mia Jane Chen", true},
	{"M.J. Chen", "Mia Jane Chen", true},
	{"MJ Chen", "M J Chen", true},
	{"Chen M", "Mia Chen", true},
	{"Ms Mia Chen", "Mia Chen", true},
	{"John Smith Jr.", "John Smith", true},
	{"Smith-Jones Ann", "Ann Smith Jones", true},
	{"Ann‐Marie Smith", "Annmarie Smith", true}, // U+2010
	{"Zoë O'Brien", "Zoe OBrien", true},
	{"Zoë O’Brien", "Zoe\u0308 O'Brien", true},
	{"Zoë Oʼ Brien", "zoe o`brien", true},
	{"Zoe O´Brien", "Zoe OBrien", true},
	{"Maria de la Cruz", "Maria Delacruz", true},
	{"Nguyễn Thị Ánh Đào", "Dao Nguyen", true},
	{"Đặng Văn Lâm", "dang van lam", true},
	{"Łukasz Wałęsa", "Lukasz Walesa", true},
	{"Søren Åberg", "Soren Aberg", true},
	{"Jürgen Groß", "Jurgen GROSS", true},
	{"Ægir Þórsson", "Aegir Thorsson", true},
	{"Işıl Çelik", "Isil Celik", true},
	{"Ｍｉａ Chen", "Mia Chen", true}, // full width, as Chinese keyboards type
	{"Suharto", "SUHARTO", true},
	{"王小明", "王小明", true},
	{"王 小明", "王小明", true},
	{"עברית", "עברית", true},
	{"Ελένη Παπαδοπούλου", "Ελε\u0301νη  Παπαδοπούλου", true},

	{"Mia Jane", "Mia Jane Chen", false}, // the family name is missing
	{"Chen Wei", "Chen Wei Ling", false},
	{"Chen Mia Jane", "Mia Chen", false},
	{"Mia Chen-Smith", "Mia Chen", false},        // a married name
	{"Maria Garcia", "Jose Maria Garcia", false}, // the first name is
	{"J Chen", "Mia Jane Chen", false},
	{"Donald Duck", "Mia Chen", false},
	{"M Duck", "Mia Chen", false},
	{"Mia Duck", "Mia Chen", false},
	{"Mia", "Mia Chen", false},
	{"Chen", "Mia Chen", false},
	{"Mia C", "Mia Chen", false},
	{"M C", "Mia Chen", false},
	{"M. C.", "Mia Jane Chen", false},
	{"Lee Chen", "Mia Chen", false},
	{"L Chen", "Mia Chen", false},
	{"Mia Jane Chen", "Mia Kate Chen", false},
	{"Mia K Chen", "Mia Jane Chen", false},
	{"Mia Chenn", "Mia Chen", false},
	{"Mr", "Mia Chen", false},
	{"X", "Mia Chen", false},
	{"-", "Mia Chen", false},
	{"Mia Mia", "Mia Chen", false},
	{"Wang Xiaoming", "王小明", false},
	{"王小明 Xiaoming", "王小明", false},
	{"王小朋", "王小明", false},
	{"Елена Петрова", "Петрова Елена", false}, // another script: exactly
	{"Мia Chen", "Mia Chen", false},           // the first letter is Cyrillic
}

func TestSameName(t *testing.T) {
	t.Parallel()
	for _, tt := range names {
		if got := statement.SameName(tt.one, tt.other); got != tt.same {
			t.Errorf("SameName(%q, %q) is %t", tt.one, tt.other, got)
		}
		if got := statement.SameName(tt.other, tt.one); got != tt.same {
			t.Errorf("SameName(%q, %q) is %t", tt.other, tt.one, got)
		}
	}
}

// TestSameNameOfMadeUpPeople writes each name in several ways, and compares it with others'.
func TestSameNameOfMadeUpPeople(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 3))
	var people []string
	for range 300 {
		people = append(people, sample.NewPerson(r).Name)
	}
	for i, name := range people {
		words := strings.Fields(name)
		slices.Reverse(words)
		first, last, _ := strings.Cut(name, " ")
		for _, written := range []string{
			strings.ToUpper(name), strings.ToLower(name), " " + name + "\u00a0", strings.Join(words, " "), first + " Q " + last,
			first[:1] + ". " + last + ".",
			strings.ReplaceAll(name, "'", "’"), strings.ReplaceAll(name, "'", ""), last + ", " + first, "Dr " + name,
		} {
			if first[:1] > "Z" && written[:1] == first[:1] {
				continue // half of an accented letter
			}
			if !statement.SameName(name, written) {
				t.Errorf("%q isn't %q", written, name)
			}
		}
		other := people[(i+1)%len(people)]
		_, otherLast, _ := strings.Cut(other, " ")
		if otherFirst, _, _ := strings.Cut(other, " "); otherLast != last && otherFirst != first && statement.SameName(name, other) {
			t.Errorf("%q is %q", other, name)
		}
		if otherLast != last && statement.SameName(name, first+" "+otherLast) && !strings.Contains(name, otherLast) {
			t.Errorf("%q is %q", first+" "+otherLast, name)
		}
	}
}

func FuzzSameName(f *testing.F) {
	for _, tt := range names {
		f.Add(tt.one, tt.other)
	}
	f.Fuzz(func(t *testing.T, one, other string) {
		if len(one) > 200 || len(other) > 200 {
			return // the form takes no longer names
		}
		if !statement.SameName(one, one) {
			t.Errorf("%q isn't itself", one)
		}
		if statement.SameName(one, other) != statement.SameName(other, one) {
			t.Errorf("%q and %q are compared in one direction", one, other)
		}
	})
}
