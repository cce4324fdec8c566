package form_test

import (
	"cmp"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/statement"
	"candor/internal/statement/statementtest"
	"candor/internal/testkit/browsertest"
	"candor/internal/testkit/harness"
)

func TestMain(m *testing.M) { os.Exit(browsertest.Main(m)) }

// input is the selector of the input with that id.
func input(name string) string { return fmt.Sprintf("[id=%q]", name) }

// arrive opens a section in a tab of the customer's, as a browser that has followed the link
// by itself: no other page is drawn before.
func arrive(tab *browsertest.Tab, base string, c *harness.Customer, section string) {
	tab.SetCookies(base, c.Harness.Customer(&domain.Session{ID: c.ID}).Cookies)
	tab.Open(base + c.Path(section))
}

// a person fills in forms in a browser.
type person struct {
	*harness.Customer
	tab  *browsertest.Tab
	base string
}

// ways are those in which journeys are made that a script helps with. Nothing depends on
// the script and the width at once: two journeys show each of them.
var ways = map[string]browsertest.Options{"phone": {}, "desktop without script": {Device: browsertest.Desktop, NoScript: true}}

// look checks the page of a light phone in every scheme and size, and draws it where
// asked to. By all rules of axe it is checked once.
func look(tab *browsertest.Tab, name string) {
	var rules []string
	inEachLook(tab, func() {
		inspect(tab, name, rules...)
		rules = browsertest.LookRules
	})
}

// look is that of a page that views/form has axe look at in every scheme and size: here
// it does so once.
func (p *person) look(name string) {
	p.Helper()
	p.tab.Axe()
	inEachLook(p.tab, func() {
		p.tab.Screenshot("form/" + name)
		p.tab.FitsWidth()
		p.tab.NoErrors()
	})
}

func inEachLook(tab *browsertest.Tab, see func()) {
	for _, look := range harness.Looks() {
		tab.Resize(look.Device)
		tab.Dark(look.Dark)
		see()
	}
	tab.Resize(browsertest.Phone)
	tab.Dark(false)
}

func inspect(tab *browsertest.Tab, name string, rules ...string) {
	tab.Screenshot("form/" + name)
	tab.Axe(rules...)
	tab.FitsWidth()
	tab.NoErrors()
}

// press clicks the main button and waits for the address to end in next.
func (p *person) press(next string) {
	p.Helper()
	p.tab.Click(".actions .button-primary")
	p.tab.WaitForURL(next)
}

// fill types the example's answers into a section, adding list items as it
// meets them.
func (p *person) fillIn(name string) {
	p.Helper()
	values := statementtest.Values(name)
	if name == statement.DeclarationSection {
		browsertest.Eval[bool](p.tab, `document.querySelectorAll("[name=right]:not(:checked)").forEach((tick) => tick.click()), true`)
	}
	section := new(statement.Statement).Section(name, harness.StartTime)
	for _, g := range section.Groups {
		if section.AsksWhatApplies && g.Kind() != "" {
			p.tick(g.Kind())
		}
		for _, f := range g.Fields {
			p.enter(f, f.Name, values)
		}
		if g.List == nil {
			continue
		}
		for i := 0; has(values, fmt.Sprintf("%s.%d.", g.List.Name, i)); i++ {
			first := g.List.Input(i, g.List.ItemFields()[0])
			if !browsertest.Eval[bool](p.tab, fmt.Sprintf("!!document.getElementById(%q)", first)) {
				p.tab.Click(fmt.Sprintf("button[value=%q]", "add:"+g.List.Name))
				p.tab.WaitForFocus(first)
			}
			for _, f := range g.List.ItemFields() {
				p.enter(f, g.List.Input(i, f), values)
			}
		}
	}
}

// tick says that the customer has the kind, unless that is said.
func (p *person) tick(kind string) {
	p.Helper()
	if !browsertest.Eval[bool](p.tab, fmt.Sprintf("document.getElementById(%q).checked", kind)) {
		p.tab.Click(input(kind))
	}
}

func has(values map[string][]string, prefix string) bool {
	for name := range values {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

func (p *person) enter(f form.Field, name string, values url.Values) {
	p.Helper()
	for _, part := range f.Parts() {
		typed := values.Get(name + part)
		switch {
		case strings.HasSuffix(part, ".period"):
			p.tab.Select(input(name+part), cmp.Or(typed, string(f.Period)))
		case !values.Has(name+part) || typed == f.Preset && f.Preset != "":
		case f.Kind == form.KindCheckbox:
			p.tab.Click(input(name))
		case f.Kind == form.KindChoice && len(f.Options) <= 4:
			p.tab.Click(fmt.Sprintf("input[name=%q][value=%q]", name, typed))
		case f.Kind == form.KindChoice:
			p.tab.Select(input(name), typed)
		default:
			p.tab.Type(input(name+part), typed)
		}
	}
}

// TestBrowserPersonFillsInEverything goes through the whole form on a phone and
// looks at every page in all its guises.
func TestBrowserPersonFillsInEverything(t *testing.T) {
	t.Parallel()
	h, base := harness.Listen(t)
	session := h.NewSession(h.TestScope(), domain.NewSession{CustomerName: "Zoë O'Brien", ReferenceID: "LOAN-2026-00417"})
	p := &person{Customer: &harness.Customer{Harness: h, ID: session.ID}, base: base, tab: browsertest.New(t, browsertest.Options{})}
	p.tab.Open(base + h.Link(session.ID))
	p.tab.WaitForURL(p.Path(""))
	p.look("1-hub-start")

	p.tab.Click(".stack .button-primary")
	p.tab.WaitForURL("/personal_details")
	p.look("2-personal-start")
	p.tab.Click(".actions .button-primary")
	p.tab.WaitFor(".error-summary")
	p.tab.WaitForFocus("error-summary")
	inspect(p.tab, "3-personal-errors")
	p.fillIn("personal_details")
	p.press("/income")
	p.fillIn("income")
	inspect(p.tab, "4-income")
	p.press("/assets")
	p.look("5-assets-start")
	p.fillIn("assets")
	p.tab.Press("\t")
	p.tab.WaitForText(".totals", "$1,026,405.29")
	p.look("6-assets")
	p.press("/liabilities")
	p.look("7-liabilities-suggested")
	p.tab.Click(`button[value="remove:personal_loans.1"]`)
	p.tab.WaitGone(input("personal_loans.1.lender"))
	p.fillIn("liabilities")
	p.look("8-liabilities")
	p.press("/expenses")
	p.fillIn("expenses")
	p.tab.Press("\t")
	p.tab.WaitForText(".totals", "$6,995.25")
	inspect(p.tab, "9-expenses")
	p.press("/documents")
	p.tab.Upload("#file", temporaryFile(t, "Payslip October 2026.pdf", harness.PDFOf(91_204)))
	p.tab.WaitForText("#stored", "Payslip October 2026.pdf")
	p.describe(1, "income_evidence")
	p.look("10-documents")
	p.press("/declaration")
	p.look("11-check")
	p.changeAndReturn()
	p.tab.Open(base + p.Path(""))
	p.look("12-hub-done")
	p.tab.Open(base + p.Path("declaration"))
	p.fillIn("declaration")
	p.press(p.Path(""))
	p.tab.WaitForText("h1", "Your statement has been sent")
	p.tab.WaitForText("#copy", "being made")
	inspect(p.tab, "13-sent")
	h.StorePDF(session.ID, []byte("%PDF-1.7"))
	p.tab.WaitFor(`#copy a[download]`)
	p.tab.WaitForText("#status", "copy is ready")
	p.look("14-sent-copy")

	data, err := h.Service.Sessions.Data(t.Context(), h.TestScope(), session.ID, harness.Operator)
	h.OK(err)
	want := statementtest.Full()
	want.Documents = data.Statement.Documents
	want.Declaration.SignedAt = h.Clock.Now()
	want.Declaration.Confirmations = data.Statement.Declaration.Confirmations // the example is odd here and there
	if got, want := toJSON(t, data.Statement), toJSON(t, want); got != want {
		t.Errorf("data =\n%s\nwant\n%s", got, want)
	}
	if story := p.Events(); len(story) != 9 || !slices.IsSortedFunc(story[1:8], byCount) {
		t.Errorf("events = %q, want an opening, seven sections and completion", story)
	}
}

// byCount orders section events by the number at their end.
func byCount(a, b string) int { return strings.Compare(a[len(a)-1:], b[len(b)-1:]) }

// changeAndReturn changes an answer from the check page and comes back.
func (p *person) changeAndReturn() {
	p.Helper()
	p.tab.Click(`a.change-link[href*="expenses"]`)
	p.tab.WaitForURL("/expenses?return=declaration")
	p.tab.Type(input("living.clothing"), "-5")
	p.tab.Click(".actions .button-primary")
	p.tab.WaitForFocus("error-summary")
	p.tab.Type(input("living.clothing"), "120")
	p.press("/declaration")
	p.tab.WaitFor(input("accepted"))
}

// describe says what the document is that stands at that place, from 1, and waits
// until it is stored.
func (p *person) describe(place int, category string) {
	p.Helper()
	browsertest.Eval[bool](p.tab, fmt.Sprintf(`(() => {
		document.getElementById("status").textContent = "";
		const list = document.querySelector("#uploaded-%d select");
		list.value = %q;
		return list.dispatchEvent(new Event("change", {bubbles: true}));
	})()`, place, category))
	p.tab.WaitForText("#status", saved)
}

func temporaryFile(t testing.TB, name string, content []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
