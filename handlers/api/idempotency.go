package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path"
	"reflect"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/domain"
	"candor/internal/service/idempotency"
)

// idempotent makes an endpoint of a function that takes an idempotency key
// (D31), nil if the request has none. respond makes the response to its result.
func idempotent[Req, Of, Resp any](s *Server, o operation, respond func(context.Context, Of) *Resp,
	do func(context.Context, *idempotency.Key[Of], *Req) (Of, error)) Endpoint {
	fields := fieldsOf(reflect.TypeFor[Req]())
	return Endpoint{o, reflect.TypeFor[Req](), reflect.TypeFor[Resp](), func(c echo.Context) error {
		body, err := readBody(c)
		if err != nil {
			return err
		}
		key, err := newKey(c.Request(), body, o.status, respond, func(failure error) (*idempotency.Answer, error) {
			return s.errorAnswer(c.Response().Header(), failure)
		})
		if err != nil {
			return err
		}
		ctx := c.Request().Context()
		var req Req
		var result Of
		if err = decodeParameters(c, fields, &req); err != nil {
			return err
		}
		if len(fields.body) > 0 {
			err = decodeBody(c, body, fields.body, &req)
		}
		if err != nil {
			err = idempotency.Refuse(ctx, s.Idempotency, scopeIn(ctx), key, err)
		} else {
			result, err = do(ctx, key, &req)
		}
		if replay, ok := errors.AsType[*idempotency.Replay](err); ok {
			return s.writeReplay(c, replay)
		}
		if err != nil {
			return err
		}
		return write(c, o.status, respond(ctx, result))
	}}
}

// The headers of D31.
const (
	headerIdempotencyKey = "Idempotency-Key"
	headerReplayed       = "Idempotency-Replayed"
)

// maxPath is what a key keeps of a path as it is; of a longer one, which is no
// endpoint's, it keeps the hash, as the database bounds what it indexes.
const maxPath = 255

// newKey returns the request's idempotency key, nil if it has none. The answer to
// a result has the status; fail makes that to a failure, nil if it isn't kept.
func newKey[Of, Resp any](r *http.Request, body []byte, status int, respond func(context.Context, Of) *Resp,
	fail func(error) (*idempotency.Answer, error)) (*idempotency.Key[Of], error) {
	values := r.Header.Values(headerIdempotencyKey)
	if len(values) == 0 {
		return nil, nil
	}
	valid := len(values) == 1 && len(values[0]) >= 1 && len(values[0]) <= 255
	for _, c := range []byte(values[0]) {
		valid = valid && c >= ' ' && c <= '~'
	}
	if !valid {
		return nil, domain.FieldError(domain.CodeInvalidRequest, headerIdempotencyKey,
			"Idempotency-Key must be given once, with 1 to 255 printable ASCII characters.")
	}
	path := r.URL.EscapedPath()
	if len(path) > maxPath {
		path = fmt.Sprintf("%x", sha256.Sum256([]byte(path)))
	}
	return &idempotency.Key[Of]{Path: path, Text: values[0], Body: body, Encode: func(result Of,
		failure error) (*idempotency.Answer, error) {
		if failure != nil {
			return fail(failure)
		}
		text, err := encode(respond(r.Context(), result))
		return &idempotency.Answer{Status: status, Body: text}, err
	}}, nil
}

// errorAnswer returns the answer to a request that failed, nil if it isn't
// kept.
func (s *Server) errorAnswer(h http.Header, failure error) (*idempotency.Answer, error) {
	public := web.PublicError(failure)
	status := public.Code.Status()
	if !keepsAnswer(status) {
		return nil, nil
	}
	text, err := encode(newErrorBody(s.BaseURL, public, h))
	return &idempotency.Answer{Status: status, Body: text}, err
}

// writeReplay answers with the first answer to the request.
func (s *Server) writeReplay(c echo.Context, replay *idempotency.Replay) error {
	if replay.Status >= http.StatusBadRequest {
		var kept errorBody
		if err := json.Unmarshal(replay.Body, &kept); err != nil {
			return err
		}
		web.RequestOf(c).Code, web.RequestOf(c).Refused = kept.Error.Code, refused(replay.Status, &kept.Error)
	}
	c.Response().Header().Set(headerReplayed, "true")
	return writeBody(c, replay.Status, s.withOwnLink(c.Request().Context(), replay.Body))
}

// withOwnLink is the answer to a repeated request with the link of its key: the first
// request's key may have been one that may read answers (D92).
func (s *Server) withOwnLink(ctx context.Context, body []byte) []byte {
	var made struct {
		ID domain.SessionID `json:"id"`
	}
	if mayReadData(ctx) || json.Unmarshal(body, &made) != nil {
		return body
	}
	of := &domain.Session{ID: made.ID} // its link wasn't renewed when it was made
	theirs, own := path.Base(s.Sessions.URL(of, true)), path.Base(s.Sessions.URL(of, false))
	return bytes.ReplaceAll(body, []byte("/"+theirs+`"`), []byte("/"+own+`"`))
}

// keepsAnswer reports whether answers with the status are kept for their
// Idempotency-Key: 401, 403, 429 and 5xx are not (D31).
func keepsAnswer(status int) bool {
	return status != http.StatusUnauthorized && status != http.StatusForbidden &&
		status != http.StatusTooManyRequests && status < http.StatusInternalServerError
}
