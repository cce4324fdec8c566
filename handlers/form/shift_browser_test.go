package form_test

import (
	"testing"

	"candor/internal/testkit/browsertest"
)

// shifts is the page's Cumulative Layout Shift, with every shift in it: also those
// just after an input, which the measure itself leaves out.
const shifts = `new Promise((done) => {
	let total = 0;
	new PerformanceObserver((list) => { for (const shift of list.getEntries()) total += shift.value; })
		.observe({type: "layout-shift", buffered: true});
	setTimeout(() => done(total), 100);
})`

// TestBrowserNothingMoves looks for content that jumps: while pages load on a slow connection, and
// when what was typed has been saved.
func TestBrowserNothingMoves(t *testing.T) {
	t.Parallel()
	c := newTyping(t)
	tab := browsertest.New(t, browsertest.Options{})
	tab.Slow()
	still := func(page string) {
		t.Helper()
		if total := browsertest.Eval[float64](tab, shifts); total > 0 {
			t.Errorf("%s: content moves by %v", page, total)
		}
	}
	tab.Open(c.base + c.Link(c.ID))
	still("hub")
	for _, section := range []string{"personal_details", "income", "assets", "liabilities", "expenses", "documents", "declaration"} {
		tab.Open(c.base + c.Path(section))
		still(section)
	}
	tab.Open(c.base + c.Path("personal_details"))
	tab.Type(input("occupation"), "Nurse")
	tab.WaitForText(saveStatus, "Saved ")
	still("after an automatic save")
}
