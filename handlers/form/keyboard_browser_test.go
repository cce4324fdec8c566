package form_test

import (
	"strings"
	"testing"

	"candor/internal/domain"
	"candor/internal/statement/statementtest"
	"candor/internal/testkit"
	"candor/internal/testkit/browsertest"
	"candor/internal/testkit/harness"
)

// A typist fills in the form with keys alone, and sees after each where the focus is.
type typist struct{ *person }

// seen checks that the focus can be seen.
func (k *typist) seen(after string) browsertest.Focus {
	k.Helper()
	focus := k.tab.Focus()
	if focus.Problem != "" {
		k.tab.View("keyboard/problem")
		k.Fatalf("after %s, on %s: %s", after, focus.Element, focus.Problem)
	}
	return focus
}

const tab, enter, space, arrowDown = '\t', '\r', ' ', '\u0301'

// far is how many presses of Tab lead through any page.
const far = 150

func (k *typist) move(selector, key string, press func()) {
	k.Helper()
	for range far {
		press()
		k.seen(key)
		if browsertest.Eval[bool](k.tab, "document.activeElement.matches("+quoted(selector)+")") {
			return
		}
	}
	k.Fatalf("%d presses of %s didn't lead to %s", far, key, selector)
}

func quoted(s string) string { return "`" + s + "`" }

// to presses Tab until the focus is on what matches the selector.
func (k *typist) to(selector string) {
	k.Helper()
	k.move(selector, "Tab", func() { k.tab.Key(tab) })
}

// back does so with Shift+Tab.
func (k *typist) back(selector string) {
	k.Helper()
	k.move(selector, "Shift+Tab", k.tab.ShiftTab)
}

// key presses a key that stays on the page.
func (k *typist) key(key rune) {
	k.Helper()
	k.tab.Key(key)
	k.seen("a key")
}

// press types text.
func (k *typist) press(keys string) {
	k.Helper()
	k.tab.Press(keys)
	k.seen(keys)
}

// enter types into a field that Tab leads to.
func (k *typist) enter(name, text string) {
	k.Helper()
	k.to(input(name))
	k.press(text)
}

// submit presses a key that another page, or a changed one, follows, and checks where
// the focus is then.
func (k *typist) submit(key rune, focus string) {
	k.Helper()
	browsertest.Eval[bool](k.tab, watch)
	k.tab.Key(key)
	k.tab.WaitForTrue(arrived)
	k.tab.WaitForTrue("document.activeElement !== document.body")
	browsertest.Eval[bool](k.tab, twoFrames)
	if got := k.seen("a submit"); got.ID != focus {
		k.tab.View("keyboard/problem")
		k.Fatalf("the focus is on %s, want %s", got.Element, focus)
	}
}

// toFocus presses a key that moves the focus on the page.
func (k *typist) toFocus(key rune, id string) {
	k.Helper()
	k.tab.Key(key)
	k.tab.WaitForFocus(id)
	k.seen("Enter")
}

// TestBrowserKeyboardAlone opens the link and signs without a pointer: it adds and removes an
// item, chooses a period, uploads, corrects errors from their summary and ends a
// collision of two devices.
func TestBrowserKeyboardAlone(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h, base := harness.Listen(t)
	session := h.NewSession(h.TestScope(), domain.NewSession{})
	k := &typist{&person{Customer: h.Customer(session), base: base, tab: browsertest.New(t, browsertest.Options{})}}
	k.tab.ChooseFiles(temporaryFile(t, "Payslip.pdf", harness.PDFOf(200)))
	k.tab.Open(base + h.Link(session.ID))
	k.tab.WaitForURL(k.Path(""))
	k.begin()
	k.personalDetails()
	k.collision()
	k.income()
	k.assets()
	k.debtsAndExpenses()
	k.documents()
	k.sign()
	if story := k.Events(); count(story, "completed") != 1 {
		t.Errorf("events = %q, want one completion", story)
	}
}

// begin skips the header and opens the first section.
func (k *typist) begin() {
	k.Helper()
	k.seen("the link")
	k.back(".skip-link")
	if height := browsertest.Eval[float64](k.tab, "document.activeElement.getBoundingClientRect().height"); height < 44 {
		k.Errorf("the skip link is %g px high", height)
	}
	k.toFocus(enter, "main")
	k.to(".task a")
	k.back(".stack .button-primary")
	k.submit(enter, "h1")
}

func (k *typist) personalDetails() {
	k.Helper()
	k.to(mainButton)
	k.submit(enter, "error-summary")
	k.to(".error-summary a")
	k.toFocus(enter, "full_name")
	values := statementtest.Values("personal_details")
	k.press(values.Get("full_name"))
	for _, name := range []string{"date_of_birth.day", "date_of_birth.month", "date_of_birth.year", "occupation", "employer"} {
		k.enter(name, values.Get(name))
	}
	k.to(`input[name="household.type"]`)
	k.press(" ")
	if on := k.seen("a choice").ID; !strings.HasPrefix(on, "household.type") {
		k.Errorf("after a choice by key the focus is on %s", on)
	}
	for _, name := range []string{"household.dependants", "address.street", "address.suburb"} {
		k.enter(name, values.Get(name))
	}
	k.to(input("address.state"))
	k.press("New S")
	for _, name := range []string{"address.postcode", "phone", "email"} {
		k.enter(name, values.Get(name))
	}
	k.submit(enter, "h1") // in a field
	stored(k.Customer, "personal_details", "address.street", values.Get("address.street"))
}

// collision goes back, and finds that another device or tab saved a different answer.
func (k *typist) collision() {
	k.Helper()
	k.back(".back-link")
	k.submit(enter, "h1")
	k.to(".task a")
	k.submit(enter, "h1")
	other := statementtest.Values("personal_details")
	other.Set("employer", "City Hospital")
	other.Set("action", "save")
	k.WantRedirect(k.Post("personal_details", other))
	k.enter("employer", "Town Clinic")
	k.tab.WaitFor(".collision")
	k.seen("a save")
	k.to(`button[value="keep:employer"]`)
	k.submit(enter, "employer")
	k.submit(enter, "h1")
	stored(k.Customer, "personal_details", "employer", "Town Clinic")
}

func (k *typist) income() {
	k.Helper()
	k.to(input("employment_income"))
	k.toFocus(space, "employment_income.gross_salary")
	k.press("2240")
	k.to(input("employment_income.gross_salary.period"))
	for range 2 { // to a week, then a fortnight
		k.key(arrowDown)
	}
	if got := k.tab.Value(input("employment_income.gross_salary.period")); got != "fortnight" {
		k.Fatalf("the period is %q, want fortnight", got)
	}
	k.tab.WaitForText(input("employment_income.gross_salary-conversion"), "$58,240.00")
	k.seen("a save")
	k.to(`button[value="add:employment_income.gross_salary"]`)
	k.submit(enter, "employment_income.gross_salary.2")
	k.press("100 a month") // says the period with the amount
	k.to(mainButton)
	k.submit(enter, "h1")
}

func (k *typist) assets() {
	k.Helper()
	k.to(input("vehicles"))
	k.toFocus(space, "vehicles.0.description")
	k.press("Ute")
	k.enter("vehicles.0.value", "12,000")
	k.to(`button[value="add:vehicles"]`)
	k.submit(enter, "vehicles.1.description")
	k.press("Boat")
	k.back(`button[value="remove:vehicles.0"]`)
	k.submit(space, "item-vehicles-1")
	if got := k.tab.Value(input("vehicles.0.description")); got != "Boat" {
		k.Errorf("the vehicle left is %q, want Boat", got)
	}
	k.enter("vehicles.0.value", "5000")
	k.back(input("real_property"))
	k.toFocus(space, "real_property.0.description")
	k.press("Home")
	k.enter("real_property.0.address", "18 Wattle Street, Marrickville")
	k.to(`[name="real_property.0.ownership"]`)
	k.key(arrowDown)
	k.key(arrowDown)
	k.enter("real_property.0.ownership_percentage", "50")
	k.enter("real_property.0.current_value", "900,000")
	k.submit(enter, "h1")
	stored(k.Customer, "assets", "real_property.0.ownership", "tenants_in_common", "vehicles.0.description", "Boat")
}

func (k *typist) debtsAndExpenses() {
	k.Helper()
	k.to(input("has-none"))
	k.key(space)
	k.to(mainButton)
	k.submit(enter, "h1")
	k.to(input("living"))
	k.toFocus(space, "living.groceries")
	k.press("900")
	k.to(mainButton)
	k.submit(enter, "h1")
}

func (k *typist) documents() {
	k.Helper()
	k.to(input("file"))
	k.key(enter)
	k.tab.WaitForText("#stored", "Payslip.pdf")
	k.tab.WaitForText("#status", "Document uploaded")
	k.seen("an upload")
	k.back("#uploaded-1 select")
	k.key(arrowDown)
	k.tab.WaitForText("#status", saved)
	k.seen("a choice")
	k.to(mainButton)
	k.submit(enter, "h1")
}

// sign changes an answer from the check page, forgets the signature, and signs.
func (k *typist) sign() {
	k.Helper()
	k.to(`a.change-link[href*="expenses"]`)
	k.submit(enter, "h1")
	k.enter("living.clothing", "120")
	k.to(mainButton)
	k.submit(enter, "check-expenses")
	k.to(mainButton)
	k.submit(enter, "error-summary")
	k.to(".error-summary a")
	k.toFocus(enter, "accepted")
	k.key(space) // which leaves the focus there: Tab is next
	k.to(input("full_name"))
	k.press(statementtest.Values("declaration").Get("full_name"))
	k.submit(enter, "h1")
	k.tab.WaitForText("h1", "sent")
}
