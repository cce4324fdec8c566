package auth

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/gorilla/sessions"
	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/domain"
	"candor/internal/service/staff/auth"
	view "candor/views/dashboard"
)

// staffCookie holds the token of a staff session, and nothing else.
const staffCookie = "candor_staff"

// deviceCookie is the name of the cookie that marks a browser in which a staff
// user has signed in before. It signs no one in.
const deviceCookie = "candor_device"

func (s *Server) deviceCookie(value string) *http.Cookie {
	return s.Cookies.New(deviceCookie, value, view.Root, int(auth.DeviceLife.Seconds()))
}

// staffValue is where a gorilla session holds its *domain.StaffSession.
const staffValue = "staff"

// staffStore is a sessions.Store of the staff sessions in PostgreSQL. The cookie
// holds a token; the rest is a row, which can be deleted from anywhere.
type staffStore struct {
	auth    *auth.Service
	cookies web.Cookies
}

var _ sessions.Store = (*staffStore)(nil)

func (s *staffStore) cookieName() string { return s.cookies.Name(staffCookie, "/") }

// ofRequest returns the session of the request.
func (s *staffStore) ofRequest(c echo.Context) (*sessions.Session, error) {
	return s.Get(c.Request(), s.cookieName())
}

// Get returns the request's session, the same one each time.
func (s *staffStore) Get(r *http.Request, name string) (*sessions.Session, error) {
	return sessions.GetRegistry(r).Get(s, name)
}

// New returns the session of the request's cookie, or a new one if there is no
// cookie or its session has ended.
func (s *staffStore) New(r *http.Request, name string) (*sessions.Session, error) {
	session := sessions.NewSession(s, name)
	session.IsNew = true
	session.Options = &sessions.Options{
		Path: "/", MaxAge: int(domain.StaffLifetime.Seconds()), HttpOnly: true, Secure: s.cookies.Secure,
		SameSite: http.SameSiteLaxMode,
	}
	cookie, err := r.Cookie(name)
	if err != nil || cookie.Value == "" {
		return session, nil
	}
	open := s.auth.Session
	if r.Header.Get(web.HeaderByItself) != "" {
		open = s.auth.Look
	}
	staff, err := open(r.Context(), cookie.Value)
	if errors.Is(err, &domain.Error{Code: domain.CodeUnauthorized}) {
		return session, nil
	}
	if err != nil {
		return session, err
	}
	session.ID, session.IsNew = cookie.Value, false
	session.Values[staffValue] = staff
	return session, nil
}

// Save sends the cookie with the session's token; with a negative MaxAge it
// deletes the cookie.
func (s *staffStore) Save(_ *http.Request, w http.ResponseWriter, session *sessions.Session) error {
	http.SetCookie(w, sessions.NewCookie(session.Name(), session.ID, session.Options))
	return nil
}

// newcomer is the visitor with the cookies of earlier sign-ins.
func (s *Server) newcomer(c echo.Context) domain.Visitor {
	v := web.Visitor(c)
	v.Device = s.Cookies.Value(c, deviceCookie, view.Root)
	if cookie, err := c.Cookie(s.store.cookieName()); err == nil {
		v.StaffToken = cookie.Value
	}
	return v
}

// GiveCookie gives the browser its session's new token and, if it has passed
// every step of signing in, the cookie that identifies it the next time.
func (s *Server) GiveCookie(c echo.Context, token string) error {
	session, err := s.store.ofRequest(c)
	if err != nil {
		return err
	}
	session.ID = token
	if err := session.Save(c.Request(), c.Response()); err != nil {
		return err
	}
	device, err := s.StaffAuth.KeepDevice(c.Request().Context(), token, s.newcomer(c))
	if err == nil && device != "" {
		c.SetCookie(s.deviceCookie(device))
	}
	return err
}

// Session returns the request's staff session, nil if no one is signed in. Pages
// then show times in the zone of its account.
func (s *Server) Session(c echo.Context) (*domain.StaffSession, error) {
	session, err := s.store.ofRequest(c)
	if err != nil {
		return nil, err
	}
	own, _ := session.Values[staffValue].(*domain.StaffSession)
	if own != nil && own.Stage != domain.SignInFull {
		return nil, nil
	}
	if own != nil {
		c.SetRequest(c.Request().WithContext(view.WithTime(c.Request().Context(), own.Zone(), s.Clock.Now())))
	}
	return own, nil
}

// SendTo sends the visitor to a page that comes before this one, such as
// /sign-in, which leads back here. A posted form is not kept: the page leads
// back to the form, and the next page says so.
func (s *Server) SendTo(c echo.Context, page string) error {
	then := c.Request().URL.RequestURI()
	if web.Enhanced(c) {
		then = LocalPath(currentPage(c))
	}
	if c.Request().Method == http.MethodPost {
		values, _ := web.FormValues(c) // what can't be read came from no page
		then = LocalPath(values.Get("from"))
		if mode := c.Param("mode"); then == view.Root && mode != "" {
			then += "/" + mode // a form of test mode isn't tried again in live mode
		}
		s.Notices.Leave(c, "signed_out_first")
	}
	return LeadTo(c, view.Root+page+"?then="+url.QueryEscape(then))
}

// LeadTo leads to another page. A request that htmx sent is refused, with the page that
// the browser goes to: after a redirect it would take that page for a part of this one.
func LeadTo(c echo.Context, path string) error {
	if web.Enhanced(c) {
		c.Response().Header().Set("HX-Redirect", path)
		return c.NoContent(http.StatusUnauthorized)
	}
	return c.Redirect(http.StatusSeeOther, path)
}

// currentPage is the path of the page that htmx sent the request from.
func currentPage(c echo.Context) string {
	u, err := url.Parse(c.Request().Header.Get("HX-Current-URL"))
	if err != nil {
		return ""
	}
	return u.RequestURI()
}

// LocalPath returns path if it is one of the dashboard's, else the dashboard's
// root, so that no link leads to another site through us.
func LocalPath(path string) string {
	u, err := url.Parse(path)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || strings.ContainsAny(path, "\\\r\n\t") ||
		strings.HasPrefix(path, "//") ||
		u.Path != view.Root && !strings.HasPrefix(u.Path, view.Root+"/") || strings.Contains(u.Path, "..") {
		return view.Root
	}
	return path
}

// Renew makes the session of that token the session of the request, for a
// handler that runs after the request has changed it.
func (s *Server) Renew(c echo.Context, token string) error {
	session, err := s.store.ofRequest(c)
	if err != nil {
		return err
	}
	session.Values[staffValue], err = s.StaffAuth.Session(c.Request().Context(), token)
	return err
}
