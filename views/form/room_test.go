package form_test

import (
	"testing"

	"github.com/a-h/templ"

	"candor/internal/domain"
	"candor/internal/testkit/browsertest"
	view "candor/views/form"
	"candor/views/ui"
)

// TestBrowserStartIsOnTheFirstScreen opens the list of sections on phones, in each language.
func TestBrowserStartIsOnTheFirstScreen(t *testing.T) {
	t.Parallel()
	all := map[string]templ.Component{}
	offered, long := hub(), hub(view.Completed)
	offered.Offered, long.Offered = true, true
	long.Customer, long.Partner = "Nguyễn Thị Phương Thảo Montgomery-Featherstonehaugh", "Northern Rivers Community Credit Union"
	for name, h := range map[string]view.HubPage{"new": hub(), "begun": hub(view.Completed, view.InProgress), "offered": offered,
		"long": long} {
		h.Languages = domain.Languages[:]
		for _, language := range domain.Languages {
			all[name+"-"+string(language)] = in(language, view.Hub(h))
		}
	}
	base := serve(t, all)
	tab := browsertest.New(t, browsertest.Options{})
	tab.Open(base + "/new-en-AU")
	for name := range all {
		showInstead(tab, base+"/"+name)
		for device, height := range map[browsertest.Device]float64{browsertest.Phone: 844, browsertest.Small: 640} {
			tab.Resize(device)
			if bottom := browsertest.Eval[float64](tab,
				`document.querySelector(".button-primary").getBoundingClientRect().bottom`); bottom > height {
				t.Errorf("%s: the button ends at %v of %v px", name, bottom, height)
			}
		}
	}
}

// TestBrowserSavedLineCoversNothing shows the longest line about saving and scrolls.
func TestBrowserSavedLineCoversNothing(t *testing.T) {
	t.Parallel()
	base := serve(t, pages(t))
	tab := browsertest.New(t, browsertest.Options{})
	for _, name := range []string{"personal-errors", "assets", "income-periods"} {
		tab.Open(base + "/" + name)
		browsertest.Eval[bool](tab, withScriptsParts)
		for _, device := range []browsertest.Device{browsertest.Narrow, browsertest.Phone, browsertest.Desktop, browsertest.Wide} {
			tab.Resize(device)
			if covered := browsertest.Eval[string](tab, coveredBySaved); covered != "" {
				t.Errorf("%s, device %d: it covers %s", name, device, covered)
			}
		}
	}
	if !browsertest.Eval[bool](tab,
		`(scrollTo(0, 0), document.querySelector(".save-status").getBoundingClientRect().bottom <= innerHeight)`) {
		t.Error("beside a wide window's column it isn't in view")
	}
}

// coveredBySaved scrolls through the page and names what the line about saving covers.
const coveredBySaved = `(() => {
	const line = document.querySelector(".save-status");
	for (let y = 0; y <= document.documentElement.scrollHeight; y += 150) {
		scrollTo(0, y);
		const own = line.getBoundingClientRect();
		for (const other of document.querySelectorAll("main *, footer *")) {
			if (other.contains(line) || line.contains(other) || !other.checkVisibility()) continue;
			const its = other.getBoundingClientRect();
			const meets = its.width * its.height && its.left < own.right && its.right > own.left && its.top < own.bottom &&
				its.bottom > own.top;
			if (meets) return other.outerHTML.slice(0, 100) + " at " + y;
		}
	}
	return "";
})()`

// TestBrowserLogoHasAPlate draws a partner's dark logo where the page is dark.
func TestBrowserLogoHasAPlate(t *testing.T) {
	t.Parallel()
	h := hub()
	h.Logo = &ui.Picture{URL: "/static/none.png", Width: 120, Height: 32}
	base := serve(t, map[string]templ.Component{"logo": view.Hub(h)})
	for name, options := range map[string]browsertest.Options{"dark": {Dark: true}, "forced dark": {Forced: true, Dark: true}} {
		options.AllowStatus = []int{404}
		tab := browsertest.New(t, options)
		tab.Open(base + "/logo")
		if plate := browsertest.Eval[string](tab,
			`getComputedStyle(document.querySelector(".partner-logo")).backgroundColor`); plate != "rgb(255, 255, 255)" {
			t.Errorf("%s: the logo stands on %s", name, plate)
		}
	}
}
