package form_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"candor/internal/testkit"
	"candor/internal/testkit/browsertest"
)

// waits waits until so many requests have been held on the line.
func (c *typing) waits(t *testing.T, held int32) {
	t.Helper()
	testkit.Await(t, "the request to wait for its response", func() bool { return c.line.held.Load() == held })
}

// keeps waits until the device keeps that text.
func keeps(t *testing.T, tab *browsertest.Tab, typed string) {
	t.Helper()
	testkit.Await(t, "the device to keep "+typed, func() bool {
		return strings.Contains(browsertest.Eval[string](tab, fmt.Sprintf(keptScript, "getAll")+".then(JSON.stringify)"),
			url.QueryEscape(typed))
	})
}

// TestBrowserTypingWhileAnItemIsAdded types into the list while the response to its button is
// under way, and looks into another app, which saves at once.
func TestBrowserTypingWhileAnItemIsAdded(t *testing.T) {
	t.Parallel()
	for _, hidden := range []bool{false, true} {
		c := newTyping(t)
		tab := c.device(t, "assets")
		tab.Click(input("vehicles"))
		tab.Type(input("vehicles.0.description"), "Ute")
		tab.Type(input("vehicles.0.value"), "12500")
		tab.WaitForText(saveStatus, "Saved ")
		c.line.state.Store(slowButtons)
		tab.Click(`button[value="add:vehicles"]`)
		c.waits(t, 1)
		tab.Click(input("bank_accounts"))
		tab.Type(input("vehicles.0.description"), "Blue ute")
		if keeps(t, tab, "Blue ute"); hidden {
			hide(tab)
			tab.WaitFor(".collision")
		}
		c.line.release <- true
		tab.WaitFor(input("vehicles.1.description"))
		tab.WaitForFocus("vehicles.0.description")
		tab.Press(" of 2019")
		tab.WaitForText(saveStatus, "Saved ")
		testkit.Await(t, "the device still keeps what was saved", func() bool { return keptOnDevice(tab) == 0 })
		tab.WaitForTrue(`!document.querySelector(".collision") && document.getElementById("bank_accounts").checked`)
		stored(c.Customer, "assets", "vehicles.0.description", "Blue ute of 2019", "vehicles.0.value", "12,500")
	}
}

// TestBrowserTypingWhileAnItemIsRemoved types into an item that gets another number: its list
// shows both.
func TestBrowserTypingWhileAnItemIsRemoved(t *testing.T) {
	t.Parallel()
	c := newTyping(t)
	tab := c.device(t, "assets")
	tab.Click(input("vehicles"))
	tab.Type(input("vehicles.0.description"), "Ute")
	tab.Click(`button[value="add:vehicles"]`)
	tab.Type(input("vehicles.1.description"), "Van")
	tab.WaitForText(saveStatus, "Saved ")
	c.line.state.Store(slowButtons)
	tab.Click(`button[value="remove:vehicles.0"]`)
	c.waits(t, 1)
	tab.Type(input("vehicles.1.description"), "Red van")
	keeps(t, tab, "Red van")
	c.line.release <- true
	tab.WaitForText(".collision", "Show both")
	c.line.state.Store(whole)
	tab.Click(`button[value="join:vehicles"]`)
	tab.WaitGone(".collision")
	stored(c.Customer, "assets", "vehicles.0.description", "Van", "vehicles.1.description", "Red van")
}

// TestBrowserTypingAfterContinue changes an answer, presses Continue and changes it again while
// the response is under way.
func TestBrowserTypingAfterContinue(t *testing.T) {
	t.Parallel()
	for section, id := range map[string]string{"personal_details": "occupation", "assets": "vehicles.0.description"} {
		t.Run(section, func(t *testing.T) {
			t.Parallel()
			c := newTyping(t)
			c.AnswerAll()
			tab := c.device(t, section)
			c.line.state.Store(slowButtons)
			browsertest.Eval[bool](tab,
				fmt.Sprintf(
					`((f) => (f.value = "Before", ["input", "change"].forEach((type) => f.dispatchEvent(new Event(type, { bubbles: true }))), document.querySelector(".actions .button-primary").click(), true))(document.getElementById(%q))`, id))
			c.waits(t, 1)
			tab.Type(input(id), "After")
			keeps(t, tab, "After")
			c.line.release <- true
			tab.WaitGone(input(id))
			testkit.Await(t, "what was typed last was not saved", func() bool {
				return load(c.Customer, section).values.Get(id) == "After"
			})
			testkit.Await(t, "the device still keeps what was saved", func() bool { return keptOnDevice(tab) == 0 })
		})
	}
}

// TestBrowserTypingAfterContinueThatIsRefused does so in a section that isn't finished.
func TestBrowserTypingAfterContinueThatIsRefused(t *testing.T) {
	t.Parallel()
	c := newTyping(t)
	tab := c.device(t, "personal_details")
	c.line.state.Store(slowButtons)
	tab.Type(input("occupation"), "Nurse")
	tab.Click(".actions .button-primary")
	c.waits(t, 1)
	tab.Type(input("occupation"), "Doctor")
	tab.Type(input("employer"), "City Hospital")
	keeps(t, tab, "City Hospital")
	c.line.release <- true
	tab.WaitFor(".error-summary")
	tab.WaitForText(saveStatus, "Saved ")
	if got := tab.Value(input("occupation")) + ", " + tab.Value(input("employer")); got != "Doctor, City Hospital" {
		t.Errorf("the page shows %q", got)
	}
	tab.WaitForTrue(`!document.querySelector(".collision")`)
	stored(c.Customer, "personal_details", "occupation", "Doctor", "employer", "City Hospital")
}

// TestBrowserTypingWhileContinueIsLost changes an answer again whose Continue arrived, although
// its response doesn't.
func TestBrowserTypingWhileContinueIsLost(t *testing.T) {
	t.Parallel()
	c := newTyping(t)
	tab := c.device(t, "personal_details")
	c.line.state.Store(slowButtons)
	tab.Type(input("occupation"), "Nurse")
	tab.Click(".actions .button-primary")
	c.waits(t, 1)
	tab.Type(input("occupation"), "Doctor")
	keeps(t, tab, "Doctor")
	c.line.state.Store(cut)
	c.line.release <- false
	tab.WaitForText(saveStatus, "No connection")
	c.line.state.Store(whole)
	tab.WaitForText(saveStatus, "Saved ")
	testkit.Await(t, "the device still keeps what was saved", func() bool { return keptOnDevice(tab) == 0 })
	tab.WaitForTrue(`!document.querySelector(".collision")`)
	stored(c.Customer, "personal_details", "occupation", "Doctor")
}

// TestBrowserContinueWhileWhatWasKeptIsSent presses Continue before what the device kept of the
// page is stored.
func TestBrowserContinueWhileWhatWasKeptIsSent(t *testing.T) {
	t.Parallel()
	c := newTyping(t)
	c.WantPage(c.Get(""), http.StatusOK)
	c.Answer("personal_details")
	tab := c.leaveUnsent(t)
	c.line.state.Store(slowSaves)
	tab.Open(c.base + c.Path("personal_details"))
	c.waits(t, 1)
	c.line.state.Store(slowButtons)
	tab.Type(input("occupation"), "Doctor")
	tab.Click(".actions .button-primary")
	c.waits(t, 2)
	c.line.release <- true // the save, which came first
	browsertest.Eval[bool](tab, aWhile)
	c.line.release <- true
	tab.WaitForURL("/income")
	stored(c.Customer, "personal_details", "phone", "0400 000 001", "occupation", "Doctor")
	testkit.Await(t, "the device still keeps what was sent", func() bool { return keptOnDevice(tab) == 0 })
}

// backAtOnce types an amount, leaves the field and presses Back, all before any of it is
// sent.
func backAtOnce(tab *browsertest.Tab, id, typed string) {
	browsertest.Eval[bool](tab,
		fmt.Sprintf(
			`((f) => (f.value = %q, ["input", "change"].forEach((type) => f.dispatchEvent(new Event(type, { bubbles: true }))), history.back(), true))(document.getElementById(%q))`, typed, id))
	tab.WaitFor(input("occupation"))
}

// TestBrowserOlderSaveLeavesWhatIsNewerOnTheDevice presses Back while a save is under way; that
// of what was typed last is lost.
func TestBrowserOlderSaveLeavesWhatIsNewerOnTheDevice(t *testing.T) {
	t.Parallel()
	for _, resent := range []bool{false, true} {
		c := newTyping(t)
		tab := c.continueToIncome(t)
		if resent {
			c.line.state.Store(cut)
			tab.Type(input("employment_income.bonuses"), "3,200")
			tab.WaitForText(saveStatus, "No connection")
			tab = tab.Kill()
			c.line.state.Store(whole)
			tab.Open(c.base + c.Path("personal_details"))
			c.line.state.Store(slowSaves)
			tab.Click(".actions .button-primary")
		} else {
			c.line.state.Store(slowSaves)
			tab.Type(input("employment_income.bonuses"), "3,200")
		}
		c.waits(t, 1)
		c.line.state.Store(unknown)
		backAtOnce(tab, "employment_income.allowances", "1,875")
		testkit.Await(t, "the second save was not sent", func() bool { return c.line.refused.Load() > 0 })
		c.line.release <- true
		browsertest.Eval[bool](tab, aWhile)
		c.line.state.Store(whole)
		tab.Open(c.base + c.Path("income"))
		tab.WaitForText(saveStatus, "Saved ")
		stored(c.Customer, "income", "employment_income.bonuses", "3,200", "employment_income.allowances", "1,875")
	}
}
