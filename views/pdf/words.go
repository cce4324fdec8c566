package pdf

import (
	"context"
	"strconv"
	"strings"
	"time"

	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/statement"
	"candor/views/i18n"
)

// words are the document's texts in English. In a copy in another language the
// translation stands above each. It is given what makes a text in a context's language.
type words func(text func(context.Context) string) string

// english are the words of what a partner gets (ADR 4).
func english(text func(context.Context) string) string { return text(context.Background()) }

// beside returns the words of a copy in the context's language.
func beside(ctx context.Context) words {
	if i18n.Language(ctx) == domain.English {
		return english
	}
	return func(text func(context.Context) string) string {
		original, translated := english(text), text(ctx)
		if translated == original {
			return original
		}
		return withoutBrackets(translated, original) + string(lineBreak) + original
	}
}

// withoutBrackets leaves out the English that translations of terms have in brackets.
func withoutBrackets(translated, original string) string {
	bracket := strings.LastIndex(translated, " (")
	if bracket > 0 && strings.EqualFold(translated[bracket:], " ("+original+")") {
		return translated[:bracket]
	}
	return translated
}

// lineBreak is between a translation and its English; no answer has a control character.
// On one line it is a point.
const lineBreak = '\x1e'

func oneLine(s string) string { return strings.ReplaceAll(s, string(lineBreak), "  ·  ") }

// say is a text, whose {names} the arguments replace.
func (w words) say(text string, args ...string) string {
	return w(func(ctx context.Context) string { return i18n.T(ctx, text, args...) })
}

// list is a text with a place for names, which are texts too.
func (w words) list(text string, names []string) string {
	return w(func(ctx context.Context) string {
		said := make([]string, len(names))
		for i, name := range names {
			said[i] = form.InSentence(i18n.T(ctx, name))
		}
		return i18n.T(ctx, text, strings.Join(said, ", "))
	})
}

// per is a text with the period of its amounts.
func (w words) per(text string, period form.Period) string {
	return w(func(ctx context.Context) string {
		return strings.TrimSpace(i18n.T(ctx, text) + " " + i18n.T(ctx, period.Per()))
	})
}

// unit is that of a column of amounts.
func (w words) unit(period form.Period) string {
	return w(func(ctx context.Context) string { return strings.TrimSpace("AUD " + i18n.T(ctx, period.Per())) })
}

// given is an amount as the customer gave it, and what of it is the customer's, "" for just so.
func (w words) given(f form.Field) string {
	if _, how, isPart := f.Part(); isPart {
		return how
	}
	return w(func(ctx context.Context) string {
		return f.Entries().Say(func(p form.Period) string { return i18n.T(ctx, p.Per()) })
	})
}

// answered is what was answered: a choice and a day are texts.
func (w words) answered(f form.Field) string {
	return w(func(ctx context.Context) string { return answerIn(ctx, f) })
}

// place is the answers about an address on one line, without those that aren't asked abroad.
func (w words) place(fields []form.Field) string {
	return w(func(ctx context.Context) string {
		var parts []string
		for _, f := range fields {
			if !f.Value.Empty() {
				parts = append(parts, answerIn(ctx, f))
			}
		}
		return strings.Join(parts, ", ")
	})
}

func answerIn(ctx context.Context, f form.Field) string {
	if day, ok := f.Day(); ok {
		return i18n.Day(ctx, day)
	}
	if f.Kind == form.KindChoice || f.Kind == form.KindCheckbox {
		return i18n.T(ctx, f.Value.Display())
	}
	return f.Value.Display()
}

// moment is an instant on its clock. The layouts are texts.
func (w words) moment(t time.Time, layout string) string {
	return w(func(ctx context.Context) string { return t.Format(i18n.T(ctx, layout)) })
}

// submitted is when the statement was signed.
func (w words) submitted(t time.Time) string {
	return w(func(ctx context.Context) string {
		return i18n.T(ctx, "Submitted {date}", t.Format(i18n.T(ctx, dateLayout)))
	})
}

// doubt is what was odd.
func (w words) doubt(d statement.Doubt) string {
	return w(func(ctx context.Context) string {
		return d.Say(func(text string, args ...string) string { return i18n.T(ctx, text, args...) })
	})
}

func (w words) sectionTitle(name string) string {
	return strconv.Itoa(statement.SectionNumber(name)) + ".  " + w.say(statement.Title(name))
}
