package web

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

const (
	// noticeCookie carries the code of a notice to the next page.
	noticeCookie = "candor_notice"
	// noticeSeconds is how long a notice waits for that page.
	noticeSeconds = 30
)

// Notices carry over a redirect what was just done. The next page below Path
// shows it once.
type Notices struct {
	Cookies Cookies
	Path    string
	Texts   map[string]string // by code
}

// Leave leaves a code for the next page.
func (n Notices) Leave(c echo.Context, code string) {
	c.SetCookie(n.Cookies.New(noticeCookie, code, n.Path, noticeSeconds))
}

// Text returns the text of the notice that was left, "" for none, and deletes
// the notice.
func (n Notices) Text(c echo.Context) string { return n.Texts[n.Take(c)] }

// Take returns the code that was left, "" for none, and deletes it.
func (n Notices) Take(c echo.Context) string {
	code := n.Cookies.Value(c, noticeCookie, n.Path)
	if code == "" || c.Request().Method != http.MethodGet {
		return ""
	}
	c.SetCookie(n.Cookies.New(noticeCookie, "", n.Path, -1))
	return code
}
