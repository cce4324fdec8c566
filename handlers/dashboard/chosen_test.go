package dashboard_test

import (
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"candor/db"
	"candor/handlers"
	"candor/internal/domain"
	"candor/internal/testkit/harness"
)

// TestChosenSessions: the sessions that are chosen in a list are changed together, those
// that can't be stay as they are and are said, and none of another account or mode is.
func TestChosenSessions(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	support := h.Staff(domain.RoleSupport)
	days := 10
	ids := func(n int) (out []string) {
		for range n {
			out = append(out, h.NewSession(h.TestScope(), domain.NewSession{ExpiresInDays: &days}).ID.String())
		}
		return out
	}
	count := func(what string) int { return harness.QueryOne[int](h, "SELECT count(*) FROM session WHERE "+what) }
	first, completed := ids(3), h.NewSession(h.TestScope(), domain.NewSession{})
	h.Complete(completed.ID)
	list := "/dashboard/test/sessions?status=pending"
	support.WantPage(support.Get("/dashboard/test/sessions"), http.StatusOK, "Cancel the chosen sessions",
		"Each customer gets their link at the email address in the list.")
	chosen := func(do, days string, ids ...string) {
		t.Helper()
		support.WantRedirect(sendChosen(support, "/dashboard/test/sessions", url.Values{"do": {do}, "days": {days}, "session": ids,
			"back": {list}}), list)
	}
	partly := func(do, days string, ids []string, want ...string) {
		t.Helper()
		answer := sendChosen(support, "/dashboard/test/sessions", url.Values{"do": {do}, "days": {days}, "session": ids,
			"back": {list}})
		support.WantPage(answer, http.StatusOK, want...)
	}
	partly("extend", "30", append(first, completed.ID.String(), first[0]), "Links extended: 3",
		"1 of 4 sessions stays as it is", "1 had ended already", completed.Reference())
	if n := count("expires_at > created_at + interval '29 days' AND status = 'pending'"); n != 3 {
		t.Errorf("%d links are extended, want 3", n)
	}
	chosen("extend", "30", first...)
	support.WantPage(support.Get(list), http.StatusOK, "Links extended: 3.")
	partly("extend", "30", first, "Links extended: 0", "3 would have a link for more than 90 days")
	cancel := url.Values{"do": {"cancel"}, "session": first[:2], "back": {list}}
	ending := support.WantPage(support.Post("/dashboard/test/sessions/chosen", cancel), http.StatusOK,
		"Sessions that end in a few seconds: 2")
	_, keep := ending.Pressed("Keep them")
	support.WantRedirect(support.Post("/dashboard/test/sessions/chosen", keep), list)
	support.WantPage(support.Get(list), http.StatusOK, "Sessions kept: 2.")
	if n := harness.QueryOne[int](h, "SELECT count(*) FROM session_cancel"); n != 0 {
		t.Errorf("%d sessions are still to be cancelled", n)
	}
	support.WantPage(support.Post("/dashboard/test/sessions/chosen", cancel), http.StatusOK).Offers("Keep them")
	h.Clock.Advance(11 * time.Second)
	h.OK(h.DB.InTx(t.Context(), func(tx *db.Tx) error {
		_, err := tx.CarryOutCancels(t.Context(), h.Clock.Now(), 10)
		return err
	}))
	if n := count("status = 'cancelled'"); n != 2 {
		t.Errorf("%d sessions are cancelled, want 2", n)
	}
	if n := harness.QueryOne[int](h, "SELECT count(*) FROM audit_log WHERE action = 'session.cancelled'"); n != 2 {
		t.Errorf("the audit log has %d of 2", n)
	}

	other := h.NewAccount("other@lender.example", "starter").AccountID
	theirs := h.NewSession(domain.Scope{AccountID: other}, domain.NewSession{}).ID.String()
	live := h.NewSession(domain.Scope{AccountID: h.Account.AccountID, Livemode: true}, domain.NewSession{}).ID.String()
	for _, odd := range [][]string{{theirs}, {live}, {"sess_x"}, ids(26), {first[2], theirs}} {
		answer := support.Post("/dashboard/test/sessions/chosen", url.Values{"do": {"cancel"}, "session": odd})
		support.WantPage(answer, http.StatusNotFound)
	}
	if n := count("status = 'cancelled'"); n != 2 {
		t.Errorf("%d sessions are cancelled, want 2", n)
	}
	if n := harness.QueryOne[int](h, "SELECT count(*) FROM session_cancel"); n != 0 {
		t.Errorf("%d others are to be cancelled", n)
	}
	chosen("cancel", "")
}

// chosenForm is what the list sends of what is chosen: what it shows.
func chosenForm(staff *harness.StaffBrowser, list string) url.Values {
	staff.Helper()
	form, values := staff.WantPage(staff.Get(list), http.StatusOK).Pressed("Extend")
	if !strings.HasSuffix(form.Action, "/chosen") {
		staff.Fatalf("the form of what is chosen goes to %s", form.Action)
	}
	return values
}

// sendChosen sends the list's form of what is chosen, with these values.
func sendChosen(staff *harness.StaffBrowser, list string, values url.Values) *httptest.ResponseRecorder {
	staff.Helper()
	form := chosenForm(staff, list)
	maps.Copy(form, values)
	return staff.Post("/dashboard/test/sessions/chosen", form)
}

// TestChosenSessionsAreExtendedOnce: a form that is sent again, or by two people who saw the
// same list, extends once (D133).
func TestChosenSessionsAreExtendedOnce(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	one, other := h.Staff(domain.RoleSupport), h.Owner()
	days := 10
	session := h.NewSession(h.TestScope(), domain.NewSession{CustomerName: "Ann", ExpiresInDays: &days})
	const list, post = "/dashboard/test/sessions", "/dashboard/test/sessions/chosen"
	shown := map[*harness.StaffBrowser]url.Values{one: chosenForm(one, list), other: chosenForm(other, list)}
	for _, form := range shown {
		maps.Copy(form, url.Values{"days": {"7"}, "session": {session.ID.String()}, "back": {list}})
	}
	ends := func(want int) {
		t.Helper()
		if got := h.SessionOf(session.ID).ExpiresAt.Sub(session.CreatedAt); got != time.Duration(want)*24*time.Hour {
			t.Errorf("the link lasts %s, want %d days", got, want)
		}
	}
	one.WantRedirect(one.Post(post, shown[one]), list)
	ends(17)
	const refused = "1 had the link extended since you opened the list"
	one.WantPage(one.Post(post, shown[one]), http.StatusOK, "Links extended: 0", refused, "Ann")
	other.WantPage(other.Post(post, shown[other]), http.StatusOK, refused)
	other.WantPage(other.Post(post, url.Values{"do": {"extend"}, "days": {"7"}, "session": {session.ID.String()}}),
		http.StatusOK, refused) // from no page
	ends(17)
	again := chosenForm(other, list)
	maps.Copy(again, url.Values{"days": {"14"}, "session": {session.ID.String()}, "back": {list}})
	other.WantRedirect(other.Post(post, again), list)
	ends(31)
	audited(h, domain.AuditSessionExtended, 2)
}

// TestChosenSessionsAreEmailed: each link goes once, though the form is sent twice, and those
// that can't be sent are named with the reason (D133).
func TestChosenSessionsAreEmailed(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	m := h.Mailbox()
	live := domain.Scope{AccountID: h.Account.AccountID, Livemode: true}
	support, owner := h.Staff(domain.RoleSupport), h.Owner()
	of := func(name string) *domain.Session {
		return h.NewSession(live, domain.NewSession{CustomerName: name, CustomerEmail: strings.ToLower(name) + "@customer.example"})
	}
	sent, renewed, opened, cancelled := of("Ann"), of("Bob"), of("Cy"), of("Dee")
	_, err := h.Service.Sessions.RenewLink(t.Context(), live, renewed.ID, harness.Operator)
	h.OK(err)
	h.Open(opened.ID)
	_, err = h.Service.Sessions.Cancel(t.Context(), live, cancelled.ID, harness.Operator)
	h.OK(err)
	const list = "/dashboard/live/sessions"
	shownAt := func(staff *harness.StaffBrowser) string { return chosenForm(staff, list).Get("shown") }
	shown := shownAt(support)
	email := func(staff *harness.StaffBrowser, shown string, ids ...*domain.Session) *httptest.ResponseRecorder {
		values := url.Values{"do": {"email"}, "shown": {shown}, "back": {list}}
		for _, one := range ids {
			values.Add("session", one.ID.String())
		}
		return staff.Post(list+"/chosen", values)
	}
	support.WantPage(email(support, shown, sent, renewed, opened, cancelled), http.StatusOK, "Links being emailed: 1",
		"3 of 4 sessions stay as they are", "This link was renewed", "Bob", "which your role can’t see", "Cy", "1 had ended already",
		"Dee").Lacks("Ann")
	h.AwaitLinkEmails()
	m.Email(sent.CustomerEmail, "Lender & Sons asks for your financial statement")
	h.Clock.Advance(time.Minute)
	support.WantPage(email(support, shown, sent), http.StatusOK, "Links being emailed: 0", "1 had the link sent since",
		"Ann")
	support.WantPage(email(support, "", sent), http.StatusOK, "1 had the link sent since")
	m.Idle()
	owner.WantRedirect(email(owner, shownAt(owner), sent, opened), list)
	owner.WantPage(owner.Get(list), http.StatusOK, "Links being emailed: 2.")
	h.AwaitLinkEmails()
	audited(h, domain.AuditLinkEmailed, 3)
}

// TestChosenSessionsUntilAnError: an error midway doesn't hide what was done before it.
func TestChosenSessionsUntilAnError(t *testing.T) {
	t.Parallel()
	h := harness.New(t, func(c *handlers.Config) { c.Logger = slog.New(slog.DiscardHandler) })
	owner := h.Owner()
	days := 10
	first := h.NewSession(h.TestScope(), domain.NewSession{CustomerName: "First", ExpiresInDays: &days})
	h.Clock.Advance(time.Minute)
	broken := h.NewSession(h.TestScope(), domain.NewSession{CustomerName: "Broken", ExpiresInDays: &days})
	h.Clock.Advance(time.Minute)
	last := h.NewSession(h.TestScope(), domain.NewSession{CustomerName: "Last", ExpiresInDays: &days})
	execSQL(h, `ALTER TABLE session ADD CHECK (customer_name <> 'Broken' OR expires_at < created_at + interval '11 days')`)
	answer := sendChosen(owner, "/dashboard/test/sessions", url.Values{"do": {"extend"}, "days": {"14"},
		"session": {first.ID.String(), broken.ID.String(), last.ID.String()}, "back": {"/dashboard/test/sessions"}})
	owner.WantPage(answer, http.StatusInternalServerError, "Links extended: 1", "2 of 3 sessions stay as they are",
		"1 may have been done, but something went wrong", "1 not tried", "Broken", "First").Lacks("Last")
}

// TestChosenSessionsAreExported: the file has those that were chosen, in any state, and no other.
func TestChosenSessionsAreExported(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	owner := h.Owner()
	one, other := h.NewSession(h.TestScope(), domain.NewSession{}), h.NewSession(h.TestScope(), domain.NewSession{})
	h.Complete(one.ID)
	answer := owner.Post("/dashboard/test/sessions/chosen", url.Values{"do": {"export"}, "session": {one.ID.String()},
		"back": {"/dashboard/test/sessions"}})
	to := answer.Header().Get("Location")
	file := owner.Get(to)
	if rows := strings.Count(file.Body.String(), "\n"); file.Code != http.StatusOK || rows != 2 ||
		!strings.Contains(file.Body.String(), one.ID.String()) || strings.Contains(file.Body.String(), other.ID.String()) {
		t.Errorf("%s exports %d lines: %s", to, rows, file.Body)
	}
	audited(h, domain.AuditSessionsExported, 1)
	stranger := h.StaffOf(h.NewAccount("other@lender.example", "starter").AccountID, domain.RoleOwner)
	stranger.WantPage(stranger.Get(to), http.StatusNotFound)
}
