package dashboard_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"candor/internal/domain"
	"candor/internal/testkit/harness"
)

// TestFormsThatAreSentOnce: the second click of a double click would cancel the response
// to the first, which alone shows a secret, or do the work twice.
func TestFormsThatAreSentOnce(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	owner := h.Owner()
	session := h.NewSession(h.TestScope(), domain.NewSession{}).ID.String()
	owner.WantPage(owner.Post("/dashboard/test/keys", url.Values{"name": {"Loans"}, "access": {"full"}}), http.StatusOK)
	owner.Post("/dashboard/test/webhooks/secret/next", nil)
	for path, posts := range map[string]string{
		"sessions/new": "/sessions", "keys/new": "/keys", "keys": "/rotate", "sessions/" + session + "/erase": "/erase", "webhooks/settings": "/secret/switch",
	} {
		found := false
		for _, form := range owner.WantPage(owner.Get("/dashboard/test/"+path), http.StatusOK).All("form") {
			if form.Attr("method") == "post" && strings.HasSuffix(form.Attr("action"), posts) {
				found = true
				if !form.Has("data-once") {
					t.Errorf("%s: the form to %s can be sent twice", path, form.Attr("action"))
				}
			}
		}
		if !found {
			t.Errorf("%s has no form to %s", path, posts)
		}
	}
	setup := owner.WantPage(owner.Post("/dashboard/test/me/two-step", nil), http.StatusOK)
	if !strings.Contains(setup.Source, "data-once") {
		t.Error("two-step sign-in can be turned on twice")
	}
}
