package dashboard

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"

	"github.com/labstack/echo/v4"

	"candor/handlers/dashboard/auth"
	"candor/handlers/web"
	"candor/internal/domain"
	view "candor/views/dashboard"
	"candor/views/ui"
)

// maxHeldForm is the largest form without a file that is held for the password,
// in bytes. The longest selects all sessions of a customer.
const maxHeldForm = 64 << 10

// askForPassword leads to the prompt for the password. A posted form is kept
// until the prompt is answered.
func (s *Server) askForPassword(c echo.Context, v *Visit) error {
	r := c.Request()
	if r.Method != http.MethodPost {
		return s.Auth.SendTo(c, "/confirm")
	}
	f := &domain.HeldForm{URI: r.URL.RequestURI(), ContentType: r.Header.Get(echo.HeaderContentType)}
	back := view.URL(v.Scope.Livemode, v.Route.menu())
	if r.PostForm != nil {
		f.ContentType, f.Body = echo.MIMEApplicationForm, []byte(r.PostForm.Encode())
		if from := r.PostForm.Get("from"); from != "" {
			back = auth.LocalPath(from)
		}
		if len(f.Body) > maxHeldForm {
			return &http.MaxBytesError{Limit: maxHeldForm}
		}
	} else {
		var err error
		if f.Body, err = io.ReadAll(http.MaxBytesReader(c.Response(), r.Body, maxLogoForm)); err != nil {
			return web.Unreadable(err)
		}
	}
	if err := s.StaffAuth.HoldForm(r.Context(), v.Staff, f); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, confirmURL(f.ID.String(), back))
}

// confirmURL is the prompt for a held form, "" for none. It leads to then if it
// is cancelled or no form is held.
func confirmURL(held, then string) string {
	query := "?then=" + url.QueryEscape(then)
	if held != "" {
		query = "?held=" + held + "&then=" + url.QueryEscape(then)
	}
	return view.Root + "/confirm" + query
}

// A prompt asks for the password before a request is carried out.
type prompt struct {
	session *domain.StaffSession
	held    *domain.HeldForm // nil if a page is to be shown
	then    string
	target  *http.Request // what follows the password
	route   *Route        // of target, nil if it isn't a Route
	at      echo.Context  // of target
}

// promptOf reads the prompt of the request. If it returns nil, it has answered
// the request.
func (s *Server) promptOf(c echo.Context, held, then string) (_ *prompt, err error) {
	p := &prompt{then: auth.LocalPath(then)}
	if p.session, err = s.Auth.Admit(c, auth.Action{}); err != nil {
		return nil, err
	}
	if p.session == nil {
		return nil, s.Auth.SendTo(c, "/sign-in")
	}
	if held == "" {
		p.target, p.route, p.at, err = s.targetOf(c, http.MethodGet, p.then)
		return p, err
	}
	p.held, err = s.StaffAuth.HeldForm(c.Request().Context(), p.session, held)
	if errors.Is(err, &domain.Error{Code: domain.CodeNotFound}) || err == nil && p.held.Done {
		return nil, s.heldFormGone(c, p)
	}
	if err != nil {
		return nil, err
	}
	p.target, p.route, p.at, err = s.targetOf(c, http.MethodPost, p.held.URI)
	return p, err
}

// targetOf makes a request to a URI of the dashboard from this request's
// browser, and returns its route.
func (s *Server) targetOf(c echo.Context, method, uri string) (*http.Request, *Route, echo.Context, error) {
	to, err := url.Parse(uri)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("handlers: prompt: %w", err)
	}
	r := c.Request().Clone(c.Request().Context())
	r.Method, r.URL, r.RequestURI, r.Body, r.ContentLength = method, to, uri, http.NoBody, 0
	r.Form, r.PostForm, r.MultipartForm = nil, nil, nil
	at := c.Echo().NewContext(r, nil)
	at.SetResponse(c.Response())
	c.Echo().Router().Find(method, echo.GetPath(r), at)
	return r, s.routes[method+" "+at.Path()], at, nil
}

// ShowConfirm asks for the password. For a download, after the password was
// entered, it shows a page on which the download starts: a prompt that stayed
// on the screen would look unanswered.
func (s *Server) ShowConfirm(c echo.Context) error {
	p, err := s.promptOf(c, c.QueryParam("held"), c.QueryParam("then"))
	if p == nil || err != nil {
		return err
	}
	if p.isDownload() && p.session.Confirmed(s.Clock.Now()) {
		return web.Render(c, http.StatusOK, view.Download(view.DownloadPage{
			Page: view.Page{Title: "Your download starts now", Staff: p.session, Refresh: p.then}, File: p.then, Back: p.back(),
		}))
	}
	return s.confirmPage(c, p, http.StatusOK, nil)
}

func (p *prompt) isDownload() bool { return p.held == nil && p.route != nil && p.route.Has(AsFile) }

// back is where the prompt leads if it is cancelled.
func (p *prompt) back() string {
	switch {
	case p.held != nil || p.route == nil:
		return p.then
	case p.isDownload():
		return (&url.URL{Path: path.Dir(p.target.URL.Path), RawQuery: p.target.URL.RawQuery}).String()
	}
	return view.URL(p.at.Param("mode") == "live", p.route.menu())
}

func (s *Server) confirmPage(c echo.Context, p *prompt, status int, errs []ui.ErrorItem) error {
	page := view.ConfirmPage{
		Page: view.Page{Title: "Confirm it’s you", Staff: p.session, Errors: errs}, Then: p.then, Back: p.back(),
		Confirmed: p.session.BySSO() && p.session.Confirmed(s.Clock.Now()),
	}
	if p.route != nil {
		page.Livemode, page.Shared = p.at.Param("mode") == "live", p.route.Has(Shared)
		page.Action = p.route.Action()
		if page.Action != "" && !p.route.Has(Shared) {
			page.Action += " in " + p.at.Param("mode") + " mode"
		}
		if p.route.Has(ToCardPages) {
			s.allowCardPages(c)
		}
	}
	if p.held != nil {
		page.Held, page.Until = p.held.ID.String(), &p.held.ExpiresAt
	}
	return web.Render(c, status, view.Confirm(page))
}

// heldFormGone says that a held form was already carried out, or has expired.
func (s *Server) heldFormGone(c echo.Context, p *prompt) error {
	status, title := http.StatusNotFound, "This request has expired"
	done := p.held != nil && p.held.Done
	if done {
		status, title = http.StatusConflict, "This request was sent already"
	}
	return web.Render(c, status, view.HeldFormGone(view.HeldFormGonePage{
		Page: view.Page{Title: title, Staff: p.session}, Done: done, Back: p.then,
	}))
}

// Confirm checks the user's password, changes the token, and carries out the
// request.
func (s *Server) Confirm(c echo.Context) error {
	p, err := s.promptOf(c, c.FormValue("held"), c.FormValue("then"))
	if p == nil || err != nil {
		return err
	}
	if p.session.BySSO() {
		return s.confirmedByCompany(c, p)
	}
	token, err := s.StaffAuth.Confirm(c.Request().Context(), p.session, c.FormValue("password"), web.Visitor(c))
	if _, message, ok := auth.ProofError(err); ok {
		return s.confirmPage(c, p, auth.ErrorStatus(c, err), []ui.ErrorItem{{Target: "password", Message: message}})
	}
	if err != nil {
		return err
	}
	if err := s.Auth.GiveCookie(c, token); err != nil {
		return err
	}
	switch {
	case p.held != nil:
		return s.carryOut(c, p, token)
	case p.isDownload():
		return c.Redirect(http.StatusSeeOther, confirmURL("", p.then))
	}
	return c.Redirect(http.StatusSeeOther, p.then)
}

// confirmedByCompany carries out the request of who has just signed in with the company
// again; others stay at the prompt.
func (s *Server) confirmedByCompany(c echo.Context, p *prompt) error {
	switch {
	case !p.session.Confirmed(s.Clock.Now()):
		return s.confirmPage(c, p, http.StatusUnprocessableEntity, nil)
	case p.held != nil:
		return s.carryOut(c, p, "")
	}
	return c.Redirect(http.StatusSeeOther, p.then)
}

// ConfirmByCompany leads to the company's provider, which asks who is there, and back to the
// prompt.
func (s *Server) ConfirmByCompany(c echo.Context) error {
	p, err := s.promptOf(c, c.FormValue("held"), c.FormValue("then"))
	if p == nil || err != nil {
		return err
	}
	back := confirmURL(c.FormValue("held"), p.then)
	start, err := s.SSO.BeginConfirm(c.Request().Context(), p.session, back)
	if _, message, ok := auth.ProofError(err); ok {
		return s.confirmPage(c, p, auth.ErrorStatus(c, err), []ui.ErrorItem{{Target: "company", Message: message}})
	}
	if err != nil {
		return err
	}
	return s.Auth.LeadToCompany(c, start, back)
}

// carryOut answers with the response of the held form's route. It checks role
// and mode again, with the session as it is now. token is the session's new one, "" if it
// stays.
func (s *Server) carryOut(c echo.Context, p *prompt, token string) error {
	ctx := c.Request().Context()
	if token != "" {
		if err := s.Auth.Renew(c, token); err != nil {
			return err
		}
	}
	f, err := s.StaffAuth.TakeHeldForm(ctx, p.session, p.held.ID)
	if errors.Is(err, &domain.Error{Code: domain.CodeNotFound}) {
		// The other half of a double click was faster, or Cancel in another tab.
		_, err = s.promptOf(c, p.held.ID.String(), p.then)
		return err
	}
	if err != nil {
		return err
	}
	if p.route == nil {
		return echo.ErrNotFound // a former release had the route
	}
	p.target.Header.Set(echo.HeaderContentType, f.ContentType)
	p.target.Body, p.target.ContentLength = io.NopCloser(bytes.NewReader(f.Body)), int64(len(f.Body))
	return s.serve(p.at, p.route)
}

// CancelConfirm deletes a held form.
func (s *Server) CancelConfirm(c echo.Context) error {
	session, err := s.Auth.Admit(c, auth.Action{})
	if err != nil {
		return err
	}
	if session == nil {
		return s.Auth.SendTo(c, "/sign-in")
	}
	if err := s.StaffAuth.CancelHeldForm(c.Request().Context(), session, c.FormValue("held")); err != nil {
		return err
	}
	s.Notices.Leave(c, "prompt_cancelled")
	return c.Redirect(http.StatusSeeOther, auth.LocalPath(c.FormValue("then")))
}
