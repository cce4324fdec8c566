package form_test

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
	"candor/internal/testkit/harness"
)

// TestWholeFormByPlainPosts fills everything as a script would (D47) and
// compares what the partner gets, to the cent.
func TestWholeFormByPlainPosts(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	page := c.WantPage(c.Get(""), http.StatusOK)
	harness.Shows(t, page, "Lender &amp; Sons", "Zoë O&#39;Brien", "20 December 2026", "Start with Personal details")

	next := "personal_details"
	for _, name := range statement.SectionNames[:5] {
		if next != name {
			t.Fatalf("sent on to %q, want %q", next, name)
		}
		next = c.WantRedirect(c.Post(name, statementtest.Values(name)))
	}
	c.WantRedirect(c.Attach("income_evidence", `C:\Users\zoe\Payslip.pdf`, []byte("%PDF-1.7\n"), ""))
	if next = c.WantRedirect(c.Post("documents", nil)); next != "declaration" {
		t.Fatalf("sent on to %q after the documents, want declaration", next)
	}
	check := c.WantPage(c.Get(next), http.StatusOK)
	harness.Shows(t, check, "Zoë Margaret O&#39;Brien", "27 March 1985", "$1,026,405.29", "$576,165.82", "$450,239.47", "$10,789.83", "$5,126.95", "$5,662.88",
		"Payslip.pdf", statement.DeclarationText)
	if next = c.WantRedirect(c.Sign()); next != "" {
		t.Fatalf("sent on to %q after signing, want the hub's address", next)
	}
	harness.Shows(t, c.WantPage(c.Get(""), http.StatusOK), "Your statement has been sent", "LOAN-417")

	data, err := c.Service.Sessions.Data(t.Context(), c.TestScope(), c.ID, harness.Operator)
	c.OK(err)
	want := statementtest.Full()
	want.Documents = data.Statement.Documents
	want.Declaration.SignedAt = c.Clock.Now()
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
	if got := c.Events(); !slices.Equal(got, wantStory) {
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
	c := harness.New(t).NewCustomer()
	c.Get("")
	c.Answer("income")
	c.Answer("income")
	bad := statementtest.Values("income")
	bad.Set("employment_income.gross_salary", "lots")
	page := c.WantPage(c.Post("income", bad), http.StatusUnprocessableEntity)
	harness.Shows(t, page, "There is a problem", `value="lots"`, "Error: Income")
	if got, want := c.Events(), []string{"accessed", "section_completed income 1"}; !slices.Equal(got, want) {
		t.Errorf("events = %q, want %q", got, want)
	}
	session, err := c.Service.Sessions.Get(t.Context(), c.TestScope(), c.ID)
	c.OK(err)
	if session.SectionsCompleted != 1 {
		t.Errorf("sections completed = %d, want 1: an edit never lowers it", session.SectionsCompleted)
	}
	harness.Shows(t, c.WantPage(c.Get("income"), http.StatusOK), `value="lots"`)
	hub := c.WantPage(c.Get(""), http.StatusOK)
	harness.Shows(t, hub, "<strong>1 of 7</strong>", "Changes to finish", "Continue with Personal details")
	harness.Hides(t, hub, "In progress")
	c.Answer("income")
	hub = c.WantPage(c.Get(""), http.StatusOK)
	harness.Shows(t, hub, "<strong>1 of 7</strong>", "Completed")
	harness.Hides(t, hub, "Changes to finish")
}

// TestCheckPageShowsNoRefusedAnswers: what was refused is worth nothing to read
// through, and $0.00 in its place would be signed for.
func TestCheckPageShowsNoRefusedAnswers(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	c.AnswerAll()
	whole := c.WantPage(c.Get("declaration"), http.StatusOK)
	harness.Shows(t, whole, "$98,750.00", "$10,789.83", "$5,662.88", "Sign and submit")
	harness.Hides(t, whole, "Not finished", "$0.00")
	bad := statementtest.Values("income")
	bad.Set("employment_income.gross_salary", "lots")
	c.WantPage(c.Post("income", bad), http.StatusUnprocessableEntity)
	page := c.WantPage(c.Get("declaration"), http.StatusOK)
	harness.Shows(t, page, "Some sections aren’t finished", "$1,026,405.29", "$5,126.95")
	harness.Hides(t, page, "$0.00", "lots", "$98,750.00", "$10,789.83", "$5,662.88", `name="accepted"`)
	if got := strings.Count(page, "Not finished"); got != 3 {
		t.Errorf("%d times Not finished, want 3: the section, the monthly income and the surplus", got)
	}
	c.Answer("income")
	if got := c.WantPage(c.Get("declaration"), http.StatusOK); got != whole {
		t.Error("the check page isn't as it was before the refused edit")
	}
}

// TestTypedZeroComesBack keeps a typed 0 apart from an empty input, on every
// way back to the form, and gives the partner the number 0 for both (D19).
func TestTypedZeroComesBack(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	c.AnswerAll()
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
	check(c.WantPage(c.Post("income", bad), http.StatusUnprocessableEntity), bonuses, allowances)
	check(c.WantPage(c.Get("income"), http.StatusOK), bonuses, allowances)
	c.WantRedirect(c.Post("income", income))
	check(c.WantPage(c.Get("income"), http.StatusOK), bonuses, allowances)
	assets := statementtest.Values("assets")
	assets.Set("real_property.0.ownership_percentage", "0")
	assets.Set("vehicles.0.value", "$0")
	assets.Set("vehicles.0.amount_owing", "")
	c.WantRedirect(c.Post("assets", assets))
	page := c.WantPage(c.Get("assets"), http.StatusOK)
	check(page, "real_property.0.ownership_percentage", "vehicles.0.amount_owing")
	check(page, "vehicles.0.value", "vehicles.0.amount_owing")
	harness.Shows(t, c.WantPage(c.Get("declaration"), http.StatusOK), "<dd>0%</dd>")

	c.WantRedirect(c.Sign())
	data, err := c.Service.Sessions.Data(t.Context(), c.TestScope(), c.ID, harness.Operator)
	c.OK(err)
	text, err := json.Marshal(data.Statement)
	c.OK(err)
	harness.Shows(t, string(text), `"bonuses":0,`, `"allowances":0}`, `"value":0,`)
}

func TestInvalidAnswersAreShownAgainAndKept(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	values := statementtest.Values("personal_details")
	values.Set("date_of_birth.month", "13")
	values.Del("phone")
	values.Set("occupation", "Welder & fitter")
	page := c.WantPage(c.Post("personal_details", values), http.StatusUnprocessableEntity)
	harness.Shows(t, page, `href="#date_of_birth.day"`, `href="#phone"`, `value="13"`, `value="Welder &amp; fitter"`, `aria-invalid="true"`)
	harness.Shows(t, c.WantPage(c.Get("personal_details"), http.StatusOK), `value="13"`, `value="Welder &amp; fitter"`)
	if got, want := c.Events(), []string{"accessed"}; !slices.Equal(got, want) {
		t.Errorf("events = %q, want %q", got, want)
	}
}

func TestListItemsComeAndGo(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	page := c.WantPage(c.Post("assets", url.Values{"action": {"add:vehicles"}}), http.StatusOK)
	harness.Shows(t, page, `id="vehicles.0.description"`, "Vehicle 1 added", "autofocus")
	values := url.Values{"vehicles.0.description": {"Mazda"}, "vehicles.0.value": {"tw0"}, "action": {"add:vehicles"}}
	page = c.WantPage(c.Post("assets", values), http.StatusOK)
	harness.Shows(t, page, `value="Mazda"`, `value="tw0"`, `id="vehicles.1.description"`)
	harness.Shows(t, c.WantPage(c.Get("assets"), http.StatusOK), `value="Mazda"`, `value="tw0"`, `id="vehicles.1.description"`)

	values.Set("vehicles.1.description", "Trailer")
	values.Set("action", "remove:vehicles.0")
	page = c.WantPage(c.Post("assets", values), http.StatusOK)
	harness.Shows(t, page, `value="Trailer"`, "Vehicle 1 removed")
	harness.Hides(t, page, "Mazda", `id="vehicles.1.description"`)
	page = c.WantPage(c.Post("assets", url.Values{"vehicles.0.description": {"Trailer"}, "action": {"remove:vehicles.0"}}), http.StatusOK)
	harness.Hides(t, page, "Trailer", `id="vehicles.0.description"`)
	harness.Hides(t, c.WantPage(c.Get("assets"), http.StatusOK), "Trailer", `id="vehicles.0.description"`)
	for _, action := range []string{"add:castles", "remove:castles.0", "publish", "remove:", "add:"} {
		c.WantPage(c.Post("assets", url.Values{"action": {action}}), http.StatusBadRequest)
	}
	for _, action := range []string{"remove:vehicles.7", "remove:vehicles.-1", "remove:vehicles.x"} {
		c.WantPage(c.Post("assets", url.Values{"action": {action}}), http.StatusOK)
	}
}

func TestListHoldsFifty(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	values := url.Values{}
	for i := range form.MaxListItems {
		values.Set(fmt.Sprintf("investments.%d.description", i), fmt.Sprintf("Fund %d", i))
	}
	values.Set("action", "add:investments")
	harness.Hides(t, c.WantPage(c.Post("assets", values), http.StatusOK), `id="investments.50.description"`, `value="add:investments"`)
	values.Set("investments.50.description", "Fund 50")
	values.Del("action")
	harness.Shows(t, c.WantPage(c.Post("assets", values), http.StatusUnprocessableEntity), "enter at most 50")
	values.Del("investments.50.description")
	c.WantRedirect(c.Post("assets", values))
}

func TestLiabilitiesStartWithWhatIsKnown(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	harness.Hides(t, c.WantPage(c.Get("liabilities"), http.StatusOK), `id="mortgages.0.balance"`)
	c.Answer("assets")
	page := c.WantPage(c.Get("liabilities"), http.StatusOK)
	harness.Shows(t, page, `value="306200.38"`, `value="241666.67"`, "Finance for Toyota Corolla", "We added what you said you owe")
	c.WantPage(c.Post("liabilities", url.Values{"mortgages.0.balance": {"1"}, "action": {"remove:mortgages.0"}}), http.StatusOK)
	page = c.WantPage(c.Get("liabilities"), http.StatusOK)
	harness.Hides(t, page, `id="mortgages.0.balance"`, "Finance for Toyota Corolla", "We added what you said you owe")
	harness.Shows(t, c.WantPage(c.Get("personal_details"), http.StatusOK), `value="Zoë O&#39;Brien"`, `value="jo@customer.example"`)
}

func TestSaveForLater(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	if next := c.WantRedirect(c.Post("income", url.Values{"employment_income.bonuses": {"12"}, "action": {"save"}})); next != "" {
		t.Errorf("sent on to %q, want the hub", next)
	}
	page := c.WantPage(c.Get(""), http.StatusOK)
	harness.Shows(t, page, "In progress", "0 of 7", "Your answers are saved")
	harness.Hides(t, c.WantPage(c.Get(""), http.StatusOK), `role="status">Your answers are saved`)
	harness.Shows(t, c.WantPage(c.Get("income"), http.StatusOK), `value="12"`)
	c.Answer("income")
	c.WantRedirect(c.Post("income", url.Values{"employment_income.bonuses": {"13"}, "action": {"save"}}))
	harness.Shows(t, c.WantPage(c.Get(""), http.StatusOK), "1 of 7")
	if got, want := c.Events(), []string{"accessed", "section_completed income 1"}; !slices.Equal(got, want) {
		t.Errorf("events = %q, want %q", got, want)
	}
}

func TestTotalsOfWhatIsTyped(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	values := statementtest.Values("assets")
	values.Set("action", "total")
	harness.Shows(t, c.WantPage(c.Post("assets", values), http.StatusOK), "$1,026,405.29", "−$1,666.67")
	harness.Hides(t, c.WantPage(c.Get("assets"), http.StatusOK), "Family home")
	harness.Shows(t, c.WantPage(c.Get(""), http.StatusOK), "0 of 7")
}

func TestWhereASectionLeads(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	steps := []struct{ section, next string }{
		{"income", "assets"}, {"documents", "personal_details"}, {"personal_details", "assets"},
		{"expenses", "assets"}, {"assets", "liabilities"}, {"liabilities", "declaration"}, {"income", "declaration"},
	}
	for _, step := range steps {
		if next := c.WantRedirect(c.Post(step.section, statementtest.Values(step.section))); next != step.next {
			t.Errorf("%s leads to %s, want %s", step.section, next, step.next)
		}
	}
	page := c.WantPage(c.Get("assets?return=declaration"), http.StatusOK)
	harness.Shows(t, page, "/assets?return=declaration", "Save and return to check")
	bad := url.Values{"vehicles.0.value": {"1"}}
	harness.Shows(t, c.WantPage(c.Post("assets?return=declaration", bad), http.StatusUnprocessableEntity), "/assets?return=declaration")
	if next := c.WantRedirect(c.Post("assets?return=declaration", statementtest.Values("assets"))); next != "declaration" {
		t.Errorf("a change leads to %s, want back to declaration", next)
	}
	if next := c.WantRedirect(c.Post("assets?return=https://evil.example", statementtest.Values("assets"))); next != "declaration" {
		t.Errorf("an odd return leads to %s, want declaration", next)
	}
}

func TestDeclarationWaitsForEverySection(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	page := c.WantPage(c.Get("declaration"), http.StatusOK)
	harness.Shows(t, page, "Some sections aren’t finished", c.Path("documents"), c.Path("income"))
	harness.Hides(t, page, `name="accepted"`)
	harness.Shows(t, c.WantPage(c.Sign(), http.StatusUnprocessableEntity), "Some sections aren’t finished")
	c.AnswerAll()
	bad := statementtest.Values("expenses")
	bad.Set("housing.rates", "-1")
	c.WantPage(c.Post("expenses", bad), http.StatusUnprocessableEntity)
	page = c.WantPage(c.Sign(), http.StatusUnprocessableEntity)
	harness.Shows(t, page, "Some sections aren’t finished")
	c.Answer("expenses")
	harness.Shows(t, c.WantPage(c.Get("declaration"), http.StatusOK), `name="accepted"`)
	page = c.WantPage(c.Post("declaration", url.Values{"full_name": {"Zoë"}}), http.StatusUnprocessableEntity)
	harness.Shows(t, page, "Tick the box to accept the declaration", `value="Zoë"`)
	page = c.WantPage(c.Post("declaration", url.Values{"accepted": {"true"}, "full_name": {" "}}), http.StatusUnprocessableEntity)
	harness.Shows(t, page, "Enter your full name to sign", "checked")
	if got := c.Status(); got != "in_progress" {
		t.Fatalf("status = %s, want in_progress", got)
	}
	c.WantRedirect(c.Sign())
}

// TestOddBodies sends what no browser does; none is the server's fault.
func TestOddBodies(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
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
		r := httptest.NewRequest(http.MethodPost, c.Path("personal_details"), strings.NewReader(test.body))
		r.Header.Set("Content-Type", test.kind)
		if test.kind == "" {
			r.Header.Del("Content-Type")
		}
		if got := c.Send(r); got.Code != test.status {
			t.Errorf("%s: answered %d, want %d", test.name, got.Code, test.status)
		}
	}
	for _, section := range []string{"income", "assets", "liabilities", "expenses"} {
		values := url.Values{"vehicles.0.description": {"\xff\x00"}, "employment_income.bonuses": {"\x00"}, "housing.rates": {"\xff"}, "credit_cards.0.issuer": {"\x00"}}
		c.WantPage(c.Post(section, values), http.StatusUnprocessableEntity)
		c.WantPage(c.Get(section), http.StatusOK)
	}
}
