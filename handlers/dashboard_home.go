package handlers

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"candor/internal/domain"
	"candor/views/dashboard"
)

// showHome tells how the mode is doing, or how to begin.
func (s *Server) showHome(c echo.Context, v *staffVisit) error {
	figures, err := s.Service.Home(c.Request().Context(), v.Scope)
	if err != nil {
		return err
	}
	page := dashboard.HomePage{
		Page: s.staffPageOf(v, "Home"), ByStatus: figures.ByStatus, Period: *figures.Now, Before: *figures.Before,
		Funnel: *figures.Funnel, TimesBefore: figures.TimesBefore,
		Sessions: v.Session.May(domain.UseSessions), Webhooks: v.Session.May(domain.ManageWebhooks), Keys: v.Session.May(domain.ManageKeys),
		HasKey: figures.HasKey, Opened: figures.Opened, BaseURL: s.BaseURL,
	}
	for _, e := range figures.Endpoints {
		page.Arrived = page.Arrived || e.LastSuccessAt != nil
		page.Endpoints++
		if e.FailingSince != nil {
			page.Failing = append(page.Failing, e)
		}
	}
	if sub := figures.Subscription; sub != nil && v.Session.May(domain.UseBilling) {
		page.Plan = &dashboard.PlanUse{Name: sub.Name, Used: sub.Used, Carried: sub.Carried, Included: sub.SessionsIncluded, End: sub.Period.End}
	}
	return render(c, http.StatusOK, dashboard.Home(page))
}
