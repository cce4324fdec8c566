package dashboard_test

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
	"candor/handlers/dashboard/auth"
	"candor/internal/domain"
	"candor/internal/service/staff/passwords"
	"candor/internal/testkit"
	"candor/internal/testkit/harness"
	"candor/internal/testkit/servicetest"
)

func TestSignIn(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	browser := h.SignedOut()
	browser.WantRedirect(browser.Get("/dashboard/test"), "/dashboard/sign-in?then=%2Fdashboard%2Ftest")
	browser.WantPage(browser.Get("/dashboard/sign-in?then=%2Fdashboard%2Ftest"), http.StatusOK).WantField("then", "/dashboard/test")

	answer := browser.Post("/dashboard/sign-in", harness.SignInForm("", ""))
	browser.WantPage(answer, http.StatusUnprocessableEntity, "Enter your email address", "Enter your password")

	for _, email := range []string{h.Account.Email, "nobody@lender.example"} {
		answer = browser.Post("/dashboard/sign-in", harness.SignInForm(email, "wrong"))
		browser.WantPage(answer, http.StatusUnprocessableEntity, "The email address or the password is wrong.")
	}
	if len(browser.Cookies) != 0 {
		t.Fatalf("a wrong password left %v", browser.Cookies)
	}

	form := harness.SignInForm(strings.ToUpper(h.Account.Email), h.Account.Password)
	form.Set("then", "/dashboard/live")
	answer = browser.Post("/dashboard/sign-in", form)
	browser.WantRedirect(answer, "/dashboard/live")
	cookie := answer.Result().Cookies()[0]
	if !cookie.HttpOnly || !cookie.Secure || cookie.SameSite != http.SameSiteLaxMode || cookie.Path != "/" || cookie.Domain != "" ||
		cookie.Name != "__Host-candor_staff" {
		t.Errorf("cookie %+v", cookie)
	}
	browser.WantPage(browser.Get("/dashboard/live"), http.StatusOK, "Home", h.Account.Email)
	browser.WantRedirect(browser.Get("/dashboard/sign-in"), "/dashboard")

	token := browser.Cookies["__Host-candor_staff"]
	execSQL(h, `UPDATE staff_session SET address = '203.0.113.9'`)
	browser.WantRedirect(browser.Post("/dashboard/sign-out", nil), "/dashboard/sign-in")
	if elsewhere := harness.QueryOne[int](h, `SELECT count(*) FROM audit_log WHERE address = '203.0.113.9'`); elsewhere != 0 {
		t.Error("signing out is noted as from where the browser signed in")
	}
	browser.Cookies["__Host-candor_staff"] = token
	browser.WantRedirect(browser.Get("/dashboard/live"), "/dashboard/sign-in?then=%2Fdashboard%2Flive")
}

// TestSessionFixation checks that a token from before signing in isn't the one
// after it, nor after confirming.
func TestSessionFixation(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	browser := h.SignedOut()
	browser.Cookies["__Host-candor_staff"] = "planted"
	browser.WantRedirect(browser.Post("/dashboard/sign-in", harness.SignInForm(h.Account.Email, h.Account.Password)), "/dashboard")
	signedIn := browser.Cookies["__Host-candor_staff"]
	if signedIn == "planted" {
		t.Fatal("the planted token was signed in")
	}
	answer := browser.Post("/dashboard/confirm", url.Values{"password": {"wrong"}})
	browser.WantPage(answer, http.StatusUnprocessableEntity, "That isn’t your password")
	browser.WantRedirect(browser.Post("/dashboard/confirm", url.Values{"password": {h.Account.Password}}), "/dashboard")
	if browser.Cookies["__Host-candor_staff"] == signedIn {
		t.Error("confirming kept the token")
	}
	thief := h.SignedOut()
	thief.Cookies["__Host-candor_staff"] = signedIn
	thief.WantRedirect(thief.Get("/dashboard/test"), "/dashboard/sign-in?then=%2Fdashboard%2Ftest")
	browser.WantPage(browser.Get("/dashboard/test"), http.StatusOK)
}

// TestSigningInEndsTheFormerSession: a browser holds one session. A sign-in
// ends the one before, also another user's, and only that.
func TestSigningInEndsTheFormerSession(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	m := h.Mailbox()
	browser, elsewhere, colleague := h.Staff(domain.RoleOwner), h.Owner(), h.Staff(domain.RoleOwner)
	ended := func(token string) {
		t.Helper()
		former := h.SignedOut()
		former.Cookies[staffCookie] = token
		former.WantRedirect(former.Get("/dashboard/test"), "/dashboard/sign-in?then=%2Fdashboard%2Ftest")
	}
	for range 2 {
		former := browser.Cookies[staffCookie]
		browser.WantPage(browser.Post("/dashboard/sign-in", harness.SignInForm(h.Account.Email, "wrong")),
			http.StatusUnprocessableEntity)
		browser.WantPage(browser.Get("/dashboard/test"), http.StatusOK)
		browser.WantRedirect(browser.Post("/dashboard/sign-in", harness.SignInForm(h.Account.Email, h.Account.Password)), "/dashboard")
		ended(former)
	}
	m.Email(h.Account.Email, "New browser signed in")
	former := browser.Cookies[staffCookie]
	_, err := h.Service.Team.Invite(t.Context(), h.Account.AccountID, harness.Operator, harness.NewInvitation("new@lender.example",
		domain.RoleSupport))
	h.OK(err)
	openEmail(browser, m.Link(m.Email("new@lender.example", "Join Lender & Sons on Candor")), "/dashboard/invitation")
	browser.WantRedirect(browser.Post("/dashboard/invitation", url.Values{"name": {"New"}, "new_password": {harness.GoodPassword}}),
		"/dashboard") // where the team works
	ended(former)
	for _, other := range []*harness.StaffBrowser{browser, elsewhere, colleague} {
		other.WantPage(other.Get("/dashboard/test"), http.StatusOK)
	}
}

func TestStaffSessionsEnd(t *testing.T) {
	t.Parallel()
	signedOut := func(browser *harness.StaffBrowser) {
		browser.Helper()
		browser.WantRedirect(browser.Get("/dashboard/test"), "/dashboard/sign-in?then=%2Fdashboard%2Ftest")
	}
	t.Run("idle", func(t *testing.T) {
		t.Parallel()
		h := harness.New(t)
		browser := h.Staff(domain.RoleOwner)
		h.Clock.Advance(domain.StaffIdle - time.Minute)
		browser.WantPage(browser.Get("/dashboard/test"), http.StatusOK)
		h.Clock.Advance(domain.StaffIdle - time.Minute)
		browser.WantPage(browser.Get("/dashboard/test"), http.StatusOK)
		h.Clock.Advance(domain.StaffIdle + time.Minute)
		signedOut(browser)
	})
	t.Run("in all", func(t *testing.T) {
		t.Parallel()
		h := harness.New(t)
		browser := h.Staff(domain.RoleOwner)
		for range 14*24/11 - 1 {
			h.Clock.Advance(11 * time.Hour)
			browser.WantPage(browser.Get("/dashboard/test"), http.StatusOK)
		}
		h.Clock.Advance(11 * time.Hour)
		h.Clock.Advance(11 * time.Hour)
		signedOut(browser)
	})
	t.Run("removed user", func(t *testing.T) {
		t.Parallel()
		h := harness.New(t)
		browser := h.Staff(domain.RoleSupport)
		execSQL(h, `DELETE FROM staff_user WHERE id = $1`, browser.Session.ID)
		signedOut(browser)
	})
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
		if got := auth.LocalPath(path); got != want {
			t.Errorf("LocalPath(%q) = %q, want %q", path, got, want)
		}
	}
}

// TestSignInTakesAsLongForUnknownEmails: how long a refusal takes doesn't tell whether
// there is such a user. The quickest tries are compared, by a factor that only a hash that
// is left out comes to, some fifty, and until a busy machine has let each have its turn.
func TestSignInTakesAsLongForUnknownEmails(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := harness.New(t)
	config := h.Service.Config
	config.PasswordCost = passwords.Cost{}
	h.Service = servicetest.New(config)
	refusal := func(turn int, email, password string) time.Duration {
		from := domain.Visitor{IPAddress: fmt.Sprintf("192.0.2.%d", turn)}
		began := time.Now()
		if _, _, err := h.Service.StaffAuth.SignIn(h.Context(), email, password, from); err == nil {
			t.Fatal("signed in")
		}
		return time.Since(began)
	}
	for _, password := range []string{"wrong password", strings.Repeat("x", 2000)} {
		known, unknown := time.Hour, time.Hour
		for i := range 30 {
			name := fmt.Sprintf("%d-%d@lender.example", len(password), i)
			known = min(known, refusal(i, h.NewAccount("careful"+name, "starter").Email, password))
			unknown = min(unknown, refusal(i, "unknown"+name, password))
			if i >= 3 && known < 5*unknown && unknown < 5*known {
				break
			}
		}
		if known > 5*unknown || unknown > 5*known {
			t.Errorf("a wrong password of %d bytes takes %s, an unknown address %s", len(password), known, unknown)
		}
	}
}

// TestSignInMeetsAChange checks that a password that was right when it was read
// signs no one in after it was changed or a code is required, however long its
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
			h := harness.New(t)
			type answer struct {
				Session *domain.StaffSession
				Err     error
			}
			answers := make(chan answer, 1)
			h.OK(h.DB.InTx(h.Context(), func(tx *db.Tx) error {
				_, err := tx.Raw().ExecContext(h.Context(), change, h.Account.Email)
				h.OK(err)
				go func() {
					_, session, err := h.Service.StaffAuth.SignIn(h.Context(), h.Account.Email, h.Account.Password,
						domain.Visitor{IPAddress: "192.0.2.1"})
					answers <- answer{session, err}
				}()
				h.WaitForLock()
				return nil
			}))
			got := <-answers
			refused := errors.Is(got.Err, &domain.Error{Code: domain.CodeUnauthorized})
			half := got.Err == nil && got.Session.Stage == domain.SignInPassword
			if half != (what == "two steps") || refused == half {
				t.Errorf("signing in: %v, %+v", got.Err, got.Session)
			}
		})
	}
}

// TestUnreadableForms: what can't be read isn't taken for empty, and is the
// sender's fault.
func TestUnreadableForms(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	owner := h.Owner()
	const url, settings = "/dashboard/test/webhooks/url", "/dashboard/test/settings"
	owner.WantRedirect(owner.Post(url, map[string][]string{"url": {"https://hooks.example/candor"}}),
		"/dashboard/test/webhooks/settings")
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
		{"/dashboard/test/sessions/" + h.NewSession(h.TestScope(), domain.NewSession{}).ID.String() + "/erase", "%zz",
			http.StatusBadRequest},
		{"/dashboard/test/keys", "name=Key&access=full&expires_at=9999-12-31", http.StatusUnprocessableEntity},
	} {
		r := httptest.NewRequestWithContext(h.Context(), http.MethodPost, harness.BaseURL+wrong.path, strings.NewReader(wrong.body))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		if answer := owner.Do(r); answer.Code != wrong.status {
			t.Errorf("%s with %.30s: %d, want %d", wrong.path, wrong.body, answer.Code, wrong.status)
		}
	}
	owner.WantPage(owner.Get("/dashboard/test/webhooks/settings"), http.StatusOK, "https://hooks.example/candor")
}

// TestOperatorHelpsWithLostFactors checks that a user who lost the authenticator
// and the codes signs in by password after an operator has helped.
func TestOperatorHelpsWithLostFactors(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	h.Owner().TwoStep()
	browser := h.HalfIn()
	if _, err := h.Service.StaffAuth.ResetFactors(h.Context(), "nobody@lender.example", harness.Operator); !errors.Is(err,
		&domain.Error{Code: domain.CodeNotFound}) {
		t.Errorf("an unknown address: %v", err)
	}
	_, err := h.Service.StaffAuth.ResetFactors(h.Context(), strings.ToUpper(h.Account.Email), harness.Operator)
	h.OK(err)
	again := h.SignedOut()
	again.WantRedirect(again.Post("/dashboard/sign-in", harness.SignInForm(h.Account.Email, h.Account.Password)), "/dashboard")
	again.WantPage(again.Get("/dashboard/test/me"), http.StatusOK, "Set up two-step sign-in")
	if answer := browser.Get("/dashboard/test/me"); answer.Code != http.StatusSeeOther {
		t.Errorf("the browser that was half in: status %d, want 303", answer.Code)
	}
	audited(h, domain.AuditFactorsReset, 1)
}

func TestOwnName(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	owner := h.Owner()
	const page = "/dashboard/test/me"
	owner.WantPage(owner.Post(page+"/name", url.Values{"name": {" "}}), http.StatusUnprocessableEntity, "Enter your name")
	owner.WantRedirect(owner.Post(page+"/name", url.Values{"name": {harness.Hostile}}), page)
	owner.WantPage(owner.Get(page), http.StatusOK, "Name saved", "<script>")
	audited(h, domain.AuditStaffNamed, 1)
}

// TestSignOutClearsTheBrowser: pages of the dashboard leave the browser with
// the staff session, and nothing else does.
func TestSignOutClearsTheBrowser(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	owner := h.Staff(domain.RoleOwner)
	if h := owner.Get("/dashboard/test").Header(); h.Get("Clear-Site-Data") != "" || h.Get("Cache-Control") != "no-store" {
		t.Errorf("a page has Clear-Site-Data %q and Cache-Control %q", h.Get("Clear-Site-Data"), h.Get("Cache-Control"))
	}
	answer := owner.Post("/dashboard/sign-out", nil)
	if got, want := answer.Header().Get("Clear-Site-Data"), `"cache", "storage"`; got != want {
		t.Errorf("signing out answers with Clear-Site-Data %q, want %q", got, want)
	}
}
