package web

import (
	"github.com/labstack/echo/v4"

	"candor/internal/form"
	"candor/internal/service"
)

// maxUserAgent is how much of a browser's name is passed on, in characters.
const maxUserAgent = 500

// Visitor returns who makes the request, as use cases record it.
func Visitor(c echo.Context) service.Visitor {
	agent, _ := form.CleanText(c.Request().UserAgent(), maxUserAgent)
	if runes := []rune(agent); len(runes) > maxUserAgent {
		agent = string(runes[:maxUserAgent])
	}
	return service.Visitor{UserAgent: agent, IPAddress: c.RealIP()}
}
