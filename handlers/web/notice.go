package web

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

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
	Texts   map[string]string // by code; {date} or {n} is the date or number that a notice was left with
	Undone  []string          // codes of those that say that nothing was done
}

// Leave leaves a code for the next page.
func (n Notices) Leave(c echo.Context, code string) {
	c.SetCookie(n.Cookies.New(noticeCookie, code, n.Path, noticeSeconds))
}

// Dated is a code with the date of its text, in the date's zone.
func Dated(code string, date time.Time) string { return code + "." + date.Format(time.DateOnly) }

// Counted is a code with the number of its text.
func Counted(code string, n int) string { return code + "." + strconv.Itoa(n) }

// Text returns the text of the notice that was left, "" for none, and whether nothing was
// done, and deletes the notice.
func (n Notices) Text(c echo.Context) (text string, undone bool) {
	code, with, _ := strings.Cut(n.Take(c), ".")
	text = n.Texts[code]
	if date, err := time.Parse(time.DateOnly, with); err == nil {
		text = strings.Replace(text, "{date}", date.Format("2 January 2006"), 1)
	} else if number, err := strconv.Atoi(with); err == nil {
		text = strings.Replace(text, "{n}", strconv.Itoa(number), 1)
	}
	return text, slices.Contains(n.Undone, code)
}

// Take returns the code that was left, "" for none, and deletes it.
func (n Notices) Take(c echo.Context) string {
	code := n.Cookies.Value(c, noticeCookie, n.Path)
	if code == "" || c.Request().Method != http.MethodGet {
		return ""
	}
	c.SetCookie(n.Cookies.New(noticeCookie, "", n.Path, -1))
	return code
}
