package handlers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strconv"

	"github.com/labstack/echo/v4"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/service"
)

// maxBody is the largest JSON body, in bytes (D27).
const maxBody = 64 << 10

// A route says where an endpoint is and what it needs.
type route struct {
	method string
	path   string // as Echo writes it
	needs  needs
	status int // of success
	doc    operationDoc
}

// needs are the permissions that an endpoint asks of a key, all of them (D29).
// An endpoint without any answers without a key.
type needs []domain.Permission

// An operation is an endpoint of the API, as it is served and described.
type operation struct {
	route
	request  reflect.Type
	response reflect.Type
	serve    echo.HandlerFunc
}

// endpoint makes an operation of a plain function. The request's fields are
// filled by their tags, as decode.go says.
func endpoint[Req, Resp any](r route, do func(context.Context, *Req) (*Resp, error)) operation {
	fields := fieldsOf(reflect.TypeFor[Req]())
	return operation{r, reflect.TypeFor[Req](), reflect.TypeFor[Resp](), func(c echo.Context) error {
		if err := authorize(requestOf(c), r.needs); err != nil {
			return err
		}
		var req Req
		if err := decodeParameters(c, fields, &req); err != nil {
			return err
		}
		resp, err := do(c.Request().Context(), &req)
		if err != nil {
			return err
		}
		return write(c, r.status, resp)
	}}
}

// posting makes an operation of a function whose effect commits with the
// answer that is kept for its Idempotency-Key (D31).
func posting[Req, Resp any](s *Server, r route, do func(context.Context, *db.Tx, *Req) (*Resp, error)) operation {
	fields := fieldsOf(reflect.TypeFor[Req]())
	return operation{r, reflect.TypeFor[Req](), reflect.TypeFor[Resp](), func(c echo.Context) error {
		if err := authorize(requestOf(c), r.needs); err != nil {
			return err
		}
		body, err := readBody(c)
		if err != nil {
			return err
		}
		answer, err := s.once(c, body, func(tx *db.Tx) (service.Answer, error) {
			var req Req
			if err := decodeBody(body, fields, &req); err != nil {
				return service.Answer{}, err
			}
			resp, err := do(c.Request().Context(), tx, &req)
			if err != nil {
				return service.Answer{}, err
			}
			text, err := encode(resp)
			return service.Answer{Status: r.status, Body: text}, err
		})
		if err != nil {
			return err
		}
		requestOf(c).code = codeIn(answer)
		if answer.Replayed {
			c.Response().Header().Set(headerReplayed, "true")
		}
		return writeBody(c, answer.Status, answer.Body)
	}}
}

// The headers of D31.
const (
	headerIdempotencyKey = "Idempotency-Key"
	headerReplayed       = "Idempotency-Replayed"
)

// once runs do in a transaction; with an Idempotency-Key, once for all
// requests that carry it.
func (s *Server) once(c echo.Context, body []byte, do func(*db.Tx) (service.Answer, error)) (answer service.Answer, err error) {
	ctx := c.Request().Context()
	key, err := idempotencyKey(c.Request().Header)
	if err != nil {
		return answer, err
	}
	if key == "" {
		err = s.Service.InTx(ctx, func(tx *db.Tx) error {
			answer, err = do(tx)
			return err
		})
		return answer, err
	}
	return s.Service.Idempotently(ctx, service.IdempotentRequest{
		Scope: scopeIn(ctx), Path: c.Request().URL.Path, Key: key, Body: body,
	}, do, refusedAnswer)
}

// idempotencyKey returns the request's key, "" where it has none.
func idempotencyKey(h http.Header) (string, error) {
	values := h.Values(headerIdempotencyKey)
	if len(values) == 0 {
		return "", nil
	}
	valid := len(values) == 1 && len(values[0]) >= 1 && len(values[0]) <= 255
	for _, c := range []byte(values[0]) {
		valid = valid && c >= ' ' && c <= '~'
	}
	if !valid {
		return "", domain.FieldError(domain.CodeInvalidRequest, headerIdempotencyKey, "Idempotency-Key must be given once, with 1 to 255 printable ASCII characters.")
	}
	return values[0], nil
}

// refusedAnswer is the answer to a refused POST, and whether it is kept for
// its Idempotency-Key.
func refusedAnswer(err error) (service.Answer, bool) {
	public := publicError(err)
	status := public.Code.Status()
	text, err := encode(newErrorBody(public))
	return service.Answer{Status: status, Body: text}, err == nil && keepsAnswer(status)
}

// codeIn returns the error code of a POST's answer, "" where it is no error.
func codeIn(answer service.Answer) domain.Code {
	if answer.Status < http.StatusBadRequest {
		return ""
	}
	var body struct {
		Error struct {
			Code domain.Code `json:"code"`
		} `json:"error"`
	}
	_ = json.Unmarshal(answer.Body, &body) // it was made by encode
	return body.Error.Code
}

// keepsAnswer reports whether answers with the status are kept for their
// Idempotency-Key: 401, 403, 429 and 5xx are not (D31).
func keepsAnswer(status int) bool {
	return status != http.StatusUnauthorized && status != http.StatusForbidden &&
		status != http.StatusTooManyRequests && status < http.StatusInternalServerError
}

// scopeIn is the scope of the request's key; endpoints that need no key have
// none.
func scopeIn(ctx context.Context) domain.Scope {
	if p := requestIn(ctx).principal; p != nil {
		return p.Scope
	}
	return domain.Scope{}
}

// actorIn is the request's key as whom the audit log names.
func actorIn(ctx context.Context) domain.Actor {
	r := requestIn(ctx)
	if r.principal == nil {
		return domain.Actor{}
	}
	return r.principal.Actor(r.address)
}

// readerIn is who is given what the request asks for: by, or nobody where it
// asks for the headers alone.
func readerIn(ctx context.Context, by domain.Actor) domain.Actor {
	if requestIn(ctx).headOnly {
		by.Kind = domain.ActorNone
	}
	return by
}

// readBody returns the body of a JSON request.
func readBody(c echo.Context) ([]byte, error) {
	r := c.Request()
	if r.ContentLength != 0 && !isJSON(r.Header) {
		return nil, domain.Errorf(domain.CodeUnsupportedMediaType, "The request body must be JSON. Send it with Content-Type: application/json.")
	}
	body, err := io.ReadAll(http.MaxBytesReader(c.Response(), r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	if err != nil && !errors.As(err, &tooLarge) && !errors.Is(err, errTooSlow) {
		return nil, &domain.Error{Code: domain.CodeInvalidRequest, Message: "The request body could not be read to its end.", Cause: err}
	}
	return body, err
}

func isJSON(h http.Header) bool {
	mediaType, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	encoding := h.Get("Content-Encoding")
	return err == nil && mediaType == "application/json" && (encoding == "" || encoding == "identity")
}

// A responder is a response that isn't JSON.
type responder interface{ respond(echo.Context) error }

func write(c echo.Context, status int, resp any) error {
	if r, ok := resp.(responder); ok {
		return r.respond(c)
	}
	return writeJSON(c, status, resp)
}

func writeJSON(c echo.Context, status int, v any) error {
	text, err := encode(v)
	if err != nil {
		return err
	}
	return writeBody(c, status, text)
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
