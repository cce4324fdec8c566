package dashboard_test

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/testkit/harness"
)

func fieldsOf(err error) form.Errors {
	if own, ok := errors.AsType[*domain.Error](err); ok {
		return own.Fields
	}
	return nil
}

const staffCookie = "__Host-candor_staff"

func TestChangePassword(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	browser, elsewhere := h.Owner(), h.Owner()
	before := browser.Cookies[staffCookie]
	change := func(current, password string) url.Values {
		return url.Values{"password": {current}, "new_password": {password}}
	}
	const path = "/dashboard/test/me/password"
	browser.WantPage(browser.Post(path, change("wrong", harness.GoodPassword)), http.StatusUnprocessableEntity,
		"That isn’t your password")
	browser.WantPage(browser.Post(path, change(h.Account.Password, "qwertyuiop")), http.StatusUnprocessableEntity, "too common")
	browser.WantPage(browser.Post(path, change(h.Account.Password, "lender & sons")), http.StatusUnprocessableEntity,
		"can’t be your name")
	elsewhere.WantPage(elsewhere.Get("/dashboard/test"), http.StatusOK)

	browser.WantRedirect(browser.Post(path, change(h.Account.Password, harness.GoodPassword)), "/dashboard/test/me")
	answer := browser.Get("/dashboard/test/me")
	browser.WantPage(answer, http.StatusOK, "Password changed")
	elsewhere.WantRedirect(elsewhere.Get("/dashboard/test"), "/dashboard/sign-in?then=%2Fdashboard%2Ftest")
	thief := h.SignedOut()
	thief.Cookies[staffCookie] = before
	thief.WantRedirect(thief.Get("/dashboard/test"), "/dashboard/sign-in?then=%2Fdashboard%2Ftest")
	thief.WantPage(thief.Post("/dashboard/sign-in", harness.SignInForm(h.Account.Email, h.Account.Password)),
		http.StatusUnprocessableEntity)
	thief.WantRedirect(thief.Post("/dashboard/sign-in", harness.SignInForm(h.Account.Email, harness.GoodPassword)), "/dashboard")
	audited(h, domain.AuditPasswordChanged, 1)
	wantNoTrace(h, harness.GoodPassword, h.Account.Password)
}

func TestChangePasswordIsThrottled(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	browser := h.Staff(domain.RoleFinance)
	form := url.Values{"password": {"wrong"}, "new_password": {harness.GoodPassword}}
	for range 10 {
		browser.WantPage(browser.Post("/dashboard/test/me/password", form), http.StatusUnprocessableEntity, "That isn’t your password")
	}
	browser.WantPage(browser.Post("/dashboard/test/me/password", form), http.StatusUnprocessableEntity, "too many attempts")
}

func TestTwoStepSignIn(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	browser, elsewhere := h.Owner(), h.Owner()
	before := browser.Cookies[staffCookie]
	secret, recovery := browser.TwoStep()
	if browser.Cookies[staffCookie] == before {
		t.Error("turning two-step sign-in on kept the token")
	}
	elsewhere.WantRedirect(elsewhere.Get("/dashboard/test"), "/dashboard/sign-in?then=%2Fdashboard%2Ftest")
	answer := browser.Get("/dashboard/test/me")
	browser.WantPage(answer, http.StatusOK, "10 of 10")
	if strings.Contains(answer.Body.String(), secret[:8]) || strings.Contains(answer.Body.String(), recovery[0]) {
		t.Error("the account's page shows a secret again")
	}

	half := h.HalfIn()
	token := half.Cookies[staffCookie]
	half.WantRedirect(half.Get("/dashboard/test"), "/dashboard/sign-in?then=%2Fdashboard%2Ftest")
	half.WantRedirect(half.Get("/dashboard/confirm"), "/dashboard/sign-in?then=%2Fdashboard%2Fconfirm")
	half.WantPage(half.Get("/dashboard/sign-in/code?then=%2Fdashboard%2Flive"), http.StatusOK).WantField("then", "/dashboard/live")
	half.WantPage(half.Post("/dashboard/sign-in/code", harness.CodeForm(h.Code(secret, 0))), http.StatusUnprocessableEntity,
		"already used")
	half.WantPage(half.Post("/dashboard/sign-in/code", harness.CodeForm(h.Code(secret, -2))), http.StatusUnprocessableEntity,
		"That code is wrong")
	form := harness.CodeForm(h.Code(secret, 1))
	form.Set("then", "https://evil.example/")
	half.WantRedirect(half.Post("/dashboard/sign-in/code", form), "/dashboard")
	half.WantPage(half.Get("/dashboard/test"), http.StatusOK)
	thief := h.SignedOut()
	thief.Cookies[staffCookie] = token
	thief.WantRedirect(thief.Get("/dashboard/test"), "/dashboard/sign-in?then=%2Fdashboard%2Ftest")
	thief.WantRedirect(thief.Get("/dashboard/sign-in/code"), "/dashboard/sign-in?then=%2Fdashboard")
	half.WantRedirect(half.Get("/dashboard/sign-in/code"), "/dashboard/sign-in?then=%2Fdashboard")

	h.Clock.Advance(time.Minute)
	late := h.HalfIn()
	h.Clock.Advance(domain.StaffHalfOpen)
	late.WantRedirect(late.Post("/dashboard/sign-in/code", harness.CodeForm(h.Code(secret, 0))),
		"/dashboard/sign-in?then=%2Fdashboard")
	audited(h, domain.AuditSignedIn, 3)
	audited(h, domain.AuditTwoStepOn, 1)
	wantNoTrace(h, append(recovery, secret)...)
}

// TestCodeIsUsedOnce: of two browsers that send the same code at once, one
// gets in.
func TestCodeIsUsedOnce(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	secret, recovery := h.Owner().TwoStep()
	h.Clock.Advance(time.Minute)
	for name, code := range map[string]string{"the app's": h.Code(secret, 0), "a recovery code": recovery[3]} {
		browsers := []*harness.StaffBrowser{h.HalfIn(), h.HalfIn(), h.HalfIn()}
		in := make([]bool, len(browsers))
		var wg sync.WaitGroup
		for i, browser := range browsers {
			wg.Go(func() {
				in[i] = browser.Post("/dashboard/sign-in/code", harness.CodeForm(code)).Code == http.StatusSeeOther
			})
		}
		wg.Wait()
		n := 0
		for _, one := range in {
			if one {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%s let %d browsers in, want one", name, n)
		}
	}
}

func TestRecoveryCodes(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	m := h.Mailbox()
	owner := h.Owner()
	_, recovery := owner.TwoStep()
	m.Email(h.Account.Email, "Two-step sign-in is on")
	half := h.HalfIn()
	half.Cookies[deviceCookie] = owner.Cookies[deviceCookie]
	half.WantRedirect(half.Post("/dashboard/sign-in/code", harness.CodeForm(" "+strings.ToUpper(strings.ReplaceAll(recovery[0],
		"-", " ")))), "/dashboard")
	m.Email(h.Account.Email, "A recovery code was used")
	again := h.HalfIn()
	again.Cookies[deviceCookie] = owner.Cookies[deviceCookie]
	again.WantPage(again.Post("/dashboard/sign-in/code", harness.CodeForm(recovery[0])), http.StatusUnprocessableEntity)
	owner.WantPage(owner.Get("/dashboard/test/me"), http.StatusOK, "9 of 10")
	answer := owner.Post("/dashboard/test/me/recovery-codes", nil)
	renewed := harness.RecoveryCodes(owner.WantPage(answer, http.StatusOK))
	if len(renewed) != 10 {
		t.Fatalf("%d new recovery codes, want 10", len(renewed))
	}
	again.WantPage(again.Post("/dashboard/sign-in/code", harness.CodeForm(recovery[1])), http.StatusUnprocessableEntity)
	again.WantRedirect(again.Post("/dashboard/sign-in/code", harness.CodeForm(renewed[1])), "/dashboard")
	m.Email(h.Account.Email, "A recovery code was used")
	audited(h, domain.AuditRecoveryCodeUsed, 2)
	audited(h, domain.AuditRecoveryCodesMade, 1)
	stored := harness.QueryOne[string](h, `SELECT string_agg(encode(hash, 'escape'), ' ') FROM staff_recovery_code`)
	if strings.Contains(stored, strings.ReplaceAll(renewed[2], "-", "")) {
		t.Error("recovery codes are stored in clear")
	}
	wantNoTrace(h, append(recovery, renewed...)...)
}

// TestRecoveryCodesAreLong: a recovery code has at least 112 bits, and one that
// was made before, with 80, still signs in.
func TestRecoveryCodesAreLong(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	_, recovery := h.Owner().TwoStep()
	const alphabet = "abcdefghjkmnpqrstvwxyz0123456789" // 5 bits a character
	seen := map[string]bool{}
	for _, code := range recovery {
		plain := strings.ReplaceAll(code, "-", "")
		if 5*len(plain) < 112 || strings.Trim(plain, alphabet) != "" || seen[plain] {
			t.Errorf("recovery code %q: want at least 112 bits of %s, each code once", code, alphabet)
		}
		seen[plain] = true
	}
	execSQL(h, `
		INSERT INTO staff_recovery_code (staff_id, hash) SELECT staff_id, sha256('abcd1234efgh5678') FROM staff_recovery_code LIMIT 1`)
	half := h.HalfIn()
	half.WantRedirect(half.Post("/dashboard/sign-in/code", harness.CodeForm("ABCD-1234 efgh–5678")), "/dashboard")
}

func TestTurnTwoStepOff(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	owner := h.Owner()
	secret, recovery := owner.TwoStep()
	const path = "/dashboard/test/me/two-step/off"
	off := func(password, code string) url.Values {
		return url.Values{"off_password": {password}, "off_code": {code}}
	}
	h.Clock.Advance(time.Minute)
	owner.WantPage(owner.Post(path, off("wrong", h.Code(secret, 0))), http.StatusUnprocessableEntity).
		WantError("off_password", "That isn’t your password")
	for _, code := range []string{"", "000000", "abcd-abcd-abcd-abcd-abcd-abcd"} {
		owner.WantPage(owner.Post(path, off(h.Account.Password, code)), http.StatusUnprocessableEntity).
			WantError("off_code", "That code is wrong")
	}
	audited(h, domain.AuditCodeRefused, 1) // the first of three from this network
	owner.WantPage(owner.Get("/dashboard/test/me"), http.StatusOK, "10 of 10")
	owner.WantRedirect(owner.Post(path, off(h.Account.Password, recovery[4])), "/dashboard/test/me")
	owner.WantPage(owner.Get("/dashboard/test/me"), http.StatusOK, "Two-step sign-in is off")
	h.Owner() // by the password alone
	if left := harness.QueryOne[int](h, `SELECT count(*) FROM staff_recovery_code`); left != 0 {
		t.Errorf("%d recovery codes are left", left)
	}
	audited(h, domain.AuditTwoStepOff, 1)

	// The code that the app shows does it, too.
	secret, _ = owner.TwoStep()
	h.Clock.Advance(time.Minute)
	owner.WantRedirect(owner.Post(path, off(h.Account.Password, h.Code(secret, 0))), "/dashboard/test/me")
	audited(h, domain.AuditTwoStepOff, 2)
}

// madeByPasskey makes the browser's session one that the passkey made.
func madeByPasskey(s *harness.StaffBrowser, id domain.PasskeyID) {
	s.Helper()
	execSQL(s.Harness, `UPDATE staff_session SET passkey_id = $2 WHERE id = $1`, s.Session.SessionID, id)
}

// TestTurnTwoStepOffByPasskey: a session that was lately made by a passkey needs
// no code, an older one does.
func TestTurnTwoStepOffByPasskey(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	hash := harness.QueryOne[string](h, `SELECT password_hash FROM staff_user WHERE email = $1`, h.Account.Email)
	off := url.Values{"off_password": {h.Account.Password}}
	const path = "/dashboard/test/me/two-step/off"
	for late, status := range map[bool]int{false: http.StatusSeeOther, true: http.StatusUnprocessableEntity} {
		owner := h.Staff(domain.RoleOwner)
		execSQL(h, `UPDATE staff_user SET password_hash = $2, totp_secret = '\x', totp_since = created_at WHERE id = $1`,
			owner.Session.ID, hash)
		madeByPasskey(owner, h.PasskeyOf(owner.Session.ID))
		if late {
			execSQL(h, `UPDATE staff_session SET created_at = created_at - interval '15 minutes' WHERE id = $1`, owner.Session.SessionID)
			execSQL(h, `UPDATE staff_user SET totp_secret = NULL, totp_pending = NULL WHERE id = $1`, owner.Session.ID)
			owner.TwoStep()
		} else {
			owner.WantPage(owner.Get("/dashboard/test/me"), http.StatusOK, "No code is needed")
		}
		if got := owner.Post(path, off); got.Code != status {
			t.Errorf("passkey of 15 minutes ago %v: %d, want %d", late, got.Code, status)
		}
	}
}

// TestPasskeysEndWithTheirSessions: removing a passkey signs out the browsers
// that signed in with it, and no others. A reset password signs out all, and its
// email lists the passkeys that still sign in.
func TestPasskeysEndWithTheirSessions(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	m := h.Mailbox()
	owner, thief, own := h.Staff(domain.RoleOwner), h.Staff(domain.RoleOwner), h.Staff(domain.RoleOwner)
	for _, other := range []*harness.StaffBrowser{thief, own} {
		execSQL(h, `UPDATE staff_session SET staff_id = $2 WHERE id = $1`, other.Session.SessionID, owner.Session.ID)
	}
	id := h.PasskeyOf(owner.Session.ID)
	madeByPasskey(thief, id)
	signedOut := func(browser *harness.StaffBrowser) {
		t.Helper()
		browser.WantRedirect(browser.Get("/dashboard/test"), "/dashboard/sign-in?then=%2Fdashboard%2Ftest")
	}
	thief.WantPage(thief.Get("/dashboard/test"), http.StatusOK)
	owner.WantRedirect(owner.Post("/dashboard/test/me/passkeys/"+id.String()+"/remove", nil), "/dashboard/test/me")
	m.Email(owner.Session.Email, "A passkey was removed")
	owner.WantPage(owner.Get("/dashboard/test/me"), http.StatusOK, "Browsers that signed in with it were signed out")
	signedOut(thief)

	id = h.PasskeyOf(owner.Session.ID)
	madeByPasskey(own, id)
	own.WantRedirect(own.Post("/dashboard/test/me/passkeys/"+id.String()+"/remove", nil), "/dashboard/sign-in")
	own.WantPage(own.Get("/dashboard/sign-in"), http.StatusOK, "You were signed in with it")
	m.Email(owner.Session.Email, "A passkey was removed")

	madeByPasskey(owner, h.PasskeyOf(owner.Session.ID))
	owner.WantPage(owner.Get("/dashboard/test"), http.StatusOK)
	browser := h.SignedOut()
	browser.WantRedirect(browser.Post("/dashboard/forgot", url.Values{"email": {owner.Session.Email}}), "/dashboard/letter-sent")
	openEmail(browser, m.Link(m.Email(owner.Session.Email, "Choose a new password")), "/dashboard/reset")
	browser.WantRedirect(browser.Post("/dashboard/reset", url.Values{"new_password": {harness.GoodPassword}}), "/dashboard/sign-in")
	signedOut(owner)
	email := m.Email(owner.Session.Email, "Your password was changed")
	for _, want := range []string{"These passkeys still sign in", "“Phone”, added on 20 November 2026",
		"/dashboard/live/me#passkeys"} {
		if !strings.Contains(email.Text, want) || !strings.Contains(email.HTML, want) {
			t.Errorf("the email lacks %q:\n%s", want, email.Text)
		}
	}
}

func TestOwnSessions(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	browser, second, third := h.Owner(), h.Owner(), h.Owner()
	foreign := h.Staff(domain.RoleOwner)
	paths := browser.WantPage(browser.Get("/dashboard/test/me"), http.StatusOK, "This browser", "192.0.2.1").
		Offers("Sign out everywhere else").Leads("/dashboard/test/me/sessions/sts_")
	if len(paths) != 2 {
		t.Fatalf("%d browsers can be signed out, want the two others", len(paths))
	}
	browser.WantRedirect(browser.Post(paths[0], nil), "/dashboard/test/me")
	browser.WantPage(browser.Get("/dashboard/test/me"), http.StatusOK, "Browser signed out")
	browser.WantPage(browser.Post(paths[0], nil), http.StatusNotFound, "signed out already")
	browser.WantPage(browser.Post("/dashboard/test/me/sessions/"+foreign.Session.SessionID.String()+"/end", nil),
		http.StatusNotFound)
	browser.WantPage(browser.Post("/dashboard/test/me/sessions/nonsense/end", nil), http.StatusNotFound)
	n := 0
	for _, one := range []*harness.StaffBrowser{second, third} {
		if one.Get("/dashboard/test").Code == http.StatusOK {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d of the two other browsers are signed in, want one", n)
	}
	browser.WantRedirect(browser.Post("/dashboard/test/me/sessions/end-others", nil), "/dashboard/test/me")
	for _, one := range []*harness.StaffBrowser{second, third} {
		one.WantRedirect(one.Get("/dashboard/test"), "/dashboard/sign-in?then=%2Fdashboard%2Ftest")
	}
	browser.WantPage(browser.Get("/dashboard/test"), http.StatusOK)
	foreign.WantPage(foreign.Get("/dashboard/test"), http.StatusOK)
	audited(h, domain.AuditSessionsEnded, 2)
}

// TestAlertEmailsAreChosen: developers choose which alerts they get, and those
// who open no webhooks aren't asked.
func TestAlertEmailsAreChosen(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	developer, support := h.Staff(domain.RoleDeveloper), h.Staff(domain.RoleSupport)
	const path, action = "/dashboard/test/me", "/dashboard/test/me/emails"
	page := developer.WantPage(developer.Get(path), http.StatusOK, "Email me when").Offers("Save emails")
	if strings.Count(page.Source, "checked") != 2 {
		t.Error("alerts aren't on at first")
	}
	developer.WantRedirect(developer.Post(action, url.Values{"keys": {"on"}}), path)
	reader, err := h.DB.AlertReader(t.Context(), developer.Session.ID)
	if h.OK(err); reader.AlertEmails != (domain.AlertEmails{Keys: true}) {
		t.Errorf("stored %+v, want those about keys alone", reader.AlertEmails)
	}
	developer.WantPage(developer.Get(path), http.StatusOK, "Saved. This applies to emails from now on.")
	if strings.Contains(support.Get(path).Body.String(), "Email me when") {
		t.Error("support is asked about webhooks")
	}
	support.WantPage(support.Post(action, url.Values{"webhooks": {"on"}}), http.StatusForbidden)
}
