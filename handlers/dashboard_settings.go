package handlers

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"candor/service"
	"candor/views"
	"candor/views/dashboard"
)

// showSettings shows how customers see the account.
func (s *Server) showSettings(c echo.Context, v *staffVisit) error {
	account, err := s.Service.Account(c.Request().Context(), v.Scope.AccountID)
	if err != nil {
		return err
	}
	page := dashboard.SettingsPage{
		Page: s.staffPageOf(v, "Settings"), Name: account.Name, HelpEmail: text(account.HelpEmail), HelpPhone: text(account.HelpPhone),
	}
	if account.BrandColour != nil {
		page.BrandColour = "#" + *account.BrandColour
	}
	return render(c, http.StatusOK, dashboard.Settings(page))
}

// changeSettings stores them.
func (s *Server) changeSettings(c echo.Context, v *staffVisit) error {
	page := dashboard.SettingsPage{
		Page: s.staffPageOf(v, "Settings"), Name: c.FormValue("name"), HelpEmail: c.FormValue("help_email"),
		HelpPhone: c.FormValue("help_phone"), BrandColour: c.FormValue("brand_colour"),
	}
	err := s.Service.ChangeSettings(c.Request().Context(), v.Scope.AccountID, v.actor, service.AccountSettings{
		Name: page.Name, HelpEmail: page.HelpEmail, HelpPhone: page.HelpPhone, BrandColour: page.BrandColour,
	})
	if wrong := problems(err); wrong != nil {
		page.Problems = errorItems(wrong)
		return render(c, http.StatusUnprocessableEntity, dashboard.Settings(page))
	}
	if err != nil {
		return err
	}
	s.leaveStaffNotice(c, "settings_saved")
	return c.Redirect(http.StatusSeeOther, dashboard.URL(v.Scope.Livemode, "settings"))
}

// brandSheet is the style sheet of a partner's colour. Its content follows
// from its name, so that it can be kept for good.
func (s *Server) brandSheet(c echo.Context) error {
	name, isSheet := strings.CutSuffix(c.Param("file"), ".css")
	sheet, ok := views.BrandSheet(name)
	if !ok || !isSheet {
		return echo.ErrNotFound
	}
	c.Response().Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	return c.Blob(http.StatusOK, "text/css; charset=utf-8", []byte(sheet))
}
