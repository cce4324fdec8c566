package dashboard_test

import (
	"maps"
	"net/http"
	"net/url"
	"testing"

	"candor/internal/domain"
	"candor/internal/testkit/browsertest"
	"candor/internal/testkit/harness"
)

// Ticked permissions never make a key with full access; only one that asks for it alone
// has that. The page that shows the key says what it can do.
func TestTickedPermissionsMakeNoFullKey(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	both := url.Values{"name": {"Reports"}, "access": {"full"}, "permissions": {"sessions:read"}}
	for _, role := range []domain.Role{domain.RoleOwner, domain.RoleDeveloper} {
		person := h.Staff(role)
		refused := person.WantPage(person.Post("/dashboard/test/keys", both), http.StatusUnprocessableEntity).Hides("candor_test_")
		refused.WantError("permissions", "You ticked permissions and chose a key that can do everything")
		refused.WantField("access", "full").WantField("permissions", "sessions:read")
	}
	owner := h.Staff(domain.RoleOwner)
	all, err := h.Service.Keys.List(t.Context(), h.TestScope())
	h.OK(err)
	none := len(all)
	for name, values := range map[string]url.Values{
		"no choice":       {"name": {"Reports"}},
		"unknown choice":  {"name": {"Reports"}, "access": {"everything"}},
		"an empty choice": {"name": {"Reports"}, "access": {""}},
	} {
		answer := owner.Post("/dashboard/test/keys", values)
		owner.WantPage(answer, http.StatusUnprocessableEntity).WantError("permissions",
			"Choose at least one permission, or full access")
		if t.Failed() {
			t.Fatal(name)
		}
	}
	if all, err = h.Service.Keys.List(t.Context(), h.TestScope()); err != nil || len(all) != none {
		t.Fatalf("%d keys, %v; want %d as before", len(all), err, none)
	}

	limited := owner.WantPage(owner.Post("/dashboard/test/keys", url.Values{
		"name": {"Reports"}, "permissions": {"sessions:read"}, "expires_at": {"2026-11-21"}, "networks": {"203.0.113.7"},
	}), http.StatusOK,
		"Restricted. This key can do only this: Read sessions It works only from 203.0.113.7. It expires at the end of 21 Nov 2026.")
	key := limited.Copies("Copy key")
	for path, want := range map[string]int{"/sessions": http.StatusForbidden, "/billing/usage": http.StatusForbidden} {
		h.Do(harness.Call{Method: http.MethodGet, Path: path, Key: key}).WantStatus(want) // another address, and not permitted
	}
	path := firstKeyPath(owner.WantPage(owner.Get("/dashboard/test/keys"), http.StatusOK, "Reports"))
	owner.WantPage(owner.Post(path+"/change", both), http.StatusUnprocessableEntity).
		WantError("permissions", "You ticked permissions and chose a key that can do everything").WantField("access", "full")
	owner.WantPage(owner.Get(path), http.StatusOK, "May read sessions")
	owner.WantPage(owner.Post("/dashboard/test/keys", url.Values{"name": {"Loans"}, "access": {"full"}}), http.StatusOK,
		"Full access. This key can do everything: Read sessions Create and cancel sessions", "Read billing")
}

// TestKeysAreBounded: an account has at most 100 keys in each mode, also made by rotating.
func TestKeysAreBounded(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	owner := h.Staff(domain.RoleOwner)
	execSQL(h, `
		INSERT INTO api_key (id, account_id, livemode, name, hash, last4, created_by, created_at)
		SELECT gen_random_uuid(), $1, false, 'Filler', sha256(n::text::bytea), '1234', 'x', $2 FROM generate_series(1, 98) n`,
		h.Account.AccountID, h.Clock.Now().AddDate(0, 0, -1))
	form := url.Values{"name": {"Loans"}, "access": {"full"}}
	answers := make(chan int, 2)
	for range cap(answers) { // with the first key there are 99
		browser := &harness.StaffBrowser{Harness: h, Cookies: maps.Clone(owner.Cookies)}
		go func() { answers <- browser.Post("/dashboard/test/keys", form).Code }()
	}
	if a, b := <-answers, <-answers; a+b != http.StatusOK+http.StatusUnprocessableEntity {
		t.Errorf("two at the same time get %d and %d", a, b)
	}
	owner.WantPage(owner.Post("/dashboard/test/keys", form), http.StatusUnprocessableEntity).
		WantError("name", "There are 100 keys in this mode, which is the most. Delete one that you no longer use first")
	path := firstKeyPath(owner.WantPage(owner.Get("/dashboard/test/keys"), http.StatusOK))
	owner.WantPage(owner.Post(path+"/rotate", url.Values{"overlap": {"1h"}}), http.StatusUnprocessableEntity).
		WantError("overlap", "There are 100 keys")
	owner.WantPage(owner.Post("/dashboard/test/quickstart/key", nil), http.StatusUnprocessableEntity, "There are 100 keys")
	owner.WantPage(owner.Post("/dashboard/live/keys", form), http.StatusOK)
	owner.WantRedirect(owner.Post(path+"/delete", url.Values{"typed_name": {"Loans"}}), "/dashboard/test/keys")
	owner.WantPage(owner.Post("/dashboard/test/keys", form), http.StatusOK)
}

// TestBrowserTickChoosesRestricted: the script chooses as the person means, in both ways.
func TestBrowserTickChoosesRestricted(t *testing.T) {
	t.Parallel()
	h, base := harness.Listen(t)
	tab := browsertest.New(t, harness.Looks()[0])
	signInTo(h, tab, base, "/dashboard/test/keys/new")
	chosen := func() string {
		return browsertest.Eval[string](tab, `[...document.querySelectorAll("main form :checked")].map((i) => i.value).join(" ")`)
	}
	for _, step := range []struct{ click, want string }{
		{"#permission-sessions\\:read", "restricted sessions:read"},
		{"#permission-billing\\:read", "restricted sessions:read billing:read"},
		{"#access-full", "full"},
		{"#permission-data\\:read", "restricted data:read"},
		{"#permission-data\\:read", "restricted"},
	} {
		tab.Click(step.click)
		if got := chosen(); got != step.want {
			t.Errorf("after a click on %s: %q is chosen, want %q", step.click, got, step.want)
		}
	}
}
