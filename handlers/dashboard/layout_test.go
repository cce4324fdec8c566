package dashboard_test

import (
	"testing"

	"candor/internal/domain"
	"candor/internal/testkit/browsertest"
	"candor/internal/testkit/harness"
)

// TestBrowserNothingIsCut: the audit log says in full what was changed, a session's labels
// stand apart from its values, times of a list begin on one line, email addresses don't
// break inside a word, and figures don't break at all. Lists cut no address on a phone.
func TestBrowserNothingIsCut(t *testing.T) {
	t.Parallel()
	h, base := harness.Listen(t)
	session := h.NewSession(h.TestScope(),
		domain.NewSession{CustomerEmail: "alexandria.featherstonehaugh@mortgages.customer.example"})
	h.Complete(session.ID)
	h.StorePDF(session.ID, harness.PDFOf(1000))
	h.OK(cancelled(h, h.NewSession(h.TestScope(), domain.NewSession{})))
	tab := browsertest.New(t, browsertest.Options{})
	signInTo(h, tab, base, "/dashboard/test/audit")
	for _, device := range []browsertest.Device{browsertest.Phone, browsertest.Desktop} {
		tab.As(device, false, func() {
			tab.Open(base + "/dashboard/test/audit")
			const cut = `[...document.querySelectorAll(".list td, .list td *")].filter((c) => c.scrollWidth > c.clientWidth &&
				getComputedStyle(c).overflowX === "hidden").map((c) => c.textContent)`
			if cuts := browsertest.Eval[[]string](tab, cut); len(cuts) > 0 {
				t.Errorf("the audit log cuts %q", cuts)
			}
			tab.Open(base + "/dashboard/test/sessions/" + session.ID.String())
			tab.FitsWidth()
			apart := browsertest.Eval[float64](tab, `Math.min(...[...document.querySelectorAll(".facts > div")].map((row) => {
				const edge = (part, side) => { const range = document.createRange(); range.selectNodeContents(part);
					return range.getBoundingClientRect()[side]; };
				return edge(row.querySelector("dd"), "left") - edge(row.querySelector("dt"), "right");
			}))`)
			if t.Logf("labels and values stand %.0f px apart", apart); apart < 12 {
				t.Errorf("a label and its value stand %.0f px apart", apart)
			}
			const broken = `(parts, width) => [...document.querySelectorAll(parts)].flatMap((part) => {
				const texts = document.createTreeWalker(part, NodeFilter.SHOW_TEXT), broken = [];
				for (let text; (text = texts.nextNode());) {
					const range = document.createRange();
					range.selectNodeContents(text);
					if (new Set([...range.getClientRects()].map((r) => Math.round(r.top))).size > 1 &&
						part.clientWidth > width) broken.push(text.data);
				}
				return broken;
			})`
			if words := browsertest.Eval[[]string](tab, "("+broken+")('#customer-email, h1', 150)"); len(words) > 0 {
				t.Errorf("lines break inside %q", words)
			}
			tab.Open(base + "/dashboard/test/figures")
			browsertest.Eval[bool](tab, `document.querySelectorAll("td.is-number a").forEach((a) => (a.textContent = "1,291")) === undefined`)
			tab.FitsWidth()
			if words := browsertest.Eval[[]string](tab, "("+broken+")('td.is-number', 0)"); len(words) > 0 {
				t.Errorf("lines break inside the figures %q", words)
			}
			tab.Open(base + "/dashboard/test/sessions")
			if cuts := browsertest.Eval[[]string](tab, cut); tab.IsPhone() && len(cuts) > 0 {
				t.Errorf("the list of sessions cuts %q", cuts)
			}
			if ways := browsertest.Eval[int](tab,
				`new Set([...document.querySelectorAll(".list td:has(time)")].map((c) => getComputedStyle(c).textAlign.replace("left", "start"))).size`); !tab.IsPhone() && ways != 1 {
				t.Errorf("columns of times are aligned in %d ways", ways)
			}
		})
	}
}
