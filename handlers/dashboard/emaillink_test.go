package dashboard_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"candor/internal/domain"
	"candor/internal/platform/mail"
	"candor/internal/service/accounts"
	"candor/internal/testkit/harness"
)

// TestEmailLinkByHand: a link that was not to be emailed is, then again, each once though two
// ask at once, and as a message of its own. A session that has ended, a renewed link, another
// account and the day's limit send nothing (D124). Later emails are in the language that the
// customer chose (D125).
func TestEmailLinkByHand(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	h.OK(h.Service.Accounts.ChangeSettings(t.Context(), h.Account.AccountID, harness.Operator,
		func(s *accounts.Settings) { s.Languages = []string{string(domain.Vietnamese)} }))
	m := h.Mailbox()
	live := domain.Scope{AccountID: h.Account.AccountID, Livemode: true}
	session := h.NewSession(live, domain.NewSession{CustomerEmail: "jo@customer.example", CustomerName: "Jo Citizen"})
	path := "/dashboard/live/sessions/" + session.ID.String()
	support, owner := h.Staff(domain.RoleSupport), h.Owner()
	support.WantPage(support.Get(path), http.StatusOK).Offers("Send the link by email")
	twice := func(sends string) {
		t.Helper()
		var both sync.WaitGroup
		for _, staff := range []*harness.StaffBrowser{support, owner} {
			both.Go(func() { staff.WantRedirect(staff.Post(path+"/email", url.Values{"sends": {sends}}), path) })
		}
		both.Wait()
		h.AwaitLinkEmails()
		owner.WantRedirect(owner.Post(path+"/email", url.Values{"sends": {sends}}), path) // a page of before
	}
	twice("0")
	const invited = "Lender & Sons asks for your financial statement"
	first := m.Email(session.CustomerEmail, invited)
	m.Idle()
	support.WantPage(support.Get(path), http.StatusOK, "Emails to the customer", "Sent", "Link to be emailed").Offers("Send again")

	customer := h.CustomerAt(session, h.Link(session.ID))
	customer.Send(httptest.NewRequestWithContext(t.Context(), http.MethodGet, customer.Path("")+"?lang=vi", nil))
	twice("1")
	again := <-m.Sent
	m.Idle()
	if again.ID == first.ID || again.Subject == invited || !strings.Contains(again.HTML, `lang="vi"`) {
		t.Errorf("sent again: %q in %.200s; the same Message-ID: %v", again.Subject, again.HTML, again.ID == first.ID)
	}
	owner.WantPage(owner.Get(path), http.StatusOK, "for the second time").Offers("Send again")
	audited(h, domain.AuditLinkEmailed, 2)
	stranger := h.StaffOf(h.NewAccount("other@lender.example", "starter").AccountID, domain.RoleOwner)
	stranger.WantPage(stranger.Post(path+"/email", url.Values{"sends": {"2"}}), http.StatusNotFound)

	execSQL(h, `UPDATE link_email_count SET links = $1`, domain.LiveLinksADay)
	owner.WantPage(owner.Post(path+"/email", url.Values{"sends": {"2"}}), http.StatusUnprocessableEntity,
		"as many links emailed today as it can").Offers("Send again")
	execSQL(h, `UPDATE link_email_count SET links = 0`)
	other := h.NewSession(live, domain.NewSession{})
	h.Customer(other).Answer("income")
	support.WantPage(support.Post("/dashboard/live/sessions/"+other.ID.String()+"/email", url.Values{"sends": {"0"}}),
		http.StatusForbidden, "which your role can’t see").Offers("Ask for customers’ data")
	owner.WantRedirect(owner.Post(path+"/renew", nil), path)
	owner.WantPage(owner.Get(path), http.StatusOK, "so Candor doesn’t email it").Lacks("Send again")
	owner.WantPage(owner.Post(path+"/email", url.Values{"sends": {"2"}}), http.StatusForbidden, "was renewed")
	_, err := h.Service.Sessions.Cancel(t.Context(), live, session.ID, harness.Operator)
	h.OK(err)
	owner.WantRedirect(owner.Post(path+"/email", url.Values{"sends": {"2"}}), path)
	owner.WantPage(owner.Get(path), http.StatusOK, "had already ended")
	m.Idle()
}

// gate sends an email for each value that it holds.
type gate chan bool

func (g gate) Send(ctx context.Context, _ mail.Message) error {
	select {
	case <-g:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// TestEmailLinkWhileAReminderIsSent: a worker that is busy with another email of the session
// must not put off, or for ever forget, the link that is sent again (D124).
func TestEmailLinkWhileAReminderIsSent(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	mailer := make(gate, 3)
	h.Workers(mailer)
	live := domain.Scope{AccountID: h.Account.AccountID, Livemode: true}
	session := h.NewSession(live, domain.NewSession{CustomerEmail: "jo@customer.example"})
	path := "/dashboard/live/sessions/" + session.ID.String()
	owner := h.Owner()
	mailer <- true
	owner.WantRedirect(owner.Post(path+"/email", url.Values{"sends": {"0"}}), path)
	h.AwaitLinkEmails()
	busy, err := h.DB.LinkDelivery(t.Context(), session.ID)
	h.OK(err)
	owner.WantRedirect(owner.Post(path+"/email", url.Values{"sends": {"1"}}), path)
	h.OK(h.DB.LookAtLinkDelivery(t.Context(), session, busy, nil))
	if n := harness.QueryOne[int](h, `SELECT count(*) FROM link_delivery WHERE look_at IS NOT NULL`); n != 1 {
		t.Error("no worker looks at the link that is to be sent again")
	}
	now, err := h.DB.LinkDelivery(t.Context(), session.ID)
	h.OK(err)
	h.OK(h.DB.LookAtLinkDelivery(t.Context(), session, now, nil))
	if n := harness.QueryOne[int](h, `SELECT count(*) FROM link_delivery WHERE look_at IS NOT NULL`); n != 0 {
		t.Error("who knows of it can't end it")
	}
	mailer <- true
	h.AwaitLinkEmails()
	owner.WantRedirect(owner.Post(path+"/extend", url.Values{"more": {"7"}}), path)
	h.OK(h.DB.LookAtLinkDelivery(t.Context(), session, now, nil))
	if n := harness.QueryOne[int](h, `SELECT count(*) FROM link_delivery WHERE look_at IS NOT NULL`); n != 1 {
		t.Error("no worker looks at a link that was extended in between")
	}
}
