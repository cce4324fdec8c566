package auth

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/service/staff/auth"
	view "candor/views/dashboard"
)

// ShowSignUp asks for what an account needs.
func (s *Server) ShowSignUp(c echo.Context) error {
	return web.Render(c, http.StatusOK, view.SignUp(view.SignUpPage{Page: view.Page{Title: "Create an account"}}))
}

// SignUp sends the email that opens an account.
func (s *Server) SignUp(c echo.Context) error {
	params := auth.NewAccount{Company: c.FormValue("company"), Name: c.FormValue("name"), Email: c.FormValue("email"),
		Password: c.FormValue("new_password")}
	err := s.StaffAuth.SignUp(c.Request().Context(), params, s.newcomer(c))
	if errs, ok := FieldErrors(err, "email"); ok {
		page := view.SignUpPage{
			Page: view.Page{Title: "Create an account", Errors: errs}, Company: params.Company, Name: params.Name, Email: params.Email,
		}
		return web.Render(c, ErrorStatus(c, err), view.SignUp(page))
	}
	if err != nil {
		return err
	}
	return s.emailSent(c)
}

// ShowVerify asks for the password that was chosen at sign-up.
func (s *Server) ShowVerify(c echo.Context) error {
	email, err := s.StaffAuth.CheckSignUp(c.Request().Context(), s.emailToken(c))
	if err != nil {
		return s.linkGone(c, err)
	}
	return web.Render(c, http.StatusOK, view.Verify(view.VerifyPage{Page: view.Page{Title: "Confirm your password"}, Email: email}))
}

// Verify opens the account and signs its owner in.
func (s *Server) Verify(c echo.Context) error {
	ctx := c.Request().Context()
	token, err := s.StaffAuth.OpenAccount(ctx, s.emailToken(c), c.FormValue("password"), s.newcomer(c))
	if errs, ok := FieldErrors(err, "password"); ok {
		email, checkErr := s.StaffAuth.CheckSignUp(ctx, s.emailToken(c))
		if checkErr != nil {
			return s.linkGone(c, checkErr)
		}
		page := view.VerifyPage{Page: view.Page{Title: "Confirm your password", Errors: errs}, Email: email}
		return web.Render(c, ErrorStatus(c, err), view.Verify(page))
	}
	if err != nil {
		return s.linkGone(c, err)
	}
	return s.enter(c, verifyPath, token, view.URL(false, ""))
}
