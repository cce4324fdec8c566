package api

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"

	"github.com/labstack/echo/v4"

	"candor/db"
	"candor/handlers/api/openapi"
	"candor/handlers/web"
	"candor/internal/domain"
	"candor/internal/service"
)

// posting makes an endpoint of a function whose effect commits with the
// response that is kept for its Idempotency-Key (D31).
func posting[Req, Resp any](s *Server, o operation, do func(context.Context, *db.Tx, *Req) (*Resp, error)) Endpoint {
	fields := openapi.Fields(reflect.TypeFor[Req]())
	return Endpoint{o, reflect.TypeFor[Req](), reflect.TypeFor[Resp](), func(c echo.Context) error {
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
			return service.Answer{Status: o.status, Body: text}, err
		})
		if err != nil {
			return err
		}
		web.RequestOf(c).Code = codeIn(answer)
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
	public := web.PublicError(err)
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
