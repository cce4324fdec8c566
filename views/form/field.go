package form

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"candor/internal/form"
	"candor/views/i18n"
)

// maxRadios is up to how many options are shown as radio buttons; more are a
// select.
const maxRadios = 4

// question is a field where it stands on a page.
type question struct {
	form.Field
	Path    string      // input name and id, "real_property.0.current_value"
	Message string      // what is wrong with the answer, or ""
	Focus   bool        // takes the focus when the page appears
	Stored  *form.Field // what another tab or device saved, if it collides with the answer
	Later   bool        // the answer can be left for later
	// Of a section's amounts:
	Action  string // where the form is posted
	Taken   string // what the button Take answers, "" for no button
	FocusOn string // SectionPage.Focus
}

// amount is one of the amounts of a money field.
type amount struct {
	Path   string // input name and id; that of the period has ".period" after it
	Input  string
	Period form.Period // Once if the customer is to choose it
	Choose bool        // the list of periods has an entry for none
	Wrong  bool        // the period is missing or not known
	Told   bool        // the question's message is about this amount
}

// known reports whether the period is one that can be chosen.
func (a amount) known() bool { return slices.Contains(form.Periods, a.Period) }

// lacksPeriod reports whether an amount was given without its period.
func (a amount) lacksPeriod() bool { return a.Input != "" && !a.known() }

// amounts are a money field's amounts as typed, at least one.
func (q question) amounts() []amount {
	var out []amount
	for _, part := range q.Parts() {
		if strings.HasSuffix(part, ".period") {
			continue
		}
		name := strings.TrimPrefix(part, ".")
		a := amount{Path: q.Path + part, Input: q.Value.Input(name), Told: q.Message != "" && part == q.WrongPart()}
		if q.Period != form.Once {
			a.Period = form.Period(q.Value.Input(strings.TrimPrefix(part+".period", ".")))
			if a.Period == form.Once && a.Input == "" {
				a.Period = q.DefaultPeriod
			}
			a.Wrong = a.lacksPeriod() && q.Message != ""
			a.Choose = q.DefaultPeriod == form.Once || a.Period == form.Once
		}
		out = append(out, a)
	}
	return out
}

// converts reports whether a line beside the amounts says what they come to.
func (q question) converts() bool {
	return q.Kind == form.KindMoney && (q.Period != form.Once || q.Owned != nil)
}

// conversion says what amounts come to in the field's own period, and which part of them
// is the customer's: "× 50% = $65.00 a month". conversion.js says the same.
func conversion(ctx context.Context, f form.Field) string {
	amount := f.Value.Display()
	if part, _, isPart := f.Part(); isPart {
		amount = part.String()
	} else if f.Entries() == nil {
		return ""
	}
	text := converted(ctx, f.Period, amount)
	if share, shared := f.Share(); shared {
		text = "× " + strconv.Itoa(share) + "% " + text
	}
	return text
}

// converted is the end of a conversion.
func converted(ctx context.Context, unit form.Period, amount string) string {
	if unit == form.Once {
		return "= " + amount
	}
	return i18n.T(ctx, "= {amount} {per}", amount, i18n.T(ctx, unit.Per()))
}

// questions places a section's or item's fields that are asked or shown.
// They are in the page's language; so are errs already.
func questions(ctx context.Context, fields []form.Field, prefix string, errs form.Errors, focus string) []question {
	var out []question
	for _, f := range fields {
		if f.Kind != form.KindOutput && !f.Asked() {
			continue
		}
		path := prefix + f.Name
		f.Label, f.Hint, f.Options = i18n.T(ctx, f.Label), i18n.T(ctx, f.Hint), options(ctx, f.Options)
		if f.SharedBy != "" {
			f.SharedBy = prefix + f.SharedBy
		}
		out = append(out, question{Field: f, Path: path, Message: errs.For(path), Focus: path == focus})
	}
	return out
}

// questions places fields of the section.
func (s SectionPage) questions(ctx context.Context, fields []form.Field, prefix string, errs form.Errors) []question {
	out := questions(ctx, fields, prefix, errs, s.Focus)
	for i, q := range out {
		out[i].Action, out[i].FocusOn = s.Action, s.Focus
		out[i].Stored, out[i].Later = s.other(q.Path), q.CanWait()
		if q.FillButton != "" && s.free(q.Suggestions) && len(s.Section.Suggestions[q.Suggestions]) == 1 {
			out[i].Taken = s.Section.Suggestions[q.Suggestions][0]
		}
	}
	return out
}

// free reports whether the only value of the list of suggestions isn't an answer
// of the section yet.
func (s SectionPage) free(list string) bool {
	free := true
	s.Section.Walk(func(_ string, f form.Field) {
		free = free && (f.Suggestions != list || !slices.Contains(s.Section.Suggestions[list], f.Value.Input("")))
	})
	return free
}

func options(ctx context.Context, in []form.Option) []form.Option {
	out := slices.Clone(in)
	i18n.Sort(ctx, out)
	for i, o := range out {
		out[i].Label = i18n.T(ctx, o.Label)
	}
	return out
}

func (q question) hintID() string       { return q.Path + "-hint" }
func (q question) errorID() string      { return q.Path + "-error" }
func (q question) conversionID() string { return q.Path + "-conversion" }

// describedBy lists the ids of the hint, the error and the conversion, "" if there is none.
func (q question) describedBy() string {
	var ids []string
	if q.Hint != "" {
		ids = append(ids, q.hintID())
	}
	if q.Message != "" {
		ids = append(ids, q.errorID())
	}
	if q.converts() {
		ids = append(ids, q.conversionID())
	}
	return strings.Join(ids, " ")
}

func (q question) radios() bool { return len(q.Options) <= maxRadios }

// sizeClass makes an input about as wide as its answer.
func (q question) sizeClass() string {
	switch q.Kind {
	case form.KindPostcode, form.KindNumber:
		return "input-short"
	case form.KindPhone, form.KindChoice:
		return "input-medium"
	}
	return ""
}

// inputType and inputMode choose the keyboard of a phone.
func (q question) inputType() string {
	switch q.Kind {
	case form.KindEmail:
		return "email"
	case form.KindPhone:
		return "tel"
	}
	return "text"
}

func (q question) inputMode() string {
	switch q.Kind {
	case form.KindMoney:
		return "decimal"
	case form.KindPostcode:
		if q.Free() {
			return ""
		}
		return "numeric"
	case form.KindPercent, form.KindNumber:
		return "numeric"
	case form.KindEmail:
		return "email"
	case form.KindPhone:
		return "tel"
	}
	return ""
}

// attributes are those that every kind of input shares.
func (q question) attributes() templ.Attributes {
	attrs := templ.Attributes{}
	if ids := q.describedBy(); ids != "" {
		attrs["aria-describedby"] = ids
	}
	if q.Message != "" && !q.LacksPeriod() {
		attrs["aria-invalid"] = "true"
	}
	if q.Suggestions != "" && q.FillButton == "" {
		attrs["list"] = listID(q.Suggestions)
	}
	if q.Autocomplete != "" {
		attrs["autocomplete"] = q.Autocomplete
	}
	if mode := q.inputMode(); mode != "" {
		attrs["inputmode"] = mode
	}
	if q.Focus {
		attrs["autofocus"] = true
	}
	return attrs
}

// ofAmount are those of an amount's input. The message can be about another one.
func (q question) ofAmount(a amount) templ.Attributes {
	if !a.Told {
		q.Message = ""
	}
	q.Focus = q.FocusOn == a.Path
	return q.attributes()
}

// listID is the id of a list of suggestions.
func listID(name string) string { return "list-" + name }

// datePart is one of a date's three inputs.
type datePart struct {
	Suffix, Label, Class, Autocomplete string
}

func (q question) dateParts(ctx context.Context) []datePart {
	parts := []datePart{
		{Suffix: "day", Label: i18n.T(ctx, "Day")}, {Suffix: "month", Label: i18n.T(ctx, "Month")},
		{Suffix: "year", Label: i18n.T(ctx, "Year"), Class: "input-year"},
	}
	if q.Autocomplete != "" {
		for i := range parts {
			parts[i].Autocomplete = q.Autocomplete + "-" + parts[i].Suffix
		}
	}
	return parts
}
