package handlers

import (
	"fmt"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
)

// securityText says where vulnerabilities are reported (RFC 9116). It is valid until the
// end of the month after next, so that no one keeps an old one.
func (s *server) securityText(c echo.Context) error {
	year, month, _ := s.Clock.Now().UTC().Date()
	expires := time.Date(year, month+3, 1, 0, 0, 0, 0, time.UTC)
	return c.String(http.StatusOK, fmt.Sprintf("Contact: %s\nExpires: %s\nPreferred-Languages: en\nCanonical: %s%s\n",
		s.SecurityContact, expires.Format(time.RFC3339), s.BaseURL, c.Path()))
}
