// Package i18n translates the texts of the customer's form. A text is
// identified by its English; without a translation it stays English. The
// language is in the request's context. The package knows no pages and no
// requests.
package i18n

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	"candor/internal/domain"
)

// catalogues have the translations by their English text. The page replaces
// {name}.
var catalogues = map[domain.Language]map[string]string{
	domain.SimplifiedChinese: simplifiedChinese,
	domain.Vietnamese:        vietnamese,
}

type key struct{}

// setting is the language of a context.
type setting struct {
	language domain.Language
	report   func(text string, known bool) // nil outside tests
}

// In returns a context in that language.
func In(ctx context.Context, language domain.Language) context.Context {
	return context.WithValue(ctx, key{}, setting{language: language})
}

// Reporting returns a context in that language that reports each text and
// whether it has a translation, for tests.
func Reporting(ctx context.Context, language domain.Language, report func(text string, known bool)) context.Context {
	return context.WithValue(ctx, key{}, setting{language, report})
}

// Language returns the context's language, English by default.
func Language(ctx context.Context) domain.Language {
	if s, ok := ctx.Value(key{}).(setting); ok {
		return s.language
	}
	return domain.English
}

// Texts returns the language's translations by their English text.
func Texts(language domain.Language) map[string]string { return catalogues[language] }

func translate(ctx context.Context, text string) string {
	s, ok := ctx.Value(key{}).(setting)
	if !ok || s.language == domain.English || text == "" {
		return text
	}
	translation, known := catalogues[s.language][text]
	if s.report != nil {
		s.report(text, known)
	}
	if !known {
		return text
	}
	return translation
}

var place = regexp.MustCompile(`\{[a-z]+\}`)

// T translates a text to the context's language. The arguments replace the
// English text's {names}, in their order there.
func T(ctx context.Context, text string, args ...string) string {
	translated := translate(ctx, text)
	if len(args) == 0 {
		return translated
	}
	var pairs []string
	for i, name := range place.FindAllString(text, len(args)) {
		pairs = append(pairs, name, args[i])
	}
	return strings.NewReplacer(pairs...).Replace(translated)
}

// A Part is a part of a sentence: a text, or a place where the page draws
// something.
type Part struct {
	Text  string
	Place int // number of the {name} in the English text, from 0; -1 for a text
}

// Parts translates a text and splits it at its {names}, for pages that draw
// elements there.
func Parts(ctx context.Context, text string) []Part {
	names, translated := place.FindAllString(text, -1), translate(ctx, text)
	var out []Part
	for {
		at := place.FindStringIndex(translated)
		if at == nil {
			return append(out, Part{translated, -1})
		}
		if n := slices.Index(names, translated[at[0]:at[1]]); n >= 0 {
			out = append(out, Part{translated[:at[0]], -1}, Part{Place: n})
		}
		translated = translated[at[1]:]
	}
}

// Date formats a day in the context's language, "2 January 2006" in English
// (D2).
func Date(ctx context.Context, t time.Time) string {
	return t.UTC().Format(T(ctx, "2 January 2006"))
}
