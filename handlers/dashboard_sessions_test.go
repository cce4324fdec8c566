package handlers_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"candor/internal/domain"
	"candor/internal/statement"
)

// hostile is text that must not become part of a page, a script or a formula.
const hostile = `=cmd|'/c calc'!A1 <script>alert("x")</script> ` + "\u202ekcab"

func TestSessionsAreListedAndFound(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	support := b.staff(domain.RoleSupport)
	support.wantPage(support.get("/dashboard/test/sessions"), http.StatusOK, "No sessions yet")
	var last *domain.Session
	for i := range 30 {
		b.clock.advance(time.Minute)
		last = b.newSession(b.testScope(), domain.NewSession{
			CustomerEmail: fmt.Sprintf("c%d@customer.example", i), CustomerName: hostile, ReferenceID: fmt.Sprintf("loan-%d", i),
		})
	}
	first := support.get("/dashboard/test/sessions")
	support.wantPage(first, http.StatusOK, "30 sessions", "loan-29", "loan-5", "Older", "&lt;script&gt;")
	for _, text := range []string{"loan-4<", "<script>alert", "Newest"} {
		if strings.Contains(first.Body.String(), text) {
			t.Errorf("the first page has %q", text)
		}
	}
	_, older, _ := strings.Cut(first.Body.String(), `before=`)
	older, _, _ = strings.Cut(older, `"`)
	support.wantPage(support.get("/dashboard/test/sessions?before="+older), http.StatusOK, "loan-4<", "loan-0<", "Newest")

	support.wantPage(support.get("/dashboard/test/sessions?q=C7@customer.example"), http.StatusOK, "1 session<", "loan-7<")
	support.wantPage(support.get("/dashboard/test/sessions?q=loan-12"), http.StatusOK, "1 session<", "c12@customer.example")
	support.wantPage(support.get("/dashboard/test/sessions?q=nothing"), http.StatusOK, "No session matches")
	support.wantPage(support.get("/dashboard/test/sessions?status=completed"), http.StatusOK, "No session matches")
	support.wantPage(support.get("/dashboard/test/sessions?from=2026-11-20&to=2026-11-20"), http.StatusOK, "30 sessions")
	support.wantPage(support.get("/dashboard/test/sessions?to=2026-11-19"), http.StatusOK, "No session matches")
	support.wantPage(support.get("/dashboard/test/sessions?from=yesterday"), http.StatusOK, "Enter a date such as")
	support.wantRedirect(support.get("/dashboard/test/sessions?q="+last.ID.String()), "/dashboard/test/sessions/"+last.ID.String())
	support.wantPage(support.get("/dashboard/live/sessions?q="+last.ID.String()), http.StatusOK, "No session matches")
}

func TestSessionByHand(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	support := b.staff(domain.RoleSupport)
	support.wantPage(support.get("/dashboard/test/sessions/new"), http.StatusOK, `value="30"`)
	answer := support.post("/dashboard/test/sessions", url.Values{"customer_email": {"not an address"}, "customer_name": {strings.Repeat("x", 201)}, "expires_in_days": {"91"}})
	support.wantPage(answer, http.StatusUnprocessableEntity, "Enter an e-mail address", "The customer’s name ", "Enter a number of days from 1 to 90", `value="not an address"`, "There is a problem")

	answer = support.post("/dashboard/test/sessions", url.Values{"customer_email": {"jo@customer.example"}, "reference_id": {"loan-1"}, "expires_in_days": {"2"}})
	path := answer.Header().Get("Location")
	support.wantRedirect(answer, path)
	id, err := domain.ParseSessionID(strings.TrimPrefix(path, "/dashboard/test/sessions/"))
	b.ok(err)
	support.wantPage(support.get(path), http.StatusOK, "Session created", b.service.Sessions.URL(id), support.session.Email, "Not opened")

	answer = support.post(path+"/extend", url.Values{"days": {"1"}})
	support.wantPage(answer, http.StatusUnprocessableEntity, "longer than that already")
	answer = support.post(path+"/extend", url.Values{"days": {"ten"}})
	support.wantPage(answer, http.StatusUnprocessableEntity, "from 1 to 90", `value="ten"`)
	support.wantRedirect(support.post(path+"/extend", url.Values{"days": {"10"}}), path)
	session, err := b.service.Sessions.Get(t.Context(), b.testScope(), id)
	b.ok(err)
	if want := startTime.AddDate(0, 0, 10); !session.ExpiresAt.Equal(want) {
		t.Errorf("expires at %s, want %s", session.ExpiresAt, want)
	}
	support.wantRedirect(support.post(path+"/cancel", nil), path)
	support.wantPage(support.get(path), http.StatusOK, "Session cancelled", "Link extended")
	support.wantRedirect(support.post(path+"/cancel", nil), path)
	support.wantPage(support.get(path), http.StatusOK, "the session had already ended")
	support.wantRedirect(support.post(path+"/extend", url.Values{"days": {"20"}}), path)
}

// TestLinkIsForThoseWhoMayRead: with the link of a form that is being filled
// in one reads what the customer has entered.
func TestLinkIsForThoseWhoMayRead(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	support, developer := b.staff(domain.RoleSupport), b.staff(domain.RoleDeveloper)
	session := b.newSession(b.testScope(), domain.NewSession{})
	path := "/dashboard/test/sessions/" + session.ID.String()
	token := b.token(session.ID)
	support.wantPage(support.get(path), http.StatusOK, token)
	b.open(session.ID)
	if answer := support.get(path); strings.Contains(answer.Body.String(), token) {
		t.Error("support sees the link of an opened form")
	}
	developer.wantPage(developer.get(path), http.StatusOK, token)
	b.complete(session.ID)
	if answer := developer.get(path); strings.Contains(answer.Body.String(), token) {
		t.Error("the link of a completed session is shown")
	}
}

func TestDownloadsAreForThoseWhoMayAndAreNoted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	session := b.newSession(b.testScope(), domain.NewSession{CustomerName: "Jo Public"})
	b.open(session.ID)
	b.upload(session.ID, "payslip.pdf")
	b.complete(session.ID)
	path := "/dashboard/test/sessions/" + session.ID.String()
	documents, err := b.db.Documents(t.Context(), session.ID)
	b.ok(err)
	paths := []string{path + "/data", path + "/pdf", path + "/documents/" + documents[0].ID.String()}

	developer := b.staff(domain.RoleDeveloper)
	developer.wantRedirect(developer.get(paths[1]), path)
	developer.wantPage(developer.get(path), http.StatusOK, "not ready yet")
	b.storePDF(session.ID, []byte("%PDF-1.7 test"))

	support := b.staff(domain.RoleSupport)
	for _, p := range paths {
		support.wantPage(support.get(p), http.StatusForbidden)
	}
	_, err = b.db.Raw().ExecContext(t.Context(), `UPDATE staff_user SET may_download = true WHERE id = $1`, support.session.ID)
	b.ok(err)
	for _, browser := range []*staffBrowser{developer, support} {
		for _, p := range paths {
			answer := browser.get(p)
			if answer.Code != http.StatusOK || !strings.HasPrefix(answer.Header().Get("Content-Disposition"), "attachment") {
				t.Fatalf("%s: %d, %s", p, answer.Code, answer.Header().Get("Content-Disposition"))
			}
		}
	}
	var data struct{ Status string }
	b.ok(json.Unmarshal(support.get(paths[0]).Body.Bytes(), &data))
	if data.Status != "completed" {
		t.Errorf("data says status %q", data.Status)
	}
	page := support.get(path)
	support.wantPage(page, http.StatusOK, "Data read", "PDF downloaded", "Document downloaded", developer.session.Email, support.session.Email, "Signed and submitted")
}

// TestSessionTellsItsStory reads the page as its columns are read aloud.
func TestSessionTellsItsStory(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	session := b.newSession(b.testScope(), domain.NewSession{WebhookURL: "https://hooks.example/candor"})
	b.complete(session.ID)
	support := b.staff(domain.RoleSupport)
	page := support.get("/dashboard/test/sessions/" + session.ID.String())
	support.wantPage(page, http.StatusOK)
	var titles []string
	for _, name := range statement.SectionNames {
		titles = append(titles, "Section completed: "+statement.Title(name))
	}
	told := func(text string) int { return strings.Count(html.UnescapeString(page.Body.String()), ">"+text+"<") }
	for _, title := range append(titles, "Opened by the customer", "Signed and submitted") {
		if got := told(title); got != 2 {
			t.Errorf("%q is told %d times, want in the timeline and among the webhooks", title, got)
		}
	}
}

func TestExportIsSafeAndWhole(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	support := b.staff(domain.RoleSupport)
	const n = 2150
	scope := b.testScope()
	_, err := b.db.Raw().ExecContext(t.Context(), `
		INSERT INTO session (id, account_id, livemode, status, form_type, customer_email, customer_name, reference_id, metadata, created_at, expires_at)
		SELECT gen_random_uuid(), $1, false, 'pending', 'financial_statement', 'c' || i || '@customer.example', $2, 'loan-' || i, '{}',
			$3::timestamptz - i % 7 * interval '1 second', $3::timestamptz + interval '1 day'
		FROM generate_series(1, $4) i`, scope.AccountID, hostile, startTime, n)
	b.ok(err)
	answer := support.get("/dashboard/test/sessions/export")
	support.wantPage(answer, http.StatusOK)
	rows, err := csv.NewReader(answer.Body).ReadAll()
	b.ok(err)
	seen := map[string]bool{}
	for _, row := range rows[1:] {
		seen[row[4]] = true
		if !strings.HasPrefix(row[3], "'=cmd") {
			t.Fatalf("the name %q is a formula", row[3])
		}
	}
	if len(rows) != n+1 || len(seen) != n {
		t.Errorf("%d rows with %d sessions, want %d", len(rows)-1, len(seen), n)
	}
	rows, err = csv.NewReader(support.get("/dashboard/test/sessions/export?q=loan-77").Body).ReadAll()
	b.ok(err)
	if len(rows) != 2 || rows[1][4] != "loan-77" {
		t.Errorf("filtered export: %q", rows)
	}
}
