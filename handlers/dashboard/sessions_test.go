package dashboard_test

import (
	"crypto/sha256"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/statement"
	"candor/internal/statement/statementtest"
	"candor/internal/testkit/harness"
	"candor/internal/testkit/page"
)

func TestSessionsAreListedAndFound(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	support := h.Staff(domain.RoleSupport)
	support.WantPage(support.Get("/dashboard/test/sessions"), http.StatusOK, "No sessions yet")
	var last *domain.Session
	for i := range 30 {
		h.Clock.Advance(time.Minute)
		last = h.NewSession(h.TestScope(), domain.NewSession{
			CustomerEmail: fmt.Sprintf("c%d@customer.example", i), CustomerName: harness.Hostile, ReferenceID: fmt.Sprintf("loan-%d", i),
		})
	}
	first := support.WantPage(support.Get("/dashboard/test/sessions"), http.StatusOK, "30 sessions", "<script>").Lacks("Newest")
	if strings.Contains(first.Source, "<script>alert") {
		t.Error("a customer's name is on the page as it is")
	}
	second := support.WantPage(support.Get(first.Link("Older")), http.StatusOK).Offers("Newest")
	for i := range 30 {
		reference := fmt.Sprintf("loan-%d", i)
		if onFirst, onSecond := listed(first, reference), listed(second, reference); onFirst != (i > 4) || onSecond == onFirst {
			t.Errorf("%s is on the first page: %t, and on the second: %t", reference, onFirst, onSecond)
		}
	}

	for search, reference := range map[string]string{"C7@customer.example": "loan-7", "loan-12": "loan-12"} {
		found := support.WantPage(support.Get("/dashboard/test/sessions?q="+search), http.StatusOK, "1 session")
		if !listed(found, reference) || len(found.Rows()) != 1 {
			t.Errorf("%s finds %q", search, found.Rows())
		}
	}
	support.WantPage(support.Get("/dashboard/test/sessions?q=nothing"), http.StatusOK, "No session matches")
	support.WantPage(support.Get("/dashboard/test/sessions?status=completed"), http.StatusOK, "No session matches")
	support.WantPage(support.Get("/dashboard/test/sessions?from=2026-11-20&to=2026-11-20"), http.StatusOK, "30 sessions")
	support.WantPage(support.Get("/dashboard/test/sessions?to=2026-11-19"), http.StatusOK, "No session matches")
	support.WantPage(support.Get("/dashboard/test/sessions?from=someday"), http.StatusOK, "Enter a date such as")
	support.WantRedirect(support.Get("/dashboard/test/sessions?q="+last.ID.String()), "/dashboard/test/sessions/"+last.ID.String())
	support.WantPage(support.Get("/dashboard/live/sessions?q="+last.ID.String()), http.StatusOK, "No session matches")
}

// listed says whether one of the table's cells is that text.
func listed(p *page.Page, text string) bool {
	return slices.ContainsFunc(p.Rows(), func(cells []string) bool { return slices.Contains(cells, text) })
}

func TestSessionByHand(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	support := h.Staff(domain.RoleSupport)
	support.WantPage(support.Get("/dashboard/test/sessions/new"), http.StatusOK).WantField("expires_in_days", "30")
	support.WantPage(support.Post("/dashboard/test/sessions", url.Values{"customer_email": {"jo@customer.example"},
		"expires_in_days": {"30"}, "remind": {"on"}}), http.StatusUnprocessableEntity, "untick the reminders")
	answer := support.Post("/dashboard/test/sessions", url.Values{"customer_email": {"not an address"},
		"customer_name": {strings.Repeat("x", 201)}, "expires_in_days": {"91"}})
	support.WantPage(answer, http.StatusUnprocessableEntity, "Enter an email address", "The customer’s name ",
		"Enter a number of days from 1 to 90", "not an address", "There is a problem")

	answer = support.Post("/dashboard/test/sessions", url.Values{"customer_email": {"jo@customer.example"},
		"reference_id": {"loan-1"}, "expires_in_days": {"2"}})
	path := answer.Header().Get("Location")
	support.WantRedirect(answer, path)
	id, err := domain.ParseSessionID(strings.TrimPrefix(path, "/dashboard/test/sessions/"))
	h.OK(err)
	support.WantPage(support.Get(path), http.StatusOK, "Session created", h.Service.Sessions.URL(&domain.Session{ID: id}, false),
		support.Session.Email, "Not opened")

	answer = support.Post(path+"/extend", url.Values{"days": {"1"}})
	support.WantPage(answer, http.StatusUnprocessableEntity, "already expires later")
	answer = support.Post(path+"/extend", url.Values{"days": {"ten"}})
	support.WantPage(answer, http.StatusUnprocessableEntity, "from 3 to 90").WantField("days", "ten")
	support.WantRedirect(support.Post(path+"/extend", url.Values{"days": {"10"}}), path)
	session, err := h.Service.Sessions.Get(t.Context(), h.TestScope(), id)
	h.OK(err)
	if want := harness.StartTime.AddDate(0, 0, 10); !session.ExpiresAt.Equal(want) {
		t.Errorf("expires at %s, want %s", session.ExpiresAt, want)
	}
	_, err = h.Service.Sessions.Cancel(t.Context(), h.TestScope(), id, support.Session.Actor())
	h.OK(err)
	support.WantPage(support.Get(path), http.StatusOK, "Session cancelled", "Link extended")
	support.WantRedirect(support.Post(path+"/cancel", nil), path)
	support.WantPage(support.Get(path), http.StatusOK, "The session had already ended")
	support.WantRedirect(support.Post(path+"/extend", url.Values{"days": {"20"}}), path)
}

// TestExtendingMeetsACancellation checks that a session that ends in between isn't said
// to be extended.
func TestExtendingMeetsACancellation(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	support := h.Staff(domain.RoleSupport)
	id := h.NewSession(h.TestScope(), domain.NewSession{}).ID
	path := "/dashboard/test/sessions/" + id.String()
	var extends sync.WaitGroup
	h.OK(h.DB.InTx(t.Context(), func(tx *db.Tx) error {
		if _, err := tx.CancelSession(t.Context(), h.TestScope(), id, h.Clock.Now()); err != nil {
			return err
		}
		extends.Go(func() { support.Post(path+"/extend", url.Values{"days": {"60"}}) })
		h.WaitForLock()
		return nil
	}))
	extends.Wait()
	support.WantPage(support.Get(path), http.StatusOK, "The session had already ended").Hides("Link extended")
}

// TestLanguageOfASessionByHand checks that staff choose among the account's
// languages (D57), if it has more than one.
func TestLanguageOfASessionByHand(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	owner := h.Staff(domain.RoleOwner)
	owner.WantPage(owner.Get("/dashboard/test/sessions/new"), http.StatusOK).Hides("Language of the form")
	wrong := url.Values{"customer_email": {"jo@customer.example"}, "expires_in_days": {"2"}, "language": {"vi"}}
	owner.WantPage(owner.Post("/dashboard/test/sessions", wrong), http.StatusUnprocessableEntity, "Choose a language from the list")

	owner.WantRedirect(owner.Post("/dashboard/test/settings/forms", url.Values{"languages": {"vi"}}), "/dashboard/test/settings")
	fresh := owner.WantPage(owner.Get("/dashboard/test/sessions/new"), http.StatusOK, "Language of the form",
		"As the customer’s browser asks").WantField("language", "")
	var options []string
	for _, o := range fresh.All("option") {
		options = append(options, o.Attr("value"))
	}
	if !slices.Equal(options, []string{"", "en-AU", "vi"}) {
		t.Errorf("the languages to choose from are %q", options)
	}
	wrong.Set("customer_email", "")
	owner.WantPage(owner.Post("/dashboard/test/sessions", wrong), http.StatusUnprocessableEntity).WantField("language", "vi")
	for language, lang := range map[string]string{"vi": "vi", "": "en-AU"} {
		answer := owner.Post("/dashboard/test/sessions", url.Values{"customer_email": {"jo@customer.example"}, "expires_in_days": {"2"},
			"language": {language}})
		id, err := domain.ParseSessionID(strings.TrimPrefix(answer.Header().Get("Location"), "/dashboard/test/sessions/"))
		h.OK(err)
		c := h.Customer(&domain.Session{ID: id})
		if got := c.WantPage(c.Get(""), http.StatusOK).Lang(); got != lang {
			t.Errorf("a session made in %q opens in %q", language, got)
		}
	}
}

// TestLinkIsForThoseWhoMayRead: with the link of a form that is being filled
// in one reads what the customer has entered.
func TestLinkIsForThoseWhoMayRead(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	support, developer := h.Staff(domain.RoleSupport), h.Staff(domain.RoleDeveloper)
	session := h.NewSession(h.TestScope(), domain.NewSession{})
	path := "/dashboard/test/sessions/" + session.ID.String()
	token, own := h.Token(session.ID), h.Service.Sessions.URL(session, false)
	support.WantPage(support.Get(path), http.StatusOK, own, "An owner or developer has a link for another device.").Hides(token)
	h.Open(session.ID)
	if answer := support.Get(path); strings.Contains(answer.Body.String(), own) || strings.Contains(answer.Body.String(), token) {
		t.Error("support sees the link of an opened form")
	}
	developer.WantPage(developer.Get(path), http.StatusOK, token)
	h.Complete(session.ID)
	if answer := developer.Get(path); strings.Contains(answer.Body.String(), token) {
		t.Error("the link of a completed session is shown")
	}
}

func TestDownloadsAreForThoseWhoMayAndAreNoted(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	session := h.NewSession(h.TestScope(), domain.NewSession{CustomerName: "Jo Public"})
	h.Open(session.ID)
	h.Upload(session.ID, "payslip.pdf")
	h.Complete(session.ID)
	path := "/dashboard/test/sessions/" + session.ID.String()
	documents, err := h.DB.Documents(t.Context(), session.ID)
	h.OK(err)
	paths := []string{path + "/data", path + "/pdf", path + "/documents/" + documents[0].ID.String()}

	developer := h.Staff(domain.RoleDeveloper)
	developer.WantRedirect(developer.Get(paths[1]), path)
	if waits := developer.WantPage(developer.Get(path), http.StatusOK, "not ready yet"); !strings.Contains(waits.Source,
		"banner-warn") || strings.Contains(waits.Source, "banner-good") {
		t.Error("that the PDF isn't ready looks like a success")
	}
	h.StorePDF(session.ID, []byte("%PDF-1.7 test"))

	support := h.Staff(domain.RoleSupport)
	for _, p := range paths {
		support.WantPage(support.Get(p), http.StatusForbidden)
	}
	support.WantPage(support.Get(path), http.StatusOK, "1 document uploaded").Hides("payslip.pdf")
	developer.WantPage(developer.Get(path), http.StatusOK, "payslip.pdf").Hides("1 document uploaded").LeadsTo(paths...)
	execSQL(h, `UPDATE staff_user SET may_download = true WHERE id = $1`, support.Session.ID)
	for _, browser := range []*harness.StaffBrowser{developer, support} {
		for _, p := range paths {
			answer := browser.Get(p)
			if answer.Code != http.StatusOK || !strings.HasPrefix(answer.Header().Get("Content-Disposition"), "attachment") {
				t.Fatalf("%s: %d, %s", p, answer.Code, answer.Header().Get("Content-Disposition"))
			}
		}
		for _, p := range paths[:2] {
			if name := browser.Get(p).Header().Get("Content-Disposition"); !strings.Contains(name, session.ID.String()) {
				t.Errorf("%s: the file is called %s", p, name)
			}
		}
	}
	if pdf := support.Get(paths[1]).Body.String(); pdf != "%PDF-1.7 test" {
		t.Errorf("the PDF is %q", pdf)
	}
	var data struct {
		Status string
		Data   map[string]any
	}
	h.OK(json.Unmarshal(support.Get(paths[0]).Body.Bytes(), &data))
	if data.Status != "completed" || data.Data["personal_details"] == nil {
		t.Errorf("data says %+v", data)
	}
	page := support.Get(path)
	support.WantPage(page, http.StatusOK, "Data read", "PDF downloaded", "Document downloaded", developer.Session.Email,
		support.Session.Email, "Signed and submitted",
		"SHA-256 of the PDF", fmt.Sprintf("%x", sha256.Sum256([]byte("%PDF-1.7 test"))))
	other := h.Staff(domain.RoleSupport)
	other.WantPage(other.Get(path), http.StatusOK, "Document downloaded").Hides("payslip.pdf")
}

// A session's page says who signed the PDF, or that it isn't signed (D81), as long as
// the customer isn't erased.
func TestSessionSaysWhoSignedThePDF(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	owner := h.Owner()
	path := func(id domain.SessionID) string { return "/dashboard/test/sessions/" + id.String() }
	unsigned := h.NewSession(h.TestScope(), domain.NewSession{}).ID
	h.Complete(unsigned)
	owner.WantPage(owner.Get(path(unsigned)), http.StatusOK).Hides("Certificate of the PDF")
	h.StorePDF(unsigned, []byte("%PDF-1.7"))
	owner.WantPage(owner.Get(path(unsigned)), http.StatusOK, "Certificate of the PDF None")

	signed := h.NewSession(h.TestScope(), domain.NewSession{CustomerEmail: "jo@customer.example"}).ID
	h.Complete(signed)
	h.OK(h.DB.InTx(t.Context(), func(tx *db.Tx) error {
		_, err := h.Service.Vault.InsertPDF(t.Context(), tx, signed, domain.PDF{Content: []byte("%PDF-1.7"), Pages: 1,
			Signer: harness.Hostile, SignerIssuer: "Authority & Sons"}, h.Clock.Now())
		return err
	}))
	page := owner.WantPage(owner.Get(path(signed)), http.StatusOK, "Certificate of the PDF "+harness.Hostile+
		" certificate issued by Authority & Sons")
	if strings.Contains(page.Source, "<script>alert") {
		t.Error("a certificate's name is on the page as it is")
	}
	owner.WantRedirect(owner.Post(path(signed)+"/erase", url.Values{"confirm": {"jo@customer.example"},
		"sessions": {signed.String()}}), path(signed))
	owner.WantPage(owner.Get(path(signed)), http.StatusOK).Hides("Authority & Sons")
	if s := h.SessionOf(signed); s.PDFSigner != nil || s.PDFSignerIssuer != nil {
		t.Error("an erased session keeps who signed its PDF")
	}
}

// TestSessionTellsItsStory reads the page as its columns are read aloud.
func TestSessionTellsItsStory(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	session := h.NewSession(h.TestScope(), domain.NewSession{WebhookURL: "https://hooks.example/candor"})
	h.Complete(session.ID)
	support := h.Staff(domain.RoleSupport)
	page := support.WantPage(support.Get("/dashboard/test/sessions/"+session.ID.String()), http.StatusOK)
	var titles []string
	for _, name := range statement.SectionNames {
		titles = append(titles, "Section completed: "+statement.Title(name))
	}
	told := func(text string) int { return strings.Count(page.Text(), text) }
	for _, title := range append(titles, "Opened by the customer", "Signed and submitted") {
		if got := told(title); got != 2 {
			t.Errorf("%q is told %d times, want in the timeline and among the webhooks", title, got)
		}
	}
}

// TestSessionSaysWhoSigned signs with other names than the given ones (D79). Who may not read
// answers is told only that they differ.
func TestSessionSaysWhoSigned(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	const asked, unasked, duck = "The customer was asked about it and confirmed it.", "The customer wasn’t asked about it.",
		"Donald Duck"
	complete := func(customer, signature string) string {
		c := h.Customer(h.NewSession(h.TestScope(), domain.NewSession{CustomerName: customer}))
		c.AnswerAll()
		values := statementtest.Values(statement.DeclarationSection)
		values.Set("full_name", signature)
		c.WantRedirect(c.Post(statement.DeclarationSection, values))
		return "/dashboard/test/sessions/" + c.ID.String()
	}
	owner, support := h.Staff(domain.RoleOwner), h.Staff(domain.RoleSupport)
	see := func(staff *harness.StaffBrowser, url string) *page.Page {
		return staff.WantPage(staff.Get(url), http.StatusOK)
	}
	alike := complete("Zoe O’Brien", "O'Brien Zoë")
	see(owner, alike).Shows("Signed by O'Brien Zoë").Hides("Name in the answers", "Not the")
	see(support, alike).Hides("Signed by", "Name in the answers", "O'Brien Zoë")

	expected := complete("Mia Chen", "Zoë Margaret O'Brien")
	see(owner, expected).Shows("Name Mia Chen", "Name in the answers Zoë Margaret O'Brien Not the name above.",
		"Signed by Zoë Margaret O'Brien").Hides("Not the customer’s full name")
	see(support, expected).Shows("Name in the answers Not the name above.").Hides("O'Brien", "Zoë", "Signed by")

	other := complete("Zoe O’Brien", duck)
	see(owner, other).Shows("Signed by Donald Duck Not the customer’s full name, Zoë Margaret O'Brien. "+unasked).
		Hides(asked, "Name in the answers")
	see(owner, other+"/answers").Shows("Donald Duck signed on", "Not the customer’s full name, Zoë Margaret O'Brien. "+unasked).
		Hides("Zoe O’Brien signed")
	see(owner, alike+"/answers").Shows("O'Brien Zoë signed on").Hides("Not the customer’s")
	see(support, other).Shows("Signed by Not the customer’s full name. "+unasked).Hides(duck, "Margaret")

	c := h.Customer(h.NewSession(h.TestScope(), domain.NewSession{}))
	c.AnswerAll()
	see(owner, "/dashboard/test/sessions/"+c.ID.String()).Hides("Signed by", "Name in the answers")
	signature := url.Values{"accepted": {"true"}, "full_name": {duck}, "asked": {"true"}}
	signature["right"] = c.WantPage(c.Post(statement.DeclarationSection, signature), http.StatusUnprocessableEntity).
		Field("right").Choices
	c.WantRedirect(c.Post(statement.DeclarationSection, signature))
	confirmed := "/dashboard/test/sessions/" + c.ID.String()
	see(owner, confirmed).Shows("Signed by Donald Duck", asked).Hides(unasked, "Name in the answers")
	see(support, confirmed).Shows(asked).Hides(duck)
}

func TestExportIsSafeAndWhole(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	support := h.Staff(domain.RoleSupport)
	const n = 2150
	scope := h.TestScope()
	execSQL(h, `
		INSERT INTO session (id, account_id, livemode, status, form_type, customer_email, customer_name, reference_id, metadata,
			created_at, expires_at)
		SELECT gen_random_uuid(), $1, false, 'pending', 'financial_statement', 'c' || i || '@customer.example', $2, 'loan-' || i, '{}',
			$3::timestamptz - i % 7 * interval '1 second', $3::timestamptz + interval '1 day'
		FROM generate_series(1, $4) i`, scope.AccountID, harness.Hostile, harness.StartTime, n)
	answer := support.Get("/dashboard/test/sessions/export")
	support.WantPage(answer, http.StatusOK)
	rows, err := csv.NewReader(answer.Body).ReadAll()
	h.OK(err)
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
	rows, err = csv.NewReader(support.Get("/dashboard/test/sessions/export?q=C77@customer").Body).ReadAll()
	h.OK(err)
	if len(rows) != 2 || rows[1][4] != "loan-77" {
		t.Errorf("filtered export: %q", rows)
	}
	done := h.NewSession(scope, domain.NewSession{Metadata: domain.Metadata{"product": []byte(`"=home"`)}})
	h.Open(done.ID)
	h.Upload(done.ID, "payslip.pdf")
	h.Clock.Advance(25 * time.Minute)
	h.Complete(done.ID)
	support = h.Staff(domain.RoleSupport) // signed in lately
	rows, err = csv.NewReader(support.Get("/dashboard/test/sessions/export?status=completed").Body).ReadAll()
	h.OK(err)
	last := h.SessionOf(done.ID).LastActivityAt.In(domain.LoadTimeZone("Australia/Sydney")).Format(time.RFC3339)
	for column, want := range map[string]string{"Last activity": last, "Minutes": "25", "Documents": "1",
		"Metadata": `{"product":"=home"}`} {
		if at := slices.Index(rows[0], column); at < 0 || len(rows) != 2 || rows[1][at] != want {
			t.Errorf("the file has %q, want %s in %q", rows, want, column)
		}
	}
}
