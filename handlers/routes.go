package handlers

import (
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"candor/handlers/api"
	"candor/handlers/api/openapi"
	"candor/handlers/dashboard"
	"candor/handlers/dashboard/auth"
	"candor/handlers/docs"
	"candor/handlers/form"
	"candor/handlers/mcp"
	"candor/handlers/web"
	"candor/internal/domain"
	"candor/internal/statement"
	"candor/static"
	docsview "candor/views/docs"
	"candor/views/ui"
)

// A Route is a line of the table of routes: what it asks of a request, which
// tests read, and what serves it.
type Route struct {
	Method string // a GET answers HEAD, too
	Path   string // as Echo writes it
	Class  Class

	Permissions []domain.Permission // of an APIKey: all of them
	May         domain.Capability   // of Staff
	Action      string              // of Staff: what the password is asked for, "" if it isn't

	serve     echo.HandlerFunc
	staff     *dashboard.Route // nil for other classes
	endpoint  *api.Route       // nil for other classes
	getAlone  bool             // HEAD is not answered
	takesFile bool             // serve reads the posted form
	disabled  bool             // by the configuration
}

// OpensTo reports whether the staff user may make the request.
func (r Route) OpensTo(session *domain.StaffSession) bool { return r.staff.OpensTo(session) }

// ActsOnly reports whether the page is there only to act.
func (r Route) ActsOnly() bool { return r.staff != nil && r.staff.Has(acts) }

// AnswersHead reports whether a GET route answers HEAD, too.
func (r Route) AnswersHead() bool { return !r.getAlone }

// A Class is who may make a request, and by what it is protected.
type Class string

// The classes of routes.
const (
	Public    Class = "public"          // the same response for everyone, but for names of one's own in the docs; nothing is changed
	Provider  Class = "provider"        // a payment provider, by its signature
	Customer  Class = "customer's form" // a customer, by the cookie that a link gave
	SignedOut Class = "signed out"      // anyone; posts are counted by network
	SignedIn  Class = "signed in"       // a staff session, which the handler checks
	Staff     Class = "staff"           // a staff session that may do what the route says
	APIKey    Class = "API"             // an API key with the route's permissions
	Agent     Class = "agent"           // an API key, whose messages call the API
)

const get, post, patch, del = http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete

// Routes returns every route, even if the configuration leaves it out.
func Routes() []Route {
	return (&server{api: &api.Server{}, form: &form.Server{}, auth: &auth.Server{}, docs: &docs.Server{}, mcp: &mcp.Server{},
		dashboard: &dashboard.Server{}}).table()
}

// table is every route of the server.
func (s *server) table() []Route {
	return slices.Concat(s.commonRoutes(), s.formRoutes(), s.authRoutes(), s.accountRoutes(), s.modeRoutes(), s.sharedRoutes(),
		s.apiRoutes())
}

func (s *server) commonRoutes() []Route {
	routes := []Route{
		at(get, "/healthz", Public, s.healthz).withoutHead(),
		at(get, "/readyz", Public, s.readyz).withoutHead(),
		at(get, "/.well-known/security.txt", Public, s.securityText).onlyIf(s.SecurityContact != ""),
		at(get, static.Prefix+"*", Public, s.staticFile),
		at(get, docsview.Root, Public, s.docs.ShowPage),
		at(get, docsview.Root+"/", Public, s.docs.ShowIndexBelow),
		at(get, docsview.GuidesURL, Public, s.docs.ShowPage),
		at(get, docsview.ReferenceURL, Public, s.docs.ShowPage),
		at(get, docsview.ChangelogURL, Public, s.docs.ShowPage),
		at(get, "/dev/mail", Public, s.showDevMail).onlyIf(s.Development && s.DevMail != nil),
		at(post, "/billing/stripe", Provider, s.stripeEvent).onlyIf(s.Stripe != nil),
	}
	for _, path := range s.docs.Paths() {
		routes = append(routes, at(get, path, Public, s.docs.ShowFile))
	}
	for _, path := range s.docs.Guides() {
		routes = append(routes, at(get, path, Public, s.docs.ShowGuide))
	}
	return routes
}

// formRoutes are the customer's form (D5, D47).
func (s *server) formRoutes() []Route {
	f := s.form
	routes := []Route{
		at(get, "/", Public, form.GuessLanguage(f.ShowLanding)),
		at(get, ui.BrandPrefix+":file", Public, f.BrandSheet),
		at(get, ui.LogoPrefix+":file", Public, f.Logo),
		at(get, "/f/:session", Customer, f.Page(f.ShowHub)),
		at(get, "/f/:session/:token", Customer, f.OpenLink),
		at(get, "/f/:session/reminders/:token", Customer, f.ShowReminders),
		at(post, "/f/:session/reminders/:token", Customer, f.StopReminders),
		at(get, "/f/:session/pdf", Customer, f.DownloadCopy).withoutHead(),
		at(get, "/f/:session/copy", Customer, f.ShowCopy).withoutHead(),
		at(get, "/f/:session/"+statement.DocumentsSection, Customer, f.Page(f.ShowDocuments)),
		at(post, "/f/:session/"+statement.DocumentsSection, Customer, f.Page(f.AnswerDocuments)),
		at(get, "/f/:session/"+statement.DeclarationSection, Customer, f.Page(f.ShowDeclaration)),
		at(post, "/f/:session/"+statement.DeclarationSection, Customer, f.Page(f.Sign)),
	}
	for _, name := range statement.SectionNames {
		if name != statement.DocumentsSection && name != statement.DeclarationSection {
			routes = append(routes,
				at(get, "/f/:session/"+name, Customer, f.Page(f.ShowSection)),
				at(post, "/f/:session/"+name, Customer, f.Edit(f.AnswerSection)))
		}
	}
	return routes
}

// authRoutes are the dashboard's pages before and after signing in.
func (s *server) authRoutes() []Route {
	a, d := s.auth, s.dashboard
	return []Route{
		at(get, "/dashboard", SignedIn, d.OpenDashboard),
		at(get, "/dashboard/sign-in", SignedOut, a.ShowSignIn),
		at(post, "/dashboard/sign-in", SignedOut, a.SignIn),
		at(get, "/dashboard/sign-in/code", SignedOut, a.ShowCode),
		at(post, "/dashboard/sign-in/code", SignedOut, a.TakeCode),
		at(post, "/dashboard/sign-in/passkey", SignedOut, a.AskPasskey),
		at(post, "/dashboard/sign-in/passkey/answer", SignedOut, a.TakePasskey),
		at(get, "/dashboard/sign-in/company", SignedOut, a.ShowCompany),
		at(post, "/dashboard/sign-in/company", SignedOut, a.BeginCompany),
		at(get, "/dashboard/sign-in/company/:account", SignedOut, a.EndCompany).withoutHead(),
		at(post, "/dashboard/sign-in/company/:account/logout", Provider, a.LogoutCompany),
		at(get, "/dashboard/forgot", SignedOut, a.ShowForgot),
		at(post, "/dashboard/forgot", SignedOut, a.Forgot),
		at(get, "/dashboard/sign-up", SignedOut, a.ShowSignUp),
		at(post, "/dashboard/sign-up", SignedOut, a.SignUp),
		at(get, "/dashboard/letter-sent", SignedOut, a.ShowEmailSent),
		at(get, "/dashboard/reset", SignedOut, a.ShowReset),
		at(post, "/dashboard/reset", SignedOut, a.Reset),
		at(get, "/dashboard/reset/:token", SignedOut, a.OpenEmailLink),
		at(get, "/dashboard/verify", SignedOut, a.ShowVerify),
		at(post, "/dashboard/verify", SignedOut, a.Verify),
		at(get, "/dashboard/verify/:token", SignedOut, a.OpenEmailLink),
		at(get, "/dashboard/invitation", SignedOut, a.ShowInvitation),
		at(post, "/dashboard/invitation", SignedOut, a.AcceptInvitation),
		at(get, "/dashboard/invitation/:token", SignedOut, a.OpenEmailLink),
		at(get, "/dashboard/confirm", SignedIn, d.ShowConfirm),
		at(post, "/dashboard/confirm", SignedIn, d.Confirm),
		at(post, "/dashboard/confirm/cancel", SignedIn, d.CancelConfirm),
		at(post, "/dashboard/confirm/company", SignedIn, d.ConfirmByCompany),
		at(post, "/dashboard/sign-out", SignedIn, a.SignOut),
	}
}

// The options of staff routes.
var (
	shared    = dashboard.Shared
	asFile    = dashboard.AsFile
	takesFile = dashboard.TakesFile
	toCards   = dashboard.ToCardPages
	streams   = dashboard.Streams
	acts      = dashboard.Acts
	confirmed = dashboard.Confirmed
	settles   = dashboard.Settles
)

// accountRoutes are the pages of My account, below /dashboard/:mode.
func (s *server) accountRoutes() []Route {
	d := s.dashboard
	return inBothModes(
		staff(get, "/me", domain.UseDashboard, d.ShowMe, settles(domain.DutyPassword), settles(domain.DutyFactor),
			settles(domain.DutyByPasskey)),
		staff(post, "/me/name", domain.UseDashboard, d.ChangeName),
		staff(post, "/me/theme", domain.UseDashboard, d.ChangeTheme),
		staff(post, "/me/shortcuts", domain.UseDashboard, d.ChangeKeys),
		staff(post, "/me/emails", domain.AlertReaders, d.ChooseAlertEmails),
		staff(post, "/me/password", domain.UseDashboard, d.ChangePassword, settles(domain.DutyPassword)),
		staff(post, "/me/two-step", domain.UseDashboard, d.BeginTwoStep, settles(domain.DutyFactor),
			confirmed("set up two-step sign-in")),
		staff(post, "/me/two-step/on", domain.UseDashboard, d.TurnOnTwoStep, settles(domain.DutyFactor),
			confirmed("turn on two-step sign-in")),
		staff(post, "/me/two-step/off", domain.UseDashboard, d.TurnOffTwoStep),
		staff(post, "/me/recovery-codes", domain.UseDashboard, d.RenewRecoveryCodes, confirmed("make new recovery codes")),
		staff(post, "/me/passkeys", domain.UseDashboard, d.AddPasskey, settles(domain.DutyFactor),
			confirmed("add this passkey")),
		staff(post, "/me/passkeys/new", domain.UseDashboard, d.BeginPasskey, settles(domain.DutyFactor),
			confirmed("add a passkey")),
		staff(post, "/me/passkeys/:passkey/remove", domain.UseDashboard, d.RemovePasskey, confirmed("remove this passkey")),
		staff(post, "/me/sessions/end-others", domain.UseDashboard, d.EndOtherStaffSessions),
		staff(post, "/me/sessions/:browser/end", domain.UseDashboard, d.EndStaffSession),
	)
}

// modeRoutes are the pages for staff about a mode, below /dashboard/:mode.
func (s *server) modeRoutes() []Route {
	d := s.dashboard
	return []Route{
		staff(get, "", domain.UseDashboard, d.ShowHome),
		staff(get, "/live", domain.UseDashboard, d.FollowChanges, streams).withoutHead(),
		staff(get, "/search", domain.UseDashboard, d.ShowSearch),
		staff(get, "/figures", domain.UseSessions, d.ShowFigures),
		staff(get, "/figures/export", domain.UseSessions, d.ExportFigures, asFile),
		staff(get, "/sessions", domain.UseSessions, d.ListSessions),
		staff(post, "/sessions", domain.UseSessions, d.CreateSession),
		staff(post, "/sessions/chosen", domain.UseSessions, d.ChangeChosen),
		staff(post, "/sessions/views", domain.UseSessions, d.SaveView),
		staff(post, "/sessions/views/delete", domain.UseSessions, d.DeleteView),
		staff(get, "/sessions/new", domain.UseSessions, d.ShowNewSession, acts),
		staff(get, "/sessions/export", domain.UseSessions, d.ExportSessions, confirmed("export sessions"), asFile),
		staffOf(get, "/sessions/:session", domain.UseSessions, domain.ParseSessionID, d.ShowSession),
		staffOf(post, "/sessions/:session/cancel", domain.UseSessions, domain.ParseSessionID, d.CancelSession),
		staffOf(post, "/sessions/:session/undo", domain.UseSessions, domain.ParseSessionID, d.UndoCancel),
		staffOf(post, "/sessions/:session/extend", domain.UseSessions, domain.ParseSessionID, d.ExtendSession),
		staffOf(post, "/sessions/:session/renew", domain.UseSessions, domain.ParseSessionID, d.RenewLink),
		staffOf(post, "/sessions/:session/email", domain.UseSessions, domain.ParseSessionID, d.EmailLink),
		staffOf(get, "/sessions/:session/answers", domain.DownloadData, domain.ParseSessionID, d.ShowAnswers),
		staffOf(get, "/sessions/:session/data", domain.DownloadData, domain.ParseSessionID, d.DownloadData),
		staffOf(get, "/sessions/:session/pdf", domain.DownloadData, domain.ParseSessionID, d.DownloadPDF),
		staffOf(get, "/sessions/:session/documents/:document", domain.DownloadData, domain.ParseSessionID, d.DownloadDocument),
		staffOf(get, "/sessions/:session/erase", domain.ManageAccount, domain.ParseSessionID, d.ShowErase, acts,
			confirmed("delete a customer’s data")),
		staffOf(post, "/sessions/:session/erase", domain.ManageAccount, domain.ParseSessionID, d.EraseCustomer,
			confirmed("delete this customer’s data")),
		staffOf(get, "/sessions/:session/receipt", domain.UseSessions, domain.ParseSessionID, d.DownloadReceipt),
		staff(get, "/webhooks", domain.ManageWebhooks, d.ShowWebhooks),
		staff(get, "/webhooks/settings", domain.ManageWebhooks, d.ShowWebhookSettings),
		staff(get, "/webhooks/endpoints/new", domain.ManageWebhooks, d.ShowNewEndpoint, acts),
		staff(post, "/webhooks/endpoints", domain.ManageWebhooks, d.CreateEndpoint, confirmed("add this webhook endpoint")),
		staff(get, "/webhooks/endpoints/:endpoint", domain.ManageWebhooks, d.ShowEndpoint),
		staff(post, "/webhooks/endpoints/:endpoint", domain.ManageWebhooks, d.ChangeEndpoint,
			confirmed("change this webhook endpoint")),
		staff(post, "/webhooks/endpoints/:endpoint/pause", domain.ManageWebhooks, d.PauseEndpoint),
		staff(post, "/webhooks/endpoints/:endpoint/resume", domain.ManageWebhooks, d.ResumeEndpoint),
		staff(post, "/webhooks/endpoints/:endpoint/delete", domain.ManageWebhooks, d.DeleteEndpoint,
			confirmed("delete this webhook endpoint")),
		staff(post, "/webhooks/url", domain.ManageWebhooks, d.SetWebhookURL, confirmed("change the webhook URL")),
		staff(post, "/webhooks/test", domain.ManageWebhooks, d.SendTestEvent),
		staffOf(get, "/webhooks/tests/:test", domain.ManageWebhooks, domain.ParseDeliveryID, d.ShowTestEvent),
		staff(get, "/webhooks/verify", domain.ManageWebhooks, d.ShowVerifyCode),
		staff(post, "/webhooks/secret/show", domain.ManageWebhooks, d.ShowSecrets, confirmed("see the webhook secret")),
		staff(post, "/webhooks/secret/next", domain.ManageWebhooks, d.NextSecret, confirmed("create a new webhook secret")),
		staff(post, "/webhooks/secret/switch", domain.ManageWebhooks, d.SwitchSecret, confirmed("switch to the new webhook secret")),
		staff(post, "/webhooks/secret/restore", domain.ManageWebhooks, d.RestoreSecret,
			confirmed("restore the previous webhook secret")),
		staff(post, "/webhooks/secret/abandon", domain.ManageWebhooks, d.AbandonSecret, confirmed("delete the new webhook secret")),
		staff(get, "/webhooks/redeliveries", domain.ManageWebhooks, d.ShowRedeliveries, acts),
		staff(post, "/webhooks/redeliveries", domain.ManageWebhooks, d.StartRedelivery),
		staffOf(get, "/webhooks/redeliveries/:redelivery", domain.ManageWebhooks, domain.ParseRedeliveryID, d.ShowRedelivery),
		staffOf(post, "/webhooks/redeliveries/:redelivery/stop", domain.ManageWebhooks, domain.ParseRedeliveryID, d.StopRedelivery),
		staffOf(get, "/webhooks/outages/:outage", domain.ManageWebhooks, domain.ParseOutageID, d.ShowOutage),
		staffOf(post, "/webhooks/outages/:outage/send", domain.ManageWebhooks, domain.ParseOutageID, d.SendUndelivered),
		staffOf(get, "/webhooks/deliveries/:delivery", domain.ManageWebhooks, domain.ParseDeliveryID, d.ShowDelivery),
		staffOf(post, "/webhooks/deliveries/:delivery/retry", domain.ManageWebhooks, domain.ParseDeliveryID, d.Redeliver),
		staffOf(post, "/webhooks/deliveries/:delivery/cancel", domain.ManageWebhooks, domain.ParseDeliveryID, d.CancelDelivery),
		staff(get, "/events", domain.ManageWebhooks, d.ListEvents),
		staffOf(get, "/events/:event", domain.ManageWebhooks, domain.ParseEventID, d.ShowEvent),
		staff(get, "/quickstart", domain.ManageKeys, d.ShowQuickstart),
		staff(post, "/quickstart/key", domain.ManageKeys, d.CreateQuickstartKey, confirmed("create this API key")),
		staff(get, "/keys", domain.ManageKeys, d.ShowKeys),
		staff(post, "/keys", domain.ManageKeys, d.CreateKey, confirmed("create this API key")),
		staff(get, "/keys/new", domain.ManageKeys, d.ShowNewKey, acts, confirmed("create an API key")),
		staffOf(get, "/keys/:key", domain.ManageKeys, domain.ParseKeyID, d.ShowKey),
		staffOf(get, "/keys/:key/leaked", domain.ManageKeys, domain.ParseKeyID, d.ShowLeakedKey, acts),
		staffOf(post, "/keys/:key/change", domain.ManageKeys, domain.ParseKeyID, d.ChangeKey, confirmed("change this API key")),
		staffOf(post, "/keys/:key/rotate", domain.ManageKeys, domain.ParseKeyID, d.RotateKey, confirmed("rotate this API key")),
		staffOf(post, "/keys/:key/delete", domain.ManageKeys, domain.ParseKeyID, d.DeleteKey, confirmed("delete this API key")),
		staff(get, "/requests", domain.ReadRequests, d.ShowRequests),
		staffOf(get, "/requests/:request", domain.ReadRequests, domain.ParseRequestID, d.ShowRequest),
	}
}

// sharedRoutes are the pages for staff about the account, which are the same in
// both modes, below /dashboard/:mode.
func (s *server) sharedRoutes() []Route {
	d := s.dashboard
	return inBothModes(
		staff(get, "/billing", domain.UseBilling, d.ShowBilling),
		staff(post, "/billing/email", domain.UseBilling, d.ChangeBillingEmail, confirmed("change where invoices are sent")),
		staff(post, "/billing/details", domain.UseBilling, d.ChangeInvoiceDetails),
		staff(post, "/billing/spend", domain.UseBilling, d.ChangeSpendLimits, confirmed("change the spend cap and alerts")),
		staff(post, "/billing/subscribe", domain.UseBilling, d.Subscribe, confirmed("subscribe to this plan")),
		staff(get, "/billing/plan", domain.UseBilling, d.ShowPlan, acts),
		staff(post, "/billing/plan", domain.UseBilling, d.ChangePlan, confirmed("change the plan")),
		staff(get, "/billing/cancel", domain.UseBilling, d.ShowCancelSubscription, acts),
		staff(post, "/billing/cancel", domain.UseBilling, d.CancelSubscription, confirmed("cancel the subscription")),
		staff(post, "/billing/reactivate", domain.UseBilling, d.Reactivate, confirmed("reactivate the subscription")),
		staff(post, "/billing/card", domain.UseBilling, d.AddCard, toCards, confirmed("add a card")),
		staffOf(get, "/billing/invoices/:invoice", domain.UseBilling, domain.ParseInvoiceID, d.ShowInvoice),
		staff(get, "/billing/sessions", domain.UseBilling, d.ExportPeriod, confirmed("export billed sessions"), asFile),
		staffOf(get, "/billing/invoices/:invoice/sessions", domain.UseBilling, domain.ParseInvoiceID, d.ExportInvoice,
			confirmed("export billed sessions"), asFile),
		staffOf(get, "/billing/invoices/:invoice/pdf", domain.UseBilling, domain.ParseInvoiceID, d.DownloadInvoice),
		staff(get, "/team", domain.ManageAccount, d.ShowTeam),
		staff(post, "/team", domain.ManageAccount, d.Invite, confirmed("send this invitation")),
		staff(post, "/ask", domain.UseDashboard, d.AskForAccess),
		staff(post, "/team/invitations/:invitation/resend", domain.ManageAccount, d.ResendInvitation,
			confirmed("send this invitation again")),
		staff(post, "/team/invitations/:invitation/link", domain.ManageAccount, d.CopyInvitation,
			confirmed("see this invitation’s link")),
		staff(post, "/team/invitations/:invitation/revoke", domain.ManageAccount, d.RevokeInvitation,
			confirmed("withdraw this invitation")),
		staffOf(post, "/team/:staff/role", domain.ManageAccount, domain.ParseStaffID, d.ChangeRole,
			confirmed("change this person’s role")),
		staffOf(post, "/team/:staff/remove", domain.ManageAccount, domain.ParseStaffID, d.RemoveStaff,
			confirmed("remove this person from the team")),
		staff(get, "/settings", domain.ManageAccount, d.ShowSettings),
		staff(post, "/settings", domain.ManageAccount, d.ChangeSettings),
		staff(post, "/settings/logo", domain.ManageAccount, d.SetLogo, takesFile),
		staff(post, "/settings/logo/remove", domain.ManageAccount, d.RemoveLogo),
		staff(post, "/settings/brand", domain.ManageAccount, d.ChangeSettings),
		staff(post, "/settings/forms", domain.ManageAccount, d.ChangeSettings),
		staff(post, "/settings/time-zone", domain.ManageAccount, d.ChangeSettings),
		staff(get, "/settings/preview", domain.ManageAccount, d.PreviewForm),
		staff(post, "/settings/preview", domain.ManageAccount, d.PreviewForm),
		staff(post, "/settings/two-step", domain.ManageAccount, d.RequireTwoStep,
			confirmed("change who needs two-step sign-in")),
		staff(get, "/settings/sign-in", domain.ManageAccount, d.ShowCompanySignIn),
		staff(post, "/settings/sign-in", domain.ManageAccount, d.ConnectCompany, confirmed("change your company’s sign-in")),
		staff(post, "/settings/sign-in/remove", domain.ManageAccount, d.DisconnectCompany,
			confirmed("remove your company’s sign-in")),
		staff(post, "/settings/sign-in/only", domain.ManageAccount, d.RequireCompany, confirmed("change who needs a password")),
		staff(post, "/settings/sign-in/domains", domain.ManageAccount, d.AddDomain, confirmed("add this domain")),
		staff(post, "/settings/sign-in/domains/check", domain.ManageAccount, d.CheckDomain),
		staff(post, "/settings/sign-in/domains/remove", domain.ManageAccount, d.RemoveDomain, confirmed("remove this domain")),
		staff(get, "/settings/retention", domain.ManageAccount, d.ReviewRetention, acts,
			confirmed("change how long files are kept")),
		staff(post, "/settings/retention", domain.ManageAccount, d.ChangeRetention,
			confirmed("change how long files are kept")),
		staff(get, "/audit", domain.ManageAccount, d.ShowAudit),
		staff(get, "/audit/export", domain.ManageAccount, d.ExportAudit, confirmed("export the audit log"), asFile),
	)
}

// apiRoutes are the API, which its own document describes.
func (s *server) apiRoutes() []Route {
	a := s.api
	return []Route{
		key(post, "/v1/sessions", a.CreateSession(), domain.SessionsWrite),
		key(get, "/v1/sessions", a.ListSessions(), domain.SessionsRead),
		key(get, api.SessionPath, a.GetSession(), domain.SessionsRead),
		key(del, "/v1/sessions/:id", a.CancelSession(), domain.SessionsWrite),
		key(get, "/v1/sessions/:id/data", a.GetData(), domain.DataRead),
		key(get, "/v1/sessions/:id/pdf", a.GetPDF(), domain.DataRead),
		key(get, "/v1/sessions/:id/documents/:document_id", a.GetDocument(), domain.DataRead),
		key(get, "/v1/events", a.ListEvents(), domain.SessionsRead, domain.DataRead),
		key(post, "/v1/webhook_endpoints", a.CreateWebhookEndpoint(), domain.WebhookEndpointsWrite),
		key(get, "/v1/webhook_endpoints", a.ListWebhookEndpoints(), domain.WebhookEndpointsRead),
		key(get, "/v1/webhook_endpoints/:id", a.GetWebhookEndpoint(), domain.WebhookEndpointsRead),
		key(patch, "/v1/webhook_endpoints/:id", a.UpdateWebhookEndpoint(), domain.WebhookEndpointsWrite),
		key(del, "/v1/webhook_endpoints/:id", a.DeleteWebhookEndpoint(), domain.WebhookEndpointsWrite),
		key(get, "/v1/billing/subscription", a.GetSubscription(), domain.BillingRead),
		key(get, "/v1/billing/usage", a.GetUsage(), domain.BillingRead),
		key(post, "/v1/test/sessions/:id/advance", a.AdvanceSession(), domain.SessionsWrite),
		key(post, "/v1/test/events", a.CreateTestEvent(), domain.SessionsWrite),
		key(post, "/v1/test/deliveries/:id/attempt", a.AttemptDelivery(), domain.SessionsWrite),
		at(post, mcp.Path, Agent, s.mcp.Serve),
		at(get, "/v1", Public, a.ServeRoot),
		at(get, "/v1/openapi.json", Public, a.ServeDocument()),
		at(get, "/v1/openapi.yaml", Public, a.ServeYAML()),
	}
}

// Document returns the API's OpenAPI document as a server at the base URL has it.
func Document(baseURL string) (*openapi.Document, error) {
	s := &server{api: &api.Server{Config: api.Config{BaseURL: baseURL, Deprecated: api.Deprecations}}, mcp: &mcp.Server{}}
	var endpoints []api.Route
	for _, r := range s.apiRoutes() {
		if r.endpoint != nil {
			endpoints = append(endpoints, *r.endpoint)
		}
	}
	err := s.api.Describe(endpoints)
	return s.api.Document, err
}

// at is a line of the table.
func at(method, path string, class Class, serve echo.HandlerFunc) Route {
	return Route{Method: method, Path: path, Class: class, serve: serve}
}

// withoutHead leaves HEAD requests unanswered.
func (r Route) withoutHead() Route {
	r.getAlone = true
	return r
}

// onlyIf leaves the route out unless the server has what it needs.
func (r Route) onlyIf(enabled bool) Route {
	r.disabled = !enabled
	return r
}

// staff is a line of the table for signed-in staff users.
func staff(method, path string, may domain.Capability, serve func(echo.Context, *dashboard.Visit) error,
	options ...dashboard.Option) Route {
	r := &dashboard.Route{Method: method, Path: path, May: may, Serve: serve, Options: options}
	return Route{
		Method: method, Path: dashboard.Prefix + path, Class: Staff, May: may, Action: r.Action(),
		staff: r, takesFile: r.Has(takesFile),
	}
}

// inBothModes says of the routes that their pages are the same in test and live mode.
func inBothModes(routes ...Route) []Route {
	for _, r := range routes {
		r.staff.Options = append(r.staff.Options, shared)
	}
	return routes
}

// staffOf is staff for what is named first in the path, by its id.
func staffOf[ID any](method, path string, may domain.Capability, parse func(string) (ID, error),
	serve func(echo.Context, *dashboard.Visit, ID) error, options ...dashboard.Option) Route {
	_, name, _ := strings.Cut(path, "/:")
	name, _, _ = strings.Cut(name, "/")
	return staff(method, path, may, func(c echo.Context, v *dashboard.Visit) error {
		id, err := parse(c.Param(name))
		if err != nil {
			return echo.ErrNotFound
		}
		return serve(c, v, id)
	}, options...)
}

// key is a line of the table for API keys.
func key(method, path string, endpoint api.Endpoint, needs ...domain.Permission) Route {
	r := &api.Route{Method: method, Path: path, Needs: needs, Endpoint: endpoint}
	return Route{Method: method, Path: path, Class: APIKey, Permissions: needs, serve: r.Handler(), endpoint: r}
}

// register adds every route to the router, each behind what protects its class.
func (s *server) register(e *echo.Echo) error {
	e.Use(s.identifyRequest, s.traceRequests, web.LimitTime(s.RequestTime), s.boundDatabase, s.logRequests, s.recoverPanics,
		s.secureHeaders, web.HoldBack(s.RefusalDelay), web.LeaveAtEnd, s.api.AnnounceEnd, s.api.Admit, s.checkHost, s.dashboard.Themed)
	customer := []echo.MiddlewareFunc{form.GuessLanguage, s.form.LimitPosts, s.origins.Customer, web.Compress}
	signedIn := []echo.MiddlewareFunc{s.origins.Staff, web.ReadForms, web.Compress}
	guards := map[Class][]echo.MiddlewareFunc{
		Customer: customer, Staff: signedIn, SignedIn: signedIn,
		SignedOut: {s.origins.Staff, s.auth.LimitSignedOut, web.ReadForms, s.auth.BoundStrangers, web.Compress},
	}
	var endpoints []api.Route
	for _, r := range s.table() {
		if r.disabled {
			continue
		}
		guard := guards[r.Class]
		switch {
		case r.takesFile:
			guard = []echo.MiddlewareFunc{s.origins.Staff, web.Compress}
		case r.staff != nil && r.staff.Has(streams):
			guard = []echo.MiddlewareFunc{s.origins.Staff} // a compressor takes 800 KB while it is open
		case r.Class == SignedOut && r.Method == get:
			guard = signedIn // only posts are counted
		}
		if r.staff != nil {
			r.serve = s.dashboard.Handler(r.staff)
		}
		if r.endpoint != nil {
			guard = r.endpoint.Endpoint.Guard()
			endpoints = append(endpoints, *r.endpoint)
		}
		e.Add(r.Method, r.Path, r.serve, guard...)
		if r.Method == get && !r.getAlone {
			e.HEAD(r.Path, r.serve, guard...)
		}
	}
	for path, guard := range map[string][]echo.MiddlewareFunc{"/f/:session": customer, "/dashboard": signedIn} {
		e.RouteNotFound(path, echo.NotFoundHandler, guard...)
		e.RouteNotFound(path+"/*", echo.NotFoundHandler, guard...)
	}
	if err := s.api.Describe(endpoints); err != nil {
		return err
	}
	s.docs.Describe(s.api.Document)
	s.mcp.API, s.mcp.Document = e, s.api.Document
	return nil
}
