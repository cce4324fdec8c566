package dashboard_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"candor/handlers"
	"candor/internal/domain"
	"candor/internal/testkit/harness"
	"candor/internal/testkit/page"
)

// TestAuditorsReadAndDoNotAct walks all routes as an auditor (D135): pages open that are
// there to read, what acts is refused and changes nothing, and no page has a form that acts.
func TestAuditorsReadAndDoNotAct(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	objects := harness.Objects(h, h.TestScope())
	h.Complete(h.NewSession(h.TestScope(), domain.NewSession{}).ID)
	auditor := h.Staff(domain.RoleAuditor)
	before := h.Stored()
	read, refused := 0, 0
	for _, route := range harness.RoutesOf(handlers.Staff) {
		path := harness.WalkPath(t, route.Path, objects)
		own := route.May == domain.UseDashboard
		switch {
		case route.Method != http.MethodGet && own:
			continue // My account
		case route.Method != http.MethodGet:
			refused++
			auditor.WantPage(auditor.Post(path, nil), http.StatusForbidden, "Ask an owner")
		case strings.HasSuffix(path, "/live") || route.May == domain.AlertReaders && strings.Contains(path, "/tests/"):
		case route.OpensTo(auditor.Session) != (route.May != domain.DownloadData && !route.ActsOnly()):
			t.Errorf("GET %s opens: %t", path, route.OpensTo(auditor.Session))
		case !route.OpensTo(auditor.Session):
			refused++
			auditor.WantPage(auditor.Get(path), http.StatusForbidden)
		default:
			read++
			wantNothingToPress(auditor, path, own)
		}
	}
	if read < 20 || refused < 60 {
		t.Errorf("%d pages read and %d requests refused: the walk misses most", read, refused)
	}
	after := h.Stored()
	for table, digest := range before {
		switch table {
		case "audit_log", "attempt_count": // that it was refused, and what was exported
		default:
			if after[table] != digest {
				t.Errorf("the table %s has changed", table)
			}
		}
	}
}

// wantNothingToPress checks that the page's main part is marked, so that the style hides the
// buttons of forms, that fields are disabled, and that no link leads to a page that acts.
func wantNothingToPress(s *harness.StaffBrowser, path string, own bool) {
	s.Helper()
	answer := s.Get(path)
	if answer.Code != http.StatusOK && answer.Code != http.StatusNotFound {
		s.Errorf("GET %s: %d", path, answer.Code)
	}
	_, main, found := strings.Cut(answer.Body.String(), `<main id="main"`)
	main, _, _ = strings.Cut(main, "</main>")
	if !found || own && strings.HasSuffix(path, "/me") || strings.HasSuffix(path, "/settings/preview") {
		return
	}
	if !strings.HasPrefix(main, ` class="only-reads"`) {
		s.Errorf("GET %s shows buttons of forms: <main%.60s", path, main)
	}
	for _, opens := range []string{"/sessions/new", "/keys/new", "/endpoints/new", "/billing/plan\"", "/billing/cancel\"",
		"/f/ses_", "/settings#test"} {
		if strings.Contains(main, opens) {
			s.Errorf("GET %s leads to %s", path, opens)
		}
	}
	read := page.Read(s, main)
	for _, form := range read.All("form") {
		fields := slices.Concat(form.All("input"), form.All("select"), form.All("textarea"))
		shown := func(p *page.Page) bool { return p.Attr("type") != "hidden" }
		acts := form.Attr("method") == "post" && form.Attr("class") != "own" || strings.Contains(form.Attr("action"), "/settings/")
		if acts && slices.ContainsFunc(fields, shown) {
			s.Errorf("GET %s has fields that can't be sent: %.300s", path, form.Text())
		}
	}
	for _, fold := range read.All("details") {
		if slices.ContainsFunc(fold.All("form"), func(f *page.Page) bool { return f.Attr("method") == "post" }) {
			s.Errorf("GET %s opens to a form that can't be sent: %.300s", path, fold.Text())
		}
	}
}

// TestAuditorSeesNoAnswersInWebhooksAndRequests: bodies that have customers' data are not
// shown, and the log of requests keeps none.
func TestAuditorSeesNoAnswersInWebhooksAndRequests(t *testing.T) {
	t.Parallel()
	h, log := newLogged(t)
	h.Do(harness.Call{Method: http.MethodPost, Path: "/sessions", Key: h.Account.TestKey,
		Body: `{"form_type": "Zebedee", "customer_name": "Zebedee Quill", "customer_email": "zebedee"}`})
	log.Flush(t.Context())
	auditor := h.Staff(domain.RoleAuditor)
	list := auditor.WantPage(auditor.Get("/dashboard/test/requests"), http.StatusOK, "POST /v1/sessions")
	for _, link := range list.All("a") {
		if path := link.Attr("href"); strings.Contains(path, "/requests/req_") {
			auditor.WantPage(auditor.Get(path), http.StatusOK, "customer_email").Hides("Zebedee").Hides("zebedee")
		}
	}
	path := "/dashboard/test/webhooks/deliveries/" + harness.Objects(h, h.TestScope())["delivery"]
	execSQL(h, `UPDATE delivery_attempt SET response = 'Zebedee Quill was here'`)
	auditor.WantPage(auditor.Get(path), http.StatusOK, "shown to who may read customers’ data").Hides("Zebedee")
	owner := h.Owner()
	owner.WantPage(owner.Get(path), http.StatusOK, "Zebedee Quill was here")
}
