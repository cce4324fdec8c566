// Package i18n says the texts of the customer's form in its languages. A text
// is known by its English: what has no translation is said in English. The
// language is that of the request's context. It knows no pages and no requests.
package i18n

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	"candor/internal/domain"
)

// catalogues are the translations by the English text. {name} stands for what
// the page puts in.
var catalogues = map[domain.Language]map[string]string{
	domain.SimplifiedChinese: simplifiedChinese,
	domain.Vietnamese:        vietnamese,
}

type key struct{}

// speech is how the texts of a request are said.
type speech struct {
	language domain.Language
	heard    func(text string, known bool) // nil for nobody
}

// In returns a context whose texts are said in that language.
func In(ctx context.Context, language domain.Language) context.Context {
	return context.WithValue(ctx, key{}, speech{language: language})
}

// Overheard returns a context in whose language each text is reported, and
// whether it has a translation: for tests.
func Overheard(ctx context.Context, language domain.Language, heard func(text string, known bool)) context.Context {
	return context.WithValue(ctx, key{}, speech{language, heard})
}

// Language returns the context's language, English where none was set.
func Language(ctx context.Context) domain.Language {
	if s, ok := ctx.Value(key{}).(speech); ok {
		return s.language
	}
	return domain.English
}

// Texts returns the English texts that the language has translations of.
func Texts(language domain.Language) map[string]string { return catalogues[language] }

func translate(ctx context.Context, text string) string {
	s, ok := ctx.Value(key{}).(speech)
	if !ok || s.language == domain.English || text == "" {
		return text
	}
	translation, known := catalogues[s.language][text]
	if s.heard != nil {
		s.heard(text, known)
	}
	if !known {
		return text
	}
	return translation
}

var place = regexp.MustCompile(`\{[a-z]+\}`)

// T says a text in the context's language. The arguments take the places of
// the English text's {names}, in their order there.
func T(ctx context.Context, text string, args ...string) string {
	said := translate(ctx, text)
	if len(args) == 0 {
		return said
	}
	var pairs []string
	for i, name := range place.FindAllString(text, len(args)) {
		pairs = append(pairs, name, args[i])
	}
	return strings.NewReplacer(pairs...).Replace(said)
}

// A Part is a stretch of a sentence: a text, or the place of something that
// the page draws.
type Part struct {
	Text  string
	Place int // which {name} of the English text it is, from 0; -1 for a text
}

// Parts says a text as its texts and places, for what isn't text alone.
func Parts(ctx context.Context, text string) []Part {
	names, said := place.FindAllString(text, -1), translate(ctx, text)
	var out []Part
	for {
		at := place.FindStringIndex(said)
		if at == nil {
			return append(out, Part{said, -1})
		}
		if n := slices.Index(names, said[at[0]:at[1]]); n >= 0 {
			out = append(out, Part{said[:at[0]], -1}, Part{Place: n})
		}
		said = said[at[1]:]
	}
}

// Date is a day in the language's own way, "2 January 2006" in English (D2).
func Date(ctx context.Context, t time.Time) string {
	return t.UTC().Format(T(ctx, "2 January 2006"))
}
