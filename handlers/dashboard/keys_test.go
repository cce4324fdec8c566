package dashboard_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"candor/handlers"
	"candor/internal/domain"
	"candor/internal/testkit/harness"
	"candor/internal/testkit/page"
)

// calls sends a request to the API with the key from the address.
func calls(h *harness.Harness, handler http.Handler, key, address string) int {
	h.Helper()
	r := httptest.NewRequestWithContext(h.Context(), http.MethodGet, "/v1/sessions", nil)
	r.Header.Set("Authorization", "Bearer "+key)
	r.RemoteAddr = address + ":1234"
	h.Address(r)
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w.Code
}

// keyOn is the new key that the page shows.
func keyOn(h *harness.Harness, answer *httptest.ResponseRecorder) string {
	h.Helper()
	return page.Read(h, answer.Body.String()).Copies("Copy key")
}

// firstKeyPath is the path of the newest key on the page.
func firstKeyPath(keys *page.Page) string {
	keys.Helper()
	return keys.Leads("/dashboard/test/keys/key_")[0]
}

func TestKeys(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	developer := h.Staff(domain.RoleDeveloper)
	// Another process over the same database.
	second, err := handlers.New(h.Config)
	h.OK(err)

	developer.WantPage(developer.Get("/dashboard/test/keys/new"), http.StatusOK, "All that your role can do")
	answer := developer.Post("/dashboard/test/keys", url.Values{"name": {" "}, "access": {"restricted"},
		"expires_at": {"2026-11-01"}, "networks": {"10.0.0.0/33"}})
	refused := developer.WantPage(answer, http.StatusUnprocessableEntity, "Enter a name", "Choose at least one permission",
		"Choose a day after today", "10.0.0.0/33")
	if of := refused.Field("networks"); !of.Invalid || !strings.Contains(of.Description, "one a line") ||
		!strings.Contains(of.Description, "10.0.0.0/33") {
		t.Errorf("a screen reader says of the networks: %q, invalid %v", of.Description, of.Invalid)
	}

	answer = developer.Post("/dashboard/test/keys", url.Values{
		"name": {harness.Hostile}, "access": {"restricted"}, "permissions": {"sessions:read"}, "expires_at": {"2026-11-21"},
		"networks": {"198.51.100.0/24\r\n2001:db8::1"},
	})
	developer.WantPage(answer, http.StatusOK, "This is the only time", "<script>", "curl")
	key := keyOn(h, answer)
	list := developer.WantPage(developer.Get("/dashboard/test/keys"), http.StatusOK, "…"+key[len(key)-4:], "May read sessions",
		"198.51.100.0/24", developer.Session.Email, "Never", "expires at the end of 21 Nov 2026")
	if strings.Contains(list.Source, key) || strings.Contains(h.Logs.String(), key) {
		t.Error("the key is shown again, or logged")
	}
	developer.WantPage(developer.Get("/dashboard/live/keys"), http.StatusOK).Hides("…" + key[len(key)-4:])

	for address, want := range map[string]int{"198.51.100.7": 200, "2001:db8::1": 200, "198.51.101.7": 403, "2001:db8::2": 403,
		"::ffff:198.51.100.7": 200} {
		if strings.Contains(address, ":") {
			address = "[" + address + "]"
		}
		if got := calls(h, h.Handler, key, address); got != want {
			t.Errorf("from %s: %d, want %d", address, got, want)
		}
	}
	developer.WantPage(developer.Get("/dashboard/test/keys"), http.StatusOK, "2:04 pm from ")

	path := firstKeyPath(list)
	form := url.Values{"name": {""}, "access": {"restricted"}, "permissions": {"sessions:read"}, "expires_at": {"21 Nov 2026"},
		"networks": {"198.51.100.0/24\r\n2001:db8::1"}}
	developer.WantPage(developer.Post(path+"/change", form), http.StatusUnprocessableEntity, "Enter a name")
	form.Set("name", "Loan system")
	developer.WantRedirect(developer.Post(path+"/change", form), path)
	developer.WantPage(developer.Post(path+"/rotate", url.Values{"overlap": {"2h"}}), http.StatusUnprocessableEntity,
		"Choose how long")
	answer = developer.Post(path+"/rotate", url.Values{"overlap": {"1h"}})
	developer.WantPage(answer, http.StatusOK, "The old key works until 20 Nov 2026, 3:04 pm")
	next := keyOn(h, answer)
	if calls(h, h.Handler, key, "198.51.100.7") != 200 || calls(h, h.Handler, next, "198.51.100.7") != 200 ||
		calls(h, h.Handler, next, "192.0.2.9") != 403 {
		t.Error("after rotating, both keys work from where the old one did")
	}
	h.Clock.Advance(time.Hour)
	if calls(h, h.Handler, key, "198.51.100.7") != 401 || calls(h, second, next, "198.51.100.7") != 200 {
		t.Error("after the overlap, the new key alone works")
	}

	h.Clock.Advance(time.Minute)
	execSQL(h, `UPDATE staff_session SET confirmed_at = $1`, h.Clock.Now())
	path = firstKeyPath(developer.WantPage(developer.Get("/dashboard/test/keys"), http.StatusOK))
	developer.WantPage(developer.Post(path+"/delete", url.Values{"typed_name": {"loan system"}}), http.StatusUnprocessableEntity,
		"Type the key’s name", "Loan system")
	developer.WantRedirect(developer.Post(path+"/delete", url.Values{"typed_name": {"Loan system"}}), "/dashboard/test/keys")
	if calls(h, h.Handler, next, "198.51.100.7") != 401 || calls(h, second, next, "198.51.100.7") != 401 {
		t.Error("a deleted key works still")
	}
	owner := h.Staff(domain.RoleOwner)
	log := owner.WantPage(owner.Get("/dashboard/test/audit"), http.StatusOK).Hides(next)
	wantEntries(log, "API key created", "API key changed", "API key rotated", "API key deleted")
}

// TestKeyIsChanged: a key's permissions, addresses and last day change on its page, for
// the next request on, and never beyond the role of who changes them (D117).
func TestKeyIsChanged(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	developer := h.Staff(domain.RoleDeveloper)
	answer := developer.Post("/dashboard/test/keys", url.Values{"name": {"Loans"}, "access": {"restricted"},
		"permissions": {"sessions:read"}, "expires_at": {"21 Nov 2026"}})
	key := keyOn(h, answer)
	path := firstKeyPath(developer.WantPage(developer.Get("/dashboard/test/keys"), http.StatusOK))
	change := func(values url.Values) *httptest.ResponseRecorder { return developer.Post(path+"/change", values) }
	form := url.Values{"name": {"Loans"}, "access": {"restricted"}, "permissions": {"sessions:read"},
		"expires_at": {"21 Nov 2026"}, "networks": {"198.51.100.7"}}
	developer.WantRedirect(change(form), path)
	developer.WantPage(developer.Get(path), http.StatusOK, "Key changed", "May read sessions", "198.51.100.7",
		"Expires At the end of 21 Nov 2026").
		WantField("Last day it works (optional)", "21 Nov 2026").WantField("Name", "Loans")
	if calls(h, h.Handler, key, "198.51.100.7") != 200 || calls(h, h.Handler, key, "192.0.2.9") != 403 {
		t.Error("the key doesn't work from its new address alone")
	}
	form.Set("permissions", "sessions:write")
	developer.WantRedirect(change(form), path)
	if calls(h, h.Handler, key, "198.51.100.7") != 403 {
		t.Error("the key still reads sessions")
	}
	for field, wrong := range map[string]string{"permissions": "billing:read", "expires_at": "19 Nov 2026", "networks": "x",
		"name": ""} {
		bad := maps.Clone(form)
		bad.Set(field, wrong)
		if got := change(bad).Code; got != http.StatusUnprocessableEntity {
			t.Errorf("%s=%q: %d, want 422", field, wrong, got)
		}
	}
	form.Set("expires_at", "")
	developer.WantRedirect(change(form), path)
	h.Clock.Advance(10 * 24 * time.Hour)
	form.Set("permissions", "sessions:read")
	owner := h.Owner()
	developer = h.Staff(domain.RoleDeveloper)
	developer.WantRedirect(change(form), path)
	if calls(h, h.Handler, key, "198.51.100.7") != 200 {
		t.Error("the key ended on a day that was taken away")
	}
	owner.WantRedirect(owner.Post(path+"/change", url.Values{"name": {"Loans"}, "access": {"full"}}), path)
	if got := change(form).Code; got != http.StatusForbidden {
		t.Errorf("a developer changes a key that can do more: %d, want 403", got)
	}
	developer.WantPage(developer.Get(path), http.StatusOK, "Only an owner can change or rotate it").Lacks("Save")
	owner.WantPage(owner.Post(path+"/rotate", url.Values{"overlap": {"1h"}}), http.StatusOK)
	if got := owner.Post(path+"/change", form).Code; got != http.StatusNotFound {
		t.Errorf("a rotated key is changed: %d, want 404", got)
	}
}

// A new key that was missed is rotated again; the replacement keeps the original
// expiry date.
func TestKeyIsRotatedAgain(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	developer := h.Staff(domain.RoleDeveloper)
	const address = "198.51.100.7"
	for name, last := range map[string]string{"Lasting": "", "Until March": "2027-03-01"} {
		answer := developer.Post("/dashboard/test/keys", url.Values{"name": {name}, "access": {"full"}, "expires_at": {last}})
		first := keyOn(h, answer)
		path := firstKeyPath(developer.WantPage(developer.Get("/dashboard/test/keys"), http.StatusOK))
		missed := developer.Post(path+"/rotate", url.Values{"overlap": {"168h"}})
		if strings.Contains(missed.Body.String(), "This key was rotated before") {
			t.Errorf("%s: the first replacement is said to be another", name)
		}
		developer.WantPage(developer.Get("/dashboard/test/keys"), http.StatusOK, "rotated, expires 27 Nov 2026, 2:04 pm")
		answer = developer.Post(path+"/rotate", url.Values{"overlap": {"1h"}})
		developer.WantPage(answer, http.StatusOK, "The old key works until 20 Nov 2026, 3:04 pm",
			"This key was rotated before. The key from that rotation is in the list")
		second := keyOn(h, answer)
		third := keyOn(h, developer.Post(path+"/rotate", url.Values{"overlap": {"1h"}}))
		missedText := keyOn(h, missed)
		list := developer.WantPage(developer.Get("/dashboard/test/keys"), http.StatusOK, "…"+first[len(first)-4:],
			"…"+second[len(second)-4:], "…"+missedText[len(missedText)-4:], "rotated, expires 20 Nov 2026, 3:04 pm")
		if n := strings.Count(list.Text(), "expires at the end of 1 Mar 2027"); last != "" && n != 3 {
			t.Errorf("%s: %d keys work until the day that the first was made for, want the three that replace it", name, n)
		}

		h.Clock.Advance(time.Hour)
		if got := calls(h, h.Handler, first, address); got != 401 {
			t.Errorf("%s: after the overlap the old key is answered %d", name, got)
		}
		h.Clock.Advance(8 * 24 * time.Hour)
		for _, key := range []string{second, third, missedText} {
			if got := calls(h, h.Handler, key, address); got != 200 {
				t.Errorf("%s: a week later the new key is answered %d", name, got)
			}
		}
		h.Clock.Advance(-8*24*time.Hour - time.Hour)
		deleteKeys(h)
	}
}

// deleteKeys leaves the test mode without keys.
func deleteKeys(h *harness.Harness) {
	h.Helper()
	keys, err := h.Service.Keys.List(h.Context(), h.TestScope())
	h.OK(err)
	for _, k := range keys {
		h.OK(h.Service.Keys.Delete(h.Context(), h.TestScope(), harness.Operator, k.ID, k.Name))
	}
}

// Clients are known by their IPv4 addresses, however a network is written.
func TestKeyNetworksInIPv6(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	developer := h.Staff(domain.RoleDeveloper)
	create := func(network string) *httptest.ResponseRecorder {
		return developer.Post("/dashboard/test/keys", url.Values{"name": {"Mapped"}, "access": {"full"}, "networks": {network}})
	}
	for _, network := range []string{"::ffff:198.51.100.0/120", "::ffff:198.51.100.7", "::ffff:198.51.100.7/128"} {
		key := keyOn(h, create(network))
		if inside, outside := calls(h, h.Handler, key, "198.51.100.7"), calls(h, h.Handler, key, "198.51.101.7"); inside != 200 ||
			outside != 403 {
			t.Errorf("%s: %d from inside, %d from outside", network, inside, outside)
		}
	}
	developer.WantPage(developer.Get("/dashboard/test/keys"), http.StatusOK, "only from 198.51.100.0/24")
	wide := create("::ffff:0.0.0.0/80")
	developer.WantPage(wide, http.StatusUnprocessableEntity, "covers more than IPv4 addresses").Hides("candor_test_")
}
