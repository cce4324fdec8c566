package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/domain"
)

// MaxBody is the largest JSON body, in bytes (D27).
const MaxBody = 64 << 10

// needs are the permissions that a route asks of a key, all of them (D29).
type needs []domain.Permission

// A Route says where an endpoint is and what it needs.
type Route struct {
	Method   string
	Path     string // as Echo writes it
	Needs    needs
	Endpoint Endpoint
}

// Handler serves a route to keys with the permissions that it needs.
func (r Route) Handler() echo.HandlerFunc {
	return func(c echo.Context) error {
		request := web.RequestOf(c)
		if p := request.Principal; r.Endpoint.test && p != nil && p.Livemode {
			// At an address of test mode (D60).
			return domain.Errorf(domain.CodeNotFound, "There is nothing at this address for a live key. Use a test key.")
		}
		request.Needs = r.Needs
		if err := authorize(request, r.Needs); err != nil {
			return err
		}
		return r.Endpoint.serve(c)
	}
}

// An Endpoint is what a route leads to, and how the API's document describes
// it.
type Endpoint struct {
	operation
	request  reflect.Type
	response reflect.Type
	serve    echo.HandlerFunc
}

// Guard is the middleware of the endpoint. Files aren't compressed: a client can
// ask for a part of them.
func (e Endpoint) Guard() []echo.MiddlewareFunc {
	if e.files != nil {
		return nil
	}
	return []echo.MiddlewareFunc{web.Compress}
}

// An operation is what an endpoint's types can't say about it.
type operation struct {
	id          string
	tag         string
	summary     string
	description string
	status      int           // of success
	errors      []domain.Code // beyond those that any endpoint can answer
	files       []string      // content types of a response that isn't JSON
	test        bool          // for test keys only; a live key gets 404 (D60)
}

// endpoint makes an endpoint of a plain function. decode.go says how the
// request's fields are filled by their tags.
func endpoint[Req, Resp any](o operation, do func(context.Context, *Req) (*Resp, error)) Endpoint {
	fields := fieldsOf(reflect.TypeFor[Req]())
	return Endpoint{o, reflect.TypeFor[Req](), reflect.TypeFor[Resp](), func(c echo.Context) error {
		var req Req
		if err := decodeParameters(c, fields, &req); err != nil {
			return err
		}
		if len(fields.body) > 0 {
			body, err := readBody(c)
			if err != nil {
				return err
			}
			if err := decodeBody(c, body, fields.body, &req); err != nil {
				return err
			}
		}
		resp, err := do(c.Request().Context(), &req)
		if err != nil {
			return err
		}
		return write(c, o.status, resp)
	}}
}

// scopeIn is the scope of the request's key.
func scopeIn(ctx context.Context) domain.Scope {
	if p := web.RequestIn(ctx).Principal; p != nil {
		return p.Scope
	}
	return domain.Scope{}
}

// actorIn is the request's key as the audit log names it.
func actorIn(ctx context.Context) domain.Actor {
	r := web.RequestIn(ctx)
	if r.Principal == nil {
		return domain.Actor{}
	}
	return r.Principal.Actor(r.Address)
}

// readBody returns the body of a JSON request.
func readBody(c echo.Context) ([]byte, error) {
	r := c.Request()
	if r.ContentLength != 0 {
		if problem := notJSON(r.Header); problem != "" {
			return nil, domain.Errorf(domain.CodeUnsupportedMediaType, "%s Send it with Content-Type: application/json.", problem)
		}
	}
	body, err := io.ReadAll(http.MaxBytesReader(c.Response(), r.Body, MaxBody))
	var tooLarge *http.MaxBytesError
	if err != nil && !errors.As(err, &tooLarge) && !errors.Is(err, web.ErrTooSlow) {
		return nil, &domain.Error{Code: domain.CodeInvalidRequest, Message: "The request body could not be read to its end.",
			Cause: err}
	}
	return body, err
}

// notJSON says why a body isn't read as JSON, "" if it is.
func notJSON(h http.Header) string {
	mediaType, parameters, err := mime.ParseMediaType(h.Get("Content-Type"))
	encoding, charset := h.Get("Content-Encoding"), strings.ToLower(parameters["charset"])
	switch {
	case err != nil || mediaType != "application/json" || encoding != "" && encoding != "identity":
		return "The request body must be JSON."
	case charset != "" && charset != "utf-8" && charset != "utf8":
		return "The request body must be UTF-8, as JSON is, but its charset is another one."
	}
	return ""
}

// A responder is a response that isn't JSON.
type responder interface{ Respond(echo.Context) error }

func write(c echo.Context, status int, resp any) error {
	if r, ok := resp.(responder); ok {
		return r.Respond(c)
	}
	return writeJSON(c, status, resp)
}

// writeJSON answers with v, or 304 to a client that has it already: a GET's answer
// has an ETag. It is weak because the same answer can be compressed, too.
func writeJSON(c echo.Context, status int, v any) error {
	text, err := encode(v)
	if err != nil {
		return err
	}
	if r := c.Request(); status == http.StatusOK && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		sum := sha256.Sum256(text)
		tag := `"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`
		c.Response().Header().Set("ETag", "W/"+tag)
		if has(r.Header.Get("If-None-Match"), tag) {
			return c.NoContent(http.StatusNotModified)
		}
	}
	return writeBody(c, status, text)
}

// has reports whether an If-None-Match names the tag (RFC 9110, 13.1.2).
func has(tags, tag string) bool {
	for one := range strings.SplitSeq(tags, ",") {
		if one = strings.TrimSpace(one); one == "*" || strings.TrimPrefix(one, "W/") == tag {
			return true
		}
	}
	return false
}

func writeBody(c echo.Context, status int, text []byte) error {
	c.Response().Header().Set(echo.HeaderContentLength, strconv.Itoa(len(text)))
	return c.Blob(status, echo.MIMEApplicationJSON, text)
}

// encode writes JSON without the escapes that only a page needs.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
