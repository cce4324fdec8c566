package dashboard

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/domain"
	view "candor/views/dashboard"
)

// maxListedOutages is how many of an endpoint's outages are listed.
const maxListedOutages = 10

// ShowOutage shows an outage of an endpoint, and what became of each of its events.
func (s *Server) ShowOutage(c echo.Context, v *Visit, id domain.OutageID) error {
	ctx := c.Request().Context()
	o, e, counts, err := s.Webhooks.Outage(ctx, v.Scope, id)
	if err != nil {
		return err
	}
	before, _ := strconv.ParseInt(c.QueryParam("before"), 10, 64) // 0, the newest, for anything else
	page := view.OutagePage{Page: s.page(v, "Outage"), Outage: *o, Endpoint: *e, Counts: counts, First: before <= o.First ||
		before > o.Last}
	page.Of, page.Live = view.EndpointName(*e), view.Live{Topics: domain.DeliveryChanged}
	next := o.Last + 1
	if !page.First {
		next = before
	}
	deliveries, err := s.Webhooks.OutageDeliveries(ctx, o, next, deliveriesPerPage+1)
	if err != nil {
		return err
	}
	page.Lines, page.More = outageLines(o, next, counts.Oldest, deliveries)
	redeliveries, err := s.Webhooks.Redeliveries(ctx, v.Scope)
	if err != nil {
		return err
	}
	for _, r := range redeliveries {
		if r.State == domain.RedeliveryRunning && r.EndpointID != nil && *r.EndpointID == e.ID {
			page.Running = r.ID.String()
		}
	}
	return web.Render(c, http.StatusOK, view.OutageView(page))
}

// outageLines are the numbers below next, without a gap: deliveries, newest first, and
// between them the events that didn't go to the endpoint, or are no longer kept. More says that lines follow.
func outageLines(o *domain.Outage, next, oldest int64, deliveries []domain.ListedDelivery) (lines []view.OutageLine, more bool) {
	deliveries = slices.DeleteFunc(deliveries, func(d domain.ListedDelivery) bool { return d.Sequence < o.First })
	more = len(deliveries) > deliveriesPerPage
	for _, d := range deliveries[:min(len(deliveries), deliveriesPerPage)] {
		if d.Sequence < next-1 {
			lines = append(lines, view.OutageLine{From: d.Sequence + 1, To: next - 1})
		}
		lines = append(lines, view.OutageLine{From: d.Sequence, To: d.Sequence, Delivery: &d.Delivery})
		next = d.Sequence
	}
	if kept := max(o.First, oldest); !more && next > kept { // what is older than all that is kept stands alone
		lines = append(lines, view.OutageLine{From: kept, To: next - 1})
		next = kept
	}
	if !more && next > o.First {
		lines = append(lines, view.OutageLine{From: o.First, To: next - 1})
	}
	return lines, more
}

// SendUndelivered resends what of an outage hasn't arrived.
func (s *Server) SendUndelivered(c echo.Context, v *Visit, id domain.OutageID) error {
	_, err := s.Webhooks.SendUndelivered(c.Request().Context(), v.Scope, id, v.Actor)
	return s.backTo(c, v, "webhooks/outages/"+id.String(), err, "redelivery_started")
}

// latestOutages are the endpoints' latest outages, of those that had one.
func (s *Server) latestOutages(c echo.Context, endpoints []domain.EndpointID) (map[domain.EndpointID]domain.Outage, error) {
	all, err := s.Webhooks.Outages(c.Request().Context(), endpoints, 1)
	out := make(map[domain.EndpointID]domain.Outage, len(all))
	for id, outages := range all {
		out[id] = outages[0]
	}
	return out, err
}
