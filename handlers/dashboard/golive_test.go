package dashboard_test

import (
	"net/http"
	"strings"
	"testing"

	"candor/internal/domain"
	"candor/internal/testkit/harness"
)

// TestGoLive: Home says what is left to do before the first live session, each line ticked
// by what happened, until all is done.
func TestGoLive(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	owner, developer := h.Owner(), h.Staff(domain.RoleDeveloper)
	developer.WantPage(developer.Get("/dashboard/test"), http.StatusOK).Hides("Before you go live")
	exec := func(statement string) {
		t.Helper()
		_, err := h.DB.Raw().ExecContext(t.Context(), statement, h.Account.AccountID)
		h.OK(err)
	}
	exec(`UPDATE account SET approved_at = NULL WHERE id = $1`)
	exec(`UPDATE subscription SET status = 'cancelled', effective_at = started_at WHERE account_id = $1`)
	exec(`UPDATE api_key SET deleted_at = created_at WHERE account_id = $1 AND livemode`)
	want := func(when string, open ...string) {
		t.Helper()
		home := owner.WantPage(owner.Get("/dashboard/test"), http.StatusOK)
		if len(open) == 0 {
			home.Hides("Before you go live")
			return
		}
		for _, list := range home.All("section") {
			if !strings.HasPrefix(list.Text(), "Before you go live") {
				continue
			}
			var got []string
			for _, line := range list.All("li") {
				if name, _, done := strings.Cut(line.Text(), " Done"); !done {
					got = append(got, strings.Join(strings.Fields(name)[:3], " "))
				}
			}
			if strings.Join(got, ", ") != strings.Join(open, ", ") {
				t.Errorf("%s: open is %q, want %q", when, got, open)
			}
			return
		}
		t.Errorf("%s: no list", when)
	}
	want("at first", "Complete a test", "Receive a webhook", "Show your brand", "Get approved We", "Choose a plan", "Create a live")
	session := h.NewSession(h.TestScope(), domain.NewSession{})
	h.Open(session.ID)
	h.Complete(session.ID)
	exec(`UPDATE account SET brand_colour = 'b0241c', approved_at = created_at WHERE id = $1`)
	want("with a session, a colour and approval", "Receive a webhook", "Choose a plan", "Create a live")
	exec(`INSERT INTO webhook_endpoint (id, account_id, livemode, origin, created_at, last_success_at)
		VALUES (gen_random_uuid(), $1, false, 'https://hooks.example', now(), now())`)
	exec(`UPDATE api_key SET deleted_at = NULL WHERE account_id = $1`)
	want("without a plan", "Choose a plan")
	exec(`UPDATE subscription SET status = 'active', effective_at = NULL WHERE account_id = $1`)
	want("with all")
}

// TestRefusalNamesTheOwners: who lacks a role is told whom to ask.
func TestRefusalNamesTheOwners(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	support, email := h.Staff(domain.RoleSupport), h.Staff(domain.RoleOwner).Session.Email
	support.WantPage(support.Get("/dashboard/test/team"), http.StatusForbidden, email).Offers("Ask for settings, team and audit log")
}
