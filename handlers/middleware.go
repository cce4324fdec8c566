package handlers

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/labstack/echo/v4"

	"candor/handlers/api"
	"candor/handlers/web"
	"candor/internal/domain"
	"candor/internal/platform/tracing"
	"candor/static"
)

// identifyRequest gives each request an id for its response, its log lines and
// a partner's question (D27). It ignores an id that the client sent.
func (s *server) identifyRequest(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := web.NewRequest(c, domain.NewRequestID(s.Clock.Now()))
		web.WithRequest(c, r)
		c.Response().Header().Set("X-Request-Id", r.ID.String())
		return next(c)
	}
}

func isProbe(route string) bool { return route == "/healthz" || route == "/readyz" }

// traceRequests begins a trace with each request, by its route, never its path. It
// takes none from outside (D74). Files and probes aren't traced.
func (s *server) traceRequests(next echo.HandlerFunc) echo.HandlerFunc {
	if s.Tracer == nil {
		return next
	}
	return func(c echo.Context) error {
		route := c.Path()
		if route == "" || route == static.Prefix+"*" || isProbe(route) {
			return next(c)
		}
		method := c.Request().Method
		ctx, span := s.Tracer.Begin(c.Request().Context(), tracing.Request, method+" "+route)
		span.Text(tracing.Method, method)
		span.Text(tracing.Route, route)
		span.Text(tracing.RequestID, web.RequestOf(c).ID.String())
		c.SetRequest(c.Request().WithContext(ctx))
		err := next(c)
		span.Number(tracing.StatusCode, c.Response().Status)
		span.End(c.Response().Status >= http.StatusInternalServerError)
		return err
	}
}

// logRequests writes a line for each request: its route, never its path or
// query, which can hold a form's token or an address. Probes come every few seconds, so
// theirs are for debugging. Without the database the line says so: the log has one a second of
// such lines.
func (s *server) logRequests(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		start := time.Now()
		err := next(c)
		if err != nil {
			c.Error(err)
		}
		r := web.RequestOf(c)
		took := time.Since(start) - r.Waited
		s.Answered(c.Request().Method, c.Path(), c.Response().Status, took)
		if r.Caller != nil && !r.Called() {
			s.Called(api.LogEntry(c, took))
		}
		attrs := []slog.Attr{
			slog.String("request_id", r.ID.String()), slog.String("method", c.Request().Method), slog.String("route", c.Path()),
			slog.Int("status", c.Response().Status), slog.Int64("bytes", c.Response().Size), slog.Duration("duration", took),
		}
		if r.Principal != nil {
			attrs = append(attrs, slog.String("account_id", r.Principal.AccountID.String()), slog.Bool("livemode", r.Principal.Livemode))
			if c.Response().Status == http.StatusForbidden {
				s.Attempts.Observer.Forbidden(domain.ActorKey)
				attrs = append(attrs, slog.String("key_id", r.Principal.KeyID.String()))
			}
		}
		if r.Staff != nil {
			attrs = append(attrs, slog.String("account_id", r.Staff.AccountID.String()), slog.String("staff_id", r.Staff.ID.String()))
		}
		if errors.Is(err, domain.ErrUnavailable) {
			attrs = append(attrs, slog.Any("error", domain.ErrUnavailable))
		}
		level := slog.LevelInfo
		if isProbe(c.Path()) {
			level = slog.LevelDebug
		}
		s.Logger.LogAttrs(c.Request().Context(), level, "request", attrs...)
		return nil
	}
}

// boundDatabase bounds the time that each request waits for the database (D95). A body
// that arrives and an answer that is sent have limits of their own.
func (s *server) boundDatabase(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		c.SetRequest(c.Request().WithContext(domain.WithPatience(c.Request().Context(), s.DatabaseTime)))
		return next(c)
	}
}

// recoverPanics turns a panic into an internal error of its request.
func (s *server) recoverPanics(next echo.HandlerFunc) echo.HandlerFunc {
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

// secureHeaders sets the headers of all answers. Each request shares their values,
// which nothing may change.
func (s *server) secureHeaders(next echo.HandlerFunc) echo.HandlerFunc {
	ofPages := http.Header{}
	for name, value := range map[string]string{
		"X-Content-Type-Options":       "nosniff",
		"X-Frame-Options":              "DENY",
		"Referrer-Policy":              "no-referrer",
		"Cross-Origin-Opener-Policy":   "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Content-Security-Policy":      web.PagePolicy,
		"Cache-Control":                "no-store",
		"Permissions-Policy":           web.PermissionsPolicy,
	} {
		ofPages.Set(name, value)
	}
	if !s.Development {
		ofPages.Set("Strict-Transport-Security", "max-age=31536000; includeSubDomains")
	}
	ofData := ofPages.Clone()
	ofData.Set("Content-Security-Policy", web.DataPolicy)
	return func(c echo.Context) error {
		headers := ofPages
		if api.Serves(c.Request()) {
			headers = ofData
		}
		maps.Copy(c.Response().Header(), headers)
		return next(c)
	}
}
