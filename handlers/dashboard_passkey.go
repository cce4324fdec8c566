package handlers

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"candor/views/dashboard"
	"candor/views/ui"
)

// beginPasskey shows the page on which the browser makes a passkey.
func (s *Server) beginPasskey(c echo.Context, v *staffVisit) error {
	question, err := s.Service.BeginPasskey(c.Request().Context(), v.Session)
	if err != nil {
		return err
	}
	page := dashboard.PasskeyPage{Page: s.staffPageOf(v, "Add a passkey"), Options: question.Options, Token: question.Token}
	return render(c, http.StatusOK, dashboard.NewPasskey(page))
}

// addPasskey stores the passkey that the browser has made.
func (s *Server) addPasskey(c echo.Context, v *staffVisit) error {
	err := s.Service.AddPasskey(c.Request().Context(), v.Session, c.FormValue("token"), c.FormValue("name"), c.FormValue("response"), visitor(c))
	if wrong, ok := wrongFields(err, "passkeys"); ok {
		for i := range wrong {
			wrong[i].Target = "passkeys" // the page with the field is behind us
		}
		return s.mePage(c, v, v.Session.Name, wrong)
	}
	if err != nil {
		return err
	}
	return s.backToMe(c, v, "", "passkey_added")
}

// removePasskey deletes a passkey.
func (s *Server) removePasskey(c echo.Context, v *staffVisit) error {
	err := s.Service.RemovePasskey(c.Request().Context(), v.Session, c.Param("passkey"), visitor(c))
	if wrong, ok := wrongFields(err, "passkeys"); ok {
		return s.mePage(c, v, v.Session.Name, wrong)
	}
	if err != nil {
		return err
	}
	if v.Session.PasskeyID != nil && v.Session.PasskeyID.String() == c.Param("passkey") {
		s.leaveStaffNotice(c, "own_passkey_removed")
		return c.Redirect(http.StatusSeeOther, dashboard.Root+"/sign-in")
	}
	return s.backToMe(c, v, "", "passkey_removed")
}

// askPasskey shows the page on which the browser asks for a passkey.
func (s *Server) askPasskey(c echo.Context) error {
	return s.passkeyPage(c, http.StatusOK, nil)
}

func (s *Server) passkeyPage(c echo.Context, status int, wrong []ui.ErrorItem) error {
	question, err := s.Service.BeginPasskeySignIn(c.Request().Context(), s.newcomer(c))
	if err != nil {
		return err
	}
	return render(c, status, dashboard.PasskeySignIn(dashboard.PasskeySignInPage{
		Page: dashboard.Page{Title: "Sign in with a passkey", Problems: wrong}, Options: question.Options, Token: question.Token, Then: localPath(c.FormValue("then")),
	}))
}

// takePasskey signs the passkey's owner in.
func (s *Server) takePasskey(c echo.Context) error {
	token, err := s.Service.SignInByPasskey(c.Request().Context(), c.FormValue("token"), c.FormValue("response"), s.newcomer(c))
	if _, message, ok := refusal(err); ok {
		return s.passkeyPage(c, statusOfWrong(c, err), []ui.ErrorItem{{Target: "passkey", Message: message}})
	}
	if err != nil {
		return err
	}
	if err := s.giveStaffCookie(c, token); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, localPath(c.FormValue("then")))
}
