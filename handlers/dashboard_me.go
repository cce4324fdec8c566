package handlers

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"candor/internal/domain"
	"candor/views/dashboard"
	"candor/views/ui"
)

// showMe draws the staff user's own account.
func (s *Server) showMe(c echo.Context, v *staffVisit) error {
	return s.mePage(c, v, v.Session.Name, nil)
}

// mePage is the own account, with the name in its field and with what is wrong
// with what was posted. If the user must do something first, the page asks for
// that alone.
func (s *Server) mePage(c echo.Context, v *staffVisit, name string, wrong []ui.ErrorItem) error {
	ctx := c.Request().Context()
	page := dashboard.MePage{Page: s.staffPageOf(v, "My account"), Name: name}
	status := http.StatusOK
	if len(wrong) > 0 {
		page.Problems, status = wrong, http.StatusUnprocessableEntity
	}
	if v.Session.Duty() != domain.NoDuty {
		page.Title = dashboard.DutyTitle(v.Session.Duty())
		return render(c, status, dashboard.Duty(page.Page))
	}
	factor, err := s.Service.TwoStep(ctx, v.Session)
	if err != nil {
		return err
	}
	page.TwoStepSince, page.RecoveryCodes = factor.Since, factor.RecoveryCodes
	page.ByPasskey = v.Session.ByPasskey(s.Clock.Now())
	if page.Passkeys, err = s.Service.Passkeys(ctx, v.Session); err != nil {
		return err
	}
	if page.Sessions, err = s.Service.StaffSessions(ctx, v.Session); err != nil {
		return err
	}
	return render(c, status, dashboard.Me(page))
}

// wrongFields are what is wrong with the fields of a page, and whether the
// error says so: a proof that was refused is about the proof's field.
func wrongFields(err error, proof string) ([]ui.ErrorItem, bool) {
	if _, message, ok := refusal(err); ok {
		return []ui.ErrorItem{{Target: proof, Message: message}}, true
	}
	items := errorItems(problems(err))
	return items, len(items) > 0
}

// changeName stores how the staff user is called.
func (s *Server) changeName(c echo.Context, v *staffVisit) error {
	name := c.FormValue("name")
	err := s.Service.ChangeName(c.Request().Context(), v.Session, name, visitor(c))
	if wrong, ok := wrongFields(err, "name"); ok {
		return s.mePage(c, v, name, wrong)
	}
	return s.backTo(c, v, "me", err, "name_changed")
}

// changePassword sets a new password and changes the session's token.
func (s *Server) changePassword(c echo.Context, v *staffVisit) error {
	token, err := s.Service.ChangePassword(c.Request().Context(), v.Session, c.FormValue("password"), c.FormValue("new_password"), visitor(c))
	if wrong, ok := wrongFields(err, "password"); ok {
		return s.mePage(c, v, v.Session.Name, wrong)
	}
	if err != nil {
		return err
	}
	return s.backToMe(c, v, token, "password_changed")
}

// backToMe shows the own account with what was done, in a session of a new
// token, "" for the one it has.
func (s *Server) backToMe(c echo.Context, v *staffVisit, token, notice string) error {
	if token != "" {
		if err := s.giveStaffCookie(c, token); err != nil {
			return err
		}
	}
	s.leaveStaffNotice(c, notice)
	return c.Redirect(http.StatusSeeOther, dashboard.URL(v.Scope.Livemode, "me"))
}

// beginTwoStep shows what an authenticator app must know, this once.
func (s *Server) beginTwoStep(c echo.Context, v *staffVisit) error {
	setup, err := s.Service.BeginTwoStep(c.Request().Context(), v.Session)
	if err != nil {
		return err
	}
	page := dashboard.TwoStepPage{Page: s.staffPageOf(v, "Set up two-step sign-in"), Secret: setup.Secret, Link: setup.URL}
	return render(c, http.StatusOK, dashboard.TwoStep(page))
}

// turnOnTwoStep checks the app's first code and shows the recovery codes, this
// once. A wrong code shows the same key again, which opens nothing yet.
func (s *Server) turnOnTwoStep(c echo.Context, v *staffVisit) error {
	ctx := c.Request().Context()
	codes, token, err := s.Service.TurnOnTwoStep(ctx, v.Session, c.FormValue("code"), visitor(c))
	if wrong, ok := wrongFields(err, "code"); ok {
		setup, err := s.Service.PendingTwoStep(ctx, v.Session)
		if err != nil {
			return err
		}
		page := dashboard.TwoStepPage{Page: s.staffPageOf(v, "Set up two-step sign-in"), Secret: setup.Secret, Link: setup.URL}
		page.Problems = wrong
		return render(c, http.StatusUnprocessableEntity, dashboard.TwoStep(page))
	}
	if err != nil {
		return err
	}
	if err := s.giveStaffCookie(c, token); err != nil {
		return err
	}
	return s.showRecovery(c, v, codes)
}

func (s *Server) showRecovery(c echo.Context, v *staffVisit, codes []string) error {
	return render(c, http.StatusOK, dashboard.Recovery(dashboard.RecoveryPage{Page: s.staffPageOf(v, "Your recovery codes"), Codes: codes}))
}

// renewRecoveryCodes shows new recovery codes, this once.
func (s *Server) renewRecoveryCodes(c echo.Context, v *staffVisit) error {
	codes, err := s.Service.RenewRecoveryCodes(c.Request().Context(), v.Session, visitor(c))
	if err != nil {
		return err
	}
	return s.showRecovery(c, v, codes)
}

// turnOffTwoStep forgets the second factor.
func (s *Server) turnOffTwoStep(c echo.Context, v *staffVisit) error {
	err := s.Service.TurnOffTwoStep(c.Request().Context(), v.Session, c.FormValue("off_password"), c.FormValue("off_code"), visitor(c))
	proof := "off_password"
	if problems(err).For("code") != "" {
		proof = "off_code"
	}
	if wrong, ok := wrongFields(err, proof); ok {
		return s.mePage(c, v, v.Session.Name, wrong)
	}
	if err != nil {
		return err
	}
	return s.backToMe(c, v, "", "two_step_off")
}

// endStaffSession signs out in another browser.
func (s *Server) endStaffSession(c echo.Context, v *staffVisit) error {
	if err := s.Service.EndStaffSession(c.Request().Context(), v.Session, c.Param("browser"), visitor(c)); err != nil {
		return err
	}
	return s.backToMe(c, v, "", "browser_signed_out")
}

// endOtherStaffSessions signs out in all other browsers.
func (s *Server) endOtherStaffSessions(c echo.Context, v *staffVisit) error {
	if err := s.Service.EndOtherStaffSessions(c.Request().Context(), v.Session, visitor(c)); err != nil {
		return err
	}
	return s.backToMe(c, v, "", "browsers_signed_out")
}

// halfSession returns the request's session where its second factor is still
// due, else nil.
func (s *Server) halfSession(c echo.Context) (*domain.StaffSession, error) {
	session, err := s.staff.Get(c.Request(), s.staff.cookieName())
	if err != nil {
		return nil, err
	}
	own, _ := session.Values[staffValue].(*domain.StaffSession)
	if own == nil || own.Stage != domain.SignInPassword {
		return nil, nil
	}
	return own, nil
}

// showCode asks for the second factor.
func (s *Server) showCode(c echo.Context) error {
	half, err := s.halfSession(c)
	if err != nil {
		return err
	}
	then := localPath(c.QueryParam("then"))
	if half == nil {
		return c.Redirect(http.StatusSeeOther, signInURL(then))
	}
	return render(c, http.StatusOK, dashboard.Code(dashboard.CodePage{Page: dashboard.Page{Title: "Type your code"}, Then: then}))
}

// takeCode checks the second factor and gives the browser a cookie that opens
// the dashboard.
func (s *Server) takeCode(c echo.Context) error {
	half, err := s.halfSession(c)
	if err != nil {
		return err
	}
	then := localPath(c.FormValue("then"))
	if half == nil {
		return c.Redirect(http.StatusSeeOther, signInURL(then))
	}
	token, err := s.Service.SecondFactor(c.Request().Context(), half, c.FormValue("code"), s.newcomer(c))
	if _, message, ok := refusal(err); ok {
		page := dashboard.CodePage{Page: dashboard.Page{Title: "Type your code"}, Then: then}
		page.Problems = []ui.ErrorItem{{Target: "code", Message: message}}
		return render(c, statusOfWrong(c, err), dashboard.Code(page))
	}
	if err != nil {
		return err
	}
	if err := s.giveStaffCookie(c, token); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, then)
}
