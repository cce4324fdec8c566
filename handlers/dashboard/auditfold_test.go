package dashboard_test

import (
	"net/http"
	"strings"
	"testing"

	"candor/internal/domain"
	"candor/internal/testkit"
	"candor/internal/testkit/harness"
)

// TestRepeatedReadsAreOneLine: what a key reads again and again is one line of the
// audit log, with a count that leads to all of them; another person's entry ends it.
func TestRepeatedReadsAreOneLine(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := harness.New(t)
	owner := h.Staff(domain.RoleOwner)
	var ids []domain.SessionID
	for range 2 {
		session := h.NewSession(h.TestScope(), domain.NewSession{})
		h.Complete(session.ID)
		ids = append(ids, session.ID)
	}
	read := func(times int) {
		t.Helper()
		for i := range times {
			h.Get("/sessions/" + ids[i%2].String() + "/data").WantStatus(http.StatusOK)
		}
	}
	read(60)
	owner.WantPage(owner.Get("/dashboard/test/sessions/"+ids[0].String()+"/data"), http.StatusOK)
	read(3)
	const path = "/dashboard/test/audit"
	page := owner.WantPage(owner.Get(path), http.StatusOK, "Data read 60 times", "Data read 3 times", "2 sessions")
	if n := strings.Count(page.Text(), "Data read"); n != 3 {
		t.Errorf("%d lines of reads, want 3", n)
	}
	all := page.Leads(path + "?action=session.data_read")
	if len(all) != 2 {
		t.Fatalf("the counts lead to %q", all)
	}
	owner.WantPage(owner.Get(all[0]), http.StatusOK, ids[0].String()).Offers("Older")
	owner.WantPage(owner.Get(path+"?action=session.data_read"), http.StatusOK)
}
