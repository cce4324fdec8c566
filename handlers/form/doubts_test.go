package form_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"candor/internal/domain"
	"candor/internal/statement"
	"candor/internal/statement/statementtest"
	"candor/internal/testkit/browsertest"
	"candor/internal/testkit/harness"
	"candor/internal/testkit/page"
)

// even are changes of the full example after which nothing is asked about.
var even = map[string]url.Values{
	"assets":   {"real_property.1.current_value": {"500,000"}, "vehicles.1.amount_owing": {""}},
	"expenses": {"housing.mortgage_rent": {"3,630.25"}},
}

// tell answers the sections with answers that aren't odd, changed by what is
// given for some of them. {"has": "none"} replaces a section's.
func tell(c *harness.Customer, changes map[string]url.Values) {
	c.Helper()
	c.WantPage(c.Get(""), http.StatusOK)
	for _, name := range statement.SectionNames[:6] {
		values := statementtest.Values(name)
		maps.Copy(values, even[name])
		maps.Copy(values, changes[name])
		if values.Has("has") {
			values = changes[name]
		}
		c.WantRedirect(c.Post(name, values))
	}
}

// confirmations are the codes and paths of data.confirmations.
func confirmations(c *harness.Customer) []string {
	c.Helper()
	response := c.Harness.Get("/sessions/" + c.ID.String() + "/data").WantStatus(http.StatusOK)
	var data struct {
		Data struct {
			Confirmations []struct{ Code, Path, Text string } `json:"confirmations"`
		} `json:"data"`
	}
	c.OK(json.Unmarshal(response.Body.Bytes(), &data))
	if data.Data.Confirmations == nil {
		c.Error("data has no array of confirmations")
	}
	out := []string{}
	for _, one := range data.Data.Confirmations {
		if one.Text == "" {
			c.Errorf("%s has no text", one.Code)
		}
		out = append(out, one.Code+" "+one.Path)
	}
	return out
}

// asked are the odd answers that the check page asks about, by the keys of their
// ticks.
func asked(c *harness.Customer) []string {
	c.Helper()
	page := c.WantPage(c.Get("declaration"), http.StatusOK)
	if !strings.Contains(page.Text(), "Is this right?") {
		return nil
	}
	return page.Field("right").Choices
}

// signing is what the check page posts with these ticks.
func signing(ticked ...string) url.Values {
	values := statementtest.Values(statement.DeclarationSection)
	values["asked"], values["right"] = []string{"true"}, ticked
	return values
}

// ticked are the odd answers that are ticked on the check page.
func ticked(c *harness.Customer) (out []string) {
	c.Helper()
	for _, tick := range c.WantPage(c.Get("declaration"), http.StatusOK).All("input") {
		if tick.Attr("name") == "right" && tick.Has("checked") {
			out = append(out, tick.Attr("value"))
		}
	}
	return out
}

// TestTicksOfOddAnswersAreKept leaves the check page and comes back to it.
func TestTicksOfOddAnswersAreKept(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	tell(c, map[string]url.Values{"personal_details": {"date_of_birth.year": {"2010"}, "address.postcode": {"3000"}}})
	odd := asked(c)
	if len(odd) != 2 || len(ticked(c)) != 0 {
		t.Fatalf("asked about %q, of which are ticked %q", odd, ticked(c))
	}
	post := func(status int, action string, right ...string) {
		values := url.Values{"asked": {"true"}, "right": right, "action": {action}}
		if got := c.Post("declaration", values); got.Code != status {
			t.Errorf("%s %q answered %d, want %d", action, right, got.Code, status)
		}
	}
	post(http.StatusNoContent, "confirm", odd[0], odd[1], "age|other")
	if got := ticked(c); !slices.Equal(got, odd) {
		t.Errorf("ticked are %q, want %q", got, odd)
	}
	post(http.StatusNoContent, "confirm", odd[1])
	if got := ticked(c); !slices.Equal(got, odd[1:]) {
		t.Errorf("ticked are %q, want %q", got, odd[1:])
	}
	post(http.StatusUnprocessableEntity, "continue", odd[0]) // without script
	if got := ticked(c); !slices.Equal(got, odd[:1]) {
		t.Errorf("ticked are %q, want %q", got, odd[:1])
	}
	if got := c.WantPage(c.Get(""), http.StatusOK).Text(); strings.Contains(got, "Declaration In progress") {
		t.Error("a tick begins the declaration")
	}
	values := statementtest.Values("personal_details")
	values.Set("date_of_birth.year", "2009")
	c.WantRedirect(c.Post("personal_details", values))
	if got := ticked(c); len(got) != 0 {
		t.Errorf("ticked are %q, but the age is another", got)
	}
}

// TestBrowserTickSurvivesChange leaves the page right after the tick.
func TestBrowserTickSurvivesChange(t *testing.T) {
	t.Parallel()
	h, base := harness.Listen(t)
	c := h.NewCustomer()
	tell(c, map[string]url.Values{"personal_details": {"date_of_birth.year": {"2010"}}})
	tab := browsertest.New(t, browsertest.Options{})
	arrive(tab, base, c, "declaration")
	tab.Slow()
	browsertest.Eval[bool](tab,
		`(document.getElementById("right-1").click(), document.getElementById("right-1-change-1").click(), true)`)
	tab.WaitForURL("/personal_details?return=declaration#date_of_birth.day")
	tab.Click(".actions .button-primary")
	tab.WaitFor("#right-1:checked")
}

// TestOddAnswersAreAskedAbout makes each answer odd by itself.
func TestOddAnswersAreAskedAbout(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	none := url.Values{"has": {"none"}}
	for name, tt := range map[string]struct {
		changes map[string]url.Values
		asked   string // code and path
		shows   string
		field   string // to which "Change" leads
	}{
		"young": {map[string]url.Values{"personal_details": {"date_of_birth.year": {"2010"}}}, "age personal_details.date_of_birth",
			"You are 16 years old.", "personal_details?return=declaration#date_of_birth.day"},
		"old": {map[string]url.Values{"personal_details": {"date_of_birth.year": {"1920"}}}, "age personal_details.date_of_birth",
			"You are 106 years old.", "personal_details?return=declaration#date_of_birth.day"},
		"state": {map[string]url.Values{"personal_details": {"address.state": {"TAS"}}},
			"state_postcode personal_details.address.state", "You chose TAS, but postcode",
			"personal_details?return=declaration#address.state"},
		"Wellington in Western Australia": {map[string]url.Values{"personal_details": {"address.suburb": {"Wellington"},
			"address.postcode": {"6011"}, "address.state": {""}, "phone": {"+64 4 472 3000"}}},
			"phone_country personal_details.address.country",
			"Your phone number is +64 4 472 3000. Your address is in Wellington, WA, Australia.",
			"personal_details?return=declaration#address.country"},
		"income": {map[string]url.Values{"income": none}, "no_income income.total_gross_income", "You have no income.",
			"income?return=declaration#employment_income"},
		"rent": {map[string]url.Values{"expenses": {"housing.mortgage_rent": {"11,439.33"}}},
			"rent_above_income expenses.housing.mortgage_rent",
			"Your mortgage or rent is $11,439.33 a month. Your income before tax is $11,439.32 a month.",
			"expenses?return=declaration#housing.mortgage_rent"},
		"mortgage": {map[string]url.Values{"assets": {"real_property.0.current_value": {"100"}}},
			"mortgage_above_value assets.real_property.0.mortgage_owing", "It is worth $100.00.",
			"assets?return=declaration#real_property.0.mortgage_owing"},
		"share of a sole owner": {map[string]url.Values{"assets": {"real_property.0.ownership": {"sole"}}},
			"sole_owner_share assets.real_property.0.ownership_percentage",
			"You are the sole owner of Unit 4, 18 Wattle Street, Marrickville NSW 2204. Your share is 50%.",
			"assets?return=declaration#real_property.0.ownership_percentage"},
		"a removed property": {map[string]url.Values{"assets": {"has": {"vehicles"}, "vehicles.0.description": {"Mazda"},
			"vehicles.0.value": {"9,000"}}, "liabilities": {"has": {"mortgages"}, "mortgages.0.lender": {"Westpac"},
			"mortgages.0.balance": {"300,000"}, "mortgages.0.monthly_repayment": {"2,150"},
			"mortgages.0.monthly_repayment.period": {"month"}}},
			"mortgage_without_property liabilities.mortgages.0.balance", "You have a mortgage of $300,000.00 (Westpac) and no property.",
			"liabilities?return=declaration#mortgages.0.balance"},
		"repayment": {map[string]url.Values{"liabilities": {"personal_loans.0.monthly_repayment": {""}}},
			"debt_without_repayment liabilities.personal_loans.0.monthly_repayment",
			"and repay nothing.", "liabilities?return=declaration#personal_loans.0.monthly_repayment"},
		"expenses": {map[string]url.Values{"expenses": {"housing.mortgage_rent": {"3,400.25"}}},
			"repayments_missing expenses.housing.mortgage_rent",
			"You repay $3,630.25 a month on mortgages. Your mortgage or rent is $3,400.25 a month.",
			"expenses?return=declaration#housing.mortgage_rent"},
		"a whole mortgage of half a home": {map[string]url.Values{"liabilities": {"mortgages.0.balance": {"612,400.75"}}},
			"debt_differs liabilities.mortgages.0.balance",
			"You own 50% of Unit 4, 18 Wattle Street, Marrickville NSW 2204. Its mortgage is $612,400.75. In your liabilities it is $612,400.75.",
			"liabilities?return=declaration#mortgages.0.balance"},
		"vehicle": {map[string]url.Values{"assets": {"vehicles.1.description": {"Tractor"}, "vehicles.1.value": {"9000"},
			"vehicles.1.amount_owing": {"4,000"}}},
			"debt_not_listed assets.vehicles.1.amount_owing", "Assets say that you owe $4,000.00 on Tractor. Your liabilities leave it out.",
			"liabilities?return=declaration#offer-assets.vehicles.1.amount_owing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := h.In(t).NewCustomer()
			tell(c, tt.changes)
			keys := asked(c)
			if len(keys) != 1 {
				t.Fatalf("asked about %q, want %s", keys, tt.asked)
			}
			c.WantPage(c.Get("declaration"), http.StatusOK).Shows(tt.shows, "Yes, this is right").WantField("right", "").
				LeadsTo(strings.Split(c.Path(tt.field), "#")[0])
			if !strings.Contains(c.Get("declaration").Body.String(), `href="`+c.Path(tt.field)+`"`) {
				t.Errorf("no link leads to %s", tt.field)
			}

			// Without a tick the page comes back and says which; nothing is signed.
			page := c.WantPage(c.Post("declaration", signing()), http.StatusUnprocessableEntity)
			page.WantError("right-1", tt.shows).WantField("full_name", statementtest.Full().Declaration.FullName).
				WantField("accepted", "true")
			if !page.Field("right").Invalid {
				t.Error("the tick isn't marked")
			}
			// A tick stays if the signature is wrong.
			unsigned := signing(keys...)
			unsigned.Del("full_name")
			c.WantPage(c.Post("declaration", unsigned), http.StatusUnprocessableEntity).WantField("right", keys[0]).
				WantError("full_name", "")

			c.WantRedirect(c.Post("declaration", signing(keys...)))
			if got := confirmations(c); !slices.Equal(got, []string{tt.asked}) {
				t.Errorf("confirmations %q, want %s", got, tt.asked)
			}
			c.WantPage(c.Get("copy"), http.StatusOK).Shows("Confirmed when asked", tt.shows)
		})
	}
}

// signatureKey is the tick of the signature's question on a page.
func signatureKey(p *page.Page) string {
	for _, tick := range p.All("input") {
		if tick.Attr("name") == "right" && strings.HasPrefix(tick.Attr("value"), "signature_name|") {
			return tick.Attr("value")
		}
	}
	return ""
}

// TestAnotherNameIsAskedAbout signs with another name than that of personal details (D79):
// by the page, which asks once, and by a script, which is asked nothing.
func TestAnotherNameIsAskedAbout(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	const duck, question = "Donald Duck", "You are signing as Donald Duck. The statement is for Zoë Margaret O'Brien."
	sign := func(name string, ticked ...string) url.Values {
		values := signing(ticked...)
		values.Set("full_name", name)
		return values
	}
	c := h.In(t).NewCustomer()
	tell(c, nil)
	c.WantPage(c.Get("declaration"), http.StatusOK).Hides("You are signing as")
	first := c.WantPage(c.Post("declaration", sign(duck)), http.StatusUnprocessableEntity)
	first.Shows(question, "Yes, this is right").Hides("There is a problem").WantField("full_name", duck).
		WantField("accepted", "true").WantField("right", "")
	if tick := first.Field("right"); !tick.Focused || !tick.Invalid {
		t.Errorf("the question has the focus %t, is marked %t", tick.Focused, tick.Invalid)
	}
	key := signatureKey(first)
	// A tick for one name isn't one for another.
	again := c.WantPage(c.Post("declaration", sign("Daisy Duck", key)), http.StatusUnprocessableEntity)
	again.Shows("You are signing as Daisy Duck.").WantField("right", "")
	// It stays if something else is wrong, and is said in the summary with that.
	unsigned := sign(duck, key)
	unsigned.Del("accepted")
	c.WantPage(c.Post("declaration", unsigned), http.StatusUnprocessableEntity).WantField("right", key).WantError("accepted", "")
	unsigned = sign(duck)
	unsigned.Del("accepted")
	c.WantPage(c.Post("declaration", unsigned), http.StatusUnprocessableEntity).WantError("right-1", question)
	if got := ticked(c); len(got) != 0 {
		t.Errorf("ticked are %q before anything is signed", got)
	}
	c.WantPage(c.Post("declaration", sign("Donald 🦆")), http.StatusUnprocessableEntity).
		Shows("Your full name has a character we can’t print").Hides("You are signing as", "Tick it if it is right")
	c.WantRedirect(c.Post("declaration", sign(duck, key)))
	if got := confirmations(c); !slices.Equal(got, []string{"signature_name declaration.full_name"}) {
		t.Errorf("confirmations %q", got)
	}
	c.WantPage(c.Get("copy"), http.StatusOK).Shows("Confirmed when asked", question)

	alike := h.In(t).NewCustomer()
	tell(alike, nil)
	alike.WantRedirect(alike.Post("declaration", sign("o’brien zoe")))

	script := h.In(t).NewCustomer()
	script.AnswerAll()
	values := sign(duck)
	values.Del("asked")
	script.WantRedirect(script.Post("declaration", values))
	if got := confirmations(script); len(got) != 0 {
		t.Errorf("confirmations %q of what wasn't asked", got)
	}
}

// TestNothingOddIsAsked signs by the page if there is nothing to ask about.
func TestNothingOddIsAsked(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	tell(c, nil)
	c.WantPage(c.Get("declaration"), http.StatusOK).Hides("Is this right?").WantField("asked", "true")
	c.WantRedirect(c.Post("declaration", signing("no such key")))
	if got := confirmations(c); len(got) != 0 {
		t.Errorf("confirmations %q", got)
	}
	c.WantPage(c.Get("copy"), http.StatusOK).Hides("Confirmed when asked")
}

// TestConfirmationsBelongToAnswers changes an answer in another tab after the
// tick: it is asked again, with its new figures. So is one that has become odd.
func TestConfirmationsBelongToAnswers(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	low := url.Values{"housing.mortgage_rent": {"3,000"}}
	tell(c, map[string]url.Values{"expenses": low})
	old := asked(c)
	c.WantPage(c.Get("declaration"), http.StatusOK).Shows("Repayments not in expenses", "$630.25", "Left after these, before tax")
	lower := statementtest.Values("expenses")
	lower.Set("housing.mortgage_rent", "2,000")
	c.WantRedirect(c.Post("expenses", lower))
	c.WantPage(c.Post("declaration", signing(old...)), http.StatusUnprocessableEntity).WantField("right", "").
		WantError("right-1", "Your mortgage or rent is $2,000.00 a month")
	now := asked(c)
	if slices.Equal(now, old) {
		t.Error("the tick is that of the old answer")
	}
	c.WantRedirect(c.Post("income", url.Values{"has": {"none"}}))
	c.WantPage(c.Post("declaration", signing(now...)), http.StatusUnprocessableEntity).WantError("right-1", "You have no income")
	keys := append(asked(c), "no such key")
	c.WantRedirect(c.Post("declaration", signing(keys...)))
	if got := confirmations(c); !slices.Equal(got, []string{"no_income income.total_gross_income",
		"repayments_missing expenses.housing.mortgage_rent"}) {
		t.Errorf("confirmations %q", got)
	}
}

// TestTickIsOfItsSentence confirms low expenses of a home owner, who then removes the home:
// that there is no rent wasn't asked.
func TestTickIsOfItsSentence(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	none, home := url.Values{"has": {"none"}}, url.Values{"has": {"real_property"}, "real_property.0.description": {"Home"},
		"real_property.0.address": {"4/18 Wattle St"}, "real_property.0.ownership": {"sole"},
		"real_property.0.current_value": {"600,000"}}
	tell(c, map[string]url.Values{"assets": home, "liabilities": none,
		"expenses": {"has": {"living"}, "living.groceries": {"1,000"}, "living.groceries.period": {"month"}}})
	odd := asked(c)
	c.WantPage(c.Get("declaration"), http.StatusOK).Shows("You spend $1,000.00 a month in total.").Hides("You pay no rent.")
	if got := c.Post("declaration", url.Values{"asked": {"true"}, "right": odd, "action": {"confirm"}}); got.Code !=
		http.StatusNoContent || len(ticked(c)) != 1 {
		t.Fatalf("the tick was answered %d, ticked are %q", got.Code, ticked(c))
	}
	c.WantRedirect(c.Post("assets", none))
	c.WantPage(c.Get("declaration"), http.StatusOK).Shows("You spend $1,000.00 a month in total. You pay no rent.")
	if got := ticked(c); len(got) != 0 {
		t.Errorf("ticked are %q, which weren't asked", got)
	}
	c.WantPage(c.Post("declaration", signing(odd...)), http.StatusUnprocessableEntity).WantError("right-1", "You pay no rent.")
}

// TestSignatureIsOfWhatWasShown changes an answer, and documents, in another tab while the
// check page is open (D76). A script that doesn't say what it was shown signs.
func TestSignatureIsOfWhatWasShown(t *testing.T) {
	t.Parallel()
	const changed = "The answers have changed since you opened this page"
	c := harness.New(t).NewCustomer()
	c.AnswerAll()
	shown := func() string {
		return c.WantPage(c.Get("declaration"), http.StatusOK).Field("shown").Value
	}
	sign := func(shown string) *httptest.ResponseRecorder {
		values := signing()
		values.Del("asked") // the odd answers of the example aren't the point
		values.Set("shown", shown)
		return c.Post("declaration", values)
	}
	old := shown()
	c.WantRedirect(c.Post("income", url.Values{"has": {"none"}, "action": {"continue"}}))
	page := c.WantPage(sign(old), http.StatusUnprocessableEntity)
	page.WantError("summary", changed)
	if now := page.Field("shown").Value; now == old || now != shown() {
		t.Errorf("the page shown again says %q, first %q", now, old)
	}
	old = shown()
	c.WantRedirect(c.Attach("tax_return", "a.pdf", []byte("%PDF-1.7"), ""))
	c.WantPage(sign(old), http.StatusUnprocessableEntity).WantError("summary", changed)
	invalid := url.Values{"shown": {old}}
	c.WantPage(c.Post("declaration", invalid), http.StatusUnprocessableEntity).WantError("summary", changed)
	if status := c.SessionOf(c.ID).Status; status != domain.InProgress {
		t.Fatalf("the session is %s", status)
	}
	c.WantRedirect(sign(shown()))
	if status := c.SessionOf(c.ID).Status; status != domain.Completed {
		t.Errorf("the session is %s", status)
	}
	script := c.NewCustomer()
	script.AnswerAll()
	script.Get("declaration")
	script.WantRedirect(script.Post("income", url.Values{"has": {"none"}, "action": {"continue"}}))
	values := signing()
	values.Del("asked")
	script.WantRedirect(script.Post("declaration", values))
}

// TestForgottenDebts adds debts that the assets have by buttons, at any time and
// without script.
func TestForgottenDebts(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	c.Answer("assets")
	const mortgage, finance = "assets.real_property.0.mortgage_owing", "assets.vehicles.0.amount_owing"
	first := c.WantPage(c.Get("liabilities"), http.StatusOK) // which has them
	c.WantRedirect(c.Post("liabilities", url.Values{"has": {"none"}}))
	page := c.WantPage(c.Get("liabilities"), http.StatusOK)
	for _, name := range []string{mortgage, finance} {
		if strings.Contains(first.Source, "offer:"+name) || !strings.Contains(page.Source, "offer:"+name) {
			t.Errorf("%s isn't offered where it is missing", name)
		}
	}
	page.Shows("Add the mortgage of ", "Add the car loan for ")
	page = c.WantPage(c.Post("liabilities", url.Values{"has": {"none"}, "mortgages.0.lender": {""},
		"action": {"offer:" + mortgage}}), http.StatusOK)
	page.WantField("mortgages.0.balance", first.Field("mortgages.0.balance").Value).WantField("mortgages.0.property",
		first.Field("mortgages.0.property").Value).
		WantField("None of these", "").WantField("Mortgages", "mortgages")
	if strings.Contains(page.Source, "offer:"+mortgage) || !strings.Contains(page.Source, "offer:"+finance) {
		t.Error("what was added is offered, or what wasn't isn't")
	}
	if !page.Field("mortgages.0.lender").Focused {
		t.Error("the added item doesn't have the focus")
	}
	// A second press, or one of another tab, adds nothing.
	values := url.Values{"mortgages.0.balance": {page.Field("mortgages.0.balance").Value}, "mortgages.0.property": {"home"},
		"action": {"offer:" + mortgage}}
	c.WantPage(c.Post("liabilities", values), http.StatusOK).WantField("mortgages.0.property", "home")
	if got := c.Post("liabilities", values).Body.String(); strings.Contains(got, "mortgages.1.") {
		t.Error("it was added twice")
	}
	for _, name := range []string{"assets.castle.0.x", "", "mortgages"} {
		c.WantPage(c.Post("liabilities", url.Values{"action": {"offer:" + name}}), http.StatusOK)
	}
}

// TestBrowserDoubts follows "Change" to the field and comes back, then adds a
// forgotten debt and signs, with and without script.
func TestBrowserDoubts(t *testing.T) {
	t.Parallel()
	for name, options := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, base := harness.Listen(t)
			c := h.NewCustomer()
			values := statementtest.Values("liabilities")
			for input := range values {
				if strings.HasPrefix(input, "other_liabilities.") {
					delete(values, input)
				}
			}
			tell(c, map[string]url.Values{"expenses": {"housing.mortgage_rent": {"3,000"}}})
			c.WantRedirect(c.Post("liabilities", values))
			tab := browsertest.New(t, options)
			see := func(step string) { tab.View("doubts/" + name + "-" + step) }
			arrive(tab, base, c, "declaration")
			see("1-check")
			tab.Click(mainButton)
			tab.WaitForFocus("error-summary")
			see("2-refused")
			tab.Click(".doubt:last-of-type .change-link")
			tab.WaitForFocus("housing.mortgage_rent")
			see("3-change")
			browsertest.Eval[bool](tab, `document.activeElement.select(), true`)
			tab.Press("3,630.25")
			tab.Click(mainButton)
			tab.WaitForFocus("check-expenses")
			see("4-back")
			tab.Click(".doubt .change-link:last-of-type")
			tab.WaitForFocus("offer-assets.vehicles.0.amount_owing")
			see("5-offer")
			tab.Click(input("offer-assets.vehicles.0.amount_owing"))
			tab.WaitForFocus("personal_loans.1.lender")
			tab.Press("Plenti")
			see("6-added")
			tab.Click(mainButton)
			tab.WaitForFocus("check-liabilities")
			see("7-asked")
			tab.Click(input("right-1"))
			tab.Type(input("full_name"), "Zoë Margaret O'Brien")
			tab.Click(input("accepted"))
			see("8-ticked")
			tab.Click(mainButton)
			tab.WaitForTrue(`document.body.innerText.includes("has been sent")`)
			data, err := h.Service.Sessions.Data(t.Context(), h.TestScope(), c.ID, harness.Operator)
			h.OK(err)
			if got := data.Statement.Declaration.Confirmations; len(got) != 1 || got[0].Code != "debt_without_repayment" {
				t.Errorf("confirmations %v", got)
			}
			tab.NoErrors()
		})
	}
}

// TestAskedDocumentsAreMissed: who was asked for documents and adds none is asked about it, and
// isn't any more once there is one.
func TestAskedDocumentsAreMissed(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	asks := domain.NewSession{Ask: []domain.Ask{{Section: statement.DocumentsSection, Note: "The June payslip, please."}}}
	for name, add := range map[string]bool{"none": false, "one": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := h.In(t)
			c := h.Customer(h.NewSession(h.TestScope(), asks))
			tell(c, nil)
			odd := asked(c)
			if len(odd) != 1 || !strings.HasPrefix(odd[0], "no_documents|documents|") {
				t.Fatalf("asked about %q", odd)
			}
			check := c.WantPage(c.Get("declaration"), http.StatusOK).Shows("asks: The June payslip, please.")
			if links := check.Leads(c.Path("documents")); len(links) != 2 {
				t.Errorf("links to the documents %q, want those of their card and of the question", links)
			}
			want := []string{"no_documents documents"}
			if add {
				h.Upload(c.ID, "payslip.pdf")
				odd, want = asked(c), []string{}
			}
			c.WantRedirect(c.Post("declaration", signing(odd...)))
			if got := confirmations(c); !slices.Equal(got, want) {
				t.Errorf("confirmations %q, want %q", got, want)
			}
		})
	}
}

// TestBrowserAnotherName signs as another, is asked, changes the name by the link, and
// confirms another one by the keyboard.
func TestBrowserAnotherName(t *testing.T) {
	t.Parallel()
	h, base := harness.Listen(t)
	c := h.NewCustomer()
	tell(c, nil)
	tab := browsertest.New(t, browsertest.Options{})
	arrive(tab, base, c, "declaration")
	tab.Type(input("full_name"), "Donald Duck")
	tab.Click(input("accepted"))
	tab.Click(mainButton)
	tab.WaitForFocus("right-1")
	tab.View("signature/1-asked")
	if !browsertest.Eval[bool](tab,
		`(() => { const r = document.activeElement.getBoundingClientRect(); return r.top >= 0 && r.bottom <= innerHeight })()`) {
		t.Error("the question has the focus and isn't on the screen")
	}
	tab.Click("#right-1-change-1")
	tab.WaitForFocus("full_name")
	browsertest.Eval[bool](tab, `document.activeElement.select(), true`)
	tab.Press("Daisy Duck")
	tab.Click(mainButton)
	tab.WaitForTrue(
		`document.body.innerText.includes("You are signing as Daisy Duck.") && document.activeElement.id === "right-1"`)
	if browsertest.Eval[bool](tab,
		`document.getElementById("right-1").checked || !document.querySelector("[name=accepted]").checked`) {
		t.Error("a tick was set, or lost")
	}
	tab.Press(" ")
	tab.View("signature/2-ticked")
	tab.Click(mainButton)
	tab.WaitForTrue(`document.body.innerText.includes("has been sent")`)
	data, err := h.Service.Sessions.Data(t.Context(), h.TestScope(), c.ID, harness.Operator)
	h.OK(err)
	if got := data.Statement.Declaration; got.FullName != "Daisy Duck" || len(got.Confirmations) != 1 ||
		got.Confirmations[0].Code != statement.SignatureName {
		t.Errorf("signed %v", got)
	}
	tab.NoErrors()
}
