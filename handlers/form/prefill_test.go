package form_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"candor/internal/domain"
	"candor/internal/statement/statementtest"
	"candor/internal/testkit/harness"
)

// given creates a session with a prefill by the API, for its customer.
func given(h *harness.Harness, prefill string) *harness.Customer {
	h.Helper()
	request := body(`, "customer_name": "J Citizen", "prefill": ` + prefill)
	return customerOf(h, h.Post("/sessions", request).WantStatus(http.StatusCreated).Object())
}

const knownAnswers = `{
	"personal_details": {"full_name": "Jo Citizen", "date_of_birth": "1985-03-27", "address": {"state": "NSW", "suburb": null}},
	"income": {"employment_income": {"gross_salary": "85000.50", "bonuses": 0}, "total_gross_income": 1},
	"assets": {"vehicles": [{"description": "Toyota Corolla", "value": 15000}, {"description": "Box trailer"}]},
	"liabilities": {"credit_cards": [{"issuer": "Amex", "limit": 10000}]},
	"expenses": {"living": {"groceries": 900}}
}`

// fromUs is the notice above answers that the partner gave.
const fromUs = "Lender & Sons gave us these answers"

// TestPrefillIsOffered checks that the form shows what the partner gave, says
// so, and takes none of it for the customer's answer (D58).
func TestPrefillIsOffered(t *testing.T) {
	t.Parallel()
	c := given(harness.New(t), knownAnswers)
	c.WantPage(c.Get(""), http.StatusOK).Hides("Completed", "In progress")
	c.WantPage(c.Get("personal_details"), http.StatusOK).Shows(fromUs).WantField("full_name", "Jo Citizen").
		WantField("date_of_birth.year", "1985").WantField("address.state", "NSW").WantField("address.suburb", "").
		WantField("email", "jo@customer.example")
	c.WantPage(c.Get("income"), http.StatusOK).Shows(fromUs).WantField("employment_income.gross_salary", "85,000.50").
		WantField("employment_income.gross_salary.period", "year").WantField("employment_income.bonuses", "").
		WantField("employment_income.allowances", "")
	page := c.WantPage(c.Get("assets"), http.StatusOK).Shows(fromUs).WantField("vehicles.0.value", "15,000").
		WantField("vehicles.1.description", "Box trailer").WantField("vehicles.1.value", "")
	if ticked := page.Field("has").Values; !slices.Equal(ticked, []string{"vehicles"}) {
		t.Errorf("ticked %q, want what was given", ticked)
	}
	c.WantPage(c.Get("expenses"), http.StatusOK).Shows(fromUs).WantField("living.groceries", "900")
	c.WantPage(c.Get(""), http.StatusOK).Hides("Completed", "In progress")
	c.WantPage(c.Get("declaration"), http.StatusOK).Hides("85,000.50")

	// What the customer types stays, though the section isn't complete.
	c.WantRedirect(c.Post("expenses", url.Values{"living.groceries": {""}, "living.medical": {"50"}, "action": {"save"}}))
	c.WantPage(c.Get("expenses"), http.StatusOK).WantField("living.groceries", "").WantField("living.medical", "50").Hides(fromUs)
	c.WantPage(c.Post("assets", url.Values{"vehicles.0.value": {"lots"}}), http.StatusUnprocessableEntity)
	c.WantPage(c.Get("assets"), http.StatusOK).WantField("vehicles.0.value", "lots").Hides("Box trailer", fromUs)
	c.WantRedirect(c.Post("assets", url.Values{"vehicles.0.description": {"Bike"}, "vehicles.0.value": {"100"}}))
	c.WantPage(c.Get("assets"), http.StatusOK).WantField("vehicles.0.value", "100").Hides("Toyota", "Box trailer")
}

// TestGivenPeriodIsAskedAbout types a fortnight's pay over the given one, whose period was
// that of a year, without script.
func TestGivenPeriodIsAskedAbout(t *testing.T) {
	t.Parallel()
	c := given(harness.New(t), knownAnswers)
	period := c.WantPage(c.Get("income"), http.StatusOK).Field("employment_income.gross_salary.period").Value
	tell(c, map[string]url.Values{"income": {"employment_income.gross_salary": {"1,640"},
		"employment_income.gross_salary.period": {period}}})
	c.WantPage(c.Get("declaration"), http.StatusOK).Shows("Gross salary: $1,640.00 a year. It was filled in as $85,000.50.")
}

// A balance of 0 that the partner gave is shown as one, not as a blank that the page asks for.
func TestGivenZeroIsConfirmedByATap(t *testing.T) {
	t.Parallel()
	c := given(harness.New(t), `{"liabilities": {"credit_cards": [{"issuer": "Amex", "limit": 10000, "balance": 0}]}}`)
	c.Answer("personal_details")
	c.WantPage(c.Get("liabilities"), http.StatusOK).WantField("credit_cards.0.balance", "0")
	oneTap(c, "liabilities")
}

// TestPrefillOnTwoDevices checks that what the partner gave overwrites nothing
// that was typed, however late a device with the given values saves.
func TestPrefillOnTwoDevices(t *testing.T) {
	t.Parallel()
	for _, action := range []string{"autosave", "save"} {
		c := given(harness.New(t),
			`{"personal_details": {"occupation": "Baker", "employer": "Bread Ltd"}, "assets": {"vehicles": [{"description": "Toyota", "value": 15000}]}}`)
		one, two := load(c, "personal_details"), load(c, "personal_details")
		one.press("autosave", http.StatusOK, "occupation", "Nurse")
		two.values.Set("phone", "0400 000 001")
		two.values.Set("action", action)
		two.Post("personal_details", two.values)
		stored(c, "personal_details", "occupation", "Nurse", "employer", "Bread Ltd", "phone", "0400 000 001")
		one.press("autosave", http.StatusOK, "employer", "")
		two.press("autosave", http.StatusOK, "address.suburb", "Newtown").Lacks("another device or tab saved a different answer")
		stored(c, "personal_details", "occupation", "Nurse", "employer", "", "address.suburb", "Newtown")

		one, two = load(c, "assets"), load(c, "assets")
		one.press("autosave", http.StatusOK, "vehicles.0.description", "Ute", "vehicles.0.value", "9")
		two.press("autosave", http.StatusOK, "bank_accounts.0.institution", "Red Bank").Lacks("Show both")
		stored(c, "assets", "vehicles.0.description", "Ute", "vehicles.0.value", "9", "bank_accounts.0.institution", "Red Bank")
	}
}

// TestPrefillBesideSuggestions checks that a list that the partner gave replaces
// what follows from the assets, and that other lists stay.
func TestPrefillBesideSuggestions(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	c := given(h, `{"liabilities": {"mortgages": [{"lender": "Westpac"}]}}`)
	c.Answer("assets")
	c.WantPage(c.Get("liabilities"), http.StatusOK).Shows(fromUs).WantField("mortgages.0.lender", "Westpac").
		WantField("mortgages.0.balance", "").
		WantField("personal_loans.0.balance", "8,240.60").Hides("mortgages.1.")
	c = given(h, `{"expenses": {"transport": {"car_loan": 1}}}`)
	c.Answer("assets")
	c.Answer("liabilities")
	c.WantPage(c.Get("expenses"), http.StatusOK).Shows(fromUs).WantField("transport.car_loan", "1").
		WantField("housing.mortgage_rent", "3,630.25")
	c = given(h, `{}`)
	c.WantPage(c.Get("assets"), http.StatusOK).Hides(fromUs)
	for amounts, shown := range map[string]bool{
		`"living": {"groceries": 900}`:                               false, // a couple is asked for the whole
		`"living": {"groceries": 900}, "transport": {"car_loan": 1}`: true,
		`"living": {"groceries": 900}, "transport": {"car_loan": 0}`: false,
	} {
		c = given(h, `{"expenses": {`+amounts+`}}`)
		livesAs(c, "couple")
		page := c.WantPage(c.Get("expenses"), http.StatusOK).WantField("living.groceries", "")
		if says := strings.Contains(page.Text(), fromUs); says != shown {
			t.Errorf("%s: the page says that these answers were given: %t", amounts, says)
		}
	}
}

// TestPrefillConfirmedOrChanged submits a form in which the customer kept some
// of what was given, and reads the data.
func TestPrefillConfirmedOrChanged(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	c := given(h, knownAnswers)
	c.AnswerAll()
	income := statementtest.Values("income") // as two payments, and nothing for bonuses
	income.Set("employment_income.gross_salary", "42,500.25")
	income.Set("employment_income.gross_salary.2", "42,500.25")
	income.Del("employment_income.bonuses")
	c.WantRedirect(c.Post("income", income))
	c.WantRedirect(c.Post("assets", url.Values{"vehicles.0.description": {"Toyota Corolla "}, "vehicles.0.value": {"$15,000"}}))
	c.WantRedirect(c.Sign())
	data := h.Get("/sessions/" + c.ID.String() + "/data").WantStatus(http.StatusOK).Object()["data"].(map[string]any)
	want := map[string]any{
		"personal_details.full_name": "changed", "personal_details.date_of_birth": "confirmed",
		"personal_details.address.state":        "confirmed",
		"income.employment_income.gross_salary": "confirmed", "income.employment_income.bonuses": "confirmed",
		"assets.vehicles.0.description": "confirmed", "assets.vehicles.0.value": "confirmed",
		"assets.vehicles.1.description":     "changed",
		"liabilities.credit_cards.0.issuer": "changed", "liabilities.credit_cards.0.limit": "confirmed",
		"expenses.living.groceries": "confirmed",
	}
	if got := data["prefilled"].(map[string]any); !maps.Equal(got, want) {
		t.Errorf("prefilled %v,\nwant %v", got, want)
	}

	plain := h.NewCustomer()
	plain.AnswerAll()
	plain.WantRedirect(plain.Sign())
	data = h.Get("/sessions/" + plain.ID.String() + "/data").WantStatus(http.StatusOK).Object()["data"].(map[string]any)
	if got := data["prefilled"].(map[string]any); len(got) != 0 {
		t.Errorf("without prefill: prefilled %v", got)
	}
}

// TestPrefillIsSealedAndErased looks for what was given where it must not be:
// in the database in clear, in events and logs, and anywhere after an erasure.
func TestPrefillIsSealedAndErased(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	c := given(h,
		`{"personal_details": {"occupation": "Lion tamer"}, "assets": {"vehicles": [{"description": "Zeppelin", "value": 734291}]}}`)
	c.WantPage(c.Get("assets"), http.StatusOK).WantField("vehicles.0.value", "734,291")
	for table, all := range h.Stored() {
		for _, text := range []string{"Lion tamer", "Zeppelin", "734291"} {
			if strings.Contains(all, text) || strings.Contains(all, fmt.Sprintf("%x", text)) {
				t.Errorf("%s has %q in clear", table, text)
			}
		}
	}
	left := func() int { return harness.QueryOne[int](h, rowsOfSession, c.ID) }
	if left() != 3 {
		t.Fatalf("%d rows of two sections and a key", left())
	}
	h.OK(h.Service.Sessions.Erase(h.Context(), h.TestScope(), c.ID, []domain.SessionID{c.ID}, "jo@customer.example",
		harness.Operator))
	if left() != 0 {
		t.Errorf("%d rows are left of an erased session", left())
	}
	c.WantPage(c.Get("assets"), http.StatusGone).Hides("Zeppelin", "734")
	receipt, err := h.Service.Sessions.Erasure(h.Context(), h.TestScope(), c.ID)
	h.OK(err)
	if receipt.Sections != 2 {
		t.Errorf("the receipt has %d sections, want 2", receipt.Sections)
	}
}

// TestDataIsPrefill gives a submitted statement's sections to the next session:
// the customer confirms them with three clicks a section.
func TestDataIsPrefill(t *testing.T) {
	t.Parallel()
	for _, lives := range []string{"single", "couple"} {
		t.Run(lives, func(t *testing.T) { t.Parallel(); dataIsPrefill(t, lives) })
	}
}

func dataIsPrefill(t *testing.T, lives string) {
	h := harness.New(t)
	answer := func(c *harness.Customer) {
		c.AnswerAll()
		livesAs(c, lives)
		expenses := statementtest.Values("expenses")
		if lives == "couple" {
			expenses.Set("share", "50")
		}
		c.WantRedirect(c.Post("expenses", expenses))
		c.WantRedirect(c.Sign())
	}
	first := h.NewCustomer()
	answer(first)
	data := h.Get("/sessions/" + first.ID.String() + "/data").WantStatus(http.StatusOK).Object()["data"].(map[string]any)
	maps.DeleteFunc(data, func(name string, _ any) bool {
		return slices.Contains([]string{"summary", "entered", "prefilled", "confirmations", "documents", "declaration"}, name)
	})
	raw, err := json.Marshal(data)
	h.OK(err)
	second := given(h, string(raw))
	second.WantPage(second.Get(""), http.StatusOK)
	answer(second)
	got := h.Get("/sessions/" + second.ID.String() + "/data").WantStatus(http.StatusOK).
		Object()["data"].(map[string]any)["prefilled"].(map[string]any)
	if len(got) < 60 {
		t.Errorf("%d answers were given", len(got))
	}
	for path, result := range got {
		if result != "confirmed" {
			t.Errorf("%s is %v", path, result)
		}
	}
}
