package api

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
)

// A Deprecation is what is to be taken away (D123).
type Deprecation struct {
	Of     string    // "GET /v1/sessions/:id" as the routes have it, or a version, "/v1"
	Since  time.Time // announced then
	Sunset time.Time // isn't answered from then on
	Link   string    // a path of the docs that says what to use instead
}

// Deprecations is all that is to be taken away, read by the answers' headers and by the
// OpenAPI document.
var Deprecations []Deprecation

// deprecation is that of a route, nil without one.
func (s *Server) deprecation(method, path string) *Deprecation {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	for i, d := range s.Deprecated {
		if d.Of == method+" "+path || strings.HasPrefix(path+"/", d.Of+"/") {
			return &s.Deprecated[i]
		}
	}
	return nil
}

// AnnounceEnd is the middleware that tells in each answer what is to be taken away (RFC
// 9745, RFC 8594).
func (s *Server) AnnounceEnd(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if d := s.deprecation(c.Request().Method, c.Path()); d != nil {
			h := c.Response().Header()
			h.Set("Deprecation", fmt.Sprintf("@%d", d.Since.Unix()))
			h.Set("Sunset", d.Sunset.UTC().Format(http.TimeFormat))
			h.Add("Link", fmt.Sprintf(`<%s%s>; rel="deprecation"; type="text/html"`, s.BaseURL, d.Link))
		}
		return next(c)
	}
}

// String says it in the OpenAPI document.
func (d *Deprecation) String() string {
	return fmt.Sprintf(" Deprecated since %s, answered until %s.", d.Since.UTC().Format(time.DateOnly),
		d.Sunset.UTC().Format(time.DateOnly))
}
