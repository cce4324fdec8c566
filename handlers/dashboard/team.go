package dashboard

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service/staff/team"
	view "candor/views/dashboard"
)

// ShowTeam lists the members of the team and the invitations.
func (s *Server) ShowTeam(c echo.Context, v *Visit) error {
	return s.teamPage(c, v, nil)
}

func (s *Server) teamPage(c echo.Context, v *Visit, errs form.Errors) error {
	ctx := c.Request().Context()
	page := view.TeamPage{Page: s.page(v, "Team"), Email: c.FormValue("email")}
	page.Errors = view.ErrorItems(errs)
	if c.Request().PostForm.Has("email") { // a change of role has these, too
		page.Role, page.MayDownload = domain.Role(c.FormValue("role")), c.FormValue("may_download") == "yes"
	}
	team, err := s.Team.List(ctx, v.Scope.AccountID)
	if err != nil {
		return err
	}
	for _, m := range team {
		page.Members = append(page.Members, view.Member{Staff: m.Staff, TwoStep: m.TwoStep, HasPasskey: m.HasPasskey, SeenAt: m.SeenAt})
	}
	if page.Invitations, err = s.Team.Invitations(ctx, v.Scope.AccountID); err != nil {
		return err
	}
	company, err := s.SSO.State(ctx, v.Scope.AccountID)
	if err != nil {
		return err
	}
	page.Company = company.Connection
	return web.Render(c, pageStatus(errs), view.Team(page))
}

// Invite sends an invitation.
func (s *Server) Invite(c echo.Context, v *Visit) error {
	_, err := s.Team.Invite(c.Request().Context(), v.Scope.AccountID, v.Actor, team.InvitationParams{
		Email: c.FormValue("email"), Role: domain.Role(c.FormValue("role")), MayDownload: c.FormValue("may_download") == "yes",
	})
	return s.changedTeam(c, v, err, "invited")
}

// ResendInvitation sends an invitation again, with another link.
func (s *Server) ResendInvitation(c echo.Context, v *Visit) error {
	err := s.Team.Again(c.Request().Context(), v.Scope.AccountID, v.Actor, c.Param("invitation"))
	return s.changedTeam(c, v, err, "invited")
}

// CopyInvitation shows another link of an invitation, once.
func (s *Server) CopyInvitation(c echo.Context, v *Visit) error {
	i, token, err := s.Team.Copy(c.Request().Context(), v.Scope.AccountID, v.Actor, c.Param("invitation"))
	if err != nil {
		return s.changedTeam(c, v, err, "")
	}
	return web.Render(c, http.StatusOK, view.InvitationLink(view.InvitationLinkPage{
		Page: s.page(v, "Invitation link"), Invitation: *i, Link: s.BaseURL + view.Root + "/invitation/" + token,
	}))
}

// AskForAccess emails the owners that the user asks for what a page needs (D136).
func (s *Server) AskForAccess(c echo.Context, v *Visit) error {
	asked, err := s.Team.AskForAccess(c.Request().Context(), v.Staff, v.Actor, domain.Capability(c.FormValue("for")))
	notice := "access_asked"
	if !asked {
		notice = "access_asked_before"
	}
	return s.backTo(c, v, "", err, notice)
}

// RevokeInvitation withdraws an invitation.
func (s *Server) RevokeInvitation(c echo.Context, v *Visit) error {
	err := s.Team.Revoke(c.Request().Context(), v.Scope.AccountID, v.Actor, c.Param("invitation"))
	return s.changedTeam(c, v, err, "invitation_revoked")
}

// ChangeRole changes the role of a member.
func (s *Server) ChangeRole(c echo.Context, v *Visit, id domain.StaffID) error {
	err := s.Team.ChangeRole(c.Request().Context(), v.Scope.AccountID, v.Actor, id, domain.Role(c.FormValue("role")),
		c.FormValue("may_download") == "yes")
	return s.changedTeam(c, v, err, "role_changed")
}

// RemoveStaff removes a member from the team.
func (s *Server) RemoveStaff(c echo.Context, v *Visit, id domain.StaffID) error {
	return s.changedTeam(c, v, s.Team.Remove(c.Request().Context(), v.Scope.AccountID, v.Actor, id), "staff_removed")
}

// changedTeam leads back to the team with a notice, or shows it with the
// errors.
func (s *Server) changedTeam(c echo.Context, v *Visit, err error, notice string) error {
	if errs := web.ValidationErrors(err); errs != nil {
		return s.teamPage(c, v, errs)
	}
	return s.backTo(c, v, "team", err, notice)
}
