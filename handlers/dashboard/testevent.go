package dashboard

import (
	"cmp"
	"net/http"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/domain"
	view "candor/views/dashboard"
)

// SendTestEvent sends an example to a URL and leads to its result. Reloading
// that page sends nothing.
func (s *Server) SendTestEvent(c echo.Context, v *Visit) error {
	ctx := c.Request().Context()
	sent, err := s.Webhooks.SendTestEvent(ctx, v.Scope.AccountID, v.Actor, ofForm(c), c.FormValue("url"),
		cmp.Or(domain.EventType(c.FormValue("type")), domain.SessionCompleted))
	if errs := web.ValidationErrors(err); errs != nil {
		return s.webhookSettingsPage(c, v, http.StatusUnprocessableEntity, c.FormValue("type"), c.FormValue("url"), errs)
	}
	if err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, view.URL(v.Scope.Livemode, "webhooks/tests/"+sent.DeliveryID.String()))
}

// ShowTestEvent shows a test event's request and response.
func (s *Server) ShowTestEvent(c echo.Context, v *Visit) error {
	id, err := domain.ParseDeliveryID(c.Param("test"))
	if err != nil {
		return echo.ErrNotFound
	}
	sent, err := s.Webhooks.TestEvent(c.Request().Context(), v.Scope.AccountID, id)
	if err != nil {
		return err
	}
	headers := view.HeaderLines(sent.Result.RequestHeader)
	return web.Render(c, http.StatusOK, view.TestEvent(view.TestEventPage{
		Page: s.page(v, "Test event"), Target: sent.URL, Headers: headers, Body: sent.Body, Status: sent.Result.StatusCode,
		Delivered: sent.Result.Delivered(),
		Class:     sent.Result.ErrorClass, Error: sent.Result.Error, Response: string(sent.Result.Response),
		DurationMS: sent.Result.Duration.Milliseconds(),
	}))
}
