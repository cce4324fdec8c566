package handlers

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service"
	"candor/views/dashboard"
	"candor/views/dashboard/snippets"
)

// deliveriesPerPage is how many deliveries are listed at once.
const deliveriesPerPage = 25

// showWebhooks shows where events go, how that works, and what was sent.
func (s *Server) showWebhooks(c echo.Context, v *staffVisit) error {
	return s.webhooksPage(c, v, http.StatusOK, "", nil)
}

func (s *Server) webhooksPage(c echo.Context, v *staffVisit, status int, typed string, wrong form.Errors) error {
	ctx := c.Request().Context()
	filter, shown, badFilter := deliveryFilter(c.QueryParams())
	page := dashboard.WebhooksPage{Page: s.staffPageOf(v, "Webhooks"), Filters: shown, URLText: typed}
	var err error
	if wrong == nil {
		if page.URLText, err = s.Service.DefaultWebhookURL(ctx, v.Scope); err != nil {
			return err
		}
	}
	secrets, err := s.Service.WebhookSecrets(ctx, v.Scope)
	if err != nil {
		return err
	}
	page.NextSince, page.PreviousUntil = secrets.NextSince, secrets.PreviousUntil
	if page.Endpoints, err = s.Service.Endpoints(ctx, v.Scope); err != nil {
		return err
	}
	before, _ := strconv.ParseInt(c.QueryParam("before"), 10, 64) // 0, the newest, for anything else
	page.First = before <= 0
	if badFilter == nil {
		deliveries, err := s.Service.Deliveries(ctx, v.Scope, filter, max(0, before), deliveriesPerPage+1)
		if badFilter = problems(err); err != nil && badFilter == nil {
			return err
		}
		page.More = len(deliveries) > deliveriesPerPage
		for _, d := range deliveries[:min(len(deliveries), deliveriesPerPage)] {
			page.Deliveries = append(page.Deliveries, dashboard.DeliveryLine{Delivery: d.Delivery, Origin: d.Origin})
		}
	}
	page.Problems = errorItems(append(wrong, badFilter...))
	return render(c, status, dashboard.Webhooks(page))
}

// deliveryFilter reads the filters of the delivery log; what can't be read is
// reported in problems.
func deliveryFilter(values url.Values) (f service.DeliveryFilter, shown dashboard.DeliveryFilters, problems form.Errors) {
	shown = dashboard.DeliveryFilters{
		State: values.Get("state"), Type: values.Get("type"), Status: values.Get("status"), From: values.Get("from"), To: values.Get("to"), Endpoint: values.Get("endpoint"),
		Session: strings.TrimSpace(values.Get("session")),
	}
	f.State, problems = choiceIn("state", shown.State, domain.DeliveryStates, problems)
	f.Type, problems = choiceIn("type", shown.Type, domain.EventTypes, problems)
	f.Status, problems = choiceIn("status", shown.Status, service.DeliveryStatuses, problems)
	f.Endpoint, problems = endpointIn(shown.Endpoint, problems)
	if shown.Session != "" {
		id, err := domain.ParseSessionID(shown.Session)
		if f.Session = &id; err != nil {
			problems = append(problems, form.Error{Field: "session", Message: "Enter a session’s id"})
		}
	}
	f.Since, problems = dayIn("from", shown.From, problems)
	f.Until, problems = dayAfter(shown.To, problems)
	if f.Since != nil && f.Until != nil && !f.Since.Before(*f.Until) {
		f.Since, f.Until = nil, nil
		problems = append(problems, form.Error{Field: "to", Message: "Until must not be before from"})
	}
	return f, shown, problems
}

// setWebhookURL sets where the mode's events go by default.
func (s *Server) setWebhookURL(c echo.Context, v *staffVisit) error {
	typed := c.FormValue("url")
	err := s.Service.SetDefaultWebhookURL(c.Request().Context(), v.Scope, v.actor, typed)
	if wrong := problems(err); wrong != nil {
		return s.webhooksPage(c, v, http.StatusUnprocessableEntity, typed, wrong)
	}
	return s.backTo(c, v, "webhooks", err, "webhook_url_set")
}

// backTo leads to a page, which says what was done.
func (s *Server) backTo(c echo.Context, v *staffVisit, page string, err error, notice string) error {
	if err != nil {
		return err
	}
	s.leaveStaffNotice(c, notice)
	return c.Redirect(http.StatusSeeOther, dashboard.URL(v.Scope.Livemode, page))
}

// showSecrets shows the webhook secrets to whoever has just proven to be
// there: in the answer to a POST, which nothing fetches ahead or again.
func (s *Server) showSecrets(c echo.Context, v *staffVisit) error {
	secrets, err := s.Service.ShowWebhookSecrets(c.Request().Context(), v.Scope, v.actor)
	if err != nil {
		return err
	}
	return render(c, http.StatusOK, dashboard.Secrets(dashboard.SecretsPage{Page: s.staffPageOf(v, "Webhook secret"), Text: secrets.Current, Next: secrets.Next}))
}

// nextSecret makes the next webhook secret and shows it.
func (s *Server) nextSecret(c echo.Context, v *staffVisit) error {
	secret, err := s.Service.NextWebhookSecret(c.Request().Context(), v.Scope, v.actor)
	if refused(err) {
		return s.backTo(c, v, "webhooks", nil, "secret_moved_on")
	}
	if err != nil && secret == "" {
		return err
	}
	return render(c, http.StatusOK, dashboard.NewSecret(dashboard.SecretsPage{Page: s.staffPageOf(v, "Copy your next webhook secret"), Next: secret}))
}

// refused reports an error that the state of things is to blame for: somebody
// else was quicker.
func refused(err error) bool { return errors.Is(err, &domain.Error{Code: domain.CodeValidation}) }

// secretStep makes a handler of a step in the rotation of the secret.
func (s *Server) secretStep(step func(context.Context, domain.Scope, domain.Actor) error, notice string) func(echo.Context, *staffVisit) error {
	return func(c echo.Context, v *staffVisit) error {
		err := step(c.Request().Context(), v.Scope, v.actor)
		if refused(err) {
			return s.backTo(c, v, "webhooks", nil, "secret_moved_on")
		}
		return s.backTo(c, v, "webhooks", err, notice)
	}
}

// showVerifyCode shows code that verifies webhooks, in one language at a time.
func (s *Server) showVerifyCode(c echo.Context, v *staffVisit) error {
	all := snippets.All()
	page := dashboard.VerifyCodePage{Page: s.staffPageOf(v, "Verify webhooks")}
	chosen := max(0, slices.IndexFunc(all, func(one snippets.Snippet) bool { return one.ID == c.QueryParam("in") }))
	for i, one := range all {
		page.Languages = append(page.Languages, dashboard.LanguageLink{ID: one.ID, Name: one.Language, Chosen: i == chosen})
	}
	page.File, page.Note, page.Code = path.Base(all[chosen].File), all[chosen].Note, all[chosen].Text
	return render(c, http.StatusOK, dashboard.VerifyCode(page))
}

// showDelivery tells all about a delivery.
func (s *Server) showDelivery(c echo.Context, v *staffVisit) error {
	id, err := domain.ParseDeliveryID(c.Param("delivery"))
	if err != nil {
		return echo.ErrNotFound
	}
	record, err := s.Service.Delivery(c.Request().Context(), v.Scope, id)
	if err != nil {
		return err
	}
	page := dashboard.DeliveryPage{
		Page: s.staffPageOf(v, "Webhook"), Delivery: record.Delivery, Origin: record.Origin, Body: record.Event.Body,
	}
	for _, a := range record.AttemptLog {
		page.Attempts = append(page.Attempts, dashboard.AttemptLine{
			Number: a.Number, At: a.StartedAt, DurationMS: a.DurationMS, Status: a.StatusCode, Class: text(a.ErrorClass), Error: text(a.Error),
			Headers: a.RequestHeaders, Response: text(a.Response),
		})
	}
	slices.Reverse(page.Attempts)
	return render(c, http.StatusOK, dashboard.Delivery(page))
}

// redeliver makes a delivery again.
func (s *Server) redeliver(c echo.Context, v *staffVisit) error {
	id, err := domain.ParseDeliveryID(c.Param("delivery"))
	if err != nil {
		return echo.ErrNotFound
	}
	_, err = s.Service.Redeliver(c.Request().Context(), v.Scope, id, v.actor)
	return s.backTo(c, v, "webhooks/deliveries/"+id.String(), err, "redelivered")
}

// cancelDelivery ends a pending delivery.
func (s *Server) cancelDelivery(c echo.Context, v *staffVisit) error {
	id, err := domain.ParseDeliveryID(c.Param("delivery"))
	if err != nil {
		return echo.ErrNotFound
	}
	_, err = s.Service.CancelDelivery(c.Request().Context(), v.Scope, id, v.actor)
	notice := "delivery_cancelled"
	if errors.Is(err, &domain.Error{Code: domain.CodeInvalidRequest}) {
		notice, err = "delivery_ended", nil
	}
	return s.backTo(c, v, "webhooks/deliveries/"+id.String(), err, notice)
}

// sendTestEvent sends an example to a URL and leads to its result: reloading
// that page sends nothing.
func (s *Server) sendTestEvent(c echo.Context, v *staffVisit) error {
	ctx := c.Request().Context()
	sent, err := s.Service.SendTestEvent(ctx, v.Scope.AccountID, v.actor, c.FormValue("url"))
	if wrong := problems(err); wrong != nil {
		return s.webhooksPage(c, v, http.StatusUnprocessableEntity, c.FormValue("url"), wrong)
	}
	if err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, dashboard.URL(v.Scope.Livemode, "webhooks/tests/"+sent.DeliveryID.String()))
}

// showTestEvent shows a test event's request and response.
func (s *Server) showTestEvent(c echo.Context, v *staffVisit) error {
	id, err := domain.ParseDeliveryID(c.Param("test"))
	if err != nil {
		return echo.ErrNotFound
	}
	sent, err := s.Service.TestEvent(c.Request().Context(), v.Scope.AccountID, id)
	if err != nil {
		return err
	}
	headers := dashboard.HeaderLines(sent.Result.RequestHeader)
	return render(c, http.StatusOK, dashboard.TestEvent(dashboard.TestEventPage{
		Page: s.staffPageOf(v, "Test event"), Target: sent.URL, Headers: headers, Body: sent.Body, Status: sent.Result.StatusCode, Delivered: sent.Result.Delivered(),
		Class: sent.Result.ErrorClass, Error: sent.Result.Error, Response: string(sent.Result.Response), DurationMS: sent.Result.Duration.Milliseconds(),
	}))
}
