package dashboard_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"candor/db"
	"candor/handlers"
	"candor/internal/domain"
	"candor/internal/testkit"
	"candor/internal/testkit/harness"
)

// opens is what a permission opens of the dashboard: what a person needs to see the same.
var opens = map[domain.Permission]domain.Capability{
	domain.SessionsRead: domain.UseSessions, domain.SessionsWrite: domain.UseSessions, domain.DataRead: domain.DownloadData,
	domain.BillingRead: domain.UseBilling, domain.WebhookEndpointsRead: domain.ManageWebhooks,
	domain.WebhookEndpointsWrite: domain.ManageWebhooks,
}

// wantNoMore calls each endpoint with the key: it may reach only what the person may.
func wantNoMore(h *harness.Harness, who *domain.Staff, key string) (reached int) {
	h.Helper()
	ids := strings.NewReplacer("/v1", "", ":id", domain.NewSessionID().String(), ":document_id", domain.NewDocumentID().String())
	for _, route := range harness.RoutesOf(handlers.APIKey) {
		answer := h.Do(harness.Call{Method: route.Method, Path: ids.Replace(route.Path), Key: key, Body: "{}"})
		if answer.Code == http.StatusForbidden || answer.Code == http.StatusUnauthorized {
			continue
		}
		reached++
		for _, needed := range route.Permissions {
			if !who.May(opens[needed]) {
				h.Errorf("a key of %s reaches %s %s, which needs %s: %d", who.Role, route.Method, route.Path, needed, answer.Code)
			}
		}
	}
	return reached
}

// TestKeysCanDoNoMoreThanTheirMakers walks each role, what it can give a key, and what the
// key reaches (D93).
func TestKeysCanDoNoMoreThanTheirMakers(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := harness.New(t)
	full := keyOf(h)
	for _, role := range domain.Roles {
		person := h.Staff(role)
		may := &person.Session.Staff
		if !may.May(domain.ManageKeys) {
			person.WantPage(person.Post("/dashboard/test/keys", url.Values{"name": {"x"}, "access": {"full"}}), http.StatusForbidden)
			person.WantPage(person.Post("/dashboard/test/quickstart/key", nil), http.StatusForbidden)
			person.WantPage(person.Post("/dashboard/test/keys/"+full.String()+"/rotate", url.Values{"overlap": {"1h"}}),
				http.StatusForbidden)
			continue
		}
		form := person.WantPage(person.Get("/dashboard/test/keys/new"), http.StatusOK)
		for set := 1; set < 1<<len(domain.AllPermissions); set++ {
			chosen, allowed := []string{}, true
			for i, p := range domain.AllPermissions {
				if set&(1<<i) != 0 {
					chosen, allowed = append(chosen, string(p)), allowed && may.May(opens[p])
				}
				if strings.Contains(form.Source, `value="`+string(p)+`"`) != may.May(opens[p]) {
					t.Errorf("%s is offered %s: %t", role, p, !may.May(opens[p]))
				}
			}
			answer := person.Post("/dashboard/test/keys", url.Values{"name": {"x"}, "access": {"restricted"}, "permissions": chosen})
			if !allowed {
				person.WantPage(answer, http.StatusUnprocessableEntity, "Your role can’t give a key")
				continue
			}
			wantNoMore(h, may, keyOn(h, answer))
		}
		execSQL(h, `UPDATE api_key SET deleted_at = $1 WHERE name = 'x'`, h.Clock.Now()) // an account has 100 at most
		reach := "Restricted. This key can do only this: "
		if may.Grantable() == nil {
			reach = "Full access. This key can do everything: "
		}
		person.WantPage(person.Get("/dashboard/test/quickstart"), http.StatusOK, "Make one that can do less")
		for what, answer := range map[string]*httptest.ResponseRecorder{
			"full access": person.Post("/dashboard/test/keys", url.Values{"name": {"Mine"}, "access": {"full"}}),
			"quickstart":  person.Post("/dashboard/test/quickstart/key", nil),
		} {
			person.WantPage(answer, http.StatusOK, reach+"Read sessions")
			if reached := wantNoMore(h, may, newKeyIn(h, answer)); reached == 0 {
				t.Errorf("%s: the key by %s reaches nothing", role, what)
			}
		}
		own := slices.IndexFunc(keysOf(h), func(k domain.APIKey) bool {
			return k.CreatedBy == person.Session.Email && k.Name == "Mine"
		})
		rotated := person.Post("/dashboard/test/keys/"+keysOf(h)[own].ID.String()+"/rotate", url.Values{"overlap": {"1h"}})
		wantNoMore(h, may, newKeyIn(h, rotated))

		answer := person.Post("/dashboard/test/keys/"+full.String()+"/rotate", url.Values{"overlap": {"1h"}})
		if role == domain.RoleOwner {
			wantNoMore(h, may, newKeyIn(h, answer))
			continue
		}
		person.WantPage(answer, http.StatusForbidden, "can do more than your role", "Ask an owner to change or rotate it")
		person.WantPage(person.Get("/dashboard/test/keys/"+full.String()), http.StatusOK, "Only an owner can change or rotate it")
		person.WantPage(person.Get("/dashboard/test/keys/"+full.String()+"/leaked"), http.StatusOK,
			"Only an owner can change or rotate it").
			Lacks("Rotate key now")
	}
	owner := h.Owner()
	owner.WantPage(owner.Get("/dashboard/test/keys/new"), http.StatusOK, "Full access")
	developer := h.Staff(domain.RoleDeveloper)
	developer.WantRedirect(developer.Post("/dashboard/test/keys/"+full.String()+"/delete", url.Values{"typed_name": {"First key"}}),
		"/dashboard/test/keys")
}

// newKeyIn is the text of the key in the answer.
func newKeyIn(h *harness.Harness, answer *httptest.ResponseRecorder) string {
	h.Helper()
	_, after, found := strings.Cut(answer.Body.String(), "candor_test_")
	end := strings.IndexFunc(after, func(r rune) bool {
		return !strings.ContainsRune("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", r)
	})
	if !found || end < 0 {
		h.Fatalf("no key in the answer %d:\n%.2000s", answer.Code, answer.Body)
	}
	return "candor_test_" + after[:end]
}

func keysOf(h *harness.Harness) []domain.APIKey {
	h.Helper()
	keys, err := h.DB.APIKeys(h.Context(), h.TestScope(), false)
	h.OK(err)
	return keys
}

// TestKeysOfLoweredRoles: keys keep working when the role of the person who made them is
// lowered or the person leaves, and the page of keys says so until they are deleted.
func TestKeysOfLoweredRoles(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	owner, second, developer := h.Owner(), h.Staff(domain.RoleOwner), h.Staff(domain.RoleDeveloper)
	const banner = "These keys can do more than the people who made them."
	made := keyOn(h, second.Post("/dashboard/test/keys", url.Values{"name": {"Reports"}, "access": {"full"}}))
	theirs := keyOn(h, developer.Post("/dashboard/test/keys", url.Values{"name": {"Staging"}, "access": {"full"}}))
	owner.WantPage(owner.Get("/dashboard/test/keys"), http.StatusOK).Hides(banner)
	role := func(of *harness.StaffBrowser, role domain.Role) {
		t.Helper()
		owner.WantRedirect(owner.Post("/dashboard/test/team/"+of.Session.ID.String()+"/role", url.Values{"role": {string(role)}}),
			"/dashboard/test/team")
	}
	role(second, domain.RoleDeveloper)
	owner.WantPage(owner.Get("/dashboard/test/team"), http.StatusOK, "API keys that the new role couldn’t make still work")
	owner.WantPage(owner.Get("/dashboard/test/keys"), http.StatusOK, banner, "Reports , made by "+second.Session.Email+
		", whose role can’t make this key.").Hides("Staging , made by")
	role(developer, domain.RoleSupport)
	breaks(owner.WantPage(owner.Get("/dashboard/test/keys"), http.StatusOK,
		"Staging , made by "+developer.Session.Email+", whose role"), developer.Session.Email)
	owner.WantRedirect(owner.Post("/dashboard/test/team/"+second.Session.ID.String()+"/remove", nil), "/dashboard/test/team")
	owner.WantPage(owner.Get("/dashboard/test/keys"), http.StatusOK, "Reports , made by "+second.Session.Email+
		", who left the team.")
	for _, key := range []string{made, theirs} {
		if got := calls(h, h.Handler, key, "192.0.2.1"); got != http.StatusOK {
			t.Errorf("the key is answered %d", got)
		}
	}
	h.OK(h.DB.InTx(t.Context(), func(tx *db.Tx) error { return tx.DeleteAPIKey(t.Context(), keysOf(h)[0].ID, h.Clock.Now()) }))
	h.OK(h.DB.InTx(t.Context(), func(tx *db.Tx) error { return tx.DeleteAPIKey(t.Context(), keysOf(h)[0].ID, h.Clock.Now()) }))
	owner.WantPage(owner.Get("/dashboard/test/keys"), http.StatusOK).Hides(banner)
}
