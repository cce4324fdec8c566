package handlers_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"candor/internal/form"
	"candor/internal/statement"
	"candor/internal/statement/statementtest"
)

// TestWholeFormByPlainPosts fills everything as a script would (D47) and
// compares what the partner gets, to the cent.
func TestWholeFormByPlainPosts(t *testing.T) {
	t.Parallel()
	c := newBench(t).newCustomer()
	page := c.page(c.get(""), http.StatusOK)
	shows(t, page, "Lender &amp; Sons", "Zoë O&#39;Brien", "20 December 2026", "Start with Personal details")

	next := "personal_details"
	for _, name := range statement.SectionNames[:5] {
		if next != name {
			t.Fatalf("sent on to %q, want %q", next, name)
		}
		next = c.redirects(c.post(name, statementtest.Values(name)))
	}
	c.redirects(c.attach("income_evidence", `C:\Users\zoe\Payslip.pdf`, []byte("%PDF-1.7\n"), ""))
	if next = c.redirects(c.post("documents", nil)); next != "declaration" {
		t.Fatalf("sent on to %q after the documents, want declaration", next)
	}
	check := c.page(c.get(next), http.StatusOK)
	shows(t, check, "Zoë Margaret O&#39;Brien", "27 March 1985", "$1,026,405.29", "$576,165.82", "$450,239.47", "$10,789.83", "$5,126.95", "$5,662.88",
		"Payslip.pdf", statement.DeclarationText)
	if next = c.redirects(c.sign()); next != "" {
		t.Fatalf("sent on to %q after signing, want the hub's address", next)
	}
	shows(t, c.page(c.get(""), http.StatusOK), "Your statement has been sent", "LOAN-417")

	data, err := c.service.Sessions.Data(t.Context(), c.testScope(), c.id, someone)
	c.ok(err)
	want := statementtest.Full()
	want.Documents = data.Statement.Documents
	want.Declaration.SignedAt = c.clock.Now()
	if got, want := toJSON(t, data.Statement), toJSON(t, want); got != want {
		t.Errorf("data =\n%s\nwant\n%s", got, want)
	}
	if got := data.Statement.Documents; len(got) != 1 || got[0].FileName != "Payslip.pdf" || got[0].ContentType != "application/pdf" {
		t.Errorf("documents = %+v, want Payslip.pdf", got)
	}
	wantSum := statement.Summary{TotalAssets: 102640529, TotalLiabilities: 57616582, NetWorth: 45023947,
		TotalMonthlyIncome: 1078983, TotalMonthlyExpenses: 512695, MonthlySurplus: 566288}
	if got := data.Statement.Summary(); got != wantSum {
		t.Errorf("summary = %+v, want %+v", got, wantSum)
	}
	wantStory := []string{"accessed", "section_completed personal_details 1", "section_completed income 2", "section_completed assets 3",
		"section_completed liabilities 4", "section_completed expenses 5", "section_completed documents 6",
		"section_completed declaration 7", "completed"}
	if got := c.story(); !slices.Equal(got, wantStory) {
		t.Errorf("events = %q, want %q", got, wantStory)
	}
}

func toJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestEditsSendNoEventAgain edits a completed section, well and badly (D15).
func TestEditsSendNoEventAgain(t *testing.T) {
	t.Parallel()
	c := newBench(t).newCustomer()
	c.get("")
	c.answer("income")
	c.answer("income")
	bad := statementtest.Values("income")
	bad.Set("employment_income.gross_salary", "lots")
	page := c.page(c.post("income", bad), http.StatusUnprocessableEntity)
	shows(t, page, "There is a problem", `value="lots"`, "Error: Income")
	if got, want := c.story(), []string{"accessed", "section_completed income 1"}; !slices.Equal(got, want) {
		t.Errorf("events = %q, want %q", got, want)
	}
	session, err := c.service.Sessions.Get(t.Context(), c.testScope(), c.id)
	c.ok(err)
	if session.SectionsCompleted != 1 {
		t.Errorf("sections completed = %d, want 1: an edit never lowers it", session.SectionsCompleted)
	}
	shows(t, c.page(c.get("income"), http.StatusOK), `value="lots"`)
	hub := c.page(c.get(""), http.StatusOK)
	shows(t, hub, "<strong>1 of 7</strong>", "Changes to finish", "Continue with Personal details")
	hides(t, hub, "In progress")
	c.answer("income")
	hub = c.page(c.get(""), http.StatusOK)
	shows(t, hub, "<strong>1 of 7</strong>", "Completed")
	hides(t, hub, "Changes to finish")
}

// TestCheckPageShowsNoRefusedAnswers: what was refused is worth nothing to read
// through, and $0.00 in its place would be signed for.
func TestCheckPageShowsNoRefusedAnswers(t *testing.T) {
	t.Parallel()
	c := newBench(t).newCustomer()
	c.answerAll()
	whole := c.page(c.get("declaration"), http.StatusOK)
	shows(t, whole, "$98,750.00", "$10,789.83", "$5,662.88", "Sign and submit")
	hides(t, whole, "Not finished", "$0.00")
	bad := statementtest.Values("income")
	bad.Set("employment_income.gross_salary", "lots")
	c.page(c.post("income", bad), http.StatusUnprocessableEntity)
	page := c.page(c.get("declaration"), http.StatusOK)
	shows(t, page, "Some sections aren’t finished", "$1,026,405.29", "$5,126.95")
	hides(t, page, "$0.00", "lots", "$98,750.00", "$10,789.83", "$5,662.88", `name="accepted"`)
	if got := strings.Count(page, "Not finished"); got != 3 {
		t.Errorf("%d times Not finished, want 3: the section, the monthly income and the surplus", got)
	}
	c.answer("income")
	if got := c.page(c.get("declaration"), http.StatusOK); got != whole {
		t.Error("the check page isn't as it was before the refused edit")
	}
}

// TestTypedZeroComesBack keeps a typed 0 apart from an empty input, on every
// way back to the form, and gives the partner the number 0 for both (D19).
func TestTypedZeroComesBack(t *testing.T) {
	t.Parallel()
	c := newBench(t).newCustomer()
	c.answerAll()
	input := func(page, name string) string {
		t.Helper()
		_, rest, found := strings.Cut(page, `name="`+name+`" value="`)
		value, _, _ := strings.Cut(rest, `"`)
		if !found {
			t.Errorf("there is no input %s", name)
		}
		return value
	}
	check := func(page, typed, empty string) {
		t.Helper()
		if got := input(page, typed); got != "0" {
			t.Errorf("%s holds %q, want 0", typed, got)
		}
		if got := input(page, empty); got != "" {
			t.Errorf("%s holds %q, want nothing", empty, got)
		}
	}
	bonuses, allowances := "employment_income.bonuses", "employment_income.allowances"
	income := statementtest.Values("income")
	income.Set(bonuses, "0")
	income.Set(allowances, "")
	bad := maps.Clone(income)
	bad.Set("employment_income.gross_salary", "lots")
	check(c.page(c.post("income", bad), http.StatusUnprocessableEntity), bonuses, allowances)
	check(c.page(c.get("income"), http.StatusOK), bonuses, allowances)
	c.redirects(c.post("income", income))
	check(c.page(c.get("income"), http.StatusOK), bonuses, allowances)
	assets := statementtest.Values("assets")
	assets.Set("real_property.0.ownership_percentage", "0")
	assets.Set("vehicles.0.value", "$0")
	assets.Set("vehicles.0.amount_owing", "")
	c.redirects(c.post("assets", assets))
	page := c.page(c.get("assets"), http.StatusOK)
	check(page, "real_property.0.ownership_percentage", "vehicles.0.amount_owing")
	check(page, "vehicles.0.value", "vehicles.0.amount_owing")
	shows(t, c.page(c.get("declaration"), http.StatusOK), "<dd>0%</dd>")

	c.redirects(c.sign())
	data, err := c.service.Sessions.Data(t.Context(), c.testScope(), c.id, someone)
	c.ok(err)
	text, err := json.Marshal(data.Statement)
	c.ok(err)
	shows(t, string(text), `"bonuses":0,`, `"allowances":0}`, `"value":0,`)
}

func TestInvalidAnswersAreShownAgainAndKept(t *testing.T) {
	t.Parallel()
	c := newBench(t).newCustomer()
	values := statementtest.Values("personal_details")
	values.Set("date_of_birth.month", "13")
	values.Del("phone")
	values.Set("occupation", "Welder & fitter")
	page := c.page(c.post("personal_details", values), http.StatusUnprocessableEntity)
	shows(t, page, `href="#date_of_birth.day"`, `href="#phone"`, `value="13"`, `value="Welder &amp; fitter"`, `aria-invalid="true"`)
	shows(t, c.page(c.get("personal_details"), http.StatusOK), `value="13"`, `value="Welder &amp; fitter"`)
	if got, want := c.story(), []string{"accessed"}; !slices.Equal(got, want) {
		t.Errorf("events = %q, want %q", got, want)
	}
}

func TestListItemsComeAndGo(t *testing.T) {
	t.Parallel()
	c := newBench(t).newCustomer()
	page := c.page(c.post("assets", url.Values{"action": {"add:vehicles"}}), http.StatusOK)
	shows(t, page, `id="vehicles.0.description"`, "Vehicle 1 added", "autofocus")
	values := url.Values{"vehicles.0.description": {"Mazda"}, "vehicles.0.value": {"tw0"}, "action": {"add:vehicles"}}
	page = c.page(c.post("assets", values), http.StatusOK)
	shows(t, page, `value="Mazda"`, `value="tw0"`, `id="vehicles.1.description"`)
	shows(t, c.page(c.get("assets"), http.StatusOK), `value="Mazda"`, `value="tw0"`, `id="vehicles.1.description"`)

	values.Set("vehicles.1.description", "Trailer")
	values.Set("action", "remove:vehicles.0")
	page = c.page(c.post("assets", values), http.StatusOK)
	shows(t, page, `value="Trailer"`, "Vehicle 1 removed")
	hides(t, page, "Mazda", `id="vehicles.1.description"`)
	page = c.page(c.post("assets", url.Values{"vehicles.0.description": {"Trailer"}, "action": {"remove:vehicles.0"}}), http.StatusOK)
	hides(t, page, "Trailer", `id="vehicles.0.description"`)
	hides(t, c.page(c.get("assets"), http.StatusOK), "Trailer", `id="vehicles.0.description"`)
	for _, action := range []string{"add:castles", "remove:castles.0", "publish", "remove:", "add:"} {
		c.page(c.post("assets", url.Values{"action": {action}}), http.StatusBadRequest)
	}
	for _, action := range []string{"remove:vehicles.7", "remove:vehicles.-1", "remove:vehicles.x"} {
		c.page(c.post("assets", url.Values{"action": {action}}), http.StatusOK)
	}
}

func TestListHoldsFifty(t *testing.T) {
	t.Parallel()
	c := newBench(t).newCustomer()
	values := url.Values{}
	for i := range form.MaxListItems {
		values.Set(fmt.Sprintf("investments.%d.description", i), fmt.Sprintf("Fund %d", i))
	}
	values.Set("action", "add:investments")
	hides(t, c.page(c.post("assets", values), http.StatusOK), `id="investments.50.description"`, `value="add:investments"`)
	values.Set("investments.50.description", "Fund 50")
	values.Del("action")
	shows(t, c.page(c.post("assets", values), http.StatusUnprocessableEntity), "enter at most 50")
	values.Del("investments.50.description")
	c.redirects(c.post("assets", values))
}

func TestLiabilitiesStartWithWhatIsKnown(t *testing.T) {
	t.Parallel()
	c := newBench(t).newCustomer()
	hides(t, c.page(c.get("liabilities"), http.StatusOK), `id="mortgages.0.balance"`)
	c.answer("assets")
	page := c.page(c.get("liabilities"), http.StatusOK)
	shows(t, page, `value="306200.38"`, `value="241666.67"`, "Finance for Toyota Corolla", "We added what you said you owe")
	c.page(c.post("liabilities", url.Values{"mortgages.0.balance": {"1"}, "action": {"remove:mortgages.0"}}), http.StatusOK)
	page = c.page(c.get("liabilities"), http.StatusOK)
	hides(t, page, `id="mortgages.0.balance"`, "Finance for Toyota Corolla", "We added what you said you owe")
	shows(t, c.page(c.get("personal_details"), http.StatusOK), `value="Zoë O&#39;Brien"`, `value="jo@customer.example"`)
}

func TestSaveForLater(t *testing.T) {
	t.Parallel()
	c := newBench(t).newCustomer()
	if next := c.redirects(c.post("income", url.Values{"employment_income.bonuses": {"12"}, "action": {"save"}})); next != "" {
		t.Errorf("sent on to %q, want the hub", next)
	}
	page := c.page(c.get(""), http.StatusOK)
	shows(t, page, "In progress", "0 of 7", "Your answers are saved")
	hides(t, c.page(c.get(""), http.StatusOK), `role="status">Your answers are saved`)
	shows(t, c.page(c.get("income"), http.StatusOK), `value="12"`)
	c.answer("income")
	c.redirects(c.post("income", url.Values{"employment_income.bonuses": {"13"}, "action": {"save"}}))
	shows(t, c.page(c.get(""), http.StatusOK), "1 of 7")
	if got, want := c.story(), []string{"accessed", "section_completed income 1"}; !slices.Equal(got, want) {
		t.Errorf("events = %q, want %q", got, want)
	}
}

func TestTotalsOfWhatIsTyped(t *testing.T) {
	t.Parallel()
	c := newBench(t).newCustomer()
	values := statementtest.Values("assets")
	values.Set("action", "total")
	shows(t, c.page(c.post("assets", values), http.StatusOK), "$1,026,405.29", "−$1,666.67")
	hides(t, c.page(c.get("assets"), http.StatusOK), "Family home")
	shows(t, c.page(c.get(""), http.StatusOK), "0 of 7")
}

func TestWhereASectionLeads(t *testing.T) {
	t.Parallel()
	c := newBench(t).newCustomer()
	steps := []struct{ section, next string }{
		{"income", "assets"}, {"documents", "personal_details"}, {"personal_details", "assets"},
		{"expenses", "assets"}, {"assets", "liabilities"}, {"liabilities", "declaration"}, {"income", "declaration"},
	}
	for _, step := range steps {
		if next := c.redirects(c.post(step.section, statementtest.Values(step.section))); next != step.next {
			t.Errorf("%s leads to %s, want %s", step.section, next, step.next)
		}
	}
	page := c.page(c.get("assets?return=declaration"), http.StatusOK)
	shows(t, page, "/assets?return=declaration", "Save and return to check")
	bad := url.Values{"vehicles.0.value": {"1"}}
	shows(t, c.page(c.post("assets?return=declaration", bad), http.StatusUnprocessableEntity), "/assets?return=declaration")
	if next := c.redirects(c.post("assets?return=declaration", statementtest.Values("assets"))); next != "declaration" {
		t.Errorf("a change leads to %s, want back to declaration", next)
	}
	if next := c.redirects(c.post("assets?return=https://evil.example", statementtest.Values("assets"))); next != "declaration" {
		t.Errorf("an odd return leads to %s, want declaration", next)
	}
}

func TestDeclarationWaitsForEverySection(t *testing.T) {
	t.Parallel()
	c := newBench(t).newCustomer()
	page := c.page(c.get("declaration"), http.StatusOK)
	shows(t, page, "Some sections aren’t finished", c.path("documents"), c.path("income"))
	hides(t, page, `name="accepted"`)
	shows(t, c.page(c.sign(), http.StatusUnprocessableEntity), "Some sections aren’t finished")
	c.answerAll()
	bad := statementtest.Values("expenses")
	bad.Set("housing.rates", "-1")
	c.page(c.post("expenses", bad), http.StatusUnprocessableEntity)
	page = c.page(c.sign(), http.StatusUnprocessableEntity)
	shows(t, page, "Some sections aren’t finished")
	c.answer("expenses")
	shows(t, c.page(c.get("declaration"), http.StatusOK), `name="accepted"`)
	page = c.page(c.post("declaration", url.Values{"full_name": {"Zoë"}}), http.StatusUnprocessableEntity)
	shows(t, page, "Tick the box to accept the declaration", `value="Zoë"`)
	page = c.page(c.post("declaration", url.Values{"accepted": {"true"}, "full_name": {" "}}), http.StatusUnprocessableEntity)
	shows(t, page, "Enter your full name to sign", "checked")
	if got := c.status(); got != "in_progress" {
		t.Fatalf("status = %s, want in_progress", got)
	}
	c.redirects(c.sign())
}

// TestOddBodies sends what no browser does; none is the server's fault.
func TestOddBodies(t *testing.T) {
	t.Parallel()
	c := newBench(t).newCustomer()
	tests := []struct {
		name, kind, body string
		status           int
	}{
		{"invalid UTF-8", "application/x-www-form-urlencoded", "full_name=%ff%fe", http.StatusUnprocessableEntity},
		{"NUL", "application/x-www-form-urlencoded", "full_name=a%00b", http.StatusUnprocessableEntity},
		{"NUL in a list", "application/x-www-form-urlencoded", "action=save&full_name=a%00b&address.state=%00&date_of_birth.day=%00", http.StatusSeeOther},
		{"NUL as a name", "application/x-www-form-urlencoded", "%00=1&vehicles.%00.value=2", http.StatusUnprocessableEntity},
		{"broken escapes", "application/x-www-form-urlencoded", "full_name=%zz", http.StatusBadRequest},
		{"JSON", "application/json", `{"full_name":"a"}`, http.StatusUnsupportedMediaType},
		{"no type", "", "full_name=a", http.StatusUnsupportedMediaType},
		{"multipart without a boundary", "multipart/form-data", "full_name=a", http.StatusBadRequest},
		{"multipart", "multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=\"full_name\"\r\n\r\nJo\r\n--x--\r\n", http.StatusUnprocessableEntity},
		{"too long", "application/x-www-form-urlencoded", "full_name=" + strings.Repeat("a", 4<<20), http.StatusRequestEntityTooLarge},
		{"too many fields", "application/x-www-form-urlencoded", strings.Repeat("a&", 500_000), http.StatusBadRequest},
		{"empty", "", "", http.StatusUnprocessableEntity},
	}
	for _, test := range tests {
		r := httptest.NewRequest(http.MethodPost, c.path("personal_details"), strings.NewReader(test.body))
		r.Header.Set("Content-Type", test.kind)
		if test.kind == "" {
			r.Header.Del("Content-Type")
		}
		if got := c.send(r); got.Code != test.status {
			t.Errorf("%s: answered %d, want %d", test.name, got.Code, test.status)
		}
	}
	for _, section := range []string{"income", "assets", "liabilities", "expenses"} {
		values := url.Values{"vehicles.0.description": {"\xff\x00"}, "employment_income.bonuses": {"\x00"}, "housing.rates": {"\xff"}, "credit_cards.0.issuer": {"\x00"}}
		c.page(c.post(section, values), http.StatusUnprocessableEntity)
		c.page(c.get(section), http.StatusOK)
	}
}
