package handlers

import (
	"slices"

	"candor/form"
)

// choiceIn reads one of the choices of a list's filter, "" for none of them.
// What is none of them is reported: the whole list would look like what was
// asked for.
func choiceIn[T ~string](field, text string, choices []T, problems form.Errors) (T, form.Errors) {
	if chosen := T(text); text == "" || slices.Contains(choices, chosen) {
		return chosen, problems
	}
	return "", append(problems, form.Error{Field: field, Message: "Choose one of the list"})
}
