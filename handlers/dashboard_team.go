package handlers

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service"
	"candor/views/dashboard"
)

// showTeam lists who is in the team and who is asked into it.
func (s *Server) showTeam(c echo.Context, v *staffVisit) error {
	return s.teamPage(c, v, http.StatusOK, nil)
}

func (s *Server) teamPage(c echo.Context, v *staffVisit, status int, wrong form.Errors) error {
	ctx := c.Request().Context()
	page := dashboard.TeamPage{Page: s.staffPageOf(v, "Team"), Email: c.FormValue("email"), Role: domain.Role(c.FormValue("role"))}
	page.Problems = errorItems(wrong)
	team, err := s.Service.Team(ctx, v.Scope.AccountID)
	if err != nil {
		return err
	}
	for _, m := range team {
		page.Members = append(page.Members, dashboard.Member{Staff: m.Staff, TwoStep: m.TwoStep, HasPasskey: m.HasPasskey, SeenAt: m.SeenAt})
	}
	if page.Invitations, err = s.Service.Invitations(ctx, v.Scope.AccountID); err != nil {
		return err
	}
	return render(c, status, dashboard.Team(page))
}

// invite asks somebody into the team.
func (s *Server) invite(c echo.Context, v *staffVisit) error {
	_, err := s.Service.Invite(c.Request().Context(), v.Scope.AccountID, v.actor, service.NewInvitation{
		Email: c.FormValue("email"), Role: domain.Role(c.FormValue("role")), MayDownload: c.FormValue("may_download") == "yes",
	})
	return s.changedTeam(c, v, err, "invited")
}

// revokeInvitation withdraws an invitation.
func (s *Server) revokeInvitation(c echo.Context, v *staffVisit) error {
	err := s.Service.RevokeInvitation(c.Request().Context(), v.Scope.AccountID, v.actor, c.Param("invitation"))
	return s.changedTeam(c, v, err, "invitation_revoked")
}

// changeRole changes what a member of the team may do.
func (s *Server) changeRole(c echo.Context, v *staffVisit) error {
	id, err := domain.ParseStaffID(c.Param("staff"))
	if err != nil {
		return echo.ErrNotFound
	}
	err = s.Service.ChangeRole(c.Request().Context(), v.Scope.AccountID, v.actor, id, domain.Role(c.FormValue("role")), c.FormValue("may_download") == "yes")
	return s.changedTeam(c, v, err, "role_changed")
}

// removeStaff takes somebody out of the team.
func (s *Server) removeStaff(c echo.Context, v *staffVisit) error {
	id, err := domain.ParseStaffID(c.Param("staff"))
	if err != nil {
		return echo.ErrNotFound
	}
	return s.changedTeam(c, v, s.Service.RemoveStaff(c.Request().Context(), v.Scope.AccountID, v.actor, id), "staff_removed")
}

// changedTeam leads back to the team, which says what was done, or shows it
// again with what is wrong.
func (s *Server) changedTeam(c echo.Context, v *staffVisit, err error, notice string) error {
	if wrong := problems(err); wrong != nil {
		return s.teamPage(c, v, http.StatusUnprocessableEntity, wrong)
	}
	if err != nil {
		return err
	}
	s.leaveStaffNotice(c, notice)
	return c.Redirect(http.StatusSeeOther, dashboard.URL(v.Scope.Livemode, "team"))
}
