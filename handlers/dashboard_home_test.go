package handlers_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/webhook"
)

func TestHome(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	owner, finance, support := b.staff(domain.RoleOwner), b.staff(domain.RoleFinance), b.staff(domain.RoleSupport)
	owner.wantRedirect(owner.get("/dashboard"), "/dashboard/test")
	owner.wantPage(owner.get("/dashboard/test"), http.StatusOK, "First steps", "Make an API key", "Done", "session_url", "Nothing was sent yet")
	if page := support.get("/dashboard/test").Body.String(); strings.Contains(page, "First steps") || strings.Contains(page, "Nothing was sent yet") {
		t.Error("support is shown what isn't its matter")
	}
	live := domain.Scope{AccountID: b.account.AccountID, Livemode: true}
	b.newSession(live, domain.NewSession{}) // in the 30 days before
	b.clock.advance(40 * 24 * time.Hour)
	for range 3 {
		done := b.newSession(live, domain.NewSession{})
		b.open(done.ID)
		b.clock.advance(90 * time.Minute)
		b.complete(done.ID)
	}
	b.newSession(live, domain.NewSession{})
	_, err := b.db.Raw().ExecContext(t.Context(), `UPDATE staff_session SET seen_at = $1, expires_at = $1::timestamptz + interval '1 day'`, b.clock.Now())
	b.ok(err)
	owner.wantRedirect(owner.get("/dashboard"), "/dashboard/live")
	page := owner.get("/dashboard/live")
	owner.wantPage(page, http.StatusOK, "<dt>Created</dt><dd>4</dd>", "+300 % against", "<dt>Completed</dt><dd>3</dd>", "75 %", "<dt>Median time to complete</dt><dd>1.5 h</dd><dd class=\"stat-note\">from creation</dd>", "3 sessions completed in the last 30 days", "Professional", "of 100 included")
	page = finance.get("/dashboard/live")
	finance.wantPage(page, http.StatusOK, "Professional")
	if strings.Contains(page.Body.String(), "Completed each day") {
		t.Error("finance sees sessions")
	}
}

// A step that was made stays made, and the list stays until all are, or the
// account isn't new any more.
func TestFirstSteps(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	developer := b.staff(domain.RoleDeveloper)
	b.deleteKeys()
	want := func(when string, done int) {
		t.Helper()
		_, err := b.db.Raw().ExecContext(t.Context(), `UPDATE staff_session SET seen_at = $1, expires_at = $1::timestamptz + interval '1 day'`, b.clock.Now())
		b.ok(err)
		page := developer.get("/dashboard/test").Body.String()
		n := strings.Count(page, `<li class="is-done"`)
		if !strings.Contains(page, "First steps") {
			n = 4
		}
		if n != done {
			t.Errorf("%s: %d steps are ticked, want %d; without the list 4", when, n, done)
		}
	}
	want("with a key that was deleted lately", 1)
	cancelled := b.newSession(b.testScope(), domain.NewSession{})
	b.open(cancelled.ID)
	_, err := b.service.Sessions.Cancel(t.Context(), b.testScope(), cancelled.ID, someone)
	b.ok(err)
	want("an opened session is cancelled", 3)
	done := b.newSession(b.testScope(), domain.NewSession{})
	b.open(done.ID)
	b.complete(done.ID)
	want("a session is completed, and no webhook received", 3)
	b.clock.advance(29 * 24 * time.Hour)
	want("29 days later", 3)
	back := b.clock.Now()
	b.clock.advance(24 * time.Hour)
	want("30 days later", 4)
	b.clock.advance(back.Sub(b.clock.Now()))
	want("29 days later again", 3)
	hooked := b.failedAt("https://lender.example/hook", 503, webhook.ClassStatus)
	want("no webhook arrived", 3)
	now := b.clock.Now()
	b.ok(b.db.RecordAttempts(t.Context(), nil, []db.EndpointHealth{{ID: hooked.EndpointID, SuccessAt: &now, At: now, StatusCode: http.StatusNoContent}}))
	want("a webhook arrived", 4)
}
