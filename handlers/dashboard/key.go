package dashboard

import (
	"net/http"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/domain"
	view "candor/views/dashboard"
)

// ShowKey shows a key and the networks that used it.
func (s *Server) ShowKey(c echo.Context, v *Visit) error { return s.keyPage(c, v, view.Key) }

// ShowLeakedKey shows what a key was used for, and ends it.
func (s *Server) ShowLeakedKey(c echo.Context, v *Visit) error {
	return s.keyPage(c, v, view.LeakedKey)
}

func (s *Server) keyPage(c echo.Context, v *Visit, draw func(view.KeyPage) templ.Component) error {
	id, err := domain.ParseKeyID(c.Param("key"))
	if err != nil {
		return echo.ErrNotFound
	}
	use, err := s.Keys.Use(c.Request().Context(), v.Scope, id)
	if err != nil {
		return err
	}
	page := view.KeyPage{Page: s.page(v, "API key"), Key: use.Key, Keys: use.Keys, Networks: use.Networks, Uses: use.Uses}
	page.Of = use.Key.Name
	return web.Render(c, http.StatusOK, draw(page))
}
