package statement

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// SignatureName is that the name of the signature is another than the full name (D79).
const SignatureName DoubtCode = "signature_name"

// SignedByAnother reports whether the statement is signed with another name than that of
// the customer, as SameName compares them.
func (s *Statement) SignedByAnother() bool {
	return s.Declaration.FullName != "" && !SameName(s.Declaration.FullName, s.Personal.FullName)
}

func otherSignature(s *Statement, _ time.Time) []Doubt {
	return when(s.SignedByAnother(), Doubt{
		Path: "declaration.full_name", Text: "You are signing as {name}. The statement is for {customer}.",
		Args: []string{s.Declaration.FullName, s.Personal.FullName},
	})
}

// Names are those that a signed statement has.
type Names struct {
	Given, Signed string // in personal details and as signature
	Unexpected    bool   // Given isn't the name that the partner gave
	Another       bool   // Signed isn't Given
	Confirmed     bool   // and the customer confirmed that when asked
}

// Names compares the statement's names with each other and with what the partner expects,
// nil for no name.
func (s *Statement) Names(expected *string) Names {
	given := s.Personal.FullName
	return Names{
		Given: given, Signed: s.Declaration.FullName, Unexpected: expected != nil && !SameName(*expected, given),
		Another:   s.SignedByAnother(),
		Confirmed: slices.ContainsFunc(s.Declaration.Confirmations, func(c Confirmation) bool { return c.Code == SignatureName }),
	}
}

// SameName reports whether two names can be of one person (D79). Of names in Latin letters,
// case, accents, apostrophes, hyphens and the order of words don't matter. Words between the
// first and the last of one can be missing in the other, and initials stand for words, if the
// family name is in full. Names with other letters must be the same but for spaces.
func SameName(one, other string) bool {
	a, latin := nameWords(one)
	b, alsoLatin := nameWords(other)
	if !latin || !alsoLatin {
		return unspaced(one) == unspaced(other)
	}
	a, b = joinedAs(b, a), joinedAs(a, b)
	if len(a) > len(b) {
		a, b = b, a
	}
	return slices.Equal(sorted(a), sorted(b)) || shortened(a, b)
}

// shortened reports whether the longer name has each word of the shorter one, or its
// initial, and lacks only middle names. One word in full is enough only if it is the last of a
// name: the family name.
func shortened(short, long []string) bool {
	left, full := slices.Clone(long), ""
	var initials []string
	equal := 0
	for _, word := range short {
		i := slices.Index(left, word)
		switch {
		case i < 0:
			initials = append(initials, word)
			continue
		case utf8.RuneCountInString(word) > 1:
			equal, full = equal+1, word
		}
		left = slices.Delete(left, i, i+1)
	}
	for _, word := range initials {
		i := slices.IndexFunc(left, func(w string) bool { return isInitial(word, w) || isInitial(w, word) })
		if i < 0 {
			return false
		}
		left = slices.Delete(left, i, i+1)
	}
	if slices.Contains(left, long[0]) || slices.Contains(left, long[len(long)-1]) {
		return false
	}
	return equal > 1 || equal == 1 && len(short) > 1 && (full == short[len(short)-1] || full == long[len(long)-1])
}

// isInitial reports whether the first is one letter, with which the other begins.
func isInitial(letter, word string) bool {
	return utf8.RuneCountInString(letter) == 1 && strings.HasPrefix(word, letter)
}

// joinedAs joins words of a name that the other name has as one: "O Brien" as "OBrien".
func joinedAs(other, name []string) []string {
	name = slices.Clone(name)
	for _, word := range other {
		for from := 0; from < len(name); from++ {
			joined, to := name[from], from+1
			for to < len(name) && joined != word && strings.HasPrefix(word, joined) {
				joined, to = joined+name[to], to+1
			}
			if joined == word {
				name = slices.Replace(name, from, to, word)
			}
		}
	}
	return name
}

// foldedLetters are letters that NFKD leaves, as people write them without their marks.
var foldedLetters = strings.NewReplacer("đ", "d", "ð", "d", "ł", "l", "ø", "o", "ß", "ss", "æ", "ae", "œ", "oe", "þ", "th",
	"ħ", "h", "ı", "i", "ŋ", "n", "ŧ", "t")

// titles stand before or after a name and are no part of it.
var titles = []string{"mr", "mrs", "ms", "miss", "mx", "dr", "prof", "jr", "sr"}

// nameWords are a name's words in plain small letters without titles, and whether all its
// letters are Latin.
func nameWords(name string) (words []string, latin bool) {
	latin = true
	plain := strings.Map(func(r rune) rune {
		switch {
		case unicode.In(r, unicode.Mn, unicode.Cf, unicode.Sk, unicode.Lm) || strings.ContainsRune("'’‘‛′", r):
			return -1 // accents, what is invisible, and apostrophes, which are also letters
		case unicode.IsLetter(r):
			latin = latin && unicode.Is(unicode.Latin, r)
			return r
		case unicode.IsDigit(r):
			return r
		}
		return ' '
	}, norm.NFKD.String(strings.ToLower(name)))
	words = strings.Fields(foldedLetters.Replace(plain))
	if named := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return slices.Contains(titles, w) }); len(named) > 1 {
		words = named
	}
	return words, latin && len(words) > 0
}

// unspaced is a name in one form of its letters, without spaces.
func unspaced(name string) string { return strings.Join(strings.Fields(norm.NFC.String(name)), "") }

func sorted(words []string) []string { return slices.Sorted(slices.Values(words)) }
