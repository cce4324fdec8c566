package dashboard

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service/webhooks"
	view "candor/views/dashboard"
)

const (
	// redeliveryWatch is how long after a redelivery's end its page still looks
	// what becomes of what it sent.
	redeliveryWatch = 2 * time.Minute
	// usualRedeliveryRate and usualRedeliverySpan are what is proposed.
	usualRedeliveryRate = 10
	usualRedeliverySpan = 24 * time.Hour
)

// ShowRedeliveries asks which deliveries to resend, counts them, and
// lists earlier redeliveries.
func (s *Server) ShowRedeliveries(c echo.Context, v *Visit) error {
	values := c.QueryParams()
	if !values.Has("since") {
		span := usualRedeliverySpan
		if values.Get("preview") != "" { // of all that the log shows
			span = domain.EventRetention
		}
		values.Set("since", s.Clock.Now().Add(-span).In(v.Staff.Zone()).Format(view.DateTimeLayout))
	}
	return s.redeliveriesPage(c, v, http.StatusOK, values)
}

// redeliveriesPage shows the form, and the count if the values ask for it.
func (s *Server) redeliveriesPage(c echo.Context, v *Visit, status int, values url.Values) error {
	ctx := c.Request().Context()
	filter, rate, shown, errs := redeliveryParams(values, s.calendar(v))
	page := view.RedeliveriesPage{Page: s.page(v, "Retry failed deliveries"), Params: shown}
	page.Live = view.Live{Topics: domain.DeliveryChanged}
	if values.Get("preview") != "" && errs == nil {
		preview, err := s.Webhooks.PreviewRedelivery(ctx, v.Scope, filter, rate, domain.CountMost)
		if errs = web.ValidationErrors(err); errs == nil && err != nil {
			return err
		}
		if errs == nil {
			page.Preview = &view.RedeliveryPreview{
				Matched: preview.Matched, OrMore: preview.Matched == domain.CountMost,
				AtLeast: time.Duration(preview.Matched/int64(rate)) * time.Second, Waiting: preview.Waiting,
			}
			for _, e := range preview.Endpoints {
				page.Preview.Endpoints = append(page.Preview.Endpoints, view.EndpointCount{Origin: e.Origin, Count: e.Count})
			}
		}
	}
	if values.Get("preview") != "" {
		page.Errors = view.ErrorItems(errs)
	}
	var err error
	if page.Endpoints, err = s.Webhooks.Endpoints(ctx, v.Scope, filter.Endpoint); err != nil {
		return err
	}
	if page.Former, err = s.Webhooks.Redeliveries(ctx, v.Scope); err != nil {
		return err
	}
	page.Running = slices.ContainsFunc(page.Former, func(r domain.Redelivery) bool { return r.State == domain.RedeliveryRunning })
	return web.Render(c, status, view.Redeliveries(page))
}

// redeliveryParams reads which deliveries to resend and how fast.
func redeliveryParams(values url.Values, cal calendar) (f webhooks.DeliveryFilter, rate int, shown view.RedeliveryParams,
	errs form.Errors) {
	shown = view.RedeliveryParams{
		Since: values.Get("since"), Until: values.Get("until"), Endpoint: values.Get("endpoint"), State: values.Get("state"),
		Type: values.Get("type"), Status: values.Get("status"), Rate: values.Get("rate"),
	}
	read := func(field, label string, text *string, which end) (at *time.Time) {
		if strings.TrimSpace(*text) == "" {
			return nil
		}
		at, message := cal.time(label, *text, which)
		if message != "" {
			errs = append(errs, form.Error{Field: field, Message: message})
		} else {
			_, *text = cal.written(*at)
		}
		return at
	}
	if f.Since = read("since", "Events from", &shown.Since, theFirst); strings.TrimSpace(shown.Since) == "" {
		errs = append(errs, form.Error{Field: "since", Message: "Enter the time from which failed deliveries are resent"})
	}
	f.Until = read("until", "Until", &shown.Until, theLast)
	if f.Since != nil && f.Until != nil && !f.Since.Before(*f.Until) {
		errs = append(errs, form.Error{Field: "until", Message: "Until must be later than from"})
	}
	if shown.State == "" {
		shown.State = string(domain.DeliveryFailed)
	}
	if !deliveryState(&f.DeliveryFilter, shown.State) || f.State != domain.DeliveryFailed && !f.Failing {
		errs = append(errs, noChoice("state"))
	}
	f.Endpoint, errs = endpointIn(shown.Endpoint, errs)
	f.Type, errs = choiceIn("type", shown.Type, domain.EventTypes, errs)
	f.Status, errs = choiceIn("status", shown.Status, webhooks.DeliveryStatuses, errs)
	if shown.Rate == "" {
		shown.Rate = strconv.Itoa(usualRedeliveryRate)
	}
	rate, err := strconv.Atoi(strings.TrimSpace(shown.Rate))
	if err != nil || rate < domain.MinRedeliveryRate || rate > domain.MaxRedeliveryRate {
		errs = append(errs, form.Error{Field: "rate", Message: "Enter a number from 1 to 100"})
	}
	return f, rate, shown, errs
}

// StartRedelivery resends the failed deliveries that were previewed.
func (s *Server) StartRedelivery(c echo.Context, v *Visit) error {
	values, err := web.FormValues(c)
	if err != nil {
		return err
	}
	values.Set("preview", "1")
	filter, rate, _, errs := redeliveryParams(values, s.calendar(v))
	if errs != nil {
		return s.redeliveriesPage(c, v, http.StatusUnprocessableEntity, values)
	}
	r, err := s.Webhooks.StartRedelivery(c.Request().Context(), v.Scope, filter, rate, v.Actor)
	if web.ValidationErrors(err) != nil {
		return s.redeliveriesPage(c, v, http.StatusUnprocessableEntity, values) // which finds them, too
	}
	if err != nil {
		return err
	}
	return s.backTo(c, v, "webhooks/redeliveries/"+r.ID.String(), nil, "redelivery_started")
}

// ShowRedelivery shows the progress of a redelivery and the results of its
// deliveries.
func (s *Server) ShowRedelivery(c echo.Context, v *Visit, id domain.RedeliveryID) error {
	ctx := c.Request().Context()
	r, err := s.Webhooks.Redelivery(ctx, v.Scope, id)
	if err != nil {
		return err
	}
	page := view.RedeliveryPage{Page: s.page(v, "Retry"), Redelivery: *r, OutcomeMost: domain.CountMost}
	if page.Outcome, err = s.Webhooks.RedeliveryOutcome(ctx, r); err != nil {
		return err
	}
	setUp, err := s.Webhooks.SetUpEndpoints(ctx, v.Scope)
	if err != nil {
		return err
	}
	page.Paused = slices.ContainsFunc(setUp, func(e domain.Endpoint) bool {
		return e.PausedAt != nil && (r.EndpointID == nil || *r.EndpointID == e.ID)
	})
	page.Moving = r.State == domain.RedeliveryRunning ||
		page.Outcome[domain.DeliveryPending] > 0 && s.Clock.Now().Sub(*r.FinishedAt) < redeliveryWatch
	if page.Moving {
		page.Live = view.Live{Topics: domain.DeliveryChanged}
	}
	return web.Render(c, http.StatusOK, view.Redelivery(page))
}

// StopRedelivery stops a redelivery.
func (s *Server) StopRedelivery(c echo.Context, v *Visit, id domain.RedeliveryID) error {
	_, err := s.Webhooks.StopRedelivery(c.Request().Context(), v.Scope, id, v.Actor)
	notice := "redelivery_stopped"
	if errors.Is(err, &domain.Error{Code: domain.CodeInvalidRequest}) {
		notice, err = "redelivery_ended", nil
	}
	return s.backTo(c, v, "webhooks/redeliveries/"+id.String(), err, notice)
}
