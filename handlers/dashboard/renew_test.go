package dashboard_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/statement"
	"candor/internal/statement/statementtest"
	"candor/internal/testkit/harness"
	"candor/internal/testkit/page"
)

// TestRenewLink: the link before stops at once, in browsers that opened it, too. Answers
// stay, the API tells the new link, and the audit log who made it.
func TestRenewLink(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	owner, support := h.Owner(), h.Staff(domain.RoleSupport)
	session := h.NewSession(h.TestScope(), domain.NewSession{CustomerName: "Jo Public"})
	path := "/dashboard/test/sessions/" + session.ID.String()
	old := h.Link(session.ID)
	opens := func(link string) int {
		answer := httptest.NewRecorder()
		h.Handler.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, harness.BaseURL+link, nil))
		return answer.Code
	}
	linkNow := func() string {
		url, _ := h.Get("/sessions/" + session.ID.String()).Object()["session_url"].(string)
		return strings.TrimPrefix(url, harness.BaseURL)
	}
	if linkNow() != old || opens(old) != http.StatusSeeOther {
		t.Fatal("the first link doesn't open the form")
	}
	support.WantRedirect(support.Post(path+"/renew", nil), path)
	support.WantPage(support.Get(path), http.StatusOK, "Link renewed. The old one no longer works.", "Link renewed",
		harness.BaseURL+strings.TrimSuffix(linkNow(), linkNow()[strings.LastIndex(linkNow(), "/"):])+"/b1.")
	first := linkNow()
	if first == old || opens(old) != http.StatusNotFound || opens(first) != http.StatusSeeOther {
		t.Errorf("after renewal the old link answers %d, %s %d", opens(old), first, opens(first))
	}
	for _, wrong := range []string{strings.Replace(first, "/1.", "/2.", 1), strings.Replace(first, "/1.", "/", 1),
		strings.Replace(first, "/1.", "/01.", 1), strings.Replace(first, "/1.", "/0.", 1), old + "x"} {
		if opens(wrong) != http.StatusNotFound {
			t.Errorf("%s opens the form", wrong)
		}
	}
	audited(h, domain.AuditLinkRenewed, 1)

	// The customer's browser, in the middle of the form.
	customer := h.CustomerAt(session, first)
	customer.Answer("income")
	support.WantPage(support.Post(path+"/renew", nil), http.StatusForbidden, "which your role can’t see").
		Offers("Ask for customers’ data")
	owner.WantRedirect(owner.Post(path+"/renew", nil), path)
	if got := customer.Get("income").Code; got != http.StatusNotFound {
		t.Errorf("the browser that opened the link before still gets %d", got)
	}
	again := h.CustomerAt(session, linkNow())
	again.WantPage(again.Get(""), http.StatusOK).Shows("1 of 7")
	h.OK(cancelled(h, session))
	owner.WantRedirect(owner.Post(path+"/renew", nil), path)
	owner.WantPage(owner.Get(path), http.StatusOK, "Nothing changed. The session had already ended.")
	elsewhere := h.StaffOf(h.NewAccount("other@lender.example", "starter").AccountID, domain.RoleOwner)
	elsewhere.WantPage(elsewhere.Post(path+"/renew", nil), http.StatusNotFound)
}

func cancelled(h *harness.Harness, session *domain.Session) error {
	_, err := h.Service.Sessions.Cancel(h.Context(), session.Scope(), session.ID, harness.Operator)
	return err
}

// TestLinkHistory: who opened the link, how often a wrong one was tried, and what the
// form refused, the newest first. Floods grow nothing.
func TestLinkHistory(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	support := h.Staff(domain.RoleSupport)
	session := h.NewSession(h.TestScope(), domain.NewSession{})
	path := "/dashboard/test/sessions/" + session.ID.String()
	note := func(kind domain.LinkUseKind, v domain.Visitor) {
		h.OK(h.Service.Forms.NoteLinkUse(t.Context(), session.ID, kind, v))
	}
	rows := func() int { return harness.QueryOne[int](h, "SELECT count(*) FROM link_use") }
	for range 50 { // within a minute they count once
		note(domain.LinkWrong, domain.Visitor{})
	}
	support.WantPage(support.Get(path), http.StatusOK, "Link history", "Wrong link tried")
	for range 1100 {
		h.Clock.Advance(domain.LinkUseStep)
		note(domain.LinkWrong, domain.Visitor{UserAgent: "x", IPAddress: "192.0.2.1"})
	}
	if rows() != 1 {
		t.Errorf("%d rows of wrong links", rows())
	}
	for i := range 100 {
		note(domain.LinkOpened, domain.Visitor{UserAgent: "Mozilla/5.0 (iPhone) Safari/1 " + strings.Repeat("x", i),
			IPAddress: "192.0.2.7"})
	}
	note(domain.LinkReplaced, domain.Visitor{})
	if got := rows(); got > domain.LinkUseBrowsers+2 {
		t.Errorf("%d rows", got)
	}
	h.OK(h.Service.Forms.NoteLinkUse(t.Context(), domain.NewSessionID(), domain.LinkWrong, domain.Visitor{}))
	customer := h.Customer(session)
	customer.Post("income", url.Values{"employment_income.gross_salary": {"none"}})
	h.Clock.Advance(time.Minute)
	customer.Post("personal_details", url.Values{"full_name": {"Secret Name"}, "phone": {"twelve"}})
	last := []domain.FailedRule{{Field: "name", Message: "Noted last"}}
	h.OK(h.DB.NoteProblems(t.Context(), session.ID, "personal_details", last, h.Clock.Now()))
	h.OK(h.DB.NoteProblems(t.Context(), session.ID, "personal_details", last, h.Clock.Now()))
	support = h.Staff(domain.RoleSupport)
	page := support.WantPage(support.Get(path), http.StatusOK, "Wrong link tried 1,000 times or more", "Link opened",
		"Safari on iPhone, 192.0.2.7", "What was typed is not kept. Noted last Not corrected Personal details, twice 21 Nov 2026, 8:25 am",
		"Refused there: “Noted last” twice, “")
	if text := page.Text(); strings.LastIndex(text, "Personal details") > strings.LastIndex(text, "in dollars") {
		t.Errorf("what was refused before comes first: %s", text)
	}
	for _, typed := range []string{"Secret Name", "twelve"} {
		if strings.Contains(page.Text(), typed) {
			t.Errorf("the page shows %q, which was typed", typed)
		}
	}
	h.Clock.Advance(domain.EventRetention + time.Hour)
	if n, err := h.DB.DeleteLinkUses(t.Context(), h.Clock.Now().Add(-domain.EventRetention), 1000); err != nil || n == 0 ||
		rows() != 0 {
		t.Errorf("%d deleted, %d left, %v", n, rows(), err)
	}
}

// TestRefusedAnswers: what the form refused at the last try comes before what is corrected, each
// with its last time. Odd answers that weren't confirmed are among it, without what is odd.
func TestRefusedAnswers(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	support := h.Staff(domain.RoleSupport)
	session := h.NewSession(h.TestScope(), domain.NewSession{})
	customer := h.Customer(session)
	h.Open(session.ID)
	try := func(section string, changes url.Values) {
		h.Clock.Advance(time.Minute)
		values := statementtest.Values(section)
		maps.Copy(values, changes)
		customer.Post(section, values)
	}
	shows := func(texts ...string) *page.Page {
		t.Helper()
		return support.WantPage(support.Get("/dashboard/test/sessions/"+session.ID.String()), http.StatusOK, texts...)
	}
	const suburb, postcode = "Enter your suburb ", "Enter your postcode "
	try(statement.PersonalDetailsSection, url.Values{"address.suburb": {""}, "address.postcode": {""}})
	try(statement.PersonalDetailsSection, url.Values{"address.suburb": {""}})
	customer.Post(statement.PersonalDetailsSection, url.Values{"action": {"autosave"}, "address.suburb": {"Perth"}})
	shows("Refused there: “Enter your suburb” twice. Also", suburb+"Not corrected Personal details, twice 20 Nov 2026, 2:06 pm "+
		postcode+"Corrected Personal details 20 Nov 2026, 2:05 pm")
	try(statement.PersonalDetailsSection, nil)
	try(statement.PersonalDetailsSection, url.Values{"action": {"save"}, "phone": {"1"}}) // kept, and not checked
	shows("Next: Personal details. Also", suburb+"Corrected", postcode+"Corrected")
	try(statement.AssetsSection, url.Values{"vehicles.0.value": {"none"}})
	try(statement.PersonalDetailsSection, url.Values{"address.suburb": {""}})
	try(statement.PersonalDetailsSection, nil)
	shows("or 1,250.50 Not corrected Assets 20 Nov 2026, 2:09 pm " + suburb +
		"Corrected Personal details, 3 times 20 Nov 2026, 2:10 pm")
	try(statement.AssetsSection, url.Values{"vehicles.0.value": {""}, "vehicles.0.value.later": {"true"}})
	shows(suburb+"Corrected", "or 1,250.50 Corrected Assets 20 Nov 2026, 2:09 pm "+postcode)

	for _, name := range statement.BeforeDeclaration {
		h.Fill(session.ID, name)
	}
	const confirm = "Confirm or change what is asked about Assets "
	customer.Get(statement.DeclarationSection)
	try(statement.DeclarationSection, url.Values{"asked": {"true"}})
	shows("Next: Declaration. Refused there: “Confirm or change what is asked about ",
		confirm+"Not corrected Declaration 20 Nov 2026, 2:13 pm").Hides("Is this right?")
	h.OK(h.Service.Forms.CountErrors(t.Context(), session.ID, statement.DocumentsSection,
		form.Errors{{Field: "file", Message: "Too large"}}))
	h.Complete(session.ID) // without another try with documents
	shows(confirm + "Corrected Declaration").Hides("Not corrected")
}

// TestNewSessionForTheSameCustomer: an expired session is no dead end.
func TestNewSessionForTheSameCustomer(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	support := h.Staff(domain.RoleSupport)
	before := h.NewSession(h.TestScope(), domain.NewSession{CustomerName: "Craig Nguyen", CustomerEmail: "craig@customer.example",
		ReferenceID: "loan-77", WebhookURL: "https://lender.example/hook", Metadata: domain.Metadata{"desk": []byte(`"4"`)}})
	path := "/dashboard/test/sessions/" + before.ID.String()
	support.WantPage(support.Get(path), http.StatusOK, "No events yet.")
	owner := h.Staff(domain.RoleOwner)
	owner.WantRedirect(owner.Post("/dashboard/test/settings/forms", url.Values{"languages": {"vi"}}), "/dashboard/test/settings")
	h.OK(h.DB.ChooseLanguage(t.Context(), before.ID, domain.Vietnamese))
	h.Clock.Advance(31 * 24 * time.Hour)
	support = h.Staff(domain.RoleSupport)
	support.WantPage(support.Get(path), http.StatusOK, "Expired", "New session for this customer")
	form := support.WantPage(support.Get("/dashboard/test/sessions/new?like="+before.ID.String()), http.StatusOK,
		"Answers are not copied.", "webhook URL and metadata")
	values := newSessionForm(form)
	if values.Get("language") != "vi" { // which the customer chose on the form
		t.Errorf("the language is %q", values.Get("language"))
	}
	if values.Get("customer_email") != "craig@customer.example" || values.Get("customer_name") != "Craig Nguyen" ||
		values.Get("reference_id") != "loan-77" {
		t.Errorf("the form has %v", values)
	}
	answer := support.Post("/dashboard/test/sessions", values)
	id, err := domain.ParseSessionID(strings.TrimPrefix(answer.Header().Get("Location"), "/dashboard/test/sessions/"))
	h.OK(err)
	made, err := h.Service.Sessions.Get(t.Context(), h.TestScope(), id)
	h.OK(err)
	if made.WebhookURL == nil || *made.WebhookURL != *before.WebhookURL || string(made.Metadata["desk"]) != `"4"` ||
		made.CustomerEmail != before.CustomerEmail {
		t.Errorf("made %+v", made)
	}
	for _, like := range []string{"x", domain.NewSessionID().String(), h.NewSession(domain.Scope{AccountID: h.Account.AccountID,
		Livemode: true}, domain.NewSession{}).ID.String()} {
		support.WantPage(support.Get("/dashboard/test/sessions/new?like="+like), http.StatusNotFound)
	}
	unsent := h.NewSession(h.TestScope(), domain.NewSession{})
	h.Open(unsent.ID)
	support.WantPage(support.Get("/dashboard/test/sessions/"+unsent.ID.String()), http.StatusOK,
		"1 event was not sent: no webhook URL is set.")
}
