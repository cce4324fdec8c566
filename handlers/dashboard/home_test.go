package dashboard_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/testkit/harness"
	"candor/internal/webhook"
)

func TestHome(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	owner, finance, support := h.Staff(domain.RoleOwner), h.Staff(domain.RoleFinance), h.Staff(domain.RoleSupport)
	owner.WantRedirect(owner.Get("/dashboard"), "/dashboard/test")
	owner.WantPage(owner.Get("/dashboard/test"), http.StatusOK, "First steps", "Create an API key", "Done", "Open the quickstart",
		"Nothing was sent yet")
	support.WantPage(support.Get("/dashboard/test"), http.StatusOK).Hides("First steps", "Nothing was sent yet")
	live := domain.Scope{AccountID: h.Account.AccountID, Livemode: true}
	h.NewSession(live, domain.NewSession{}) // in the 30 days before
	h.Clock.Advance(40 * 24 * time.Hour)
	for range 3 {
		done := h.NewSession(live, domain.NewSession{})
		h.Open(done.ID)
		h.Clock.Advance(90 * time.Minute)
		h.Complete(done.ID)
	}
	h.NewSession(live, domain.NewSession{})
	execSQL(h, `UPDATE staff_session SET seen_at = $1, expires_at = $1::timestamptz + interval '1 day'`, h.Clock.Now())
	owner.WantRedirect(owner.Get("/dashboard"), "/dashboard/live")
	page := owner.WantPage(owner.Get("/dashboard/live"), http.StatusOK, "Up 300% on the previous 30 days", "75%",
		"3 of the 4 created", "3 sessions completed in the last 30 days", "Professional", "of 100 included")
	for fact, want := range map[string]string{"Created": "4", "Completed": "3", "Median time to complete": "1.5 h from creation"} {
		if got := page.Fact(fact); got != want && !strings.HasPrefix(got, want+" ") {
			t.Errorf("%s is %q, want %q", fact, got, want)
		}
	}
	finance.WantPage(finance.Get("/dashboard/live"), http.StatusOK, "Professional").Hides("Completed each day")
}

// A step that was made stays made, and the list stays until all are, or the
// account isn't new any more.
func TestFirstSteps(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	developer := h.Staff(domain.RoleDeveloper)
	deleteKeys(h)
	want := func(when string, done int) {
		t.Helper()
		execSQL(h, `UPDATE staff_session SET seen_at = $1, expires_at = $1::timestamptz + interval '1 day'`, h.Clock.Now())
		home := developer.WantPage(developer.Get("/dashboard/test"), http.StatusOK)
		n := 0
		for _, step := range linesOf(home, "First steps") {
			if strings.Contains(step.Text()+" ", " Done ") {
				n++
			}
		}
		if !strings.Contains(home.Text(), "First steps") {
			n = 4
		}
		if n != done {
			t.Errorf("%s: %d steps are ticked, want %d; without the list 4", when, n, done)
		}
	}
	want("with a key that was deleted lately", 1)
	cancelled := h.NewSession(h.TestScope(), domain.NewSession{})
	h.Open(cancelled.ID)
	_, err := h.Service.Sessions.Cancel(t.Context(), h.TestScope(), cancelled.ID, harness.Operator)
	h.OK(err)
	want("an opened session is cancelled", 3)
	done := h.NewSession(h.TestScope(), domain.NewSession{})
	h.Complete(done.ID)
	want("a session is completed, and no webhook received", 3)
	h.Clock.Advance(29 * 24 * time.Hour)
	want("29 days later", 3)
	back := h.Clock.Now()
	h.Clock.Advance(24 * time.Hour)
	want("30 days later", 4)
	h.Clock.Advance(back.Sub(h.Clock.Now()))
	want("29 days later again", 3)
	hooked := failedAt(h, "https://lender.example/hook", 503, webhook.ClassStatus)
	want("no webhook arrived", 3)
	now := h.Clock.Now()
	h.OK(h.DB.RecordAttempts(t.Context(), nil, []db.EndpointHealth{{ID: hooked.EndpointID, SuccessAt: &now, At: now,
		StatusCode: http.StatusNoContent}}))
	want("a webhook arrived", 4)
}

// TestWhatNeedsYou: the home page begins with what waits for someone of the
// reader's role, each with its one action.
func TestWhatNeedsYou(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	developer, support, finance := h.Staff(domain.RoleDeveloper), h.Staff(domain.RoleSupport), h.Staff(domain.RoleFinance)
	for _, s := range []*harness.StaffBrowser{developer, support} {
		s.WantPage(s.Get("/dashboard/test"), http.StatusOK, "Nothing needs your attention.")
	}
	failed := failedAt(h, "https://lender.example/hook", 503, webhook.ClassStatus)
	failing := func(ago time.Duration) {
		t.Helper()
		at := h.Clock.Now().Add(-ago)
		execSQL(h, `
			UPDATE webhook_endpoint SET failing_since = $1, last_failure_at = $1, consecutive_failures = 12
				WHERE id = $2`, at, failed.EndpointID)
	}
	failing(8 * 24 * time.Hour)
	// one that was given up
	developer.WantPage(developer.Get("/dashboard/test"), http.StatusOK, "Nothing needs your attention.",
		"1 endpoint; nothing has arrived yet.")
	failing(0)
	days := 2
	h.NewSession(h.TestScope(), domain.NewSession{ExpiresInDays: &days})
	developer.WantPage(developer.Get("/dashboard/test"), http.StatusOK,
		"lender.example has failed since 20 Nov 2026, 2:04 pm, 12 failed attempts.").
		Offers("Show deliveries").Hides("Nothing needs")
	page := support.WantPage(support.Get("/dashboard/test"), http.StatusOK, "1 link expires within 3 days.").Hides("has failed")
	support.WantPage(support.Get(page.Link("Show sessions")), http.StatusOK, "Expiring soon", "1 session")
	far := h.NewSession(h.TestScope(), domain.NewSession{CustomerName: "Far Along", ExpiresInDays: &days})
	h.Open(far.ID)
	for _, name := range []string{"personal_details", "income", "assets", "liabilities"} {
		h.Fill(far.ID, name)
	}
	page = support.WantPage(support.Get("/dashboard/test"), http.StatusOK,
		"2 links expire within 3 days. 1 with at least 4 sections")
	list := support.WantPage(support.Get(page.Link("1 with at least 4 sections")), http.StatusOK, "Far Along", "1 session")
	if got := sortedHead(list); got != "Link ends ascending" {
		t.Errorf("links that end soon are sorted by %q", got)
	}
	h.Clock.Advance(49 * time.Hour)
	execSQL(h, `UPDATE staff_session SET seen_at = $1, expires_at = $1::timestamptz + interval '1 day'`, h.Clock.Now())
	support.WantPage(support.Get("/dashboard/test"), http.StatusOK, "Nothing needs your attention.")

	finance.WantPage(finance.Get("/dashboard/live"), http.StatusOK).Hides("No subscription")
	h.OK(h.Service.Billing.Cancel(t.Context(), h.Account.AccountID, harness.Operator, true, "other"))
	finance.WantPage(finance.Get("/dashboard/live"), http.StatusOK, "No subscription. You can’t create live sessions.").
		Offers("Choose a plan")
	support.WantPage(support.Get("/dashboard/live"), http.StatusOK).Hides("No subscription")

	used := harness.New(t)
	extraUse(used, 12)
	bill(used)
	finance = used.Staff(domain.RoleFinance)
	unpaid := used.LastInvoice(used.Account.AccountID)
	finance.WantPage(finance.Get("/dashboard/live"), http.StatusOK, unpaid.NumberText()+" of "+unpaid.Total.String()+" is due on").
		Offers("Show invoice")
}
