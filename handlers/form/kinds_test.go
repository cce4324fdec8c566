package form_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"candor/internal/statement"
	"candor/internal/statement/statementtest"
	"candor/internal/testkit/browsertest"
	"candor/internal/testkit/harness"
)

// Nothing is complete by being skipped: each kind is filled, or said to be none
// (D56).
func TestWhatApplies(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	for _, tt := range []struct {
		values  url.Values
		message string // of the refusal, "" if the section is completed
	}{
		{url.Values{}, "Tick what applies, or None of these"},
		{url.Values{"vehicles.0.description": {""}}, "Tick what applies, or None of these"},
		{url.Values{"has": {"castles"}}, "Tick what applies, or None of these"},
		{url.Values{"has": {"none"}}, ""},
		{url.Values{"vehicles.0.description": {"Mazda"}}, ""}, // a client that knows the fields
		{url.Values{"has": {"vehicles"}, "vehicles.0.description": {"Mazda"}}, ""},
		{url.Values{"has": {"vehicles", "vehicles"}, "vehicles.0.value": {""}}, "Fill it in, or untick vehicles"},
		{url.Values{"has": {"vehicles", "investments"}, "vehicles.0.description": {"Mazda"}},
			"Fill it in, or untick investments"},
		{url.Values{"has": {"none"}, "vehicles.0.description": {"Mazda"}}, "Tick vehicles, or clear what you entered there"},
		{url.Values{"has": {"investments"}, "investments.0.description": {"Fund"}, "vehicles.0.value": {"5"}},
			"Tick vehicles, or clear what you entered there"},
	} {
		c := h.NewCustomer()
		if tt.message == "" {
			c.WantRedirect(c.Post("assets", tt.values))
			continue
		}
		page := c.WantPage(c.Post("assets", tt.values), http.StatusUnprocessableEntity).Shows(tt.message)
		if len(page.Errors()) == 0 {
			t.Errorf("%v: no error leads to its tick", tt.values)
		}
		c.WantPage(c.Get(""), http.StatusOK).Shows("0 of 7")
	}
}

// TestErrorsAreInPageOrder: also those of ticks.
func TestErrorsAreInPageOrder(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	p := c.WantPage(c.Post("assets", url.Values{"has": {"vehicles", "superannuation"}, "vehicles.0.value": {"lots"},
		"investments.0.value": {"5"}}), http.StatusUnprocessableEntity)
	var got []string
	for _, a := range p.All("a") {
		if id, inside := strings.CutPrefix(a.Attr("href"), "#"); inside && id != "main" {
			got = append(got, id)
		}
	}
	if want := []string{"vehicles.0.description", "vehicles.0.value", "superannuation", "investments",
		"investments.0.description"}; !slices.Equal(got, want) {
		t.Errorf("the errors are %q, want %q", got, want)
	}
}

// TestFirstTickOfExpenses leads to a tick, though the question before them is for couples.
func TestFirstTickOfExpenses(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	c.WantPage(c.Post("expenses", url.Values{}), http.StatusUnprocessableEntity).
		WantError("housing", "Tick what applies, or None of these")
	tell(c, map[string]url.Values{"liabilities": {"has": {"none"}}, "expenses": {"has": {"none"}}})
	if p := c.WantPage(c.Get("declaration"), http.StatusOK).Shows("You spend $0.00 a month in total."); !strings.Contains(p.Source,
		`href="`+c.Path("expenses?return=declaration#housing")+`"`) {
		t.Error("the question about low expenses leads to no tick")
	}
}

// What was ticked is kept with the draft, and that there is none with the
// completed section.
func TestTicksAreKept(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	c.WantRedirect(c.Post("income", url.Values{"has": {"rental_income"}, "action": {"save"}}))
	c.WantPage(c.Get("income"), http.StatusOK).WantField("Rent from a property", "rental_income").WantField("Pay from a job", "")
	c.WantRedirect(c.Post("income", url.Values{"has": {"none"}}))
	c.WantPage(c.Get("income"), http.StatusOK).WantField("Rent from a property", "").WantField("None of these", "none")
	c.WantRedirect(c.Post("income", url.Values{"employment_income.bonuses": {"0"}}))
	c.WantPage(c.Get("income"), http.StatusOK).WantField("Pay from a job", "employment_income").WantField("None of these", "")
}

// In a browser a tick opens its questions, without a request, and unticking asks
// before it clears them.
func TestBrowserTicks(t *testing.T) {
	t.Parallel()
	h, base := harness.Listen(t)
	c := h.NewCustomer()
	tab := browsertest.New(t, browsertest.Options{Device: browsertest.Phone})
	arrive(tab, base, c, statement.AssetsSection)
	tab.Click(input("vehicles"))
	tab.WaitForFocus("vehicles.0.description")
	tab.Press("Mazda")
	tab.Axe()
	tab.Click(input("has-none"))
	if said := tab.WaitForDialog(); said != "Remove what you entered here?" {
		t.Errorf("asked %q", said)
	}
	tab.WaitForTrue(`!document.getElementById("vehicles").checked && document.getElementById("vehicles.0.description").value === ""`)
	tab.Click(input("bank_accounts"))
	tab.WaitForTrue(`!document.getElementById("has-none").checked`)
	tab.Click(".actions .button-primary")
	tab.WaitForFocus("error-summary")
	tab.Click(".error-summary a")
	tab.WaitForFocus("bank_accounts")
	tab.Axe()
	tab.Click(input("bank_accounts"))
	tab.Click(input("has-none"))
	tab.Click(".actions .button-primary")
	tab.WaitForURL("/liabilities")
	tab.NoErrors()
}

// TestBrowserUntickingAKind asks before it clears what was entered, which a choice that the page
// starts with isn't.
func TestBrowserUntickingAKind(t *testing.T) {
	t.Parallel()
	c := newTyping(t)
	tab := c.device(t, "assets")
	kind := input("bank_accounts.0.account_type")
	tab.Click(input("bank_accounts"))
	tab.WaitForText(saveStatus, "Saved ")
	browsertest.Eval[bool](tab, `(window.asked = 0, window.confirm = () => ++asked > 0, true)`)
	tab.Click(input("bank_accounts"))
	tab.WaitForTrue(`!document.getElementById("bank_accounts").checked`)
	if got, asked := tab.Value(kind), browsertest.Eval[int](tab, "asked"); got != "preset" || asked != 0 {
		t.Errorf("after %d questions the type of account is %q, want the preset and none", asked, got)
	}
	tab.Click(input("bank_accounts"))
	tab.Select(kind, "savings")
	tab.Click(input("bank_accounts"))
	tab.WaitForTrue("asked === 1")
	if got := tab.Value(kind); got != "preset" {
		t.Errorf("the type of account that was cleared is %q, want the preset", got)
	}
}

// TestBrowserUntickingWhatWeFilledIn asks, too. The notice doesn't outlast what it is about.
func TestBrowserUntickingWhatWeFilledIn(t *testing.T) {
	t.Parallel()
	for section, tt := range map[string]struct{ kind, amount, notice string }{
		"expenses":    {"housing", "housing.mortgage_rent", "We added repayments, without cards."},
		"liabilities": {"mortgages", "mortgages.0.balance", "We added your part of each loan from Assets."},
	} {
		t.Run(section, func(t *testing.T) {
			t.Parallel()
			c := newTyping(t)
			c.Answer("assets")
			if section == "expenses" {
				c.Answer("liabilities")
			}
			tab := c.device(t, section)
			browsertest.Eval[bool](tab, `(window.asked = 0, window.confirm = () => ++asked > 1, true)`)
			shown := fmt.Sprintf(`document.querySelector("main").innerText.includes(%q)`, tt.notice)
			tab.Click(input(tt.kind))
			tab.WaitForTrue("asked === 1 && " + shown) // and the answer was no
			if tab.Value(input(tt.amount)) == "" {
				t.Error("the amount is gone")
			}
			tab.Click(input(tt.kind))
			tab.WaitForTrue("asked === 2 && !" + shown)
			tab.Click(input(tt.kind))
			if got := tab.Value(input(tt.amount)); got != "" {
				t.Errorf("the amount is %q after it was cleared", got)
			}
		})
	}
}

// TestBrowserUntickingWhatWasSaved takes back a kind of a completed section, and of a draft that is
// opened again. The tick stays away, and so do the answers.
func TestBrowserUntickingWhatWasSaved(t *testing.T) {
	t.Parallel()
	for name, post := range map[string]string{"a completed section": "continue", "a draft": "save"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newTyping(t)
			c.WantRedirect(c.Post("assets", url.Values{
				"has": {"bank_accounts", "vehicles"}, "vehicles.0.description": {"Mazda"}, "vehicles.0.value": {"9000"},
				"bank_accounts.0.institution":  {"ING"},
				"bank_accounts.0.account_type": {"transaction"}, "bank_accounts.0.balance": {"1"}, "action": {post},
			}))
			tab := c.device(t, "assets")
			browsertest.Eval[bool](tab, `(window.confirm = () => true, true)`)
			tab.Click(input("bank_accounts"))
			tab.WaitForText(saveStatus, "Saved ")
			if browsertest.Eval[bool](tab, `document.getElementById("bank_accounts").checked`) {
				t.Error("the tick is back")
			}
			tab.Click(".actions .button-primary")
			tab.WaitForURL("/liabilities")
			c.WantPage(c.Get("assets"), http.StatusOK).WantField("Bank accounts", "").WantField("Vehicles", "vehicles")
			stored(c.Customer, "assets", "bank_accounts.0.institution", "", "vehicles.0.description", "Mazda")
		})
	}
}

// TestUntickingWithoutScript removes the answers that the page then hides, unless another
// device has changed them.
func TestUntickingWithoutScript(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	for _, action := range []string{"continue", "save"} {
		c := h.NewCustomer()
		c.Answer("assets")
		tab := load(c, "assets")
		untick(tab, "vehicles")
		tab.values.Set("action", action)
		c.WantRedirect(c.Post("assets", tab.values))
		c.WantPage(c.Get("assets"), http.StatusOK).WantField("Vehicles", "").WantField("Property", "real_property")
		stored(c, "assets", "vehicles.0.description", "", "bank_accounts.0.institution", "Commonwealth Bank")
		c.WantPage(c.Get(""), http.StatusOK).Shows("1 of 7").Hides("Changes to finish")

		c.Answer("income")
		tab = load(c, "income")
		untick(tab, "rental_income")
		c.WantRedirect(c.Post("income", tab.values))
		c.WantPage(c.Get("income"), http.StatusOK).WantField("Rent from a property", "")
	}

	c := h.NewCustomer()
	c.Answer("assets")
	one, two := load(c, "assets"), load(c, "assets")
	one.press("autosave", http.StatusOK, "vehicles.0.value", "7")
	untick(two, "vehicles")
	two.press("continue", http.StatusUnprocessableEntity).Offers("Show both")
	stored(c, "assets", "vehicles.0.value", "7")
}

// untick takes a kind from what the page posts.
func untick(tab *loaded, kind string) {
	tab.values["has"] = slices.DeleteFunc(tab.values["has"], func(has string) bool { return has == kind })
}

const ownership, share = "real_property.0.ownership", "real_property.0.ownership_percentage"

// soleOwner are assets with a property of a sole owner.
func soleOwner() url.Values {
	values := statementtest.Values("assets")
	values.Set(ownership, "sole")
	values.Del(share)
	return values
}

// TestShareOfAFormerSoleOwner asks for the share when a sole owner becomes one of several.
func TestShareOfAFormerSoleOwner(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	c.WantRedirect(c.Post("assets", soleOwner()))
	tab := load(c, "assets")
	tab.press("autosave", http.StatusOK).Shows("$537,599.25").WantField(share, "")
	c.WantPage(c.Get(""), http.StatusOK).Hides("Changes to finish")
	tab.press("autosave", http.StatusOK, "real_property.0.current_value", "1,150,001").Shows("$537,600.25").WantField(share, "")
	tab.press("continue", http.StatusUnprocessableEntity, ownership, "joint").Shows("your share")
	tab.values.Set(share, "100")
	c.WantRedirect(c.Post("assets", tab.values))
	tab = load(c, "assets")
	if got := tab.values.Get(share); got != "100" {
		t.Errorf("a share that was typed is %q, want 100", got)
	}
}

func TestBrowserShareOfAFormerSoleOwner(t *testing.T) {
	t.Parallel()
	c := newTyping(t)
	c.WantRedirect(c.Post("assets", soleOwner()))
	tab := c.device(t, "assets")
	visible := fmt.Sprintf(`document.getElementById(%q).checkVisibility()`, share)
	tab.WaitForTrue("!" + visible) // a sole owner's
	tab.Click(fmt.Sprintf("input[name=%q][value=joint]", ownership))
	tab.WaitForTrue(visible)
	tab.WaitForText(saveStatus, "Saved ")
	tab.Click(".actions .button-primary")
	tab.WaitFor(".error-summary")
	tab.Type(input(share), "50")
	tab.Click(".actions .button-primary")
	tab.WaitForURL("/liabilities")
	stored(c.Customer, "assets", ownership, "joint", share, "50")
}
