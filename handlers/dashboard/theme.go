package dashboard

import (
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"candor/handlers/dashboard/auth"
	view "candor/views/dashboard"
)

const (
	// themeCookie keeps the theme on the device: a person may want another one on
	// the phone.
	themeCookie = "candor_theme"
	// keysCookie keeps that single keys are turned off on the device (WCAG 2.1.4).
	keysCookie = "candor_keys"
	keysOff    = "off"
	// themeSeconds is the longest time that browsers keep a cookie.
	themeSeconds = 400 * 24 * 60 * 60
)

// Themed is the middleware that has the dashboard's pages drawn in the theme that
// was chosen on the device, and with its choice of keys.
func (s *Server) Themed(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if theme := view.Theme(s.Notices.Cookies.Value(c, themeCookie, view.Root)); theme != view.ThemeSystem &&
			slices.Contains(view.Themes, theme) {
			c.SetRequest(c.Request().WithContext(view.WithTheme(c.Request().Context(), theme)))
		}
		if s.Notices.Cookies.Value(c, keysCookie, view.Root) == keysOff {
			c.SetRequest(c.Request().WithContext(view.WithoutKeys(c.Request().Context())))
		}
		return next(c)
	}
}

// ChangeKeys turns single keys off or on on the device.
func (s *Server) ChangeKeys(c echo.Context, _ *Visit) error {
	seconds := -1
	if c.FormValue("keys") == keysOff {
		seconds = themeSeconds
	}
	c.SetCookie(s.Notices.Cookies.New(keysCookie, keysOff, view.Root, seconds))
	return c.Redirect(http.StatusSeeOther, auth.LocalPath(c.FormValue("back")))
}

// ChangeTheme keeps the chosen theme on the device.
func (s *Server) ChangeTheme(c echo.Context, _ *Visit) error {
	theme, seconds := view.Theme(c.FormValue("theme")), themeSeconds
	if theme == view.ThemeSystem || !slices.Contains(view.Themes, theme) {
		theme, seconds = view.ThemeSystem, -1
	}
	c.SetCookie(s.Notices.Cookies.New(themeCookie, string(theme), view.Root, seconds))
	return c.Redirect(http.StatusSeeOther, auth.LocalPath(c.FormValue("back")))
}
