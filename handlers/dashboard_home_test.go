package handlers_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"candor/intake"
)

func TestHome(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	owner, finance, support := b.staff(intake.RoleOwner), b.staff(intake.RoleFinance), b.staff(intake.RoleSupport)
	owner.wantRedirect(owner.get("/dashboard"), "/dashboard/test")
	owner.wantPage(owner.get("/dashboard/test"), http.StatusOK, "First steps", "Make an API key", "Done", "session_url", "Nothing was sent yet")
	if page := support.get("/dashboard/test").Body.String(); strings.Contains(page, "First steps") || strings.Contains(page, "Nothing was sent yet") {
		t.Error("support is shown what isn't its matter")
	}
	live := intake.Scope{AccountID: b.account.AccountID, Livemode: true}
	b.newSession(live, intake.NewSession{}) // in the 30 days before
	b.clock.advance(40 * 24 * time.Hour)
	for range 3 {
		done := b.newSession(live, intake.NewSession{})
		b.open(done.ID)
		b.clock.advance(90 * time.Minute)
		b.complete(done.ID)
	}
	b.newSession(live, intake.NewSession{})
	_, err := b.db.ExecContext(t.Context(), `UPDATE staff_session SET seen_at = $1, expires_at = $1::timestamptz + interval '1 day'`, b.clock.Now())
	b.ok(err)
	owner.wantRedirect(owner.get("/dashboard"), "/dashboard/live")
	page := owner.get("/dashboard/live")
	owner.wantPage(page, http.StatusOK, "<dt>Created</dt><dd>4</dd>", "+300 % against", "<dt>Completed</dt><dd>3</dd>", "75 %", "<dt>Median time to complete</dt><dd>1.5 h</dd><dd class=\"stat-note\">from creation</dd>", "3 sessions completed in the last 30 days", "Professional", "of 100 included")
	if strings.Contains(page.Body.String(), "First steps") {
		t.Error("first steps are shown after the last one")
	}
	page = finance.get("/dashboard/live")
	finance.wantPage(page, http.StatusOK, "Professional")
	if strings.Contains(page.Body.String(), "Completed each day") {
		t.Error("finance sees sessions")
	}
}
