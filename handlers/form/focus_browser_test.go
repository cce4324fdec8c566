package form_test

import (
	"fmt"
	"strings"
	"testing"

	"candor/internal/domain"
	"candor/internal/statement"
	"candor/internal/testkit"
	"candor/internal/testkit/browsertest"
	"candor/internal/testkit/harness"
)

// An arrival is what a person meets after a submit.
type arrival struct {
	Focus   string // id of the element with the focus, else its tag
	Title   string // of the tab, up to the first dash
	Status  string // what a screen reader is told
	Scroll  int    // pixels between the page's top and the window's
	Focused bool   // the focused element begins in the window
	Heading bool   // the h1 is in the window
}

const (
	measureArrival = `(() => {
	const focus = document.activeElement, box = focus.getBoundingClientRect(),
		h1 = document.querySelector("h1").getBoundingClientRect();
	return {
		Focus: focus.id || focus.tagName.toLowerCase(), Title: document.title.split(" – ")[0],
		Status: document.getElementById("status").textContent, Scroll: Math.round(scrollY),
		Focused: box.top >= 0 && box.top + 20 <= innerHeight, Heading: h1.top >= 0 && h1.bottom <= innerHeight,
	};
})()`
	// twoFrames pass before an arrival is measured, so that a scroll that
	// follows is seen. Without script no page says when it is drawn.
	twoFrames = `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`
)

// watch marks the page and counts htmx's requests; settled is true once they
// are answered. arrived is true once another page is there, too: neither a
// new <main> nor a morphed one has the mark.
const (
	watch = `(() => {
		document.getElementById("main").dataset.old = "true";
		if (!("requests" in window)) {
			window.requests = 0;
			document.addEventListener("htmx:before:request", () => window.requests++);
			document.addEventListener("htmx:finally:request", () => window.requests--);
		}
		return true;
	})()`
	settled = `(document.readyState === "complete" && !(window.requests > 0))`
	arrived = settled + ` && document.getElementById("main") && !document.getElementById("main").dataset.old`
)

// A walker goes through the form and checks what each submit leads to.
type walker struct {
	*person
	name     string
	step     int
	noScript bool
}

// submit clicks a button and checks that the focus is on the element with that
// id, in the window, and what the tab's title and the announcement are. At "h1"
// the page must be at its top with the heading in view.
func (w *walker) submit(button, focus, title, status string) {
	w.Helper()
	w.step++
	browsertest.Eval[bool](w.tab, watch)
	w.tab.Click(button)
	w.tab.WaitForTrue(arrived)
	w.tab.WaitForTrue("document.activeElement !== document.body")
	if !w.noScript {
		browsertest.Eval[bool](w.tab, twoFrames)
		w.tab.WaitForTrue("document.activeElement !== document.body") // the page before had a focus, too
	}
	got := browsertest.Eval[arrival](w.tab, measureArrival)
	w.tab.View(fmt.Sprintf("walk/%s-%02d", w.name, w.step))
	want := arrival{Focus: focus, Title: title, Status: status, Scroll: got.Scroll, Focused: true, Heading: got.Heading}
	if focus == "h1" {
		want.Scroll, want.Heading = 0, true
	}
	if got != want {
		w.Errorf("%s, step %d, after %s: %+v, want %+v", w.name, w.step, button, got, want)
	}
}

// remove takes an item of the assets away. Without script the page asks by a fold, not a dialog.
func (w *walker) remove(item, focus, status string) {
	w.Helper()
	button := fmt.Sprintf(`button.with-script[value="remove:%s"]`, item)
	if w.noScript {
		fold := fmt.Sprintf(`details:has([value="remove:%s"])`, item)
		w.tab.Click(fold + " > summary")
		button = fold + " > button"
	}
	w.submit(button, focus, "Assets", status)
}

// follow clicks a link and checks the page that it opens.
func (w *walker) follow(link, title string) {
	w.Helper()
	w.submit(link, "h1", title, "")
}

const (
	mainButton = ".actions .button-primary"
	saveButton = `.actions button[value="save"]`
	saved      = "Your answers are saved"
)

// TestBrowserEverySubmitIsSeen goes through the whole form and checks the scroll
// position, the focus, the title and the announcement after each submit.
func TestBrowserEverySubmitIsSeen(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	for name, options := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, base := harness.Listen(t)
			session := h.NewSession(h.TestScope(), domain.NewSession{CustomerName: "Zoë O'Brien"})
			w := &walker{name: strings.ReplaceAll(name, " ", "-"), noScript: options.NoScript, person: &person{
				Customer: &harness.Customer{Harness: h.In(t), ID: session.ID}, base: base, tab: browsertest.New(t, options),
			}}
			w.tab.Open(base + h.Link(session.ID))
			w.walkSections()
			w.walkDocuments()
			w.walkDeclaration()
			if story := w.Events(); count(story, "completed") != 1 {
				t.Errorf("events = %q, want one completion", story)
			}
		})
	}
}

func (w *walker) walkSections() {
	w.Helper()
	w.follow(".stack .button-primary", "Personal details")
	w.submit(mainButton, "error-summary", "Error: Personal details", "")
	w.correct()
	w.fillIn("personal_details")
	w.submit(saveButton, "h1", "Your statement", saved)
	w.follow(".stack .button-primary", "Personal details")
	w.submit(mainButton, "h1", "Income", saved)
	w.fillIn("income")
	w.submit(mainButton, "h1", "Assets", saved)
	w.tab.Back()
	w.tab.WaitFor(input("employment_income.gross_salary"))
	if got := w.tab.Value(input("employment_income.gross_salary")); strings.TrimPrefix(got, "$") != "98,750" {
		w.Errorf("the salary after going back is %q, want the saved one", got)
	}
	w.submit(mainButton, "h1", "Assets", saved)

	add := `button[value="add:vehicles"]`
	w.tick("vehicles")
	w.tab.Type(input("vehicles.0.description"), "Ute")
	w.submit(add, "vehicles.1.description", "Assets", "Vehicle 2 added")
	w.tab.Type(input("vehicles.1.description"), "Boat")
	w.tab.Type(input("vehicles.1.value"), "900")
	w.remove("vehicles.0", "item-vehicles-1", "Vehicle 1 removed")
	if !w.noScript {
		if got := w.tab.WaitForDialog(); got != "Remove Ute?" {
			w.Errorf("asked %q, want it to name the vehicle", got)
		}
	}
	if got := w.tab.Value(input("vehicles.0.description")); got != "Boat" {
		w.Errorf("the vehicle left is %q, want Boat", got)
	}
	w.submit(mainButton, "h1", "Liabilities", saved)
	w.submit(`.back-link`, "h1", "Your statement", "")
	w.follow(`a[href$="/assets"]`, "Assets")
	w.remove("vehicles.0", "vehicles", "Vehicle 1 removed")
	w.tick("real_property")
	w.tab.Type(input("real_property.0.current_value"), "lots")
	w.submit(mainButton, "error-summary", "Error: Assets", "")
	w.submit(saveButton, "h1", "Your statement", saved)
	w.follow(`a[href$="/assets"]`, "Assets")
	w.remove("real_property.0", "real_property", "Property 1 removed")
	for _, next := range []string{"Liabilities", "Expenses", "Documents"} {
		w.tick("has-none")
		w.submit(mainButton, "h1", next, saved)
	}
}

// correct finds what it typed beside an error, whose line leads to it. With script an
// invalid section makes no history: Back leads to the page before it.
func (w *walker) correct() {
	w.Helper()
	for part, typed := range map[string]string{"day": "31", "month": "feb", "year": "1985"} {
		w.tab.Type(input("date_of_birth."+part), typed)
	}
	w.submit(mainButton, "error-summary", "Error: Personal details", "")
	if got := w.tab.Value(input("date_of_birth.month")); got != "feb" {
		w.Errorf("the month after the errors is %q, want what was typed", got)
	}
	w.tab.Click(`.error-summary a[href$="date_of_birth.day"]`)
	w.tab.WaitForFocus("date_of_birth.day")
	if !w.noScript {
		w.tab.Back()
		w.follow(".stack .button-primary", "Personal details")
	}
}

func (w *walker) walkDocuments() {
	w.Helper()
	upload := `.group button[value="upload"]`
	choose := func(name string) {
		w.Helper()
		w.tab.Upload("#file", temporaryFile(w, name, append(harness.PDFOf(200), name...)))
		if w.noScript {
			w.tab.Select("#category", "other")
		}
	}
	if w.noScript {
		w.submit(upload, "error-summary", "Error: Documents", "")
		w.tab.Upload("#file", temporaryFile(w, "big.pdf", harness.PDFOf(statement.MaxDocumentBytes+(2<<20))))
		w.tab.Select("#category", "other")
		w.submit(upload, "error-summary", "Error: Documents", "")
		w.tab.WaitForText(".error-summary", "must be 10 MB or smaller")
	}
	for i, name := range []string{"one.pdf", "two.pdf", "three.pdf"} {
		choose(name)
		if w.noScript {
			w.submit(upload, fmt.Sprintf("uploaded-%d", i+1), "Documents", "Document uploaded")
		} else {
			w.tab.WaitForText("#stored", name)
			w.tab.WaitForText("#status", "Document uploaded")
		}
	}
	w.submit("#uploaded-1 button", "uploaded-1", "Documents", "Document removed")
	w.submit("#uploaded-2 button", "uploaded", "Documents", "Document removed")
	w.submit("#uploaded-1 button", "h1", "Documents", "Document removed")
	choose("four.pdf")
	if !w.noScript {
		w.tab.WaitForText("#stored", "four.pdf")
		w.submit(mainButton, "error-summary", "Error: Documents", "")
		w.describe(1, "other")
	}
	w.submit(mainButton, "h1", "Check your answers", saved)
}

func (w *walker) walkDeclaration() {
	w.Helper()
	w.follow(`a.change-link[href*="expenses"]`, "Expenses")
	w.tick("living")
	w.tab.Type(input("living.clothing"), "-5")
	w.submit(mainButton, "error-summary", "Error: Expenses", "")
	w.tab.Type(input("living.clothing"), "120")
	w.submit(mainButton, "check-expenses", "Check your answers", saved)
	w.follow(`a.change-link[href*="documents"]`, "Documents")
	w.submit("#uploaded-1 button", "h1", "Documents", "Document removed")
	w.submit(mainButton, "check-documents", "Check your answers", saved)
	w.submit(mainButton, "error-summary", "Error: Check your answers", "")
	w.fillIn(statement.DeclarationSection)
	w.submit(mainButton, "h1", "Statement sent", "")
}

// TestBrowserSixTapsCompleteOneSection taps six times where Continue is on Income. A
// page that isn't shown from its top would have Continue under the finger again.
func TestBrowserSixTapsCompleteOneSection(t *testing.T) {
	t.Parallel()
	h, base := harness.Listen(t)
	for name, device := range map[string]browsertest.Device{"phone": browsertest.Phone, "desktop": browsertest.Desktop} {
		tab := browsertest.New(t, browsertest.Options{Device: device})
		for _, atFoot := range []bool{false, true} {
			c := h.Customer(h.NewSession(h.TestScope(), domain.NewSession{}))
			arrive(tab, base, c, statement.IncomeSection)
			tab.Click(input("has-none"))
			x, y := tab.Spot(mainButton)
			if atFoot {
				at := browsertest.Eval[[2]float64](tab, `(() => {
					scrollTo(0, document.documentElement.scrollHeight);
					const box = document.querySelector(".actions .button-primary").getBoundingClientRect();
					return [box.x + box.width / 2, box.y + box.height / 2];
				})()`)
				x, y = at[0], at[1]
			}
			for range 6 {
				browsertest.Eval[bool](tab, watch)
				if browsertest.Eval[bool](tab, fmt.Sprintf("!!document.elementFromPoint(%f, %f)?.closest('.kind')", x, y)) {
					break // the tap answers a question that the page shows
				}
				tab.Tap(x, y)
				tab.WaitForTrue(settled)
			}
			if got := c.Events(); count(got, "section_completed") != 1 {
				t.Errorf("%s, at the foot: %v: six taps: events %q, want one section completed", name, atFoot, got)
			}
		}
	}
}

// TestBrowserImpatientClicksPostOnce clicks Continue again while the response is under way.
func TestBrowserImpatientClicksPostOnce(t *testing.T) {
	t.Parallel()
	c := newTyping(t)
	tab := c.device(t, "income")
	tab.Click(input("has-none"))
	tab.WaitForText(saveStatus, "Saved ")
	c.line.state.Store(slowButtons)
	tab.ClickTimes(mainButton, 3)
	c.waits(t, 1)
	c.line.release <- true
	tab.WaitForURL("/assets")
	if posts := c.line.held.Load(); posts != 1 {
		t.Errorf("three clicks posted %d times, want once", posts)
	}
}
