package auth

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/domain"
	view "candor/views/dashboard"
	"candor/views/ui"
)

// halfSession returns the request's session if its second factor is still
// missing, else nil.
func (s *Server) halfSession(c echo.Context) (*domain.StaffSession, error) {
	session, err := s.store.ofRequest(c)
	if err != nil {
		return nil, err
	}
	own, _ := session.Values[staffValue].(*domain.StaffSession)
	if own == nil || own.Stage != domain.SignInPassword {
		return nil, nil
	}
	return own, nil
}

// ShowCode asks for the second factor.
func (s *Server) ShowCode(c echo.Context) error {
	half, err := s.halfSession(c)
	if err != nil {
		return err
	}
	then := LocalPath(c.QueryParam("then"))
	if half == nil {
		return c.Redirect(http.StatusSeeOther, signInURL(then))
	}
	return web.Render(c, http.StatusOK, view.Code(view.CodePage{Page: view.Page{Title: "Type your code"}, Then: then}))
}

// TakeCode checks the second factor and gives the browser a cookie that opens
// the dashboard.
func (s *Server) TakeCode(c echo.Context) error {
	half, err := s.halfSession(c)
	if err != nil {
		return err
	}
	then := LocalPath(c.FormValue("then"))
	if half == nil {
		return c.Redirect(http.StatusSeeOther, signInURL(then))
	}
	token, err := s.StaffAuth.SecondFactor(c.Request().Context(), half, c.FormValue("code"), s.newcomer(c))
	if _, message, ok := ProofError(err); ok {
		page := view.CodePage{Page: view.Page{Title: "Type your code"}, Then: then}
		page.Errors = []ui.ErrorItem{{Target: "code", Message: message}}
		return web.Render(c, ErrorStatus(c, err), view.Code(page))
	}
	if err != nil {
		return err
	}
	if err := s.GiveCookie(c, token); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, then)
}
