package handlers_test

import (
	"net/http"
	"strings"
	"testing"

	"candor/internal/domain"
)

// Whoever asks for the headers alone has read nothing, and exported nothing.
func TestOnlyWhatIsSentIsNoted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	owner := b.staff(domain.RoleOwner)
	session := b.newSession(b.testScope(), domain.NewSession{})
	b.open(session.ID)
	b.upload(session.ID, "payslip.pdf")
	b.complete(session.ID)
	b.storePDF(session.ID, []byte("%PDF-1.7"))
	documents, err := b.db.Documents(t.Context(), session.ID)
	b.ok(err)
	paths := map[domain.AuditAction]string{
		domain.AuditDataRead: "/data", domain.AuditPDFRead: "/pdf", domain.AuditDocumentRead: "/documents/" + documents[0].ID.String(),
	}
	const ask, get = http.MethodHead, http.MethodGet
	for action, path := range paths {
		path = "/sessions/" + session.ID.String() + path
		head := owner.send(ask, "/dashboard/test"+path, nil, nil)
		if api := b.send(ask, path, b.account.TestKey, nil, ""); head.Code != http.StatusOK || api.Code != http.StatusOK {
			t.Errorf("%s: HEAD is answered %d and %d", path, head.Code, api.Code)
		}
		b.audited(action, 0)
		full := owner.get("/dashboard/test" + path)
		for _, name := range []string{"Content-Type", "Content-Length", "Content-Disposition"} {
			if head.Header().Get(name) != full.Header().Get(name) {
				t.Errorf("%s: %s is %q for HEAD, %q for GET", path, name, head.Header().Get(name), full.Header().Get(name))
			}
		}
		b.audited(action, 1)
		b.send(get, path, b.account.TestKey, nil, "")
		b.audited(action, 2)
	}
	for action, path := range map[domain.AuditAction]string{domain.AuditSessionsExported: "sessions/export", domain.AuditLogExported: "audit/export"} {
		owner.wantPage(owner.send(ask, "/dashboard/test/"+path, nil, nil), http.StatusOK)
		b.audited(action, 0)
		owner.wantPage(owner.get("/dashboard/test/"+path), http.StatusOK)
		b.audited(action, 1)
	}
	// Nor is a document read whose bytes are lost.
	b.ok(b.service.Blobs.Delete(t.Context(), documents[0].ID.String()))
	if a := owner.get("/dashboard/test/sessions/" + session.ID.String() + paths[domain.AuditDocumentRead]); a.Code != http.StatusNotFound {
		t.Errorf("a lost document is answered %d", a.Code)
	}
	b.audited(domain.AuditDocumentRead, 2)
}

// What a key changes is in the audit log. That it made a session is in the
// session and the log of requests, and the audit log says so.
func TestWhatKeysChangeIsNoted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	owner := b.staff(domain.RoleOwner)
	id := b.post("/sessions", validBody).status(http.StatusCreated).object()["id"].(string)
	b.audited(domain.AuditSessionCreated, 0)
	owner.wantPage(owner.get("/dashboard/test/sessions/"+id), http.StatusOK, "First key")
	owner.wantPage(owner.get("/dashboard/test/audit"), http.StatusOK, "Sessions that keys create are in each session’s history and under API requests")
	b.call(apiCall{method: http.MethodDelete, path: "/sessions/" + id}).status(http.StatusOK)
	b.audited(domain.AuditSessionCancelled, 1)
	owner.says("/dashboard/test/audit", "Session cancelled", "First key API key, ")
}

// A page that isn't there leads back into the mode that was asked for.
func TestNoPageInTheShell(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	owner := b.staff(domain.RoleOwner)
	const switched = `aria-label="Mode"`
	for path, live := range map[string]string{"/dashboard/live/nowhere": "true", "/dashboard/test/nowhere/else": "false", "/dashboard/live/sessions/nonsense": "true"} {
		owner.wantPage(owner.get(path), http.StatusNotFound, "There is nothing here", switched, `" aria-current="`+live+`">Live</a>`)
	}
	for _, path := range []string{"/dashboard/nowhere", "/dashboard/prod/sessions"} {
		page := owner.get(path)
		owner.wantPage(page, http.StatusNotFound, "There is nothing here")
		if strings.Contains(page.Body.String(), switched) {
			t.Errorf("%s shows a mode that nobody asked for", path)
		}
	}
	page := b.stranger().get("/dashboard/live/nowhere")
	if page.Code != http.StatusNotFound || strings.Contains(page.Body.String(), switched) {
		t.Errorf("a stranger sees %d: %s", page.Code, words(page.Body.String()))
	}
}
