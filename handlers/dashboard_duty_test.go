package handlers_test

import (
	"fmt"
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
)

// requireTwoStep makes the account require a second factor of its staff.
func (b *bench) requireTwoStep(required bool) {
	b.Helper()
	_, err := b.db.Raw().ExecContext(b.Context(), `UPDATE account SET two_step_required = $2 WHERE id = $1`, b.account.AccountID, required)
	b.ok(err)
}

// owes makes the browser's user one who must do this first.
func (s *staffBrowser) owes(duty domain.Duty) {
	s.Helper()
	s.requireTwoStep(duty != domain.DutyPassword)
	_, err := s.db.Raw().ExecContext(s.Context(), `UPDATE staff_user SET must_change_password = $2 WHERE id = $1`, s.session.ID, duty == domain.DutyPassword)
	s.ok(err)
	if duty == domain.DutyByPasskey {
		s.passkeyOf(s.session.ID)
	}
}

// contents are a digest of each table, but of that which notes when a browser
// was seen.
func (b *bench) contents() map[string]string {
	b.Helper()
	var tables []string
	b.ok(b.db.Raw().SelectContext(b.Context(), &tables, `
		SELECT table_name FROM information_schema.tables
		WHERE table_schema = 'public' AND table_type = 'BASE TABLE' AND table_name <> 'staff_session'`))
	out := map[string]string{}
	for _, table := range tables {
		out[table] = one[string](b, `SELECT md5(coalesce(string_agg(t::text, E'\n' ORDER BY t::text), '')) FROM `+table+` t`)
	}
	return out
}

// wantContents fails if a table differs from what was there before.
func (b *bench) wantContents(before map[string]string) {
	b.Helper()
	for table, digest := range b.contents() {
		if before[table] != digest {
			b.Errorf("the table %s has changed", table)
		}
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
			b := newBench(t)
			objects := walkObjects(b, b.testScope())
			owner := b.staff(domain.RoleOwner)
			owner.owes(duty)
			before := b.contents()
			for _, route := range routesOf(handlers.Staff) {
				name := route.Method + " " + strings.TrimPrefix(route.Path, "/dashboard/:mode")
				if slices.Contains(open, name) {
					continue
				}
				path := walkPath(t, route.Path, objects)
				methods := []string{route.Method}
				if route.Method == http.MethodGet {
					methods = append(methods, http.MethodHead)
				}
				for _, method := range methods {
					answer := owner.send(method, path, nil, http.Header{"Sec-Fetch-Site": {"same-origin"}})
					if answer.Code != http.StatusSeeOther || answer.Header().Get("Location") != "/dashboard/test/me" {
						t.Errorf("%s %s: %d to %q, want to be led to what comes first", method, path, answer.Code, answer.Header().Get("Location"))
					}
				}
			}
			b.wantContents(before)
			owner.wantPage(owner.get("/dashboard/live/me"), http.StatusOK, map[domain.Duty]string{
				domain.DutyPassword: "Choose your own password", domain.DutyFactor: "Set up two-step sign-in", domain.DutyByPasskey: "Sign in with your passkey",
			}[duty], "Sign out")
			for _, name := range open[1:] {
				answer := owner.post("/dashboard/test"+strings.TrimPrefix(name, "POST "), nil)
				if answer.Code == http.StatusSeeOther || strings.Contains(answer.Body.String(), "Where you’re signed in") {
					t.Errorf("%s: %d to %q, want it to serve for what comes first:\n%.1000s", name, answer.Code, answer.Header().Get("Location"), answer.Body)
				}
			}
		})
	}
}

// TestDutyDropsAWaitingForm: a form that waits for the password when the account
// starts to require a second factor isn't carried out.
func TestDutyDropsAWaitingForm(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	owner := b.owner()
	b.clock.advance(domain.StaffConfirmed)
	held := owner.wantPrompt(owner.post("/dashboard/test/keys", fields("name=Loans&access=full")(owner, "")), "/dashboard/test/keys")
	b.requireTwoStep(true)
	owner.wantRedirect(owner.confirms(held, b.account.Password), "/dashboard/test/me")
	owner.wantPage(owner.get("/dashboard/test/me"), http.StatusOK, "Nothing was done. Finish this first")
	b.audited(domain.AuditKeyCreated, 2) // with the account
}

// TestRequireTwoStep: an owner who has a second factor requires one of the team,
// and everyone without sets one up before anything else.
func TestRequireTwoStep(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	owner, developer := b.owner(), b.staff(domain.RoleDeveloper)
	const settings, require, home, me = "/dashboard/test/settings", "/dashboard/test/settings/two-step", "/dashboard/test", "/dashboard/test/me"
	everyone := url.Values{"of": {"everyone"}}
	developer.wantPage(developer.post(require, everyone), http.StatusForbidden)
	owner.wantPage(owner.get(settings), http.StatusOK, "Each person’s choice", "2 of 2 in the team have none yet")
	owner.wantPage(owner.post(require, everyone), http.StatusUnprocessableEntity, "Set up two-step sign-in or add a passkey on My account first")
	byPasskey := b.staff(domain.RoleOwner)
	passkey := b.passkeyOf(byPasskey.session.ID)
	byPasskey.wantPage(byPasskey.post(require, everyone), http.StatusUnprocessableEntity, "Sign in with your passkey first")
	developer.wantPage(developer.get(home), http.StatusOK)

	secret, _ := owner.twoStep()
	owner.wantRedirect(owner.post(require, everyone), settings)
	owner.wantPage(owner.get(settings), http.StatusOK, "Everyone in the team now needs two-step sign-in", "Stop requiring", "1 of 3 in the team has none yet")
	owner.wantPage(owner.get("/dashboard/test/audit"), http.StatusOK, "two step required: false → true")
	b.audited(domain.AuditAccountChanged, 1)

	// The developer has none, and loses what was being sent.
	developer.wantRedirect(developer.post("/dashboard/test/sessions", fields("customer_email=jo@customer.example&customer_name=Jo")(developer, "")), me)
	developer.wantPage(developer.get(me), http.StatusOK, "Nothing was done", "Lender &amp; Sons requires it of everyone in the team")
	developer.twoStep()
	developer.wantPage(developer.get(home), http.StatusOK, "API keys")

	// A passkey doesn't count until it has signed in: the password may have leaked.
	byPasskey.wantRedirect(byPasskey.get(home), me)
	byPasskey.wantRedirect(byPasskey.post(me+"/two-step", nil), me)
	byPasskey.wantPage(byPasskey.get(me), http.StatusOK, "Sign in with your passkey", `action="/dashboard/sign-in/passkey"`)
	byPasskey.madeByPasskey(passkey)
	byPasskey.wantPage(byPasskey.get(home), http.StatusOK)

	// The last one stays.
	off := func() url.Values {
		b.clock.advance(time.Minute)
		return url.Values{"off_password": {b.account.Password}, "off_code": {b.code(secret, 0)}}
	}
	owner.wantPage(owner.get(me), http.StatusOK, "Add a passkey first, then you can turn this off")
	owner.wantPage(owner.post(me+"/two-step/off", off()), http.StatusUnprocessableEntity, "this is all you have for it", "10 of 10")
	byPasskey.wantPage(byPasskey.post(me+"/passkeys/"+passkey.String()+"/remove", nil), http.StatusUnprocessableEntity, "this is all you have for it", "Phone")
	b.passkeyOf(owner.ownerID())
	owner.wantPage(owner.get(me), http.StatusOK, "Your passkey will be your only way to sign in")
	owner.wantRedirect(owner.post(me+"/two-step/off", off()), me)
	owner.wantPage(owner.get(me), http.StatusOK, "Sign in with your passkey")

	byPasskey.wantRedirect(byPasskey.post(require, nil), settings)
	byPasskey.wantPage(byPasskey.get(settings), http.StatusOK, "Two-step sign-in is optional again", "Everyone in the team has one")
	owner.wantPage(owner.get(home), http.StatusOK)
}

// TestRequiredTwoStepAtSignIn: the password alone opens nothing for those who
// are invited, and for those whose second factors an operator has removed.
func TestRequiredTwoStepAtSignIn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	m := b.mailbox()
	b.requireTwoStep(true)
	_, err := b.service.Team.Invite(t.Context(), b.account.AccountID, someone, newInvitation("jules@lender.example", domain.RoleSupport))
	b.ok(err)
	guest := b.stranger()
	guest.openLetter(m.link(m.letter("jules@lender.example", "Join Lender & Sons on Candor")), "/dashboard/invitation")
	if answer := guest.post("/dashboard/invitation", url.Values{"name": {"Jules"}, "new_password": {goodPassword}}); answer.Code != http.StatusSeeOther {
		t.Fatalf("the invitation is answered with %d:\n%.1000s", answer.Code, answer.Body)
	}
	const home, me = "/dashboard/test", "/dashboard/test/me"
	guest.wantRedirect(guest.get(home), me)
	guest.twoStep()
	guest.wantPage(guest.get(home), http.StatusOK)

	_, err = b.service.Auth.ResetFactors(t.Context(), "jules@lender.example", someone)
	b.ok(err)
	again := b.stranger()
	again.wantRedirect(again.post("/dashboard/sign-in", signInForm("jules@lender.example", goodPassword)), "/dashboard")
	again.wantRedirect(again.get(home), me)
	again.wantPage(again.get(me), http.StatusOK, "Use an authenticator app", "Add a passkey")
	again.twoStep()
	again.wantPage(again.get(home), http.StatusOK)
}

// TestLastSecondFactorStays: of two passkeys that are removed at once, one stays.
func TestLastSecondFactorStays(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.requireTwoStep(true)
	owner := b.staff(domain.RoleOwner)
	p := &domain.Passkey{ID: domain.NewPasskeyID(), StaffID: owner.session.ID, CredentialID: []byte("second"), Name: "Laptop", Credential: []byte("{}"), CreatedAt: b.clock.Now()}
	b.ok(b.db.InTx(t.Context(), func(tx *db.Tx) error { return tx.InsertPasskey(t.Context(), p) }))
	ids := []domain.PasskeyID{b.passkeyOf(owner.session.ID), p.ID}
	var wg sync.WaitGroup
	b.ok(b.db.InTx(t.Context(), func(tx *db.Tx) error {
		if err := tx.LockStaff(t.Context(), owner.session.ID); err != nil {
			return err
		}
		for _, id := range ids {
			wg.Go(func() {
				// Only how many passkeys are left matters.
				_ = b.service.Auth.RemovePasskey(t.Context(), owner.session, id.String(), domain.Visitor{})
			})
		}
		b.waitingFor(2)
		return nil
	}))
	wg.Wait()
	if n := one[int](b, `SELECT count(*) FROM staff_passkey`); n != 1 {
		t.Errorf("%d passkeys are left of two that were removed at once, want 1", n)
	}
}

// firstPassword is a browser in which the owner of an account that an operator
// has made signs in with the password that was printed.
func firstPassword(b *bench) (*staffBrowser, *accounts.Created) {
	b.Helper()
	account, err := b.service.Accounts.Create(b.Context(), accounts.Params{Name: "Lender", Email: "first@lender.example", Plan: "starter", ChangePassword: true}, someone)
	b.ok(err)
	browser := b.stranger()
	browser.wantRedirect(browser.post("/dashboard/sign-in", signInForm(account.Email, account.Password)), "/dashboard")
	return browser, account
}

// TestFirstPasswordIsChanged: the password that `candor account create` prints
// opens nothing but the page on which its user chooses another.
func TestFirstPasswordIsChanged(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	browser, account := firstPassword(b)
	const home, me = "/dashboard/test", "/dashboard/test/me"
	browser.wantRedirect(browser.get(home), me)
	browser.wantPage(browser.get(me), http.StatusOK, "Choose your own password")
	change := func(current, password string) url.Values {
		return url.Values{"password": {current}, "new_password": {password}}
	}
	for _, wrong := range []struct{ current, password, message string }{
		{account.Password, account.Password, "other than your current one"},
		{"wrong", goodPassword, "That isn’t your password"},
		{account.Password, "short", "10 characters"},
	} {
		browser.wantPage(browser.post(me+"/password", change(wrong.current, wrong.password)), http.StatusUnprocessableEntity, "Choose your own password", wrong.message)
	}
	browser.wantRedirect(browser.get(home), me)
	browser.wantRedirect(browser.post(me+"/password", change(account.Password, goodPassword)), me)
	browser.wantPage(browser.get(me), http.StatusOK, "My account", "Password changed")
	browser.wantPage(browser.get(home), http.StatusOK)
	again := b.stranger()
	again.wantRedirect(again.post("/dashboard/sign-in", signInForm(account.Email, goodPassword)), "/dashboard")
	again.wantPage(again.get(home), http.StatusOK)
}

// TestResetReplacesTheFirstPassword: who chose a password by an email's link
// isn't asked for another.
func TestResetReplacesTheFirstPassword(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	m := b.mailbox()
	browser, account := firstPassword(b)
	browser.wantRedirect(browser.post("/dashboard/forgot", url.Values{"email": {account.Email}}), "/dashboard/letter-sent")
	browser.openLetter(m.link(m.letter(account.Email, "Choose a new password")), "/dashboard/reset")
	browser.wantRedirect(browser.post("/dashboard/reset", url.Values{"new_password": {goodPassword}}), "/dashboard/sign-in")
	browser.wantRedirect(browser.post("/dashboard/sign-in", signInForm(account.Email, goodPassword)), "/dashboard")
	browser.wantPage(browser.get("/dashboard/test"), http.StatusOK)
}

// TestDutiesInABrowser chooses a password, adds a passkey and signs in with it,
// then requires two-step sign-in of the team, as the first owner of an account
// does.
func TestDutiesInABrowser(t *testing.T) {
	t.Parallel()
	for i, options := range looks() {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			b, base, _ := serveNamed(t, "")
			_, err := b.db.Raw().ExecContext(t.Context(), `UPDATE staff_user SET must_change_password = true`)
			b.ok(err)
			b.requireTwoStep(true)
			tab := browsertest.New(t, options)
			tab.Open(base + "/dashboard/sign-in?then=%2Fdashboard%2Flive%2Fsettings")
			tab.Passkeys()
			tab.Type("#email", b.account.Email)
			tab.Type("#password", b.account.Password)
			tab.Click(".fields .button-primary")
			tab.WaitForText("h1", "Choose your own password")
			view(tab, "duty-password")
			tab.Type("#password", b.account.Password)
			tab.Type("#new_password", "short")
			tab.Click("main .button-primary")
			tab.WaitForFocus("error-summary")
			tab.Type("#password", b.account.Password)
			tab.Type("#new_password", goodPassword)
			tab.Click("main .button-primary")
			tab.WaitForText("h1", "Set up two-step sign-in")
			view(tab, "duty-factor")
			tab.Click("#passkeys .button")
			tab.WaitForText("h1", "Add a passkey")
			view(tab, "duty-passkey-new")
			tab.Click("main .button-primary")
			tab.WaitForText("h1", "Sign in with your passkey")
			tab.WaitForText("#announcement", "Passkey added")
			view(tab, "duty-by-passkey")
			tab.Click("main .button-primary")
			tab.WaitForText("h1", "Sign in with a passkey")
			tab.Click("main .button-primary")
			tab.WaitForText("h1", "Home")

			tab.Open(base + "/dashboard/live/settings")
			tab.Click("#require-two-step .button")
			tab.WaitForText("#announcement", "Two-step sign-in is optional again")
			view(tab, "settings-two-step")
			tab.Click("#require-two-step .button")
			tab.WaitForText("#announcement", "Everyone in the team now needs")
			view(tab, "settings-two-step-required")
			_, err = b.db.Raw().ExecContext(t.Context(), `UPDATE staff_user SET totp_secret = '\x', totp_since = created_at`)
			b.ok(err)
			tab.Open(base + "/dashboard/live/me")
			tab.Click("#two-step summary")
			view(tab, "me-two-step-off-passkey")
			_, err = b.db.Raw().ExecContext(t.Context(), `WITH gone AS (DELETE FROM staff_passkey) UPDATE staff_session SET passkey_id = NULL`)
			b.ok(err)
			tab.Open(base + "/dashboard/live/me")
			tab.Click("#two-step summary")
			tab.WaitForText("#two-step", "Add a passkey first")
			view(tab, "me-two-step-required")
		})
	}
}
