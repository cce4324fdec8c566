package dashboard

import (
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/domain"
	view "candor/views/dashboard"
)

// eventsPerPage is how many events a page lists.
const eventsPerPage = 25

// eventControls are the filters of the list of events.
func eventControls() []control[domain.EventSearch] {
	type filter = domain.EventSearch
	return []control[filter]{
		{Control: view.Control{Name: "q", Label: "Id or sequence", Type: "search", Example: "evt_…, sess_…, 1042"}, read: readEventID},
		chooses("type", "Event", "All", view.EventOptions(), func(f *filter) *domain.EventType { return &f.Type }),
	}
}

// readEventID reads the id of an event, a session or a delivery, or a sequence
// number.
func readEventID(f *domain.EventSearch, text string) string {
	if id, err := domain.ParseEventID(text); err == nil {
		f.Event = &id
	} else if id, err := domain.ParseSessionID(text); err == nil {
		f.Session = &id
	} else if id, err := domain.ParseDeliveryID(text); err == nil {
		f.Delivery = &id
	} else if n, err := strconv.ParseInt(text, 10, 64); err == nil && n > 0 {
		f.Sequence = n
	} else {
		return "Enter an id such as evt_…, sess_… or whd_…, or a sequence number"
	}
	return ""
}

// ListEvents lists the events, newest first.
func (s *Server) ListEvents(c echo.Context, v *Visit) error {
	ctx := c.Request().Context()
	search, shown, errs := readFilters(c.QueryParams(), eventControls())
	page := view.EventsPage{Page: s.page(v, "Events"), Filters: shown}
	page.Of, page.Errors = shown.Title(), view.ErrorItems(errs)
	search.Before, _ = strconv.ParseInt(c.QueryParam("before"), 10, 64) // 0, the newest, for anything else
	page.First = search.Before <= 0
	page.Live.Topics = domain.EventRecorded | domain.DeliveryChanged
	newest, _ := strconv.ParseInt(c.QueryParam(view.NewestParam), 10, 64)
	if errs == nil && page.First && newest > 0 {
		latest, err := s.Webhooks.ListEvents(ctx, v.Scope, search, domain.NewMost)
		if err != nil {
			return err
		}
		page.Newer = countNewer(latest, func(e domain.FeedEvent) bool { return e.Sequence > newest })
		search.Before = newest + 1
	}
	if errs == nil {
		events, err := s.Webhooks.ListEvents(ctx, v.Scope, search, eventsPerPage+1)
		if err != nil {
			return err
		}
		page.More = len(events) > eventsPerPage
		page.Events = events[:min(len(events), eventsPerPage)]
	}
	if page.First && newest == 0 && len(page.Events) > 0 {
		page.Page = page.From(strconv.FormatInt(page.Events[0].Sequence, 10))
	}
	return web.Render(c, http.StatusOK, view.Events(page))
}

// ShowEvent shows an event with its payload and deliveries.
func (s *Server) ShowEvent(c echo.Context, v *Visit, id domain.EventID) error {
	event, deliveries, err := s.Webhooks.Event(c.Request().Context(), v.Scope, id)
	if err != nil {
		return err
	}
	page := view.EventPage{Page: s.page(v, "Event"), Event: *event}
	page.Of = string(event.Type)
	page.Live.Topics, page.Live.Session = domain.DeliveryChanged, event.SessionID
	for _, d := range deliveries {
		page.Deliveries = append(page.Deliveries, lineOf(d))
	}
	return web.Render(c, http.StatusOK, view.Event(page))
}
