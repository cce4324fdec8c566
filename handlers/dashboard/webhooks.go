package dashboard

import (
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/form"
	view "candor/views/dashboard"
)

// ShowWebhooks shows the account's webhook URL and secrets, its endpoints, and
// the latest deliveries.
func (s *Server) ShowWebhooks(c echo.Context, v *Visit) error {
	return s.webhooksPage(c, v, http.StatusOK, "", nil)
}

func (s *Server) webhooksPage(c echo.Context, v *Visit, status int, typed string, errs form.Errors) error {
	ctx := c.Request().Context()
	endpoints, err := s.Webhooks.Endpoints(ctx, v.Scope)
	if err != nil {
		return err
	}
	filter, shown, filterErrs := readDeliveryFilters(c.QueryParams(), endpoints)
	page := view.WebhooksPage{Page: s.page(v, "Webhooks"), Filters: shown, Endpoints: endpoints, URLText: typed}
	page.Of = shown.Title()
	if errs == nil {
		if page.URLText, err = s.Webhooks.DefaultURL(ctx, v.Scope); err != nil {
			return err
		}
	}
	secrets, err := s.Webhooks.Secrets(ctx, v.Scope)
	if err != nil {
		return err
	}
	page.NextSince, page.PreviousUntil = secrets.NextSince, secrets.PreviousUntil
	before, _ := strconv.ParseInt(c.QueryParam("before"), 10, 64) // 0, the newest, for anything else
	page.First = before <= 0
	if filterErrs == nil {
		deliveries, err := s.Webhooks.Deliveries(ctx, v.Scope, filter, max(0, before), deliveriesPerPage+1)
		if filterErrs = web.ValidationErrors(err); err != nil && filterErrs == nil {
			return err
		}
		page.More = len(deliveries) > deliveriesPerPage
		for _, d := range deliveries[:min(len(deliveries), deliveriesPerPage)] {
			page.Deliveries = append(page.Deliveries, view.DeliveryLine{Delivery: d.Delivery, Origin: d.Origin})
		}
	}
	page.Errors = view.ErrorItems(append(errs, filterErrs...))
	return web.Render(c, status, view.Webhooks(page))
}

// SetWebhookURL sets the mode's default webhook URL.
func (s *Server) SetWebhookURL(c echo.Context, v *Visit) error {
	typed := c.FormValue("url")
	err := s.Webhooks.SetDefaultURL(c.Request().Context(), v.Scope, v.Actor, typed)
	if errs := web.ValidationErrors(err); errs != nil {
		return s.webhooksPage(c, v, http.StatusUnprocessableEntity, typed, errs)
	}
	return s.backTo(c, v, "webhooks", err, "webhook_url_set")
}
