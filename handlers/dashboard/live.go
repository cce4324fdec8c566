package dashboard

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/domain"
	"candor/internal/service/live"
	view "candor/views/dashboard"
)

// eventStream is the type of server-sent events.
const eventStream = "text/event-stream"

// FollowChanges streams the names of what changes in the mode, for as long as the page
// is open that asks for it. The page says what it follows.
func (s *Server) FollowChanges(c echo.Context, v *Visit) error {
	params := live.Params{Scope: v.Scope, Topics: domain.TopicsNamed(strings.Split(c.QueryParam("on"), ",")), Pause: time.Second}
	if text := c.QueryParam("session"); text != "" {
		id, err := domain.ParseSessionID(text)
		if err != nil {
			return echo.ErrNotFound
		}
		params.Session = &id
	}
	if at, err := strconv.ParseInt(c.QueryParam("since"), 10, 64); err == nil && at > 0 {
		params.Since = time.UnixMilli(at)
	}
	if seconds, err := strconv.Atoi(c.QueryParam("every")); err == nil && seconds > 1 {
		params.Pause = time.Duration(min(seconds, view.SlowPause)) * time.Second
	}
	c.Response().Header().Set(echo.HeaderContentType, eventStream)
	c.Response().Header().Set("X-Accel-Buffering", "no") // or nginx keeps the messages back
	if !strings.Contains(c.Request().Header.Get(echo.HeaderAccept), eventStream) {
		return c.NoContent(http.StatusNotAcceptable)
	}
	request, start := web.RequestOf(c), time.Now()
	request.Leave()
	defer func() { request.Waited += time.Since(start) }()
	out := http.NewResponseController(c.Response())
	return s.Live.Follow(c.Request().Context(), v.Staff, params, func(names ...string) error {
		for _, name := range names {
			if _, err := fmt.Fprintf(c.Response(), "event: %s\ndata: \n\n", name); err != nil {
				return nil //nolint:nilerr // the page is gone, which ends the request's context
			}
		}
		_ = out.Flush() // as above
		return nil
	})
}
