package dashboard_test

import (
	"encoding/csv"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"candor/internal/domain"
	"candor/internal/testkit/harness"
	"candor/internal/testkit/page"
)

func TestTeam(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	owner, support := h.Staff(domain.RoleOwner), h.Staff(domain.RoleSupport)
	path := "/dashboard/test/team"
	owner.WantPage(owner.Get(path), http.StatusOK, support.Session.Email, h.Account.Email, "You")

	refused := owner.Post(path, url.Values{"email": {"nonsense"}, "role": {"support"}, "may_download": {"yes"}})
	owner.WantPage(refused, http.StatusUnprocessableEntity, "There is a problem").WantField("email", "nonsense")
	const ticked = `<input type="checkbox" id="may_download" name="may_download" value="yes" checked>`
	if !strings.Contains(refused.Body.String(), ticked) {
		t.Error("the refused invitation has lost its tick")
	}
	unsaid := owner.Post(path, url.Values{"email": {"x@lender.example"}, "role": {""}})
	owner.WantPage(unsaid, http.StatusUnprocessableEntity, "There is a problem", "Choose a role")
	if roles := strings.Count(unsaid.Body.String(), " selected>"); roles != 2 { // the members'
		t.Errorf("%d roles are chosen before anybody has, want 2", roles)
	}
	refused = owner.Post(path+"/"+owner.Session.ID.String()+"/role", url.Values{"role": {"nonsense"}, "may_download": {"yes"}})
	if refused.Code != http.StatusUnprocessableEntity || strings.Contains(refused.Body.String(), ticked) {
		t.Errorf("a refused role, status %d, ticks the box of the invitation", refused.Code)
	}
	owner.WantPage(owner.Post(path, url.Values{"email": {support.Session.Email}, "role": {"support"}}),
		http.StatusUnprocessableEntity, "is already in the team")
	owner.WantRedirect(owner.Post(path, url.Values{"email": {"new@lender.example"}, "role": {"finance"}}), path)
	revoke := owner.WantPage(owner.Get(path), http.StatusOK, "Invitation sent", "new@lender.example").Leads(path + "/invitations/")
	owner.WantRedirect(owner.Post(revoke[len(revoke)-1], nil), path)
	owner.WantPage(owner.Get(path), http.StatusOK).Hides("new@lender.example")

	support.WantPage(support.Get("/dashboard/test/keys"), http.StatusForbidden)
	support.WantPage(support.Get(path), http.StatusForbidden, "Your role, support", owner.Session.Email).
		Offers("Ask for settings, team and audit log")
	owner.WantRedirect(owner.Post(path+"/"+support.Session.ID.String()+"/role", url.Values{"role": {"owner"}}), path)
	support.WantPage(support.Get(path), http.StatusOK) // at once, in the session that was there

	owner.WantPage(owner.Post(path+"/"+owner.Session.ID.String()+"/remove", nil), http.StatusUnprocessableEntity,
		"You can’t remove yourself")
	owner.WantRedirect(owner.Post(path+"/"+support.Session.ID.String()+"/remove", nil), path)
	support.WantRedirect(support.Get(path), "/dashboard/sign-in?then="+url.QueryEscape(path))
	wantEntries(owner.WantPage(owner.Get("/dashboard/test/audit"), http.StatusOK, "role: support → owner", "192.0.2.1"),
		"Removed from the team", "Role changed", "Invited to the team")
}

// TestInvitationsEndWithTheirSender: an invitation by an owner who is removed,
// or is an owner no longer, lets no one in. Those of other owners stay.
func TestInvitationsEndWithTheirSender(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	m := h.Mailbox()
	owner, removed, demoted := h.Staff(domain.RoleOwner), h.Staff(domain.RoleOwner), h.Staff(domain.RoleOwner)
	const path = "/dashboard/test/team"
	links := map[string]string{}
	for email, from := range map[string]*harness.StaffBrowser{"a@lender.example": removed, "b@lender.example": demoted,
		"c@lender.example": owner} {
		from.WantRedirect(from.Post(path, url.Values{"email": {email}, "role": {"owner"}}), path)
		links[email] = m.Link(m.Email(email, "Join Lender & Sons on Candor"))
	}
	owner.WantRedirect(owner.Post(path+"/"+removed.Session.ID.String()+"/remove", nil), path)
	owner.WantRedirect(owner.Post(path+"/"+demoted.Session.ID.String()+"/role", url.Values{"role": {"developer"}}), path)
	for email, link := range links {
		guest := h.SignedOut()
		openEmail(guest, link, "/dashboard/invitation")
		answer := guest.Get("/dashboard/invitation")
		if want := map[bool]int{true: http.StatusOK, false: http.StatusNotFound}[email == "c@lender.example"]; answer.Code != want {
			t.Errorf("invitation of %s: %d, want %d", email, answer.Code, want)
		}
	}
	audited(h, domain.AuditInvitationRevoked, 2)

	// A request that was allowed before the role changed invites no one after it.
	_, err := h.Service.Team.Invite(t.Context(), h.Account.AccountID, demoted.Session.Actor(),
		harness.NewInvitation("d@lender.example", domain.RoleOwner))
	if !errors.Is(err, &domain.Error{Code: domain.CodeForbidden}) {
		t.Errorf("invitation by a former owner: %v, want forbidden", err)
	}
}

// TestLastOwnerStays whatever two owners do to each other at once.
func TestLastOwnerStays(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	execSQL(h, `DELETE FROM staff_user WHERE email = $1`, h.Account.Email)
	owners := []*harness.StaffBrowser{h.Staff(domain.RoleOwner), h.Staff(domain.RoleOwner)}
	var race sync.WaitGroup
	for i := range owners {
		race.Go(func() {
			owners[i].Post("/dashboard/test/team/"+owners[1-i].Session.ID.String()+"/role", url.Values{"role": {"finance"}})
		})
	}
	race.Wait()
	if left := harness.QueryOne[int](h, `SELECT count(*) FROM staff_user WHERE role = 'owner'`); left != 1 {
		t.Errorf("%d owners are left, want 1", left)
	}
}

// wantEntries fails unless the audit log's page has an entry for each of these.
func wantEntries(log *page.Page, whats ...string) {
	log.Helper()
	for _, what := range whats {
		if !slices.ContainsFunc(log.Rows(), func(cells []string) bool { return strings.HasPrefix(cells[2], what) }) {
			log.Errorf("the audit log has no entry %q: %q", what, log.Rows())
		}
	}
}

func TestAuditLog(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	owner := h.Staff(domain.RoleOwner)
	for range 60 {
		session := h.NewSession(h.TestScope(), domain.NewSession{})
		_, err := h.Service.Sessions.Cancel(t.Context(), h.TestScope(), session.ID, domain.Actor{Kind: domain.ActorKey, ID: "key_1",
			Name: harness.Hostile})
		h.OK(err)
	}
	page := owner.WantPage(owner.Get("/dashboard/live/audit"), http.StatusOK, "<script>")
	wantEntries(page, "Session cancelled")
	if n := len(page.Rows()); n != 50 {
		t.Errorf("%d lines on a page, want 50", n)
	}
	owner.WantPage(owner.Get(page.Link("Older")), http.StatusOK).Offers("Newest")
	owner.WantPage(owner.Get("/dashboard/live/audit?who=unknown"), http.StatusOK, "No line of the log matches")
	owner.WantPage(owner.Get("/dashboard/live/audit?action=staff.removed"), http.StatusOK, "No line of the log matches")
	wantEntries(owner.WantPage(owner.Get("/dashboard/live/audit?from=2026-11-20&to=2026-11-20"), http.StatusOK), "Session cancelled")
	owner.WantPage(owner.Get("/dashboard/live/audit?to=2026-11-19"), http.StatusOK, "No line of the log matches")
	rows, err := csv.NewReader(owner.Get("/dashboard/live/audit/export?action=session.cancelled").Body).ReadAll()
	h.OK(err)
	if len(rows) != 61 || !strings.HasPrefix(rows[1][4], "'=cmd") {
		t.Errorf("%d rows, the first by %q", len(rows), rows[1][4])
	}
	for _, statement := range []string{`UPDATE audit_log SET actor_name = 'me'`, `DELETE FROM audit_log`, `TRUNCATE audit_log`} {
		if _, err := h.DB.Raw().ExecContext(t.Context(), statement); err == nil || !strings.Contains(err.Error(), "append-only") {
			t.Errorf("%s: %v, want it refused", statement, err)
		}
	}
}

// TestLastSeenSurvivesSigningOut: the team's page says when each person was last there,
// and what each role may do.
func TestLastSeenSurvivesSigningOut(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	support, owner := h.Staff(domain.RoleSupport), h.Owner()
	support.Get("/dashboard/test")
	before := owner.WantPage(owner.Get("/dashboard/test/team"), http.StatusOK, "Finance Reads invoices, and changes the plan",
		"Creates, extends and cancels sessions, and reads figures; reads customers’ data if an owner allows it.",
		"Two-step sign-in is optional")
	support.Post("/dashboard/sign-out", nil)
	after := owner.WantPage(owner.Get("/dashboard/test/team"), http.StatusOK)
	for i, row := range before.Rows() {
		if row[3] == "–" || after.Rows()[i][3] != row[3] {
			t.Errorf("%s was last seen %q, after signing out %q", row[0], row[3], after.Rows()[i][3])
		}
	}
}
