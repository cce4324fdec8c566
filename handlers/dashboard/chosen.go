package dashboard

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/labstack/echo/v4"

	"candor/handlers/dashboard/auth"
	"candor/handlers/web"
	"candor/internal/domain"
)

// ChangeChosen extends or cancels the sessions that were chosen in the list, each in a
// transaction of its own: one that has ended, or whose link would last too long, stays as
// it is.
func (s *Server) ChangeChosen(c echo.Context, v *Visit) error {
	values, err := c.FormParams()
	if err != nil {
		return web.Unreadable(err)
	}
	chosen := slices.Compact(slices.Sorted(slices.Values(values["session"])))
	if len(chosen) > sessionsPerPage {
		return echo.ErrNotFound // no page offers so many
	}
	cancel := values.Get("do") == "cancel"
	days, _ := strconv.Atoi(values.Get("days")) // 0 days extend nothing
	changed := 0
	for _, text := range chosen {
		id, err := domain.ParseSessionID(text)
		if err != nil {
			return echo.ErrNotFound
		}
		if cancel {
			err = s.Sessions.RequestCancel(c.Request().Context(), v.Scope, id, v.Actor)
		} else {
			_, err = s.Sessions.Extend(c.Request().Context(), v.Scope, id, days, true, v.Actor)
		}
		switch {
		case err == nil:
			changed++
		case !web.SessionClosed(err) && web.ValidationErrors(err) == nil:
			return err
		}
	}
	s.Notices.Leave(c, web.Counted(chosenNotice(cancel, changed == len(chosen)), changed))
	return c.Redirect(http.StatusSeeOther, auth.LocalPath(values.Get("back")))
}

func chosenNotice(cancel, all bool) string {
	switch {
	case cancel && all:
		return "chosen_cancelled"
	case cancel:
		return "chosen_cancelled_part"
	case all:
		return "chosen_extended"
	}
	return "chosen_extended_part"
}
