package form_test

import (
	"maps"
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
type line struct {
	state, refused, held, lost atomic.Int32
	release                    chan bool // whether a held response arrives
}

const (
	whole       = iota
	cut         // no request arrives
	answerCut   // requests arrive, no response does
	unknown     // posts lose their cookie
	slowButtons // what buttons post arrives, the response waits for release
	slowSaves   // likewise for automatic saves
)

func (l *line) to(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch state := l.state.Load(); state {
		case answerCut:
			next.ServeHTTP(httptest.NewRecorder(), r)
			fallthrough
		case cut:
			l.lost.Add(1)
			panic(http.ErrAbortHandler)
		case unknown:
			if r.Method == http.MethodPost {
				defer l.refused.Add(1)
				r.Header.Del("Cookie")
			}
		case slowButtons, slowSaves:
			if r.Method == http.MethodPost && (r.Header.Get("HX-Request") != "") == (state == slowButtons) {
				l.hold(next, w, r)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

func (l *line) hold(next http.Handler, w http.ResponseWriter, r *http.Request) {
	response := httptest.NewRecorder()
	next.ServeHTTP(response, r)
	l.held.Add(1)
	select {
	case arrives := <-l.release:
		if !arrives {
			panic(http.ErrAbortHandler)
		}
	case <-r.Context().Done():
	}
	maps.Copy(w.Header(), response.Header())
	w.WriteHeader(response.Code)
	_, _ = response.Body.WriteTo(w)
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
	c := &typing{Customer: h.NewCustomer(), line: line{release: make(chan bool)}}
	server := testkit.Serve(t, c.line.to(h.Handler))
	c.base = server.URL
	return c
}

// device opens a section in a browser of its own.
func (c *typing) device(t *testing.T, section string) *browsertest.Tab {
	t.Helper()
	tab := browsertest.New(t, browsertest.Options{AllowCuts: true, AllowStatus: []int{http.StatusNotFound, http.StatusGone}})
	arrive(tab, c.base, c.Customer, section)
	return tab
}

const saveStatus = ".save-status [role=status]"

func TestBrowserWhatIsTypedIsSaved(t *testing.T) {
	t.Parallel()
	c := newTyping(t)
	tab := c.device(t, "income")
	tab.Click(input("employment_income"))
	tab.Select(input("employment_income.gross_salary.period"), "year")
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

func TestBrowserTwoDevices(t *testing.T) {
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
	one.WaitForText(".collision", "another device or tab saved a different answer")
	one.WaitForText(".collision", "Use City Hospital")
	one.WaitForText("#status", "Employer: another device or tab saved a different answer. Choose one.")
	if got := one.Tree(); !slices.ContainsFunc(got, func(line string) bool {
		return strings.HasPrefix(line, "textbox Employer") && strings.HasSuffix(line, "(invalid)")
	}) {
		t.Errorf("the employer isn't invalid:\n%s", strings.Join(got, "\n"))
	}
	one.WaitForTrue(described + `.endsWith("Employer: another device or tab saved a different answer. Choose one.")`)
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

func TestBrowserItemsOfTwoDevices(t *testing.T) {
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
	one.WaitForValue(input("bank_accounts.0.institution"), "Red Bank")
	two.Click(`button[value="add:vehicles"]`)
	two.WaitForFocus("vehicles.1.description")
	one.Type(input("vehicles.0.description"), "Blue ute")
	one.WaitForText(".collision", "this list was changed on another device.")
	one.Axe()
	one.Click(`button[value="join:vehicles"]`)
	one.WaitFor(input("vehicles.2.description"))
	stored(c.Customer, "assets", "vehicles.0.description", "Ute", "vehicles.2.description", "Blue ute",
		"bank_accounts.0.institution", "Red Bank")
}

// TestBrowserClosedSessionEndsAutosave shows what happened, and keeps nothing.
func TestBrowserClosedSessionEndsAutosave(t *testing.T) {
	t.Parallel()
	c := newTyping(t)
	tab := c.device(t, "personal_details")
	_, err := c.Service.Sessions.Cancel(t.Context(), c.TestScope(), c.ID, harness.Operator)
	c.OK(err)
	tab.Type(input("phone"), "0400 000 001")
	tab.WaitForText("main", "This statement is no longer needed")
	testkit.Await(t, "the device still keeps what was typed", func() bool { return keptOnDevice(tab) == 0 })
}

// TestBrowserFailedSaveCanBeRepeated shows a button while saves are refused.
func TestBrowserFailedSaveCanBeRepeated(t *testing.T) {
	t.Parallel()
	h, base := harness.Listen(t, fewPosts(t, 1, 1000, 1000))
	c := h.NewCustomer()
	tab := browsertest.New(t, browsertest.Options{AllowStatus: []int{http.StatusTooManyRequests}})
	arrive(tab, base, c, "personal_details")
	c.Post("income", nil)
	tab.Type(input("phone"), "0400 000 001")
	tab.WaitForText(saveStatus, "Could not be saved")
	tab.Axe()
	tab.FitsWidth()
	tab.Screenshot("form/17-failed")
	tab.WaitForTrue("document.querySelector('.save-status button').checkVisibility()")
	h.Clock.Advance(1e12)
	// By script, since the button is hidden if the page has tried again just before.
	browsertest.Eval[bool](tab, "document.querySelector('.save-status button').click(), true")
	tab.WaitForText(saveStatus, "Saved ")
	stored(c, "personal_details", "phone", "0400 000 001")
}
