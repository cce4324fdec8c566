package dashboard

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/domain"
	"candor/internal/form"
	view "candor/views/dashboard"
)

// maxEndpointLines is how many endpoints the webhooks page lists: a partner can
// have one for each session, and the figures of 20 busy ones took 10 ms to add up.
const maxEndpointLines = 10

// ShowWebhooks shows the latest deliveries and the endpoints' health.
func (s *Server) ShowWebhooks(c echo.Context, v *Visit) error {
	ctx := c.Request().Context()
	chosen, _ := endpointIn(c.QueryParam("endpoint"), nil) // the filters tell what is wrong with it
	endpoints, err := s.Webhooks.Endpoints(ctx, v.Scope, chosen)
	if err != nil {
		return err
	}
	filter, shown, errs := readFilters(c.QueryParams(), deliveryControls(endpoints, s.calendar(v)))
	page := view.WebhooksPage{Page: s.page(v, "Webhooks"), Filters: shown}
	page.Of = shown.Title()
	before, _ := strconv.ParseInt(c.QueryParam("before"), 10, 64) // 0, the newest, for anything else
	page.First = before <= 0
	page.Live.Topics = domain.DeliveryChanged
	newest, _ := strconv.ParseInt(c.QueryParam(view.NewestParam), 10, 64)
	if errs == nil && page.First && newest > 0 {
		latest, err := s.Webhooks.Deliveries(ctx, v.Scope, filter, 0, domain.NewMost)
		if err != nil {
			return err
		}
		page.Newer = countNewer(latest, func(d domain.ListedDelivery) bool { return d.Sequence > newest })
		before = newest + 1
	}
	if errs == nil {
		deliveries, err := s.Webhooks.Deliveries(ctx, v.Scope, filter, max(0, before), deliveriesPerPage+1)
		if errs = web.ValidationErrors(err); err != nil && errs == nil {
			return err
		}
		whole := wholeEvents(deliveries, deliveriesPerPage)
		page.More = len(deliveries) > len(whole)
		for _, d := range whole {
			page.Deliveries = append(page.Deliveries, lineOf(d))
		}
	}
	if page.First && newest == 0 && len(page.Deliveries) > 0 {
		page.Page = page.From(strconv.FormatInt(page.Deliveries[0].Sequence, 10))
	}
	page.Errors = view.ErrorItems(errs)
	kept := slices.DeleteFunc(slices.Clone(endpoints), func(e domain.Endpoint) bool { return e.Deleted() })
	if page.Endpoints, err = s.endpointLines(c, kept, page.Now); err != nil {
		return err
	}
	page.MoreEndpoints, page.AllEndpoints = len(kept)-len(page.Endpoints), len(endpoints)
	return web.Render(c, http.StatusOK, view.Webhooks(page))
}

// lineOf is a line of a list of deliveries.
func lineOf(d domain.ListedDelivery) view.DeliveryLine {
	return view.DeliveryLine{Delivery: d.Delivery, Origin: d.Origin, Description: d.Description, Paused: d.PausedAt != nil}
}

// wholeEvents are the first n deliveries, and further ones of the last of their events:
// the next page begins with another one.
func wholeEvents(deliveries []domain.ListedDelivery, n int) []domain.ListedDelivery {
	for n < len(deliveries) && deliveries[n].Sequence == deliveries[n-1].Sequence {
		n++
	}
	return deliveries[:min(n, len(deliveries))]
}

// endpointLines are the endpoints to look at first: failing ones, then those that are set up,
// then those that were used last.
func (s *Server) endpointLines(c echo.Context, endpoints []domain.Endpoint, now time.Time) ([]view.EndpointLine, error) {
	first := slices.Clone(endpoints)
	slices.SortStableFunc(first, func(a, b domain.Endpoint) int {
		return cmp.Or(cmp.Compare(failing(b, now), failing(a, now)), cmp.Compare(isSetUp(b), isSetUp(a)), usedAt(b).Compare(usedAt(a)))
	})
	lines := maxEndpointLines
	for lines < len(first) && isSetUp(first[lines]) == 1 {
		lines++
	}
	first = first[:min(len(first), lines)]
	ids := make([]domain.EndpointID, len(first))
	for i, e := range first {
		ids[i] = e.ID
	}
	months, err := s.Webhooks.EndpointMonths(c.Request().Context(), ids)
	if err != nil {
		return nil, err
	}
	outages, err := s.latestOutages(c, ids)
	out := make([]view.EndpointLine, len(first))
	for i, e := range first {
		out[i].Endpoint = e
		if month := months[e.ID]; month != nil {
			out[i].Month = *month
		}
		if outage, had := outages[e.ID]; had {
			out[i].Outage = &outage
		}
	}
	return out, err
}

// failing is 1 for a failing endpoint.
func failing(e domain.Endpoint, now time.Time) int {
	if e.Failing(now) {
		return 1
	}
	return 0
}

// isSetUp is 1 for an endpoint that is set up.
func isSetUp(e domain.Endpoint) int {
	if e.URL != nil {
		return 1
	}
	return 0
}

// usedAt is when the endpoint was last attempted, zero for never.
func usedAt(e domain.Endpoint) (last time.Time) {
	for _, at := range []*time.Time{e.LastSuccessAt, e.LastFailureAt} {
		if at != nil && at.After(last) {
			last = *at
		}
	}
	return last
}

// ShowWebhookSettings shows the default URL and the state of the secrets.
func (s *Server) ShowWebhookSettings(c echo.Context, v *Visit) error {
	return s.webhookSettingsPage(c, v, c.QueryParam("type"), "", nil)
}

func (s *Server) webhookSettingsPage(c echo.Context, v *Visit, testType, typed string, errs form.Errors) error {
	ctx := c.Request().Context()
	page := view.WebhookSettingsPage{Page: s.page(v, "Webhook settings"), URLText: typed,
		TestType: cmp.Or(testType, string(domain.SessionCompleted))}
	var err error
	if errs == nil {
		if page.URLText, err = s.Webhooks.DefaultURL(ctx, v.Scope); err != nil {
			return err
		}
	}
	secrets, err := s.Webhooks.Secrets(ctx, v.Scope, nil)
	if err != nil {
		return err
	}
	page.Secret = view.SecretState{NextSince: secrets.NextSince, PreviousUntil: secrets.PreviousUntil}
	page.Errors = view.ErrorItems(errs)
	return web.Render(c, pageStatus(errs), view.WebhookSettings(page))
}

// SetWebhookURL sets the mode's default webhook URL.
func (s *Server) SetWebhookURL(c echo.Context, v *Visit) error {
	typed := c.FormValue("url")
	err := s.Webhooks.SetDefaultURL(c.Request().Context(), v.Scope, v.Actor, typed)
	if errs := web.ValidationErrors(err); errs != nil {
		return s.webhookSettingsPage(c, v, "", typed, errs)
	}
	notice := "webhook_url_set"
	if strings.TrimSpace(typed) == "" {
		notice = "webhook_url_removed"
	}
	return s.backTo(c, v, webhookSettings, err, notice)
}

// webhookSettings is the page of the webhooks' settings.
const webhookSettings = "webhooks/settings"
