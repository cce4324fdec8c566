package dashboard_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"candor/internal/domain"
	"candor/internal/testkit/harness"
	"candor/internal/testkit/hooktest"
	"candor/internal/testkit/page"
)

// linesOf are the lines of Home's list with that title, none without the list.
func linesOf(home *page.Page, title string) (lines []*page.Page) {
	for _, list := range home.All("section") {
		if strings.HasPrefix(list.Text(), title) {
			lines = list.All("li")
		}
	}
	return lines
}

// TestGoLive: Home says what is left to do before the first live session, each line ticked
// by what happened, until all is done. Each reader's links lead where their role may go.
func TestGoLive(t *testing.T) {
	t.Parallel()
	receiver := hooktest.NewReceiver(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/broken" {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	h := harness.New(t, withTestEvents(t))
	owner := h.Owner()
	account := h.Account.AccountID
	first := owner.WantPage(owner.Get("/dashboard/test"), http.StatusOK, "Get approved").Hides("Choose a plan")
	if n := strings.Count(first.Text(), "Receive a "); n != 1 {
		t.Errorf("Home asks for a webhook %d times", n)
	}
	execSQL(h, `UPDATE account SET approved_at = NULL WHERE id = $1`, account)
	execSQL(h, `UPDATE subscription SET status = 'cancelled', effective_at = started_at WHERE account_id = $1`, account)
	execSQL(h, `UPDATE api_key SET deleted_at = created_at WHERE account_id = $1 AND livemode`, account)
	testEvent := func(path string) {
		t.Helper()
		address := url.Values{"url": {receiver.URL + path}}
		owner.WantRedirect(owner.Post("/dashboard/test/webhooks/url", address), "/dashboard/test/webhooks/settings")
		if got := owner.Post("/dashboard/test/webhooks/test", address).Code; got != http.StatusSeeOther {
			t.Fatalf("the test event to %s: %d", path, got)
		}
	}
	want := func(when string, open ...string) {
		t.Helper()
		home := owner.WantPage(owner.Get("/dashboard/live"), http.StatusOK)
		if len(open) == 0 {
			home.Hides("Before you go live")
			return
		}
		var got []string
		for _, line := range linesOf(home, "Before you go live") {
			if name, _, done := strings.Cut(line.Text(), " Done"); !done {
				got = append(got, strings.Join(strings.Fields(name)[:3], " "))
			}
		}
		if strings.Join(got, ", ") != strings.Join(open, ", ") {
			t.Errorf("%s: open is %q, want %q", when, got, open)
		}
	}
	want("at first", "Complete a test", "Receive a test", "Set a live", "Show your brand", "Get approved You", "Choose a plan",
		"Create a live")
	for role, unseen := range map[domain.Role][]string{
		domain.RoleDeveloper: {"logo and colour", "Billing"}, domain.RoleAuditor: {"A live key"}, domain.RoleOwner: nil,
	} {
		reader := h.Staff(role)
		home := reader.WantPage(reader.Get("/dashboard/test"), http.StatusOK, "Customers see your logo and colour on the form.",
			"Billing has the plans.", "A live key creates sessions that are billed.").
			Offers("Going live").Lacks(unseen...)
		for _, line := range linesOf(home, "Before you go live") {
			for _, link := range line.Leads("/") {
				if got := reader.Get(link).Code; got != http.StatusOK {
					t.Errorf("%s is led to %s, which answers %d", role, link, got)
				}
			}
		}
	}
	support := h.Staff(domain.RoleSupport)
	support.WantPage(support.Get("/dashboard/test"), http.StatusOK).Hides("Before you go live")
	owner.WantRedirect(owner.Post("/dashboard/live/webhooks/url", url.Values{"url": {receiver.URL}}),
		"/dashboard/live/webhooks/settings")
	session := h.NewSession(h.TestScope(), domain.NewSession{})
	h.Complete(session.ID)
	execSQL(h, `UPDATE account SET brand_colour = 'b0241c', approved_at = created_at WHERE id = $1`, account)
	want("with a session, a colour and approval", "Receive a test", "Choose a plan", "Create a live")
	testEvent("/broken")
	want("with a test event that failed", "Receive a test", "Choose a plan", "Create a live")
	testEvent("/")
	execSQL(h, `UPDATE api_key SET deleted_at = NULL, permissions = '{billing:read}' WHERE account_id = $1`, account)
	want("with a key that creates no sessions", "Choose a plan", "Create a live")
	execSQL(h, `UPDATE api_key SET permissions = NULL WHERE account_id = $1`, account)
	want("without a plan", "Choose a plan")
	execSQL(h, `UPDATE subscription SET status = 'active', effective_at = NULL WHERE account_id = $1`, account)
	want("with all")
}
