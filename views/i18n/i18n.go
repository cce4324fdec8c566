// Package i18n translates the texts of the customer's form. A text is
// identified by its English; without a translation it stays English. The
// language is in the request's context. The package knows no pages and no
// requests.
package i18n

import (
	"context"
	"slices"
	"time"

	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/statement"
)

// catalogues have the translations by their English text. The page replaces
// {name}.
var catalogues = map[domain.Language]map[string]string{
	domain.SimplifiedChinese: simplifiedChinese,
	domain.Vietnamese:        vietnamese,
	ForStaff: {
		"You live": "Lives", "Your full name": "Full name", "Your share": "Customer’s share",
		"Your share of household costs": "Customer’s share of household costs",
		"Value of your share":           "Value of the customer’s share", "Net value of your share": "Net value of the customer’s share",
	},
}

// ForStaff is the English of pages on which staff read a customer's answers: what speaks to the
// customer speaks of the customer there. Customers can't choose it.
const ForStaff domain.Language = "en-x-staff"

type key struct{}

// setting is the language of a context.
type setting struct {
	language domain.Language
	zone     *time.Location                // nil for unknown
	report   func(text string, known bool) // nil outside tests
}

// In returns a context in that language.
func In(ctx context.Context, language domain.Language) context.Context {
	return context.WithValue(ctx, key{}, setting{language: language})
}

// At returns a context in that time zone, for the days of instants. In it, the
// language stays as it is.
func At(ctx context.Context, zone *time.Location) context.Context {
	s, ok := ctx.Value(key{}).(setting)
	if !ok {
		s.language = domain.English
	}
	s.zone = zone
	return context.WithValue(ctx, key{}, s)
}

// Reporting returns a context in that language that reports each text and
// whether it has a translation, for tests.
func Reporting(ctx context.Context, language domain.Language, report func(text string, known bool)) context.Context {
	return context.WithValue(ctx, key{}, setting{language: language, report: report})
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

// T translates a text to the context's language. The arguments replace the
// English text's {names}, in their order there.
func T(ctx context.Context, text string, args ...string) string {
	return form.Fill(text, translate(ctx, text), args)
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
	names, translated := form.Place.FindAllString(text, -1), translate(ctx, text)
	var out []Part
	for {
		at := form.Place.FindStringIndex(translated)
		if at == nil {
			return append(out, Part{translated, -1})
		}
		if n := slices.Index(names, translated[at[0]:at[1]]); n >= 0 {
			out = append(out, Part{translated[:at[0]], -1}, Part{Place: n})
		}
		translated = translated[at[1]:]
	}
}

// Day formats a day of the calendar in the context's language, "2 January 2006"
// in English (D2).
func Day(ctx context.Context, d form.Day) string { return d.Format(T(ctx, "2 January 2006")) }

// DayOf formats the day of an instant as Day does: the one in the context's time
// zone, or else in Sydney's.
func DayOf(ctx context.Context, t time.Time) string {
	return t.In(zoneOf(ctx)).Format(T(ctx, "2 January 2006"))
}

// MomentOf formats an instant with its time and the zone's name, otherwise as DayOf does. The
// customer may live in another zone than the one that is known.
func MomentOf(ctx context.Context, t time.Time) string {
	return t.In(zoneOf(ctx)).Format(T(ctx, "2 January 2006, 3:04 pm MST"))
}

func zoneOf(ctx context.Context) *time.Location {
	zone, known := zone(ctx)
	if !known {
		zone, _ = new(statement.Address).Zone()
	}
	return zone
}

// ZoneKnown reports whether the context has the customer's time zone.
func ZoneKnown(ctx context.Context) bool {
	_, known := zone(ctx)
	return known
}

func zone(ctx context.Context) (*time.Location, bool) {
	s, _ := ctx.Value(key{}).(setting)
	return s.zone, s.zone != nil
}
