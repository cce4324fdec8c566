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
	"candor/internal/testkit/page"
)

// TestWholeFormByPlainPosts fills everything as a script would (D47) and
// compares what the partner gets, to the cent.
func TestWholeFormByPlainPosts(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	page := c.WantPage(c.Get(""), http.StatusOK)
	page.Shows("Lender & Sons", "Zoë O'Brien", "20 December 2026, 2:04 pm AEDT", "Start")

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
	check.Shows("Zoë Margaret O'Brien", "27 March 1985", "$1,026,405.29", "$576,165.82", "$450,239.47", "$11,439.32", "$6,995.25",
		"$4,444.07",
		"Payslip.pdf", statement.DeclarationText)
	if next = c.WantRedirect(c.Sign()); next != "" {
		t.Fatalf("sent on to %q after signing, want the hub's address", next)
	}
	c.WantPage(c.Get(""), http.StatusOK).Shows("Your statement has been sent", "LOAN-417")

	data, err := c.Service.Sessions.Data(t.Context(), c.TestScope(), c.ID, harness.Operator)
	c.OK(err)
	want := statementtest.Full()
	want.Documents = data.Statement.Documents
	want.Declaration.SignedAt = c.Clock.Now()
	if got, want := toJSON(t, data.Statement), toJSON(t, want); got != want {
		t.Errorf("data =\n%s\nwant\n%s", got, want)
	}
	if got := data.Statement.Documents; len(got) != 1 || got[0].FileName != "Payslip.pdf" ||
		got[0].ContentType != "application/pdf" {
		t.Errorf("documents = %+v, want Payslip.pdf", got)
	}
	wantSum := statement.Summary{TotalAssets: 102640529, TotalLiabilities: 57616582, NetWorth: 45023947,
		TotalMonthlyIncome: 1143932, TotalMonthlyExpenses: 699525, MonthlySurplus: 444407, TotalMonthlyRepayments: 473515,
		RepaymentsLeft: 148025}
	if got := data.Statement.Summary(); got != wantSum {
		t.Errorf("summary = %+v, want %+v", got, wantSum)
	}
	wantStory := []string{"accessed", "section_completed personal_details 1", "section_completed income 2",
		"section_completed assets 3",
		"section_completed liabilities 4", "section_completed expenses 5", "section_completed documents 6",
		"section_completed declaration 7", "completed"}
	if got := c.Events(); !slices.Equal(got, wantStory) {
		t.Errorf("events = %q, want %q", got, wantStory)
	}
}

func toJSON(t testing.TB, v any) string {
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
	page.Shows("There is a problem")
	page.WantField("employment_income.gross_salary", "lots")
	if !strings.HasPrefix(page.Title(), "Error: Income") {
		t.Errorf("the window's title is %q", page.Title())
	}
	if got, want := c.Events(), []string{"accessed", "section_completed income 1"}; !slices.Equal(got, want) {
		t.Errorf("events = %q, want %q", got, want)
	}
	session, err := c.Service.Sessions.Get(t.Context(), c.TestScope(), c.ID)
	c.OK(err)
	if session.SectionsCompleted != 1 {
		t.Errorf("sections completed = %d, want 1: an edit never lowers it", session.SectionsCompleted)
	}
	c.WantPage(c.Get("income"), http.StatusOK).WantField("employment_income.gross_salary", "lots")
	hub := c.WantPage(c.Get(""), http.StatusOK)
	hub.Shows("1 of 7 sections completed", "Changes to finish", "Continue with Personal details")
	hub.Hides("In progress")
	c.Answer("income")
	hub = c.WantPage(c.Get(""), http.StatusOK)
	hub.Shows("1 of 7 sections completed", "Completed")
	hub.Hides("Changes to finish")
}

// TestCheckPageShowsNoRefusedAnswers: what was refused is worth nothing to read
// through, and $0.00 in its place would be signed for.
func TestCheckPageShowsNoRefusedAnswers(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	c.AnswerAll()
	whole := c.WantPage(c.Get("declaration"), http.StatusOK)
	whole.Shows("$98,750.00", "$11,439.32", "$4,444.07", "Sign and submit")
	whole.Hides("Not finished", "$0.00")
	bad := statementtest.Values("income")
	bad.Set("employment_income.gross_salary", "lots")
	c.WantPage(c.Post("income", bad), http.StatusUnprocessableEntity)
	page := c.WantPage(c.Get("declaration"), http.StatusOK)
	page.Shows("Some sections aren’t finished", "$1,026,405.29", "$6,995.25")
	page.Hides("$0.00", "lots", "$98,750.00", "$11,439.32", "$4,444.07").Lacks("accepted")
	if got := strings.Count(page.Text(), "Not finished"); got != 3 {
		t.Errorf("%d times Not finished, want 3: the section, the monthly income and the surplus", got)
	}
	c.Answer("income")
	if got := c.WantPage(c.Get("declaration"), http.StatusOK); got.Source != whole.Source {
		t.Error("the check page isn't as it was before the refused edit")
	}
}

// TestCheckPageFoldsNothing names what is 0 or not there in a line for each
// group, so that what is there can be read.
func TestCheckPageFoldsNothing(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	c.AnswerAll()
	c.WantRedirect(c.Post("expenses", url.Values{"living.groceries": {"900"}, "living.medical": {"0"}}))
	c.WantRedirect(c.Post("assets", url.Values{"vehicles.0.description": {"Mazda"}, "vehicles.0.value": {"5"}}))
	page := c.WantPage(c.Get("declaration"), http.StatusOK).Shows(
		"None: clothing, health insurance, phone and internet, children, entertainment",
		"None: housing, transport, other costs", "None: property, bank accounts, superannuation, investments",
	)
	for _, label := range []string{"Clothing", "Car loan"} {
		if strings.Contains(page.Text(), label) {
			t.Errorf("%s has a line of its own", label)
		}
	}
	if n := strings.Count(page.Text(), "None: property"); n != 1 {
		t.Errorf("%d lines name the property", n)
	}
	if got := page.Fact("Groceries"); got != "$900.00 monthly" {
		t.Errorf("groceries %q", got)
	}
}

// TestTypedZeroComesBack keeps a typed 0 apart from an empty input, on every
// way back to the form, and gives the partner the number 0 for both (D19).
func TestTypedZeroComesBack(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	c.AnswerAll()
	check := func(page *page.Page, typed, empty string) {
		t.Helper()
		page.WantField(typed, "0")
		page.WantField(empty, "")
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
	c.WantPage(c.Get("declaration"), http.StatusOK).Shows("Current value $1,150,000.00 × 0% $0.00")

	c.WantRedirect(c.Sign())
	data, err := c.Service.Sessions.Data(t.Context(), c.TestScope(), c.ID, harness.Operator)
	c.OK(err)
	text, err := json.Marshal(data.Statement)
	c.OK(err)
	for _, want := range []string{`"bonuses":0.00,`, `"allowances":0}`, `"value":0.00,`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the data lack %s", want)
		}
	}
}

func TestInvalidAnswersAreShownAgainAndKept(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	values := statementtest.Values("personal_details")
	values.Set("date_of_birth.month", "13")
	values.Del("phone")
	values.Set("occupation", "Welder & fitter")
	page := c.WantPage(c.Post("personal_details", values), http.StatusUnprocessableEntity)
	if got := page.Errors(); len(got) != 2 || got["date_of_birth.day"] == "" || got["phone"] == "" {
		t.Errorf("errors %q, want those of the date of birth and the phone", got)
	}
	for _, name := range []string{"date_of_birth.month", "phone"} {
		if !page.Field(name).Invalid {
			t.Errorf("%s isn't marked as invalid", name)
		}
	}
	kept := c.WantPage(c.Get("personal_details"), http.StatusOK)
	for name, want := range map[string]string{"date_of_birth.month": "13", "occupation": "Welder & fitter"} {
		page.WantField(name, want)
		kept.WantField(name, want)
	}
	if got, want := c.Events(), []string{"accessed"}; !slices.Equal(got, want) {
		t.Errorf("events = %q, want %q", got, want)
	}
}

func TestListItemsComeAndGo(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	page := c.WantPage(c.Post("assets", url.Values{"action": {"add:vehicles"}}), http.StatusOK)
	page.Shows("Vehicle 1 added")
	if !page.Field("vehicles.0.description").Focused {
		t.Error("the new vehicle doesn't have the focus")
	}
	values := url.Values{"vehicles.0.description": {"Mazda"}, "vehicles.0.value": {"tw0"}, "action": {"add:vehicles"}}
	page = c.WantPage(c.Post("assets", values), http.StatusOK)
	kept := c.WantPage(c.Get("assets"), http.StatusOK)
	for name, want := range map[string]string{"vehicles.0.description": "Mazda", "vehicles.0.value": "tw0",
		"vehicles.1.description": ""} {
		page.WantField(name, want)
		kept.WantField(name, want)
	}

	values.Set("vehicles.1.description", "Trailer")
	values.Set("action", "remove:vehicles.0")
	page = c.WantPage(c.Post("assets", values), http.StatusOK)
	page.Shows("Vehicle 1 removed").Hides("Mazda").Lacks("vehicles.1.description")
	page.WantField("vehicles.0.description", "Trailer")
	page = c.WantPage(c.Post("assets", url.Values{"vehicles.0.description": {"Trailer"}, "action": {"remove:vehicles.0"}}),
		http.StatusOK)
	page.Hides("Trailer").WantField("Vehicles", "").WantField("vehicles.0.description", "")
	c.WantPage(c.Get("assets"), http.StatusOK).Hides("Trailer").WantField("Vehicles", "").WantField("vehicles.0.description", "")
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
	c.WantPage(c.Post("assets", values), http.StatusOK).Offers("investments.49.description").Lacks("investments.50.description",
		"Add another investment")
	values.Set("investments.50.description", "Fund 50")
	values.Del("action")
	c.WantPage(c.Post("assets", values), http.StatusUnprocessableEntity).Shows("enter at most 50")
	values.Del("investments.50.description")
	c.WantRedirect(c.Post("assets", values))
}

func TestLiabilitiesStartWithWhatIsKnown(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	c.WantPage(c.Get("liabilities"), http.StatusOK).WantField("Mortgages", "").WantField("mortgages.0.balance", "")
	c.Answer("assets")
	page := c.WantPage(c.Get("liabilities"), http.StatusOK)
	page.Shows("306,200.38", "241,666.67", "Your part.", "Car loan, Toyota Corolla", "We added your part of each loan").
		WantField("Mortgages", "mortgages")
	c.WantPage(c.Post("liabilities", url.Values{"mortgages.0.balance": {"1"}, "action": {"remove:mortgages.0"}}), http.StatusOK)
	page = c.WantPage(c.Get("liabilities"), http.StatusOK)
	page.WantField("Mortgages", "").WantField("mortgages.0.balance", "").Hides("Car loan, Toyota Corolla",
		"We added your part of the loans")
	page = c.WantPage(c.Get("personal_details"), http.StatusOK)
	page.WantField("full_name", "Zoë O'Brien")
	page.WantField("email", "jo@customer.example")
}

func TestSaveForLater(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	if next := c.WantRedirect(c.Post("income", url.Values{"employment_income.bonuses": {"12"}, "action": {"save"}})); next != "" {
		t.Errorf("sent on to %q, want the hub", next)
	}
	page := c.WantPage(c.Get(""), http.StatusOK)
	page.Shows("In progress", "0 of 7", "Your answers are saved")
	if got := c.WantPage(c.Get(""), http.StatusOK).Status(); got != "" {
		t.Errorf("the next page announces %q again", got)
	}
	c.WantPage(c.Get("income"), http.StatusOK).WantField("employment_income.bonuses", "12")
	c.Answer("income")
	c.WantRedirect(c.Post("income", url.Values{"employment_income.bonuses": {"13"}, "action": {"save"}}))
	c.WantPage(c.Get(""), http.StatusOK).Shows("1 of 7")
	if got, want := c.Events(), []string{"accessed", "section_completed income 1"}; !slices.Equal(got, want) {
		t.Errorf("events = %q, want %q", got, want)
	}
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
	page.LeadsTo(c.Path("assets?return=declaration")).Offers("Save and return to check")
	bad := url.Values{"vehicles.0.value": {"1"}}
	c.WantPage(c.Post("assets?return=declaration", bad), http.StatusUnprocessableEntity).LeadsTo(c.Path("assets?return=declaration"))
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
	page.Shows("Some sections aren’t finished").LeadsTo(c.Path("documents"), c.Path("income")).Lacks("accepted")
	c.WantPage(c.Sign(), http.StatusUnprocessableEntity).Shows("Some sections aren’t finished")
	c.AnswerAll()
	bad := statementtest.Values("expenses")
	bad.Set("housing.rates", "-1")
	c.WantPage(c.Post("expenses", bad), http.StatusUnprocessableEntity)
	page = c.WantPage(c.Sign(), http.StatusUnprocessableEntity)
	page.Shows("Some sections aren’t finished")
	c.Answer("expenses")
	c.WantPage(c.Get("declaration"), http.StatusOK).Offers("accepted")
	page = c.WantPage(c.Post("declaration", url.Values{"full_name": {"Zoë"}}), http.StatusUnprocessableEntity)
	page.Shows("Tick the box to accept the declaration")
	page.WantField("full_name", "Zoë")
	page = c.WantPage(c.Post("declaration", url.Values{"accepted": {"true"}, "full_name": {" "}}), http.StatusUnprocessableEntity)
	page.Shows("Enter your full name to sign")
	page.WantField("accepted", "true")
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
		{"NUL in a list", "application/x-www-form-urlencoded", "action=save&full_name=a%00b&address.state=%00&date_of_birth.day=%00",
			http.StatusSeeOther},
		{"NUL as a name", "application/x-www-form-urlencoded", "%00=1&vehicles.%00.value=2", http.StatusUnprocessableEntity},
		{"broken escapes", "application/x-www-form-urlencoded", "full_name=%zz", http.StatusBadRequest},
		{"JSON", "application/json", `{"full_name":"a"}`, http.StatusUnsupportedMediaType},
		{"no type", "", "full_name=a", http.StatusUnsupportedMediaType},
		{"multipart without a boundary", "multipart/form-data", "full_name=a", http.StatusBadRequest},
		{"multipart", "multipart/form-data; boundary=x",
			"--x\r\nContent-Disposition: form-data; name=\"full_name\"\r\n\r\nJo\r\n--x--\r\n", http.StatusUnprocessableEntity},
		{"too long", "application/x-www-form-urlencoded", "full_name=" + strings.Repeat("a", 4<<20), http.StatusRequestEntityTooLarge},
		{"too many fields", "application/x-www-form-urlencoded", strings.Repeat("a&", 100_000), http.StatusBadRequest},
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
		values := url.Values{"vehicles.0.description": {"\xff\x00"}, "employment_income.bonuses": {"\x00"}, "housing.rates": {"\xff"},
			"credit_cards.0.issuer": {"\x00"}}
		c.WantPage(c.Post(section, values), http.StatusUnprocessableEntity)
		c.WantPage(c.Get(section), http.StatusOK)
	}
}
