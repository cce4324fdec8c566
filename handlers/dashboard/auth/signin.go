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
