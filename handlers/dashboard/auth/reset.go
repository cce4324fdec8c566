package auth

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	view "candor/views/dashboard"
)

// ShowForgot asks for the email address of a user who forgot the password.
func (s *Server) ShowForgot(c echo.Context) error {
	return web.Render(c, http.StatusOK, view.Forgot(view.ForgotPage{Page: view.Page{Title: "Forgotten your password?"}}))
}

// Forgot sends an email with a link, if a user has the address.
func (s *Server) Forgot(c echo.Context) error {
	page := view.ForgotPage{Page: view.Page{Title: "Forgotten your password?"}, Email: c.FormValue("email")}
	err := s.StaffAuth.RequestReset(c.Request().Context(), page.Email, s.newcomer(c))
	if errs, ok := FieldErrors(err, "email"); ok {
		page.Errors = errs
		return web.Render(c, ErrorStatus(c, err), view.Forgot(page))
	}
	if err != nil {
		return err
	}
	return s.emailSent(c)
}

// ShowReset asks for the new password.
func (s *Server) ShowReset(c echo.Context) error {
	email, err := s.StaffAuth.CheckReset(c.Request().Context(), s.emailToken(c))
	if err != nil {
		return s.linkGone(c, err)
	}
	return web.Render(c, http.StatusOK, view.Reset(view.ResetPage{Page: view.Page{Title: "Choose a new password"}, Email: email}))
}

// Reset sets a new password. The user then signs in as usual, with the second
// factor.
func (s *Server) Reset(c echo.Context) error {
	ctx := c.Request().Context()
	device, err := s.StaffAuth.Reset(ctx, s.emailToken(c), c.FormValue("new_password"), s.newcomer(c))
	if errs, ok := FieldErrors(err, "new_password"); ok {
		email, checkErr := s.StaffAuth.CheckReset(ctx, s.emailToken(c))
		if checkErr != nil {
			return s.linkGone(c, checkErr)
		}
		page := view.ResetPage{Page: view.Page{Title: "Choose a new password", Errors: errs}, Email: email}
		return web.Render(c, ErrorStatus(c, err), view.Reset(page))
	}
	if err != nil {
		return s.linkGone(c, err)
	}
	c.SetCookie(s.emailCookie(resetPath, "", -1))
	if device != "" {
		c.SetCookie(s.deviceCookie(device))
	}
	s.Notices.Leave(c, "password_reset")
	return c.Redirect(http.StatusSeeOther, view.Root+"/sign-in")
}
