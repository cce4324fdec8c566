package form_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"candor/handlers"
	"candor/internal/testkit"
	"candor/internal/testkit/browsertest"
	"candor/internal/testkit/harness"
)

// A line is the connection between browsers and a server.
type line struct{ state atomic.Int32 }

const (
	whole     = iota
	cut       // no request arrives
	answerCut // requests arrive, no response does
)

func (l *line) to(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch l.state.Load() {
		case answerCut:
			next.ServeHTTP(httptest.NewRecorder(), r)
			fallthrough
		case cut:
			panic(http.ErrAbortHandler)
		}
		next.ServeHTTP(w, r)
	})
}

// typing is a customer whose browsers are behind a line.
type typing struct {
	*harness.Customer
	line line
	base string
}

func newTyping(t *testing.T) *typing {
	t.Helper()
	h := harness.New(t, func(c *handlers.Config) { c.Development = true })
	c := &typing{Customer: h.NewCustomer()}
	server := httptest.NewServer(c.line.to(h.Handler))
	t.Cleanup(server.Close)
	c.base = server.URL
	return c
}

// device opens a section in a browser of its own.
func (c *typing) device(t *testing.T, section string) *browsertest.Tab {
	t.Helper()
	tab := browsertest.New(t, browsertest.Options{AllowCuts: true, AllowStatus: []int{http.StatusGone}})
	tab.Open(c.base + c.Link(c.ID))
	tab.Open(c.base + c.Path(section))
	return tab
}

const saveStatus = ".save-status [role=status]"

func TestWhatIsTypedIsSaved(t *testing.T) {
	t.Parallel()
	c := newTyping(t)
	tab := c.device(t, "income")
	tab.Click(input("employment_income"))
	tab.Type(input("employment_income.gross_salary"), "98500")
	tab.WaitForText(saveStatus, "Saved ")
	tab.WaitForText(".totals", "$98,500.00")
	tab.Axe()
	stored(c.Customer, "income", "employment_income.gross_salary", "98,500")
	tab.Type(input("employment_income.gross_salary"), "120000")
	tab.Open("about:blank") // within the 800 ms
	testkit.Await(t, "what was typed last was not saved", func() bool {
		return load(c.Customer, "income").values.Get("employment_income.gross_salary") == "120,000"
	})
}

func TestTwoDevices(t *testing.T) {
	t.Parallel()
	c := newTyping(t)
	one, two := c.device(t, "personal_details"), c.device(t, "personal_details")
	one.Type(input("occupation"), "Nurse")
	one.WaitForText(saveStatus, "Saved ")
	two.Type(input("employer"), "City Hospital")
	two.WaitForText(saveStatus, "Saved ")
	if got := two.Value(input("occupation")); got != "Nurse" {
		t.Errorf("the second device shows the occupation %q", got)
	}
	stored(c.Customer, "personal_details", "occupation", "Nurse", "employer", "City Hospital")
	one.Type(input("employer"), "Town Clinic")
	one.WaitForText(".collision", "another device saved a different answer")
	one.WaitForText(".collision", "Use City Hospital")
	one.WaitForText("#status", "Employer: another device saved a different answer. Choose one.")
	if got := one.Tree(); !slices.ContainsFunc(got, func(line string) bool {
		return strings.HasPrefix(line, "textbox Employer") && strings.HasSuffix(line, "(invalid)")
	}) {
		t.Errorf("the employer isn't invalid:\n%s", strings.Join(got, "\n"))
	}
	one.WaitForTrue(described + `.endsWith("Employer: another device saved a different answer. Choose one.")`)
	one.WaitForTrue(`document.querySelector(".save-status [role=status]").textContent === ""`)
	if keptOnDevice(one) != 1 {
		t.Error("the device doesn't keep what collides")
	}
	one.Axe()
	one.UniqueIDs()
	one.FitsWidth()
	one.Screenshot("form/15-collision")
	one.Type(input("occupation"), "Doctor")
	one.WaitForText(saveStatus, "")
	one.Click(`button[value="keep:employer"]`)
	one.WaitGone(".collision")
	one.WaitForFocus("employer")
	testkit.Await(t, "the device still keeps what was chosen", func() bool { return keptOnDevice(one) == 0 })
	stored(c.Customer, "personal_details", "occupation", "Doctor", "employer", "Town Clinic")
	two.Type(input("employer"), "Elsewhere")
	two.WaitFor(".collision")
	two.Click(`button[value="take:employer"]`)
	two.WaitGone(".collision")
	if got := two.Value(input("employer")); got != "Town Clinic" {
		t.Errorf("the employer is %q, want the other device's", got)
	}
	one.Type(input("employer"), "Red Bank")
	one.WaitForText(saveStatus, "Saved ")
	two.Type(input("employer"), "Elsewhere")
	two.WaitFor(".collision")
	two.Type(input("employer"), "Red Bank") // as on the other device: nothing collides any more
	two.WaitGone(".collision")
	two.WaitForTrue(`!` + described + ` && !document.getElementById("employer").ariaInvalid`)
}

// described is what describes the employer, "" for nothing.
const described = `(document.getElementById("employer").getAttribute("aria-describedby") ?? "").split(" ").map((id) => id && document.getElementById(id).textContent).join(" ").trim()`

func TestItemsOfTwoDevices(t *testing.T) {
	t.Parallel()
	c := newTyping(t)
	one, two := c.device(t, "assets"), c.device(t, "assets")
	one.Click(input("vehicles"))
	one.Type(input("vehicles.0.description"), "Ute")
	one.WaitForText(saveStatus, "Saved ")
	two.Click(input("bank_accounts"))
	two.Type(input("bank_accounts.0.institution"), "Red Bank")
	two.WaitForText(saveStatus, "Saved ")
	two.WaitForTrue(`document.getElementById("vehicles").checked`)
	if got := two.Value(input("vehicles.0.description")); got != "Ute" {
		t.Errorf("the second device shows the vehicle %q", got)
	}
	one.Type(input("vehicles.0.value"), "100")
	one.WaitForTrue(`document.getElementById("bank_accounts.0.institution").value === "Red Bank"`)
	two.Click(`button[value="add:vehicles"]`)
	two.WaitForFocus("vehicles.1.description")
	one.Type(input("vehicles.0.description"), "Blue ute")
	one.WaitForText(".collision", "this list was changed on another device.")
	one.Axe()
	one.Click(`button[value="join:vehicles"]`)
	one.WaitFor(input("vehicles.2.description"))
	stored(c.Customer, "assets", "vehicles.0.description", "Ute", "vehicles.2.description", "Blue ute", "bank_accounts.0.institution", "Red Bank")
}

func TestConnectionIsCut(t *testing.T) {
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

// TestDeviceKeepsWhatWasNotSent opens a page again whose tab was killed without
// a connection.
func TestDeviceKeepsWhatWasNotSent(t *testing.T) {
	t.Parallel()
	c := newTyping(t)
	tab := c.device(t, "personal_details")
	c.line.state.Store(cut)
	tab.Type(input("phone"), "0400 000 001")
	tab.WaitForText(saveStatus, "No connection")
	tab.Open("about:blank")
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

// TestHubSendsWhatWasKept opens the list of sections, and the check page, after a
// section's tab was left offline.
func TestHubSendsWhatWasKept(t *testing.T) {
	t.Parallel()
	for page, says := range map[string]string{"": "Changes to finish", "declaration": "Some sections aren’t finished"} {
		c := newTyping(t)
		c.AnswerAll()
		tab := c.device(t, "personal_details")
		c.line.state.Store(cut)
		tab.Type(input("phone"), "0400 000 001")
		tab.WaitForText(saveStatus, "No connection")
		tab.Open("about:blank")
		c.line.state.Store(whole)
		tab.Open(c.base + "/")                                                                                        // is of no session, so nothing is sent from it
		browsertest.Eval[bool](tab, `(async () => { for (let i = 0; i < 20; i++) await fetch("/"); return true })()`) // longer than sending would take
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

// TestFieldsThatWereLeftAreKept kills the tab as soon as the next field has the
// focus.
func TestFieldsThatWereLeftAreKept(t *testing.T) {
	t.Parallel()
	c := newTyping(t)
	tab := c.device(t, "personal_details")
	tab.Slow3G()
	focus := func(id string) {
		browsertest.Eval[bool](tab, fmt.Sprintf("((f) => (f.focus(), f.select(), true))(document.getElementById(%q))", id))
	}
	for _, typed := range []string{"Nurse", "Doctor", "Cook"} {
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
			tab.WaitForTrue(fmt.Sprintf("document.getElementById(%q).value === %q", id, typed))
		}
	}
}

// TestContinueLeadsToWhatWasKept goes to a section whose tab was killed by the
// button of the one before, which loads no page.
func TestContinueLeadsToWhatWasKept(t *testing.T) {
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

// TestClosedSessionEndsAutosave shows what happened, and keeps nothing.
func TestClosedSessionEndsAutosave(t *testing.T) {
	t.Parallel()
	c := newTyping(t)
	tab := c.device(t, "personal_details")
	_, err := c.Service.Sessions.Cancel(t.Context(), c.TestScope(), c.ID, harness.Operator)
	c.OK(err)
	tab.Type(input("phone"), "0400 000 001")
	tab.WaitForText("main", "This statement is no longer needed")
	testkit.Await(t, "the device still keeps what was typed", func() bool { return keptOnDevice(tab) == 0 })
}

// TestFailedSaveCanBeRepeated shows a button while saves are refused.
func TestFailedSaveCanBeRepeated(t *testing.T) {
	t.Parallel()
	h, base := harness.Listen(t, fewPosts(t, 1, 1000, 1000))
	c := h.NewCustomer()
	tab := browsertest.New(t, browsertest.Options{AllowStatus: []int{http.StatusTooManyRequests}})
	tab.Open(base + h.Link(c.ID))
	tab.Open(base + c.Path("personal_details"))
	c.Post("income", nil)
	tab.Type(input("phone"), "0400 000 001")
	tab.WaitForText(saveStatus, "Could not be saved")
	tab.Axe()
	tab.FitsWidth()
	tab.Screenshot("form/17-failed")
	h.Clock.Advance(1e12)
	tab.Click(".save-status button")
	tab.WaitForText(saveStatus, "Saved ")
	stored(c, "personal_details", "phone", "0400 000 001")
}

// keptScript counts the pages that the device keeps.
const keptScript = `new Promise((done) => {
	const opening = indexedDB.open("candor", 1);
	opening.onsuccess = () => {
		const count = opening.result.transaction("typed").objectStore("typed").count();
		count.onsuccess = () => { opening.result.close(); done(count.result); };
	};
})`

func keptOnDevice(tab *browsertest.Tab) int { return browsertest.Eval[int](tab, keptScript) }
