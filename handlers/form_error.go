package handlers

import (
	"net/http"

	"github.com/labstack/echo/v4"

	view "candor/views/form"
)

// pageError answers an error of a page: status is what it comes to, err what
// happened, already logged where it is the server's fault.
func (s *Server) pageError(c echo.Context, status int, _ error) error {
	page := view.StatusPage{Kind: view.StatusError, RequestID: requestOf(c).id.String()}
	switch status {
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		page.Kind = view.StatusNotFound
	case http.StatusTooManyRequests:
		page.Kind = view.StatusTooMany
	case http.StatusServiceUnavailable:
		page.Kind = view.StatusBusy
	}
	return render(c, status, view.Status(page))
}
