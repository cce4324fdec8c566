package handlers

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"candor/internal/domain"
	"candor/internal/service"
	"candor/views/dashboard"
	"candor/views/ui"
)

// showSignIn asks who is there; those who are signed in are led on.
func (s *Server) showSignIn(c echo.Context) error {
	then := localPath(c.QueryParam("then"))
	session, err := s.staffSession(c)
	if err != nil {
		return err
	}
	if session != nil {
		return c.Redirect(http.StatusSeeOther, then)
	}
	return render(c, http.StatusOK, dashboard.SignIn(dashboard.SignInPage{Page: dashboard.Page{Title: "Sign in", Announce: s.takeStaffNotice(c)}, Then: then}))
}

// signIn checks e-mail address and password and gives the browser its cookie.
func (s *Server) signIn(c echo.Context) error {
	page := dashboard.SignInPage{
		Page: dashboard.Page{Title: "Sign in"}, Email: c.FormValue("email"), Then: localPath(c.FormValue("then")),
	}
	if page.Email == "" {
		page.Problems = append(page.Problems, ui.ErrorItem{Target: "email", Message: "Enter your e-mail address"})
	}
	if c.FormValue("password") == "" {
		page.Problems = append(page.Problems, ui.ErrorItem{Target: "password", Message: "Enter your password"})
	}
	if len(page.Problems) > 0 {
		return render(c, http.StatusUnprocessableEntity, dashboard.SignIn(page))
	}
	token, session, err := s.Service.SignIn(c.Request().Context(), page.Email, c.FormValue("password"), s.newcomer(c))
	if _, message, ok := refusal(err); ok {
		page.Problems = []ui.ErrorItem{{Target: "email", Message: message}}
		return render(c, statusOfWrong(c, err), dashboard.SignIn(page))
	}
	if err != nil {
		return err
	}
	if err := s.giveStaffCookie(c, token); err != nil {
		return err
	}
	if session.Stage != domain.SignInFull {
		return c.Redirect(http.StatusSeeOther, dashboard.Root+"/sign-in/code?then="+url.QueryEscape(page.Then))
	}
	return c.Redirect(http.StatusSeeOther, page.Then)
}

// refusal returns how a proof of who is there was refused, if it was.
func refusal(err error) (status int, message string, ok bool) {
	var own *domain.Error
	if !errors.As(err, &own) {
		return 0, "", false
	}
	switch own.Code {
	case domain.CodeUnauthorized:
		return http.StatusUnprocessableEntity, own.Message, true // a page asks again; 401 would ask the browser to
	case domain.CodeRateLimitExceeded, domain.CodeServiceUnavailable:
		return own.Code.Status(), own.Message, true
	}
	return 0, "", false
}

// newcomer is a visitor who signs in, with what the browser has from before.
func (s *Server) newcomer(c echo.Context) service.Visitor {
	v := visitor(c)
	v.Device = s.sentCookie(c, deviceCookie, dashboard.Root)
	if cookie, err := c.Cookie(s.staff.cookieName()); err == nil {
		v.StaffToken = cookie.Value
	}
	return v
}

// giveStaffCookie gives the browser its session's new token and, once it is
// signed in completely, the cookie by which it is known the next time.
func (s *Server) giveStaffCookie(c echo.Context, token string) error {
	session, err := s.staff.Get(c.Request(), s.staff.cookieName())
	if err != nil {
		return err
	}
	session.ID = token
	if err := session.Save(c.Request(), c.Response()); err != nil {
		return err
	}
	device, err := s.Service.KeepDevice(c.Request().Context(), token, s.newcomer(c))
	if err == nil && device != "" {
		c.SetCookie(s.deviceCookie(device))
	}
	return err
}

// signOut ends the session and takes the cookie away. Whoever is signed out
// already is told the same.
func (s *Server) signOut(c echo.Context) error {
	cookie, err := s.staff.Get(c.Request(), s.staff.cookieName())
	if err != nil {
		return err
	}
	if own, ok := cookie.Values[staffValue].(*domain.StaffSession); ok {
		err := s.Service.SignOut(c.Request().Context(), own, visitor(c))
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
	return c.Redirect(http.StatusSeeOther, dashboard.Root+"/sign-in")
}
