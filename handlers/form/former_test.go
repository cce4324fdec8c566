package form_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"candor/internal/domain"
	"candor/internal/statement"
	"candor/internal/statement/statementtest"
	"candor/internal/testkit"
	"candor/internal/testkit/harness"
	view "candor/views/form"
)

// again creates a session that continues the former, with more members of the request, for
// its customer.
func again(h *harness.Harness, former domain.SessionID, more string) *harness.Customer {
	h.Helper()
	created := h.Post("/sessions", body(fmt.Sprintf(`, "prefill_from": %q%s`, former, more))).WantStatus(http.StatusCreated).Object()
	if created["previous_session_id"] != former.String() {
		h.Errorf("previous_session_id is %v", created["previous_session_id"])
	}
	return customerOf(h, created)
}

// customerOf is the customer of a session that the API created.
func customerOf(h *harness.Harness, created map[string]any) *harness.Customer {
	h.Helper()
	id, err := domain.ParseSessionID(created["id"].(string))
	h.OK(err)
	return h.Customer(&domain.Session{ID: id})
}

// body is that of a request for a session, with more members.
func body(more string) string {
	return `{"form_type": "financial_statement", "customer_email": "jo@customer.example"` + more + `}`
}

// simulated is a session of that email address that the simulator took so far.
func simulated(h *harness.Harness, goal string) domain.SessionID {
	h.Helper()
	request := strings.Replace(body(`, "simulate": "`+goal+`"`), "jo@customer", "Jo@Customer", 1)
	created := h.Post("/sessions", request).WantStatus(http.StatusCreated).Object()
	id, err := domain.ParseSessionID(created["id"].(string))
	h.OK(err)
	return id
}

// dataOf are a completed session's data.
func dataOf(h *harness.Harness, id domain.SessionID) map[string]any {
	h.Helper()
	return h.Get("/sessions/" + id.String() + "/data").WantStatus(http.StatusOK).Object()["data"].(map[string]any)
}

// answersOf are the data without what is new with each signature.
func answersOf(data map[string]any) map[string]any {
	out := maps.Clone(data)
	for _, name := range []string{"declaration", "documents", "confirmations", "previous_session_id", "changed_sections"} {
		delete(out, name)
	}
	return out
}

// fromLastTime is the notice above offered answers.
const fromLastTime = "These are your answers from last time"

// oneTap loads a section with offered answers and presses Continue.
func oneTap(c *harness.Customer, section string) {
	c.Helper()
	if section == statement.DocumentsSection {
		c.WantRedirect(c.Post(section, url.Values{"action": {"continue"}}))
		return
	}
	tab := load(c, section)
	tab.values.Set("action", "continue")
	c.WantRedirect(c.Post(section, tab.values))
}

// TestFormerAnswersAreConfirmedByATapEach compares what a customer signs, who taps Continue on
// each page and nothing else, with the former session, for several households (D101).
func TestFormerAnswersAreConfirmedByATapEach(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := harness.New(t)
	typed := h.NewCustomer() // with amounts by other periods, in parts and shared with a partner
	typed.AnswerAll()
	typed.WantRedirect(typed.Sign())
	formers := []domain.SessionID{typed.ID}
	for range 5 {
		formers = append(formers, simulated(h, "completed"))
	}
	for _, former := range formers {
		c := again(h, former, "")
		c.WantPage(c.Get(""), http.StatusOK).Shows("Your answers from last time are filled in", "It takes about 9 minutes").
			Hides("Completed", "In progress")
		c.WantPage(c.Get("declaration"), http.StatusOK).Shows("Some sections aren’t finished").Lacks("Sign and send")
		for _, section := range statement.BeforeDeclaration[:5] {
			c.WantPage(c.Get(section), http.StatusOK).Shows(fromLastTime, "about a minute").Hides(outdated)
			oneTap(c, section)
			c.WantPage(c.Get(section), http.StatusOK).Hides(fromLastTime, "about a minute")
		}
		c.WantPage(c.Get(""), http.StatusOK).Shows("About 4 minutes are left")
		oneTap(c, statement.DocumentsSection)
		c.WantRedirect(c.Sign())
		before, now := dataOf(h, former), dataOf(h, c.ID)
		if !reflect.DeepEqual(answersOf(before), answersOf(now)) {
			t.Errorf("signed %v,\nwant     %v", answersOf(now), answersOf(before))
		}
		if now["previous_session_id"] != former.String() || len(now["changed_sections"].([]any)) != 0 {
			t.Errorf("continues %v, changed %v", now["previous_session_id"], now["changed_sections"])
		}
		if _, there := before["changed_sections"]; there {
			t.Error("a session that continues none has changed_sections")
		}
	}
}

// TestFormerAnswersAreNotSubmitted checks that nothing that is offered is taken for the
// customer's answer, however it is asked for (D101).
func TestFormerAnswersAreNotSubmitted(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	c := again(h, simulated(h, "completed"), "")
	c.WantPage(c.Sign(), http.StatusUnprocessableEntity).Shows("Some sections aren’t finished")
	for _, section := range statement.BeforeDeclaration[:4] {
		oneTap(c, section)
	}
	oneTap(c, statement.DocumentsSection)
	c.WantPage(c.Sign(), http.StatusUnprocessableEntity)
	if got := c.Status(); got != domain.InProgress {
		t.Fatalf("the session is %s", got)
	}
	if got := h.Get("/sessions/" + c.ID.String()).Object()["progress"].(map[string]any)["sections_completed"]; got != 5.0 {
		t.Errorf("%v sections are completed", got)
	}
	oneTap(c, statement.ExpensesSection)
	c.WantRedirect(c.Sign())
}

// TestUntouchedOfferStaysAnOffer: who only looks at what is offered, or leaves the page by
// another button than Continue, is shown it as an offer the next time, too.
func TestUntouchedOfferStaysAnOffer(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	offering(h, "zh-Hans")
	c := again(h, simulated(h, "completed"), "")
	for _, action := range []string{view.ActionAutosave, view.ActionSave, view.ActionEvidence + ":bank_statement",
		view.ActionLanguage + ":zh-Hans"} {
		tab := load(c, "income")
		tab.values.Set("action", action)
		if answer := c.Post("income", tab.values); answer.Code >= http.StatusBadRequest {
			t.Fatalf("%s: status %d", action, answer.Code)
		}
		shown := fromLastTime
		if action == view.ActionLanguage+":zh-Hans" {
			shown = "这些是您上次的回答"
		}
		c.WantPage(c.Get("income"), http.StatusOK).Shows(shown)
	}
	tab := load(c, "income")
	tab.values.Set("employment_income.gross_salary", "71,234")
	tab.values.Set("action", view.ActionSave)
	c.WantRedirect(c.Post("income", tab.values))
	c.WantPage(c.Get("income"), http.StatusOK).Hides(fromLastTime).WantField("employment_income.gross_salary", "71,234")
}

// TestFormerDraftIsOffered offers what was typed and not finished of an expired and of a
// cancelled session, mistakes and amounts left for later as they were.
func TestFormerDraftIsOffered(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	for _, end := range []func(domain.SessionID){
		func(id domain.SessionID) {
			h.Do(harness.Call{Method: http.MethodDelete, Path: "/sessions/" + id.String()}).WantStatus(http.StatusOK)
		},
		func(domain.SessionID) { h.Clock.Advance(31 * 24 * time.Hour) }, // no sweep has run
	} {
		former := h.NewCustomer()
		former.Answer("personal_details")
		income := statementtest.Values("income")
		income.Set("employment_income.gross_salary", "lots")
		income.Set("action", "save")
		former.WantRedirect(former.Post("income", income))
		former.WantRedirect(former.Post("assets", url.Values{
			"has": {"vehicles"}, "vehicles.0.description": {"Ute"}, "vehicles.0.value.later": {"true"}, "action": {"save"},
		}))
		end(former.ID)
		c := again(h, former.ID, "")
		c.WantPage(c.Get("income"), http.StatusOK).Shows(fromLastTime).WantField("employment_income.gross_salary", "lots")
		c.WantPage(c.Get("assets"), http.StatusOK).Shows(fromLastTime).WantField("vehicles.0.description", "Ute")
		if !load(c, "assets").values.Has("vehicles.0.value.later") {
			t.Error("what was left for later isn't any more")
		}
		c.WantPage(c.Get("liabilities"), http.StatusOK).Hides(fromLastTime)
		oneTap(c, "personal_details")
		c.AnswerAll()
		c.WantRedirect(c.Sign())
		if got := fmt.Sprint(dataOf(h, c.ID)["changed_sections"]); got != "[income assets liabilities expenses]" {
			t.Errorf("changed %s", got)
		}
	}
}

// TestFormerOffersGoOn continues a session that was itself left unfinished: what its customer
// confirmed goes before what the first one had.
func TestFormerOffersGoOn(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	first := simulated(h, "completed")
	second := again(h, first, "")
	tab := load(second, "personal_details")
	tab.values.Set("occupation", "Baker")
	tab.values.Set("action", "continue")
	second.WantRedirect(second.Post("personal_details", tab.values))
	h.Do(harness.Call{Method: http.MethodDelete, Path: "/sessions/" + second.ID.String()}).WantStatus(http.StatusOK)
	third := again(h, second.ID, "")
	third.WantPage(third.Get("personal_details"), http.StatusOK).WantField("occupation", "Baker")
	for _, section := range statement.BeforeDeclaration {
		oneTap(third, section)
	}
	third.WantRedirect(third.Sign())
	now := dataOf(h, third.ID)
	if now["previous_session_id"] != second.ID.String() || fmt.Sprint(now["changed_sections"]) != "[]" {
		t.Errorf("continues %v, changed %v", now["previous_session_id"], now["changed_sections"])
	}
	if !reflect.DeepEqual(now["income"], dataOf(h, first)["income"]) {
		t.Errorf("income %v", now["income"])
	}
}

// TestFormerRepaymentGoesWithItsDebt: the expenses of last time follow the debts of today (D55).
func TestFormerRepaymentGoesWithItsDebt(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	former := h.NewCustomer()
	former.AnswerAll()
	expenses := statementtest.Values(statement.ExpensesSection)
	expenses.Set("commitments.debt_repayments", "1104.90") // as the form offers it
	former.WantRedirect(former.Post(statement.ExpensesSection, expenses))
	former.WantRedirect(former.Sign())
	c := again(h, former.ID, "")
	repayments := func(want, notice string) {
		t.Helper()
		if got := load(c, "expenses").values.Get("commitments.debt_repayments"); got != want {
			t.Errorf("the repayments are %s, want %s", got, want)
		}
		c.WantPage(c.Get("expenses"), http.StatusOK).Shows(notice)
	}
	repayments("1,104.90", fromLastTime+". Change")
	debts := load(c, "liabilities")
	debts.press("remove:personal_loans.0", http.StatusOK)
	repayments("1,104.90", fromLastTime+". Change") // until the debts are said
	debts.values.Set("action", "continue")
	c.WantRedirect(c.Post("liabilities", debts.values))
	repayments("815", fromLastTime+", with the repayments from Liabilities.")
}

// TestFormerHouseholdChanged asks for a look at a couple's whole amounts if the customer
// lives alone now, and the other way round (D78).
func TestFormerHouseholdChanged(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	former := h.NewCustomer()
	former.Answer("personal_details")
	personal := statementtest.Values("personal_details")
	personal.Set("household.type", "couple")
	former.WantRedirect(former.Post("personal_details", personal))
	expenses := url.Values{"share": {"50"}, "living.groceries": {"1000"}}
	former.WantRedirect(former.Post("expenses", expenses))
	h.Do(harness.Call{Method: http.MethodDelete, Path: "/sessions/" + former.ID.String()}).WantStatus(http.StatusOK)

	c := again(h, former.ID, "")
	c.WantPage(c.Get("expenses"), http.StatusOK).Shows(outdated) // not yet known
	oneTap(c, "personal_details")
	c.WantPage(c.Get("expenses"), http.StatusOK).Hides(outdated).
		WantField("share", "50").WantField("living.groceries", "1,000")

	alone := again(h, former.ID, "")
	personal.Set("household.type", "single")
	alone.WantRedirect(alone.Post("personal_details", personal))
	alone.WantPage(alone.Get("expenses"), http.StatusOK).Shows(outdated)
	for _, section := range []string{"income", "assets", "liabilities", "documents"} {
		alone.Answer(section)
	}
	tab := load(alone, "expenses")
	tab.press("continue", http.StatusUnprocessableEntity)
	tab.values.Set("sharing.checked", tab.tick)
	tab.values.Set("action", "continue")
	alone.WantRedirect(alone.Post("expenses", tab.values))
	alone.WantRedirect(alone.Sign())
	if got := fmt.Sprint(dataOf(h, alone.ID)["changed_sections"]); !strings.Contains(got, "expenses") {
		t.Errorf("500 of the former session is 1,000 now; changed: %s", got)
	}
}

// A page of expenses that was drawn before the household was known has no share. What is
// typed there isn't taken for a part by the share that is offered by now.
func TestFormerShareIsNotTakenForSaved(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	former := h.NewCustomer()
	personal := statementtest.Values("personal_details")
	personal.Set("household.type", "couple")
	former.WantRedirect(former.Post("personal_details", personal))
	former.WantRedirect(former.Post("expenses", url.Values{"share": {"50"}, "living.groceries": {"1000"}}))
	h.Do(harness.Call{Method: http.MethodDelete, Path: "/sessions/" + former.ID.String()}).WantStatus(http.StatusOK)

	c := again(h, former.ID, "")
	early := load(c, "expenses")
	oneTap(c, "personal_details")
	early.values.Set("living.groceries", "500")
	early.values.Set("action", "continue")
	c.WantPage(c.Post("expenses", early.values), http.StatusUnprocessableEntity).WantField("living.groceries", "500").
		WantField("share", "")
}

// TestFormerDocuments: files aren't copied, and the page says which there were.
func TestFormerDocuments(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	former := h.NewCustomer()
	former.AnswerAll()
	same := h.Upload(former.ID, "June payslip.pdf")
	former.WantRedirect(former.Sign())
	for name, want := range map[string]string{"June payslip.pdf": "[]", "July payslip.pdf": "[documents]"} {
		c := again(h, former.ID, "")
		c.WantPage(c.Get("documents"), http.StatusOK).
			Shows("Files from last time aren’t copied", "June payslip.pdf").Hides("Uploaded")
		for _, section := range statement.BeforeDeclaration {
			oneTap(c, section)
		}
		if content := h.Upload(c.ID, name); name == "June payslip.pdf" && string(content) != string(same) {
			t.Error("the files differ")
		}
		c.WantRedirect(c.Sign())
		now := dataOf(h, c.ID)
		if got := fmt.Sprint(now["changed_sections"]); got != want || len(now["documents"].([]any)) != 1 {
			t.Errorf("%s: changed %s, want %s; documents %v", name, got, want, now["documents"])
		}
	}
}

// TestAskIsShown shows the partner's words on the list of sections and on the page, with and
// without a former session, as text (D102).
func TestAskIsShown(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	const ask = `[{"section": "documents", "note": " The June payslip is missing a page.\r\n<b>Pages 1</b> to 3, please. "},
		{"section": "income", "note": "Is the bonus for the year?"}]`
	plain := h.Post("/sessions", body(`, "ask": `+ask)).WantStatus(http.StatusCreated).Object()
	continued := again(h, simulated(h, "completed"), `, "ask": `+ask)
	for _, c := range []*harness.Customer{customerOf(h, plain), continued} {
		c.WantPage(c.Get(""), http.StatusOK).
			Shows("Lender & Sons asks: The June payslip is missing a page. <b>Pages 1</b> to 3, please.").
			Shows("Lender & Sons asks: Is the bonus")
		c.WantPage(c.Get("documents"), http.StatusOK).
			Shows("Lender & Sons asks: The June payslip is missing a page.").Hides("Is the bonus")
		c.WantPage(c.Get("income"), http.StatusOK).Shows("Lender & Sons asks: Is the bonus for the year?")
		refused := c.Post("income", url.Values{"employment_income.gross_salary": {"lots"}})
		c.WantPage(refused, http.StatusUnprocessableEntity).Shows("Is the bonus")
		c.WantPage(c.Get("assets"), http.StatusOK).Hides("asks:")
		got := h.Get("/sessions/" + c.ID.String()).WantStatus(http.StatusOK).Body.String()
		if strings.Contains(got, "payslip") {
			t.Errorf("the answer has the note: %s", got)
		}
	}
}

// rowsOfSession counts what is stored of a session's answers.
const rowsOfSession = `
	SELECT (SELECT count(*) FROM section WHERE session_id = $1) + (SELECT count(*) FROM session_key WHERE session_id = $1)`

// TestFormerIsSealedAndErased looks for what is offered and asked where it must not be, and
// erases the former session and the new one.
func TestFormerIsSealedAndErased(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	former := h.NewCustomer()
	former.WantRedirect(former.Post("personal_details", url.Values{"occupation": {"Lion tamer"}, "action": {"save"}}))
	h.Do(harness.Call{Method: http.MethodDelete, Path: "/sessions/" + former.ID.String()}).WantStatus(http.StatusOK)
	c := again(h, former.ID, `, "ask": [{"section": "income", "note": "Zeppelin payslip"}]`)
	for name, all := range h.Stored() {
		for _, text := range []string{"Lion tamer", "Zeppelin"} {
			if strings.Contains(all, text) || strings.Contains(all, fmt.Sprintf("%x", text)) {
				t.Errorf("%s has %q in clear", name, text)
			}
		}
	}
	erase := func(id domain.SessionID) {
		h.OK(h.Service.Sessions.Erase(h.Context(), h.TestScope(), id, []domain.SessionID{id}, "jo@customer.example", harness.Operator))
	}
	erase(former.ID)
	c.WantPage(c.Get("personal_details"), http.StatusOK).WantField("occupation", "Lion tamer") // the copy is the new session's
	h.Post("/sessions", body(fmt.Sprintf(`, "prefill_from": %q`, former.ID))).
		WantError(http.StatusUnprocessableEntity, "validation_error", "prefill_from")
	erase(c.ID)
	if n := harness.QueryOne[int](h, rowsOfSession, c.ID); n != 0 {
		t.Errorf("%d rows are left", n)
	}
	receipt, err := h.Service.Sessions.Erasure(h.Context(), h.TestScope(), c.ID)
	h.OK(err)
	if receipt.Sections == 0 {
		t.Error("the receipt has no section")
	}
}

// TestFormerIsSimulated: a simulated customer confirms what is offered.
func TestFormerIsSimulated(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	former := simulated(h, "completed")
	c := again(h, former, `, "simulate": "completed"`)
	before, now := dataOf(h, former), dataOf(h, c.ID)
	if !reflect.DeepEqual(answersOf(now), answersOf(before)) || fmt.Sprint(now["changed_sections"]) != "[]" {
		t.Errorf("signed %v", now)
	}
}
