package handlers

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/platform/keyring"
	"candor/views/dashboard"
)

// errorBody is the body of every error of the API.
type errorBody struct {
	Error errorContent `json:"error" doc:"What went wrong."`
}

type errorContent struct {
	Code    domain.Code   `json:"code" doc:"What a program can tell errors apart by."`
	Message string        `json:"message" doc:"What is wrong and how to mend it, for a person."`
	Details *errorDetails `json:"details,omitempty" doc:"Which fields are wrong; absent where none is."`
}

type errorDetails struct {
	Field  string       `json:"field" doc:"The first offending field, as a path such as metadata.colour."`
	Errors []fieldError `json:"errors" doc:"All offending fields."`
}

type fieldError struct {
	Field   string `json:"field" doc:"The field, as a path."`
	Message string `json:"message" doc:"What is wrong with it."`
}

func newErrorBody(e *domain.Error) errorBody {
	return errorBody{errorContent{Code: e.Code, Message: e.Message, Details: newErrorDetails(e.Fields)}}
}

func newErrorDetails(fields form.Errors) *errorDetails {
	if len(fields) == 0 {
		return nil
	}
	details := &errorDetails{Field: fields[0].Field}
	for _, f := range fields {
		details.Errors = append(details.Errors, fieldError{Field: f.Field, Message: f.Message})
	}
	return details
}

// answerError turns an error into its response: JSON below /v1, a page
// elsewhere. What isn't fit to be shown is logged and answered as an internal
// error.
func (s *Server) answerError(err error, c echo.Context) {
	public := publicError(err)
	status := public.Code.Status()
	if status == http.StatusInternalServerError || errors.Is(err, keyring.ErrSealed) {
		s.logFailure(c, err)
	}
	if c.Response().Committed {
		return
	}
	sayWhenToRetry(c, public)
	if errors.Is(err, errTooSlow) {
		// net/http has ended the request, and a page is drawn for a running one.
		c.SetRequest(c.Request().WithContext(context.WithoutCancel(c.Request().Context())))
	}
	if isDashboard(c.Request()) {
		if err := s.staffError(c, status, public); err != nil {
			s.logFailure(c, err)
		}
		return
	}
	if !isAPI(c.Request()) {
		if err := s.pageError(c, status, err); err != nil {
			s.logFailure(c, err)
		}
		return
	}
	requestOf(c).code = public.Code
	switch public.Code {
	case domain.CodeUnauthorized, domain.CodeInvalidAPIKey:
		c.Response().Header().Set("WWW-Authenticate", `Bearer realm="Candor"`)
	case domain.CodePDFNotReady:
		c.Response().Header().Set(headerRetry, pdfRetryAfter)
	}
	if err := writeJSON(c, status, newErrorBody(public)); err != nil {
		s.logFailure(c, err)
	}
}

// sayWhenToRetry says in a header how long to wait, if the error knows.
func sayWhenToRetry(c echo.Context, err *domain.Error) {
	if err.RetryAfter > 0 {
		c.Response().Header().Set(headerRetry, strconv.Itoa(int(math.Ceil(err.RetryAfter.Seconds()))))
	}
}

// pdfRetryAfter is when a PDF that is still being made is worth asking for
// again, in seconds (D28).
const pdfRetryAfter = "3"

func (s *Server) logFailure(c echo.Context, err error) {
	level := slog.LevelError
	if errors.Is(err, context.Canceled) && c.Request().Context().Err() != nil {
		level = slog.LevelInfo // the client went away
	}
	s.Logger.LogAttrs(c.Request().Context(), level, "request failed",
		slog.String("request_id", requestOf(c).id.String()), slog.String("route", c.Path()), slog.Any("error", err))
}

// errUnreadable answers what the configured secret keys can't open. The log has
// the key's name.
var errUnreadable = domain.Errorf(domain.CodeServiceUnavailable, "This can't be read now: a secret key is missing on our side. Tell us the X-Request-Id of this response.")

// publicError returns what of err may be shown.
func publicError(err error) *domain.Error {
	var own *domain.Error
	if errors.As(err, &own) && own.Code.Status() != 0 {
		return own
	}
	if errors.Is(err, keyring.ErrSealed) {
		return errUnreadable
	}
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return domain.Errorf(domain.CodePayloadTooLarge, "The request body is larger than %d bytes.", tooLarge.Limit)
	}
	var routing *echo.HTTPError
	if errors.As(err, &routing) {
		switch routing.Code {
		case http.StatusNotFound:
			return domain.Errorf(domain.CodeNotFound, "There is nothing at this address.")
		case http.StatusMethodNotAllowed:
			return domain.Errorf(domain.CodeMethodNotAllowed, "This address doesn't take this method.")
		case http.StatusRequestEntityTooLarge:
			return domain.Errorf(domain.CodePayloadTooLarge, "The request body is too large.")
		}
	}
	return domain.Errorf(domain.CodeInternal, "Something went wrong on our side. Try again; if it persists, tell us the X-Request-Id of this response.")
}

// isAPI reports whether the request is for the JSON API.
func isAPI(r *http.Request) bool {
	return r.URL.Path == "/v1" || strings.HasPrefix(r.URL.Path, "/v1/")
}

// isDashboard reports whether the request is for the partner's dashboard.
func isDashboard(r *http.Request) bool {
	return r.URL.Path == dashboard.Root || strings.HasPrefix(r.URL.Path, dashboard.Root+"/")
}
