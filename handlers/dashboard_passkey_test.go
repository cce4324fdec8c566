package handlers_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"candor/db"
	"candor/handlers"
	"candor/internal/domain"
	"candor/internal/testkit/browsertest"
)

// passkeyOf stores a passkey of the staff user that nobody has.
func (b *bench) passkeyOf(staff domain.StaffID) domain.PasskeyID {
	b.Helper()
	p := &domain.Passkey{ID: domain.NewPasskeyID(), StaffID: staff, CredentialID: staff.UUID[:], Name: "Phone", Credential: []byte("{}"), CreatedAt: b.clock.Now()}
	b.ok(b.db.InTx(b.Context(), func(tx *db.Tx) error { return tx.InsertPasskey(b.Context(), p) }))
	return p.ID
}

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
func serveNamed(t *testing.T, path string) (*bench, string, *posted) {
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
	b := newBench(t, func(c *handlers.Config) {
		c.Development, c.BaseURL, c.Sessions.BaseURL, c.StaffAuth.BaseURL = true, base, base, base
	})
	kept := &posted{Handler: b.handler, path: path}
	server := httptest.NewUnstartedServer(kept)
	server.Listener.Close()
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	return b, base, kept
}

// TestPasskeysInABrowser makes a passkey, signs in with it in place of the
// password and of the code, and removes it.
func TestPasskeysInABrowser(t *testing.T) {
	t.Parallel()
	for i, options := range looks() {
		if i > 0 && !browsertest.Pictures() {
			continue // it is the same in all of them
		}
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			usePasskeys(t, options)
		})
	}
}

func usePasskeys(t *testing.T, options browsertest.Options) {
	t.Helper()
	b, base, kept := serveNamed(t, "/dashboard/sign-in/passkey/answer")
	tab := browsertest.New(t, options)
	signOut := func() {
		browsertest.Eval[bool](tab, `document.querySelector("form[action='/dashboard/sign-out']").requestSubmit(), true`)
		tab.WaitForURL("/dashboard/sign-in")
	}
	tab.Open(base + "/dashboard/sign-in?then=%2Fdashboard%2Flive%2Fme")
	tab.Passkeys()
	tab.Type("#email", b.account.Email)
	tab.Type("#password", b.account.Password)
	tab.Click(".fields .button-primary")
	tab.WaitForText("h1", "My account")
	b.clock.advance(domain.StaffConfirmed - time.Minute)
	tab.Click("#passkeys .button")
	tab.WaitForText("h1", "Add a passkey")
	view(tab, "passkey-new")
	tab.Type("#name", "My <phone>")
	b.clock.advance(2 * time.Minute)
	tab.Click("main .button-primary")
	b.confirmThat(tab, "add this passkey", view)
	tab.WaitForText("#announcement", "Passkey added")
	tab.WaitForText("#passkeys", "My <phone>")
	tab.WaitForText("#passkeys", "Your password alone still signs you in")
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
	replayed := b.stranger()
	answer := replayed.post("/dashboard/sign-in/passkey/answer", kept.last())
	replayed.wantPage(answer, http.StatusUnprocessableEntity, "That passkey didn’t work")
	if len(replayed.cookies) != 0 {
		t.Error("an answer signs in twice")
	}
	signOut()

	_, err := b.db.Raw().ExecContext(b.Context(), `UPDATE staff_user SET totp_secret = 'x'`)
	b.ok(err)
	tab.Type("#email", b.account.Email)
	tab.Type("#password", b.account.Password)
	tab.Click(".fields .button-primary")
	tab.WaitForText("h1", "Type your code")
	tab.Click("form[action$=passkey] .button")
	tab.WaitForText("h1", "Sign in with a passkey")
	b.clock.advance(domain.PasskeyAsked)
	tab.Click("main .button-primary")
	tab.WaitForText(".error-summary", "That passkey didn’t work")
	tab.Click("main .button-primary")
	tab.WaitForText("h1", "Home")

	tab.Open(base + "/dashboard/test/me")
	tab.Click("#passkeys .button-danger")
	tab.WaitForText("#announcement", "You had signed in with it here")
	tab.WaitForURL("/dashboard/sign-in")
	tab.Click("form[action$=passkey] .button")
	tab.WaitForText("h1", "Sign in with a passkey")
	tab.Click("main .button-primary")
	tab.WaitForText(".error-summary", "That passkey didn’t work")
	b.audited(domain.AuditPasskeyAdded, 1)
	b.audited(domain.AuditPasskeyRemoved, 1)
	b.audited(domain.AuditSignedIn, 3)
}

// TestPasskeyAnswers: what wasn't asked of this user is no answer.
func TestPasskeyAnswers(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	owner, other := b.staff(domain.RoleOwner), b.staff(domain.RoleSupport)
	question, err := b.service.Auth.BeginPasskey(b.Context(), owner.session)
	b.ok(err)
	form := url.Values{"token": {question.Token}, "response": {`{"id":"AA","rawId":"AA","type":"public-key","response":{}}`}, "name": {"Phone"}}
	for name, browser := range map[string]*staffBrowser{"another user": other, "nonsense": owner, "the same again": owner} {
		answer := browser.post("/dashboard/test/me/passkeys", form)
		browser.wantPage(answer, http.StatusUnprocessableEntity, "That passkey didn’t work")
		if strings.Contains(answer.Body.String(), "Phone") {
			t.Errorf("%s: a passkey was stored", name)
		}
	}
	if question, err = b.service.Auth.BeginPasskey(b.Context(), owner.session); err != nil {
		t.Fatal(err)
	}
	long := url.Values{"token": {question.Token}, "response": form["response"], "name": {strings.Repeat("x", 1000)}}
	owner.wantPage(owner.post("/dashboard/test/me/passkeys", long), http.StatusUnprocessableEntity, `href="#passkeys"`, "The passkey’s name must be")
	stranger := b.stranger()
	stranger.wantPage(stranger.post("/dashboard/sign-in/passkey/answer", form), http.StatusUnprocessableEntity, "That passkey didn’t work")
	b.clock.advance(domain.StaffConfirmed + time.Second)
	foreign := b.passkeyOf(other.session.ID)
	owner.wantPrompt(owner.post("/dashboard/test/me/passkeys/"+foreign.String()+"/remove", nil), "/dashboard/test/me")
}
