package dashboard

import (
	"net/http"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/domain"
	"candor/internal/form"
	view "candor/views/dashboard"
)

// ShowKey shows a key with the networks that used it, and changes it.
func (s *Server) ShowKey(c echo.Context, v *Visit, id domain.KeyID) error {
	return s.keyPage(c, v, id, http.StatusOK, view.Key, nil, nil)
}

// ShowLeakedKey shows what a key was used for, and ends it.
func (s *Server) ShowLeakedKey(c echo.Context, v *Visit, id domain.KeyID) error {
	return s.keyPage(c, v, id, http.StatusOK, view.LeakedKey, nil, nil)
}

// keyPage draws a page of a key. typed is what was entered for it, nil for nothing, and
// errs are about that.
func (s *Server) keyPage(c echo.Context, v *Visit, id domain.KeyID, status int, draw func(view.KeyPage) templ.Component,
	typed *view.KeyFields, errs form.Errors) error {
	use, err := s.Keys.Use(c.Request().Context(), v.Scope, id)
	if err != nil {
		return err
	}
	page := view.KeyPage{Page: s.page(v, "API key"), Key: use.Key, Keys: use.Keys, Networks: use.Networks, Uses: use.Uses}
	page.Of, page.Errors = use.Key.Name, view.ErrorItems(errs)
	if typed == nil {
		now := view.FieldsOf(&use.Key)
		if use.Key.ExpiresAt != nil {
			now.Expires = s.calendar(v).lastDay(*use.Key.ExpiresAt)
		}
		typed = &now
	}
	page.Fields = *typed
	return web.Render(c, status, draw(page))
}
