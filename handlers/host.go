package handlers

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"candor/handlers/api"
	"candor/internal/domain"
)

// checkHost refuses requests to development by another name than its own: a web
// page could point a name of its own at this machine and then read what a
// signed-in developer's browser gets (DNS rebinding). An IP address can't be
// pointed elsewhere. Probes of health may use any name.
//
// Production answers any name. There, TLS stops a rebound name, links are made
// only from the base URL, cookies belong to the host that set them, and load
// balancers and partners' private networks may have names of their own.
func (s *server) checkHost(next echo.HandlerFunc) echo.HandlerFunc {
	if !s.Development {
		return next
	}
	return func(c echo.Context) error {
		host := c.Request().Host
		if path := c.Request().URL.Path; s.knownHost(host) || path == "/healthz" || path == "/readyz" {
			return next(c)
		}
		text := fmt.Sprintf(
			"In development, Candor answers to localhost only, not to %q. Open %s, or set CANDOR_BASE_URL to the address that you use.",
			host, s.BaseURL)
		if api.Serves(c.Request()) {
			return domain.Errorf(domain.CodeMisdirectedRequest, "%s", text)
		}
		return c.String(http.StatusMisdirectedRequest, text+"\n")
	}
}

// knownHost reports whether development answers to this Host header, whatever
// its port: localhost, a loopback address, the base URL's host, and any IP
// address if development is meant to be reached from other machines.
func (s *server) knownHost(host string) bool {
	asked := &url.URL{Host: strings.ToLower(host)}
	name := asked.Hostname()
	if base, err := url.Parse(s.BaseURL); name == "localhost" || err == nil && name == strings.ToLower(base.Hostname()) {
		return true
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && (ip.IsLoopback() || s.Remote)
}
