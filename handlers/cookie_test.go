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
	"candor/internal/testkit/harness"
)

// TestCookieNames: in production each cookie has the prefix that binds it to
// TLS, and to this host if its path is the root. Development has no prefixes,
// since browsers refuse them without TLS.
func TestCookieNames(t *testing.T) {
	t.Parallel()
	for _, development := range []bool{false, true} {
		h := harness.New(t, func(c *handlers.Config) { c.Development = development })
		_, err := h.DB.Raw().ExecContext(t.Context(), `UPDATE account SET form_languages = '{vi}'`)
		h.OK(err)
		session := h.NewSession(h.TestScope(), domain.NewSession{})
		form := &harness.StaffBrowser{Harness: h, Cookies: map[string]string{}}
		staff := h.SignedOut()
		seen := map[string]bool{}
		for _, answer := range []*httptest.ResponseRecorder{
			form.Do(httptest.NewRequest(http.MethodGet, h.Link(session.ID), nil)),
			form.Get("/f/" + session.ID.String() + "?lang=vi"),
			staff.Get("/dashboard/reset/token"),
			staff.Post("/dashboard/sign-in", harness.SignInForm(h.Account.Email, h.Account.Password)),
			staff.Post("/dashboard/test/me/name", url.Values{"name": {"Sam"}}),
			staff.Post("/dashboard/test/me/theme", url.Values{"theme": {"dark"}}),
			staff.Post("/dashboard/test/me/shortcuts", url.Values{"keys": {"off"}}),
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
		for _, base := range []string{"form", "language", "letter", "staff", "notice", "theme", "keys"} {
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
	h := harness.New(t)
	c, stranger := h.NewCustomer(), h.NewCustomer()
	for _, forged := range []bool{true, false} {
		keys := h.Config.CookieKeys
		if forged {
			keys = [][]byte{[]byte("another key of at least 32 bytes")}
		}
		cookie := sessions.NewSession(sessions.NewCookieStore(keys...), "candor_form")
		cookie.Options, cookie.Values["session"] = &sessions.Options{}, c.ID.String()
		written := httptest.NewRecorder()
		h.OK(cookie.Save(httptest.NewRequest(http.MethodGet, "/", nil), written))
		value := written.Result().Cookies()[0].Value
		former := &harness.Customer{Harness: h, ID: c.ID, Cookies: map[string]string{"candor_form": value,
			"__Secure-candor_form": stranger.Cookies["__Secure-candor_form"]}}
		if want := map[bool]int{true: http.StatusNotFound, false: http.StatusOK}[forged]; former.Get("").Code != want {
			t.Errorf("forged %v: the form's page doesn't answer %d", forged, want)
		}
	}
}
