package dashboard

import (
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service/webhooks"
	view "candor/views/dashboard"
)

// deliveriesPerPage is how many deliveries a page lists.
const deliveriesPerPage = 25

// deliveryControls are the filters of the delivery log.
func deliveryControls(endpoints []domain.Endpoint, cal calendar) []control[webhooks.DeliveryFilter] {
	type filter = webhooks.DeliveryFilter
	return []control[filter]{
		{Control: view.Control{Name: "state", Label: "State", All: "All", Options: view.DeliveryStateOptions()},
			read: func(f *filter, text string) string {
				if !deliveryState(&f.DeliveryFilter, text) {
					return notOffered
				}
				return ""
			}},
		chooses("type", "Event", "All", view.EventOptions(), func(f *filter) *domain.EventType { return &f.Type }),
		chooses("status", "Last result", "All", view.ResultOptions(true), func(f *filter) *string { return &f.Status }),
		{Control: view.Control{Name: "endpoint", Label: "Endpoint", All: "All", Options: view.EndpointOptions(endpoints)},
			read: func(f *filter, text string) string {
				var errs form.Errors
				f.Endpoint, errs = endpointIn(text, nil)
				return errs.For("endpoint")
			}},
		{Control: view.Control{Name: "session", Label: "Session", Type: "text", Example: "sess_…"},
			read: func(f *filter, text string) string {
				id, err := domain.ParseSessionID(text)
				if f.Session = &id; err != nil {
					return "Enter a session’s id"
				}
				return ""
			}},
		dayControl(cal, "from", "From", theFirst, func(f *filter, day time.Time) { f.Since = &day }),
		dayControl(cal, "to", "Until", theLast, func(f *filter, day time.Time) { f.Until = &day }),
	}
}

// deliveryState sets what an option of states means, and reports whether there is one.
func deliveryState(f *domain.DeliveryFilter, text string) bool {
	switch text {
	case view.FailingNow:
		f.Failing = true
	case view.Waiting:
		f.State, f.Failing = domain.DeliveryPending, true
	default:
		f.State = domain.DeliveryState(text)
		return slices.Contains(domain.DeliveryStates, f.State)
	}
	return true
}

// ShowDelivery shows a delivery and its attempts.
func (s *Server) ShowDelivery(c echo.Context, v *Visit, id domain.DeliveryID) error {
	record, err := s.Webhooks.Delivery(c.Request().Context(), v.Scope, id)
	if err != nil {
		return err
	}
	page := view.DeliveryPage{
		Page: s.page(v, "Webhook"), Delivery: record.Delivery, Body: record.Event.Body,
		Paused: record.PausedAt != nil,
	}
	page.Of = string(record.EventType)
	page.Live = view.Live{Topics: domain.DeliveryChanged, Session: record.SessionID}
	for _, a := range record.AttemptLog {
		page.Attempts = append(page.Attempts, view.AttemptLine{
			Number: a.Number, At: a.StartedAt, DurationMS: a.DurationMS, Status: a.StatusCode, Class: web.Text(a.ErrorClass),
			Error:   web.Text(a.Error),
			Headers: a.RequestHeaders, Response: web.Text(a.Response),
		})
	}
	slices.Reverse(page.Attempts)
	return web.Render(c, http.StatusOK, view.Delivery(page))
}

// Redeliver resends a delivery.
func (s *Server) Redeliver(c echo.Context, v *Visit, id domain.DeliveryID) error {
	ctx, notice := c.Request().Context(), "redelivered"
	_, err := s.Webhooks.Redeliver(ctx, v.Scope, id, v.Actor)
	if err == nil {
		record, err := s.Webhooks.Delivery(ctx, v.Scope, id)
		if err != nil {
			return err
		}
		if record.PausedAt != nil {
			notice = "redelivered_paused"
		}
	}
	return s.backTo(c, v, "webhooks/deliveries/"+id.String(), err, notice)
}

// CancelDelivery stops a pending delivery.
func (s *Server) CancelDelivery(c echo.Context, v *Visit, id domain.DeliveryID) error {
	_, err := s.Webhooks.CancelDelivery(c.Request().Context(), v.Scope, id, v.Actor)
	notice := "delivery_cancelled"
	if errors.Is(err, &domain.Error{Code: domain.CodeInvalidRequest}) {
		notice, err = "delivery_ended", nil
	}
	return s.backTo(c, v, "webhooks/deliveries/"+id.String(), err, notice)
}
