package handlers_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"candor/db"
	"candor/handlers"
	"candor/internal/domain"
	"candor/internal/service/staff/passwords"
	"candor/internal/testkit/servicetest"
)

func signInForm(email, password string) url.Values {
	return url.Values{"email": {email}, "password": {password}}
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	browser := b.stranger()
	browser.wantRedirect(browser.get("/dashboard/test"), "/dashboard/sign-in?then=%2Fdashboard%2Ftest")
	browser.wantPage(browser.get("/dashboard/sign-in?then=%2Fdashboard%2Ftest"), http.StatusOK, `value="/dashboard/test"`)

	answer := browser.post("/dashboard/sign-in", signInForm("", ""))
	browser.wantPage(answer, http.StatusUnprocessableEntity, "Enter your e-mail address", "Enter your password")

	for _, email := range []string{b.account.Email, "nobody@lender.example"} {
		answer = browser.post("/dashboard/sign-in", signInForm(email, "wrong"))
		browser.wantPage(answer, http.StatusUnprocessableEntity, "The e-mail address or the password is wrong.")
	}
	if len(browser.cookies) != 0 {
		t.Fatalf("a wrong password left %v", browser.cookies)
	}

	form := signInForm(strings.ToUpper(b.account.Email), b.account.Password)
	form.Set("then", "/dashboard/live")
	answer = browser.post("/dashboard/sign-in", form)
	browser.wantRedirect(answer, "/dashboard/live")
	cookie := answer.Result().Cookies()[0]
	if !cookie.HttpOnly || !cookie.Secure || cookie.SameSite != http.SameSiteLaxMode || cookie.Path != "/" || cookie.Domain != "" || cookie.Name != "__Host-candor_staff" {
		t.Errorf("cookie %+v", cookie)
	}
	browser.wantPage(browser.get("/dashboard/live"), http.StatusOK, "Home", b.account.Email)
	browser.wantRedirect(browser.get("/dashboard/sign-in"), "/dashboard")

	token := browser.cookies["__Host-candor_staff"]
	_, err := b.db.Raw().ExecContext(b.Context(), `UPDATE staff_session SET address = '203.0.113.9'`)
	b.ok(err)
	browser.wantRedirect(browser.post("/dashboard/sign-out", nil), "/dashboard/sign-in")
	var elsewhere int
	b.ok(b.db.Raw().GetContext(b.Context(), &elsewhere, `SELECT count(*) FROM audit_log WHERE address = '203.0.113.9'`))
	if elsewhere != 0 {
		t.Error("signing out is noted as from where the browser signed in")
	}
	browser.cookies["__Host-candor_staff"] = token
	browser.wantRedirect(browser.get("/dashboard/live"), "/dashboard/sign-in?then=%2Fdashboard%2Flive")
}

// TestSessionFixation: a token that somebody else put into the browser isn't
// the one after signing in, nor after confirming.
func TestSessionFixation(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	browser := b.stranger()
	browser.cookies["__Host-candor_staff"] = "planted"
	browser.wantRedirect(browser.post("/dashboard/sign-in", signInForm(b.account.Email, b.account.Password)), "/dashboard")
	signedIn := browser.cookies["__Host-candor_staff"]
	if signedIn == "planted" {
		t.Fatal("the planted token was signed in")
	}
	answer := browser.post("/dashboard/confirm", url.Values{"password": {"wrong"}})
	browser.wantPage(answer, http.StatusUnprocessableEntity, "That isn’t your password")
	browser.wantRedirect(browser.post("/dashboard/confirm", url.Values{"password": {b.account.Password}}), "/dashboard")
	if browser.cookies["__Host-candor_staff"] == signedIn {
		t.Error("confirming kept the token")
	}
	thief := b.stranger()
	thief.cookies["__Host-candor_staff"] = signedIn
	thief.wantRedirect(thief.get("/dashboard/test"), "/dashboard/sign-in?then=%2Fdashboard%2Ftest")
	browser.wantPage(browser.get("/dashboard/test"), http.StatusOK)
}

// TestSigningInEndsTheFormerSession: a browser holds one session. A sign-in
// ends the one before, also another user's, and only that.
func TestSigningInEndsTheFormerSession(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	m := b.mailbox()
	browser, elsewhere, colleague := b.staff(domain.RoleOwner), b.owner(), b.staff(domain.RoleOwner)
	ended := func(token string) {
		t.Helper()
		former := b.stranger()
		former.cookies[staffCookie] = token
		former.wantRedirect(former.get("/dashboard/test"), "/dashboard/sign-in?then=%2Fdashboard%2Ftest")
	}
	for range 2 {
		former := browser.cookies[staffCookie]
		browser.wantPage(browser.post("/dashboard/sign-in", signInForm(b.account.Email, "wrong")), http.StatusUnprocessableEntity)
		browser.wantPage(browser.get("/dashboard/test"), http.StatusOK)
		browser.wantRedirect(browser.post("/dashboard/sign-in", signInForm(b.account.Email, b.account.Password)), "/dashboard")
		ended(former)
	}
	m.letter(b.account.Email, "New browser signed in")
	former := browser.cookies[staffCookie]
	_, err := b.service.Team.Invite(t.Context(), b.account.AccountID, someone, newInvitation("new@lender.example", domain.RoleSupport))
	b.ok(err)
	browser.openLetter(m.link(m.letter("new@lender.example", "Join Lender & Sons on Candor")), "/dashboard/invitation")
	browser.wantRedirect(browser.post("/dashboard/invitation", url.Values{"name": {"New"}, "new_password": {goodPassword}}), "/dashboard/test")
	ended(former)
	for _, other := range []*staffBrowser{browser, elsewhere, colleague} {
		other.wantPage(other.get("/dashboard/test"), http.StatusOK)
	}
}

func TestStaffSessionsEnd(t *testing.T) {
	t.Parallel()
	signedOut := func(browser *staffBrowser) {
		browser.Helper()
		browser.wantRedirect(browser.get("/dashboard/test"), "/dashboard/sign-in?then=%2Fdashboard%2Ftest")
	}
	t.Run("idle", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		browser := b.staff(domain.RoleOwner)
		b.clock.advance(domain.StaffIdle - time.Minute)
		browser.wantPage(browser.get("/dashboard/test"), http.StatusOK)
		b.clock.advance(domain.StaffIdle - time.Minute)
		browser.wantPage(browser.get("/dashboard/test"), http.StatusOK)
		b.clock.advance(domain.StaffIdle + time.Minute)
		signedOut(browser)
	})
	t.Run("in all", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		browser := b.staff(domain.RoleOwner)
		for range 14*24/11 - 1 {
			b.clock.advance(11 * time.Hour)
			browser.wantPage(browser.get("/dashboard/test"), http.StatusOK)
		}
		b.clock.advance(11 * time.Hour)
		b.clock.advance(11 * time.Hour)
		signedOut(browser)
	})
	t.Run("removed user", func(t *testing.T) {
		t.Parallel()
		b := newBench(t)
		browser := b.staff(domain.RoleSupport)
		_, err := b.db.Raw().ExecContext(b.Context(), `DELETE FROM staff_user WHERE id = $1`, browser.session.ID)
		b.ok(err)
		signedOut(browser)
	})
}

func TestSignInIsThrottled(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	browser := b.stranger()
	for _, email := range []string{b.account.Email, "nobody@lender.example"} {
		for range 10 {
			browser.wantPage(browser.post("/dashboard/sign-in", signInForm(email, "wrong")), http.StatusUnprocessableEntity)
		}
		answer := browser.post("/dashboard/sign-in", signInForm(email, b.account.Password))
		browser.wantPage(answer, http.StatusTooManyRequests, "too many attempts")
	}
	b.clock.advance(15 * time.Minute)
	browser.wantRedirect(browser.post("/dashboard/sign-in", signInForm(b.account.Email, b.account.Password)), "/dashboard")
}

func TestLocalPath(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/dashboard/test/keys?page=2":     "/dashboard/test/keys?page=2",
		"/dashboard":                      "/dashboard",
		"":                                "/dashboard",
		"//evil.example/dashboard":        "/dashboard",
		"https://evil.example/dashboard/": "/dashboard",
		"/\\evil.example":                 "/dashboard",
		"/dashboard/..//evil.example":     "/dashboard",
		"/dashboard\\@evil.example":       "/dashboard",
		"/dashboardx":                     "/dashboard",
		"javascript:alert(1)":             "/dashboard",
		"/dashboard/\r\nSet-Cookie: a=b":  "/dashboard",
		"/dashboard/%2e%2e/%2fevil":       "/dashboard",
	} {
		if got := handlers.LocalPath(path); got != want {
			t.Errorf("LocalPath(%q) = %q, want %q", path, got, want)
		}
	}
}

// TestSignInTakesAsLongForNobody: how long a refusal takes doesn't tell whether
// there is such a user. The quickest of some is compared, and by a factor that
// only a hash that is left out comes to, some fifty.
func TestSignInTakesAsLongForNobody(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	config := b.service.Config
	config.PasswordCost = passwords.Cost{}
	b.service = servicetest.New(config)
	account := b.newAccount("careful@lender.example", "starter")
	quickest := func(email, password string) time.Duration {
		least := time.Hour
		for i := range 4 {
			from := domain.Visitor{IPAddress: fmt.Sprintf("192.0.2.%d", i)}
			began := time.Now()
			if _, _, err := b.service.Auth.SignIn(b.Context(), email, password, from); err == nil {
				t.Fatal("signed in")
			}
			least = min(least, time.Since(began))
		}
		return least
	}
	for _, password := range []string{"wrong password", strings.Repeat("x", 2000)} {
		known, unknown := quickest(account.Email, password), quickest("nobody@lender.example", password)
		if known > 5*unknown || unknown > 5*known {
			t.Errorf("a wrong password of %d bytes takes %s, an unknown address %s", len(password), known, unknown)
		}
	}
}

// TestSignInMeetsAChange: a password that was right when it was read signs
// nobody in once it is changed or a code is asked for too, however long its
// hash took.
func TestSignInMeetsAChange(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]string{
		"another password": `UPDATE staff_user SET password_hash = 'x' WHERE email = $1`,
		"removed":          `DELETE FROM staff_user WHERE email = $1`,
		"two steps":        `UPDATE staff_user SET totp_secret = 'x' WHERE email = $1`,
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			type answer struct {
				session *domain.StaffSession
				err     error
			}
			answers := make(chan answer, 1)
			b.ok(b.db.InTx(b.Context(), func(tx *db.Tx) error {
				_, err := tx.Raw().ExecContext(b.Context(), change, b.account.Email)
				b.ok(err)
				go func() {
					_, session, err := b.service.Auth.SignIn(b.Context(), b.account.Email, b.account.Password, domain.Visitor{IPAddress: "192.0.2.1"})
					answers <- answer{session, err}
				}()
				b.waiting()
				return nil
			}))
			got := <-answers
			refused := errors.Is(got.err, &domain.Error{Code: domain.CodeUnauthorized})
			half := got.err == nil && got.session.Stage == domain.SignInPassword
			if half != (what == "two steps") || refused == half {
				t.Errorf("signing in: %v, %+v", got.err, got.session)
			}
		})
	}
}

// TestUnreadableForms: what can't be read isn't taken for empty, and is the
// sender's fault.
func TestUnreadableForms(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	owner := b.owner()
	const url, settings = "/dashboard/test/webhooks/url", "/dashboard/test/settings"
	owner.wantRedirect(owner.post(url, map[string][]string{"url": {"https://hooks.example/candor"}}), "/dashboard/test/webhooks")
	for _, wrong := range []struct {
		path, body string
		status     int
	}{
		{url, "url=%zz", http.StatusBadRequest},
		{url, "a=1;b=2", http.StatusBadRequest},
		{settings, "name=Zed&x=%zz", http.StatusBadRequest},
		{url, "url=" + strings.Repeat("x", 5<<20), http.StatusRequestEntityTooLarge},
		{"/dashboard/sign-in", "email=%00&password=x", http.StatusBadRequest},
		{"/dashboard/sign-in", "email=%ff&password=x", http.StatusBadRequest},
		{"/dashboard/sign-in", "email=%ed%a0%80&password=x", http.StatusBadRequest},
		{"/dashboard/test/sessions/" + b.newSession(b.testScope(), domain.NewSession{}).ID.String() + "/erase", "%zz", http.StatusBadRequest},
		{"/dashboard/test/keys", "name=Key&access=full&expires_at=9999-12-31", http.StatusUnprocessableEntity},
	} {
		r := httptest.NewRequestWithContext(b.Context(), http.MethodPost, baseURL+wrong.path, strings.NewReader(wrong.body))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		if answer := owner.do(r); answer.Code != wrong.status {
			t.Errorf("%s with %.30s: %d, want %d", wrong.path, wrong.body, answer.Code, wrong.status)
		}
	}
	owner.wantPage(owner.get("/dashboard/test/webhooks"), http.StatusOK, "https://hooks.example/candor")
}

// TestOperatorHelpsWithLostFactors: whoever has lost authenticator and codes
// gets in again by the password, once an operator has helped.
func TestOperatorHelpsWithLostFactors(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.owner().twoStep()
	browser := b.halfIn()
	if _, err := b.service.Auth.ResetFactors(b.Context(), "nobody@lender.example", someone); !errors.Is(err, &domain.Error{Code: domain.CodeNotFound}) {
		t.Errorf("nobody: %v", err)
	}
	_, err := b.service.Auth.ResetFactors(b.Context(), strings.ToUpper(b.account.Email), someone)
	b.ok(err)
	again := b.stranger()
	again.wantRedirect(again.post("/dashboard/sign-in", signInForm(b.account.Email, b.account.Password)), "/dashboard")
	again.wantPage(again.get("/dashboard/test/me"), http.StatusOK, "Set up two-step sign-in")
	if answer := browser.get("/dashboard/test/me"); answer.Code != http.StatusSeeOther {
		t.Errorf("the browser that was half in: status %d, want 303", answer.Code)
	}
	b.audited(domain.AuditFactorsReset, 1)
}

func TestOwnName(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	owner := b.owner()
	const page = "/dashboard/test/me"
	owner.wantPage(owner.post(page+"/name", url.Values{"name": {" "}}), http.StatusUnprocessableEntity, "Enter your name")
	owner.wantRedirect(owner.post(page+"/name", url.Values{"name": {hostile}}), page)
	owner.wantPage(owner.get(page), http.StatusOK, "Name saved", "&lt;script&gt;")
	b.audited(domain.AuditStaffNamed, 1)
}

// TestSignOutClearsTheBrowser: pages of the dashboard leave the browser with
// the staff session, and nothing else does.
func TestSignOutClearsTheBrowser(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	owner := b.staff(domain.RoleOwner)
	if h := owner.get("/dashboard/test").Header(); h.Get("Clear-Site-Data") != "" || h.Get("Cache-Control") != "no-store" {
		t.Errorf("a page has Clear-Site-Data %q and Cache-Control %q", h.Get("Clear-Site-Data"), h.Get("Cache-Control"))
	}
	answer := owner.post("/dashboard/sign-out", nil)
	if got, want := answer.Header().Get("Clear-Site-Data"), `"cache", "storage"`; got != want {
		t.Errorf("signing out answers with Clear-Site-Data %q, want %q", got, want)
	}
}
