package dashboard

import (
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"candor/internal/domain"
	"candor/internal/form"
	view "candor/views/dashboard"
)

// choiceIn reads a filter that is one of the choices, "" for none. Any other
// text is an error: the whole list would look like the result.
func choiceIn[T ~string](field, text string, choices []T, errs form.Errors) (T, form.Errors) {
	if chosen := T(text); text == "" || slices.Contains(choices, chosen) {
		return chosen, errs
	}
	return "", append(errs, noChoice(field))
}

func noChoice(field string) form.Error {
	return form.Error{Field: field, Message: "Choose an option from the list"}
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

// dayIn reads a day as date fields send it, nil for none.
func dayIn(field, text string, errs form.Errors) (*time.Time, form.Errors) {
	if text == "" {
		return nil, errs
	}
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return nil, append(errs, form.Error{Field: field, Message: "Enter a date such as 2026-11-21"})
	}
	return &t, errs
}

// dayAfter reads the last day of a filter and returns the day after it, nil for
// none.
func dayAfter(text string, errs form.Errors) (*time.Time, form.Errors) {
	last, errs := dayIn("to", text, errs)
	if last == nil {
		return nil, errs
	}
	next := last.AddDate(0, 0, 1)
	return &next, errs
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

// timeIn reads a UTC time as browsers and people write it, nil for none.
func timeIn(field, text string, errs form.Errors) (*time.Time, form.Errors) {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, errs
	}
	for _, layout := range []string{view.DateTimeLayout, "2006-01-02T15:04:05", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return &t, errs
		}
	}
	return nil, append(errs, form.Error{Field: field, Message: "Enter a date and time such as 2026-11-21 14:05"})
}
