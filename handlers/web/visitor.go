package web

import (
	"github.com/labstack/echo/v4"

	"candor/internal/domain"
	"candor/internal/form"
)

// maxUserAgent is how much of a browser's name is passed on, in characters.
const maxUserAgent = 500

// Visitor returns who makes the request, as use cases record it.
func Visitor(c echo.Context) domain.Visitor {
	agent, _ := form.CleanText(c.Request().UserAgent(), maxUserAgent)
	if runes := []rune(agent); len(runes) > maxUserAgent {
		agent = string(runes[:maxUserAgent])
	}
	return domain.Visitor{UserAgent: agent, IPAddress: c.RealIP()}
}
