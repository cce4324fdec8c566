package dashboard_test

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"candor/internal/domain"
	"candor/internal/service/staff/sso"
	"candor/internal/testkit"
	"candor/internal/testkit/browsertest"
	"candor/internal/testkit/harness"
	"candor/internal/testkit/ports"
)

// companyUsers are the people at the provider.
const companyUsers = `{"kim": {"ID": "kim", "Username": "kim", "Password": "three small green boats", "FirstName": "Kim",
	"LastName": "Lee", "Email": "kim@lender.example", "EmailVerified": true, "PreferredLanguage": "en"}}`

// startZitadel runs the example server of zitadel/oidc, and returns its issuer.
func startZitadel(t *testing.T, redirect string) string {
	t.Helper()
	root, err := testkit.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	// go build leaves one alone that is of the same code.
	binary, users := filepath.Join(root, "bin", "oidc"), filepath.Join(t.TempDir(), "users.json")
	build := exec.CommandContext(t.Context(), "go", "build", "-modfile=tools/oidc.mod", "-o", binary,
		"github.com/zitadel/oidc/v3/example/server")
	build.Dir = root
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if err := os.WriteFile(users, []byte(companyUsers), 0o600); err != nil {
		t.Fatal(err)
	}
	port := strconv.Itoa(ports.ForTest(t, 1)[0])
	server := exec.CommandContext(context.Background(), binary)
	server.Env = append(os.Environ(), "PORT="+port, "REDIRECT_URI="+redirect, "USERS_FILE="+users)
	testkit.Start(t, server)
	issuer := "http://localhost:" + port + "/"
	testkit.Await(t, "the provider doesn't answer", func() bool {
		answer, err := http.Get(issuer + ".well-known/openid-configuration")
		if err == nil {
			_ = answer.Body.Close()
		}
		return err == nil && answer.StatusCode == http.StatusOK
	})
	return issuer
}

// TestBrowserCompany sets up a real provider, signs someone in by it for the first time,
// and lets it confirm who is there.
func TestBrowserCompany(t *testing.T) {
	t.Parallel()
	h, base, _ := serveNamed(t, "")
	h.Service.SSO.BaseURL, h.Service.SSO.Policy.Development = base, true
	issuer := startZitadel(t, h.Service.SSO.RedirectURL(h.Account.AccountID))
	h.Clock.Set(time.Now()) // the provider's is real

	tab := browsertest.New(t, browsertest.Options{AllowStatus: []int{http.StatusNotFound}}) // its icon
	const settings = "/dashboard/test/settings/sign-in"
	signInTo(h, tab, base, settings)
	tab.WaitForText("h1", "Company sign-in")
	tab.Type("#issuer", issuer)
	tab.Type("#client_id", "web")
	tab.Type("#client_secret", "secret")
	tab.Type("#domain", "lender.example")
	view(tab, "company-provider")
	h.OK(h.Service.SSO.Connect(h.Context(), h.Account.AccountID, harness.Operator, sso.Params{Issuer: issuer, ClientID: "web",
		Secret: "secret", DefaultRole: domain.RoleDeveloper}))
	h.OK(h.Service.SSO.AddDomain(h.Context(), h.Account.AccountID, harness.Operator, "lender.example"))
	tab.Open(base + settings)
	tab.WaitForText("#domains", "Not verified")
	view(tab, "company-domain")
	h.OK(h.Service.SSO.VerifyDomain(h.Context(), h.Account.AccountID, harness.Operator, "lender.example"))
	tab.Open(base + settings)
	tab.WaitForText("#domains", "Verified")
	view(tab, "company-verified")
	browsertest.Eval[bool](tab, `document.querySelector("form[action='/dashboard/sign-out']").requestSubmit(), true`)
	tab.WaitForURL("/dashboard/sign-in")

	tab.Click("a[href*='/sign-in/company']")
	tab.WaitForText("h1", "Continue with your company")
	tab.Type("#email", "kim@lender.example")
	view(tab, "company-address")
	tab.Click(".fields .button-primary")
	tab.WaitForText("button", "Login")
	tab.Screenshot("dashboard/company-there")
	h.Clock.Set(time.Now()) // a slow machine has taken minutes
	tab.Type("#username", "kim")
	tab.Type("#password", harness.GoodPassword)
	tab.Click("button")
	tab.WaitForText("h1", "Home")
	view(tab, "company-in")

	h.Clock.Advance(domain.StaffConfirmed) // the provider's clock stays behind, within what is allowed
	tab.Open(base + "/dashboard/test/keys/new")
	tab.WaitForText("h1", "Confirm it’s you")
	view(tab, "company-confirm")
}
