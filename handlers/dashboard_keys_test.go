package handlers_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"candor/handlers"
	"candor/intake"
)

var keyText = regexp.MustCompile(`candor_(test|live)_[0-9A-Za-z]{38}`)

// calls sends a request to the API with the key from the address.
func (b *bench) calls(handler http.Handler, key, address string) int {
	b.Helper()
	r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, "/v1/sessions", nil)
	r.Header.Set("Authorization", "Bearer "+key)
	r.RemoteAddr = address + ":1234"
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
	b := newBench(t)
	developer := b.staff(intake.RoleDeveloper)
	// Another process over the same database.
	second, err := handlers.New(b.config)
	b.ok(err)

	developer.wantPage(developer.get("/dashboard/test/keys/new"), http.StatusOK, "Full access")
	answer := developer.post("/dashboard/test/keys", url.Values{"name": {" "}, "access": {"restricted"}, "expires_at": {"2026-11-01"}, "networks": {"10.0.0.0/33"}})
	developer.wantPage(answer, http.StatusUnprocessableEntity, "Enter a name", "Choose at least one permission", "Choose a day after today", "10.0.0.0/33")

	answer = developer.post("/dashboard/test/keys", url.Values{
		"name": {hostile}, "access": {"restricted"}, "permissions": {"sessions:read"}, "expires_at": {"2026-11-21"}, "networks": {"198.51.100.0/24\r\n2001:db8::1"},
	})
	developer.wantPage(answer, http.StatusOK, "This is the only time", "&lt;script&gt;", "curl")
	key := keyText.FindString(answer.Body.String())
	list := developer.get("/dashboard/test/keys")
	developer.wantPage(list, http.StatusOK, "…"+key[len(key)-4:], "May read sessions and events", "198.51.100.0/24", developer.session.Email, "Never", "works until 22 Nov 2026")
	if strings.Contains(list.Body.String(), key) || strings.Contains(b.logs.String(), key) {
		t.Error("the key is shown again, or logged")
	}
	if page := developer.get("/dashboard/live/keys"); strings.Contains(page.Body.String(), "…"+key[len(key)-4:]) {
		t.Error("the test key is in live mode")
	}

	for address, want := range map[string]int{"198.51.100.7": 200, "2001:db8::1": 200, "198.51.101.7": 403, "2001:db8::2": 403, "::ffff:198.51.100.7": 200} {
		if strings.Contains(address, ":") {
			address = "[" + address + "]"
		}
		if got := b.calls(b.handler, key, address); got != want {
			t.Errorf("from %s: %d, want %d", address, got, want)
		}
	}
	developer.wantPage(developer.get("/dashboard/test/keys"), http.StatusOK, "03:04 UTC</span></time> <span class=\"row-note\">from ")

	path := firstKeyPath(list)
	developer.wantPage(developer.post(path+"/rename", url.Values{"name": {""}}), http.StatusUnprocessableEntity, "Enter a name")
	developer.wantRedirect(developer.post(path+"/rename", url.Values{"name": {"Loan system"}}), "/dashboard/test/keys")
	developer.wantPage(developer.post(path+"/rotate", url.Values{"overlap": {"2h"}}), http.StatusUnprocessableEntity, "Choose for how long")
	answer = developer.post(path+"/rotate", url.Values{"overlap": {"1h"}})
	developer.wantPage(answer, http.StatusOK, "The old key works until 20 Nov 2026, 04:04 UTC")
	next := keyText.FindString(answer.Body.String())
	if b.calls(b.handler, key, "198.51.100.7") != 200 || b.calls(b.handler, next, "198.51.100.7") != 200 || b.calls(b.handler, next, "192.0.2.9") != 403 {
		t.Error("after rotating, both keys work from where the old one did")
	}
	b.clock.advance(time.Hour)
	if b.calls(b.handler, key, "198.51.100.7") != 401 || b.calls(second, next, "198.51.100.7") != 200 {
		t.Error("after the overlap, the new key alone works")
	}

	b.clock.advance(time.Minute)
	_, err = b.db.ExecContext(t.Context(), `UPDATE staff_session SET confirmed_at = $1`, b.clock.Now())
	b.ok(err)
	path = firstKeyPath(developer.get("/dashboard/test/keys"))
	developer.wantPage(developer.post(path+"/delete", url.Values{"typed_name": {"loan system"}}), http.StatusUnprocessableEntity, "Type the key’s name", "Loan system")
	developer.wantRedirect(developer.post(path+"/delete", url.Values{"typed_name": {"Loan system"}}), "/dashboard/test/keys")
	if b.calls(b.handler, next, "198.51.100.7") != 401 || b.calls(second, next, "198.51.100.7") != 401 {
		t.Error("a deleted key works still")
	}
	owner := b.staff(intake.RoleOwner)
	log := owner.get("/dashboard/test/audit")
	owner.wantPage(log, http.StatusOK, "<span>API key created ", "<span>API key renamed ", "<span>API key rotated ", "<span>API key deleted ")
	if strings.Contains(log.Body.String(), next) {
		t.Error("the audit log has a key")
	}
}

func TestKeysAskForThePassword(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	developer := b.staff(intake.RoleDeveloper)
	b.clock.advance(intake.StaffConfirmed)
	developer.wantRedirect(developer.get("/dashboard/test/keys/new"), "/dashboard/confirm?then=%2Fdashboard%2Ftest%2Fkeys%2Fnew")
	developer.wantRedirect(developer.post("/dashboard/test/keys", url.Values{"name": {"x"}, "from": {"/dashboard/test/keys/new"}}), "/dashboard/confirm?then=%2Fdashboard%2Ftest%2Fkeys%2Fnew")
}
