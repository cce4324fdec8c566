package handlers

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/labstack/echo/v4"

	"candor/internal/domain"
)

// request is what is known of a request besides what it asks: made by
// identifyRequest, completed by authenticate.
type request struct {
	id        domain.RequestID
	address   string            // the client's
	principal *domain.Principal // nil without a valid API key
	refusal   error             // why there is no principal
	caller    *domain.Principal // whose API key it is, valid or not; nil where that isn't known
	code      domain.Code       // of the API's answer, "" where it is no error
	created   *domain.SessionID // by the API, if the answer says so, too
	staff     *staffVisit       // nil outside the dashboard
	headOnly  bool              // it asks for an answer's headers alone
	body      *timedBody        // nil if it has none
}

type requestKey struct{}

func requestOf(c echo.Context) *request { return requestIn(c.Request().Context()) }

// requestIn returns the request's facts; an empty one outside a request.
func requestIn(ctx context.Context) *request {
	if r, ok := ctx.Value(requestKey{}).(*request); ok {
		return r
	}
	return &request{}
}

// identifyRequest gives each request an id that its response, its log lines
// and a partner's question share (D27). A client's own is not taken over.
func (s *Server) identifyRequest(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := &request{id: domain.NewRequestID(s.Clock.Now()), address: c.RealIP(), headOnly: c.Request().Method == http.MethodHead}
		c.SetRequest(c.Request().WithContext(context.WithValue(c.Request().Context(), requestKey{}, r)))
		c.Response().Header().Set("X-Request-Id", r.id.String())
		return next(c)
	}
}

// logRequests writes a line for each request: its route, never its path or
// query, which can hold a form's token or an address.
func (s *Server) logRequests(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		start := time.Now()
		if err := next(c); err != nil {
			c.Error(err)
		}
		r, took := requestOf(c), time.Since(start)
		s.Answered(c.Request().Method, c.Path(), c.Response().Status, took)
		if r.caller != nil {
			s.Called(callOf(c, r, took))
		}
		attrs := []slog.Attr{
			slog.String("request_id", r.id.String()), slog.String("method", c.Request().Method), slog.String("route", c.Path()),
			slog.Int("status", c.Response().Status), slog.Int64("bytes", c.Response().Size), slog.Duration("duration", took),
		}
		if r.principal != nil {
			attrs = append(attrs, slog.String("account_id", r.principal.AccountID.String()), slog.Bool("livemode", r.principal.Livemode))
			if c.Response().Status == http.StatusForbidden {
				s.Service.Observer.Forbidden(domain.ActorKey)
				attrs = append(attrs, slog.String("key_id", r.principal.KeyID.String()))
			}
		}
		if r.staff != nil {
			attrs = append(attrs, slog.String("account_id", r.staff.Session.AccountID.String()), slog.String("staff_id", r.staff.Session.ID.String()))
		}
		s.Logger.LogAttrs(c.Request().Context(), slog.LevelInfo, "request", attrs...)
		return nil
	}
}

// recoverPanics makes a panic an internal error of its request alone.
func (s *Server) recoverPanics(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			switch v := recover(); v {
			case nil:
			case http.ErrAbortHandler:
				panic(v)
			default:
				err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
			}
		}()
		return next(c)
	}
}

// pagePolicy lets a page load from this server alone, and nothing inline.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; " +
	"connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// apiPolicy lets what the API answers load nothing.
const apiPolicy = "default-src 'none'; frame-ancestors 'none'; sandbox"

func (s *Server) secureHeaders(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		h := c.Response().Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Content-Security-Policy", pagePolicy)
		h.Set("Cache-Control", "no-store")
		if isAPI(c.Request()) {
			h.Set("Content-Security-Policy", apiPolicy)
		}
		if !s.Development {
			h.Set("Strict-Transport-Security", "max-age=31536000; includeSubDomains")
		}
		return next(c)
	}
}
