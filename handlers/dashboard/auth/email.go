package auth

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/domain"
	view "candor/views/dashboard"
)

// emailCookie holds the token of an email's link between the opening of the
// link and the page that it leads to, so that no address that is kept has the
// token. It opens only its own page.
const emailCookie = "candor_letter"

// emailSeconds is how long a page that an email's link led to can be used.
const emailSeconds = 60 * 60

// The pages that emails lead to, below the dashboard's root.
const (
	resetPath      = "/reset"
	verifyPath     = "/verify"
	invitationPath = "/invitation"
)

func signInURL(then string) string {
	return view.Root + "/sign-in?then=" + url.QueryEscape(then)
}

// OpenEmailLink takes the token out of the address and leads to its page. It
// doesn't use the token up: mail programs open links, too.
func (s *Server) OpenEmailLink(c echo.Context) error {
	page := strings.TrimSuffix(strings.TrimPrefix(c.Path(), view.Root), "/:token")
	c.SetCookie(s.emailCookie(page, c.Param("token"), emailSeconds))
	return c.Redirect(http.StatusSeeOther, view.Root+page)
}

func (s *Server) emailCookie(path, token string, seconds int) *http.Cookie {
	return s.Cookies.New(emailCookie, url.QueryEscape(token), view.Root+path, seconds)
}

// emailToken is the token of the email's link that the browser has opened, ""
// without one.
func (s *Server) emailToken(c echo.Context) string {
	return s.Cookies.Value(c, emailCookie, view.Root)
}

// linkGone answers an expired or used link with a page that says what to do,
// and returns other errors.
func (s *Server) linkGone(c echo.Context, err error) error {
	if !errors.Is(err, &domain.Error{Code: domain.CodeNotFound}) {
		return err
	}
	return web.Render(c, http.StatusNotFound, view.LinkGone(view.Page{Title: "This link no longer works"}))
}

// ShowEmailSent tells the visitor to read their email.
func (s *Server) ShowEmailSent(c echo.Context) error {
	return web.Render(c, http.StatusOK, view.EmailSent(view.Page{Title: "Check your email"}))
}

// emailSent leads to a page that is the same whether an email was sent or not.
func (s *Server) emailSent(c echo.Context) error {
	return c.Redirect(http.StatusSeeOther, view.Root+"/letter-sent")
}

// enter leads to next, of the dashboard, after an email's link has signed the user in.
func (s *Server) enter(c echo.Context, path, token, next string) error {
	if err := s.GiveCookie(c, token); err != nil {
		return err
	}
	c.SetCookie(s.emailCookie(path, "", -1))
	s.Notices.Leave(c, "welcome")
	return c.Redirect(http.StatusSeeOther, next)
}
