package handlers

import (
	"context"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"candor/handlers/api"
	"candor/handlers/dashboard"
	"candor/handlers/docs"
	"candor/handlers/web"
	"candor/internal/domain"
)

// answerError turns an error into its response: JSON below /v1, else a page of
// the application. It logs what may not be shown and answers internal_error.
func (s *server) answerError(err error, c echo.Context) {
	public := web.PublicError(err)
	status := public.Code.Status()
	var meant *domain.Error // such as of a service that is too busy
	if errors.As(err, &meant); status >= http.StatusInternalServerError && public != meant {
		web.LogFailure(s.Logger, c, err)
	}
	if c.Response().Committed {
		return
	}
	web.SetRetryAfter(c, public)
	if errors.Is(err, web.ErrTooSlow) {
		// net/http has ended the request, and drawing a page needs a running one.
		c.SetRequest(c.Request().WithContext(context.WithoutCancel(c.Request().Context())))
	}
	answer := func() error { return s.form.AnswerError(c, status, public) }
	switch {
	case api.Serves(c.Request()):
		answer = func() error { return s.api.AnswerError(c, status, public) }
	case docs.Serves(c.Request()):
		answer = func() error { return s.docs.AnswerError(c, status, public) }
	case dashboard.Serves(c.Request()):
		answer = func() error { return s.dashboard.AnswerError(c, status, public) }
	}
	if err := answer(); err != nil {
		web.LogFailure(s.Logger, c, err)
	}
}
