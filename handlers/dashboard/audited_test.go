package dashboard_test

import (
	"net/http"
	"slices"
	"testing"

	"candor/internal/domain"
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
