package handlers

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"candor/intake"
)

// noticeCookie carries what was just done over a redirect, to be announced
// once by the next page.
const noticeCookie = "candor_notice"

// noticeSeconds is how long a notice waits for the next page.
const noticeSeconds = 30

// notices are the texts by the code that the cookie holds.
var notices = map[string]string{
	"saved":    "Your answers are saved",
	"uploaded": "Document uploaded",
	"removed":  "Document removed",
}

func (s *Server) leaveNotice(c echo.Context, id intake.SessionID, code string) {
	c.SetCookie(s.notice(id, code, noticeSeconds))
}

// takeNotice returns the text that was left and forgets it.
func (s *Server) takeNotice(c echo.Context, id intake.SessionID) string {
	cookie, err := c.Cookie(noticeCookie)
	if err != nil || c.Request().Method != http.MethodGet {
		return ""
	}
	c.SetCookie(s.notice(id, "", -1))
	return notices[cookie.Value]
}

func (s *Server) notice(id intake.SessionID, code string, seconds int) *http.Cookie {
	return &http.Cookie{
		Name: noticeCookie, Value: code, Path: formURL(id), MaxAge: seconds,
		HttpOnly: true, Secure: !s.Development, SameSite: http.SameSiteLaxMode,
	}
}
