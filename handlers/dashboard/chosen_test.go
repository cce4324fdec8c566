package dashboard_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"candor/db"
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
	h.Open(completed.ID)
	h.Complete(completed.ID)
	list := "/dashboard/test/sessions?status=pending"
	support.WantPage(support.Get("/dashboard/test/sessions"), http.StatusOK, "Cancel the chosen sessions")
	chosen := func(do, days string, ids ...string) {
		t.Helper()
		answer := support.Post("/dashboard/test/sessions/chosen", url.Values{"do": {do}, "days": {days}, "session": ids,
			"back": {list}})
		support.WantRedirect(answer, list)
	}

	chosen("extend", "30", append(first, completed.ID.String(), first[0])...)
	support.WantPage(support.Get(list), http.StatusOK, "Links extended: 3. The other sessions had ended")
	if n := count("expires_at > created_at + interval '29 days' AND status = 'pending'"); n != 3 {
		t.Errorf("%d links are extended, want 3", n)
	}
	chosen("extend", "30", first...)
	chosen("extend", "30", first...) // 100 days from now
	support.WantPage(support.Get(list), http.StatusOK, "Links extended: 0. The other")
	chosen("cancel", "", first[:2]...)
	support.WantPage(support.Get(list), http.StatusOK, "Sessions that end in a few seconds: 2.")
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
	for _, odd := range [][]string{{theirs}, {live}, {"sess_x"}, ids(26)} {
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
