package form_test

import (
	"fmt"
	"net/http"
	"testing"

	"candor/internal/testkit"
	"candor/internal/testkit/browsertest"
)

// leaveUnsent types a phone number into a device without a connection and leaves the page.
func (c *typing) leaveUnsent(t *testing.T) *browsertest.Tab {
	t.Helper()
	tab := c.device(t, "personal_details")
	c.line.state.Store(cut)
	tab.Type(input("phone"), "0400 000 001")
	tab.WaitForText(saveStatus, "No connection")
	tab.Open("about:blank")
	return tab
}

func TestBrowserConnectionIsCut(t *testing.T) {
	t.Parallel()
	for name, state := range map[string]int32{"before the request": cut, "before the response": answerCut} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newTyping(t)
			tab := c.device(t, "personal_details")
			c.line.state.Store(state)
			tab.Type(input("phone"), "0400 000 001")
			tab.WaitForText(saveStatus, "No connection. What you type stays here")
			tab.Type(input("phone"), "0400 000 002")
			tab.Screenshot("form/16-offline")
			c.line.state.Store(whole)
			browsertest.Eval[bool](tab, `window.dispatchEvent(new Event("online"))`)
			tab.WaitForText(saveStatus, "Saved ")
			tab.WaitForTrue(`!document.querySelector("[data-sent]")`)
			tab.WaitForTrue(`!document.querySelector(".collision")`)
			tab.Click(".actions .button-primary")
			tab.WaitFor(".error-summary")
			stored(c.Customer, "personal_details", "phone", "0400 000 002")
		})
	}
}

// TestBrowserHiddenWithoutAConnection looks into another app after each field: everything is saved
// once there is a connection, also what was typed in more states than a save can name.
func TestBrowserHiddenWithoutAConnection(t *testing.T) {
	t.Parallel()
	fields := []string{"phone", "occupation", "employer", "address.street", "address.suburb", "address.postcode"}
	for n := 2; n <= len(fields); n += len(fields) - 2 {
		c := newTyping(t)
		tab := c.device(t, "personal_details")
		c.line.state.Store(cut)
		var want []string
		for i, id := range fields[:n] {
			want = append(want, id, fmt.Sprint("040", i))
			tab.Type(input(id), want[2*i+1])
			if i == 0 {
				tab.WaitForText(saveStatus, "No connection")
				continue
			}
			hide(tab)
		}
		c.line.state.Store(whole)
		browsertest.Eval[bool](tab, `window.dispatchEvent(new Event("online"))`)
		tab.WaitForText(saveStatus, "Saved ")
		testkit.Await(t, "the device to keep nothing", func() bool { return keptOnDevice(tab) == 0 })
		stored(c.Customer, "personal_details", want...)
	}
}

// hide looks into another app.
func hide(tab *browsertest.Tab) {
	browsertest.Eval[bool](tab,
		`Object.defineProperty(document, "visibilityState", { configurable: true, get: () => "hidden" }), document.dispatchEvent(new Event("visibilitychange")), delete document.visibilityState`)
}

// TestBrowserHiddenPageTriesAgain looks into another app while the connection is lost; the
// browser doesn't say that it is back.
func TestBrowserHiddenPageTriesAgain(t *testing.T) {
	t.Parallel()
	c := newTyping(t)
	tab := c.device(t, "personal_details")
	c.line.state.Store(cut)
	tab.Type(input("phone"), "0400 000 001")
	tab.WaitForText(saveStatus, "No connection")
	hide(tab)
	c.line.state.Store(whole)
	tab.WaitForText(saveStatus, "Saved ")
	stored(c.Customer, "personal_details", "phone", "0400 000 001")
}

// TestBrowserDeviceKeepsWhatWasNotSent opens a page again whose tab was killed without
// a connection.
func TestBrowserDeviceKeepsWhatWasNotSent(t *testing.T) {
	t.Parallel()
	c := newTyping(t)
	tab := c.leaveUnsent(t)
	c.line.state.Store(whole)
	tab.Open(c.base + c.Path("personal_details"))
	tab.WaitForText(saveStatus, "Saved ")
	if got := tab.Value(input("phone")); got != "0400 000 001" {
		t.Errorf("the phone is %q, want what was typed", got)
	}
	stored(c.Customer, "personal_details", "phone", "0400 000 001")
	if left := keptOnDevice(tab); left != 0 {
		t.Errorf("%d pages are still kept on the device", left)
	}
}

// aWhile is longer than the page takes to send something or to take a response.
const aWhile = `(async () => { for (let i = 0; i < 20; i++) await fetch("/"); return true })()`

// TestBrowserHubSendsWhatWasKept opens the list of sections, and the check page, after a
// section's tab was left offline.
func TestBrowserHubSendsWhatWasKept(t *testing.T) {
	t.Parallel()
	for page, says := range map[string]string{"": "Changes to finish", "declaration": "Some sections aren’t finished"} {
		c := newTyping(t)
		c.AnswerAll()
		tab := c.leaveUnsent(t)
		c.line.state.Store(whole)
		tab.Open(c.base + "/") // is of no session, so nothing is sent from it
		browsertest.Eval[bool](tab, aWhile)
		if kept := keptOnDevice(tab); kept != 1 {
			t.Errorf("%d pages are kept on the device, want 1", kept)
		}
		tab.Open(c.base + c.Path(page))
		tab.WaitForText("main", says)
		stored(c.Customer, "personal_details", "phone", "0400 000 001")
		if left := keptOnDevice(tab); left != 0 {
			t.Errorf("%d pages are still kept on the device", left)
		}
	}
}

// TestBrowserFieldsThatWereLeftAreKept kills the tab as soon as the next field has the
// focus.
func TestBrowserFieldsThatWereLeftAreKept(t *testing.T) {
	t.Parallel()
	c := newTyping(t)
	tab := c.device(t, "personal_details")
	tab.Slow()
	focus := func(id string) {
		browsertest.Eval[bool](tab, fmt.Sprintf("((f) => (f.focus(), f.select(), true))(document.getElementById(%q))", id))
	}
	for _, typed := range []string{"Nurse", "Doctor"} {
		c.line.state.Store(cut)
		fields := []string{"occupation", "employer", "address.street", "address.suburb"}
		for _, id := range fields {
			focus(id)
			tab.Press(typed)
		}
		focus("phone")
		tab = tab.Kill()
		c.line.state.Store(whole)
		tab.Open(c.base + c.Path("personal_details"))
		for _, id := range fields {
			tab.WaitForValue(input(id), typed)
		}
	}
}

// TestBrowserLastKeyIsKept kills the tab right after the last of some quick keys, in a field that
// still has the focus, and in a date whose digits go to the next input.
func TestBrowserLastKeyIsKept(t *testing.T) {
	t.Parallel()
	c := newTyping(t)
	tab := c.device(t, "personal_details")
	c.line.state.Store(cut)
	for _, typed := range []string{"Midwife", "Veterinarian in the country"} {
		// a store that isn't open yet, or a write that waits for the disk, holds up the next
		testkit.Await(t, "the device to keep nothing", func() bool { return keptOnDevice(tab) == 0 })
		c.line.state.Store(cut)
		browsertest.Eval[bool](tab, `((f) => (f.focus(), f.select(), true))(document.getElementById("occupation"))`)
		tab.Press(typed)
		tab = tab.Kill()
		c.line.state.Store(whole)
		tab.Open(c.base + c.Path("personal_details"))
		tab.WaitForValue(input("occupation"), typed)
	}
	testkit.Await(t, "the device to keep nothing", func() bool { return keptOnDevice(tab) == 0 })
	c.line.state.Store(cut)
	tab.Click(input("date_of_birth.day"))
	tab.Press("2703")
	tab = tab.Kill()
	c.line.state.Store(whole)
	tab.Open(c.base + c.Path("personal_details"))
	tab.WaitForTrue(`["day", "month"].map((part) => document.getElementById("date_of_birth." + part).value).join() === "27,03"`)
}

// TestBrowserContinueLeadsToWhatWasKept goes to a section whose tab was killed by the
// button of the one before, which loads no page.
func TestBrowserContinueLeadsToWhatWasKept(t *testing.T) {
	t.Parallel()
	c := newTyping(t)
	c.WantPage(c.Get(""), http.StatusOK)
	c.Answer("personal_details")
	tab := c.device(t, "income")
	tab.Click(input("employment_income"))
	tab.WaitForText(saveStatus, "Saved ")
	c.line.state.Store(cut)
	tab.Type(input("employment_income.bonuses"), "3,200")
	tab.WaitForText(saveStatus, "No connection")
	tab = tab.Kill()
	c.line.state.Store(whole)
	tab.Open(c.base + c.Path("personal_details"))
	tab.Click(".actions .button-primary")
	tab.WaitForURL("/income")
	tab.WaitForText(saveStatus, "Saved ")
	if got := tab.Value(input("employment_income.bonuses")); got != "3,200" {
		t.Errorf("the bonuses are %q, want what was typed", got)
	}
}

// continueToIncome opens the second section by the button of the first, which loads no
// page, and ticks a salary.
func (c *typing) continueToIncome(t *testing.T) *browsertest.Tab {
	t.Helper()
	c.WantPage(c.Get(""), http.StatusOK)
	c.Answer("personal_details")
	tab := c.device(t, "personal_details")
	tab.Click(".actions .button-primary")
	tab.WaitForURL("/income")
	tab.Click(input("employment_income"))
	tab.WaitForText(saveStatus, "Saved ")
	return tab
}

// TestBrowserBackSavesWhatWasTyped presses Back within the 800 ms after the last key, which loads
// no page.
func TestBrowserBackSavesWhatWasTyped(t *testing.T) {
	t.Parallel()
	c := newTyping(t)
	tab := c.continueToIncome(t)
	browsertest.Eval[bool](tab,
		`((f) => (f.value = "3200", f.dispatchEvent(new Event("input", { bubbles: true })), history.back(), true))(document.getElementById("employment_income.bonuses"))`)
	tab.WaitFor(input("occupation"))
	testkit.Await(t, "what was typed last was not saved", func() bool {
		return load(c.Customer, "income").values.Get("employment_income.bonuses") == "3,200"
	})
	testkit.Await(t, "the device still keeps what was saved", func() bool { return keptOnDevice(tab) == 0 })
}

// TestBrowserBackWithoutAConnection leaves a section's form under the address of another: it is
// kept as what it is.
func TestBrowserBackWithoutAConnection(t *testing.T) {
	t.Parallel()
	c := newTyping(t)
	tab := c.continueToIncome(t)
	c.line.state.Store(cut)
	tab.Back()
	tab.WaitForText(saveStatus, "No connection")
	tab.Type(input("employment_income.bonuses"), "3,200")
	tab.Press("\t")
	tab = tab.Kill()
	c.line.state.Store(whole)
	tab.Open(c.base + c.Path("income"))
	tab.WaitForText(saveStatus, "Saved ")
	stored(c.Customer, "income", "employment_income.bonuses", "3,200")
}

// TestBrowserListButtonLeavesNothingOnTheDevice adds an item right after typing another.
func TestBrowserListButtonLeavesNothingOnTheDevice(t *testing.T) {
	t.Parallel()
	c := newTyping(t)
	tab := c.device(t, "assets")
	tab.Click(input("vehicles"))
	tab.WaitForText(saveStatus, "Saved ")
	browsertest.Eval[bool](tab,
		`((f) => (f.focus(), f.value = "Ute", ["input", "change"].forEach((type) => f.dispatchEvent(new Event(type, { bubbles: true }))), document.querySelector("button[value='add:vehicles']").click(), true))(document.getElementById("vehicles.0.description"))`)
	tab.WaitForFocus("vehicles.1.description")
	testkit.Await(t, "the device still keeps what was sent", func() bool { return keptOnDevice(tab) == 0 })
	stored(c.Customer, "assets", "vehicles.0.description", "Ute")
}

// TestBrowserUnknownSessionKeepsWhatWasTyped meets the answer of a browser without the cookie, on
// the section's page and on the list of sections.
func TestBrowserUnknownSessionKeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"personal_details", ""} {
		c := newTyping(t)
		tab := c.leaveUnsent(t)
		c.line.state.Store(unknown)
		tab.Open(c.base + c.Path(page))
		testkit.Await(t, "what was kept was not sent", func() bool { return c.line.refused.Load() > 0 })
		browsertest.Eval[bool](tab, `fetch("/").then(() => true)`)
		if kept := keptOnDevice(tab); kept != 1 {
			t.Errorf("%q: %d pages are kept on the device, want 1", page, kept)
		}
		c.line.state.Store(whole)
		tab.Open(c.base + c.Path("personal_details"))
		tab.WaitForText(saveStatus, "Saved ")
		stored(c.Customer, "personal_details", "phone", "0400 000 001")
	}
}

// keptScript asks for the pages that the device keeps: their count, or all of them.
const keptScript = `new Promise((done) => {
	const opening = indexedDB.open("candor", 1);
	opening.onsuccess = () => {
		const kept = opening.result.transaction("typed").objectStore("typed").%s();
		kept.onsuccess = () => { opening.result.close(); done(kept.result); };
	};
})`

func keptOnDevice(tab *browsertest.Tab) int {
	return browsertest.Eval[int](tab, fmt.Sprintf(keptScript, "count"))
}
