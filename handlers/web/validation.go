package web

import (
	"errors"

	"candor/internal/domain"
	"candor/internal/form"
)

// Invalid returns the invalid_request of these validation errors, nil for none.
func Invalid(errs form.Errors) error {
	if len(errs) == 0 {
		return nil
	}
	return &domain.Error{Code: domain.CodeInvalidRequest, Message: errs[0].Message, Fields: errs}
}

// ValidationErrors returns the fields that err is about, nil for any other
// error.
func ValidationErrors(err error) form.Errors {
	if own, ok := errors.AsType[*domain.Error](err); ok {
		return own.Fields
	}
	return nil
}
