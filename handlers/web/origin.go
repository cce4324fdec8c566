package web

import (
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"candor/internal/domain"
)

// Origins refuses what another site's page posts, by headers that a page can't
// forge.
type Origins struct {
	protection *http.CrossOriginProtection
}

// NewOrigins returns the check of a server at that base URL.
func NewOrigins(baseURL string) (Origins, error) {
	protection := http.NewCrossOriginProtection()
	if err := protection.AddTrustedOrigin(baseURL); err != nil {
		return Origins{}, fmt.Errorf("base URL: %w", err)
	}
	return Origins{protection}, nil
}

// Staff is the middleware of the dashboard: every browser that staff may use
// sends one of the headers.
func (o Origins) Staff(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if err := o.protection.Check(c.Request()); err != nil {
			return &domain.Error{Code: domain.CodeForbidden, Message: "This can’t be sent from another site.", Cause: err}
		}
		return next(c)
	}
}

// Customer is the middleware of the form. Only browsers send the headers, so
// the form stays scriptable (D47). A browser too old for Sec-Fetch-Site says
// that its origin is "null", because the pages send no referrer; there
// only SameSite=Lax keeps other sites' posts out.
func (o Origins) Customer(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		h := c.Request().Header
		old := h.Get("Sec-Fetch-Site") == "" && h.Get("Origin") == "null"
		if err := o.protection.Check(c.Request()); err != nil && !old {
			return &domain.Error{Code: domain.CodeForbidden, Message: "This form can’t be sent from another site.", Cause: err}
		}
		return next(c)
	}
}
