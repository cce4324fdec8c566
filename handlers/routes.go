package handlers

import (
	"github.com/labstack/echo/v4"

	"candor/static"
)

// routes registers every route of the server.
func (s *Server) routes(e *echo.Echo) error {
	e.Use(s.identifyRequest, s.logRequests, s.recoverPanics, s.secureHeaders)

	e.GET("/healthz", s.healthz)
	e.GET("/readyz", s.readyz)
	e.GET(static.Prefix+"*", s.staticFile)
	e.HEAD(static.Prefix+"*", s.staticFile)

	// The customer's form (D5, D47).

	return nil
}
