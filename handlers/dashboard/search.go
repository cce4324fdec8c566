package dashboard

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/form"
	"candor/internal/service/search"
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

// ShowSearch shows what a text finds: as a list below the field while it is typed, or as a page,
// unless it can only mean one thing, or place, and not one of the other mode: then it leads there.
func (s *Server) ShowSearch(c echo.Context, v *Visit) error {
	text, _ := form.CleanText(c.QueryParam("q"), maxSearch)
	ofPhone := search.MostOfPhone
	if web.Enhanced(c) {
		ofPhone = search.Most
	}
	found, err := s.Search.Find(c.Request().Context(), &v.Staff.Staff, v.Scope, text, ofPhone)
	if err != nil {
		return err
	}
	page := view.NewSearchPage(s.page(v, "Search"), text, found)
	page.Of = text
	switch {
	case web.Enhanced(c):
		return web.Render(c, http.StatusOK, view.SearchResults(page))
	case !found.OtherMode && !found.Misspelt && page.Only() != "":
		return c.Redirect(http.StatusSeeOther, page.Only())
	}
	if found.ByPhone { // this is all
		page.All = ""
	}
	return web.Render(c, http.StatusOK, view.Search(page))
}
