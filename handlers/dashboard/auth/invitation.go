package auth

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	view "candor/views/dashboard"
)

// ShowInvitation asks the invited person for a name and a password.
func (s *Server) ShowInvitation(c echo.Context) error {
	invitation, err := s.StaffAuth.Invitation(c.Request().Context(), s.emailToken(c))
	if err != nil {
		return s.linkGone(c, err)
	}
	page := view.InvitationPage{Page: view.Page{Title: "Join " + invitation.AccountName}, Invitation: invitation}
	return web.Render(c, http.StatusOK, view.Invitation(page))
}

// AcceptInvitation makes the invited person a staff user, signed in.
func (s *Server) AcceptInvitation(c echo.Context) error {
	ctx := c.Request().Context()
	token, err := s.StaffAuth.AcceptInvitation(ctx, s.emailToken(c), c.FormValue("name"), c.FormValue("new_password"), s.newcomer(c))
	if errs, ok := FieldErrors(err, "new_password"); ok {
		invitation, checkErr := s.StaffAuth.Invitation(ctx, s.emailToken(c))
		if checkErr != nil {
			return s.linkGone(c, checkErr)
		}
		page := view.InvitationPage{Page: view.Page{Title: "Join " + invitation.AccountName, Errors: errs}, Invitation: invitation,
			Name: c.FormValue("name")}
		return web.Render(c, ErrorStatus(c, err), view.Invitation(page))
	}
	if err != nil {
		return s.linkGone(c, err)
	}
	return s.enter(c, invitationPath, token, view.Root) // where the team works
}
