package form_test

import (
	"testing"

	"candor/internal/testkit/browsertest"
)

// shifts says what the page's Cumulative Layout Shift is made of, "" if nothing has moved. It
// also has the shifts just after an input, which the measure itself leaves out.
const shifts = `new Promise((done) => {
	const seen = [];
	new PerformanceObserver((list) => {
		for (const shift of list.getEntries()) {
			const moved = shift.sources.map(({node, previousRect: a, currentRect: b}) =>
				(node?.nodeName + "." + node?.className) + " " + [a.x, a.y, a.width, a.height] + " to " + [b.x, b.y, b.width, b.height]);
			seen.push(shift.value + ": " + moved.join("; "));
		}
	}).observe({type: "layout-shift", buffered: true});
	setTimeout(() => done(seen.join(" | ")), 100);
})`

// TestBrowserNothingMoves looks for content that jumps: while pages load on a slow connection, and
// when what was typed has been saved.
func TestBrowserNothingMoves(t *testing.T) {
	t.Parallel()
	c := newTyping(t)
	tab := browsertest.New(t, browsertest.Options{})
	tab.Slow()
	moves := func() string { return browsertest.Eval[string](tab, shifts) }
	for _, path := range []string{c.Link(c.ID), c.Path("personal_details"), c.Path("income"), c.Path("assets"),
		c.Path("liabilities"), c.Path("expenses"), c.Path("documents"), c.Path("declaration")} {
		tab.Open(c.base + path)
		first := moves()
		if first == "" {
			continue
		}
		// A line that is drawn when half of it has arrived grows. What the page itself moves
		// moves each time.
		tab.Open(c.base + path)
		if again := moves(); again != "" {
			t.Errorf("%s: content moves: %s; and again: %s", path, first, again)
		}
	}
	tab.Open(c.base + c.Path("personal_details"))
	tab.Type(input("occupation"), "Nurse")
	tab.WaitForText(saveStatus, "Saved ")
	if seen := moves(); seen != "" {
		t.Errorf("after an automatic save content moves: %s", seen)
	}
}
