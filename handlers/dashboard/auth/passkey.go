package auth

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	view "candor/views/dashboard"
	"candor/views/ui"
)

// AskPasskey shows the page on which the browser asks for a passkey.
func (s *Server) AskPasskey(c echo.Context) error {
	return s.passkeyPage(c, http.StatusOK, nil)
}

func (s *Server) passkeyPage(c echo.Context, status int, errs []ui.ErrorItem) error {
	question, err := s.StaffAuth.BeginPasskeySignIn(c.Request().Context(), s.newcomer(c))
	if err != nil {
		return err
	}
	return web.Render(c, status, view.PasskeySignIn(view.PasskeySignInPage{
		Page: view.Page{Title: "Sign in with a passkey", Errors: errs}, Options: question.Options, Token: question.Token,
		Then: LocalPath(c.FormValue("then")),
	}))
}

// TakePasskey signs the passkey's owner in.
func (s *Server) TakePasskey(c echo.Context) error {
	token, err := s.StaffAuth.SignInByPasskey(c.Request().Context(), c.FormValue("token"), c.FormValue("response"), s.newcomer(c))
	if _, message, ok := ProofError(err); ok {
		return s.passkeyPage(c, ErrorStatus(c, err), []ui.ErrorItem{{Target: "passkey", Message: message}})
	}
	if err != nil {
		return err
	}
	if err := s.GiveCookie(c, token); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, LocalPath(c.FormValue("then")))
}
