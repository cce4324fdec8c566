package handlers

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

// pageError answers an error of a page: status is what it comes to, err what
// happened, already logged where it is the server's fault.
func (s *Server) pageError(c echo.Context, status int, _ error) error {
	return c.String(status, http.StatusText(status))
}
