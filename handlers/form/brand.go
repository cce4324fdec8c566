package form

import (
	"net/http"
	"regexp"
	"strings"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
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

// logoTypes are the content types of logos by extension.
var logoTypes = map[string]string{".png": "image/png", ".jpg": "image/jpeg"}

var logoName = regexp.MustCompile(`^[0-9a-f]{32}(\.png|\.jpg)$`)

// Logo is a partner's logo. Its name is a hash of its content.
func (s *Server) Logo(c echo.Context) error {
	parts := logoName.FindStringSubmatch(c.Param("file"))
	if parts == nil {
		return echo.ErrNotFound
	}
	content, err := s.Accounts.Logo(c.Request().Context(), parts[0])
	if err != nil {
		return err
	}
	h := c.Response().Header()
	h.Set("Cache-Control", keepForGood)
	h.Set("Content-Security-Policy", web.DataPolicy)
	return c.Blob(http.StatusOK, logoTypes[parts[1]], content)
}
