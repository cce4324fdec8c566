package domain

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"
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
	CodeSpendCapReached       Code = "spend_cap_reached"
	CodeInvalidDateRange      Code = "invalid_date_range"
	CodeBillingAccessDenied   Code = "billing_access_denied"
	CodeRateLimitExceeded     Code = "rate_limit_exceeded"
	CodeNotFound              Code = "not_found"
	CodeMethodNotAllowed      Code = "method_not_allowed"
	CodeMisdirectedRequest    Code = "misdirected_request"
	CodePayloadTooLarge       Code = "payload_too_large"
	CodeUnsupportedMediaType  Code = "unsupported_media_type"
	CodeRangeNotSatisfiable   Code = "range_not_satisfiable"
	CodeIdempotencyKeyReused  Code = "idempotency_key_reused"
	CodeIdempotencyInProgress Code = "idempotency_in_progress"
	CodeRequestTimeout        Code = "request_timeout"
	CodeServiceUnavailable    Code = "service_unavailable"
	CodeInternal              Code = "internal_error"
)

// A CodeInfo is what is known about an error code, for every reader: the API's
// responses and document, and the filter of the request log.
type CodeInfo struct {
	Code    Code
	Status  int    // HTTP status of the response
	Meaning string // one sentence, in the API's document
	Remedy  string // what the partner's developer does about it, in the docs
	Retry   bool   // the response always has Retry-After
}

// CodeTable describes every error code (D12, D25, D26, D27, D28, D29, D68).
var CodeTable = []CodeInfo{
	{Code: CodeInvalidRequest, Status: 400,
		Meaning: "The request can’t be read as asked: malformed JSON, a wrong type, a missing field, a bad parameter.",
		Remedy:  "Correct what the message names. If `error.details` is there, it has the field. Use a new Idempotency-Key."},
	{Code: CodeUnauthorized, Status: 401, Meaning: "The Authorization header is missing or malformed.",
		Remedy: "Send the header `Authorization: Bearer` with your API key."},
	{Code: CodeInvalidAPIKey, Status: 401, Meaning: "The API key is invalid or revoked.",
		Remedy: "Check that the key is whole and wasn’t deleted. The dashboard lists your keys."},
	{Code: CodeForbidden, Status: 403,
		Meaning: "The API key lacks the permission, may not be used from this network address or from a page in a browser, or the account can’t create live sessions.", Remedy: "Use a key with the permission that the message names. If the key is restricted to networks, add your server’s address to it in the dashboard. Call the API from your server, not from a page. Live sessions also need an approved account and a subscription."},
	{Code: CodeSessionNotFound, Status: 404, Meaning: "There is no such session in this account and mode.",
		Remedy: "Check the id, and that the key is of the same mode: a test key sees test sessions only."},
	{Code: CodeSessionNotCompleted, Status: 400, Meaning: "The session isn’t completed.",
		Remedy: "Wait for the event `session.completed`, then ask again."},
	{Code: CodePDFNotReady, Status: 202, Meaning: "The PDF is still being made: try again after Retry-After seconds.",
		Remedy: "Wait for the seconds of `Retry-After`, or for the event `session.pdf_ready`, then ask again.", Retry: true},
	{Code: CodePDFExpired, Status: 404,
		Meaning: "The PDF was deleted 90 days after completion, or after the fewer that the account has set.",
		Remedy:  "The PDF is gone. Keep your own copy: fetch it when `session.pdf_ready` arrives."},
	{Code: CodeDocumentNotFound, Status: 404, Meaning: "The session has no such document, or its retention is over.",
		Remedy: "Take the id from `data.documents`. Fetch documents soon after completion and keep your own copies."},
	{Code: CodeDataErased, Status: 404, Meaning: "The customer’s data were erased on request.",
		Remedy: "Nothing can bring them back. Erase your copy, too, if the request was for you as well."},
	{Code: CodeDataExpired, Status: 404,
		Meaning: "The answers were deleted because the time for which the account keeps them is over.",
		Remedy:  "The answers are gone. Fetch them soon after completion, and set the time for which they are kept in the dashboard."},
	{Code: CodeInvalidFormType, Status: 422, Meaning: "form_type must be financial_statement.",
		Remedy: "Send `\"form_type\": \"financial_statement\"`, with a new Idempotency-Key."},
	{Code: CodeInvalidEmail, Status: 422, Meaning: "customer_email is not an email address.",
		Remedy: "Ask for the address again, or correct it, and send the request again, with a new Idempotency-Key."},
	{Code: CodeValidation, Status: 422, Meaning: "A field breaks its rule; details name it.",
		Remedy: "Correct the fields in `error.details.errors`, and send the request again, with a new Idempotency-Key."},
	{Code: CodeSessionExpired, Status: 409, Meaning: "The session has expired.",
		Remedy: "Create a new session. With `prefill_from` it offers the answers of this one."},
	{Code: CodeSessionCompleted, Status: 409, Meaning: "The session is completed.",
		Remedy: "The customer has submitted: fetch the data instead."},
	{Code: CodeSessionCancelled, Status: 409, Meaning: "The session is cancelled.",
		Remedy: "Nothing, if you cancelled it. Otherwise create a new session."},
	{Code: CodeSubscriptionNotFound, Status: 404, Meaning: "The account has no active subscription.",
		Remedy: "Subscribe in the dashboard, under Billing."},
	{Code: CodeSpendCapReached, Status: 403,
		Meaning: "The live session would cost more than the account’s spend cap for the billing period allows.",
		Remedy:  "Raise or remove the cap in the dashboard, under Billing, or wait for the next billing period. Then send the same request: the refusal isn’t kept for its `Idempotency-Key`."},
	{Code: CodeInvalidDateRange, Status: 400,
		Meaning: "The dates are malformed, incomplete, in the wrong order or more than 366 days.",
		Remedy:  "Send both `start_date` and `end_date` as YYYY-MM-DD, at most 366 days apart, or a `period`."},
	{Code: CodeBillingAccessDenied, Status: 403, Meaning: "The API key lacks the permission billing:read.",
		Remedy: "Use a key with the permission `billing:read`."},
	{Code: CodeRateLimitExceeded, Status: 429, Meaning: "Too many requests: try again after Retry-After seconds.",
		Remedy: "Wait, then send the request again. Spread requests, and use webhooks instead of polling.", Retry: true},
	{Code: CodeNotFound, Status: 404, Meaning: "There is nothing at this address.",
		Remedy: "Compare the path with the reference. It starts with `/v1`."},
	{Code: CodeMethodNotAllowed, Status: 405, Meaning: "This address doesn’t take this method.",
		Remedy: "Use the method that the reference shows for this path."},
	{Code: CodeMisdirectedRequest, Status: 421, Meaning: "A server in development doesn’t answer to this host name.",
		Remedy: "Use the address that the message names, or set `CANDOR_BASE_URL`. Only a Candor that you run yourself for development answers so."},
	{Code: CodePayloadTooLarge, Status: 413, Meaning: "The body is larger than 64 KiB.",
		Remedy: "Send less: metadata and prefill are the largest parts."},
	{Code: CodeUnsupportedMediaType, Status: 415, Meaning: "The body isn’t application/json in UTF-8.",
		Remedy: "Send the header `Content-Type: application/json`, and a body in UTF-8 without Content-Encoding."},
	{Code: CodeRangeNotSatisfiable, Status: 416, Meaning: "The part that Range asks for begins after the end of the file.",
		Remedy: "Ask for a range within the file’s size, or for the whole file: leave `Range` out."},
	{Code: CodeIdempotencyKeyReused, Status: 422, Meaning: "The Idempotency-Key was used with another body.",
		Remedy: "Use a new key for a new request. To repeat a request, send the same JSON."},
	{Code: CodeIdempotencyInProgress, Status: 409, Meaning: "The first request with this Idempotency-Key is still running.",
		Remedy: "Wait a second, then send the same request with the same key.", Retry: true},
	{Code: CodeRequestTimeout, Status: 408, Meaning: "The body did not arrive within 30 seconds.",
		Remedy: "Send the request again, with the same Idempotency-Key."},
	{Code: CodeServiceUnavailable, Status: 503, Meaning: "This can’t be stored or read now: try again later.",
		Remedy: "Wait, then send the request again, with the same Idempotency-Key.", Retry: true},
	{Code: CodeInternal, Status: 500, Meaning: "Something went wrong on our side.",
		Remedy: "Send the request again, with the same Idempotency-Key. If it persists, tell us the `X-Request-Id`."},
}

var codes = byKey(CodeTable, func(info CodeInfo) Code { return info.Code })

// Info describes the code. Its Status is 0 if CodeTable doesn't have the code.
func (c Code) Info() CodeInfo { return codes[c] }

// Status is the HTTP status of a response with the code.
func (c Code) Status() int { return c.Info().Status }

// DocPath is where the documentation describes the code, below the service's
// address.
func (c Code) DocPath() string { return "/docs/reference#error-" + string(c) }

// An Error is a failure that may be shown: its message says what is wrong and
// how to correct it, and reveals no internals. Without a message the first of the
// fields says it, in the words of a front end. Cause is for the log only.
type Error struct {
	Code    Code
	Message string
	Fields  form.Errors // the invalid fields, in the form's order
	Cause   error

	RetryAfter time.Duration // how long to wait before a retry; zero if waiting doesn't help
	Needs      Capability    // that the staff user lacks and can ask for (D136); "" for none
}

// Errorf returns an Error without fields.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Lacking returns forbidden for a staff user who lacks the capability.
func Lacking(needs Capability, message string) *Error {
	return &Error{Code: CodeForbidden, Message: message, Needs: needs}
}

// Breaks returns an Error about a field that breaks a rule. Its front end words it.
func Breaks(code Code, field string, rule form.Rule) *Error {
	return &Error{Code: code, Fields: form.Errors{{Field: field, Rule: rule}}}
}

// FieldError returns an Error about one field, worded by the front end that makes
// it; message is a whole sentence.
func FieldError(code Code, field, message string) *Error {
	return &Error{Code: code, Message: message, Fields: form.Errors{{Field: field, Message: message}}}
}

// Busy returns rate_limit_exceeded, which says when to try again.
func Busy(text string, wait time.Duration) *Error {
	seconds := max(1, int(math.Ceil(wait.Seconds())))
	when := "a second"
	switch {
	case seconds > 90:
		when = strconv.Itoa((seconds+59)/60) + " minutes"
	case seconds > 1:
		when = strconv.Itoa(seconds) + " seconds"
	}
	return &Error{Code: CodeRateLimitExceeded, Message: text + " Try again in " + when + ".",
		RetryAfter: time.Duration(seconds) * time.Second}
}

// Error returns the code and the public message, or the first field's rule.
func (e *Error) Error() string {
	return string(e.Code) + ": " + e.Text(func(f form.Error) string {
		return f.Field + ": " + cmp.Or(f.Message, string(f.Rule.Code))
	})
}

// Text returns the public message; say words an error of a field.
func (e *Error) Text(say func(form.Error) string) string {
	if e.Message == "" && len(e.Fields) > 0 {
		return say(e.Fields[0])
	}
	return e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Is matches another Error with the same code, so that errors.Is can ask for
// a kind of failure.
func (e *Error) Is(target error) bool {
	other, ok := target.(*Error)
	return ok && other.Code == e.Code
}

// ErrUnavailable says that what is stored can't be reached now. What was asked for was not
// done, or does no harm when it is done again.
var ErrUnavailable = errors.New("the database can't be reached")

// ErrOutcomeUnknown says that a change was sent to be stored and its outcome isn't known.
var ErrOutcomeUnknown = errors.New("the database didn't answer, so that the outcome is not known")

// Errors that several use cases return.
var (
	ErrAccountNotFound      = Errorf(CodeNotFound, "There is no account with this id.")
	ErrSessionNotFound      = Errorf(CodeSessionNotFound, "There is no session with this id.")
	ErrSubscriptionNotFound = Errorf(CodeSubscriptionNotFound, "This account has no active subscription.")
	ErrSignedOut            = Errorf(CodeUnauthorized, "You are signed out.")
	ErrInProgress           = &Error{Code: CodeIdempotencyInProgress,
		Message: "A request with this Idempotency-Key is still running. Try again in a moment.", RetryAfter: time.Second}
	ErrInvalidEmail = Breaks(CodeValidation, "email", form.Rule{Code: "staff_email"})
)

// Invalid returns a validation_error about the fields that break a rule, or nil
// if none does.
func Invalid(fields ...form.Error) error {
	e := &Error{Code: CodeValidation}
	for _, f := range fields {
		if f.Rule != (form.Rule{}) {
			e.Fields = append(e.Fields, f)
		}
	}
	if len(e.Fields) == 0 {
		return nil
	}
	return e
}
