package auth

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/domain"
	view "candor/views/dashboard"
	"candor/views/ui"
)

// ErrorStatus is the status of a page that shows err. After too many attempts it
// is a status of its own, with a header that says how long to wait.
func ErrorStatus(c echo.Context, err error) int {
	if own, ok := errors.AsType[*domain.Error](err); ok {
		web.SetRetryAfter(c, own)
	}
	if status, _, ok := ProofError(err); ok {
		return status
	}
	return http.StatusUnprocessableEntity
}

// ProofError returns how a password, code or passkey was rejected, if it was.
func ProofError(err error) (status int, message string, ok bool) {
	var own *domain.Error
	if !errors.As(err, &own) {
		return 0, "", false
	}
	switch own.Code {
	case domain.CodeUnauthorized:
		return http.StatusUnprocessableEntity, own.Text(view.Words.Say), true // a page asks again; 401 would ask the browser to
	case domain.CodeRateLimitExceeded, domain.CodeServiceUnavailable:
		return own.Code.Status(), own.Text(view.Words.Say), true
	}
	return 0, "", false
}

// FieldErrors returns err as a page lists it, and whether it can: a rejected
// password, code or passkey is an error of the field proof.
func FieldErrors(err error, proof string) ([]ui.ErrorItem, bool) {
	if _, message, ok := ProofError(err); ok {
		return []ui.ErrorItem{{Target: proof, Message: message}}, true
	}
	items := view.ErrorItems(web.ValidationErrors(err))
	return items, len(items) > 0
}
