package dashboard

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"candor/handlers/dashboard/auth"
	"candor/handlers/web"
	"candor/internal/domain"
	view "candor/views/dashboard"
	"candor/views/ui"
)

// ShowMe shows the user's own account.
func (s *Server) ShowMe(c echo.Context, v *Visit) error {
	return s.mePage(c, v, v.Staff.Name, nil)
}

// mePage is the user's own account, with the typed name and the errors. If the
// user has a duty, the page shows only that.
func (s *Server) mePage(c echo.Context, v *Visit, name string, errs []ui.ErrorItem) error {
	ctx := c.Request().Context()
	page := view.MePage{Page: s.page(v, "My account"), Name: name}
	status := http.StatusOK
	if len(errs) > 0 {
		page.Errors, status = errs, http.StatusUnprocessableEntity
	}
	if v.Staff.Duty() != domain.NoDuty {
		page.Title = view.DutyTitle(v.Staff.Duty())
		return web.Render(c, status, view.Duty(page.Page))
	}
	factor, err := s.StaffAuth.TwoStep(ctx, v.Staff)
	if err != nil {
		return err
	}
	page.TwoStepSince, page.RecoveryCodes = factor.Since, factor.RecoveryCodes
	page.ByPasskey = v.Staff.ByPasskey(s.Clock.Now())
	if page.Passkeys, err = s.StaffAuth.Passkeys(ctx, v.Staff); err != nil {
		return err
	}
	if page.AlertEmails, err = s.StaffAuth.AlertEmails(ctx, v.Staff); err != nil {
		return err
	}
	if page.Sessions, err = s.StaffAuth.Sessions(ctx, v.Staff); err != nil {
		return err
	}
	return web.Render(c, status, view.Me(page))
}

// ChangeName changes the user's name.
func (s *Server) ChangeName(c echo.Context, v *Visit) error {
	name := c.FormValue("name")
	err := s.StaffAuth.ChangeName(c.Request().Context(), v.Staff, name, web.Visitor(c))
	if errs, ok := auth.FieldErrors(err, "name"); ok {
		return s.mePage(c, v, name, errs)
	}
	return s.backTo(c, v, "me", err, "name_changed")
}

// ChooseAlertEmails stores which alerts the user gets by email.
func (s *Server) ChooseAlertEmails(c echo.Context, v *Visit) error {
	chosen := domain.AlertEmails{Webhooks: c.FormValue("webhooks") != "", Keys: c.FormValue("keys") != ""}
	err := s.StaffAuth.ChooseAlertEmails(c.Request().Context(), v.Staff, chosen, web.Visitor(c))
	return s.backTo(c, v, "me", err, "emails_chosen")
}

// ChangePassword sets a new password and changes the session's token.
func (s *Server) ChangePassword(c echo.Context, v *Visit) error {
	token, err := s.StaffAuth.ChangePassword(c.Request().Context(), v.Staff, c.FormValue("password"), c.FormValue("new_password"),
		web.Visitor(c))
	if errs, ok := auth.FieldErrors(err, "password"); ok {
		return s.mePage(c, v, v.Staff.Name, errs)
	}
	if err != nil {
		return err
	}
	return s.backToMe(c, v, token, "password_changed")
}

// backToMe leads back to My account with a notice. A token that isn't ""
// becomes the session's.
func (s *Server) backToMe(c echo.Context, v *Visit, token, notice string) error {
	if token != "" {
		if err := s.Auth.GiveCookie(c, token); err != nil {
			return err
		}
	}
	s.Notices.Leave(c, notice)
	return c.Redirect(http.StatusSeeOther, view.URL(v.Scope.Livemode, "me"))
}

// BeginTwoStep shows the secret for an authenticator app once.
func (s *Server) BeginTwoStep(c echo.Context, v *Visit) error {
	setup, err := s.StaffAuth.BeginTwoStep(c.Request().Context(), v.Staff)
	if err != nil {
		return err
	}
	page := view.TwoStepPage{Page: s.page(v, "Set up two-step sign-in"), Secret: setup.Secret, Link: setup.URL}
	return web.Render(c, http.StatusOK, view.TwoStep(page))
}

// TurnOnTwoStep checks the app's first code and shows the recovery codes once.
// After a wrong code it shows the same secret again, which can't sign anyone in
// yet.
func (s *Server) TurnOnTwoStep(c echo.Context, v *Visit) error {
	ctx := c.Request().Context()
	codes, token, err := s.StaffAuth.TurnOnTwoStep(ctx, v.Staff, c.FormValue("code"), web.Visitor(c))
	if errs, ok := auth.FieldErrors(err, "code"); ok {
		setup, err := s.StaffAuth.PendingTwoStep(ctx, v.Staff)
		if err != nil {
			return err
		}
		page := view.TwoStepPage{Page: s.page(v, "Set up two-step sign-in"), Secret: setup.Secret, Link: setup.URL}
		page.Errors = errs
		return web.Render(c, http.StatusUnprocessableEntity, view.TwoStep(page))
	}
	if err != nil {
		return err
	}
	if err := s.Auth.GiveCookie(c, token); err != nil {
		return err
	}
	return s.showRecovery(c, v, codes)
}

func (s *Server) showRecovery(c echo.Context, v *Visit, codes []string) error {
	return web.Render(c, http.StatusOK, view.Recovery(view.RecoveryPage{Page: s.page(v, "Your recovery codes"), Codes: codes}))
}

// RenewRecoveryCodes shows new recovery codes once.
func (s *Server) RenewRecoveryCodes(c echo.Context, v *Visit) error {
	codes, err := s.StaffAuth.RenewRecoveryCodes(c.Request().Context(), v.Staff, web.Visitor(c))
	if err != nil {
		return err
	}
	return s.showRecovery(c, v, codes)
}

// TurnOffTwoStep turns two-step sign-in off.
func (s *Server) TurnOffTwoStep(c echo.Context, v *Visit) error {
	err := s.StaffAuth.TurnOffTwoStep(c.Request().Context(), v.Staff, c.FormValue("off_password"), c.FormValue("off_code"),
		web.Visitor(c))
	proof := "off_password"
	if errs := web.ValidationErrors(err); errs != nil && errs[0].Field == "code" {
		proof = "off_code"
	}
	if errs, ok := auth.FieldErrors(err, proof); ok {
		return s.mePage(c, v, v.Staff.Name, errs)
	}
	if err != nil {
		return err
	}
	return s.backToMe(c, v, "", "two_step_off")
}

// EndStaffSession signs another browser out.
func (s *Server) EndStaffSession(c echo.Context, v *Visit) error {
	if err := s.StaffAuth.EndSession(c.Request().Context(), v.Staff, c.Param("browser"), web.Visitor(c)); err != nil {
		return err
	}
	return s.backToMe(c, v, "", "browser_signed_out")
}

// EndOtherStaffSessions signs all other browsers out.
func (s *Server) EndOtherStaffSessions(c echo.Context, v *Visit) error {
	if err := s.StaffAuth.EndOtherSessions(c.Request().Context(), v.Staff, web.Visitor(c)); err != nil {
		return err
	}
	return s.backToMe(c, v, "", "browsers_signed_out")
}

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
