package form_test

import (
	"maps"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"candor/db"
	"candor/internal/statement/statementtest"
	"candor/internal/testkit"
	"candor/internal/testkit/harness"
	"candor/internal/testkit/page"
)

// A loaded is a section's page in a browser, with what it would post.
type loaded struct {
	*harness.Customer
	section string
	values  url.Values
	tick    string // the value of the tick that amounts are checked
}

// load opens a section in a tab of its own.
func load(c *harness.Customer, section string) *loaded {
	c.Helper()
	l := &loaded{Customer: c.OtherBrowser(), section: section}
	l.read(c.WantPage(l.Get(section), http.StatusOK))
	return l
}

// read takes the inputs of a page's form.
func (l *loaded) read(p *page.Page) {
	l.values = url.Values{}
	for _, input := range p.All("input") {
		kind := input.Attr("type")
		if input.Attr("name") == "sharing.checked" {
			l.tick = input.Attr("value")
		}
		if (kind == "radio" || kind == "checkbox") && !input.Has("checked") {
			continue
		}
		l.values.Add(input.Attr("name"), input.Attr("value"))
	}
	for _, menu := range p.All("select") {
		l.values.Set(menu.Attr("name"), "")
		for _, option := range menu.All("option") {
			if option.Has("selected") {
				l.values.Set(menu.Attr("name"), option.Attr("value"))
			}
		}
	}
}

// press types the inputs (name, value, …), posts the page and shows the answer.
func (l *loaded) press(action string, status int, typed ...string) *page.Page {
	l.Helper()
	for i := 0; i < len(typed); i += 2 {
		l.values.Set(typed[i], typed[i+1])
	}
	l.values.Set("action", action)
	p := l.WantPage(l.Post(l.section, l.values), status)
	l.read(p)
	return p
}

// stored fails the test unless the section's inputs (name, value, …) are stored.
func stored(c *harness.Customer, section string, want ...string) {
	c.Helper()
	now := load(c, section)
	for i := 0; i < len(want); i += 2 {
		if got := now.values.Get(want[i]); got != want[i+1] {
			c.Errorf("%s is %q, want %q", want[i], got, want[i+1])
		}
	}
}

func TestTwoTabsEditDifferentFields(t *testing.T) {
	t.Parallel()
	for _, action := range []string{"autosave", "save", "continue", "add:vehicles"} {
		t.Run(action, func(t *testing.T) {
			t.Parallel()
			c := harness.New(t).NewCustomer()
			one, two := load(c, "assets"), load(c, "assets")
			one.press("autosave", http.StatusOK, "bank_accounts.0.institution", "Red Bank")
			two.values.Set("vehicles.0.description", "Ute")
			two.values.Set("action", action)
			two.Post("assets", two.values)
			stored(c, "assets", "bank_accounts.0.institution", "Red Bank", "vehicles.0.description", "Ute")
			one.press("autosave", http.StatusOK, "bank_accounts.0.institution", "Red Bank of Perth")
			stored(c, "assets", "bank_accounts.0.institution", "Red Bank of Perth", "vehicles.0.description", "Ute")
		})
	}
}

func TestTwoTabsEditTheSameField(t *testing.T) {
	t.Parallel()
	for _, choice := range []string{"keep", "take"} {
		for _, action := range []string{"autosave", "continue", "save", "add:"} {
			t.Run(choice+" after "+action, func(t *testing.T) {
				t.Parallel()
				c := harness.New(t).NewCustomer()
				one, two := load(c, "personal_details"), load(c, "personal_details")
				one.press("autosave", http.StatusOK, "date_of_birth.day", "3", "phone", "0400 000 001")
				status := http.StatusUnprocessableEntity
				if action == "autosave" {
					status = http.StatusOK
				}
				p := two.press(action, status, "date_of_birth.month", "5", "phone", "0400 000 002", "full_name", "Zoë B")
				p.Offers("Keep 0400 000 002", "Use 0400 000 001")
				stored(c, "personal_details", "phone", "0400 000 001", "full_name", "Zoë B", "date_of_birth.day", "3",
					"date_of_birth.month", "")
				two.press("autosave", http.StatusOK).Offers("Keep 0400 000 002")
				one.press("autosave", http.StatusOK, "phone", "0400 000 003")
				p = two.press(choice+":phone", http.StatusUnprocessableEntity) // the date still collides
				if choice == "take" {
					stored(c, "personal_details", "phone", "0400 000 003")
				} else {
					p.Offers("Keep 0400 000 002", "Use 0400 000 003")
				}
			})
		}
	}
}

func TestCollisionIsSettled(t *testing.T) {
	t.Parallel()
	for choice, want := range map[string]string{"keep": "0400 000 002", "take": "0400 000 001"} {
		t.Run(choice, func(t *testing.T) {
			t.Parallel()
			c := harness.New(t).NewCustomer()
			one, two := load(c, "personal_details"), load(c, "personal_details")
			one.press("autosave", http.StatusOK, "phone", "0400 000 001")
			two.press("save", http.StatusUnprocessableEntity, "phone", "0400 000 002")
			two.press(choice+":phone", http.StatusOK).Lacks("Keep 0400 000 002")
			stored(c, "personal_details", "phone", want)
			two.press("autosave", http.StatusOK, "phone", "0400 000 009")
			stored(c, "personal_details", "phone", "0400 000 009")
		})
	}
}

// TestListChangedElsewhere checks that no item gets what was typed for another.
func TestListChangedElsewhere(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	one := load(c, "assets")
	one.press("add:vehicles", http.StatusOK, "vehicles.0.description", "Ute", "vehicles.0.value", "100")
	one.press("autosave", http.StatusOK, "vehicles.1.description", "Boat", "vehicles.1.value", "100")
	two, three := load(c, "assets"), load(c, "assets")
	one.press("remove:vehicles.0", http.StatusOK)
	one.press("add:vehicles", http.StatusOK)
	one.press("autosave", http.StatusOK, "vehicles.1.description", "Bike", "vehicles.1.value", "100")

	two.press("autosave", http.StatusOK, "vehicles.1.value", "120").Shows("this list was changed on another device.").
		Offers("Show both")
	stored(c, "assets", "vehicles.0.description", "Boat", "vehicles.1.description", "Bike", "vehicles.1.value", "100")
	two.press("continue", http.StatusUnprocessableEntity).Offers("Show both")
	two.press("join:vehicles", http.StatusOK).Lacks("Show both")
	stored(c, "assets", "vehicles.0.description", "Boat", "vehicles.1.description", "Bike", "vehicles.1.value", "100",
		"vehicles.2.description", "Boat", "vehicles.2.value", "120")

	three.press("remove:vehicles.0", http.StatusOK).Offers("Remove Boat (2)")
	stored(c, "assets", "vehicles.0.description", "Boat", "vehicles.2.description", "Boat")
	three.press("remove:vehicles.0", http.StatusOK).Lacks("Remove Boat (2)")
	stored(c, "assets", "vehicles.0.description", "Bike", "vehicles.1.description", "Boat")
}

// TestItemsOfOneListEditedInTwoTabs merges items by position if they are the
// same, blank ones too.
func TestItemsOfOneListEditedInTwoTabs(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	one := load(c, "assets")
	one.press("add:vehicles", http.StatusOK)
	one.press("autosave", http.StatusOK, "vehicles.1.amount_owing", "1")
	two := load(c, "assets")
	one.press("autosave", http.StatusOK, "vehicles.1.description", "Boat")
	two.press("autosave", http.StatusOK, "vehicles.1.value", "7").Lacks("Show both")
	stored(c, "assets", "vehicles.0.description", "", "vehicles.1.description", "Boat", "vehicles.1.value", "7")
}

// TestLostResponseIsNoCollision sends twice what the page can't know to be
// stored, and more after it.
func TestLostResponseIsNoCollision(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	tab := load(c, "personal_details")
	first := url.Values{"was": tab.values["was"]}
	for name, values := range tab.values {
		first[name] = values
	}
	first.Set("phone", "04")
	sent := url.Values{}
	for name, values := range first {
		if name != "was" {
			sent[name] = values
		}
	}
	first.Set("action", "autosave")
	c.WantPage(c.Post("personal_details", first), http.StatusOK)
	tab.values.Add("was", sent.Encode())
	tab.press("autosave", http.StatusOK, "phone", "").Lacks("Keep 04")
	stored(c, "personal_details", "phone", "")
	c.WantPage(c.Post("personal_details", first), http.StatusOK)
	stored(c, "personal_details", "phone", "04")
	for range 5 {
		tab.values.Add("was", "")
	}
	c.WantPage(c.Post("personal_details", tab.values), http.StatusBadRequest)
}

// TestAutosaveCompletesNothing checks that typing sends no event, counts no
// error, and leaves a completed section's answers alone.
func TestAutosaveCompletesNothing(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	tab := load(c, "income")
	tab.press("autosave", http.StatusOK, "employment_income.gross_salary", "x").Lacks("There is a problem")
	c.WantPage(c.Get(""), http.StatusOK).Shows("In progress")
	var refused int
	c.OK(c.DB.Raw().GetContext(t.Context(), &refused, "SELECT coalesce(sum(cardinality(problems)), 0) FROM section"))
	if refused != 0 {
		t.Errorf("%d validation errors were counted", refused)
	}
	c.Answer("income")
	tab = load(c, "income")
	tab.press("autosave", http.StatusOK)
	c.WantPage(c.Get(""), http.StatusOK).Shows("1 of 7").Hides("Changes to finish")
	tab.press("autosave", http.StatusOK, "employment_income.gross_salary", "1")
	c.WantPage(c.Get(""), http.StatusOK).Shows("1 of 7", "Changes to finish")
	if got, want := c.Events(), []string{"accessed", "section_completed income 1"}; !slices.Equal(got, want) {
		t.Errorf("events = %q, want %q", got, want)
	}
}

// TestChangeThatIsTakenBack types in a completed section and deletes it again: there is
// nothing to finish, and no second event.
func TestChangeThatIsTakenBack(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	for _, section := range []string{"personal_details", "income", "assets", "expenses"} {
		c.Answer(section)
	}
	events := c.Events()
	for section, input := range map[string]string{"personal_details": "occupation", "income": "employment_income.gross_salary",
		"assets": "vehicles.0.value", "expenses": "living.medical"} {
		tab := load(c, section)
		before := tab.values.Get(input)
		tab.press("autosave", http.StatusOK, input, before+"1")
		c.WantPage(c.Get(""), http.StatusOK).Shows("Changes to finish")
		tab.press("autosave", http.StatusOK, input, before)
		c.WantPage(c.Get(""), http.StatusOK).Hides("Changes to finish")
		tab.press("autosave", http.StatusOK, input, before+"1")
		c.WantPage(c.Get(""), http.StatusOK).Shows("Changes to finish")
		tab.press("autosave", http.StatusOK, input, before)
		stored(c, section, input, before)
	}
	tab := load(c, "assets")
	tab.press("add:vehicles", http.StatusOK)
	tab.press("autosave", http.StatusOK, "vehicles.2.description", "B")
	tab.press("autosave", http.StatusOK, "vehicles.2.description", "")
	tab.press("autosave", http.StatusOK, "vehicles.2.description", "Boat").WantField("vehicles.2.description", "Boat")
	stored(c, "assets", "vehicles.2.description", "Boat")
	if got := c.Events(); !slices.Equal(got, events) {
		t.Errorf("events = %q, want %q", got, events)
	}
}

// TestConflictLeavesASectionCompleted continues from a page that is out of date: nothing is
// stored, so there is nothing to finish.
func TestConflictLeavesASectionCompleted(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	c.Answer("personal_details")
	phone, computer := load(c, "personal_details"), load(c, "personal_details")
	phone.values.Set("occupation", "Baker")
	phone.values.Set("action", "continue")
	c.WantRedirect(phone.Post("personal_details", phone.values))
	computer.press("continue", http.StatusUnprocessableEntity, "occupation", "Cook").Shows("Baker")
	c.WantPage(c.Get(""), http.StatusOK).Hides("Changes to finish")
	stored(c, "personal_details", "occupation", "Baker")
	computer.values.Set("seen", url.Values{"occupation": {"Baker"}}.Encode())
	computer.press("take:occupation", http.StatusOK)
	c.WantPage(c.Get(""), http.StatusOK).Hides("Changes to finish")
}

// TestAutosaveAfterContinue checks that a save that arrives late undoes nothing.
func TestAutosaveAfterContinue(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	tab := load(c, "income")
	late := load(c, "income")
	late.values.Set("employment_income.gross_salary", "98,500.5")
	late.values.Set("employment_income.gross_salary.period", "year")
	tab.values.Set("employment_income.gross_salary", "98,500.5")
	tab.values.Set("employment_income.gross_salary.period", "year")
	tab.values.Set("action", "continue")
	c.WantRedirect(c.Post("income", tab.values))
	late.press("autosave", http.StatusOK)
	c.WantPage(c.Get(""), http.StatusOK).Shows("1 of 7").Hides("Changes to finish")
}

func TestTotalsOfWhatIsTyped(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	values := statementtest.Values("assets")
	values.Set("action", "autosave")
	c.WantPage(c.Post("assets", values), http.StatusOK).Shows("$1,026,405.29", "−$1,666.67")
	c.WantPage(c.Get(""), http.StatusOK).Shows("0 of 7")
}

// TestTwentySavesAtOnce checks that each tab's field is kept.
func TestTwentySavesAtOnce(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	names := []string{"full_name", "date_of_birth.day", "email", "phone", "address.suburb", "address.postcode"}
	tabs := make([]*loaded, len(names))
	for i := range tabs {
		tabs[i] = load(c, "personal_details")
		if _, ok := tabs[i].values[names[i]]; !ok {
			t.Fatalf("the page has no input %s, but %q", names[i], slices.Sorted(maps.Keys(tabs[i].values)))
		}
		tabs[i].values.Set(names[i], "7")
		tabs[i].values.Set("action", "autosave")
	}
	atOnce(len(tabs), func(i int) { tabs[i].Post("personal_details", tabs[i].values) })
	for _, name := range names {
		stored(c, "personal_details", name, "7")
	}
}

// TestSaveIsBounded saves the longest answers with all that they can replace,
// and refuses more than a section holds before it is read.
func TestSaveIsBounded(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	c := harness.New(t).NewCustomer()
	for name, most := range map[string]int{"personal_details": 256 << 10, "income": 256 << 10, "expenses": 256 << 10,
		"assets": 4 << 20, "liabilities": 4 << 20} {
		longest := statementtest.Long().Section(name, statementtest.Now()).Inputs()
		for input, values := range longest {
			if input != "phone" && len(values) == 1 && len(values[0]) > 60 {
				longest.Set(input, strings.Repeat("字", utf8.RuneCountInString(values[0])))
			}
		}
		was := longest.Encode()
		longest.Set("was", was)
		if most < 4<<20 {
			longest["was"] = []string{was, was, was, was}
		}
		longest.Set("action", "autosave")
		if got := c.Post(name, longest); got.Code != http.StatusOK {
			t.Errorf("%s: %d bytes answer %d", name, len(longest.Encode()), got.Code)
		}
		longest.Set("more", strings.Repeat("x", most))
		if got := c.Post(name, longest); got.Code != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: %d bytes answer %d", name, len(longest.Encode()), got.Code)
		}
	}
}

// TestStuckSavesDelayOthersLittle keeps as many automatic saves waiting for a lock as
// may be under way: another customer's is taken nevertheless.
func TestStuckSavesDelayOthersLittle(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	save := url.Values{"action": {"autosave"}, "occupation": {"Nurse"}}
	atOnce := min(2*runtime.GOMAXPROCS(0), 4) // a test's pool has 8 connections
	var stuck sync.WaitGroup
	h.OK(h.DB.InTx(t.Context(), func(tx *db.Tx) error {
		for range atOnce {
			c := h.NewCustomer()
			c.Get("personal_details")
			if _, err := tx.LockOpenSession(t.Context(), c.ID, h.Clock.Now()); err != nil {
				return err
			}
			stuck.Go(func() { c.WantPage(c.Post("personal_details", save), http.StatusOK) })
		}
		h.WaitForLocks(atOnce)
		c := h.NewCustomer()
		c.Get("personal_details")
		c.WantPage(c.Post("personal_details", save), http.StatusOK)
		return nil
	}))
	stuck.Wait()
}
