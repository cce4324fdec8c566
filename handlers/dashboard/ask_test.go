package dashboard_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"candor/internal/domain"
	"candor/internal/testkit/harness"
	"candor/internal/testkit/page"
)

// TestAskForAccess: who is refused a page has its owners asked by email, once a day (D136).
func TestAskForAccess(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	m := h.Mailbox()
	support := h.Staff(domain.RoleSupport)
	page := support.WantPage(support.Get("/dashboard/test/webhooks"), http.StatusForbidden, h.Account.Email,
		"Ask for webhooks and events")
	wanted := url.Values{"for": {page.Field("for").Value}}
	support.WantRedirect(support.Post("/dashboard/test/ask", wanted), "/dashboard/test")
	support.WantPage(support.Get("/dashboard/test/webhooks"), http.StatusForbidden, "You asked for webhooks and events").
		Lacks("Ask for webhooks and events")
	support.WantPage(support.Get("/dashboard/test/keys"), http.StatusForbidden).Offers("Ask for API keys")
	text := m.Email(h.Account.Email, "A colleague asks for access").Text
	for _, want := range []string{support.Session.Email, "access to webhooks and events", "Their role is Support",
		"Owner, Developer",
		"/dashboard/live/team"} {
		if !strings.Contains(text, want) {
			t.Errorf("the email lacks %q:\n%s", want, text)
		}
	}
	support.WantRedirect(support.Post("/dashboard/test/ask", wanted), "/dashboard/test")
	support.WantPage(support.Get("/dashboard/test"), http.StatusOK, "in the last 24 hours")
	audited(h, domain.AuditAccessAsked, 1)
	for _, other := range []string{"", "sessions", "everything"} {
		support.WantPage(support.Post("/dashboard/test/ask", url.Values{"for": {other}}), http.StatusForbidden)
	}
	audited(h, domain.AuditAccessAsked, 1)
}

// TestAccessEmailAdvises: the least right that opens customers' data is support's, and who has a
// role by groups gets another at the company.
func TestAccessEmailAdvises(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	m := h.Mailbox()
	support := h.Staff(domain.RoleSupport)
	asks := func(wanted domain.Capability, advice string) {
		t.Helper()
		support.WantRedirect(support.Post("/dashboard/test/ask", url.Values{"for": {string(wanted)}}), "/dashboard/test")
		if text := m.Email(h.Account.Email, "A colleague asks for access").Text; !strings.Contains(text, advice) {
			t.Errorf("the email lacks %q:\n%s", advice, text)
		}
	}
	asks(domain.DownloadData, "Owner, Developer, Support if you allow it. To give it, change their role")
	execSQL(h, `
		WITH c AS (INSERT INTO sso_connection VALUES ($1, 'https://i.example', 'c', '', '', 'groups', '[]', false, false, now()))
		INSERT INTO sso_identity VALUES ($1, 'subject', $2)`, h.Account.AccountID, support.Session.ID)
	asks(domain.UseBilling, "change them there")
	owner := h.Staff(domain.RoleOwner)
	owner.WantPage(owner.Get("/dashboard/test/team"), http.StatusOK, "change it at the provider", "or they join again")
}

// breaks fails unless the page shows the address so that it can break on a phone.
func breaks(p *page.Page, address string) {
	p.Helper()
	if !strings.Contains(p.Source, strings.NewReplacer("@", "@<wbr>", ".", ".<wbr>").Replace(address)) {
		p.Errorf("%s can't break", address)
	}
}

// TestInvitationAgain: an invitation is sent again or its link is shown once; the former
// link stops working.
func TestInvitationAgain(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	m := h.Mailbox()
	owner := h.Owner()
	invite := func() string {
		t.Helper()
		open, err := h.Service.Team.Invitations(t.Context(), h.Account.AccountID)
		h.OK(err)
		if len(open) != 1 {
			t.Fatalf("%d invitations, want 1", len(open))
		}
		return "/dashboard/test/team/invitations/" + open[0].ID.String()
	}
	owner.Post("/dashboard/test/team", url.Values{"email": {"sam@lender.example"}, "role": {"auditor"}})
	first := m.Link(m.Email("sam@lender.example", "Join Lender & Sons on Candor"))
	owner.WantRedirect(owner.Post(invite()+"/resend", nil), "/dashboard/test/team")
	shown := owner.WantPage(owner.Post(invite()+"/link", nil), http.StatusOK, "shown once", "Auditor")
	breaks(shown, "sam@lender.example")
	link := shown.Copies("Copy link")
	for old, works := range map[string]bool{first: false, link: true} {
		browser := h.SignedOut()
		browser.Get(strings.TrimPrefix(old, harness.BaseURL))
		answer := browser.Get("/dashboard/invitation")
		if got := strings.Contains(answer.Body.String(), "sam@lender.example"); got != works {
			t.Errorf("the link works: %t, want %t", got, works)
		}
	}
	audited(h, domain.AuditInvited, 2)
	audited(h, domain.AuditInvitationCopied, 1)

	// Who opens no email must not become a member of an account that no one has approved.
	execSQL(h, `UPDATE account SET approved_at = NULL`)
	owner.WantPage(owner.Post(invite()+"/link", nil), http.StatusUnprocessableEntity, "invitations go by email only")
	owner.WantRedirect(owner.Post(invite()+"/resend", nil), "/dashboard/test/team")
}
