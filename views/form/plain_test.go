package form_test

import (
	"regexp"
	"strings"
	"testing"

	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/statement"
	"candor/views/i18n"
)

var (
	vowels   = regexp.MustCompile(`[aeiouy]+`)
	word     = regexp.MustCompile(`[A-Za-z’'-]+`)
	sentence = regexp.MustCompile(`[.!?:](\s|$)`)
)

// reading counts a text's sentences, words and syllables. A place stands for one
// short word.
func reading(text string) (sentences, words, syllables int) {
	text = form.Place.ReplaceAllString(text, "it")
	for _, w := range word.FindAllString(text, -1) {
		w = strings.ToLower(w)
		n := len(vowels.FindAllString(w, -1))
		if n > 1 && strings.HasSuffix(w, "e") && !strings.HasSuffix(w, "le") {
			n--
		}
		words, syllables = words+1, syllables+max(n, 1)
	}
	return max(1, len(sentence.FindAllString(strings.TrimRight(text, ".!?:")+".", -1))), words, syllables
}

// grade is the school year that a text needs by Flesch and Kincaid's formula.
func grade(sentences, words, syllables int) float64 {
	return 0.39*float64(words)/float64(sentences) + 11.8*float64(syllables)/float64(words) - 15.59
}

// TestTextsArePlain: a child of ten, in school year 5, can read the form. Single
// words that money has can be longer; the declaration is fixed.
func TestTextsArePlain(t *testing.T) {
	t.Parallel()
	var sentences, words, syllables int
	for text := range i18n.Texts(domain.Languages[1]) {
		s, w, y := reading(text)
		if w < 4 || text == statement.DeclarationText {
			continue // a name, not a sentence
		}
		sentences, words, syllables = sentences+s, words+w, syllables+y
		if got := grade(s, w, y); w >= 8 && got > 9 {
			t.Errorf("school year %.1f: %q", got, text)
		}
	}
	got := grade(sentences, words, syllables)
	t.Logf("school year %.1f over %d words in %d sentences", got, words, sentences)
	if got > 4 {
		t.Errorf("the form needs school year %.1f, want 4 or less", got)
	}
}
