package form_test

import (
	"testing"

	"candor/internal/testkit/browsertest"
)

// TestBrowserForcedColours looks at pages in the few colours of a system that forces its own:
// what colours and shadows tell elsewhere is told by lines and marks.
func TestBrowserForcedColours(t *testing.T) {
	t.Parallel()
	all := pages(t)
	base := serve(t, all)
	tab := browsertest.New(t, browsertest.Options{Forced: true})
	for name, wanted := range map[string][]string{
		"hub-begun": {".tag", ".progress-steps .is-done", ".progress-steps .is-current", ".is-done > .task-number",
			".button-primary"},
		"income-periods":   {"select[data-period]", ".choice:has(:checked)", ".total", ".input"},
		"assets-errors":    {".input[aria-invalid]", ".error::before", ".error-summary", ".button-add"},
		"personal-errors":  {".input[aria-invalid]", ".error-summary", ".partner-mark"},
		"documents-asked":  {"select[aria-invalid]", ".picker", ".files .button"},
		"check-unfinished": {".tag", ".banner"},
		"check-errors":     {".choice:has([aria-invalid])", ".card"},
		"confirmation":     {".confirmation-mark", ".button-primary"},
	} {
		tab.Open(base + "/" + name)
		tab.Screenshot("forced/" + name)
		for _, selector := range wanted {
			if problem := browsertest.Eval[string](tab, `(`+withoutLine+`)("`+selector+`")`); problem != "" {
				t.Errorf("%s: %s %s", name, selector, problem)
			}
		}
		if failed := browsertest.Eval[string](tab, sameState); failed != "" {
			t.Errorf("%s: %s", name, failed)
		}
		for _, problem := range tab.UnseenFocus() {
			t.Errorf("%s: %s", name, problem)
		}
	}
}

const (
	// withoutLine says why the elements have no line around them that can be seen.
	withoutLine = `(selector) => {
		const [, of, pseudo] = selector.match(/^(.*?)(::.*)?$/);
		const all = [...document.querySelectorAll(of)].filter((e) => e.checkVisibility());
		if (all.length === 0) return "isn't on the page";
		const canvas = getComputedStyle(document.documentElement).backgroundColor;
		for (const e of all) {
			const {borderTopStyle, borderTopWidth, borderTopColor} = getComputedStyle(e, pseudo);
			if (borderTopStyle === "none" || parseFloat(borderTopWidth) < 1) return "has no line: " + e.outerHTML.slice(0, 100);
			if (borderTopColor === canvas || borderTopColor === "rgba(0, 0, 0, 0)")
				return "has a line in the colour of the page, " + borderTopColor + ": " + e.outerHTML.slice(0, 100);
		}
		return "";
	}`
	// sameState names states that look the same without their colours.
	sameState = `(() => {
		const look = (e) => { const {borderTopWidth, borderTopStyle, backgroundColor, backgroundImage} = getComputedStyle(e);
			return [borderTopWidth, borderTopStyle, backgroundColor, backgroundImage].join(" "); };
		const shown = (selector) => [...document.querySelectorAll(selector)].filter((e) => e.checkVisibility());
		for (const [one, other] of [
			[".choice:has(:checked)", ".choice:not(:has(:checked, [aria-invalid]))"],
			[".input[aria-invalid=true]:not(select)", ".input:not(select, [aria-invalid=true])"],
			["select[aria-invalid=true]", "select:not([aria-invalid=true])"],
			[".progress-steps .is-done", ".progress-steps :not(.is-done)"],
			[".progress-steps .is-current", ".progress-steps :not(.is-current)"],
			[".is-done > .task-number", ":not(.is-done) > .task-number"],
			[".button-primary", ".button:not(.button-primary)"],
		]) {
			for (const a of shown(one)) for (const b of shown(other))
				if (look(a) === look(b)) return one + " and " + other + " look the same: " + look(a);
		}
		const ticks = [...document.querySelectorAll("input[type=checkbox], input[type=radio]")];
		if (shown("select").some((e) => getComputedStyle(e).forcedColorAdjust !== "none")) return "a select has no arrow";
		return ticks.some((e) => getComputedStyle(e).appearance === "none") ? "a tick isn't drawn by the browser" : "";
	})()`
)
