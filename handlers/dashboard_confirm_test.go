package handlers_test

import (
	"context"
	"image/color"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"candor/handlers"
	"candor/internal/domain"
	"candor/internal/service/keys"
	"candor/internal/testkit"
)

// wantPrompt fails unless the answer leads to the prompt for the password, from
// which Cancel leads to back. It returns the id of the held form.
func (s *staffBrowser) wantPrompt(answer *httptest.ResponseRecorder, back string) (held string) {
	s.Helper()
	to, err := url.Parse(answer.Header().Get("Location"))
	s.ok(err)
	held = to.Query().Get("held")
	if answer.Code != http.StatusSeeOther || to.Path != "/dashboard/confirm" || !strings.HasPrefix(held, "hld_") || to.Query().Get("then") != back {
		s.Fatalf("%d to %q, want the prompt with a held form, and back to %q:\n%.1000s", answer.Code, to, back, answer.Body)
	}
	return held
}

// confirms answers the prompt of a held form.
func (s *staffBrowser) confirms(held, password string) *httptest.ResponseRecorder {
	s.Helper()
	return s.post("/dashboard/confirm", url.Values{"held": {held}, "password": {password}, "then": {"/dashboard/test"}})
}

// A lateCase is a valid request to a route that asks for the password.
type lateCase struct {
	path   string                          // below /dashboard/test/; {id} is what first returns
	first  func(*staffBrowser) (id string) // before the password is due again
	form   func(s *staffBrowser, id string) url.Values
	effect string // an action of the audit log, or a query for a number that goes up by one
	status int    // of the result; 0 is 303
	want   string // in the result: its page has it, or it leads there, below /dashboard/test/
}

// fields is a form without an id.
func fields(query string) func(*staffBrowser, string) url.Values {
	return func(s *staffBrowser, _ string) url.Values {
		values, err := url.ParseQuery(query)
		s.ok(err)
		return values
	}
}

// ownerID is the staff user that owns the browser's account.
func (s *staffBrowser) ownerID() domain.StaffID {
	return one[domain.StaffID](s.bench, `SELECT id FROM staff_user WHERE email = $1`, s.account.Email)
}

func (s *staffBrowser) newKey() string {
	key, _, err := s.service.Keys.Create(s.Context(), s.testScope(), someone, keys.Params{Name: "Loans"})
	s.ok(err)
	return key.ID.String()
}

func (s *staffBrowser) colleague() string {
	return s.staff(domain.RoleSupport).session.ID.String()
}

func (s *staffBrowser) completedSession() string {
	session := s.newSession(s.testScope(), domain.NewSession{})
	s.complete(session.ID)
	return session.ID.String()
}

// afterPosts posts to paths of the webhook secret first.
func afterPosts(steps ...string) func(*staffBrowser) string {
	return func(s *staffBrowser) string {
		for _, step := range steps {
			s.post("/dashboard/test/webhooks/secret/"+step, nil)
		}
		return ""
	}
}

func lateCases() map[string]lateCase {
	const ok = http.StatusOK
	secret := func(s *staffBrowser) string {
		page := s.post("/dashboard/test/me/two-step", nil).Body.String()
		return strings.ReplaceAll(secretOnPage.FindStringSubmatch(page)[1], " ", "")
	}
	cancel := func(atOnce bool) func(*staffBrowser) string {
		return func(s *staffBrowser) string {
			s.ok(s.service.Billing.Cancel(s.Context(), s.account.AccountID, someone, atOnce, "Too dear"))
			return ""
		}
	}
	twoStep := func(s *staffBrowser) string {
		s.twoStep() // counts as the password
		s.clock.advance(domain.StaffConfirmed - time.Minute)
		return ""
	}
	return map[string]lateCase{
		"POST /me/two-step":       {path: "me/two-step", effect: `SELECT count(*) FROM staff_user WHERE totp_pending IS NOT NULL`, status: ok, want: "qr-dark"},
		"POST /me/two-step/on":    {path: "me/two-step/on", first: secret, form: func(s *staffBrowser, id string) url.Values { return codeForm(s.code(id, 0)) }, effect: "staff.two_step_on", status: ok, want: "aren’t shown again"},
		"POST /me/recovery-codes": {path: "me/recovery-codes", first: twoStep, effect: "staff.recovery_codes_made", status: ok, want: "aren’t shown again"},
		"POST /me/passkeys/new":   {path: "me/passkeys/new", effect: `SELECT count(*) FROM passkey_challenge`, status: ok, want: "Add a passkey"},
		// Its result is an error on its own page: TestPasskeysInABrowser adds one.
		"POST /me/passkeys": {path: "me/passkeys", first: func(s *staffBrowser) string {
			return questionInPage.FindStringSubmatch(s.post("/dashboard/test/me/passkeys/new", nil).Body.String())[1]
		}, form: func(_ *staffBrowser, id string) url.Values { return url.Values{"token": {id}, "response": {"{}"}} },
			effect: `SELECT -count(*) FROM passkey_challenge`, status: http.StatusUnprocessableEntity, want: "That passkey didn’t work"},
		"POST /me/passkeys/:passkey/remove": {path: "me/passkeys/{id}/remove", first: func(s *staffBrowser) string { return s.passkeyOf(s.ownerID()).String() }, effect: "staff.passkey_removed", want: "me"},
		"GET /sessions/export":              {path: "sessions/export", effect: "sessions.exported"},
		"GET /sessions/:session/erase":      {path: "sessions/{id}/erase", first: (*staffBrowser).completedSession, want: "Delete a customer’s data"},
		"POST /sessions/:session/erase": {path: "sessions/{id}/erase", first: (*staffBrowser).completedSession, form: func(_ *staffBrowser, id string) url.Values {
			return url.Values{"sessions": {id}, "confirm": {"jo@customer.example"}}
		}, effect: "session.erased", want: "sessions/{id}"},
		"POST /webhooks/url":            {path: "webhooks/url", form: fields("url=https://lender.example/new"), effect: "webhook.url_changed", want: "webhooks"},
		"POST /webhooks/secret/show":    {path: "webhooks/secret/show", effect: "webhook_secret.shown", status: ok, want: "whsec_"},
		"POST /webhooks/secret/next":    {path: "webhooks/secret/next", effect: "webhook_secret.next_made", status: ok, want: "whsec_"},
		"POST /webhooks/secret/switch":  {path: "webhooks/secret/switch", first: afterPosts("next"), effect: "webhook_secret.switched", want: "webhooks"},
		"POST /webhooks/secret/restore": {path: "webhooks/secret/restore", first: afterPosts("next", "switch"), effect: "webhook_secret.restored", want: "webhooks"},
		"POST /webhooks/secret/abandon": {path: "webhooks/secret/abandon", first: afterPosts("next"), effect: "webhook_secret.next_abandoned", want: "webhooks"},
		"POST /keys":                    {path: "keys", form: fields("name=Loans&access=restricted&permissions=sessions:read&permissions=data:read"), effect: "api_key.created", status: ok, want: "candor_test_"},
		"GET /keys/new":                 {path: "keys/new", want: "New API key"},
		"POST /keys/:key/rotate":        {path: "keys/{id}/rotate", first: (*staffBrowser).newKey, form: fields("overlap=1h"), effect: "api_key.rotated", status: ok, want: "The old key works until"},
		"POST /keys/:key/delete":        {path: "keys/{id}/delete", first: (*staffBrowser).newKey, form: fields("typed_name=Loans"), effect: "api_key.deleted", want: "keys"},
		"POST /billing/email":           {path: "billing/email", form: fields("billing_email=bills@lender.example"), effect: "billing.email_changed", want: "billing"},
		"POST /billing/subscribe":       {path: "billing/subscribe", first: cancel(true), form: fields("plan=starter"), effect: "subscription.started", want: "billing"},
		"POST /billing/plan":            {path: "billing/plan", form: fields("plan=starter"), effect: "subscription.plan_changed", want: "billing"},
		"POST /billing/cancel":          {path: "billing/cancel", form: fields("when=end&reason=Too+dear"), effect: "subscription.cancelled", want: "billing"},
		"POST /billing/reactivate":      {path: "billing/reactivate", first: cancel(false), effect: "subscription.reactivated", want: "billing"},
		"POST /billing/card":            {path: "billing/card", effect: "billing.card_page_opened", want: "https://checkout.stripe.com/page"},
		"POST /team":                    {path: "team", form: fields("email=new@lender.example&role=support"), effect: "staff.invited", want: "team"},
		"POST /team/invitations/:invitation/revoke": {path: "team/invitations/{id}/revoke", first: func(s *staffBrowser) string {
			invitation, err := s.service.Team.Invite(s.Context(), s.account.AccountID, someone, newInvitation("new@lender.example", domain.RoleSupport))
			s.ok(err)
			return invitation.ID.String()
		}, effect: "staff.invitation_revoked", want: "team"},
		"POST /team/:staff/role":   {path: "team/{id}/role", first: (*staffBrowser).colleague, form: fields("role=developer"), effect: "staff.role_changed", want: "team"},
		"POST /team/:staff/remove": {path: "team/{id}/remove", first: (*staffBrowser).colleague, effect: "staff.removed", want: "team"},
		"POST /settings/two-step":  {path: "settings/two-step", first: twoStep, form: fields("of=everyone"), effect: "account.changed", want: "settings"},
		"GET /settings/retention":  {path: "settings/retention?retention_days=30", want: "Keep files for 30 days"},
		"POST /settings/retention": {path: "settings/retention", form: fields("retention_days=30&from_days=90"), effect: "account.changed", want: "settings"},
		"GET /audit/export":        {path: "audit/export?action=account.created", effect: "audit_log.exported"},
	}
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
func (c lateCase) count(s *staffBrowser) int {
	s.Helper()
	if strings.HasPrefix(c.effect, "SELECT") {
		return one[int](s.bench, c.effect)
	}
	return one[int](s.bench, `SELECT count(*) FROM audit_log WHERE account_id = $1 AND action = $2`, s.account.AccountID, c.effect)
}

// TestLateRequestsAreCarriedOut sends a valid request to each route that asks
// for the password, after the password has become due. Nothing happens if the
// prompt is left or cancelled, nor for a wrong password. The right one carries
// the request out, once, and shows its own result.
func TestLateRequestsAreCarriedOut(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	b := newBench(t, func(c *handlers.Config) { c.Billing.Cards = storedCards{} })
	cases := lateCases()
	for _, route := range routesOf(handlers.Staff) {
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
			own := b.in(t)
			own.account = own.newAccount(domain.NewStaffID().String()+"@lender.example", "professional")
			s := own.owner()
			b.clock.advance(domain.StaffConfirmed - time.Minute)
			id := ""
			if c.first != nil {
				id = c.first(s)
			}
			c.path, c.want = strings.ReplaceAll(c.path, "{id}", id), strings.ReplaceAll(c.want, "{id}", id)
			b.clock.advance(2 * time.Minute)
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
func (c lateCase) postLate(s *staffBrowser, action string, values url.Values) {
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
	left := s.wantPrompt(s.post("/dashboard/test/"+c.path, values), back)
	s.wantPage(s.get(prompt(left)), http.StatusOK, "Enter your password to "+action, "Nothing has been done yet")
	unchanged("the prompt is shown")
	s.wantRedirect(s.post("/dashboard/confirm/cancel", url.Values{"held": {left}, "then": {back}}), back)
	s.wantPage(s.get(prompt(left)), http.StatusNotFound, "Nothing was done")
	s.wantPage(s.confirms(left, s.account.Password), http.StatusNotFound, "Nothing was done")
	unchanged("the prompt is cancelled")

	held := s.wantPrompt(s.post("/dashboard/test/"+c.path, values), back)
	s.wantPage(s.confirms(held, "not my password"), http.StatusUnprocessableEntity, "That isn’t your password", held)
	unchanged("a wrong password")
	answer := s.confirms(held, s.account.Password)
	to := c.want
	if !strings.HasPrefix(to, "https:") {
		to = "/dashboard/test/" + to
	}
	if c.status == 0 {
		s.wantRedirect(answer, to)
	} else {
		s.wantPage(answer, c.status, c.want)
	}
	before++
	unchanged("the right password, at once")
	s.wantPage(s.confirms(held, s.account.Password), http.StatusConflict, "sent already")
	s.wantPage(s.get(prompt(held)), http.StatusConflict, "sent already")
	unchanged("the result is loaded again")
}

// readLate opens the case's page, late, and answers the prompt.
func (c lateCase) readLate(s *staffBrowser, action string) {
	s.Helper()
	page := "/dashboard/test/" + c.path
	prompt := "/dashboard/confirm?then=" + url.QueryEscape(page)
	before := 0
	if c.effect != "" {
		before = c.count(s)
	}
	s.wantRedirect(s.get(page), prompt)
	s.wantPage(s.get(prompt), http.StatusOK, "Enter your password to "+action)
	answer := func(password string) *httptest.ResponseRecorder {
		return s.post("/dashboard/confirm", url.Values{"password": {password}, "then": {page}})
	}
	s.wantPage(answer("not my password"), http.StatusUnprocessableEntity, "That isn’t your password")
	s.wantRedirect(s.get(page), prompt)
	if c.effect == "" {
		s.wantRedirect(answer(s.account.Password), page)
		s.wantPage(s.get(page), http.StatusOK, c.want)
		return
	}
	s.wantRedirect(answer(s.account.Password), prompt)
	s.wantPage(s.get(prompt), http.StatusOK, "Your download starts now", `http-equiv="refresh" content="0; url=`+strings.ReplaceAll(page, "&", "&amp;")+`"`)
	if n := c.count(s); n != before {
		s.Errorf("%s went from %d to %d before the download", c.effect, before, n)
	}
	if got := s.get(page).Header().Get("Content-Type"); got != "text/csv; charset=utf-8" || c.count(s) != before+1 {
		s.Errorf("the download is %q and %d lines are in the audit log, want %d", got, c.count(s), before+1)
	}
}

// TestHeldFormsAreBound: a held form is its session's alone and is carried out by
// its own prompt, while it is young, with the role as it is then.
func TestHeldFormsAreBound(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s, other := b.owner(), b.owner()
	b.clock.advance(domain.StaffConfirmed)
	const path = "/dashboard/test/keys"
	create := func(name string) string {
		t.Helper()
		return s.wantPrompt(s.post(path, url.Values{"name": {name}, "access": {"full"}, "from": {path + "/new"}}), path+"/new")
	}
	keys := func(want string) {
		t.Helper()
		if got := one[string](b, `SELECT coalesce(string_agg(name, ' ' ORDER BY name), '') FROM api_key WHERE account_id = $1 AND name LIKE 'Tab%'`, b.account.AccountID); got != want {
			t.Fatalf("the keys %q are made, want %q", got, want)
		}
	}
	// Another browser of the same person, and a stranger.
	foreign := create("Tab0")
	other.wantPage(other.confirms(foreign, b.account.Password), http.StatusNotFound, "Nothing was done")
	stranger := b.stranger()
	stranger.wantRedirect(stranger.confirms(foreign, b.account.Password), "/dashboard/sign-in?then=%2Fdashboard")
	other.post("/dashboard/confirm/cancel", url.Values{"held": {foreign}})
	keys("")

	// Tabs beside each other: each prompt has its own form, and the oldest of six
	// is dropped.
	var tabs []string
	for _, name := range []string{"TabA", "TabB", "TabC", "TabD", "TabE"} {
		tabs = append(tabs, create(name))
	}
	s.wantPage(s.confirms(foreign, b.account.Password), http.StatusNotFound, "Nothing was done")
	s.wantPage(s.confirms(tabs[3], b.account.Password), http.StatusOK, "candor_test_")
	keys("TabD")
	s.wantPage(s.confirms(tabs[0], b.account.Password), http.StatusOK, "candor_test_")
	keys("TabA TabD")

	// At the same time, as a double click sends it.
	var wg sync.WaitGroup
	codes := make([]int, 4)
	for i := range codes {
		wg.Go(func() {
			browser := staffBrowser{bench: b, cookies: map[string]string{staffCookie: s.cookies[staffCookie]}}
			codes[i] = browser.confirms(tabs[1], b.account.Password).Code
		})
	}
	wg.Wait()
	keys("TabA TabB TabD")

	// What the form has wrong is on its own page.
	s = b.owner()
	b.clock.advance(domain.StaffConfirmed)
	empty := create("")
	s.wantPage(s.confirms(empty, b.account.Password), http.StatusUnprocessableEntity, "New API key", "Enter a name")

	// An old form, one of a session that ended, one of a role that changed.
	b.clock.advance(domain.StaffConfirmed)
	old := create("TabOld")
	b.clock.advance(domain.HeldFormLife)
	s.wantPage(s.confirms(old, b.account.Password), http.StatusNotFound, "Nothing was done")
	demoted := create("TabDemoted")
	exec := func(query string) {
		t.Helper()
		_, err := b.db.Raw().ExecContext(t.Context(), query, b.account.Email)
		b.ok(err)
	}
	exec(`UPDATE staff_user SET role = 'support' WHERE email = $1`)
	s.wantPage(s.confirms(demoted, b.account.Password), http.StatusForbidden, "Your role, support")
	exec(`UPDATE staff_user SET role = 'owner' WHERE email = $1`)
	b.clock.advance(domain.StaffConfirmed)
	create("TabEnded")
	s.post("/dashboard/sign-out", nil)
	if n := one[int](b, `SELECT count(*) FROM held_form h JOIN staff_session s ON s.id = h.staff_session_id WHERE sealed IS NOT NULL AND s.id NOT IN (SELECT id FROM staff_session)`); n != 0 {
		t.Errorf("%d forms are held for nobody", n)
	}
	keys("TabA TabB TabD")
}

// TestHeldFormsAreSealedAndSmall: no text of a form is readable in the database,
// and no long form is stored.
func TestHeldFormsAreSealedAndSmall(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := b.owner()
	b.clock.advance(domain.StaffConfirmed)
	form := url.Values{"name": {"Zaphod"}, "access": {"full"}}
	s.wantPrompt(s.post("/dashboard/test/keys", form), "/dashboard/test/keys")
	if dump := one[string](b, `SELECT string_agg(held_form::text, '') || encode(string_agg(sealed, ''), 'escape') FROM held_form`); strings.Contains(dump, "Zaphod") || strings.Contains(dump, "/keys") {
		t.Errorf("the form is readable: %s", dump)
	}
	form.Set("networks", strings.Repeat("x", 64<<10))
	s.wantPage(s.post("/dashboard/test/keys", form), http.StatusRequestEntityTooLarge)
	if n := one[int](b, `SELECT count(*) FROM held_form`); n != 1 {
		t.Errorf("%d forms are held, want 1", n)
	}
}

// TestUploadsWaitForThePassword: a file that is posted late is stored after the
// password, and a form with multiple parts too.
func TestUploadsWaitForThePassword(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	handler, err := handlers.NewWithConfirmedLogo(b.config)
	b.ok(err)
	b.handler = handler
	s := b.owner()
	b.clock.advance(domain.StaffConfirmed)
	held := s.wantPrompt(s.sendLogo("logo.png", drawing(t, 100, 40, color.Black)), "/dashboard/test/settings")
	stored := func(want int) {
		t.Helper()
		if n := one[int](b, `SELECT count(*) FROM account WHERE id = $1 AND logo_name IS NOT NULL`, b.account.AccountID); n != want {
			t.Errorf("%d logos are stored, want %d", n, want)
		}
	}
	stored(0)
	s.wantPage(s.confirms(held, "wrong"), http.StatusUnprocessableEntity)
	s.wantRedirect(s.confirms(held, b.account.Password), "/dashboard/test/settings")
	stored(1)
	b.clock.advance(domain.StaffConfirmed)
	s.wantPage(s.sendLogo("logo.png", strings.Repeat("x", domain.MaxLogoUpload+128<<10)), http.StatusRequestEntityTooLarge)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, baseURL+"/dashboard/test/keys", strings.NewReader(
		"--x\r\nContent-Disposition: form-data; name=\"name\"\r\n\r\nParts\r\n--x\r\nContent-Disposition: form-data; name=\"access\"\r\n\r\nfull\r\n--x--\r\n"))
	r.Header = http.Header{"Content-Type": {"multipart/form-data; boundary=x"}, "Sec-Fetch-Site": {"same-origin"}}
	held = s.wantPrompt(s.do(r), "/dashboard/test/keys")
	s.wantPage(s.confirms(held, b.account.Password), http.StatusOK, "candor_test_", "Parts")
}

// TestSignedOutFormsSaySo: who posts a form after the session has ended is told
// that nothing was done.
func TestSignedOutFormsSaySo(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := b.stranger()
	s.wantRedirect(s.post("/dashboard/test/team", url.Values{"from": {"/dashboard/test/team"}}), "/dashboard/sign-in?then=%2Fdashboard%2Ftest%2Fteam")
	s.wantPage(s.get("/dashboard/sign-in?then=%2Fdashboard%2Ftest%2Fteam"), http.StatusOK, "You were signed out, so nothing was done")
}
