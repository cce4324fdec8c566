package form_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"candor/internal/domain"
	"candor/internal/statement/statementtest"
	"candor/internal/testkit"
	"candor/internal/testkit/browsertest"
	"candor/internal/testkit/harness"
)

// TestLeftForLater leaves answers for later: Continue leads on, the section isn't
// complete, and the list of sections leads to each of them.
func TestLeftForLater(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	c.WantPage(c.Get(""), http.StatusOK).Hides("Left for later")
	c.Answer("personal_details")
	values := statementtest.Values("assets")
	values.Set("vehicles.0.value", "")
	values.Set("vehicles.0.value.later", "true")
	values.Del("real_property.0.ownership")
	values.Set("real_property.0.ownership.later", "true")
	values.Set("bank_accounts.0.account_type", "preset")
	values.Set("bank_accounts.0.account_type.later", "true")
	income := url.Values{"was": {""}, "has": {"employment_income"}, "employment_income.gross_salary.later": {"true"}}
	if next := c.WantRedirect(c.Post("income", income)); next != "assets" {
		t.Errorf("sent on to %q, want assets", next)
	}
	if next := c.WantRedirect(c.Post("assets", values)); next != "liabilities" {
		t.Errorf("sent on to %q, want liabilities", next)
	}
	page := c.WantPage(c.Get("assets"), http.StatusOK).WantField("vehicles.0.value", "").WantField("vehicles.0.value.later", "true").
		WantField("real_property.0.ownership.later", "true").WantField("vehicles.1.value.later", "").
		WantField("bank_accounts.0.account_type.later", "true").WantField("bank_accounts.0.account_type", "")
	if len(page.Errors()) > 0 {
		t.Errorf("errors %q", page.Errors())
	}
	// Without script the tick stays when the everyday account is chosen.
	values.Set("bank_accounts.0.account_type", page.Field("bank_accounts.0.account_type").Choices[1])
	c.WantRedirect(c.Post("assets", values))
	c.WantPage(c.Get("assets"), http.StatusOK).WantField("bank_accounts.0.account_type.later", "")
	hub := c.WantPage(c.Get(""), http.StatusOK).Shows("1 of 7 sections completed", "In progress", "Left for later:", "Continue with")
	for name, field := range map[string]string{"Family home: ownership": "real_property.0.ownership",
		"Toyota Corolla Ascent Sport 2021: value": "vehicles.0.value"} {
		if got := hub.Link(name); got != c.Path("assets")+"#"+field {
			t.Errorf("%q leads to %s", name, got)
		}
	}
	if got, want := c.Events(), []string{"accessed", "section_completed personal_details 1"}; !slices.Equal(got, want) {
		t.Errorf("events %q, want %q", got, want)
	}
	if c.Status() != domain.InProgress {
		t.Errorf("status %s", c.Status())
	}
	for _, name := range []string{"liabilities", "expenses"} {
		c.Answer(name)
	}
	// What was left waits for the check page: two sections with something left don't lead to each other.
	for _, name := range []string{"documents", "income", "assets"} {
		values := map[string]url.Values{"documents": {"action": {"continue"}}, "income": income, "assets": values}[name]
		if next := c.WantRedirect(c.Post(name, values)); name != "income" && next != "declaration" {
			t.Errorf("%s leads to %s, want the check page", name, next)
		}
	}
	c.Answer("income")
	check := c.WantPage(c.Get("declaration"), http.StatusOK).Shows("Some sections aren’t finished", "Not finished").
		Lacks("accepted", "full_name")
	if got := check.Link("Toyota Corolla Ascent Sport 2021: value"); got != c.Path("assets")+"#vehicles.0.value" {
		t.Errorf("the check page leads to %s", got)
	}
	c.WantPage(c.Sign(), http.StatusUnprocessableEntity)

	// An answer takes the tick back, also if it is still there.
	values.Set("vehicles.0.value", "1")
	values.Set("real_property.0.ownership", "sole")
	values.Set("bank_accounts.0.account_type", "savings")
	c.WantRedirect(c.Post("assets", values))
	c.WantPage(c.Get(""), http.StatusOK).Shows("6 of 7").Hides("Left for later")
	c.WantPage(c.Get("assets"), http.StatusOK).WantField("vehicles.0.value.later", "")
	c.WantRedirect(c.Sign())
}

// TestLaterOfACompletedSection undoes no completion and sends no event, as an
// edit that isn't valid does (D15).
func TestLaterOfACompletedSection(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	c.AnswerAll()
	values := statementtest.Values("income")
	values.Set("employment_income.gross_salary", "")
	values.Set("employment_income.gross_salary.later", "on")
	for _, action := range []string{"continue", "save", "autosave"} {
		values.Set("action", action)
		c.Post("income", values)
		c.WantPage(c.Get(""), http.StatusOK).Shows("6 of 7", "Changes to finish", "Gross salary")
	}
	values.Del("action")
	if next := c.WantRedirect(c.Post("income?return=declaration", values)); next != "declaration" {
		t.Errorf("sent on to %q, want the check page", next)
	}
	if events := c.Events(); count(events, "section_completed income") != 1 {
		t.Errorf("events %q", events)
	}
}

// TestLaterHidesNoMistake checks that other answers are still refused, and that
// the signature can't be left for later.
func TestLaterHidesNoMistake(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	values := statementtest.Values("assets")
	values.Set("vehicles.0.description", "")
	values.Set("vehicles.0.description.later", "true")
	values.Set("vehicles.0.value", "lots")
	page := c.WantPage(c.Post("assets", values), http.StatusUnprocessableEntity).WantError("vehicles.0.value", "").
		WantField("vehicles.0.description.later", "true")
	if len(page.Errors()) != 1 {
		t.Errorf("errors %q, want that of the value", page.Errors())
	}
	hub := c.WantPage(c.Get(""), http.StatusOK)
	hub.Link("Vehicle 1: description")
	hub.Link("Vehicle 1: value")
	c.AnswerAll()
	values = statementtest.Values("declaration")
	values.Del("full_name")
	values.Set("full_name.later", "true")
	c.WantPage(c.Post("declaration", values), http.StatusUnprocessableEntity).WantError("full_name", "").Lacks("full_name.later")
}

// TestGapsAreNamed lists what a section lacks that was saved as it was.
func TestGapsAreNamed(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	c.WantRedirect(c.Post("personal_details", url.Values{"full_name": {"Jo"}, "address.postcode": {"2000"},
		"date_of_birth.day": {"29"}, "date_of_birth.month": {"2"}, "date_of_birth.year": {"2002"}, "action": {"save"}}))
	c.WantRedirect(c.Post("assets", url.Values{"has": {"vehicles", "investments"}, "vehicles.0.value": {""},
		"vehicles.1.value": {"lots"}, "vehicles.1.amount_owing.later": {"on"}, "action": {"save"}}))
	c.WantRedirect(c.Post("expenses", url.Values{"living.groceries.later": {"on"}, "action": {"save"}}))
	c.WantRedirect(c.Post("income", url.Values{"employment_income.gross_salary": {"85k"},
		"employment_income.gross_salary.period": {""}, "action": {"save"}}))
	hub := c.WantPage(c.Get(""), http.StatusOK)
	var left []string
	for _, gaps := range hub.All("ul") {
		for _, title := range hub.All("p") {
			if id := gaps.Attr("aria-labelledby"); id != "" && title.Attr("id") == id {
				left = append(left, title.Text())
			}
		}
		for _, link := range gaps.All("a") {
			if _, field, is := strings.Cut(link.Attr("href"), "#"); is && strings.HasPrefix(link.Attr("href"), c.Path("")) {
				left = append(left, link.Text()+" "+field)
			}
		}
	}
	want := []string{
		"Needs fixing:", "Date of birth date_of_birth.day",
		"Missing:", "You live household.type", "Dependants household.dependants", "Street address address.street",
		"Suburb address.suburb", "Phone number phone", "Email address email",
		"Missing:", "Gross salary employment_income.gross_salary.period",
		"Needs fixing:", "Vehicle 2: value vehicles.1.value",
		"Missing:", "Vehicle 2: description vehicles.1.description", "Investments investments",
		"Left for later:", "Vehicle 2: amount owing vehicles.1.amount_owing",
		"Left for later:", "Groceries living.groceries",
	}
	if !slices.Equal(left, want) {
		t.Errorf("left %q,\nwant %q", left, want)
	}
}

// TestLaterIsMerged ticks in one tab and answers in the other.
func TestLaterIsMerged(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	groceries, fuel := "living.groceries", "transport.fuel"
	was := func() string { return c.WantPage(c.Get("expenses"), http.StatusOK).Field("was").Value }
	first := was()
	c.WantPage(c.Post("expenses", url.Values{"was": {first}, groceries + ".later": {"true"}, "action": {"autosave"}}), http.StatusOK)
	c.WantPage(c.Post("expenses", url.Values{"was": {first}, fuel: {"50"}, "action": {"autosave"}}), http.StatusOK).
		WantField(groceries+".later", "true").WantField(fuel, "50")
	second := was()
	c.WantPage(c.Post("expenses", url.Values{"was": {second}, groceries: {"900"}, fuel: {"50"}, "action": {"autosave"}}),
		http.StatusOK).WantField(groceries, "900")
	page := c.WantPage(c.Post("expenses", url.Values{"was": {first}, groceries: {"800"}, "action": {"continue"}}),
		http.StatusUnprocessableEntity).Shows("Keep $800.00", "Use $900.00")
	page.WantError(groceries, "")
	c.WantPage(c.Post("expenses", url.Values{"was": {second}, groceries: {""}, fuel: {"50"}, "action": {"autosave"}}),
		http.StatusOK).Shows("Use $900.00")
}

// TestBrowserPresetAfterLater chooses what the page starts with in place of "I don't know yet".
// It stays chosen when the saved answer is shown.
func TestBrowserPresetAfterLater(t *testing.T) {
	t.Parallel()
	c := newTyping(t)
	const kind = "bank_accounts.0.account_type"
	c.WantRedirect(c.Post("assets", url.Values{"has": {"bank_accounts"}, "bank_accounts.0.institution": {"ING"},
		kind + ".later": {"true"}, "action": {"save"}}))
	tab := c.device(t, "assets")
	tab.Select(input(kind), "transaction")
	for _, balance := range []string{"1", "12"} {
		tab.Type(input("bank_accounts.0.balance"), balance)
		testkit.Await(t, "the balance isn't saved", func() bool {
			return load(c.Customer, "assets").values.Get("bank_accounts.0.balance") == balance
		})
		tab.WaitForText(saveStatus, "Saved ")
	}
	chosen := browsertest.Eval[string](tab, `document.getElementById("`+kind+`").selectedOptions[0]?.text ?? ""`)
	if chosen != "Everyday account" {
		t.Errorf("the type of account is %q", chosen)
	}
	stored(c.Customer, "assets", kind, "preset", kind+".later", "")
	tab.NoErrors()
}

// TestNotOfWhatEverybodyKnows asks for no one's own name, birthday, address, phone and email later.
func TestNotOfWhatEverybodyKnows(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	page := c.WantPage(c.Get("personal_details"), http.StatusOK)
	for _, input := range page.All("input") {
		if strings.HasSuffix(input.Attr("name"), ".later") {
			t.Errorf("%s is offered", input.Attr("name"))
		}
	}
	values := statementtest.Values("personal_details")
	values.Set("phone", "")
	values.Set("phone.later", "true")
	c.WantPage(c.Post("personal_details", values), http.StatusUnprocessableEntity).WantError("phone", "Enter your phone number")
}

// TestBrowserLater goes by keys and by taps: the box appears with the focus,
// after its field, moves nothing, empties the field and gives its answer back.
func TestBrowserLater(t *testing.T) {
	t.Parallel()
	for name, options := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, base := harness.Listen(t)
			c := h.NewCustomer()
			tab := browsertest.New(t, options)
			see := func(step string) { tab.View("later/" + name + "-" + step) }
			visible := func(field string) bool {
				return browsertest.Eval[bool](tab, `document.getElementById("`+field+`.later").checkVisibility({opacityProperty: true})`)
			}
			arrive(tab, base, c, "expenses")
			tab.Click(input("living"))
			tab.Click(input("living.groceries"))
			see("1-focus")
			const top = `document.getElementById("living.medical").getBoundingClientRect().top + scrollY`
			before := browsertest.Eval[float64](tab, top)
			if !visible("living.groceries") || visible("living.clothing") {
				t.Error("the box isn't seen in the field alone that has the focus")
			}
			tab.Press("900\t") // to the period
			tab.Press("\t")
			tab.WaitForFocus("living.groceries.later") // after its field
			if !visible("living.groceries") {
				t.Error("the box has the focus and isn't seen")
			}
			tab.Press("\t")
			tab.WaitForFocus("living.clothing")
			tab.WaitForTrue(`!document.getElementById("living.groceries.later").checkVisibility({opacityProperty: true})`)
			tab.WaitForTrue(`getComputedStyle(document.getElementById("living.groceries.later").parentElement).pointerEvents === "none"`)
			tab.Click(input("living.groceries"))
			tab.Click(input("living.groceries.later"))
			see("2-ticked")
			if !options.NoScript {
				tab.WaitForValue(input("living.groceries"), "")
			}
			// If 900 was saved before the tick, its conversion stands there until the next save.
			tab.WaitForTrue(fmt.Sprintf("%s === %v", top, before))
			if !options.NoScript {
				tab.Click(input("living.groceries.later"))
				tab.WaitForValue(input("living.groceries"), "900")
				tab.Click(input("living.groceries.later"))
			} else {
				tab.Type(input("living.groceries"), "")
			}
			if !options.NoScript {
				tab.Axe()
			}
			tab.Click(input("living.medical"))
			tab.Press("50")
			if !visible("living.groceries") {
				t.Error("a ticked box is hidden")
			}
			see("3-ticked")
			tab.Click(mainButton)
			tab.WaitForURL("/documents")
			tab.Open(base + c.Path(""))
			see("4-hub")
			tab.Screenshot("later/" + name + "-hub")
			if !options.NoScript {
				tab.Axe()
			}
			tab.FitsWidth()
			tab.Click(`.gaps a`)
			tab.WaitForFocus("living.groceries")
			see("5-back")
			tab.Press("900")
			if !options.NoScript {
				tab.WaitForTrue(`!document.getElementById("living.groceries.later").checked`)
			}
			tab.Click(mainButton)
			tab.WaitForURL("/documents")
			c.WantPage(c.Get(""), http.StatusOK).Shows("1 of 7").Hides("Left for later")
			tab.NoErrors()
		})
	}
}
