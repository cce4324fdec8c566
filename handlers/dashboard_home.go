package handlers

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"candor/views/dashboard"
)

// showHome draws the first page.
func (s *Server) showHome(c echo.Context, v *staffVisit) error {
	return render(c, http.StatusOK, dashboard.Home(dashboard.HomePage{Page: s.staffPageOf(v, "Home")}))
}
