package dashboard

import (
	"context"
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/domain"
	"candor/internal/form"
	view "candor/views/dashboard"
)

// viewsOf are the person's views of the list that the page shows (D144).
func (s *Server) viewsOf(ctx context.Context, v *Visit, page *view.SessionsPage) (out []view.SavedView, err error) {
	saved, err := s.Sessions.Views(ctx, v.Staff.Staff.ID, v.Scope.Livemode)
	for _, one := range saved {
		values, _ := url.ParseQuery(one.Query) // what can't be read is left out
		filter, shown, _ := readFilters(values, sessionControls(s.calendar(v), s.Clock.Now()))
		order, sorted := orderIn(values, &filter)
		shown = append(append(shown, sorted...), view.SessionColumns(values["columns"], order).Control())
		out = append(out, view.SavedView{StaffView: one, Shown: shown.Same(page.Filters)})
	}
	return out, err
}

// SaveView keeps the list as its page shows it under a name, for the person alone.
func (s *Server) SaveView(c echo.Context, v *Visit) error {
	ctx := c.Request().Context()
	values, err := url.ParseQuery(c.FormValue("query"))
	if err != nil {
		return echo.ErrNotFound
	}
	page, err := s.sessionsPage(ctx, v, values, nil, nil)
	if err != nil {
		return err
	}
	page.ViewName, page.Self = c.FormValue("name"), page.Address()
	var errs form.Errors
	switch {
	case page.Searched():
		errs = form.Errors{{Field: "name", Message: "A view has no search. Clear it before you save the list"}}
	case len(page.Errors) > 0:
		errs = form.Errors{{Field: "name", Message: "Correct the filters before you save the list"}}
	default:
		err = s.Sessions.SaveView(ctx, v.Staff.Staff.ID, v.Scope.Livemode,
			domain.StaffView{Name: page.ViewName, Query: page.Query()})
		errs = web.ValidationErrors(err)
	}
	if errs != nil {
		page.Errors = append(page.Errors, view.ErrorItems(errs)...)
		return web.Render(c, http.StatusUnprocessableEntity, view.Sessions(*page))
	}
	if err != nil {
		return err
	}
	s.Notices.Leave(c, "view_saved")
	return c.Redirect(http.StatusSeeOther, page.Address())
}

// DeleteView deletes one of the person's views.
func (s *Server) DeleteView(c echo.Context, v *Visit) error {
	err := s.Sessions.DeleteView(c.Request().Context(), v.Staff.Staff.ID, v.Scope.Livemode, c.FormValue("name"))
	return s.backTo(c, v, "sessions", err, "view_deleted")
}
