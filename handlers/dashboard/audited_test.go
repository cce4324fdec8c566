package dashboard_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"candor/internal/domain"
	"candor/internal/testkit"
	"candor/internal/testkit/harness"
)

// A HEAD request reads nothing and exports nothing.
func TestOnlyWhatIsSentIsNoted(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	owner := h.Staff(domain.RoleOwner)
	session := h.NewSession(h.TestScope(), domain.NewSession{})
	h.Open(session.ID)
	h.Upload(session.ID, "payslip.pdf")
	h.Complete(session.ID)
	h.StorePDF(session.ID, []byte("%PDF-1.7"))
	documents, err := h.DB.Documents(t.Context(), session.ID)
	h.OK(err)
	paths := map[domain.AuditAction]string{
		domain.AuditDataRead: "/data", domain.AuditPDFRead: "/pdf", domain.AuditDocumentRead: "/documents/" + documents[0].ID.String(),
	}
	const ask, get = http.MethodHead, http.MethodGet
	for action, path := range paths {
		path = "/sessions/" + session.ID.String() + path
		head := owner.Send(ask, "/dashboard/test"+path, nil, nil)
		if api := send(h, ask, path, h.Account.TestKey, nil, ""); head.Code != http.StatusOK || api.Code != http.StatusOK {
			t.Errorf("%s: HEAD is answered %d and %d", path, head.Code, api.Code)
		}
		audited(h, action, 0)
		full := owner.Get("/dashboard/test" + path)
		for _, name := range []string{"Content-Type", "Content-Length", "Content-Disposition"} {
			if head.Header().Get(name) != full.Header().Get(name) {
				t.Errorf("%s: %s is %q for HEAD, %q for GET", path, name, head.Header().Get(name), full.Header().Get(name))
			}
		}
		audited(h, action, 1)
		send(h, get, path, h.Account.TestKey, nil, "")
		audited(h, action, 2)
	}
	for action, path := range map[domain.AuditAction]string{domain.AuditSessionsExported: "sessions/export",
		domain.AuditLogExported: "audit/export"} {
		owner.WantPage(owner.Send(ask, "/dashboard/test/"+path, nil, nil), http.StatusOK)
		audited(h, action, 0)
		owner.WantPage(owner.Get("/dashboard/test/"+path), http.StatusOK)
		audited(h, action, 1)
	}
	// Nor is a document read whose bytes are lost.
	h.OK(h.Service.Blobs.Delete(t.Context(), documents[0].ID.String()))
	if a := owner.Get("/dashboard/test/sessions/" + session.ID.String() +
		paths[domain.AuditDocumentRead]); a.Code != http.StatusNotFound {
		t.Errorf("a lost document is answered %d", a.Code)
	}
	audited(h, domain.AuditDocumentRead, 2)
}

// What a key changes is in the audit log. That it made a session is in the
// session and the log of requests, and the audit log says so.
func TestWhatKeysChangeIsNoted(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	owner := h.Staff(domain.RoleOwner)
	id := h.Post("/sessions", harness.ValidBody).WantStatus(http.StatusCreated).Object()["id"].(string)
	audited(h, domain.AuditSessionCreated, 0)
	owner.WantPage(owner.Get("/dashboard/test/sessions/"+id), http.StatusOK, "First key")
	owner.WantPage(owner.Get("/dashboard/test/audit"), http.StatusOK,
		"Sessions that keys create are in each session’s history and under API requests")
	h.Do(harness.Call{Method: http.MethodDelete, Path: "/sessions/" + id}).WantStatus(http.StatusOK)
	audited(h, domain.AuditSessionCancelled, 1)
	owner.WantPage(owner.Get("/dashboard/test/audit"), http.StatusOK, "Session cancelled", "First key API key, ")
}

// A page that isn't there leads back into the mode that was asked for.
func TestNoPageInTheShell(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	owner := h.Staff(domain.RoleOwner)
	for path, mode := range map[string]string{"/dashboard/live/nowhere": "Live", "/dashboard/test/nowhere/else": "Test",
		"/dashboard/live/sessions/nonsense": "Live"} {
		page := owner.WantPage(owner.Get(path), http.StatusNotFound, "There is nothing here").Offers("Test", "Live")
		for _, other := range []string{"Test", "Live"} {
			if got := page.Current(); slices.Contains(got, other) != (other == mode) {
				t.Errorf("%s is marked as in %q, want %s", path, got, mode)
			}
		}
	}
	for _, path := range []string{"/dashboard/nowhere", "/dashboard/prod/sessions"} {
		owner.WantPage(owner.Get(path), http.StatusNotFound, "There is nothing here").Lacks("Test", "Live")
	}
	stranger := h.SignedOut()
	stranger.WantPage(stranger.Get("/dashboard/live/nowhere"), http.StatusNotFound).Lacks("Test", "Live")
}

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
