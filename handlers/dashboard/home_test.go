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
	owner.WantPage(owner.Get("/dashboard/test"), http.StatusOK, "First steps", "Create an API key", "Done", "Open the quickstart", "Nothing was sent yet")
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
	_, err := h.DB.Raw().ExecContext(t.Context(), `UPDATE staff_session SET seen_at = $1, expires_at = $1::timestamptz + interval '1 day'`, h.Clock.Now())
	h.OK(err)
	owner.WantRedirect(owner.Get("/dashboard"), "/dashboard/live")
	page := owner.WantPage(owner.Get("/dashboard/live"), http.StatusOK, "+300 % against", "75 %", "3 sessions completed in the last 30 days", "Professional", "of 100 included")
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
		_, err := h.DB.Raw().ExecContext(t.Context(), `UPDATE staff_session SET seen_at = $1, expires_at = $1::timestamptz + interval '1 day'`, h.Clock.Now())
		h.OK(err)
		home := developer.WantPage(developer.Get("/dashboard/test"), http.StatusOK)
		n := 0
		for _, step := range home.All("li") {
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
	h.Open(done.ID)
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
	h.OK(h.DB.RecordAttempts(t.Context(), nil, []db.EndpointHealth{{ID: hooked.EndpointID, SuccessAt: &now, At: now, StatusCode: http.StatusNoContent}}))
	want("a webhook arrived", 4)
}
