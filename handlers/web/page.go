package web

import (
	"bytes"
	"strings"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
)

// The values of Content-Security-Policy.
const (
	// PagePolicy lets a page load only from this server, and nothing inline.
	PagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; " +
		"connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
	// DataPolicy lets a response that is no page load nothing.
	DataPolicy = "default-src 'none'; frame-ancestors 'none'; sandbox"
)

// PermissionsPolicy asks for nothing of the device. Choosing a photo needs no
// permission.
const PermissionsPolicy = "camera=(), microphone=(), geolocation=(), payment=(), usb=(), browsing-topics=()"

// Compress is the middleware that compresses pages. They hold no secret that an
// attacker could guess by their length.
var Compress = middleware.GzipWithConfig(middleware.GzipConfig{MinLength: 1024, Skipper: func(c echo.Context) bool {
	if takesGzip(c.Request()) {
		return false
	}
	c.Response().Header().Add(echo.HeaderVary, echo.HeaderAcceptEncoding)
	return true
}})

// Render answers with a page. It draws the whole page first, so that a page
// that fails is an error and not half a page.
func Render(c echo.Context, status int, page templ.Component) error {
	var b bytes.Buffer
	if err := page.Render(c.Request().Context(), &b); err != nil {
		return err
	}
	c.Response().Header().Set("X-Robots-Tag", "noindex, nofollow")
	return c.HTMLBlob(status, b.Bytes())
}

// Enhanced reports whether htmx sent the request: the page that sent it stays.
func Enhanced(c echo.Context) bool { return c.Request().Header.Get("HX-Request") != "" }

// HeaderByItself is sent by a page that fetches a part of itself without its user.
const HeaderByItself = "Candor-By-Itself"

// ByItself reports whether a page sent the request without its user: it keeps no one
// signed in.
func ByItself(c echo.Context) bool { return c.Request().Header.Get(HeaderByItself) != "" }

// Text returns an optional text, "" for none.
func Text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// List joins words as a sentence does: "a", "a and b", "a, b and c".
func List(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}
