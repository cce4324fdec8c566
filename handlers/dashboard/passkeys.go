package dashboard

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"candor/handlers/dashboard/auth"
	"candor/handlers/web"
	view "candor/views/dashboard"
)

// BeginPasskey shows the page on which the browser creates a passkey.
func (s *Server) BeginPasskey(c echo.Context, v *Visit) error {
	question, err := s.StaffAuth.BeginPasskey(c.Request().Context(), v.Staff)
	if errs, ok := auth.FieldErrors(err, "passkeys"); ok {
		return s.mePage(c, v, v.Staff.Name, errs)
	}
	if err != nil {
		return err
	}
	page := view.PasskeyPage{Page: s.page(v, "Add a passkey"), Options: question.Options, Token: question.Token}
	return web.Render(c, http.StatusOK, view.NewPasskey(page))
}

// AddPasskey stores the passkey that the browser created.
func (s *Server) AddPasskey(c echo.Context, v *Visit) error {
	err := s.StaffAuth.AddPasskey(c.Request().Context(), v.Staff, c.FormValue("token"), c.FormValue("name"), c.FormValue("response"),
		web.Visitor(c))
	if errs, ok := auth.FieldErrors(err, "passkeys"); ok {
		for i := range errs {
			errs[i].Target = "passkeys" // the page with the field is behind us
		}
		return s.mePage(c, v, v.Staff.Name, errs)
	}
	if err != nil {
		return err
	}
	return s.backToMe(c, v, "", "passkey_added")
}

// RemovePasskey deletes a passkey.
func (s *Server) RemovePasskey(c echo.Context, v *Visit) error {
	err := s.StaffAuth.RemovePasskey(c.Request().Context(), v.Staff, c.Param("passkey"), web.Visitor(c))
	if errs, ok := auth.FieldErrors(err, "passkeys"); ok {
		return s.mePage(c, v, v.Staff.Name, errs)
	}
	if err != nil {
		return err
	}
	if v.Staff.PasskeyID != nil && v.Staff.PasskeyID.String() == c.Param("passkey") {
		s.Notices.Leave(c, "own_passkey_removed")
		return c.Redirect(http.StatusSeeOther, view.Root+"/sign-in")
	}
	return s.backToMe(c, v, "", "passkey_removed")
}
