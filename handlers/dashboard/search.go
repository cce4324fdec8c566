package dashboard

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/form"
	view "candor/views/dashboard"
)

// maxSearch is the longest text that is searched for, in characters.
const maxSearch = 200

// inOtherMode leads to what has an id that a page didn't find, if that is of the other mode.
func (s *Server) inOtherMode(c echo.Context, v *Visit, p view.Page, id string) (out view.SearchPage) {
	found, err := s.Search.ByID(c.Request().Context(), &v.Staff.Staff, v.Scope, id)
	if err == nil && found.OtherMode {
		out = view.NewSearchPage(p, id, found)
	}
	return out
}

// ShowSearch shows what a text finds: as a page, or as the list below the field
// while it is typed. Without script an id leads to what has it, if that is of this mode.
func (s *Server) ShowSearch(c echo.Context, v *Visit) error {
	text, _ := form.CleanText(c.QueryParam("q"), maxSearch)
	found, err := s.Search.Find(c.Request().Context(), &v.Staff.Staff, v.Scope, text)
	if err != nil {
		return err
	}
	page := view.NewSearchPage(s.page(v, "Search"), text, found)
	page.Of = text
	switch {
	case web.Enhanced(c):
		return web.Render(c, http.StatusOK, view.SearchResults(page))
	case found.ByID && !found.OtherMode:
		return c.Redirect(http.StatusSeeOther, page.Groups[0].Results[0].URL)
	}
	return web.Render(c, http.StatusOK, view.Search(page))
}
