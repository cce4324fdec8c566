package form

import (
	"context"
	"crypto/rand"
	"net/http"
	"strings"
	"time"

	"github.com/gorilla/sessions"
	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/domain"
	"candor/internal/service/forms"
)

const (
	// formCookie opens one session's form in one browser (D5).
	formCookie = "candor_form"
	// longestAccess is how long a browser keeps its cookie: above the longest life of
	// a session's link (D49). The cookie outlives the session, so that the browser is
	// told what happened and a link can be extended. It opens nothing by itself: each
	// request checks the session's status, the link's version and the time.
	longestAccess = (domain.MaxExpiresInDays + 1) * 24 * time.Hour
	// copyAccess is how long the browser that signed keeps the copies at least
	// (D59). The link itself never leads to answers again (D17).
	copyAccess = 7 * 24 * time.Hour
	// doubleClick is how long a second submit of one form counts as the first.
	doubleClick = time.Minute
)

// formURL is the path of a session's form, and of its cookie.
func formURL(id domain.SessionID) string { return "/f/" + id.String() }

// errNoForm answers a wrong link, an unknown session and a missing cookie
// alike.
var errNoForm = domain.Errorf(domain.CodeNotFound, "Open the form by its link.")

// countWrongLink counts a link that opens nothing for its network, and refuses one too many.
func (s *Server) countWrongLink(c echo.Context) error {
	return web.TooMany(s.NetworkLimiter.Take("wrong link "+domain.Network(c.RealIP()), s.Clock.Now()))
}

// OpenLink checks the link, gives the browser its cookie and takes the token
// out of the address (D5). It isn't the first opening yet: the page is (D14).
func (s *Server) OpenLink(c echo.Context) error {
	ctx := c.Request().Context()
	id, link, ok := s.Forms.CheckLink(c.Param("session"), c.Param("token"))
	if !ok {
		if err := s.countWrongLink(c); err != nil {
			return err
		}
		return s.wrongLink(c, id, domain.LinkWrong)
	}
	state, err := s.Forms.Get(ctx, id)
	if err != nil {
		return err
	}
	if link.Version != state.Session.LinkVersion {
		return s.wrongLink(c, id, domain.LinkReplaced)
	}
	// The browser that signed keeps its mark, and the one that saved its secret; any other
	// one gets a fresh cookie.
	p, err := s.granted(c, id)
	saved := state.Session.SavedBy != nil && *state.Session.SavedBy == p.Mark()
	if err != nil || p.signed.IsZero() && !saved {
		p = pass{LinkHolder: domain.LinkHolder{Browser: rand.Text()}}
	}
	p.Link = link
	use, refusal := domain.LinkOpened, error(nil)
	if state.Session.Status.Open() && !state.Session.OpensFor(p.LinkHolder) {
		use, refusal = domain.LinkElsewhere, forms.ErrElsewhere
	}
	if state.Session.Status.Open() && byPerson(c.Request()) {
		if err := s.Forms.NoteLinkUse(ctx, id, use, web.Visitor(c)); err != nil {
			return err
		}
	}
	if refusal != nil {
		return refusal // the browser keeps the cookie that it has
	}
	if err := s.grant(c, id, p); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, formURL(id))
}

// wrongLink notes a link that opens nothing, and says so.
func (s *Server) wrongLink(c echo.Context, id domain.SessionID, kind domain.LinkUseKind) error {
	if id != (domain.SessionID{}) {
		if err := s.Forms.NoteLinkUse(c.Request().Context(), id, kind, domain.Visitor{}); err != nil {
			return err
		}
	}
	return errNoForm
}

// A pass is the sealed content of a form's cookie, beside the id of its
// session.
type pass struct {
	domain.LinkHolder           // its Browser is "" before November 2026
	signed            time.Time // when this browser signed, zero for not
}

// grant sets the cookie that opens the session's form.
func (s *Server) grant(c echo.Context, id domain.SessionID, p pass) error {
	cookie := sessions.NewSession(s.store, s.Cookies.Name(formCookie, formURL(id)))
	cookie.Values["session"] = id.String()
	cookie.Values["browser"] = p.Browser
	if p.Link.Version > 0 {
		cookie.Values["link"] = p.Link.Version
	}
	if p.Link.OneBrowser {
		cookie.Values["one"] = true
	}
	if !p.signed.IsZero() {
		cookie.Values["signed"] = p.signed.Unix()
	}
	cookie.Options = &sessions.Options{
		Path: formURL(id), MaxAge: int(longestAccess / time.Second),
		HttpOnly: true, Secure: s.Cookies.Secure, SameSite: http.SameSiteLaxMode,
	}
	return cookie.Save(c.Request(), c.Response())
}

// passKey is where a request's context keeps its pass.
const passKey = "pass"

// granted returns the pass of the request's browser, or errNoForm if the browser
// hasn't opened the form by its link.
func (s *Server) granted(c echo.Context, id domain.SessionID) (pass, error) {
	if p, known := c.Get(passKey).(pass); known {
		return p, nil
	}
	for _, name := range s.formCookieNames(formCookie) {
		cookie, err := s.store.New(c.Request(), name)
		if err != nil || cookie.Values["session"] != id.String() {
			continue
		}
		var p pass
		p.Browser, _ = cookie.Values["browser"].(string)
		p.Link.Version, _ = cookie.Values["link"].(int)
		p.Link.OneBrowser, _ = cookie.Values["one"].(bool)
		if unix, ok := cookie.Values["signed"].(int64); ok {
			p.signed = time.Unix(unix, 0).UTC()
		}
		c.Set(passKey, p)
		return p, nil
	}
	return pass{}, errNoForm
}

// A visit is a request by someone who holds the session's link.
type visit struct {
	*forms.State
	pass
	announce string // what was just done
	followed bool   // what was just done changed repayments in Expenses
	focus    string // id of the element that takes the focus after it, "" for the title
	again    again  // the stored document that was just added once more
}

// A finder is how a visit reads the form.
type finder func(context.Context, domain.SessionID) (*forms.State, error)

// visit reads the cookie and the form. A GET or POST by a person opens the
// form (D14).
func (s *Server) visit(c echo.Context, find finder) (*visit, error) {
	id, err := domain.ParseSessionID(c.Param("session"))
	if err != nil {
		return nil, errNoForm
	}
	granted, err := s.granted(c, id)
	if err != nil {
		return nil, err
	}
	ctx := c.Request().Context()
	v := &visit{pass: granted}
	if v.State, err = find(ctx, id); err != nil {
		return nil, err
	}
	if err := v.checkLink(ctx, s.Forms); err != nil {
		return nil, err
	}
	s.speakTo(c, v)
	keepTime(c, v.Statement)
	s.announce(c, v)
	if !v.Session.Status.Open() || !byPerson(c.Request()) {
		return v, nil
	}
	if err := s.Forms.Open(ctx, v.State, web.Visitor(c)); err != nil || c.Request().Method != http.MethodGet ||
		!v.Session.Status.Open() {
		return v, err
	}
	return v, s.Forms.Reach(ctx, v.State, sectionOf(c))
}

// byPerson is false for requests that a program makes before a person does
// (D14).
func byPerson(r *http.Request) bool {
	for _, name := range []string{"Sec-Purpose", "Purpose", "X-Purpose", "X-Moz"} {
		purpose := strings.ToLower(r.Header.Get(name))
		for _, ahead := range []string{"prefetch", "prerender", "preview"} {
			if strings.Contains(purpose, ahead) {
				return false
			}
		}
	}
	return r.Method != http.MethodHead
}

// checkLink returns errNoForm if the link was renewed since the browser opened it, and
// forms.ErrElsewhere if it opens the form in another one (D92).
func (v *visit) checkLink(ctx context.Context, read *forms.Service) error {
	v.Session.Holder = v.LinkHolder
	switch {
	case v.Session.LinkVersion != v.Link.Version:
		return errNoForm
	case !v.Link.OneBrowser || !v.Session.Status.Open():
		return nil
	case !v.Session.OpensFor(v.LinkHolder):
		return forms.ErrElsewhere
	}
	// The answers were read after the session, so another browser's first save can be
	// among them, also where this one has saved.
	now, err := read.Find(ctx, v.Session.ID)
	if err == nil && !now.Session.OpensFor(v.LinkHolder) {
		err = forms.ErrElsewhere
	}
	return err
}

// reload reads the form again after another request has changed it.
func (v *visit) reload(ctx context.Context, read *forms.Service) error {
	state, err := read.Get(ctx, v.Session.ID)
	if err != nil {
		return err
	}
	v.State = state
	return v.checkLink(ctx, read)
}

// LimitPosts is the middleware that counts posts to forms, before it reads anything.
// A browser that opened the form counts for the link that it opened, so that a link
// that was renewed takes nothing from its successor, and with others like it for its
// network, which can be an office or a phone company. Anyone else counts for a smaller
// bucket of the network, and takes nothing from those.
func (s *Server) LimitPosts(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if c.Request().Method != http.MethodPost {
			return next(c)
		}
		network, now := domain.Network(c.RealIP()), s.Clock.Now()
		id, err := domain.ParseSessionID(c.Param("session"))
		var p pass
		if err == nil {
			p, err = s.granted(c, id)
		}
		if err != nil {
			err = web.TooMany(s.NetworkLimiter.Take("post "+network, now))
		} else if err = web.TooMany(s.LinkLimiter.Take(p.Link.Subject(id), now)); err == nil {
			err = web.TooMany(s.OpenedLimiter.Take(network, now))
		}
		if err != nil {
			return err
		}
		return next(c)
	}
}

// formCookieNames are the names under which the form looks for a cookie. Until
// November 2026 it had no prefix: a customer who opened the form before the
// upgrade must keep it. The last of these cookies expires 91 days after the
// upgrade; remove the second name then. The cookie's value is signed or one of
// a few languages, so planting one gains nothing.
func (s *Server) formCookieNames(base string) []string {
	return []string{s.Cookies.Name(base, "/f"), base}
}
