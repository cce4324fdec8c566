package dashboard_test

import (
	"bytes"
	"image/color"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/service/forms"
	"candor/internal/statement"
	"candor/internal/statement/statementtest"
	"candor/internal/testkit/harness"
	"candor/internal/testkit/page"
	"candor/views/dashboard"
)

// TestWhatASessionMisses: the page says on top which section is next and what the form
// refused there, to every role and without what was typed.
func TestWhatASessionMisses(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	support := h.Staff(domain.RoleSupport)
	session := h.NewSession(h.TestScope(), domain.NewSession{})
	path := "/dashboard/test/sessions/" + session.ID.String()
	support.WantPage(support.Get(path), http.StatusOK, "0 of 7 sections finished. Next: Personal details.", "No documents.")
	customer := h.Customer(session)
	h.Open(session.ID)
	for _, name := range statement.SectionNames[:2] {
		h.Fill(session.ID, name)
	}
	values := statementtest.Values(statement.AssetsSection)
	for name := range values {
		if strings.HasSuffix(name, ".value") {
			values.Set(name, "secret-house")
		}
	}
	customer.Post(statement.AssetsSection, values)
	support.WantPage(support.Get(path), http.StatusOK, "2 of 7 sections finished. Next: Assets. Refused there: “",
		"Also missing: Liabilities, Expenses, Documents, Declaration.").
		Hides("secret-house")
	h.Fill(session.ID, statement.AssetsSection)
	support.WantPage(support.Get(path), http.StatusOK, "3 of 7 sections finished. Next: Liabilities.").Hides("Refused there")
	customer.Post(statement.PersonalDetailsSection, url.Values{"phone": {"1"}}) // which was completed
	support.WantPage(support.Get(path), http.StatusOK, "2 of 7 sections finished. Next: Personal details. Refused there: ")
	h.OK(cancelled(h, session))
	support.WantPage(support.Get(path), http.StatusOK, "2 of 7 sections finished. Missing: Personal details, ").Hides("Next:")
	done := h.NewSession(h.TestScope(), domain.NewSession{})
	h.Complete(done.ID)
	support.WantPage(support.Get("/dashboard/test/sessions/"+done.ID.String()), http.StatusOK).Hides("Next:", "sections finished.")
}

// TestFinishedSectionsAgree: page, list, its filter and the files say how many sections are
// finished now, and of answers that are erased how many were completed.
func TestFinishedSectionsAgree(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	owner := h.Owner()
	const list = "/dashboard/test/sessions"
	within := 2
	session := h.NewSession(h.TestScope(), domain.NewSession{CustomerEmail: "jo@customer.example", ExpiresInDays: &within})
	customer := h.Customer(session)
	h.Open(session.ID)
	for _, name := range statement.SectionNames[:5] {
		h.Fill(session.ID, name)
	}
	agree := func(sections string, far bool) {
		t.Helper()
		owner.WantPage(owner.Get(list+"/"+session.ID.String()), http.StatusOK, sections+" of 7")
		owner.WantPage(owner.Get(list), http.StatusOK, sections+" of 7")
		for _, query := range []string{"", "?q=jo@customer", "?session=" + session.ID.String()} {
			if row := rowsOf(owner, list+"/export"+query)[0]; row[slices.Index(dashboard.ExportColumns, "Sections")] != sections {
				t.Errorf("the file of %q: %q, want %s sections", query, row, sections)
			}
		}
		if rows := rowsOf(owner, list+"/export?status=expiring-far"); len(rows) == 1 != far {
			t.Errorf("expiring with 4 sections or more: %q", rows)
		}
	}
	agree("5", true)
	customer.Post(statement.PersonalDetailsSection, url.Values{"phone": {"1"}})
	agree("4", true)
	customer.Post(statement.IncomeSection, url.Values{"employment_income.gross_salary": {"none"}})
	agree("3", false)
	h.OK(cancelled(h, session))
	agree("3", false)
	h.Clock.Advance(91 * 24 * time.Hour) // the answers' retention
	owner = h.Owner()
	agree("3", false)
	if sweep(h, domain.UnsubmittedRetention) != 1 {
		t.Error("nothing is swept")
	}
	agree("5", false)
}

// TestDocumentsOfASession: with category, size and time, the newest first; a picture is
// fetched when it is opened. Before the customer signs, and without the right to answers, only
// how many there are.
func TestDocumentsOfASession(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	owner, support := h.Owner(), h.Staff(domain.RoleSupport)
	session := h.NewSession(h.TestScope(), domain.NewSession{})
	path := "/dashboard/test/sessions/" + session.ID.String()
	h.Open(session.ID)
	h.Upload(session.ID, "licence.pdf")
	h.Clock.Advance(time.Minute)
	h.OK(h.Service.Forms.AddDocument(t.Context(), &domain.Session{ID: session.ID}, forms.Upload{
		Category: "income_evidence", FileName: "slip.png",
		Content: bytes.NewReader([]byte(harness.Drawing(t, 40, 40, color.Black)))}))
	owner.WantPage(owner.Get(path), http.StatusOK, "2 documents uploaded").Hides("slip.png", "Payslip", "licence.pdf")
	h.Complete(session.ID)
	page := owner.WantPage(owner.Get(path), http.StatusOK, "slip.png Payslip or proof of income", "licence.pdf", "Show picture")
	if text := page.Text(); strings.Index(text, "slip.png") > strings.Index(text, "licence.pdf") {
		t.Error("the older document is first")
	}
	audited(h, domain.AuditDocumentRead, 0)
	var pictures []string
	for _, img := range page.All("img") {
		if src := img.Attr("src"); strings.Contains(src, "/documents/") {
			pictures = append(pictures, src)
			if img.Attr("loading") != "lazy" {
				t.Error("the picture is fetched with the page")
			}
		}
	}
	if len(pictures) != 1 {
		t.Fatalf("the page has the pictures %v", pictures)
	}
	if got := owner.Get(pictures[0]); got.Code != http.StatusOK || got.Header().Get("Content-Type") != "image/png" {
		t.Errorf("the picture: %d %s", got.Code, got.Header().Get("Content-Type"))
	}
	audited(h, domain.AuditDocumentRead, 1)
	support.WantPage(support.Get(path), http.StatusOK, "2 documents uploaded").Hides("slip.png", "Payslip")
}

// TestDeliveriesAreGathered by kind of event, the newest kind first.
func TestDeliveriesAreGathered(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	owner := h.Owner()
	session := h.NewSession(h.TestScope(), domain.NewSession{WebhookURL: "https://lender.example/hook"})
	h.Complete(session.ID)
	deliveries, err := h.DB.Deliveries(t.Context(), session.ID)
	h.OK(err)
	for i := range deliveries {
		state := domain.DeliveryDelivered
		if i == 3 {
			state = domain.DeliveryFailed
		}
		h.Recorded(&deliveries[i], state, 200, "")
	}
	text := owner.WantPage(owner.Get("/dashboard/test/sessions/"+session.ID.String()), http.StatusOK,
		"Section completed × 7 1 failed, 6 delivered").Text()
	text = text[strings.Index(text, "Webhooks Signed"):]
	if strings.Index(text, "Section completed: Declaration") > strings.Index(text, "Section completed: Income") {
		t.Error("older deliveries are first")
	}
}

// TestUndoCancel: staff can take back a cancellation until a worker carries it out (D126).
func TestUndoCancel(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	support := h.Staff(domain.RoleSupport)
	session := h.NewSession(h.TestScope(), domain.NewSession{})
	path := "/dashboard/test/sessions/" + session.ID.String()
	carryOut := func() {
		t.Helper()
		h.OK(h.DB.InTx(t.Context(), func(tx *db.Tx) error {
			_, err := tx.CarryOutCancels(t.Context(), h.Clock.Now(), 10)
			return err
		}))
	}
	support.WantRedirect(support.Post(path+"/cancel", nil), path)
	due := h.Clock.Now().Add(10 * time.Second).In(domain.LoadTimeZone("Australia/Sydney"))
	cancelling := support.WantPage(support.Get(path), http.StatusOK, "unless you undo that",
		"cancelled soon after "+due.Format("3:04:05 pm")).Offers("Undo").Lacks("Cancel session")
	if !slices.ContainsFunc(cancelling.All("h2"), func(h *page.Page) bool {
		return h.Has("autofocus") && strings.HasPrefix(h.Text(), "This session is cancelled")
	}) {
		t.Error("the focus isn't at the way back")
	}
	h.Clock.Advance(9 * time.Second)
	carryOut()
	support.WantRedirect(support.Post(path+"/undo", nil), path)
	support.WantPage(support.Get(path), http.StatusOK, "The session isn’t cancelled").Lacks("Undo")
	h.Clock.Advance(time.Minute)
	carryOut()
	if got := h.Get("/sessions/" + session.ID.String()).Object()["status"]; got != "pending" {
		t.Errorf("the session is %v", got)
	}
	audited(h, domain.AuditSessionCancelled, 0)

	support.WantRedirect(support.Post(path+"/cancel", nil), path)
	h.Clock.Advance(5 * time.Second)
	support.WantRedirect(support.Post(path+"/cancel", nil), path) // is due when the first is
	h.Clock.Advance(5 * time.Second)
	carryOut()
	support.WantPage(support.Get(path), http.StatusOK, "Session cancelled", support.Session.Email).Lacks("Undo")
	audited(h, domain.AuditSessionCancelled, 1)
	support.WantRedirect(support.Post(path+"/undo", nil), path)
	support.WantPage(support.Get(path), http.StatusOK, "Too late")

	signed := h.NewSession(h.TestScope(), domain.NewSession{})
	support.Post("/dashboard/test/sessions/"+signed.ID.String()+"/cancel", nil)
	h.Complete(signed.ID)
	support.WantPage(support.Get("/dashboard/test/sessions/"+signed.ID.String()), http.StatusOK).Lacks("Undo")
	h.Clock.Advance(time.Minute)
	carryOut()
	if got := h.Get("/sessions/" + signed.ID.String()).Object()["status"]; got != "completed" {
		t.Errorf("the session that was signed first is %v", got)
	}
	audited(h, domain.AuditSessionCancelled, 1)
}

// TestExtendAndRenew: by 7, 14 or 30 days from the present end, up to 90 days from now; an
// expired session is renewed by one that takes its place (D128).
func TestExtendAndRenew(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	owner := h.Owner()
	within := 30
	session := h.NewSession(h.TestScope(), domain.NewSession{ExpiresInDays: &within})
	h.Open(session.ID)
	path := "/dashboard/test/sessions/" + session.ID.String()
	owner.WantPage(owner.Get(path), http.StatusOK, "expires on 20 December 2026. These count from that day.",
		"Enter 31 to 90. A link’s end can be moved later, not earlier.").
		Offers("Extend by 7 days", "Extend by 14 days", "Extend by 30 days")
	for range 2 {
		owner.WantRedirect(owner.Post(path+"/extend", url.Values{"more": {"14"}}), path)
	}
	if got, want := h.SessionOf(session.ID).ExpiresAt, harness.StartTime.AddDate(0, 0, 58); !got.Equal(want) {
		t.Errorf("it expires at %s, want %s", got, want)
	}
	const change = "expires at: 20 Dec 2026, 2:04 pm → 3 Jan 2027, 2:04 pm"
	owner.WantPage(owner.Get(path), http.StatusOK, "Link extended "+change, "Link extended expires at: 3 Jan 2027, 2:04 pm → 17 Jan")
	owner.WantPage(owner.Get("/dashboard/test/audit"), http.StatusOK, change)
	owner.Post(path+"/extend", url.Values{"more": {"30"}})
	owner.WantPage(owner.Get(path), http.StatusOK, "It can work until").Lacks("Extend by 7 days")
	owner.WantPage(owner.Post(path+"/extend", url.Values{"more": {"7"}}), http.StatusUnprocessableEntity, "from 1 to 90")

	h.Clock.Advance(89 * 24 * time.Hour)
	owner = h.Owner() // signed in again
	renew := owner.WantPage(owner.Get(path), http.StatusOK, "with what the customer entered").Lacks("Extend link").Link("14 days")
	form := owner.WantPage(owner.Get(renew), http.StatusOK)
	values := newSessionForm(form)
	if values.Get("expires_in_days") != "14" || values.Get("prefill_from") == "" {
		t.Errorf("the form has %v", values)
	}
	owner.Post("/dashboard/test/sessions", values)
	owner.WantPage(owner.Get(path), http.StatusOK, "A new session has taken its place: sess_").Lacks("14 days")
}

// TestAnswersAreReadOnAPage by those who may, and each look is in the audit log (D127).
func TestAnswersAreReadOnAPage(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	owner, support := h.Owner(), h.Staff(domain.RoleSupport)
	former := h.NewSession(h.TestScope(), domain.NewSession{})
	h.Complete(former.ID)
	session := h.NewSession(h.TestScope(), domain.NewSession{PrefillFrom: former.ID.String()})
	path := "/dashboard/test/sessions/" + session.ID.String()
	h.Open(session.ID)
	owner.WantPage(owner.Get(path), http.StatusOK).Lacks("Read answers")
	if got := owner.Get(path + "/answers").Code; got != http.StatusBadRequest {
		t.Errorf("answers before the signature: %d", got)
	}
	h.Upload(session.ID, "payslip.pdf")
	h.Complete(session.ID)
	full := statementtest.Full()
	support.WantPage(support.Get(path), http.StatusOK).Lacks("Read answers")
	support.WantPage(support.Get(path+"/answers"), http.StatusForbidden).Hides(full.Personal.FullName)
	audited(h, domain.AuditDataRead, 0)
	answers := owner.WantPage(owner.Get(owner.WantPage(owner.Get(path), http.StatusOK).Link("Read answers")), http.StatusOK,
		full.Personal.FullName, "Net worth", full.Summary().NetWorth.String(), "Liabilities", "payslip.pdf",
		"Documents Changed since 20 Nov 2026", "Continues "+former.ID.String()+". Changed since that session: Documents.")
	if got, want := answers.Fact("Monthly income before tax"), full.Summary().TotalMonthlyIncome.String(); got != want {
		t.Errorf("the income is %q, want %q", got, want)
	}
	if got, want := answers.Fact("Left each month before tax"), full.Summary().MonthlySurplus.String(); got != want {
		t.Errorf("%q is left, want %q", got, want)
	}
	if text := answers.Text(); strings.Contains(text, "Income Changed since") {
		t.Error("income is said to have changed")
	}
	if got := answers.Fact("Lives"); got != "Without a partner" {
		t.Errorf("the customer lives %q", got)
	}
	for _, label := range answers.All("dt") {
		if regexp.MustCompile(`(?i)\byour?\b`).MatchString(label.Text()) {
			t.Errorf("%q speaks to the customer", label.Text())
		}
	}
	audited(h, domain.AuditDataRead, 1)
	got := owner.Get(answers.Link("payslip.pdf"))
	if kind := got.Header().Get("Content-Type"); got.Code != http.StatusOK || kind != "application/pdf" {
		t.Errorf("the document: %d %s", got.Code, kind)
	}
	audited(h, domain.AuditDocumentRead, 1)
	owner.Get(path + "/answers")
	audited(h, domain.AuditDataRead, 2)
	stranger := h.StaffOf(h.NewAccount("other@lender.example", "starter").AccountID, domain.RoleOwner)
	if got := stranger.Get(path + "/answers").Code; got != http.StatusNotFound {
		t.Errorf("another account's answers: %d", got)
	}
}

// TestChangedAnswersAreNamed with what the former session had, if that was signed.
func TestChangedAnswersAreNamed(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	owner := h.Owner()
	for signed, want := range map[bool]string{
		true:  "Income Changed since 20 Nov 2026 Pay from a job, Gross salary: was $1,234.00 yearly, now $98,750.00 yearly Gross salary",
		false: "Income Changed since 20 Nov 2026 Gross salary",
	} {
		former := h.NewSession(h.TestScope(), domain.NewSession{})
		customer := h.Customer(former)
		h.Open(former.ID)
		for _, name := range statement.BeforeDeclaration {
			h.Fill(former.ID, name)
		}
		values := statementtest.Values(statement.IncomeSection)
		values.Set("employment_income.gross_salary", "1234")
		customer.Post(statement.IncomeSection, values)
		debts := statementtest.Values(statement.LiabilitiesSection)
		debts.Set("credit_cards.0.issuer", "Zip")
		customer.Post(statement.LiabilitiesSection, debts)
		if signed {
			h.OK(h.Service.Forms.Submit(t.Context(), &domain.Session{ID: former.ID},
				forms.Signature{Declaration: statementtest.Full().Declaration}))
		} else {
			h.OK(cancelled(h, former))
		}
		session := h.NewSession(h.TestScope(), domain.NewSession{PrefillFrom: former.ID.String()})
		h.Complete(session.ID)
		page := owner.WantPage(owner.Get("/dashboard/test/sessions/"+session.ID.String()+"/answers"), http.StatusOK, want)
		if signed {
			page.Shows("American Express: added, Credit limit $10,000.00, Balance owing $1,942.17 " +
				"Zip: removed, was Credit limit $10,000.00, Balance owing $1,942.17")
		}
	}
}
