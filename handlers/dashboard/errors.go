package dashboard

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"candor/handlers/dashboard/auth"
	"candor/handlers/web"
	"candor/internal/domain"
	"candor/internal/form"
	view "candor/views/dashboard"
)

// lostVisit is a signed-in user's request for a missing page of a mode, nil for
// any other request.
func (s *Server) lostVisit(c echo.Context) *Visit {
	mode, _, _ := strings.Cut(strings.TrimPrefix(c.Request().URL.Path, view.Root+"/"), "/")
	session, err := s.Auth.Admit(c, auth.Action{})
	if err != nil || session == nil || mode != "live" && mode != "test" {
		return nil // there is an error to be shown already
	}
	return &Visit{Staff: session, Scope: domain.Scope{AccountID: session.AccountID, Livemode: mode == "live"}, Route: &Route{}}
}

// AnswerError answers with a page that shows the error. Visitors who aren't
// signed in see no menu.
func (s *Server) AnswerError(c echo.Context, status int, public *domain.Error) error {
	p := view.ErrorPage{Page: view.Page{Title: "Sorry, something went wrong", Now: s.Clock.Now()}, Text: public.Text(view.Words.Say)}
	if web.Enhanced(c) {
		c.Response().Header().Set("HX-Reswap", "none") // a part of a page stays as it is
		if status == http.StatusForbidden || status == http.StatusNotFound {
			c.Response().Header().Set("HX-Refresh", "true") // the whole page says it
		}
	}
	v, _ := web.RequestOf(c).Visit.(*Visit)
	if v == nil && status == http.StatusNotFound {
		v = s.lostVisit(c)
	}
	if v != nil {
		p.Page = s.page(v, p.Title)
	}
	switch status {
	case http.StatusForbidden:
		p.Title, p.Owners, p.Wanted = "You can’t do this", s.owners(c, v), public.Needs
		if v != nil && p.Wanted == "" && !v.Staff.May(v.Route.May) {
			p.Wanted = v.Route.May
		}
		if len(p.Owners) > 0 && p.Wanted != "" {
			p.Asked, _ = s.Team.HasAsked(c.Request().Context(), v.Staff, p.Wanted) // else they can ask, which is counted
		}
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		p.Title = "There is nothing here"
		if of := c.ParamValues(); v != nil && len(of) == 2 { // the mode and an id
			p.OtherMode = s.inOtherMode(c, v, p.Page, of[1])
		}
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		p.Title = "Please wait a moment"
		if c.Request().Method == http.MethodPost {
			p.Text += " Reloading this page sends what you entered again."
		}
		if public == web.ErrUnreadable {
			p.Title, p.RequestID = "This can’t be read now", web.RequestOf(c).ID.String()
			p.Text = "A secret key is missing on our side. Tell us the reference below."
		}
	case http.StatusInternalServerError:
		p.RequestID = web.RequestOf(c).ID.String()
		p.Text = "The page couldn’t be shown. Try again; if it keeps happening, tell us the reference below."
	}
	return web.Render(c, status, view.ErrorMessage(p))
}

// pageStatus is the status of a page that shows these errors.
func pageStatus(errs form.Errors) int {
	if errs != nil {
		return http.StatusUnprocessableEntity
	}
	return http.StatusOK
}

// owners are whom a user without the role can ask; none for an owner, or if they can't be
// read now.
func (s *Server) owners(c echo.Context, v *Visit) (out []string) {
	if v == nil || v.Staff.Role == domain.RoleOwner {
		return nil
	}
	team, err := s.Team.List(c.Request().Context(), v.Scope.AccountID)
	for _, member := range team {
		if err == nil && member.Role == domain.RoleOwner {
			out = append(out, member.DisplayName())
		}
	}
	return out
}

// Serves reports whether the request is for the dashboard.
func Serves(r *http.Request) bool {
	return r.URL.Path == view.Root || strings.HasPrefix(r.URL.Path, view.Root+"/")
}
