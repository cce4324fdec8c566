package dashboard_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"candor/handlers"
	"candor/internal/domain"
	"candor/internal/service/keys"
	"candor/internal/service/staff/sso"
	"candor/internal/testkit"
	"candor/internal/testkit/harness"
	"candor/internal/testkit/page"
)

// A lateCase is a valid request to a route that asks for the password.
type lateCase struct {
	path   string                                  // below /dashboard/test/; {id} is what first returns
	first  func(*harness.StaffBrowser) (id string) // before the password is due again
	form   func(s *harness.StaffBrowser, id string) url.Values
	effect string // an action of the audit log, or a query for a number that goes up by one
	status int    // of the result; 0 is 303
	want   string // in the result: its page has it, or it leads there, below /dashboard/test/
}

// fields is a form without an id.
func fields(query string) func(*harness.StaffBrowser, string) url.Values {
	return func(s *harness.StaffBrowser, _ string) url.Values {
		values, err := url.ParseQuery(query)
		s.OK(err)
		return values
	}
}

// ownerID is the staff user that owns the browser's account.
func ownerID(s *harness.StaffBrowser) domain.StaffID {
	return harness.QueryOne[domain.StaffID](s.Harness, `SELECT id FROM staff_user WHERE email = $1`, s.Account.Email)
}

func newKey(s *harness.StaffBrowser) string {
	key, _, err := s.Service.Keys.Create(s.Context(), s.TestScope(), harness.Operator, keys.Params{Name: "Loans"})
	s.OK(err)
	return key.ID.String()
}

func newEndpoint(s *harness.StaffBrowser) string {
	return s.NewEndpoint(s.TestScope(), "https://lender.example/hook").String()
}

func colleague(s *harness.StaffBrowser) string {
	return s.Staff(domain.RoleSupport).Session.ID.String()
}

func completedSession(s *harness.StaffBrowser) string {
	session := s.NewSession(s.TestScope(), domain.NewSession{})
	s.Complete(session.ID)
	return session.ID.String()
}

// afterPosts posts to paths of the webhook secret first.
func afterPosts(steps ...string) func(*harness.StaffBrowser) string {
	return func(s *harness.StaffBrowser) string {
		for _, step := range steps {
			s.Post("/dashboard/test/webhooks/secret/"+step, nil)
		}
		return ""
	}
}

// invited invites a person to the team.
func invited(s *harness.StaffBrowser) string {
	invitation, err := s.Service.Team.Invite(s.Context(), s.Account.AccountID, harness.Operator,
		harness.NewInvitation("new@lender.example", domain.RoleSupport))
	s.OK(err)
	return invitation.ID.String()
}

func lateCases() map[string]lateCase {
	const ok = http.StatusOK
	secret := func(s *harness.StaffBrowser) string {
		return harness.TwoStepSecret(s.WantPage(s.Post("/dashboard/test/me/two-step", nil), http.StatusOK))
	}
	cancel := func(atOnce bool) func(*harness.StaffBrowser) string {
		return func(s *harness.StaffBrowser) string {
			s.OK(s.Service.Billing.Cancel(s.Context(), s.Account.AccountID, harness.Operator, atOnce, "Too dear"))
			return ""
		}
	}
	twoStep := func(s *harness.StaffBrowser) string {
		s.TwoStep() // counts as the password
		s.Clock.Advance(domain.StaffConfirmed - time.Minute)
		return ""
	}
	return map[string]lateCase{
		"POST /me/two-step": {path: "me/two-step", effect: `SELECT count(*) FROM staff_user WHERE totp_pending IS NOT NULL`,
			status: ok, want: "QR code"},
		"POST /me/two-step/on": {path: "me/two-step/on", first: secret, form: func(s *harness.StaffBrowser, id string) url.Values {
			return harness.CodeForm(s.Code(id, 0))
		}, effect: "staff.two_step_on", status: ok, want: "won’t be shown again"},
		"POST /me/recovery-codes": {path: "me/recovery-codes", first: twoStep, effect: "staff.recovery_codes_made", status: ok,
			want: "won’t be shown again"},
		"POST /me/passkeys/new": {path: "me/passkeys/new", effect: `SELECT count(*) FROM passkey_challenge`, status: ok,
			want: "Add a passkey"},
		// Its result is an error on its own page: TestBrowserPasskeys adds one.
		"POST /me/passkeys": {path: "me/passkeys", first: func(s *harness.StaffBrowser) string {
			return s.WantPage(s.Post("/dashboard/test/me/passkeys/new", nil), http.StatusOK).Field("token").Value
		}, form: func(_ *harness.StaffBrowser, id string) url.Values {
			return url.Values{"token": {id}, "response": {"{}"}}
		},
			effect: `SELECT -count(*) FROM passkey_challenge`, status: http.StatusUnprocessableEntity, want: "That passkey didn’t work"},
		"POST /me/passkeys/:passkey/remove": {path: "me/passkeys/{id}/remove", first: func(s *harness.StaffBrowser) string {
			return s.PasskeyOf(ownerID(s)).String()
		}, effect: "staff.passkey_removed", want: "me"},
		"GET /billing/sessions": {path: "billing/sessions", effect: "sessions.exported"},
		"GET /billing/invoices/:invoice/sessions": {path: "billing/invoices/{id}/sessions",
			first: func(s *harness.StaffBrowser) string {
				return s.LastInvoice(s.Account.AccountID).ID.String()
			}, effect: "sessions.exported"},
		"GET /sessions/export":         {path: "sessions/export", effect: "sessions.exported"},
		"GET /sessions/:session/erase": {path: "sessions/{id}/erase", first: completedSession, want: "Delete a customer’s data"},
		"POST /sessions/:session/erase": {path: "sessions/{id}/erase", first: completedSession,
			form: func(_ *harness.StaffBrowser, id string) url.Values {
				return url.Values{"sessions": {id}, "confirm": {"jo@customer.example"}}
			}, effect: "session.erased", want: "sessions/{id}"},
		"POST /webhooks/url": {path: "webhooks/url", form: fields("url=https://lender.example/new"),
			effect: "webhook.url_changed", want: "webhooks/settings"},
		"POST /webhooks/secret/show": {path: "webhooks/secret/show", effect: "webhook_secret.shown", status: ok, want: "whsec_"},
		"POST /webhooks/secret/next": {path: "webhooks/secret/next", effect: "webhook_secret.next_made", status: ok, want: "whsec_"},
		"POST /webhooks/secret/switch": {path: "webhooks/secret/switch", first: afterPosts("next"), effect: "webhook_secret.switched",
			want: "webhooks/settings"},
		"POST /webhooks/secret/restore": {path: "webhooks/secret/restore", first: afterPosts("next", "switch"),
			effect: "webhook_secret.restored", want: "webhooks/settings"},
		"POST /webhooks/secret/abandon": {path: "webhooks/secret/abandon", first: afterPosts("next"),
			effect: "webhook_secret.next_abandoned", want: "webhooks/settings"},
		"POST /quickstart/key": {path: "quickstart/key", effect: "api_key.created", status: ok, want: "candor_test_"},
		"POST /webhooks/endpoints": {path: "webhooks/endpoints", form: fields("url=https://lender.example/hook"),
			effect: "webhook_endpoint.created", status: ok, want: "whsec_"},
		"POST /webhooks/endpoints/:endpoint": {path: "webhooks/endpoints/{id}", first: newEndpoint,
			form: fields("url=https://lender.example/other"), effect: "webhook_endpoint.changed", want: "webhooks/endpoints/{id}"},
		"POST /webhooks/endpoints/:endpoint/delete": {path: "webhooks/endpoints/{id}/delete", first: newEndpoint,
			effect: "webhook_endpoint.deleted", want: "webhooks"},
		"POST /keys": {path: "keys",
			form: fields("name=Loans&access=restricted&permissions=sessions:read&permissions=data:read"), effect: "api_key.created",
			status: ok, want: "candor_test_"},
		"GET /keys/new": {path: "keys/new", want: "New API key"},
		"POST /keys/:key/change": {path: "keys/{id}/change", first: newKey,
			form: fields("name=Loans&access=restricted&permissions=sessions:read"), effect: "api_key.changed", want: "keys/{id}"},
		"POST /keys/:key/rotate": {path: "keys/{id}/rotate", first: newKey, form: fields("overlap=1h"),
			effect: "api_key.rotated", status: ok, want: "The old key works until"},
		"POST /keys/:key/delete": {path: "keys/{id}/delete", first: newKey, form: fields("typed_name=Loans"),
			effect: "api_key.deleted", want: "keys"},
		"POST /billing/email": {path: "billing/email", form: fields("billing_email=bills@lender.example"),
			effect: "billing.email_changed", want: "billing"},
		"POST /billing/subscribe": {path: "billing/subscribe", first: cancel(true), form: fields("plan=starter"),
			effect: "subscription.started", want: "billing"},
		"POST /billing/spend": {path: "billing/spend", form: fields("spend_cap=500"), effect: "billing.spend_limits_changed",
			want: "billing"},
		"POST /billing/plan": {path: "billing/plan", form: fields("plan=starter"), effect: "subscription.plan_changed",
			want: "billing"},
		"POST /billing/cancel": {path: "billing/cancel", form: fields("when=end&reason=Too+dear"),
			effect: "subscription.cancelled", want: "billing"},
		"POST /billing/reactivate": {path: "billing/reactivate", first: cancel(false), effect: "subscription.reactivated",
			want: "billing"},
		"POST /billing/card": {path: "billing/card", effect: "billing.card_page_opened",
			want: "https://checkout.stripe.com/page"},
		"POST /team": {path: "team", form: fields("email=new@lender.example&role=support"), effect: "staff.invited",
			want: "team"},
		"POST /team/invitations/:invitation/revoke": {path: "team/invitations/{id}/revoke", first: invited,
			effect: "staff.invitation_revoked", want: "team"},
		"POST /team/invitations/:invitation/resend": {path: "team/invitations/{id}/resend", first: invited, effect: "staff.invited",
			want: "team"},
		"POST /team/invitations/:invitation/link": {path: "team/invitations/{id}/link", first: invited,
			effect: "staff.invitation_link_shown", status: ok, want: "This link is shown once"},
		"POST /team/:staff/role": {path: "team/{id}/role", first: colleague, form: fields("role=developer"),
			effect: "staff.role_changed", want: "team"},
		"POST /team/:staff/remove": {path: "team/{id}/remove", first: colleague, effect: "staff.removed", want: "team"},
		"POST /settings/two-step": {path: "settings/two-step", first: twoStep, form: fields("of=everyone"), effect: "account.changed",
			want: "settings"},
		"POST /settings/sign-in": {path: "settings/sign-in", first: providerOf,
			form: func(s *harness.StaffBrowser, id string) url.Values {
				return url.Values{"issuer": {id}, "client_id": {"candor"}, "client_secret": {"secret"}, "default_role": {"support"}}
			}, effect: "account.sso_changed", want: "settings/sign-in"},
		"POST /settings/sign-in/remove": {path: "settings/sign-in/remove", first: connected, effect: "account.sso_removed",
			want: "settings/sign-in"},
		"POST /settings/sign-in/only": {path: "settings/sign-in/only", first: connected, form: fields("of=passwords"),
			effect: "account.sso_only", want: "settings/sign-in"},
		"POST /settings/sign-in/domains": {path: "settings/sign-in/domains", form: fields("domain=lender.example"),
			effect: "account.sso_domain_added", want: "settings/sign-in"},
		"POST /settings/sign-in/domains/remove": {path: "settings/sign-in/domains/remove", form: fields("domain=lender.example"),
			first: func(s *harness.StaffBrowser) string {
				s.OK(s.Service.SSO.AddDomain(s.Context(), s.Account.AccountID, harness.Operator, "lender.example"))
				return ""
			}, effect: "account.sso_domain_removed", want: "settings/sign-in"},
		"GET /settings/retention": {path: "settings/retention?retention_days=30", want: "Keep files for 30 days"},
		"POST /settings/retention": {path: "settings/retention", form: fields("retention_days=30&from_days=90"),
			effect: "account.changed", want: "settings"},
		"GET /audit/export": {path: "audit/export?action=account.created", effect: "audit_log.exported"},
	}
}

// providerOf starts a provider of sign-in and returns its issuer.
func providerOf(s *harness.StaffBrowser) string {
	s.Service.SSO.Policy.Development = true
	p := &company{Harness: s.Harness}
	p.Server = httptest.NewServer(p)
	s.Cleanup(p.Server.Close)
	return p.URL
}

// connected connects a provider.
func connected(s *harness.StaffBrowser) string {
	issuer := providerOf(s)
	s.OK(s.Service.SSO.Connect(s.Context(), s.Account.AccountID, harness.Operator, sso.Params{Issuer: issuer, ClientID: "candor",
		Secret: "secret", DefaultRole: domain.RoleSupport}))
	return issuer
}

// storedCards is a payment provider whose page for cards is always there.
type storedCards struct{}

// Name is the provider's.
func (storedCards) Name() string { return "Stored" }

// CardPage returns the page.
func (storedCards) CardPage(context.Context, *domain.Account, string, string) (string, error) {
	return "https://checkout.stripe.com/page", nil
}

// count is the number that the case's effect changes.
func (c lateCase) count(s *harness.StaffBrowser) int {
	s.Helper()
	if strings.HasPrefix(c.effect, "SELECT") {
		return harness.QueryOne[int](s.Harness, c.effect)
	}
	return harness.QueryOne[int](s.Harness, `SELECT count(*) FROM audit_log WHERE account_id = $1 AND action = $2`,
		s.Account.AccountID, c.effect)
}

// TestLateRequestsAreCarriedOut sends a valid request to each route that asks
// for the password, after the password has become due. Nothing happens if the
// prompt is left or cancelled, nor for a wrong password. The right one carries
// the request out, once, and shows its own result.
func TestLateRequestsAreCarriedOut(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := harness.New(t, func(c *handlers.Config) { c.Billing.Cards = storedCards{} })
	cases := lateCases()
	for _, route := range harness.RoutesOf(handlers.Staff) {
		if route.Action == "" {
			continue
		}
		name := route.Method + " " + strings.TrimPrefix(route.Path, "/dashboard/:mode")
		c, ok := cases[name]
		delete(cases, name)
		if !ok {
			t.Errorf("%s asks for the password: give it a case in lateCases", name)
			continue
		}
		t.Run(name, func(t *testing.T) {
			own := h.In(t)
			own.Account = own.NewAccount(domain.NewStaffID().String()+"@lender.example", "professional")
			s := own.Owner()
			h.Clock.Advance(domain.StaffConfirmed - time.Minute)
			id := ""
			if c.first != nil {
				id = c.first(s)
			}
			c.path, c.want = strings.ReplaceAll(c.path, "{id}", id), strings.ReplaceAll(c.want, "{id}", id)
			h.Clock.Advance(2 * time.Minute)
			if route.Method == http.MethodGet {
				c.readLate(s, route.Action)
				return
			}
			values := url.Values{}
			if c.form != nil {
				values = c.form(s, id)
			}
			c.postLate(s, route.Action, values)
		})
	}
	for name := range cases {
		t.Errorf("%s is in lateCases and is no route that asks for the password", name)
	}
}

// postLate sends the case's form, late, and answers the prompt in every way.
func (c lateCase) postLate(s *harness.StaffBrowser, action string, values url.Values) {
	s.Helper()
	place, _, _ := strings.Cut(c.path, "/")
	back := "/dashboard/test/" + place
	before := c.count(s)
	unchanged := func(when string) {
		s.Helper()
		if n := c.count(s); n != before {
			s.Errorf("%s: %s went from %d to %d", when, c.effect, before, n)
		}
	}
	prompt := func(held string) string {
		return "/dashboard/confirm?held=" + held + "&then=" + url.QueryEscape(back)
	}
	left := s.WantPrompt(s.Post("/dashboard/test/"+c.path, values), back)
	s.WantPage(s.Get(prompt(left)), http.StatusOK, "Enter your password to "+action, "Nothing has been done yet")
	unchanged("the prompt is shown")
	s.WantRedirect(s.Post("/dashboard/confirm/cancel", url.Values{"held": {left}, "then": {back}}), back)
	s.WantPage(s.Get(prompt(left)), http.StatusNotFound, "Nothing was done")
	s.WantPage(s.Confirms(left, s.Account.Password), http.StatusNotFound, "Nothing was done")
	unchanged("the prompt is cancelled")

	held := s.WantPrompt(s.Post("/dashboard/test/"+c.path, values), back)
	s.WantPage(s.Confirms(held, "not my password"), http.StatusUnprocessableEntity, "That isn’t your password").
		WantField("held", held)
	unchanged("a wrong password")
	answer := s.Confirms(held, s.Account.Password)
	to := c.want
	if !strings.HasPrefix(to, "https:") {
		to = "/dashboard/test/" + to
	}
	if c.status == 0 {
		s.WantRedirect(answer, to)
	} else {
		s.WantPage(answer, c.status, c.want)
	}
	before++
	unchanged("the right password, at once")
	s.WantPage(s.Confirms(held, s.Account.Password), http.StatusConflict, "sent already")
	s.WantPage(s.Get(prompt(held)), http.StatusConflict, "sent already")
	unchanged("the result is loaded again")
}

// readLate opens the case's page, late, and answers the prompt.
func (c lateCase) readLate(s *harness.StaffBrowser, action string) {
	s.Helper()
	page := "/dashboard/test/" + c.path
	prompt := "/dashboard/confirm?then=" + url.QueryEscape(page)
	before := 0
	if c.effect != "" {
		before = c.count(s)
	}
	s.WantRedirect(s.Get(page), prompt)
	if back := s.WantPage(s.Get(prompt), http.StatusOK, "Enter your password to "+action).Link("Cancel"); c.effect != "" {
		s.WantPage(s.Get(back), http.StatusOK)
	}
	answer := func(password string) *httptest.ResponseRecorder {
		return s.Post("/dashboard/confirm", url.Values{"password": {password}, "then": {page}})
	}
	s.WantPage(answer("not my password"), http.StatusUnprocessableEntity, "That isn’t your password")
	s.WantRedirect(s.Get(page), prompt)
	if c.effect == "" {
		s.WantRedirect(answer(s.Account.Password), page)
		s.WantPage(s.Get(page), http.StatusOK, c.want)
		return
	}
	s.WantRedirect(answer(s.Account.Password), prompt)
	refreshed := s.WantPage(s.Get(prompt), http.StatusOK, "Your download starts now").All("meta")
	if !slices.ContainsFunc(refreshed, startsDownload(page)) {
		s.Errorf("the page doesn't start the download of %s", page)
	}
	if n := c.count(s); n != before {
		s.Errorf("%s went from %d to %d before the download", c.effect, before, n)
	}
	if got := s.Get(page).Header().Get("Content-Type"); got != "text/csv; charset=utf-8" || c.count(s) != before+1 {
		s.Errorf("the download is %q and %d lines are in the audit log, want %d", got, c.count(s), before+1)
	}
}

// TestHeldFormsAreBound: a held form is its session's alone and is carried out by
// its own prompt, while it is young, with the role as it is then.
func TestHeldFormsAreBound(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	s, other := h.Owner(), h.Owner()
	h.Clock.Advance(domain.StaffConfirmed)
	const path = "/dashboard/test/keys"
	create := func(name string) string {
		t.Helper()
		return s.WantPrompt(s.Post(path, url.Values{"name": {name}, "access": {"full"}}), path)
	}
	keys := func(want string) {
		t.Helper()
		if got := harness.QueryOne[string](h,
			`SELECT coalesce(string_agg(name, ' ' ORDER BY name), '') FROM api_key WHERE account_id = $1 AND name LIKE 'Tab%'`,
			h.Account.AccountID); got != want {
			t.Fatalf("the keys %q are made, want %q", got, want)
		}
	}
	// Another browser of the same person, and a stranger.
	foreign := create("Tab0")
	other.WantPage(other.Confirms(foreign, h.Account.Password), http.StatusNotFound, "Nothing was done")
	stranger := h.SignedOut()
	stranger.WantRedirect(stranger.Confirms(foreign, h.Account.Password), "/dashboard/sign-in?then=%2Fdashboard")
	other.Post("/dashboard/confirm/cancel", url.Values{"held": {foreign}})
	keys("")

	// Tabs beside each other: each prompt has its own form, and the oldest of six
	// is dropped.
	var tabs []string
	for _, name := range []string{"TabA", "TabB", "TabC", "TabD", "TabE"} {
		tabs = append(tabs, create(name))
	}
	s.WantPage(s.Confirms(foreign, h.Account.Password), http.StatusNotFound, "Nothing was done")
	s.WantPage(s.Confirms(tabs[3], h.Account.Password), http.StatusOK, "candor_test_")
	keys("TabD")
	s.WantPage(s.Confirms(tabs[0], h.Account.Password), http.StatusOK, "candor_test_")
	keys("TabA TabD")

	// At the same time, as a double click sends it.
	var wg sync.WaitGroup
	codes := make([]int, 4)
	for i := range codes {
		wg.Go(func() {
			browser := harness.StaffBrowser{Harness: h, Cookies: map[string]string{staffCookie: s.Cookies[staffCookie]}}
			codes[i] = browser.Confirms(tabs[1], h.Account.Password).Code
		})
	}
	wg.Wait()
	keys("TabA TabB TabD")

	// What the form has wrong is on its own page.
	s = h.Owner()
	h.Clock.Advance(domain.StaffConfirmed)
	empty := create("")
	s.WantPage(s.Confirms(empty, h.Account.Password), http.StatusUnprocessableEntity, "New API key", "Enter a name")

	// An old form, one of a session that ended, one of a role that changed.
	h.Clock.Advance(domain.StaffConfirmed)
	old := create("TabOld")
	h.Clock.Advance(domain.HeldFormLife)
	s.WantPage(s.Confirms(old, h.Account.Password), http.StatusNotFound, "Nothing was done")
	demoted := create("TabDemoted")
	execSQL(h, `UPDATE staff_user SET role = 'support' WHERE email = $1`, h.Account.Email)
	s.WantPage(s.Confirms(demoted, h.Account.Password), http.StatusForbidden, "Your role, support")
	execSQL(h, `UPDATE staff_user SET role = 'owner' WHERE email = $1`, h.Account.Email)
	h.Clock.Advance(domain.StaffConfirmed)
	create("TabEnded")
	s.Post("/dashboard/sign-out", nil)
	if n := harness.QueryOne[int](h,
		`SELECT count(*) FROM held_form h JOIN staff_session s ON s.id = h.staff_session_id WHERE sealed IS NOT NULL AND s.id NOT IN (SELECT id FROM staff_session)`); n != 0 {
		t.Errorf("%d forms are held without a session", n)
	}
	keys("TabA TabB TabD")
}

// TestHeldFormsAreSealedAndSmall: no text of a form is readable in the database,
// and no long form is stored.
func TestHeldFormsAreSealedAndSmall(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	s := h.Owner()
	h.Clock.Advance(domain.StaffConfirmed)
	form := url.Values{"name": {"Zaphod"}, "access": {"full"}}
	s.WantPrompt(s.Post("/dashboard/test/keys", form), "/dashboard/test/keys")
	if dump := harness.QueryOne[string](h,
		`SELECT string_agg(held_form::text, '') || encode(string_agg(sealed, ''), 'escape') FROM held_form`); strings.Contains(
		dump, "Zaphod") || strings.Contains(dump, "/keys") {
		t.Errorf("the form is readable: %s", dump)
	}
	form.Set("networks", strings.Repeat("x", 64<<10))
	s.WantPage(s.Post("/dashboard/test/keys", form), http.StatusRequestEntityTooLarge)
	if n := harness.QueryOne[int](h, `SELECT count(*) FROM held_form`); n != 1 {
		t.Errorf("%d forms are held, want 1", n)
	}
}

// TestSignedOutFormsSaySo: who posts a form after the session has ended is told
// that nothing was done.
func TestSignedOutFormsSaySo(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	s := h.SignedOut()
	s.WantRedirect(s.Post("/dashboard/test/team", url.Values{"from": {"/dashboard/test/team"}}),
		"/dashboard/sign-in?then=%2Fdashboard%2Ftest%2Fteam")
	s.WantPage(s.Get("/dashboard/sign-in?then=%2Fdashboard%2Ftest%2Fteam"), http.StatusOK,
		"You were signed out, so nothing was saved")
	s.WantRedirect(s.Post("/dashboard/test/sessions", nil), "/dashboard/sign-in?then=%2Fdashboard%2Ftest") // not to live mode
}

// startsDownload finds the element that has a browser load the address at once.
func startsDownload(address string) func(*page.Page) bool {
	return func(meta *page.Page) bool {
		return meta.Attr("http-equiv") == "refresh" && meta.Attr("content") == "0; url="+address
	}
}
