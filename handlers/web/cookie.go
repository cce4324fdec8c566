// Package web is what the applications of handlers share over HTTP: the record
// of a request, errors, pages, cookies, notices, posted forms, uploads, exports
// and limits. It knows none of the applications.
package web

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

// Cookies names, makes and reads this server's cookies. No script can read
// them, and of another site's requests only links send them.
type Cookies struct {
	Secure bool // they are sent over TLS only
}

// Name returns the name of the cookie base of that path. A secure one has a
// prefix (RFC 6265bis): browsers then refuse the cookie from a page without
// TLS and, if its path is the root, from another host of the domain.
func (k Cookies) Name(base, path string) string {
	switch {
	case !k.Secure:
		return base
	case path == "/":
		return "__Host-" + base
	}
	return "__Secure-" + base
}

// New returns a cookie that lives for so many seconds; a negative number
// deletes it.
func (k Cookies) New(base, value, path string, seconds int) *http.Cookie {
	return &http.Cookie{
		Name: k.Name(base, path), Value: value, Path: path, MaxAge: seconds,
		HttpOnly: true, Secure: k.Secure, SameSite: http.SameSiteLaxMode,
	}
}

// Value returns the value of the request's cookie base of that path, "" without
// one.
func (k Cookies) Value(c echo.Context, base, path string) string {
	cookie, err := c.Cookie(k.Name(base, path))
	if err != nil {
		return ""
	}
	return cookie.Value
}
