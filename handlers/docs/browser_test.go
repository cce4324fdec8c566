package docs_test

import (
	"strings"
	"testing"

	"candor/internal/testkit/browsertest"
	"candor/internal/testkit/harness"
)

// fewOfEach leaves three entries of each kind: the whole reference takes axe half
// a minute.
const fewOfEach = `document.querySelectorAll(".group > .entry:nth-of-type(n + 4), .guide:nth-of-type(n + 6)").forEach((e) => e.remove()), true`

const fitsWindow = `document.documentElement.scrollWidth <= innerWidth`

// TestBrowserDocs looks at the pages as a phone and as a desktop, chooses a language,
// searches, and follows a link into folded fields.
func TestBrowserDocs(t *testing.T) {
	t.Parallel()
	_, base := harness.ListenAsItself(t)
	tab := browsertest.New(t, browsertest.Options{})
	look := func(name string, axe bool) {
		var rules []string // all at first
		for _, look := range harness.Looks() {
			tab.Resize(look.Device)
			if axe || browsertest.Pictures() { // the width doesn't depend on the scheme
				tab.Dark(look.Dark)
			}
			if !browsertest.Eval[bool](tab, fitsWindow) {
				t.Errorf("%s scrolls sideways", name)
			}
			tab.View("docs/" + name)
			if axe {
				tab.Axe(rules...)
				rules = browsertest.LookRules
			}
		}
		tab.Resize(browsertest.Phone)
		tab.Dark(false)
	}
	// What an address within a page shows has the width of the page.
	draw := func(name string) {
		if browsertest.Pictures() {
			look(name, false)
		}
	}
	// The index is the last: an address within the page before would not load it again.
	for _, name := range []string{"reference", "guides", "changelog", "index"} {
		tab.Open(base + strings.TrimSuffix("/docs/"+name, "/index"))
		tab.WaitFor(".search:not([hidden])")
		look(name, false)
		tab.UniqueIDs()
		if name == "guides" {
			tab.Screenshot("docs/guides-all")
		}
		browsertest.Eval[bool](tab, fewOfEach)
		look(name+"-few", true)
	}
	// The search comes first: it leads to the reference, in whose document the rest stays.
	tab.Open(base + "/docs")
	tab.Press("/")
	tab.WaitForFocus("search")
	tab.Type("#search", "invalid_email")
	tab.WaitForText(`#found [aria-selected="true"]`, "invalid_email")
	look("search", true)
	tab.Press("\r")
	tab.WaitForURL("/docs/reference#error-invalid_email")
	tab.Open(base + "/docs/reference#createSession")
	draw("endpoint")
	tab.Click(`#createSession .samples label:has([value="python"])`)
	tab.WaitForTrue(
		`document.querySelector("#getSession-python").offsetHeight > 0 && document.querySelector("#getSession-curl").offsetHeight === 0`)
	look("endpoint-python", false)
	tab.Resize(browsertest.Desktop)
	tab.Open(base + "/docs/reference#event-session.completed")
	tab.WaitForTrue(`document.querySelector('.contents [href="#event-session.completed"][aria-current]').offsetHeight > 0`)
	draw("event")
	tab.Open(base + "/docs/reference#error-validation_error")
	draw("error")
	tab.Open(base + "/docs/reference#FormData-assets-real_property-net_value")
	tab.WaitForTrue(`document.getElementById("FormData-assets-real_property-net_value").getBoundingClientRect().height > 0`)
	look("object", false)
}

// TestBrowserDocsWithoutScript chooses a language by a plain click.
func TestBrowserDocsWithoutScript(t *testing.T) {
	t.Parallel()
	_, base := harness.ListenAsItself(t)
	tab := browsertest.New(t, browsertest.Options{NoScript: true})
	tab.Open(base + "/docs/reference#createSession")
	tab.Click(`#createSession .samples label:has([value="go"])`)
	tab.WaitForText("#createSession .samples", "package main")
	if got := tab.Text("#createSession .samples"); len(got) > 2500 {
		t.Errorf("several languages are shown at once:\n%s", got)
	}
	tab.View("docs/no-script")
}
