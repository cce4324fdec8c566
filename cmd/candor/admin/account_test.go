package admin_test

import (
	"strings"
	"testing"

	"candor/internal/testkit"
	"candor/internal/testkit/dbtest"
	"candor/internal/testkit/process"
)

func TestAccountCreateAndList(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	env := process.NewEnvironment(t)
	hook := "https://hooks.acme.example/candor"
	a := process.CreateAccount(t, env, "--webhook-url", hook)
	for name, has := range map[string]bool{
		"account_id": strings.HasPrefix(a.AccountID, "acct_"), "test_key": strings.HasPrefix(a.TestKey, "candor_test_"),
		"live_key": strings.HasPrefix(a.LiveKey, "candor_live_"), "test_webhook_secret": strings.HasPrefix(a.TestWebhookSecret,
			"whsec_"),
		"live_webhook_secret": strings.HasPrefix(a.LiveWebhookSecret, "whsec_") && a.LiveWebhookSecret != a.TestWebhookSecret,
		"email":               a.Email == "staff@acme.example", "password": len(a.Password) >= 16,
	} {
		if !has {
			t.Errorf("%s is wrong in %+v", name, a)
		}
	}
	var first bool
	if err := dbtest.Open(t, env["DATABASE_URL"]).Raw().Get(&first, `SELECT must_change_password FROM staff_user`); err != nil ||
		!first {
		t.Errorf("the first password need not be changed: %v", err)
	}
	var urls []string
	if err := dbtest.Open(t, env["DATABASE_URL"]).Raw().Select(&urls, `SELECT url FROM webhook_endpoint`); err != nil {
		t.Fatal(err)
	}
	if len(urls) != 2 || urls[0] != hook || urls[1] != hook {
		t.Errorf("default webhook URLs are %q, want %q for both modes", urls, hook)
	}
	list := process.RunJSON[[]map[string]string](t, env, "account", "list")
	if len(list) != 1 || list[0]["account_id"] != a.AccountID || list[0]["name"] != "Acme Loans" {
		t.Errorf("account list = %v, want the one account", list)
	}
	if r := process.Run(t, env, "account", "list"); !strings.Contains(r.Stdout, a.AccountID) ||
		!strings.Contains(r.Stdout, "Acme Loans") {
		t.Errorf("account list printed %q", r.Stdout)
	}
}

// TestAccountCreateIsAllOrNothing: the secrets are shown once, so an account whose webhook
// URL can't be stored isn't created either.
func TestAccountCreateIsAllOrNothing(t *testing.T) {
	t.Parallel()
	env := process.NewEnvironment(t)
	raw := dbtest.Open(t, env["DATABASE_URL"]).Raw()
	if _, err := raw.ExecContext(t.Context(),
		`ALTER TABLE webhook_endpoint ADD CONSTRAINT none CHECK (url IS NULL OR NOT livemode)`); err != nil {
		t.Fatal(err)
	}
	args := []string{"account", "create", "--name", "Acme Loans", "--email", "staff@acme.example", "--plan", "starter",
		"--webhook-url", "https://hooks.acme.example/candor"}
	if r := process.Run(t, env, args...); r.Code != 1 || r.Stdout != "" {
		t.Errorf("exit code %d, %q; want 1 and nothing", r.Code, r.Stdout)
	}
	if list := process.RunJSON[[]map[string]string](t, env, "account", "list"); len(list) != 0 {
		t.Errorf("%v was created, and its secrets are lost", list)
	}
}

func TestAccountCreateRefuses(t *testing.T) {
	t.Parallel()
	env := process.NewEnvironment(t)
	process.CreateAccount(t, env)
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"unknown plan": {[]string{"--name", "N", "--email", "n@example.com", "--plan", "gold"},
			"plan must be starter, professional, enterprise"},
		"no address":    {[]string{"--name", "N", "--email", "n", "--plan", "starter"}, "email must be an email address"},
		"taken address": {[]string{"--name", "N", "--email", "STAFF@acme.example", "--plan", "starter"}, "exists already"},
		"wrong webhook URL": {[]string{"--name", "N", "--email", "n@example.com", "--plan", "starter", "--webhook-url",
			"http://example.com"}, "--webhook-url: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := process.Run(t, env, append([]string{"account", "create"}, tt.args...)...)
			if r.Code != 1 || !strings.Contains(r.Stderr, tt.want) {
				t.Errorf("exit code %d, %q; want 1 and %q", r.Code, r.Stderr, tt.want)
			}
		})
	}
}
