package dashboard_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"candor/db"
	"candor/handlers"
	"candor/internal/domain"
	"candor/internal/service/accounts"
	"candor/internal/testkit/browsertest"
	"candor/internal/testkit/harness"
)

// requireTwoStep makes the account require a second factor of its staff.
func requireTwoStep(h *harness.Harness, required bool) {
	h.Helper()
	execSQL(h, `UPDATE account SET two_step_required = $2 WHERE id = $1`, h.Account.AccountID, required)
}

// owes makes the browser's user one who must do this first.
func owes(s *harness.StaffBrowser, duty domain.Duty) {
	s.Helper()
	requireTwoStep(s.Harness, duty != domain.DutyPassword)
	execSQL(s.Harness, `UPDATE staff_user SET must_change_password = $2 WHERE id = $1`, s.Session.ID, duty == domain.DutyPassword)
	if duty == domain.DutyByPasskey {
		s.PasskeyOf(s.Session.ID)
	}
}

// TestDutiesComeFirst walks all routes of the dashboard as a user who must do
// something first: all but those that serve for it lead to it, and do nothing.
func TestDutiesComeFirst(t *testing.T) {
	t.Parallel()
	for duty, open := range map[domain.Duty][]string{
		domain.DutyPassword:  {"GET /me", "POST /me/password"},
		domain.DutyFactor:    {"GET /me", "POST /me/two-step", "POST /me/two-step/on", "POST /me/passkeys", "POST /me/passkeys/new"},
		domain.DutyByPasskey: {"GET /me"},
	} {
		t.Run(string(duty), func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			objects := harness.Objects(h, h.TestScope())
			owner := h.Staff(domain.RoleOwner)
			owes(owner, duty)
			before := h.Stored()
			for _, route := range harness.RoutesOf(handlers.Staff) {
				name := route.Method + " " + strings.TrimPrefix(route.Path, "/dashboard/:mode")
				if slices.Contains(open, name) {
					continue
				}
				path := harness.WalkPath(t, route.Path, objects)
				methods := []string{route.Method}
				if route.Method == http.MethodGet && route.AnswersHead() {
					methods = append(methods, http.MethodHead)
				}
				for _, method := range methods {
					answer := owner.Send(method, path, nil, http.Header{"Sec-Fetch-Site": {"same-origin"}})
					if answer.Code != http.StatusSeeOther || answer.Header().Get("Location") != "/dashboard/test/me" {
						t.Errorf("%s %s: %d to %q, want to be led to what comes first", method, path, answer.Code, answer.Header().Get("Location"))
					}
				}
			}
			h.WantStored(before)
			owner.WantPage(owner.Get("/dashboard/live/me"), http.StatusOK, map[domain.Duty]string{
				domain.DutyPassword: "Choose your own password", domain.DutyFactor: "Set up two-step sign-in",
				domain.DutyByPasskey: "Sign in with your passkey",
			}[duty], "Sign out")
			for _, name := range open[1:] {
				answer := owner.Post("/dashboard/test"+strings.TrimPrefix(name, "POST "), nil)
				if answer.Code == http.StatusSeeOther || strings.Contains(answer.Body.String(), "Where you’re signed in") {
					t.Errorf("%s: %d to %q, want it to serve for what comes first:\n%.1000s", name, answer.Code, answer.Header().Get("Location"),
						answer.Body)
				}
			}
		})
	}
}

// TestDutyDropsAWaitingForm: a form that waits for the password when the account
// starts to require a second factor isn't carried out.
func TestDutyDropsAWaitingForm(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	owner := h.Owner()
	h.Clock.Advance(domain.StaffConfirmed)
	held := owner.WantPrompt(owner.Post("/dashboard/test/keys", fields("name=Loans&access=full")(owner, "")), "/dashboard/test/keys")
	requireTwoStep(h, true)
	owner.WantRedirect(owner.Confirms(held, h.Account.Password), "/dashboard/test/me")
	owner.WantPage(owner.Get("/dashboard/test/me"), http.StatusOK, "Nothing was saved. Finish this first")
	audited(h, domain.AuditKeyCreated, 2) // with the account
}

// TestRequireTwoStep: an owner who has a second factor requires one of the team,
// and everyone without sets one up before anything else.
func TestRequireTwoStep(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	owner, developer := h.Owner(), h.Staff(domain.RoleDeveloper)
	const settings, require, home, me = "/dashboard/test/settings", "/dashboard/test/settings/two-step", "/dashboard/test",
		"/dashboard/test/me"
	everyone := url.Values{"of": {"everyone"}}
	developer.WantPage(developer.Post(require, everyone), http.StatusForbidden)
	owner.WantPage(owner.Get(settings), http.StatusOK, "Optional", "2 of 2 people in the team haven’t set one up")
	owner.WantPage(owner.Post(require, everyone), http.StatusUnprocessableEntity,
		"Set up two-step sign-in or a passkey for yourself first")
	byPasskey := h.Staff(domain.RoleOwner)
	passkey := h.PasskeyOf(byPasskey.Session.ID)
	byPasskey.WantPage(byPasskey.Post(require, everyone), http.StatusUnprocessableEntity, "Sign in with your passkey first")
	developer.WantPage(developer.Get(home), http.StatusOK)

	secret, _ := owner.TwoStep()
	form, values := owner.WantPage(owner.Get(settings), http.StatusOK).Pressed("Require two-step sign-in")
	owner.WantRedirect(owner.Post(form.Action, values), settings)
	owner.WantPage(owner.Get(settings), http.StatusOK, "Everyone in the team now needs two-step sign-in", "Stop requiring",
		"1 of 3 people in the team hasn’t set one up")
	owner.WantPage(owner.Get("/dashboard/test/audit"), http.StatusOK, "two step required: false → true")
	audited(h, domain.AuditAccountChanged, 1)

	// The developer has none, and loses what was being sent.
	developer.WantRedirect(developer.Post("/dashboard/test/sessions",
		fields("customer_email=jo@customer.example&customer_name=Jo")(developer, "")), me)
	developer.WantPage(developer.Get(me), http.StatusOK, "Nothing was saved", "Lender & Sons requires two-step sign-in")
	developer.TwoStep()
	developer.WantPage(developer.Get(home), http.StatusOK, "API keys")

	// A passkey doesn't count until it has signed in: the password may have leaked.
	byPasskey.WantRedirect(byPasskey.Get(home), me)
	byPasskey.WantRedirect(byPasskey.Post(me+"/two-step", nil), me)
	byPasskey.WantPage(byPasskey.Get(me), http.StatusOK, "Sign in with your passkey").LeadsTo("/dashboard/sign-in/passkey")
	madeByPasskey(byPasskey, passkey)
	byPasskey.WantPage(byPasskey.Get(home), http.StatusOK)

	// The last one stays.
	off := func() url.Values {
		h.Clock.Advance(time.Minute)
		return url.Values{"off_password": {h.Account.Password}, "off_code": {h.Code(secret, 0)}}
	}
	owner.WantPage(owner.Get(me), http.StatusOK, "Add a passkey before you turn this off")
	owner.WantPage(owner.Post(me+"/two-step/off", off()), http.StatusUnprocessableEntity, "this is your only one", "10 of 10")
	byPasskey.WantPage(byPasskey.Post(me+"/passkeys/"+passkey.String()+"/remove", nil), http.StatusUnprocessableEntity,
		"this is your only one", "Phone")
	h.PasskeyOf(ownerID(owner))
	owner.WantPage(owner.Get(me), http.StatusOK, "You’ll only be able to sign in with your passkey")
	owner.WantRedirect(owner.Post(me+"/two-step/off", off()), me)
	owner.WantPage(owner.Get(me), http.StatusOK, "Sign in with your passkey")

	byPasskey.WantRedirect(byPasskey.Post(require, nil), settings)
	byPasskey.WantPage(byPasskey.Get(settings), http.StatusOK, "Two-step sign-in is optional again",
		"Everyone in the team has set one up")
	owner.WantPage(owner.Get(home), http.StatusOK)
}

// TestRequiredTwoStepAtSignIn: the password alone opens nothing for those who
// are invited, and for those whose second factors an operator has removed.
func TestRequiredTwoStepAtSignIn(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	m := h.Mailbox()
	requireTwoStep(h, true)
	_, err := h.Service.Team.Invite(t.Context(), h.Account.AccountID, harness.Operator, harness.NewInvitation("jules@lender.example",
		domain.RoleSupport))
	h.OK(err)
	guest := h.SignedOut()
	openEmail(guest, m.Link(m.Email("jules@lender.example", "Join Lender & Sons on Candor")), "/dashboard/invitation")
	if answer := guest.Post("/dashboard/invitation", url.Values{"name": {"Jules"},
		"new_password": {harness.GoodPassword}}); answer.Code != http.StatusSeeOther {
		t.Fatalf("the invitation is answered with %d:\n%.1000s", answer.Code, answer.Body)
	}
	const home, me = "/dashboard/test", "/dashboard/test/me"
	guest.WantRedirect(guest.Get(home), me)
	guest.TwoStep()
	guest.WantPage(guest.Get(home), http.StatusOK)

	_, err = h.Service.StaffAuth.ResetFactors(t.Context(), "jules@lender.example", harness.Operator)
	h.OK(err)
	again := h.SignedOut()
	again.WantRedirect(again.Post("/dashboard/sign-in", harness.SignInForm("jules@lender.example", harness.GoodPassword)),
		"/dashboard")
	again.WantRedirect(again.Get(home), me)
	again.WantPage(again.Get(me), http.StatusOK, "Use an authenticator app", "Add a passkey")
	again.TwoStep()
	again.WantPage(again.Get(home), http.StatusOK)
}

// TestLastSecondFactorStays: of two passkeys that are removed at once, one stays.
func TestLastSecondFactorStays(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	requireTwoStep(h, true)
	owner := h.Staff(domain.RoleOwner)
	p := &domain.Passkey{ID: domain.NewPasskeyID(), StaffID: owner.Session.ID, CredentialID: []byte("second"), Name: "Laptop",
		Credential: []byte("{}"), CreatedAt: h.Clock.Now()}
	h.OK(h.DB.InTx(t.Context(), func(tx *db.Tx) error { return tx.InsertPasskey(t.Context(), p) }))
	ids := []domain.PasskeyID{h.PasskeyOf(owner.Session.ID), p.ID}
	var wg sync.WaitGroup
	h.OK(h.DB.InTx(t.Context(), func(tx *db.Tx) error {
		if err := tx.LockStaff(t.Context(), owner.Session.ID); err != nil {
			return err
		}
		for _, id := range ids {
			wg.Go(func() {
				// Only how many passkeys are left matters.
				_ = h.Service.StaffAuth.RemovePasskey(t.Context(), owner.Session, id.String(), domain.Visitor{})
			})
		}
		h.WaitForLocks(2)
		return nil
	}))
	wg.Wait()
	if n := harness.QueryOne[int](h, `SELECT count(*) FROM staff_passkey`); n != 1 {
		t.Errorf("%d passkeys are left of two that were removed at once, want 1", n)
	}
}

// firstPassword is a browser in which the owner of an account that an operator
// has made signs in with the password that was printed.
func firstPassword(h *harness.Harness) (*harness.StaffBrowser, *accounts.Created) {
	h.Helper()
	account, err := h.Service.Accounts.Create(h.Context(), accounts.Params{Name: "Lender", Email: "first@lender.example",
		Plan: "starter", ChangePassword: true}, harness.Operator)
	h.OK(err)
	browser := h.SignedOut()
	browser.WantRedirect(browser.Post("/dashboard/sign-in", harness.SignInForm(account.Email, account.Password)), "/dashboard")
	return browser, account
}

// TestFirstPasswordIsChanged: the password that `candor account create` prints
// opens nothing but the page on which its user chooses another.
func TestFirstPasswordIsChanged(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	browser, account := firstPassword(h)
	const home, me = "/dashboard/test", "/dashboard/test/me"
	browser.WantRedirect(browser.Get(home), me)
	browser.WantPage(browser.Get(me), http.StatusOK, "Choose your own password")
	change := func(current, password string) url.Values {
		return url.Values{"password": {current}, "new_password": {password}}
	}
	for _, wrong := range []struct{ current, password, message string }{
		{account.Password, account.Password, "different from your current one"},
		{"wrong", harness.GoodPassword, "That isn’t your password"},
		{account.Password, "short", "10 characters"},
	} {
		browser.WantPage(browser.Post(me+"/password", change(wrong.current, wrong.password)), http.StatusUnprocessableEntity,
			"Choose your own password", wrong.message)
	}
	browser.WantRedirect(browser.Get(home), me)
	browser.WantRedirect(browser.Post(me+"/password", change(account.Password, harness.GoodPassword)), me)
	browser.WantPage(browser.Get(me), http.StatusOK, "My account", "Password changed")
	browser.WantPage(browser.Get(home), http.StatusOK)
	again := h.SignedOut()
	again.WantRedirect(again.Post("/dashboard/sign-in", harness.SignInForm(account.Email, harness.GoodPassword)), "/dashboard")
	again.WantPage(again.Get(home), http.StatusOK)
}

// TestResetReplacesTheFirstPassword: who chose a password by an email's link
// isn't asked for another.
func TestResetReplacesTheFirstPassword(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	m := h.Mailbox()
	browser, account := firstPassword(h)
	browser.WantRedirect(browser.Post("/dashboard/forgot", url.Values{"email": {account.Email}}), "/dashboard/letter-sent")
	openEmail(browser, m.Link(m.Email(account.Email, "Choose a new password")), "/dashboard/reset")
	browser.WantRedirect(browser.Post("/dashboard/reset", url.Values{"new_password": {harness.GoodPassword}}), "/dashboard/sign-in")
	browser.WantRedirect(browser.Post("/dashboard/sign-in", harness.SignInForm(account.Email, harness.GoodPassword)), "/dashboard")
	browser.WantPage(browser.Get("/dashboard/test"), http.StatusOK)
}

// TestBrowserDuties chooses a password, adds a passkey and signs in with it, as the first owner
// of an account does that requires two-step sign-in.
func TestBrowserDuties(t *testing.T) {
	t.Parallel()
	h, base, _ := serveNamed(t, "")
	execSQL(h, `UPDATE staff_user SET must_change_password = true`)
	requireTwoStep(h, true)
	tab := browsertest.New(t, browsertest.Options{})
	tab.Open(base + "/dashboard/sign-in?then=%2Fdashboard%2Flive%2Fsettings")
	tab.Passkeys()
	tab.Type("#email", h.Account.Email)
	tab.Type("#password", h.Account.Password)
	tab.Click(".fields .button-primary")
	tab.WaitForText("h1", "Choose your own password")
	view(tab, "duty-password")
	tab.Type("#password", h.Account.Password)
	tab.Type("#new_password", harness.GoodPassword)
	tab.Click("main .button-primary")
	tab.WaitForText("h1", "Set up two-step sign-in")
	view(tab, "duty-factor")
	tab.Click("#passkeys .button")
	tab.WaitForText("h1", "Add a passkey")
	tab.Click("main .button-primary")
	tab.WaitForText("h1", "Sign in with your passkey")
	tab.WaitForText("#announcement", "Passkey added")
	view(tab, "duty-by-passkey")
	tab.Click("main .button-primary")
	tab.WaitForText("h1", "Sign in with a passkey")
	tab.Click("main .button-primary")
	tab.WaitForText("h1", "Home")

	tab.Open(base + "/dashboard/live/settings")
	view(tab, "settings-two-step-required")
	execSQL(h, `UPDATE staff_user SET totp_secret = '\x', totp_since = created_at`)
	execSQL(h, `WITH gone AS (DELETE FROM staff_passkey) UPDATE staff_session SET passkey_id = NULL`)
	tab.Open(base + "/dashboard/live/me")
	tab.Click("#two-step summary")
	tab.WaitForText("#two-step", "Add a passkey before you turn this off")
	view(tab, "me-two-step-required")
}
