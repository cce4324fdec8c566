package dashboard_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"candor/handlers"
	"candor/internal/domain"
	"candor/internal/testkit/browsertest"
	"candor/internal/testkit/harness"
)

// posted keeps the forms that a browser posts to a path.
type posted struct {
	http.Handler
	path  string
	mu    sync.Mutex
	forms []url.Values
}

// ServeHTTP keeps the form and passes the request on.
func (p *posted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == p.path && r.ParseForm() == nil {
		p.mu.Lock()
		p.forms = append(p.forms, r.PostForm)
		p.mu.Unlock()
	}
	p.Handler.ServeHTTP(w, r)
}

func (p *posted) last() url.Values {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.forms[len(p.forms)-1]
}

// serveNamed is serveHTTP under a name, since passkeys want one. What is posted
// to the path is kept.
func serveNamed(t *testing.T, path string) (*harness.Harness, string, *posted) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	base := "http://localhost:" + port
	h := harness.New(t, func(c *handlers.Config) {
		c.Development, c.BaseURL, c.Sessions.BaseURL, c.StaffAuth.BaseURL = true, base, base, base
	})
	kept := &posted{Handler: h.Handler, path: path}
	server := httptest.NewUnstartedServer(kept)
	server.Listener.Close()
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	return h, base, kept
}

// TestBrowserPasskeys makes a passkey, signs in with it in place of the
// password and of the code, and removes it.
func TestBrowserPasskeys(t *testing.T) {
	t.Parallel()
	h, base, kept := serveNamed(t, "/dashboard/sign-in/passkey/answer")
	tab := browsertest.New(t, browsertest.Options{})
	signOut := func() {
		browsertest.Eval[bool](tab, `document.querySelector("form[action='/dashboard/sign-out']").requestSubmit(), true`)
		tab.WaitForURL("/dashboard/sign-in")
	}
	signInTo(h, tab, base, "/dashboard/live/me")
	tab.Passkeys()
	h.Clock.Advance(domain.StaffConfirmed - time.Minute)
	tab.Click("#passkeys .button")
	tab.WaitForText("h1", "Add a passkey")
	view(tab, "passkey-new")
	tab.Type("#name", "My <phone>")
	h.Clock.Advance(2 * time.Minute)
	tab.Click("main .button-primary")
	confirmThat(h, tab, "add this passkey")
	tab.WaitForText("#announcement", "Passkey added")
	tab.WaitForText("#passkeys", "My <phone>")
	tab.WaitForText("#passkeys", "Your password alone can still sign in")
	view(tab, "me-passkeys")
	tab.Click("#passkeys .button")
	tab.WaitForText("h1", "Add a passkey")
	tab.Click("main .button-primary")
	tab.WaitForText("[data-problem]", "has a passkey for your account already")
	signOut()

	tab.Open(base + "/dashboard/sign-in?then=%2Fdashboard%2Flive%2Fme")
	tab.Click("form[action$=passkey] .button")
	tab.WaitForText("h1", "Sign in with a passkey")
	view(tab, "passkey-sign-in")
	tab.Click("main .button-primary")
	tab.WaitForText("h1", "My account")
	replayed := h.SignedOut()
	answer := replayed.Post("/dashboard/sign-in/passkey/answer", kept.last())
	replayed.WantPage(answer, http.StatusUnprocessableEntity, "That passkey didn’t work")
	if len(replayed.Cookies) != 0 {
		t.Error("an answer signs in twice")
	}
	signOut()

	// Whom the company's provider brought has no password, and then no passkey either.
	hash := harness.QueryOne[string](h, `SELECT password_hash FROM staff_user`)
	execSQL(h, `
		WITH connected AS (INSERT INTO sso_connection VALUES ($1, 'https://i.example', 'c', '', '', '', '[]', false, false, now())),
			identified AS (INSERT INTO sso_identity SELECT $1, 'subject', id FROM staff_user)
		UPDATE staff_user SET password_hash = NULL`, h.Account.AccountID)
	tab.Click("form[action$=passkey] .button")
	tab.WaitForText("h1", "Sign in with a passkey")
	tab.Click("main .button-primary")
	tab.WaitForText(".error-summary", "Continue with your company")
	execSQL(h, `DELETE FROM sso_connection`)
	execSQL(h, `UPDATE staff_user SET password_hash = $1, totp_secret = 'x'`, hash)
	tab.Open(base + "/dashboard/sign-in")
	tab.Type("#email", h.Account.Email)
	tab.Type("#password", h.Account.Password)
	tab.Click(".fields .button-primary")
	tab.WaitForText("h1", "Type your code")
	tab.Click("form[action$=passkey] .button")
	tab.WaitForText("h1", "Sign in with a passkey")
	h.Clock.Advance(domain.PasskeyAsked)
	tab.Click("main .button-primary")
	tab.WaitForText(".error-summary", "That passkey didn’t work")
	tab.Click("main .button-primary")
	tab.WaitForText("h1", "Home")

	tab.Open(base + "/dashboard/test/me")
	tab.Click("#passkeys .button-danger")
	tab.WaitForText("#announcement", "You were signed in with it")
	tab.WaitForURL("/dashboard/sign-in")
	tab.Click("form[action$=passkey] .button")
	tab.WaitForText("h1", "Sign in with a passkey")
	tab.Click("main .button-primary")
	tab.WaitForText(".error-summary", "That passkey didn’t work")
	audited(h, domain.AuditPasskeyAdded, 1)
	audited(h, domain.AuditPasskeyRemoved, 1)
	audited(h, domain.AuditSignedIn, 3)
}

// TestPasskeyAnswers: what wasn't asked of this user is no answer.
func TestPasskeyAnswers(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	owner, other := h.Staff(domain.RoleOwner), h.Staff(domain.RoleSupport)
	question, err := h.Service.StaffAuth.BeginPasskey(h.Context(), owner.Session)
	h.OK(err)
	form := url.Values{"token": {question.Token}, "response": {`{"id":"AA","rawId":"AA","type":"public-key","response":{}}`},
		"name": {"Phone"}}
	for name, browser := range map[string]*harness.StaffBrowser{"another user": other, "nonsense": owner, "the same again": owner} {
		answer := browser.Post("/dashboard/test/me/passkeys", form)
		browser.WantPage(answer, http.StatusUnprocessableEntity, "That passkey didn’t work")
		if strings.Contains(answer.Body.String(), "Phone") {
			t.Errorf("%s: a passkey was stored", name)
		}
	}
	if question, err = h.Service.StaffAuth.BeginPasskey(h.Context(), owner.Session); err != nil {
		t.Fatal(err)
	}
	long := url.Values{"token": {question.Token}, "response": form["response"], "name": {strings.Repeat("x", 1000)}}
	owner.WantPage(owner.Post("/dashboard/test/me/passkeys", long), http.StatusUnprocessableEntity).
		WantError("passkeys", "The passkey’s name must be")
	stranger := h.SignedOut()
	stranger.WantPage(stranger.Post("/dashboard/sign-in/passkey/answer", form), http.StatusUnprocessableEntity,
		"That passkey didn’t work")
	h.Clock.Advance(domain.StaffConfirmed + time.Second)
	foreign := h.PasskeyOf(other.Session.ID)
	owner.WantPrompt(owner.Post("/dashboard/test/me/passkeys/"+foreign.String()+"/remove", nil), "/dashboard/test/me")
}
