package dashboard

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"candor/internal/domain"
	"candor/internal/form"
	view "candor/views/dashboard"
)

// A control is a filter of a list: how its page draws it, and how read puts
// what was typed into the filter. read returns what is wrong with it, "" if
// nothing is.
type control[F any] struct {
	view.Control
	read func(f *F, text string) (message string)
}

// readFilters reads the filters of a list. Invalid ones are reported and don't
// filter.
func readFilters[F any](values url.Values, controls []control[F]) (f F, shown view.Filters, errs form.Errors) {
	for _, c := range controls {
		c.Value = values.Get(c.Name)
		if c.Type == "search" || c.Type == "text" {
			c.Value = strings.TrimSpace(c.Value)
		}
		if c.Value != "" {
			if message := c.read(&f, c.Value); message != "" {
				errs = append(errs, form.Error{Field: c.Name, Message: message})
			}
		}
		shown = append(shown, c.Control)
	}
	return f, shown, errs
}

// chooses is a control that sets a field to one of the options.
func chooses[F any, T ~string](name, label, all string, options []view.Option, field func(*F) *T) control[F] {
	return control[F]{view.Control{Name: name, Label: label, All: all, Options: options}, func(f *F, text string) string {
		if !slices.ContainsFunc(options, func(o view.Option) bool { return o.Value == text }) {
			return notOffered
		}
		*field(f) = T(text)
		return ""
	}}
}

// firstDay is a control that sets a field to the beginning of a day of the zone.
func firstDay[F any](zone *time.Location, name, label string, set func(*F, time.Time)) control[F] {
	return dayControl(zone, name, label, 0, set)
}

// lastDay is a control that sets a field to the beginning of the day after.
func lastDay[F any](zone *time.Location, name, label string, set func(*F, time.Time)) control[F] {
	return dayControl(zone, name, label, 1, set)
}

func dayControl[F any](zone *time.Location, name, label string, days int, set func(*F, time.Time)) control[F] {
	return control[F]{view.Control{Name: name, Label: label, Type: "date"}, func(f *F, text string) string {
		day, errs := dayIn(name, text, zone, days, nil)
		if errs == nil {
			set(f, *day)
		}
		return errs.For(name)
	}}
}

// choices are options that are called what they are.
func choices[T ~string](all []T) (out []view.Option) {
	for _, one := range all {
		out = append(out, view.Option{Value: string(one), Words: string(one)})
	}
	return out
}

// notOffered answers a choice that no list offers: the whole list would look
// like the result.
const notOffered = "Choose an option from the list"

// choiceIn reads a filter that is one of the choices, "" for none. Any other
// text is an error: the whole list would look like the result.
func choiceIn[T ~string](field, text string, choices []T, errs form.Errors) (T, form.Errors) {
	if chosen := T(text); text == "" || slices.Contains(choices, chosen) {
		return chosen, errs
	}
	return "", append(errs, noChoice(field))
}

func noChoice(field string) form.Error {
	return form.Error{Field: field, Message: notOffered}
}

// endpointIn reads the endpoint of a filter, nil for none.
func endpointIn(text string, errs form.Errors) (*domain.EndpointID, form.Errors) {
	if text == "" {
		return nil, errs
	}
	id, err := domain.ParseEndpointID(text)
	if err != nil {
		return nil, append(errs, noChoice("endpoint"))
	}
	return &id, errs
}

// dayIn reads a day as date fields send it, and returns the beginning in the zone
// of the day that many days later; nil for none.
func dayIn(field, text string, zone *time.Location, days int, errs form.Errors) (*time.Time, form.Errors) {
	if text == "" {
		return nil, errs
	}
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return nil, append(errs, form.Error{Field: field, Message: "Enter a date such as 2026-11-21"})
	}
	start := domain.StartOfDate(t.AddDate(0, 0, days), zone)
	return &start, errs
}

// beforeIn returns the id below which a page of a list begins, nil for the
// first page.
func beforeIn[ID any](c echo.Context, parse func(string) (ID, error)) (*ID, error) {
	text := c.QueryParam("before")
	if text == "" {
		return nil, nil
	}
	id, err := parse(text)
	if err != nil {
		return nil, echo.ErrNotFound
	}
	return &id, nil
}

// newestIn returns the id of the row that a list began with when it was shown, nil if it
// is shown now.
func newestIn[ID any](c echo.Context, parse func(string) (ID, error)) (*ID, error) {
	text := c.QueryParam(view.NewestParam)
	if text == "" {
		return nil, nil
	}
	id, err := parse(text)
	if err != nil {
		return nil, echo.ErrNotFound
	}
	return &id, nil
}

// countNewer returns how many of a list's latest rows, newest first, came after it was
// shown.
func countNewer[Row any](latest []Row, came func(Row) bool) int {
	if shown := slices.IndexFunc(latest, func(r Row) bool { return !came(r) }); shown >= 0 {
		return shown
	}
	return len(latest)
}

// An hourTwice says which one is meant of a time that comes twice when clocks are
// put back.
type hourTwice int

const (
	theFirst hourTwice = -1
	theLast  hourTwice = 1
)

// timeIn reads a time of the zone as browsers and people write it, nil for none.
func timeIn(field, text string, zone *time.Location, twice hourTwice, errs form.Errors) (*time.Time, form.Errors) {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, errs
	}
	for _, layout := range []string{view.DateTimeLayout, "2006-01-02T15:04:05", "2006-01-02 15:04", time.DateOnly} {
		t, err := time.ParseInLocation(layout, text, zone)
		if err != nil {
			continue
		}
		for _, step := range []time.Duration{30 * time.Minute, time.Hour} { // Lord Howe Island's clocks move by half an hour
			if other := t.Add(time.Duration(twice) * step); other.Format(time.DateTime) == t.Format(time.DateTime) {
				t = other
			}
		}
		t = t.UTC()
		return &t, errs
	}
	return nil, append(errs, form.Error{Field: field, Message: "Enter a date and time such as 2026-11-21 14:05"})
}
