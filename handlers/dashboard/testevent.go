package dashboard

import (
	"cmp"
	"net/http"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/domain"
	view "candor/views/dashboard"
)

// SendTestEvent sends an example to an endpoint or a URL and leads to its result. Reloading
// that page sends nothing. A live endpoint gets it as its URL would, by test mode's secret.
func (s *Server) SendTestEvent(c echo.Context, v *Visit) error {
	ctx, endpoint, url := c.Request().Context(), ofForm(c), c.FormValue("url")
	signs := endpoint
	if endpoint != nil {
		e, err := s.Webhooks.SetUpEndpoint(ctx, v.Scope, *endpoint)
		if err != nil {
			return err
		}
		if url = *e.URL; v.Scope.Livemode {
			signs = nil
		}
	}
	sent, err := s.Webhooks.SendTestEvent(ctx, v.Scope.AccountID, v.Actor, signs, url,
		cmp.Or(domain.EventType(c.FormValue("type")), domain.SessionCompleted))
	errs := web.ValidationErrors(err)
	switch {
	case errs != nil && endpoint != nil:
		return s.endpointPage(c, v, *endpoint, nil, errs)
	case errs != nil:
		return s.webhookSettingsPage(c, v, c.FormValue("type"), url, errs)
	case err != nil:
		return err
	}
	result := view.URL(v.Scope.Livemode, "webhooks/tests/"+sent.DeliveryID.String())
	if endpoint != nil {
		result += "?endpoint=" + endpoint.String()
	}
	return c.Redirect(http.StatusSeeOther, result)
}

// ShowTestEvent shows a test event's request and response.
func (s *Server) ShowTestEvent(c echo.Context, v *Visit, id domain.DeliveryID) error {
	sent, err := s.Webhooks.TestEvent(c.Request().Context(), v.Scope.AccountID, id)
	if err != nil {
		return err
	}
	headers := view.HeaderLines(sent.Result.RequestHeader)
	var from string
	if id := ofForm(c); id != nil {
		from = id.String()
	}
	return web.Render(c, http.StatusOK, view.TestEvent(view.TestEventPage{
		Page: s.page(v, "Test event"), Endpoint: from, Target: sent.URL, Headers: headers, Body: sent.Body,
		Status: sent.Result.StatusCode, Class: sent.Result.ErrorClass, Error: sent.Result.Error, Response: string(sent.Result.Response),
		DurationMS: sent.Result.Duration.Milliseconds(),
	}))
}
