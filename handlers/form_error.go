package handlers

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"candor/views"
)

// pageError answers an error of a page: status is what it comes to, err what
// happened, already logged where it is the server's fault.
func (s *Server) pageError(c echo.Context, status int, _ error) error {
	page := views.StatusPage{Kind: views.StatusError, RequestID: requestOf(c).id.String()}
	switch status {
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		page.Kind = views.StatusNotFound
	case http.StatusTooManyRequests:
		page.Kind = views.StatusTooMany
	case http.StatusServiceUnavailable:
		page.Kind = views.StatusBusy
	}
	return render(c, status, views.Status(page))
}
