package dashboard_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"candor/handlers"
	"candor/internal/domain"
	"candor/internal/testkit/harness"
)

var keyText = regexp.MustCompile(`candor_(test|live)_[0-9A-Za-z]{38}`)

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

// firstKeyPath is the path of the newest key on the page.
func firstKeyPath(page *httptest.ResponseRecorder) string {
	_, rest, _ := strings.Cut(page.Body.String(), `action="/dashboard/test/keys/`)
	id, _, _ := strings.Cut(rest, "/")
	return "/dashboard/test/keys/" + id
}

func TestKeys(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	developer := h.Staff(domain.RoleDeveloper)
	// Another process over the same database.
	second, err := handlers.New(h.Config)
	h.OK(err)

	developer.WantPage(developer.Get("/dashboard/test/keys/new"), http.StatusOK, "Full access")
	answer := developer.Post("/dashboard/test/keys", url.Values{"name": {" "}, "access": {"restricted"}, "expires_at": {"2026-11-01"}, "networks": {"10.0.0.0/33"}})
	developer.WantPage(answer, http.StatusUnprocessableEntity, "Enter a name", "Choose at least one permission", "Choose a day after today", "10.0.0.0/33")

	answer = developer.Post("/dashboard/test/keys", url.Values{
		"name": {harness.Hostile}, "access": {"restricted"}, "permissions": {"sessions:read"}, "expires_at": {"2026-11-21"}, "networks": {"198.51.100.0/24\r\n2001:db8::1"},
	})
	developer.WantPage(answer, http.StatusOK, "This is the only time", "&lt;script&gt;", "curl")
	key := keyText.FindString(answer.Body.String())
	list := developer.Get("/dashboard/test/keys")
	developer.WantPage(list, http.StatusOK, "…"+key[len(key)-4:], "May read sessions", "198.51.100.0/24", developer.Session.Email, "Never", "works until 22 Nov 2026")
	if strings.Contains(list.Body.String(), key) || strings.Contains(h.Logs.String(), key) {
		t.Error("the key is shown again, or logged")
	}
	if page := developer.Get("/dashboard/live/keys"); strings.Contains(page.Body.String(), "…"+key[len(key)-4:]) {
		t.Error("the test key is in live mode")
	}

	for address, want := range map[string]int{"198.51.100.7": 200, "2001:db8::1": 200, "198.51.101.7": 403, "2001:db8::2": 403, "::ffff:198.51.100.7": 200} {
		if strings.Contains(address, ":") {
			address = "[" + address + "]"
		}
		if got := calls(h, h.Handler, key, address); got != want {
			t.Errorf("from %s: %d, want %d", address, got, want)
		}
	}
	developer.WantPage(developer.Get("/dashboard/test/keys"), http.StatusOK, "03:04 UTC</span></time> <span class=\"row-note\">from ")

	path := firstKeyPath(list)
	developer.WantPage(developer.Post(path+"/rename", url.Values{"name": {""}}), http.StatusUnprocessableEntity, "Enter a name")
	developer.WantRedirect(developer.Post(path+"/rename", url.Values{"name": {"Loan system"}}), "/dashboard/test/keys")
	developer.WantPage(developer.Post(path+"/rotate", url.Values{"overlap": {"2h"}}), http.StatusUnprocessableEntity, "Choose for how long")
	answer = developer.Post(path+"/rotate", url.Values{"overlap": {"1h"}})
	developer.WantPage(answer, http.StatusOK, "The old key works until 20 Nov 2026, 04:04 UTC")
	next := keyText.FindString(answer.Body.String())
	if calls(h, h.Handler, key, "198.51.100.7") != 200 || calls(h, h.Handler, next, "198.51.100.7") != 200 || calls(h, h.Handler, next, "192.0.2.9") != 403 {
		t.Error("after rotating, both keys work from where the old one did")
	}
	h.Clock.Advance(time.Hour)
	if calls(h, h.Handler, key, "198.51.100.7") != 401 || calls(h, second, next, "198.51.100.7") != 200 {
		t.Error("after the overlap, the new key alone works")
	}

	h.Clock.Advance(time.Minute)
	_, err = h.DB.Raw().ExecContext(t.Context(), `UPDATE staff_session SET confirmed_at = $1`, h.Clock.Now())
	h.OK(err)
	path = firstKeyPath(developer.Get("/dashboard/test/keys"))
	developer.WantPage(developer.Post(path+"/delete", url.Values{"typed_name": {"loan system"}}), http.StatusUnprocessableEntity, "Type the key’s name", "Loan system")
	developer.WantRedirect(developer.Post(path+"/delete", url.Values{"typed_name": {"Loan system"}}), "/dashboard/test/keys")
	if calls(h, h.Handler, next, "198.51.100.7") != 401 || calls(h, second, next, "198.51.100.7") != 401 {
		t.Error("a deleted key works still")
	}
	owner := h.Staff(domain.RoleOwner)
	log := owner.Get("/dashboard/test/audit")
	owner.WantPage(log, http.StatusOK, "<span>API key created ", "<span>API key renamed ", "<span>API key rotated ", "<span>API key deleted ")
	if strings.Contains(log.Body.String(), next) {
		t.Error("the audit log has a key")
	}
}

func TestKeysAskForThePassword(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	developer := h.Staff(domain.RoleDeveloper)
	h.Clock.Advance(domain.StaffConfirmed)
	developer.WantRedirect(developer.Get("/dashboard/test/keys/new"), "/dashboard/confirm?then=%2Fdashboard%2Ftest%2Fkeys%2Fnew")
	developer.WantPrompt(developer.Post("/dashboard/test/keys", url.Values{"name": {"x"}, "from": {"/dashboard/test/keys/new"}}), "/dashboard/test/keys/new")
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
		first := keyText.FindString(answer.Body.String())
		path := firstKeyPath(developer.Get("/dashboard/test/keys"))
		missed := developer.Post(path+"/rotate", url.Values{"overlap": {"168h"}})
		if strings.Contains(missed.Body.String(), "This key was rotated before") {
			t.Errorf("%s: the first replacement is said to be another", name)
		}
		developer.WantPage(developer.Get("/dashboard/test/keys"), http.StatusOK, "replaced, works until 27 Nov 2026, 03:04 UTC")
		answer = developer.Post(path+"/rotate", url.Values{"overlap": {"1h"}})
		developer.WantPage(answer, http.StatusOK, "The old key works until 20 Nov 2026, 04:04 UTC", "This key was rotated before. The key from that rotation is in the list")
		second := keyText.FindString(answer.Body.String())
		third := keyText.FindString(developer.Post(path+"/rotate", url.Values{"overlap": {"1h"}}).Body.String())
		missedText := keyText.FindString(missed.Body.String())
		list := developer.Get("/dashboard/test/keys")
		developer.WantPage(list, http.StatusOK, "…"+first[len(first)-4:], "…"+second[len(second)-4:], "…"+missedText[len(missedText)-4:], "replaced, works until 20 Nov 2026, 04:04 UTC")
		if n := strings.Count(words(list.Body.String()), "works until 2 Mar 2027"); last != "" && n != 3 {
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
	create := func(network string) string {
		answer := developer.Post("/dashboard/test/keys", url.Values{"name": {"Mapped"}, "access": {"full"}, "networks": {network}})
		return answer.Body.String()
	}
	for _, network := range []string{"::ffff:198.51.100.0/120", "::ffff:198.51.100.7", "::ffff:198.51.100.7/128"} {
		key := keyText.FindString(create(network))
		if inside, outside := calls(h, h.Handler, key, "198.51.100.7"), calls(h, h.Handler, key, "198.51.101.7"); inside != 200 || outside != 403 {
			t.Errorf("%s: %d from inside, %d from outside", network, inside, outside)
		}
	}
	developer.WantPage(developer.Get("/dashboard/test/keys"), http.StatusOK, "only from 198.51.100.0/24")
	if page := create("::ffff:0.0.0.0/80"); keyText.MatchString(page) || !strings.Contains(page, "holds more than IPv4 addresses") {
		t.Errorf("a network that is wider than IPv4 is taken: %s", words(page))
	}
}
