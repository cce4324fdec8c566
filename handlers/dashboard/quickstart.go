package dashboard

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/domain"
	"candor/internal/service/keys"
	view "candor/views/dashboard"
)

// ShowQuickstart shows the first steps of a developer, and which are done.
func (s *Server) ShowQuickstart(c echo.Context, v *Visit) error {
	return s.quickstartPage(c, v, domain.APIKey{}, "")
}

// CreateQuickstartKey makes a key and shows the steps with it, once, in the response to
// the POST.
func (s *Server) CreateQuickstartKey(c echo.Context, v *Visit) error {
	key, text, err := s.Keys.Create(c.Request().Context(), v.Scope, v.Actor, keys.Params{Name: "Quickstart"})
	if err != nil {
		return err
	}
	return s.quickstartPage(c, v, key, text)
}

func (s *Server) quickstartPage(c echo.Context, v *Visit, key domain.APIKey, text string) error {
	done, err := s.Home.FirstSteps(c.Request().Context(), v.Scope)
	if err != nil {
		return err
	}
	page := view.QuickstartPage{Page: s.page(v, "Quickstart"), Key: key, Text: text, Done: *done}
	page.Live = view.Live{Topics: domain.SessionChanged | domain.DeliveryChanged | domain.EventRecorded | domain.RequestLogged}
	page.Self = view.URL(v.Scope.Livemode, "quickstart") // after the POST, too: the ticks have no key
	// In live mode it can be a real customer's form.
	if !v.Scope.Livemode && done.Link != nil && v.Staff.May(domain.UseSessions) {
		page.FormURL = s.Sessions.LinkNow(done.Link, v.Staff.May(domain.DownloadData))
	}
	if text == "" {
		text = "candor_" + view.ModeName(v.Scope.Livemode) + "_…"
	}
	if page.Commands, err = s.QuickStart(text); err != nil {
		return err
	}
	return web.Render(c, http.StatusOK, view.Quickstart(page))
}
