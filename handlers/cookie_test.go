package handlers_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/gorilla/sessions"

	"candor/handlers"
	"candor/internal/domain"
)

// TestCookieNames: in production each cookie has the prefix that binds it to
// TLS, and to this host if its path is the root. Development has no prefixes,
// since browsers refuse them without TLS.
func TestCookieNames(t *testing.T) {
	t.Parallel()
	for _, development := range []bool{false, true} {
		b := newBench(t, func(c *handlers.Config) { c.Development = development })
		_, err := b.db.Raw().ExecContext(t.Context(), `UPDATE account SET form_languages = '{vi}'`)
		b.ok(err)
		session := b.newSession(b.testScope(), domain.NewSession{})
		form := &staffBrowser{bench: b, cookies: map[string]string{}}
		staff := b.stranger()
		seen := map[string]bool{}
		for _, answer := range []*httptest.ResponseRecorder{
			form.do(httptest.NewRequest(http.MethodGet, b.link(session.ID), nil)),
			form.get("/f/" + session.ID.String() + "?lang=vi"),
			staff.get("/dashboard/reset/token"),
			staff.post("/dashboard/sign-in", signInForm(b.account.Email, b.account.Password)),
			staff.post("/dashboard/test/me/name", url.Values{"name": {"Sam"}}),
		} {
			for _, cookie := range answer.Result().Cookies() {
				prefix, base, found := strings.Cut(cookie.Name, "candor_")
				want := map[bool]string{true: "__Host-", false: "__Secure-"}[cookie.Path == "/"]
				if development {
					want = ""
				}
				if !found || prefix != want || cookie.Secure == development || !cookie.HttpOnly || cookie.Domain != "" {
					t.Errorf("development %v: cookie %+v, want the prefix %q", development, cookie, want)
				}
				seen[base] = true
			}
		}
		for _, base := range []string{"form", "language", "letter", "staff", "notice"} {
			if !seen[base] {
				t.Errorf("development %v: no cookie %s was set", development, base)
			}
		}
	}
}

// TestFormsOpenedBeforeTheUpgrade: a browser whose form cookie has the former
// name, without a prefix, keeps its form. A forged one opens nothing.
func TestFormsOpenedBeforeTheUpgrade(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c, stranger := b.newCustomer(), b.newCustomer()
	for _, forged := range []bool{true, false} {
		keys := b.config.CookieKeys
		if forged {
			keys = [][]byte{[]byte("another key of at least 32 bytes")}
		}
		cookie := sessions.NewSession(sessions.NewCookieStore(keys...), "candor_form")
		cookie.Options, cookie.Values["session"] = &sessions.Options{}, c.id.String()
		written := httptest.NewRecorder()
		b.ok(cookie.Save(httptest.NewRequest(http.MethodGet, "/", nil), written))
		value := written.Result().Cookies()[0].Value
		former := &customer{bench: b, id: c.id, cookies: map[string]string{"candor_form": value, "__Secure-candor_form": stranger.cookies["__Secure-candor_form"]}}
		if want := map[bool]int{true: http.StatusNotFound, false: http.StatusOK}[forged]; former.get("").Code != want {
			t.Errorf("forged %v: the form's page doesn't answer %d", forged, want)
		}
	}
}
