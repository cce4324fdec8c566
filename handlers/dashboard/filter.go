package dashboard

import (
	"cmp"
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
// nothing is. understood is what was typed as addresses and as pages have it, if that
// differs. spans reports whether it names days that are over: without another text, "to"
// is their end.
type control[F any] struct {
	view.Control
	read       func(f *F, text string) (message string)
	understood func(text string) (value, words string)
	spans      func(text string) bool
}

// readFilters reads the filters of a list. Invalid ones are reported and don't
// filter.
func readFilters[F any](values url.Values, controls []control[F]) (f F, shown view.Filters, errs form.Errors) {
	span := ""
	for _, c := range controls {
		if c.Value = values.Get(c.Name); c.Name == "to" {
			c.Value = cmp.Or(c.Value, span)
		}
		if c.Type != "" && c.Type != "hidden" { // which isn’t typed
			c.Value = strings.TrimSpace(c.Value)
		}
		if c.Value != "" {
			if message := c.read(&f, c.Value); message != "" {
				errs = append(errs, form.Error{Field: c.Name, Message: message})
			} else if c.understood != nil {
				if c.spans != nil && c.spans(c.Value) {
					span = c.Value
				}
				c.Typed = c.Value
				c.Value, c.Words = c.understood(c.Value)
			}
		}
		shown = append(shown, c.Control)
	}
	const day = len(time.DateOnly)
	from, to := shown.Value("from"), shown.Value("to")
	if len(errs) == 0 && len(from) >= day && len(to) >= day && from[:day] > to[:day] {
		errs = append(errs, form.Error{Field: "to", Message: "Enter a last day that isn’t before the first one"})
	}
	return f, shown, errs
}

// chooses is a control that sets a field to one of the options.
func chooses[F any, T ~string](name, label, all string, options []view.Option, field func(*F) *T) control[F] {
	return control[F]{Control: view.Control{Name: name, Label: label, All: all, Options: options},
		read: func(f *F, text string) string {
			if !slices.ContainsFunc(options, func(o view.Option) bool { return o.Value == text }) {
				return notOffered
			}
			*field(f) = T(text)
			return ""
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

// beforeIn returns the id below which a page of a list begins, nil for the
// first page.
func beforeIn[ID any](c echo.Context, parse func(string) (ID, error)) (*ID, error) {
	return idIn(c, "before", parse)
}

// newestIn returns the id of the row that a list began with when it was shown, nil if it
// is shown now.
func newestIn[ID any](c echo.Context, parse func(string) (ID, error)) (*ID, error) {
	return idIn(c, view.NewestParam, parse)
}

// idIn returns the id that a parameter has, nil for none.
func idIn[ID any](c echo.Context, name string, parse func(string) (ID, error)) (*ID, error) {
	text := c.QueryParam(name)
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

// readBack is a control that says what a link of the page of figures has set.
func readBack[F, T any](name, label string, parse func(string) (T, bool), words func(T) string, field func(*F) **T) control[F] {
	return control[F]{
		Control: view.Control{Name: name, Label: label, Type: "hidden"},
		read: func(f *F, text string) string {
			value, ok := parse(text)
			if !ok {
				return "Follow a link of Figures for this list, or remove the filter “" + label + "”"
			}
			*field(f) = &value
			return ""
		},
		understood: func(text string) (string, string) {
			value, _ := parse(text)
			return text, words(value)
		},
	}
}
