package api

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/domain"
	"candor/internal/form"
)

// errorBody is the body of every error of the API.
type errorBody struct {
	Error errorContent `json:"error" doc:"What went wrong."`
}

type errorContent struct {
	Code    domain.Code   `json:"code" doc:"What a program can tell errors apart by."`
	Message string        `json:"message" doc:"What is wrong and how to mend it, for a person."`
	DocURL  string        `json:"doc_url" format:"uri" doc:"The page that says what the code means and what to do about it."`
	Details *errorDetails `json:"details,omitempty" doc:"Which fields are wrong; absent where none is."`
	Ignored ignored       `json:"ignored,omitempty" doc:"The fields and query parameters that the request has and the address doesn’t know, at most 10; absent where none is. As in the header Candor-Ignored."`
}

type errorDetails struct {
	Field  string       `json:"field" doc:"The first offending field, as a path such as metadata.colour."`
	Errors []fieldError `json:"errors" doc:"All offending fields."`
}

type fieldError struct {
	Field   string `json:"field" doc:"The field, as a path."`
	Message string `json:"message" doc:"What is wrong with it."`
}

// newErrorBody is the body of the response with those headers.
func newErrorBody(baseURL string, e *domain.Error, h http.Header) errorBody {
	if e == domain.ErrSessionNotFound {
		e = errNoSession
	}
	return errorBody{errorContent{Code: e.Code, Message: e.Text(Words.Say), DocURL: baseURL + e.Code.DocPath(),
		Details: newErrorDetails(e.Fields), Ignored: ignoredIn(h)}}
}

func newErrorDetails(fields form.Errors) *errorDetails {
	if len(fields) == 0 {
		return nil
	}
	details := &errorDetails{Field: fields[0].Field}
	for _, f := range fields {
		details.Errors = append(details.Errors, fieldError{Field: f.Field, Message: Words.Say(f)})
	}
	return details
}

// wwwAuthenticate is the WWW-Authenticate of a request without a valid key.
const wwwAuthenticate = `Bearer realm="Candor"`

// pdfRetryAfter is the Retry-After of a PDF that is being made, in seconds
// (D28).
const pdfRetryAfter = "3"

// AnswerError answers with an error as JSON.
func (s *Server) AnswerError(c echo.Context, status int, public *domain.Error) error {
	web.RequestOf(c).Code = public.Code
	switch public {
	case web.ErrNoRoute:
		public = domain.Errorf(public.Code, "%s", s.somewhere(c.Request().URL.Path))
	case web.ErrNoMethod:
		public = domain.Errorf(public.Code, "%s", takes(c.Response().Header().Get(echo.HeaderAllow)))
	}
	switch public.Code {
	case domain.CodeUnauthorized, domain.CodeInvalidAPIKey:
		c.Response().Header().Set(echo.HeaderWWWAuthenticate, wwwAuthenticate)
	case domain.CodePDFNotReady:
		c.Response().Header().Set(web.HeaderRetry, pdfRetryAfter)
	}
	body := newErrorBody(s.BaseURL, public, c.Response().Header())
	web.RequestOf(c).Refused = refused(status, &body.Error)
	return writeJSON(c, status, body)
}

// quotedName is a name of the client's in a sentence.
var quotedName = regexp.MustCompile(`"(\\.|[^"\\])*"`)

// itemNumber is the part of a path that is an item of a list.
var itemNumber = regexp.MustCompile(`^[0-9]{1,2}$`)

// refused is what the log of API requests keeps of an error. The names of metadata
// are the partner's own and can be anything, so they are left out, as is every path
// with a name that isn't near to a member of answers (D90): that name can have points, so
// the whole of it isn't found. Names in quotes are treated alike. The cause of an error on our side isn't the partner's to mend.
func refused(status int, e *errorContent) []domain.RefusedField {
	switch {
	case status < http.StatusBadRequest || status >= http.StatusInternalServerError:
		return nil
	case e.Details == nil:
		return []domain.RefusedField{{Message: quotedName.ReplaceAllStringFunc(e.Message, func(quoted string) string {
			if name, err := strconv.Unquote(quoted); err != nil || !isLogged(name) {
				return `"…"`
			}
			return quoted
		})}}
	}
	var out []domain.RefusedField
	for _, one := range e.Details.Errors {
		if slices.Contains(e.Ignored, unknownName{Name: one.Field}) { // near to none
			out = append(out, domain.RefusedField{Field: untold, Message: unknownName{Name: untold}.refusal()})
			continue
		}
		names := strings.Split(one.Field, ".")
		root := names[0]
		known := !slices.ContainsFunc(names[1:], func(name string) bool { return !itemNumber.MatchString(name) && !isLogged(name) })
		if len(names) > 1 && (root == "metadata" || !known) {
			one.Field, one.Message = root+".…", strings.ReplaceAll(one.Message, one.Field, root+".…")
		}
		out = append(out, domain.RefusedField{Field: one.Field, Message: form.Untyped(one.Message)})
	}
	return out
}
