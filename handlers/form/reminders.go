package form

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/domain"
	view "candor/views/form"
)

// ShowReminders asks the holder of a reminder's link whether reminders shall stop. It
// changes nothing, because mail scanners open links (D104).
func (s *Server) ShowReminders(c echo.Context) error {
	return s.reminders(c, false)
}

// StopReminders stops a session's reminders. A mail program posts it for the reader, without
// a cookie (RFC 8058).
func (s *Server) StopReminders(c echo.Context) error {
	return s.reminders(c, true)
}

func (s *Server) reminders(c echo.Context, stop bool) error {
	ctx := c.Request().Context()
	id, err := domain.ParseSessionID(c.Param("session"))
	if err != nil || !s.Forms.CheckReminders(id, c.Param("token")) {
		if err := s.countWrongLink(c); err != nil {
			return err
		}
		return errNoForm
	}
	state, err := s.Forms.Find(ctx, id)
	if err != nil {
		return err
	}
	if stop {
		err = s.Forms.StopReminders(ctx, state.Session)
	} else {
		stop, err = s.Forms.RemindersStopped(ctx, state.Session)
	}
	if err != nil {
		return err
	}
	v := &visit{State: state}
	s.speakTo(c, v)
	page := view.RemindersPage{Page: s.page(v), Stopped: stop}
	page.HomeURL, page.Languages = "", nil
	return web.Render(c, http.StatusOK, view.Reminders(page))
}
