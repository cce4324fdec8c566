package admin_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/testkit"
	"candor/internal/testkit/dbtest"
	"candor/internal/testkit/process"
)

// Operators help a team that its company's provider lets in no more: the running service's
// sign-in does what each command says.
func TestSSOCommands(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	env := process.NewEnvironment(t)
	a := process.CreateAccount(t, env)
	account, err := domain.ParseAccountID(a.AccountID)
	if err != nil {
		t.Fatal(err)
	}
	var provider *httptest.Server
	provider = testkit.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"issuer": %q, "authorization_endpoint": "%[1]s/authorize", "token_endpoint": "%[1]s/token",
			"jwks_uri": "%[1]s/keys"}`, provider.URL)
	}))
	err = dbtest.Open(t, env["DATABASE_URL"]).InTx(t.Context(), func(tx *db.Tx) error {
		return tx.InsertSSOConnection(t.Context(), &domain.SSOConnection{AccountID: account, Issuer: provider.URL,
			ClientID: "candor", ClientSecret: []byte("sealed"), DefaultRole: domain.RoleSupport, GroupRoles: []byte("[]"),
			OnlySSO: true, CreatedAt: time.Now()})
	})
	if err != nil {
		t.Fatal(err)
	}
	p := process.Serve(t, env, "web")
	wantAtTheDoor := func(passwords, company bool) {
		t.Helper()
		answer, location := signIn(t, p.URL+"/dashboard/sign-in", url.Values{"email": {a.Email}, "password": {a.Password}})
		if (location != "") != passwords {
			t.Errorf("a password leads to %q, want it let in: %t\n%s", location, passwords, answer)
		}
		answer, _ = signIn(t, p.URL+"/dashboard/sign-in/company", url.Values{"email": {"kim@lender.example"}})
		if strings.Contains(answer, provider.URL+"/authorize") != company ||
			strings.Contains(answer, "No company with this address’s domain") == company {
			t.Errorf("the company's sign-in: want it open: %t\n%s", company, answer)
		}
	}
	run := func(want string, args ...string) {
		t.Helper()
		r := process.Run(t, env, append([]string{"sso", args[0], "--account", a.AccountID}, args[1:]...)...)
		if r.Code != 0 || !strings.Contains(r.Stdout, want) {
			t.Errorf("sso %s: exit code %d, %s%s, want %q", args[0], r.Code, r.Stdout, r.Stderr, want)
		}
	}

	wantAtTheDoor(false, false)
	run("lender.example is verified", "verify-domain", "--domain", "lender.example")
	wantAtTheDoor(false, true)
	run("Passwords and passkeys work again", "allow-passwords")
	wantAtTheDoor(true, true)
	run("Company sign-in is removed", "remove")
	wantAtTheDoor(true, false)
	if r := process.Run(t, env, "sso", "remove", "--account", a.AccountID); r.Code != 1 {
		t.Errorf("a connection that is gone is removed: exit code %d, %s", r.Code, r.Stdout)
	}
}

// signIn posts a form of a page for signing in, and returns the answer and where it leads.
func signIn(t *testing.T, address string, form url.Values) (body, location string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(content), response.Header.Get("Location")
}
