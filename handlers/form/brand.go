package form

import (
	"net/http"
	"regexp"
	"strings"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/domain"
	"candor/views/ui"
)

// keepForGood lets caches keep a file whose name changes with its content.
const keepForGood = "public, max-age=31536000, immutable"

// BrandSheet is the style sheet of a partner's colour, which is its name.
func (s *Server) BrandSheet(c echo.Context) error {
	name, isSheet := strings.CutSuffix(c.Param("file"), ".css")
	sheet, ok := ui.BrandSheet(name)
	if !ok || !isSheet {
		return echo.ErrNotFound
	}
	c.Response().Header().Set("Cache-Control", keepForGood)
	return c.Blob(http.StatusOK, "text/css; charset=utf-8", []byte(sheet))
}

var logoName = regexp.MustCompile(`^[0-9a-f]{32}\.(png|jpg)$`)

// Logo is a partner's logo. Its name is a hash of its content.
func (s *Server) Logo(c echo.Context) error {
	name := c.Param("file")
	if !logoName.MatchString(name) {
		return echo.ErrNotFound
	}
	content, err := s.Accounts.Logo(c.Request().Context(), name)
	if err != nil {
		return err
	}
	h := c.Response().Header()
	h.Set("Cache-Control", keepForGood)
	h.Set("Content-Security-Policy", web.DataPolicy)
	return c.Blob(http.StatusOK, domain.LogoType(name), content)
}
