package auth

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/domain"
	view "candor/views/dashboard"
	"candor/views/ui"
)

// ShowSignIn shows the form for signing in, or leads a signed-in user on.
func (s *Server) ShowSignIn(c echo.Context) error {
	then := LocalPath(c.QueryParam("then"))
	session, err := s.Session(c)
	if err != nil {
		return err
	}
	if session != nil {
		return c.Redirect(http.StatusSeeOther, then)
	}
	page := view.SignInPage{Page: view.Page{Title: "Sign in"}, Then: then}
	page.Announce, page.Undone = s.Notices.Text(c)
	return web.Render(c, http.StatusOK, view.SignIn(page))
}

// SignIn checks email address and password and gives the browser its cookie.
func (s *Server) SignIn(c echo.Context) error {
	page := view.SignInPage{
		Page: view.Page{Title: "Sign in"}, Email: c.FormValue("email"), Then: LocalPath(c.FormValue("then")),
	}
	if page.Email == "" {
		page.Errors = append(page.Errors, ui.ErrorItem{Target: "email", Message: "Enter your email address"})
	}
	if c.FormValue("password") == "" {
		page.Errors = append(page.Errors, ui.ErrorItem{Target: "password", Message: "Enter your password"})
	}
	if len(page.Errors) > 0 {
		return web.Render(c, http.StatusUnprocessableEntity, view.SignIn(page))
	}
	token, session, err := s.StaffAuth.SignIn(c.Request().Context(), page.Email, c.FormValue("password"), s.newcomer(c))
	if _, message, ok := ProofError(err); ok {
		page.Errors = []ui.ErrorItem{{Target: "email", Message: message}}
		return web.Render(c, ErrorStatus(c, err), view.SignIn(page))
	}
	if err != nil {
		return err
	}
	if err := s.GiveCookie(c, token); err != nil {
		return err
	}
	if session.Stage != domain.SignInFull {
		return c.Redirect(http.StatusSeeOther, view.Root+"/sign-in/code?then="+url.QueryEscape(page.Then))
	}
	return c.Redirect(http.StatusSeeOther, page.Then)
}

// SignOut ends the session and deletes the cookie. The response is the same for
// a browser that is signed out already.
func (s *Server) SignOut(c echo.Context) error {
	cookie, err := s.store.ofRequest(c)
	if err != nil {
		return err
	}
	if own, ok := cookie.Values[staffValue].(*domain.StaffSession); ok {
		err := s.StaffAuth.SignOut(c.Request().Context(), own, web.Visitor(c))
		if err != nil && !errors.Is(err, &domain.Error{Code: domain.CodeUnauthorized}) {
			return err
		}
	}
	cookie.ID, cookie.Options.MaxAge = "", -1
	if err := cookie.Save(c.Request(), c.Response()); err != nil {
		return err
	}
	// Pages kept for the browser's back button go too. Cookies of forms and of
	// the device stay.
	c.Response().Header().Set("Clear-Site-Data", `"cache", "storage"`)
	return c.Redirect(http.StatusSeeOther, view.Root+"/sign-in")
}
