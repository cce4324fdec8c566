package handlers

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

// cookieName returns the name of the cookie base of that path. A secure one has
// a prefix (RFC 6265bis): browsers then refuse the cookie from a page without
// TLS and, if its path is the root, from another host of the domain.
func cookieName(base, path string, secure bool) string {
	switch {
	case !secure:
		return base
	case path == "/":
		return "__Host-" + base
	}
	return "__Secure-" + base
}

// cookie returns a cookie of these that no script can read.
func (s *Server) cookie(base, value, path string, seconds int) *http.Cookie {
	return &http.Cookie{
		Name: cookieName(base, path, !s.Development), Value: value, Path: path, MaxAge: seconds,
		HttpOnly: true, Secure: !s.Development, SameSite: http.SameSiteLaxMode,
	}
}

// sentCookie returns the value of the request's cookie base of that path, ""
// without one.
func (s *Server) sentCookie(c echo.Context, base, path string) string {
	cookie, err := c.Cookie(cookieName(base, path, !s.Development))
	if err != nil {
		return ""
	}
	return cookie.Value
}

// formCookieNames are the names by which a cookie of the form is looked for.
// Until November 2026 it had no prefix: a customer who opened the form before
// the upgrade must not lose it. The last of these cookies expires 91 days after
// the upgrade; remove the second name then. Its value is signed, or is one of a
// few languages, so that planting one gains nothing.
func (s *Server) formCookieNames(base string) []string {
	return []string{cookieName(base, "/f", !s.Development), base}
}
