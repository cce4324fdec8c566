package dashboard

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service/webhooks"
	view "candor/views/dashboard"
)

// deliveriesPerPage is how many deliveries a page lists.
const deliveriesPerPage = 25

// deliveryFilter reads the filters of the delivery log and reports invalid
// ones.
func deliveryFilter(values url.Values) (f webhooks.DeliveryFilter, shown view.DeliveryFilters, errs form.Errors) {
	shown = view.DeliveryFilters{
		State: values.Get("state"), Type: values.Get("type"), Status: values.Get("status"), From: values.Get("from"), To: values.Get("to"), Endpoint: values.Get("endpoint"),
		Session: strings.TrimSpace(values.Get("session")),
	}
	f.State, errs = choiceIn("state", shown.State, domain.DeliveryStates, errs)
	f.Type, errs = choiceIn("type", shown.Type, domain.EventTypes, errs)
	f.Status, errs = choiceIn("status", shown.Status, webhooks.DeliveryStatuses, errs)
	f.Endpoint, errs = endpointIn(shown.Endpoint, errs)
	if shown.Session != "" {
		id, err := domain.ParseSessionID(shown.Session)
		if f.Session = &id; err != nil {
			errs = append(errs, form.Error{Field: "session", Message: "Enter a session’s id"})
		}
	}
	f.Since, errs = dayIn("from", shown.From, errs)
	f.Until, errs = dayAfter(shown.To, errs)
	if f.Since != nil && f.Until != nil && !f.Since.Before(*f.Until) {
		f.Since, f.Until = nil, nil
		errs = append(errs, form.Error{Field: "to", Message: "Until must not be before from"})
	}
	return f, shown, errs
}

// ShowDelivery shows a delivery and its attempts.
func (s *Server) ShowDelivery(c echo.Context, v *Visit) error {
	id, err := domain.ParseDeliveryID(c.Param("delivery"))
	if err != nil {
		return echo.ErrNotFound
	}
	record, err := s.Webhooks.Delivery(c.Request().Context(), v.Scope, id)
	if err != nil {
		return err
	}
	page := view.DeliveryPage{
		Page: s.page(v, "Webhook"), Delivery: record.Delivery, Origin: record.Origin, Body: record.Event.Body,
	}
	for _, a := range record.AttemptLog {
		page.Attempts = append(page.Attempts, view.AttemptLine{
			Number: a.Number, At: a.StartedAt, DurationMS: a.DurationMS, Status: a.StatusCode, Class: web.Text(a.ErrorClass), Error: web.Text(a.Error),
			Headers: a.RequestHeaders, Response: web.Text(a.Response),
		})
	}
	slices.Reverse(page.Attempts)
	return web.Render(c, http.StatusOK, view.Delivery(page))
}

// Redeliver resends a delivery.
func (s *Server) Redeliver(c echo.Context, v *Visit) error {
	id, err := domain.ParseDeliveryID(c.Param("delivery"))
	if err != nil {
		return echo.ErrNotFound
	}
	_, err = s.Webhooks.Redeliver(c.Request().Context(), v.Scope, id, v.Actor)
	return s.backTo(c, v, "webhooks/deliveries/"+id.String(), err, "redelivered")
}

// CancelDelivery stops a pending delivery.
func (s *Server) CancelDelivery(c echo.Context, v *Visit) error {
	id, err := domain.ParseDeliveryID(c.Param("delivery"))
	if err != nil {
		return echo.ErrNotFound
	}
	_, err = s.Webhooks.CancelDelivery(c.Request().Context(), v.Scope, id, v.Actor)
	notice := "delivery_cancelled"
	if errors.Is(err, &domain.Error{Code: domain.CodeInvalidRequest}) {
		notice, err = "delivery_ended", nil
	}
	return s.backTo(c, v, "webhooks/deliveries/"+id.String(), err, notice)
}
