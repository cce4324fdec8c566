package handlers_test

import (
	"encoding/csv"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"candor/internal/domain"
)

func TestTeam(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	owner, support := b.staff(domain.RoleOwner), b.staff(domain.RoleSupport)
	path := "/dashboard/test/team"
	owner.wantPage(owner.get(path), http.StatusOK, support.session.Email, b.account.Email, "You")

	owner.wantPage(owner.post(path, url.Values{"email": {"nonsense"}, "role": {"support"}}), http.StatusUnprocessableEntity, `value="nonsense"`, "There is a problem")
	owner.wantPage(owner.post(path, url.Values{"email": {support.session.Email}, "role": {"support"}}), http.StatusUnprocessableEntity, "is in the team already")
	owner.wantRedirect(owner.post(path, url.Values{"email": {"new@lender.example"}, "role": {"finance"}}), path)
	page := owner.get(path)
	owner.wantPage(page, http.StatusOK, "Invitation sent", "new@lender.example")
	_, revoke, _ := strings.Cut(page.Body.String(), path+"/invitations/")
	revoke, _, _ = strings.Cut(revoke, `"`)
	owner.wantRedirect(owner.post(path+"/invitations/"+revoke, nil), path)
	if page := owner.get(path); strings.Contains(page.Body.String(), "new@lender.example") {
		t.Error("the invitation is there still")
	}

	support.wantPage(support.get("/dashboard/test/keys"), http.StatusForbidden)
	support.wantPage(support.get(path), http.StatusForbidden, "Your role, support")
	owner.wantRedirect(owner.post(path+"/"+support.session.ID.String()+"/role", url.Values{"role": {"owner"}}), path)
	support.wantPage(support.get(path), http.StatusOK) // at once, in the session that was there

	owner.wantPage(owner.post(path+"/"+owner.session.ID.String()+"/remove", nil), http.StatusUnprocessableEntity, "You can’t take yourself out")
	owner.wantRedirect(owner.post(path+"/"+support.session.ID.String()+"/remove", nil), path)
	support.wantRedirect(support.get(path), "/dashboard/sign-in?then="+url.QueryEscape(path))

	b.clock.advance(domain.StaffConfirmed)
	answer := owner.post(path, url.Values{"email": {"x@lender.example"}, "role": {"owner"}, "from": {path}})
	owner.wantPrompt(answer, path)
	owner.wantPage(owner.get("/dashboard/test/audit"), http.StatusOK, "<span>Removed from the team ", "<span>Role changed ", "role: support → owner", "<span>Invited to the team ", "192.0.2.1")
}

// TestInvitationsEndWithTheirSender: an invitation by an owner who is removed,
// or is an owner no longer, lets no one in. Those of other owners stay.
func TestInvitationsEndWithTheirSender(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	m := b.mailbox()
	owner, removed, demoted := b.staff(domain.RoleOwner), b.staff(domain.RoleOwner), b.staff(domain.RoleOwner)
	const path = "/dashboard/test/team"
	links := map[string]string{}
	for email, from := range map[string]*staffBrowser{"a@lender.example": removed, "b@lender.example": demoted, "c@lender.example": owner} {
		from.wantRedirect(from.post(path, url.Values{"email": {email}, "role": {"owner"}}), path)
		links[email] = m.link(m.letter(email, "Join Lender & Sons on Candor"))
	}
	owner.wantRedirect(owner.post(path+"/"+removed.session.ID.String()+"/remove", nil), path)
	owner.wantRedirect(owner.post(path+"/"+demoted.session.ID.String()+"/role", url.Values{"role": {"developer"}}), path)
	for email, link := range links {
		guest := b.stranger()
		guest.openLetter(link, "/dashboard/invitation")
		answer := guest.get("/dashboard/invitation")
		if want := map[bool]int{true: http.StatusOK, false: http.StatusNotFound}[email == "c@lender.example"]; answer.Code != want {
			t.Errorf("invitation of %s: %d, want %d", email, answer.Code, want)
		}
	}
	b.audited(domain.AuditInvitationRevoked, 2)

	// A request that was allowed before the role changed invites no one after it.
	_, err := b.service.Team.Invite(t.Context(), b.account.AccountID, demoted.session.Actor(), newInvitation("d@lender.example", domain.RoleOwner))
	if !errors.Is(err, &domain.Error{Code: domain.CodeForbidden}) {
		t.Errorf("invitation by a former owner: %v, want forbidden", err)
	}
}

// TestLastOwnerStays whatever two owners do to each other at once.
func TestLastOwnerStays(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, err := b.db.Raw().ExecContext(t.Context(), `DELETE FROM staff_user WHERE email = $1`, b.account.Email)
	b.ok(err)
	owners := []*staffBrowser{b.staff(domain.RoleOwner), b.staff(domain.RoleOwner)}
	var race sync.WaitGroup
	for i := range owners {
		race.Go(func() {
			owners[i].post("/dashboard/test/team/"+owners[1-i].session.ID.String()+"/role", url.Values{"role": {"finance"}})
		})
	}
	race.Wait()
	var left int
	b.ok(b.db.Raw().GetContext(t.Context(), &left, `SELECT count(*) FROM staff_user WHERE role = 'owner'`))
	if left != 1 {
		t.Errorf("%d owners are left, want 1", left)
	}
}

func TestAuditLog(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	owner := b.staff(domain.RoleOwner)
	for range 60 {
		session := b.newSession(b.testScope(), domain.NewSession{})
		_, err := b.service.Sessions.Cancel(t.Context(), b.testScope(), session.ID, domain.Actor{Kind: domain.ActorKey, ID: "key_1", Name: hostile})
		b.ok(err)
	}
	const cancelled = "<span>Session cancelled " // a line, not a choice of the filter
	page := owner.get("/dashboard/live/audit")
	owner.wantPage(page, http.StatusOK, "&lt;script&gt;", "Older")
	if n := strings.Count(page.Body.String(), cancelled); n != 50 {
		t.Errorf("%d lines on a page, want 50", n)
	}
	_, older, _ := strings.Cut(page.Body.String(), "before=")
	older, _, _ = strings.Cut(older, `"`)
	owner.wantPage(owner.get("/dashboard/live/audit?before="+older), http.StatusOK, "Newest")
	owner.wantPage(owner.get("/dashboard/live/audit?who=nobody"), http.StatusOK, "No line of the log matches")
	owner.wantPage(owner.get("/dashboard/live/audit?action=staff.removed"), http.StatusOK, "No line of the log matches")
	owner.wantPage(owner.get("/dashboard/live/audit?from=2026-11-20&to=2026-11-20"), http.StatusOK, cancelled)
	owner.wantPage(owner.get("/dashboard/live/audit?to=2026-11-19"), http.StatusOK, "No line of the log matches")
	rows, err := csv.NewReader(owner.get("/dashboard/live/audit/export?action=session.cancelled").Body).ReadAll()
	b.ok(err)
	if len(rows) != 61 || !strings.HasPrefix(rows[1][4], "'=cmd") {
		t.Errorf("%d rows, the first by %q", len(rows), rows[1][4])
	}
	for _, statement := range []string{`UPDATE audit_log SET actor_name = 'me'`, `DELETE FROM audit_log`, `TRUNCATE audit_log`} {
		if _, err := b.db.Raw().ExecContext(t.Context(), statement); err == nil || !strings.Contains(err.Error(), "append-only") {
			t.Errorf("%s: %v, want it refused", statement, err)
		}
	}
}
