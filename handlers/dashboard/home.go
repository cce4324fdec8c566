package dashboard

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"candor/handlers/dashboard/auth"
	"candor/handlers/web"
	"candor/internal/domain"
	view "candor/views/dashboard"
)

// ShowHome shows the mode's figures, or how to begin.
func (s *Server) ShowHome(c echo.Context, v *Visit) error {
	figures, err := s.Home.Figures(c.Request().Context(), v.Scope, v.Staff.Zone(), s.Clock.Now().AddDate(0, 0, view.ExpiringDays))
	if err != nil {
		return err
	}
	page := view.HomePage{
		Page: s.page(v, "Home"), ByStatus: figures.ByStatus, Period: *figures.Now, Before: *figures.Before,
		Funnel: *figures.Funnel, Median: view.Median(figures.Median), MedianBefore: view.Median(figures.MedianBefore),
		Sessions: v.Staff.Sees(domain.UseSessions), Webhooks: v.Staff.Sees(domain.ManageWebhooks),
		Keys:   v.Staff.Sees(domain.ManageKeys),
		HasKey: figures.HasKey, Opened: figures.Opened,
	}
	page.Live = view.Live{Topics: domain.SessionChanged | domain.DeliveryChanged | domain.InvoiceChanged, Pause: view.SlowPause}
	for _, e := range figures.Endpoints {
		page.Arrived = page.Arrived || e.LastSuccessAt != nil
		page.Endpoints++
		if e.Failing(page.Now) {
			page.Failing = append(page.Failing, e)
		}
	}
	if page.Webhooks {
		var ids []domain.EndpointID
		for _, e := range page.Failing[:min(view.FailingMost, len(page.Failing))] {
			ids = append(ids, e.ID)
		}
		if page.Outages, err = s.latestOutages(c, ids); err != nil {
			return err
		}
	}
	if page.Keys {
		if page.GoLive, err = s.Home.GoLive(c.Request().Context(), v.Scope.AccountID); err != nil {
			return err
		}
	}
	if page.Sessions {
		page.Expiring, page.ExpiringOrMore = figures.Expiring, figures.Expiring == domain.ExpiringMost
		page.FarAlong = figures.FarAlong
	}
	if v.Scope.Livemode && v.Staff.Sees(domain.UseBilling) {
		page.Unpaid, page.Invoice, page.NoSubscription = figures.Unpaid, figures.Invoice, figures.Subscription == nil &&
			v.Staff.Approved
	}
	if sub := figures.Subscription; sub != nil && v.Staff.Sees(domain.UseBilling) {
		page.CapReached = sub.CapReached && sub.Status != domain.SubscriptionCancelled
		page.Plan = &view.PlanUse{Name: sub.Name, Used: sub.Used, Carried: sub.Carried, Included: sub.SessionsIncluded,
			End: sub.Period.End}
	}
	return web.Render(c, http.StatusOK, view.Home(page))
}

// OpenDashboard leads to the home page: of live mode if there are live
// sessions, else of test mode.
func (s *Server) OpenDashboard(c echo.Context) error {
	session, err := s.Auth.Admit(c, auth.Action{})
	if err != nil {
		return err
	}
	if session == nil {
		return s.Auth.SendTo(c, "/sign-in")
	}
	live, err := s.Sessions.After(c.Request().Context(), domain.Scope{AccountID: session.AccountID, Livemode: true},
		domain.SessionFilter{}, domain.NewestFirst, nil, 1)
	if err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, view.URL(live.Total > 0, ""))
}
