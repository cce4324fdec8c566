package web

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/platform/blob"
	"candor/internal/platform/keyring"
)

// SetRetryAfter tells the client how long to wait, if the error says so.
func SetRetryAfter(c echo.Context, err *domain.Error) {
	if err.RetryAfter > 0 {
		c.Response().Header().Set(HeaderRetry, strconv.Itoa(int(math.Ceil(err.RetryAfter.Seconds()))))
	}
}

// LogFailure logs an error that the response does not show. Once the client went away
// it is no fault: PostgreSQL and the network say in many ways that they were interrupted.
func LogFailure(logger *slog.Logger, c echo.Context, err error) {
	level := slog.LevelError
	if errors.Is(c.Request().Context().Err(), context.Canceled) {
		level = slog.LevelInfo
	}
	logger.LogAttrs(c.Request().Context(), level, "request failed",
		slog.String("request_id", RequestOf(c).ID.String()), slog.String("route", c.Path()), slog.Any("error", err))
}

// ErrUnreadable answers a request for data that the configured secret keys
// can't open. The log has the key's name.
var ErrUnreadable = &domain.Error{Code: domain.CodeServiceUnavailable, RetryAfter: time.Minute,
	Message: "This can’t be read now: a secret key is missing on our side. Tell us the X-Request-Id of this response."}

// What the router answers if no route fits.
var (
	ErrNoRoute  = domain.Errorf(domain.CodeNotFound, "There is nothing at this address.")
	ErrNoMethod = domain.Errorf(domain.CodeMethodNotAllowed, "This address doesn’t take this method.")
)

// PublicError returns the part of err that may be shown; an unclassified error
// is internal_error.
func PublicError(err error) *domain.Error {
	if own, ok := errors.AsType[*domain.Error](err); ok && own.Code.Status() != 0 {
		return own
	}
	if errors.Is(err, keyring.ErrSealed) {
		return ErrUnreadable
	}
	if errors.Is(err, domain.ErrUnavailable) {
		return &domain.Error{Code: domain.CodeServiceUnavailable,
			Message: "Candor can’t store or read anything now. Try again in a few seconds.", RetryAfter: 5 * time.Second}
	}
	if errors.Is(err, domain.ErrOutcomeUnknown) {
		return &domain.Error{Code: domain.CodeServiceUnavailable,
			Message: "It isn’t known whether this was stored. Look in a few seconds, or send it again with the same Idempotency-Key: what was stored is found, and isn’t stored twice.", RetryAfter: 5 * time.Second}
	}
	if errors.Is(err, blob.ErrUnavailable) {
		return &domain.Error{Code: domain.CodeServiceUnavailable,
			Message: "Documents can’t be stored or read now. Try again in a minute.", RetryAfter: time.Minute}
	}
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return domain.Errorf(domain.CodePayloadTooLarge, "The request body is larger than %d bytes.", tooLarge.Limit)
	}
	if routing, ok := errors.AsType[*echo.HTTPError](err); ok {
		switch routing.Code {
		case http.StatusNotFound:
			return ErrNoRoute
		case http.StatusMethodNotAllowed:
			return ErrNoMethod
		case http.StatusRequestEntityTooLarge:
			return domain.Errorf(domain.CodePayloadTooLarge, "The request body is too large.")
		}
	}
	return domain.Errorf(domain.CodeInternal,
		"Something went wrong on our side. Try again; if it persists, tell us the X-Request-Id of this response.")
}

// SessionClosed reports whether err says that the session was submitted,
// cancelled or expired, such as while a request worked on it.
func SessionClosed(err error) bool {
	var own *domain.Error
	if !errors.As(err, &own) {
		return false
	}
	switch own.Code {
	case domain.CodeSessionCompleted, domain.CodeSessionCancelled, domain.CodeSessionExpired:
		return true
	}
	return false
}

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
