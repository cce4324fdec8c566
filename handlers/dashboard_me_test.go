package handlers_test

import (
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service/staff/team"
)

func newInvitation(email string, role domain.Role) team.InvitationParams {
	return team.InvitationParams{Email: email, Role: role}
}

func fieldsOf(err error) form.Errors {
	var own *domain.Error
	if errors.As(err, &own) {
		return own.Fields
	}
	return nil
}

// owner signs the account's owner in by the password.
func (b *bench) owner() *staffBrowser {
	b.Helper()
	browser := b.stranger()
	browser.wantRedirect(browser.post("/dashboard/sign-in", signInForm(b.account.Email, b.account.Password)), "/dashboard")
	return browser
}

const staffCookie = "__Host-candor_staff"

func TestChangePassword(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	browser, elsewhere := b.owner(), b.owner()
	before := browser.cookies[staffCookie]
	change := func(current, password string) url.Values {
		return url.Values{"password": {current}, "new_password": {password}}
	}
	const path = "/dashboard/test/me/password"
	browser.wantPage(browser.post(path, change("wrong", goodPassword)), http.StatusUnprocessableEntity, "That isn’t your password")
	browser.wantPage(browser.post(path, change(b.account.Password, "qwertyuiop")), http.StatusUnprocessableEntity, "first that others would try")
	browser.wantPage(browser.post(path, change(b.account.Password, "lender & sons")), http.StatusUnprocessableEntity, "must not be your name")
	elsewhere.wantPage(elsewhere.get("/dashboard/test"), http.StatusOK)

	browser.wantRedirect(browser.post(path, change(b.account.Password, goodPassword)), "/dashboard/test/me")
	answer := browser.get("/dashboard/test/me")
	browser.wantPage(answer, http.StatusOK, "Password changed")
	elsewhere.wantRedirect(elsewhere.get("/dashboard/test"), "/dashboard/sign-in?then=%2Fdashboard%2Ftest")
	thief := b.stranger()
	thief.cookies[staffCookie] = before
	thief.wantRedirect(thief.get("/dashboard/test"), "/dashboard/sign-in?then=%2Fdashboard%2Ftest")
	thief.wantPage(thief.post("/dashboard/sign-in", signInForm(b.account.Email, b.account.Password)), http.StatusUnprocessableEntity)
	thief.wantRedirect(thief.post("/dashboard/sign-in", signInForm(b.account.Email, goodPassword)), "/dashboard")
	b.audited(domain.AuditPasswordChanged, 1)
	b.wantNoTrace(goodPassword, b.account.Password)
}

func TestChangePasswordIsThrottled(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	browser := b.staff(domain.RoleFinance)
	form := url.Values{"password": {"wrong"}, "new_password": {goodPassword}}
	for range 10 {
		browser.wantPage(browser.post("/dashboard/test/me/password", form), http.StatusUnprocessableEntity, "That isn’t your password")
	}
	browser.wantPage(browser.post("/dashboard/test/me/password", form), http.StatusUnprocessableEntity, "too many attempts")
}

var secretOnPage = regexp.MustCompile(`id="totp-secret">([A-Z2-7 ]+)<`)
var recoveryOnPage = regexp.MustCompile(`[a-z0-9]{4}(?:-[a-z0-9]{4}){5}\b`)

// code is what an authenticator app shows at the bench's time, so many periods
// off.
func (b *bench) code(secret string, periods int) string {
	b.Helper()
	code, err := totp.GenerateCode(secret, b.clock.Now().Add(time.Duration(periods)*30*time.Second))
	b.ok(err)
	return code
}

func codeForm(code string) url.Values { return url.Values{"code": {code}} }

// twoStep turns two-step sign-in on and returns the secret and the recovery
// codes.
func (s *staffBrowser) twoStep() (secret string, recovery []string) {
	s.Helper()
	answer := s.post("/dashboard/test/me/two-step", nil)
	s.wantPage(answer, http.StatusOK, "<svg", "qr-dark")
	secret = strings.ReplaceAll(secretOnPage.FindStringSubmatch(answer.Body.String())[1], " ", "")
	s.wantPage(s.post("/dashboard/test/me/two-step/on", codeForm("000 000")), http.StatusUnprocessableEntity, "That code isn’t right", secret[:4])
	answer = s.post("/dashboard/test/me/two-step/on", codeForm(s.code(secret, 0)))
	s.wantPage(answer, http.StatusOK, "aren’t shown again")
	recovery = recoveryOnPage.FindAllString(answer.Body.String(), -1)
	if len(recovery) != 10 {
		s.Fatalf("%d recovery codes, want 10", len(recovery))
	}
	return secret, recovery
}

// halfIn is a browser that has given the password, and no code yet.
func (b *bench) halfIn() *staffBrowser {
	b.Helper()
	browser := b.stranger()
	form := signInForm(b.account.Email, b.account.Password)
	form.Set("then", "/dashboard/live")
	browser.wantRedirect(browser.post("/dashboard/sign-in", form), "/dashboard/sign-in/code?then=%2Fdashboard%2Flive")
	return browser
}

func TestTwoStepSignIn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	browser, elsewhere := b.owner(), b.owner()
	before := browser.cookies[staffCookie]
	secret, recovery := browser.twoStep()
	if browser.cookies[staffCookie] == before {
		t.Error("turning two-step sign-in on kept the token")
	}
	elsewhere.wantRedirect(elsewhere.get("/dashboard/test"), "/dashboard/sign-in?then=%2Fdashboard%2Ftest")
	answer := browser.get("/dashboard/test/me")
	browser.wantPage(answer, http.StatusOK, "10 of 10")
	if strings.Contains(answer.Body.String(), secret[:8]) || strings.Contains(answer.Body.String(), recovery[0]) {
		t.Error("the account's page shows a secret again")
	}

	half := b.halfIn()
	token := half.cookies[staffCookie]
	half.wantRedirect(half.get("/dashboard/test"), "/dashboard/sign-in?then=%2Fdashboard%2Ftest")
	half.wantRedirect(half.get("/dashboard/confirm"), "/dashboard/sign-in?then=%2Fdashboard%2Fconfirm")
	half.wantPage(half.get("/dashboard/sign-in/code?then=%2Fdashboard%2Flive"), http.StatusOK, `value="/dashboard/live"`)
	half.wantPage(half.post("/dashboard/sign-in/code", codeForm(b.code(secret, 0))), http.StatusUnprocessableEntity, "was used already")
	half.wantPage(half.post("/dashboard/sign-in/code", codeForm(b.code(secret, -2))), http.StatusUnprocessableEntity, "That code isn’t right")
	form := codeForm(b.code(secret, 1))
	form.Set("then", "https://evil.example/")
	half.wantRedirect(half.post("/dashboard/sign-in/code", form), "/dashboard")
	half.wantPage(half.get("/dashboard/test"), http.StatusOK)
	thief := b.stranger()
	thief.cookies[staffCookie] = token
	thief.wantRedirect(thief.get("/dashboard/test"), "/dashboard/sign-in?then=%2Fdashboard%2Ftest")
	thief.wantRedirect(thief.get("/dashboard/sign-in/code"), "/dashboard/sign-in?then=%2Fdashboard")
	half.wantRedirect(half.get("/dashboard/sign-in/code"), "/dashboard/sign-in?then=%2Fdashboard")

	b.clock.advance(time.Minute)
	late := b.halfIn()
	b.clock.advance(domain.StaffHalfOpen)
	late.wantRedirect(late.post("/dashboard/sign-in/code", codeForm(b.code(secret, 0))), "/dashboard/sign-in?then=%2Fdashboard")
	b.audited(domain.AuditSignedIn, 3)
	b.audited(domain.AuditTwoStepOn, 1)
	b.wantNoTrace(append(recovery, secret)...)
}

// TestCodeIsUsedOnce: of two browsers that send the same code at once, one
// gets in.
func TestCodeIsUsedOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	secret, recovery := b.owner().twoStep()
	b.clock.advance(time.Minute)
	for name, code := range map[string]string{"the app's": b.code(secret, 0), "a recovery code": recovery[3]} {
		browsers := []*staffBrowser{b.halfIn(), b.halfIn(), b.halfIn()}
		in := make([]bool, len(browsers))
		var wg sync.WaitGroup
		for i, browser := range browsers {
			wg.Go(func() {
				in[i] = browser.post("/dashboard/sign-in/code", codeForm(code)).Code == http.StatusSeeOther
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
	b := newBench(t)
	m := b.mailbox()
	owner := b.owner()
	_, recovery := owner.twoStep()
	m.letter(b.account.Email, "Two-step sign-in is on")
	half := b.halfIn()
	half.cookies[deviceCookie] = owner.cookies[deviceCookie]
	half.wantRedirect(half.post("/dashboard/sign-in/code", codeForm(" "+strings.ToUpper(strings.ReplaceAll(recovery[0], "-", " ")))), "/dashboard")
	m.letter(b.account.Email, "A recovery code was used")
	again := b.halfIn()
	again.cookies[deviceCookie] = owner.cookies[deviceCookie]
	again.wantPage(again.post("/dashboard/sign-in/code", codeForm(recovery[0])), http.StatusUnprocessableEntity)
	owner.wantPage(owner.get("/dashboard/test/me"), http.StatusOK, "9 of 10")
	answer := owner.post("/dashboard/test/me/recovery-codes", nil)
	renewed := recoveryOnPage.FindAllString(answer.Body.String(), -1)
	if len(renewed) != 10 {
		t.Fatalf("%d new recovery codes, want 10", len(renewed))
	}
	again.wantPage(again.post("/dashboard/sign-in/code", codeForm(recovery[1])), http.StatusUnprocessableEntity)
	again.wantRedirect(again.post("/dashboard/sign-in/code", codeForm(renewed[1])), "/dashboard")
	m.letter(b.account.Email, "A recovery code was used")
	b.audited(domain.AuditRecoveryCodeUsed, 2)
	b.audited(domain.AuditRecoveryCodesMade, 1)
	var stored string
	b.ok(b.db.Raw().GetContext(b.Context(), &stored, `SELECT string_agg(encode(hash, 'escape'), ' ') FROM staff_recovery_code`))
	if strings.Contains(stored, strings.ReplaceAll(renewed[2], "-", "")) {
		t.Error("recovery codes are stored in clear")
	}
	b.wantNoTrace(append(recovery, renewed...)...)
}

// TestRecoveryCodesAreLong: a recovery code has at least 112 bits, and one that
// was made before, with 80, still signs in.
func TestRecoveryCodesAreLong(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, recovery := b.owner().twoStep()
	const alphabet = "abcdefghjkmnpqrstvwxyz0123456789" // 5 bits a character
	seen := map[string]bool{}
	for _, code := range recovery {
		plain := strings.ReplaceAll(code, "-", "")
		if 5*len(plain) < 112 || strings.Trim(plain, alphabet) != "" || seen[plain] {
			t.Errorf("recovery code %q: want at least 112 bits of %s, each code once", code, alphabet)
		}
		seen[plain] = true
	}
	_, err := b.db.Raw().ExecContext(t.Context(), `
		INSERT INTO staff_recovery_code (staff_id, hash) SELECT staff_id, sha256('abcd1234efgh5678') FROM staff_recovery_code LIMIT 1`)
	b.ok(err)
	half := b.halfIn()
	half.wantRedirect(half.post("/dashboard/sign-in/code", codeForm("ABCD-1234 efgh–5678")), "/dashboard")
}

func TestTurnTwoStepOff(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	owner := b.owner()
	secret, recovery := owner.twoStep()
	const path = "/dashboard/test/me/two-step/off"
	off := func(password, code string) url.Values {
		return url.Values{"off_password": {password}, "off_code": {code}}
	}
	b.clock.advance(time.Minute)
	owner.wantPage(owner.post(path, off("wrong", b.code(secret, 0))), http.StatusUnprocessableEntity, "That isn’t your password", `href="#off_password"`)
	for _, code := range []string{"", "000000", "abcd-abcd-abcd-abcd-abcd-abcd"} {
		owner.wantPage(owner.post(path, off(b.account.Password, code)), http.StatusUnprocessableEntity, "That code isn’t right", `href="#off_code"`)
	}
	b.audited(domain.AuditCodeRefused, 1) // the first of three from this network
	owner.wantPage(owner.get("/dashboard/test/me"), http.StatusOK, "10 of 10")
	owner.wantRedirect(owner.post(path, off(b.account.Password, recovery[4])), "/dashboard/test/me")
	owner.wantPage(owner.get("/dashboard/test/me"), http.StatusOK, "Two-step sign-in is off")
	b.owner() // by the password alone
	var left int
	b.ok(b.db.Raw().GetContext(b.Context(), &left, `SELECT count(*) FROM staff_recovery_code`))
	if left != 0 {
		t.Errorf("%d recovery codes are left", left)
	}
	b.audited(domain.AuditTwoStepOff, 1)

	// The code that the app shows does it, too.
	secret, _ = owner.twoStep()
	b.clock.advance(time.Minute)
	owner.wantRedirect(owner.post(path, off(b.account.Password, b.code(secret, 0))), "/dashboard/test/me")
	b.audited(domain.AuditTwoStepOff, 2)
}

// madeByPasskey makes the browser's session one that the passkey made.
func (s *staffBrowser) madeByPasskey(id domain.PasskeyID) {
	s.Helper()
	_, err := s.db.Raw().ExecContext(s.Context(), `UPDATE staff_session SET passkey_id = $2 WHERE id = $1`, s.session.SessionID, id)
	s.ok(err)
}

// TestTurnTwoStepOffByPasskey: a session that was lately made by a passkey needs
// no code, an older one does.
func TestTurnTwoStepOffByPasskey(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var hash string
	b.ok(b.db.Raw().GetContext(t.Context(), &hash, `SELECT password_hash FROM staff_user WHERE email = $1`, b.account.Email))
	off := url.Values{"off_password": {b.account.Password}}
	const path = "/dashboard/test/me/two-step/off"
	for late, status := range map[bool]int{false: http.StatusSeeOther, true: http.StatusUnprocessableEntity} {
		owner := b.staff(domain.RoleOwner)
		_, err := b.db.Raw().ExecContext(t.Context(), `UPDATE staff_user SET password_hash = $2, totp_secret = '\x', totp_since = created_at WHERE id = $1`, owner.session.ID, hash)
		b.ok(err)
		owner.madeByPasskey(b.passkeyOf(owner.session.ID))
		if late {
			_, err := b.db.Raw().ExecContext(t.Context(), `UPDATE staff_session SET created_at = created_at - interval '15 minutes' WHERE id = $1`, owner.session.SessionID)
			b.ok(err)
			_, err = b.db.Raw().ExecContext(t.Context(), `UPDATE staff_user SET totp_secret = NULL, totp_pending = NULL WHERE id = $1`, owner.session.ID)
			b.ok(err)
			owner.twoStep()
		} else {
			owner.wantPage(owner.get("/dashboard/test/me"), http.StatusOK, "No code is needed")
		}
		if got := owner.post(path, off); got.Code != status {
			t.Errorf("passkey of 15 minutes ago %v: %d, want %d", late, got.Code, status)
		}
	}
}

// TestPasskeysEndWithTheirSessions: removing a passkey signs out the browsers
// that signed in with it, and no others. A reset password signs out all, and its
// email lists the passkeys that still sign in.
func TestPasskeysEndWithTheirSessions(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	m := b.mailbox()
	owner, thief, own := b.staff(domain.RoleOwner), b.staff(domain.RoleOwner), b.staff(domain.RoleOwner)
	for _, other := range []*staffBrowser{thief, own} {
		_, err := b.db.Raw().ExecContext(t.Context(), `UPDATE staff_session SET staff_id = $2 WHERE id = $1`, other.session.SessionID, owner.session.ID)
		b.ok(err)
	}
	id := b.passkeyOf(owner.session.ID)
	thief.madeByPasskey(id)
	signedOut := func(browser *staffBrowser) {
		t.Helper()
		browser.wantRedirect(browser.get("/dashboard/test"), "/dashboard/sign-in?then=%2Fdashboard%2Ftest")
	}
	thief.wantPage(thief.get("/dashboard/test"), http.StatusOK)
	owner.wantRedirect(owner.post("/dashboard/test/me/passkeys/"+id.String()+"/remove", nil), "/dashboard/test/me")
	m.letter(owner.session.Email, "A passkey was removed")
	owner.wantPage(owner.get("/dashboard/test/me"), http.StatusOK, "Browsers that signed in with it were signed out")
	signedOut(thief)

	id = b.passkeyOf(owner.session.ID)
	own.madeByPasskey(id)
	own.wantRedirect(own.post("/dashboard/test/me/passkeys/"+id.String()+"/remove", nil), "/dashboard/sign-in")
	own.wantPage(own.get("/dashboard/sign-in"), http.StatusOK, "You had signed in with it here")
	m.letter(owner.session.Email, "A passkey was removed")

	owner.madeByPasskey(b.passkeyOf(owner.session.ID))
	owner.wantPage(owner.get("/dashboard/test"), http.StatusOK)
	browser := b.stranger()
	browser.wantRedirect(browser.post("/dashboard/forgot", url.Values{"email": {owner.session.Email}}), "/dashboard/letter-sent")
	browser.openLetter(m.link(m.letter(owner.session.Email, "Choose a new password")), "/dashboard/reset")
	browser.wantRedirect(browser.post("/dashboard/reset", url.Values{"new_password": {goodPassword}}), "/dashboard/sign-in")
	signedOut(owner)
	letter := m.letter(owner.session.Email, "Your password was changed")
	for _, want := range []string{"These passkeys still sign in", "“Phone”, added on 20 November 2026", "/dashboard/live/me#passkeys"} {
		if !strings.Contains(letter.Text, want) || !strings.Contains(letter.HTML, want) {
			t.Errorf("the email lacks %q:\n%s", want, letter.Text)
		}
	}
}

func TestCodesAreThrottled(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	secret, _ := b.owner().twoStep()
	b.clock.advance(time.Minute)
	for range 5 {
		half := b.halfIn()
		half.wantPage(half.post("/dashboard/sign-in/code", codeForm("123456")), http.StatusUnprocessableEntity)
	}
	half := b.halfIn()
	half.wantPage(half.post("/dashboard/sign-in/code", codeForm(b.code(secret, 0))), http.StatusTooManyRequests, "too many attempts")
}

func TestSetUpAsksForThePassword(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	owner := b.owner()
	b.clock.advance(domain.StaffConfirmed)
	for _, path := range []string{"/dashboard/test/me/two-step", "/dashboard/test/me/recovery-codes", "/dashboard/test/me/two-step/on"} {
		owner.wantPrompt(owner.post(path, nil), "/dashboard/test/me")
	}
}

func TestBrowsers(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	browser, second, third := b.owner(), b.owner(), b.owner()
	foreign := b.staff(domain.RoleOwner)
	answer := browser.get("/dashboard/test/me")
	browser.wantPage(answer, http.StatusOK, "This browser", "Sign out everywhere else", "192.0.2.1")
	paths := regexp.MustCompile(`/dashboard/test/me/sessions/sts_[a-z0-9]+/end`).FindAllString(answer.Body.String(), -1)
	if len(paths) != 2 {
		t.Fatalf("%d browsers can be signed out, want the two others", len(paths))
	}
	browser.wantRedirect(browser.post(paths[0], nil), "/dashboard/test/me")
	browser.wantPage(browser.get("/dashboard/test/me"), http.StatusOK, "That browser is signed out")
	browser.wantPage(browser.post(paths[0], nil), http.StatusNotFound, "signed out already")
	browser.wantPage(browser.post("/dashboard/test/me/sessions/"+foreign.session.SessionID.String()+"/end", nil), http.StatusNotFound)
	browser.wantPage(browser.post("/dashboard/test/me/sessions/nonsense/end", nil), http.StatusNotFound)
	n := 0
	for _, one := range []*staffBrowser{second, third} {
		if one.get("/dashboard/test").Code == http.StatusOK {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d of the two other browsers are signed in, want one", n)
	}
	browser.wantRedirect(browser.post("/dashboard/test/me/sessions/end-others", nil), "/dashboard/test/me")
	for _, one := range []*staffBrowser{second, third} {
		one.wantRedirect(one.get("/dashboard/test"), "/dashboard/sign-in?then=%2Fdashboard%2Ftest")
	}
	browser.wantPage(browser.get("/dashboard/test"), http.StatusOK)
	foreign.wantPage(foreign.get("/dashboard/test"), http.StatusOK)
	b.audited(domain.AuditSessionsEnded, 2)
}
