package domain

import (
	"fmt"
	"time"

	"candor/internal/form"
)

// A Code is an error.code of the API (interface.md Errors, D25–D27).
type Code string

// The error codes.
const (
	CodeInvalidRequest        Code = "invalid_request"
	CodeUnauthorized          Code = "unauthorized"
	CodeInvalidAPIKey         Code = "invalid_api_key"
	CodeForbidden             Code = "forbidden"
	CodeSessionNotFound       Code = "session_not_found"
	CodeSessionNotCompleted   Code = "session_not_completed"
	CodePDFNotReady           Code = "pdf_not_ready"
	CodePDFExpired            Code = "pdf_expired"
	CodeDocumentNotFound      Code = "document_not_found"
	CodeDataErased            Code = "data_erased"
	CodeDataExpired           Code = "data_expired"
	CodeInvalidFormType       Code = "invalid_form_type"
	CodeInvalidEmail          Code = "invalid_email"
	CodeValidation            Code = "validation_error"
	CodeSessionExpired        Code = "session_expired"
	CodeSessionCompleted      Code = "session_completed"
	CodeSessionCancelled      Code = "session_cancelled"
	CodeSubscriptionNotFound  Code = "subscription_not_found"
	CodeInvalidDateRange      Code = "invalid_date_range"
	CodeBillingAccessDenied   Code = "billing_access_denied"
	CodeRateLimitExceeded     Code = "rate_limit_exceeded"
	CodeNotFound              Code = "not_found"
	CodeMethodNotAllowed      Code = "method_not_allowed"
	CodePayloadTooLarge       Code = "payload_too_large"
	CodeUnsupportedMediaType  Code = "unsupported_media_type"
	CodeIdempotencyKeyReused  Code = "idempotency_key_reused"
	CodeIdempotencyInProgress Code = "idempotency_in_progress"
	CodeRequestTimeout        Code = "request_timeout"
	CodeServiceUnavailable    Code = "service_unavailable"
	CodeInternal              Code = "internal_error"
)

// An Error is a failure fit to be shown: its message says what is wrong and
// how to mend it, and nothing of the inside. Cause is for the log alone.
type Error struct {
	Code    Code
	Message string
	Fields  form.Errors // the offending fields, first one first
	Cause   error

	RetryAfter time.Duration // how long to wait before the next try; zero if waiting doesn't help
}

// Errorf returns an Error without fields.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// FieldError returns an Error about one field; message is a whole sentence.
func FieldError(code Code, field, message string) *Error {
	return &Error{Code: code, Message: message, Fields: form.Errors{{Field: field, Message: message}}}
}

// Error returns the code and the public message.
func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Is matches another Error with the same code, so that errors.Is can ask for
// a kind of failure.
func (e *Error) Is(target error) bool {
	other, ok := target.(*Error)
	return ok && other.Code == e.Code
}
