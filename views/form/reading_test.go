package form_test

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/a-h/templ"

	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/statement"
	"candor/internal/testkit/browsertest"
	view "candor/views/form"
)

const (
	longName   = "Wilhelmina-Katharina Papadopoulos-Venkatanarasimharajuvaripeta"
	longLender = "The Great Southern and Northern Territories Mutual Lending Cooperative"
	longWord   = "wilhelmina.katharina.papadopoulos-venkatanarasimharajuvaripeta@great-southern-mutual.example"
)

func longPage() view.Page {
	p := page()
	p.Partner, p.HelpEmail, p.Languages = longLender, longWord, domain.Languages[:]
	return p
}

// longValues answers everything in a section at length, with two items in each
// list.
func longValues(name string) url.Values {
	values := url.Values{}
	answer := func(path string, f form.Field) {
		for _, part := range f.Parts() {
			values.Set(path+part, longAnswer(f, part))
		}
		if f.Another != "" {
			values.Set(path+".2", "9,999,999,999.99")
			values.Set(path+".2.period", "fortnight")
		}
	}
	for _, g := range new(statement.Statement).Section(name, now).Groups {
		if g.Kind() != "" {
			values.Add(form.HasInput, g.Kind())
		}
		for _, f := range g.Fields {
			answer(f.Name, f)
		}
		for i := 0; g.List != nil && i < 2; i++ {
			for _, f := range g.List.ItemFields() {
				answer(g.List.Input(i, f), f)
			}
		}
	}
	return values
}

func longAnswer(f form.Field, part string) string {
	switch f.Kind {
	case form.KindDate:
		return map[string]string{".day": "27", ".month": "september", ".year": "1985"}[part]
	case form.KindMoney:
		if strings.HasSuffix(part, ".period") {
			return "fortnight"
		}
		if f.Period != form.Once {
			return "9,999,999,999.99" // 26 of each of two are below the limit
		}
		return "99,999,999,999.99"
	case form.KindEmail:
		return longWord
	case form.KindPhone:
		return "+61 (0) 412 345 678"
	case form.KindPostcode:
		return "2034"
	case form.KindPercent:
		return "100"
	case form.KindNumber:
		return "20"
	case form.KindChoice:
		return slices.MaxFunc(f.Options, func(a, b form.Option) int { return len(a.Label) - len(b.Label) }).Code
	case form.KindCheckbox:
		return "true"
	}
	return longName + " of " + longLender
}

// longPages are the pages on which answers, names and files are shown, at their
// longest, and each section with every error.
func longPages(t *testing.T) map[string]templ.Component {
	t.Helper()
	all := map[string]templ.Component{}
	s := new(statement.Statement)
	s.Documents = []statement.Document{
		{ID: "doc_1", Category: "bank_statement", FileName: strings.Repeat("IMG_20261019_", 15) + ".heic", SizeBytes: 10_480_000},
		{ID: "doc_2", FileName: longName + " " + longLender + ".pdf", SizeBytes: 348_211},
	}
	for _, name := range statement.SectionNames {
		if name == statement.DocumentsSection || name == statement.DeclarationSection {
			continue
		}
		p := sectionPage(s.Section(name, now))
		p.Page, p.Returning = longPage(), true
		if errs := p.Section.Decode(longValues(name)); len(errs) > 0 {
			t.Fatalf("long answers of %s are invalid: %v", name, []form.Error(errs))
		}
		all["long-"+name] = view.Section(p)
		wrong := sectionPage(new(statement.Statement).Section(name, now))
		values := wrongly(name)[1]
		values[form.HasInput] = longValues(name)[form.HasInput]
		wrong.Errors = wrong.Section.Decode(values)
		all["wrong-"+name] = view.Section(wrong)
	}
	h := hub(view.Completed, view.ToFinish, view.InProgress)
	h.Page, h.Customer = longPage(), longName
	all["long-hub"] = view.Hub(h)
	d := view.DocumentsPage{Page: longPage(), Action: "/documents", Documents: s.Documents}
	all["long-documents"] = view.Documents(d)
	d.Errors = form.Errors{{Field: statement.CategoryField("doc_2"), Message: statement.NoCategory},
		{Field: "file", Message: statement.FileTooLarge}}
	all["wrong-documents"] = view.Documents(d)
	c := checkPage(s)
	c.Page = longPage()
	all["long-check"] = view.Check(c)
	c.Signed, c.DocumentsURL = &now, ""
	all["long-copy"] = view.Copy(c)
	all["long-confirmation"] = view.Confirmation(view.ConfirmationPage{Page: longPage(), Reference: strings.Repeat("LOAN-2026-", 10),
		Submitted: now,
		CopyURL:   "/copy", ReadURL: "/read", Until: now, CopyReady: true})
	return all
}

// read looks at a page at 320 px, and at 390 px with the browser's text twice as large
// and with its text alone zoomed to 200 % (WCAG 1.4.4 and 1.4.10).
func read(t *testing.T, tab *browsertest.Tab, name string) {
	t.Helper()
	browsertest.Eval[bool](tab, withScriptsParts)
	look := func(how string) {
		for _, problem := range tab.Unreadable() {
			t.Errorf("%s, %s: %s", name, how, problem)
		}
		tab.Screenshot(fmt.Sprintf("reading/%s-%s", name, how)) // forgets DefaultText
	}
	tab.Resize(browsertest.Narrow)
	look("narrow")
	tab.Resize(browsertest.Phone)
	tab.DefaultText(32)
	look("200%")
	tab.DefaultText(16)
	tab.DoubleText()
	look("zoomed")
}

// withScriptsParts shows what scripts show at times: the longest line about saving, and
// files that are being sent and can't be.
const withScriptsParts = `(() => {
	for (const line of document.querySelectorAll(".save-status")) {
		line.querySelector("p").textContent = line.dataset.offline;
		line.querySelector("button").hidden = false;
	}
	const row = document.getElementById("upload-row");
	for (const failed of row ? [false, true] : []) {
		const file = row.content.firstElementChild.cloneNode(true);
		file.querySelector(".file-name").textContent = "Scan_".repeat(20) + ".heic";
		if (failed) file.querySelector(".upload-progress").outerHTML = '<p class="error"><span>' + document.getElementById("file").dataset.failed + '</span></p>';
		document.getElementById("uploading").append(file);
	}
	return true;
})()`

// TestBrowserCopyIsPrinted prints what the customer keeps.
func TestBrowserCopyIsPrinted(t *testing.T) {
	t.Parallel()
	base := serve(t, pages(t))
	tab := browsertest.New(t, browsertest.Options{Device: browsertest.Desktop, Dark: true})
	tab.Open(base + "/copy")
	paper := tab.Print()
	if got := len(regexp.MustCompile(`/Type ?/Page\b`).FindAll(paper, -1)); got < 1 || got > 3 {
		t.Errorf("the copy takes %d pages, want at most 3", got)
	}
}
