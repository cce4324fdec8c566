package handlers

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"candor/internal/domain"
	"candor/internal/form"
	"candor/views/dashboard"
	"candor/views/ui"
)

// A staffVisit is a request by a staff user who is signed in and may make it.
type staffVisit struct {
	Session  *domain.StaffSession
	Scope    domain.Scope // of the page's mode
	actor    domain.Actor
	route    *staffRoute
	announce string // what was just done
}

// A staffRoute is a page of the dashboard or an action on one. Its path stands
// below /dashboard/:mode.
type staffRoute struct {
	method  string
	path    string
	may     domain.Capability
	serve   func(echo.Context, *staffVisit) error
	options []staffOption
}

// A staffOption is what else is asked of a staffRoute.
type staffOption struct {
	name string
	text string
}

var (
	// shared says that the page is the same in both modes.
	shared = staffOption{name: "shared"}
	// asFile says that the route answers with a file, which leaves the page before
	// it on the screen.
	asFile = staffOption{name: "file"}
)

// settles says that the route is open to staff users who must do this first.
// Every other route leads them to My account.
func settles(duty domain.Duty) staffOption { return staffOption{name: "settles", text: string(duty)} }

// confirmed asks for the password again, unless it was given lately. The prompt
// says "Enter your password to" and the action.
func confirmed(action string) staffOption { return staffOption{name: "confirmed", text: action} }

func (r *staffRoute) has(o staffOption) bool { return slices.Contains(r.options, o) }

// action is what the route asks the password for, "" if it doesn't.
func (r *staffRoute) action() string {
	for _, o := range r.options {
		if o.name == "confirmed" {
			return o.text
		}
	}
	return ""
}

// place is the path of the page in the menu that the route belongs to.
func (r *staffRoute) place() string {
	place, _, _ := strings.Cut(strings.TrimPrefix(r.path, "/"), "/")
	return place
}

// staffRoutes are the pages for those who are signed in, all of them.
func (s *Server) staffRoutes() []staffRoute {
	const get, post = http.MethodGet, http.MethodPost
	return append(s.ownRoutes(), []staffRoute{
		{get, "", domain.UseDashboard, s.showHome, nil},
		{get, "/sessions", domain.UseSessions, s.listSessionsPage, nil},
		{post, "/sessions", domain.UseSessions, s.createSessionByHand, nil},
		{get, "/sessions/new", domain.UseSessions, s.showNewSession, nil},
		{get, "/sessions/export", domain.UseSessions, s.exportSessions, []staffOption{confirmed("export sessions"), asFile}},
		{get, "/sessions/:session", domain.UseSessions, s.showSession, nil},
		{post, "/sessions/:session/cancel", domain.UseSessions, s.cancelSessionByHand, nil},
		{post, "/sessions/:session/extend", domain.UseSessions, s.extendSession, nil},
		{get, "/sessions/:session/data", domain.DownloadData, s.downloadData, nil},
		{get, "/sessions/:session/pdf", domain.DownloadData, s.downloadPDF, nil},
		{get, "/sessions/:session/documents/:document", domain.DownloadData, s.downloadDocument, nil},
		{get, "/sessions/:session/erase", domain.ManageAccount, s.showErase, []staffOption{confirmed("delete a customer’s data")}},
		{post, "/sessions/:session/erase", domain.ManageAccount, s.eraseCustomer, []staffOption{confirmed("delete this customer’s data")}},
		{get, "/sessions/:session/receipt", domain.UseSessions, s.downloadReceipt, nil},
		{get, "/webhooks", domain.ManageWebhooks, s.showWebhooks, nil},
		{post, "/webhooks/url", domain.ManageWebhooks, s.setWebhookURL, []staffOption{confirmed("change the webhook URL")}},
		{post, "/webhooks/test", domain.ManageWebhooks, s.sendTestEvent, nil},
		{get, "/webhooks/tests/:test", domain.ManageWebhooks, s.showTestEvent, nil},
		{get, "/webhooks/verify", domain.ManageWebhooks, s.showVerifyCode, nil},
		{post, "/webhooks/secret/show", domain.ManageWebhooks, s.showSecrets, []staffOption{confirmed("see the webhook secret")}},
		{post, "/webhooks/secret/next", domain.ManageWebhooks, s.nextSecret, []staffOption{confirmed("create the next webhook secret")}},
		{post, "/webhooks/secret/switch", domain.ManageWebhooks, s.secretStep(s.Service.SwitchWebhookSecret, "secret_switched"), []staffOption{confirmed("switch to the next webhook secret")}},
		{post, "/webhooks/secret/restore", domain.ManageWebhooks, s.secretStep(s.Service.RestoreWebhookSecret, "secret_restored"), []staffOption{confirmed("restore the previous webhook secret")}},
		{post, "/webhooks/secret/abandon", domain.ManageWebhooks, s.secretStep(s.Service.AbandonNextWebhookSecret, "secret_abandoned"), []staffOption{confirmed("erase the next webhook secret")}},
		{get, "/webhooks/redeliveries", domain.ManageWebhooks, s.showRedeliveries, nil},
		{post, "/webhooks/redeliveries", domain.ManageWebhooks, s.startRedelivery, nil},
		{get, "/webhooks/redeliveries/:redelivery", domain.ManageWebhooks, s.showRedelivery, nil},
		{post, "/webhooks/redeliveries/:redelivery/stop", domain.ManageWebhooks, s.stopRedelivery, nil},
		{get, "/webhooks/deliveries/:delivery", domain.ManageWebhooks, s.showDelivery, nil},
		{post, "/webhooks/deliveries/:delivery/retry", domain.ManageWebhooks, s.redeliver, nil},
		{post, "/webhooks/deliveries/:delivery/cancel", domain.ManageWebhooks, s.cancelDelivery, nil},
		{get, "/keys", domain.ManageKeys, s.showKeys, nil},
		{post, "/keys", domain.ManageKeys, s.createKey, []staffOption{confirmed("create this API key")}},
		{get, "/keys/new", domain.ManageKeys, s.showNewKey, []staffOption{confirmed("create an API key")}},
		{post, "/keys/:key/rename", domain.ManageKeys, s.renameKey, nil},
		{post, "/keys/:key/rotate", domain.ManageKeys, s.rotateKey, []staffOption{confirmed("rotate this API key")}},
		{post, "/keys/:key/delete", domain.ManageKeys, s.deleteKey, []staffOption{confirmed("delete this API key")}},
		{get, "/requests", domain.ReadRequests, s.showRequests, nil},
		{get, "/requests/:request", domain.ReadRequests, s.showRequest, nil},
		{get, "/billing", domain.UseBilling, s.showBilling, []staffOption{shared}},
		{post, "/billing/email", domain.UseBilling, s.changeBillingEmail, []staffOption{shared, confirmed("change where invoices are sent")}},
		{post, "/billing/subscribe", domain.UseBilling, s.subscribe, []staffOption{shared, confirmed("subscribe to this plan")}},
		{get, "/billing/plan", domain.UseBilling, s.showPlan, []staffOption{shared}},
		{post, "/billing/plan", domain.UseBilling, s.changePlan, []staffOption{shared, confirmed("change the plan")}},
		{get, "/billing/cancel", domain.UseBilling, s.showCancelSubscription, []staffOption{shared}},
		{post, "/billing/cancel", domain.UseBilling, s.cancelSubscription, []staffOption{shared, confirmed("cancel the subscription")}},
		{post, "/billing/reactivate", domain.UseBilling, s.reactivate, []staffOption{shared, confirmed("reactivate the subscription")}},
		{post, cardPath, domain.UseBilling, s.addCard, []staffOption{shared, confirmed("add a card")}},
		{get, "/billing/invoices/:invoice/pdf", domain.UseBilling, s.downloadInvoice, []staffOption{shared}},
		{get, "/team", domain.ManageAccount, s.showTeam, []staffOption{shared}},
		{post, "/team", domain.ManageAccount, s.invite, []staffOption{shared, confirmed("send this invitation")}},
		{post, "/team/invitations/:invitation/revoke", domain.ManageAccount, s.revokeInvitation, []staffOption{shared, confirmed("withdraw this invitation")}},
		{post, "/team/:staff/role", domain.ManageAccount, s.changeRole, []staffOption{shared, confirmed("change this person’s role")}},
		{post, "/team/:staff/remove", domain.ManageAccount, s.removeStaff, []staffOption{shared, confirmed("remove this person from the team")}},
		{get, "/settings", domain.ManageAccount, s.showSettings, []staffOption{shared}},
		{post, "/settings", domain.ManageAccount, s.changeSettings, []staffOption{shared}},
		{post, logoPath, domain.ManageAccount, s.setLogo, []staffOption{shared}},
		{post, "/settings/logo/remove", domain.ManageAccount, s.removeLogo, []staffOption{shared}},
		{post, "/settings/languages", domain.ManageAccount, s.changeFormLanguages, []staffOption{shared}},
		{post, "/settings/expiry", domain.ManageAccount, s.changeDefaultExpiry, []staffOption{shared}},
		{post, "/settings/two-step", domain.ManageAccount, s.requireTwoStep, []staffOption{shared, confirmed("change who needs two-step sign-in")}},
		{get, "/settings/retention", domain.ManageAccount, s.reviewRetention, []staffOption{shared, confirmed("change how long files are kept")}},
		{post, "/settings/retention", domain.ManageAccount, s.changeRetention, []staffOption{shared, confirmed("change how long files are kept")}},
		{get, "/audit", domain.ManageAccount, s.showAudit, []staffOption{shared}},
		{get, "/audit/export", domain.ManageAccount, s.exportAudit, []staffOption{shared, confirmed("export the audit log"), asFile}},
	}...)
}

// ownRoutes are the pages of My account.
func (s *Server) ownRoutes() []staffRoute {
	const get, post = http.MethodGet, http.MethodPost
	return []staffRoute{
		{get, "/me", domain.UseDashboard, s.showMe, []staffOption{shared, settles(domain.DutyPassword), settles(domain.DutyFactor), settles(domain.DutyByPasskey)}},
		{post, "/me/name", domain.UseDashboard, s.changeName, []staffOption{shared}},
		{post, "/me/password", domain.UseDashboard, s.changePassword, []staffOption{shared, settles(domain.DutyPassword)}},
		{post, "/me/two-step", domain.UseDashboard, s.beginTwoStep, []staffOption{shared, settles(domain.DutyFactor), confirmed("set up two-step sign-in")}},
		{post, "/me/two-step/on", domain.UseDashboard, s.turnOnTwoStep, []staffOption{shared, settles(domain.DutyFactor), confirmed("turn on two-step sign-in")}},
		{post, "/me/two-step/off", domain.UseDashboard, s.turnOffTwoStep, []staffOption{shared}},
		{post, "/me/recovery-codes", domain.UseDashboard, s.renewRecoveryCodes, []staffOption{shared, confirmed("make new recovery codes")}},
		{post, "/me/passkeys", domain.UseDashboard, s.addPasskey, []staffOption{shared, settles(domain.DutyFactor), confirmed("add this passkey")}},
		{post, "/me/passkeys/new", domain.UseDashboard, s.beginPasskey, []staffOption{shared, settles(domain.DutyFactor), confirmed("add a passkey")}},
		{post, "/me/passkeys/:passkey/remove", domain.UseDashboard, s.removePasskey, []staffOption{shared, confirmed("remove this passkey")}},
		{post, "/me/sessions/end-others", domain.UseDashboard, s.endOtherStaffSessions, []staffOption{shared}},
		{post, "/me/sessions/:browser/end", domain.UseDashboard, s.endStaffSession, []staffOption{shared}},
	}
}

// dashboardRoutes registers the dashboard.
func (s *Server) dashboardRoutes(e *echo.Echo) {
	signedOut := e.Group(dashboard.Root, s.sameOriginOnly, s.limitSignedOut, readForms, s.boundStrangers, compressPages)
	d := e.Group(dashboard.Root, s.sameOriginOnly, readForms, compressPages)
	d.Match(read, "", s.openDashboard)
	s.doorRoutes(d, signedOut)
	d.Match(read, "/confirm", s.showConfirm)
	d.POST("/confirm", s.confirm)
	d.POST("/confirm/cancel", s.cancelConfirm)
	d.POST("/sign-out", s.signOut)
	for _, route := range s.staffRoutes() {
		serve := s.staffPage(&route)
		d.Add(route.method, "/:mode"+route.path, serve)
		if route.method == http.MethodGet {
			d.HEAD("/:mode"+route.path, serve)
		}
	}
}

// sameOriginOnly refuses what another site's page posts: the headers that it
// goes by can't be forged by a page, and every browser that staff may use
// sends one of them.
func (s *Server) sameOriginOnly(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if err := s.access.origins.Check(c.Request()); err != nil {
			return &domain.Error{Code: domain.CodeForbidden, Message: "This can’t be sent from another site.", Cause: err}
		}
		return next(c)
	}
}

// readForms reads what is posted, whoever sends it, so that no page takes a
// form for empty that is too long or broken, or that no browser sends. The one
// that takes a file reads it itself.
func readForms(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if c.Request().Method == http.MethodPost && c.Path() != dashboard.Root+"/:mode"+logoPath {
			values, err := formValues(c)
			if err != nil {
				return err
			}
			if !isText(values) {
				return unreadable(errNoText)
			}
		}
		return next(c)
	}
}

var errNoText = errors.New("a field is no UTF-8 text, or has a zero byte in it")

// isText reports whether PostgreSQL can store all that was typed.
func isText(values url.Values) bool {
	for _, all := range values {
		for _, v := range all {
			if !utf8.ValidString(v) || strings.ContainsRune(v, 0) {
				return false
			}
		}
	}
	return true
}

// staffPage makes a handler of one that works for staff who may do what the
// route stands for. Whoever isn't signed in is asked to, and led back.
func (s *Server) staffPage(route *staffRoute) echo.HandlerFunc {
	return func(c echo.Context) error {
		session, err := s.staffSession(c)
		if err != nil {
			return err
		}
		live, known := c.Param("mode") == "live", c.Param("mode") == "live" || c.Param("mode") == "test"
		switch {
		case !known:
			return echo.ErrNotFound
		case session == nil:
			return s.askFor(c, "/sign-in")
		}
		v := &staffVisit{
			Session: session, Scope: domain.Scope{AccountID: session.AccountID, Livemode: live}, actor: session.Actor(), route: route,
		}
		v.actor.Address = c.RealIP()
		requestOf(c).staff = v
		if duty := session.Duty(); duty != domain.NoDuty && !route.has(settles(duty)) {
			return s.leadToDuty(c, v)
		}
		if !session.May(route.may) {
			if err := s.Service.Forbidden(c.Request().Context(), session, route.may, visitor(c)); err != nil {
				return err
			}
			return domain.Errorf(domain.CodeForbidden, "Your role, %s, doesn’t open this page. Ask an owner of the account.", session.Role)
		}
		if route.action() != "" && !session.Confirmed(s.Clock.Now()) {
			return s.askForPassword(c, v)
		}
		v.announce = s.takeStaffNotice(c)
		return route.serve(c, v)
	}
}

// leadToDuty leads to My account, which asks for what the user must do first.
// What was posted is dropped, and the next page says so.
func (s *Server) leadToDuty(c echo.Context, v *staffVisit) error {
	if c.Request().Method == http.MethodPost {
		s.leaveStaffNotice(c, "duty_first")
	}
	return c.Redirect(http.StatusSeeOther, dashboard.URL(v.Scope.Livemode, "me"))
}

// staffSession returns the request's staff session, nil without one.
func (s *Server) staffSession(c echo.Context) (*domain.StaffSession, error) {
	session, err := s.staff.Get(c.Request(), s.staff.cookieName())
	if err != nil {
		return nil, err
	}
	own, _ := session.Values[staffValue].(*domain.StaffSession)
	if own != nil && own.Stage != domain.SignInFull {
		return nil, nil
	}
	return own, nil
}

// askFor sends the visitor to a page that comes before this one. A posted form
// is not kept: the page leads back to the form, and the next page says so.
func (s *Server) askFor(c echo.Context, page string) error {
	then := c.Request().URL.RequestURI()
	if c.Request().Method == http.MethodPost {
		values, _ := formValues(c) // what can't be read came from no page
		then = localPath(values.Get("from"))
		s.leaveStaffNotice(c, "signed_out_first")
	}
	return c.Redirect(http.StatusSeeOther, dashboard.Root+page+"?then="+url.QueryEscape(then))
}

// localPath returns path where it is one of the dashboard's, else the
// dashboard's own, so that no link leads elsewhere through us.
func localPath(path string) string {
	u, err := url.Parse(path)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || strings.ContainsAny(path, "\\\r\n\t") || strings.HasPrefix(path, "//") ||
		u.Path != dashboard.Root && !strings.HasPrefix(u.Path, dashboard.Root+"/") || strings.Contains(u.Path, "..") {
		return dashboard.Root
	}
	return path
}

// openDashboard leads to the home page: of live mode once there are live
// sessions.
func (s *Server) openDashboard(c echo.Context) error {
	session, err := s.staffSession(c)
	if err != nil {
		return err
	}
	if session == nil {
		return s.askFor(c, "/sign-in")
	}
	live, err := s.Service.SessionsBefore(c.Request().Context(), domain.Scope{AccountID: session.AccountID, Livemode: true}, domain.SessionFilter{}, nil, 1)
	if err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, dashboard.URL(live.Total > 0, ""))
}

// staffPageOf is what a page has around its content.
func (s *Server) staffPageOf(v *staffVisit, title string) dashboard.Page {
	return dashboard.Page{
		Title: title, Staff: v.Session, Livemode: v.Scope.Livemode, Current: v.route.place(), Shared: v.route.has(shared),
		Announce: v.announce, Now: s.Clock.Now(),
	}
}

// errorItems are problems as a page lists them.
func errorItems(fields form.Errors) []ui.ErrorItem {
	var out []ui.ErrorItem
	for _, f := range fields {
		out = append(out, ui.ErrorItem{Target: f.Field, Message: f.Message})
	}
	return out
}

// lostVisit is a signed-in user's request for a page of a mode that isn't there,
// nil for any other's.
func (s *Server) lostVisit(c echo.Context) *staffVisit {
	mode, _, _ := strings.Cut(strings.TrimPrefix(c.Request().URL.Path, dashboard.Root+"/"), "/")
	session, err := s.staffSession(c)
	if err != nil || session == nil || mode != "live" && mode != "test" {
		return nil // there is an error to be shown already
	}
	return &staffVisit{Session: session, Scope: domain.Scope{AccountID: session.AccountID, Livemode: mode == "live"}, route: &staffRoute{}}
}

// staffError answers an error of the dashboard with a page that says what it
// is. Those who aren't signed in see no menu.
func (s *Server) staffError(c echo.Context, status int, public *domain.Error) error {
	p := dashboard.ProblemPage{Page: dashboard.Page{Title: "Sorry, something went wrong", Now: s.Clock.Now()}, Text: public.Message}
	v := requestOf(c).staff
	if v == nil && status == http.StatusNotFound {
		v = s.lostVisit(c)
	}
	if v != nil {
		p.Page = s.staffPageOf(v, p.Title)
	}
	switch status {
	case http.StatusForbidden:
		p.Title = "You can’t do this"
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		p.Title = "There is nothing here"
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		p.Title = "Please wait a moment"
		if public == errUnreadable {
			p.Title, p.RequestID = "This can’t be read now", requestOf(c).id.String()
			p.Text = "A secret key is missing on our side. Tell us the reference below."
		}
	case http.StatusInternalServerError:
		p.RequestID = requestOf(c).id.String()
		p.Text = "The page couldn’t be shown. Try again; if it keeps happening, tell us the reference below."
	}
	return render(c, status, dashboard.Problem(p))
}
