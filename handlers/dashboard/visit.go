package dashboard

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"candor/handlers/dashboard/auth"
	"candor/handlers/web"
	"candor/internal/domain"
	view "candor/views/dashboard"
)

// A Visit is a request by a signed-in staff user who may make it.
type Visit struct {
	Staff  *domain.StaffSession
	Scope  domain.Scope // of the page's mode
	Actor  domain.Actor
	Route  *Route
	notice string // what the last request has done
	undone bool   // notice says that it was nothing
	self   string // path and query of the page, "" for a posted form
	list   string // parameters of the filtered list that the page was opened from
}

// A Route is a page of the dashboard or an action on one, for staff users who
// are signed in.
type Route struct {
	Method  string
	Path    string // below Prefix
	May     domain.Capability
	Serve   func(echo.Context, *Visit) error
	Options []Option
}

// Prefix is what the paths of a Route are below: the dashboard in a mode.
const Prefix = view.Root + "/:mode"

// An Option is what else a Route asks for.
type Option struct {
	name string
	text string
}

var (
	// Shared says that the page is the same in both modes.
	Shared = Option{name: "shared"}
	// AsFile says that the route answers with a file, which leaves the page before
	// it on the screen.
	AsFile = Option{name: "file"}
	// ToCardPages says that the route leads to the payment provider's pages.
	ToCardPages = Option{name: "card pages"}
	// TakesFile says that the route reads the posted form itself.
	TakesFile = Option{name: "upload"}
	// Acts says that the page is there only to act: it opens to who may do that, and
	// not to who may only read.
	Acts = Option{name: "acts"}
	// Streams says that the route answers for as long as its page is open.
	Streams = Option{name: "stream"}
)

// Settles says that the route is open to staff users with this duty. Every
// other route leads them to My account.
func Settles(duty domain.Duty) Option { return Option{name: "settles", text: string(duty)} }

// Confirmed asks for the password again, unless it was entered lately. The
// prompt says "Enter your password to" and the action.
func Confirmed(action string) Option { return Option{name: "confirmed", text: action} }

// Has reports whether the route has the option.
func (r *Route) Has(o Option) bool { return slices.Contains(r.Options, o) }

// Action is what the route asks the password for, "" if it doesn't.
func (r *Route) Action() string {
	for _, o := range r.Options {
		if o.name == "confirmed" {
			return o.text
		}
	}
	return ""
}

// OpensTo reports whether the staff user may make the request (D135).
func (r *Route) OpensTo(session *domain.StaffSession) bool {
	if r.Method == http.MethodGet && !r.Has(Acts) {
		return session.Sees(r.May)
	}
	return session.May(r.May)
}

// menu is the path of the page in the menu that the route belongs to.
func (r *Route) menu() string {
	page, _, _ := strings.Cut(strings.TrimPrefix(r.Path, "/"), "/")
	return page
}

// Handler makes the handler of a route. Visitors who aren't signed in are sent
// to sign in first, and led back.
func (s *Server) Handler(route *Route) echo.HandlerFunc {
	s.routes[route.Method+" "+Prefix+route.Path] = route
	return func(c echo.Context) error { return s.serve(c, route) }
}

func (s *Server) serve(c echo.Context, route *Route) error {
	session, err := s.Auth.Admit(c, s.counted(route))
	if err != nil {
		return err
	}
	live, known := c.Param("mode") == "live", c.Param("mode") == "live" || c.Param("mode") == "test"
	switch {
	case !known:
		return echo.ErrNotFound
	case session == nil:
		return s.Auth.SendTo(c, "/sign-in")
	}
	v := &Visit{
		Staff: session, Scope: domain.Scope{AccountID: session.AccountID, Livemode: live}, Actor: session.Actor(), Route: route,
	}
	v.Actor.Address = c.RealIP()
	v.list = c.QueryParam(view.ListParam)
	if c.Request().Method == http.MethodGet {
		v.self = c.Request().URL.RequestURI()
	}
	web.RequestOf(c).Staff, web.RequestOf(c).Visit = session, v
	if duty := session.Duty(); duty != domain.NoDuty && !route.Has(Settles(duty)) {
		return s.leadToDuty(c, v)
	}
	if !route.OpensTo(session) {
		if err := s.Attempts.Forbidden(c.Request().Context(), session, route.May, web.Visitor(c)); err != nil {
			return err
		}
		return domain.Errorf(domain.CodeForbidden, "Your role, %s, can’t open this page. Ask an owner of the account.", session.Role)
	}
	if route.Action() != "" && !session.Confirmed(s.Clock.Now()) {
		return s.askForPassword(c, v)
	}
	if !web.ByItself(c) {
		v.notice, v.undone = s.Notices.Text(c) // else another page's would be lost
	}
	return route.Serve(c, v)
}

// counted is what a limit counts of the route besides requests: what writes an audit
// entry; and the line in which the request waits (D88). A stream leaves it once it has
// begun.
func (s *Server) counted(route *Route) auth.Action {
	action := auth.Action{Line: s.Pages, Name: route.Method + " " + route.Path}
	switch {
	case route.Has(AsFile):
		action.Line, action.Limiter = s.Exports, s.Auth.Limits.Exports
	case route.Method == http.MethodPost, route.May == domain.DownloadData:
		action.Limiter = s.Auth.Limits.Changes
	}
	return action
}

// leadToDuty leads to My account, which shows the user's duty. A posted form is
// dropped, and the next page says so.
func (s *Server) leadToDuty(c echo.Context, v *Visit) error {
	if c.Request().Method == http.MethodPost {
		s.Notices.Leave(c, "duty_first")
	}
	return auth.LeadTo(c, view.URL(v.Scope.Livemode, "me"))
}

// page is the frame around the content of a page.
func (s *Server) page(v *Visit, title string) view.Page {
	return view.Page{
		Title: title, Staff: v.Staff, Livemode: v.Scope.Livemode, Current: v.Route.menu(), Shared: v.Route.Has(Shared),
		Announce: v.notice, Undone: v.undone, Now: s.Clock.Now(), Self: v.self, List: v.list,
	}
}

// backTo leads to a page with a notice. The page's way back to a list stays.
func (s *Server) backTo(c echo.Context, v *Visit, page string, err error, notice string) error {
	if err != nil {
		return err
	}
	s.Notices.Leave(c, notice)
	to := view.URL(v.Scope.Livemode, page)
	if v.list != "" {
		to += "?" + url.Values{view.ListParam: {v.list}}.Encode()
	}
	return c.Redirect(http.StatusSeeOther, to)
}
