package browsertest

import (
	"context"

	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// A Focus is what the keyboard acts on.
type Focus struct {
	Element string // tag, id, name and value, for messages
	ID      string // or the tag of an element without one
	// Problem says why people can't see where they are, or that the focus is lost;
	// "" if all is well.
	Problem string
}

// whereFocus says why the element's focus can't be seen. A heading that takes the
// focus so that reading begins there is no control: it needs no ring.
const whereFocus = `((element) => {
	if (!element || element === document.body || element === document.documentElement) return "the focus is lost";
	if (!element.matches(":focus-visible")) return "";
	const control = element.tabIndex >= 0;
	let ring = element;
	for (let up = 0; ring && up < 4; up++, ring = ring.parentElement) {
		const {outlineStyle, outlineWidth, outlineColor} = getComputedStyle(ring);
		if (outlineStyle !== "none" && parseFloat(outlineWidth) >= 2 && !/^rgba\(.*, 0\)$/.test(outlineColor)) break;
	}
	if (!ring || getComputedStyle(ring).outlineStyle === "none") return control ? "the focus has no ring" : "";
	const box = ring.getBoundingClientRect();
	if (!control) return box.bottom > 0 && box.top < innerHeight ? "" : "the focus is outside the window";
	if (!box.width || !box.height) return "the focus is on an element without a size";
	if (box.top < 0 && box.height < innerHeight || box.bottom > innerHeight &&
		box.height < innerHeight) return "the focus is cut off by the window, at " + Math.round(box.top) + " to " +
			Math.round(box.bottom) + " of " + innerHeight;
	const hit = document.elementFromPoint(box.left + box.width / 2, Math.max(1, box.top + Math.min(box.height, innerHeight) / 2));
	return !hit || ring.contains(hit) || hit.contains(ring) ||
		[...element.labels ?? []].some((l) => l.contains(hit)) ? "" : "the focus is covered by " + hit.outerHTML.slice(0, 100);
})`

const describeFocus = `(() => {
	const e = document.activeElement, problem = ` + whereFocus + `(e);
	if (!e) return {Problem: problem};
	const tag = e.tagName.toLowerCase();
	return {Element: [tag, e.id && "#" + e.id, e.name, e.value].filter(Boolean).join(" "), ID: e.id || tag, Problem: problem};
})()`

// Focus says where the focus is, and whether people can see it.
func (tab *Tab) Focus() Focus {
	tab.t.Helper()
	return Eval[Focus](tab, describeFocus)
}

// UnseenFocus gives each control of the page the focus and lists those of which it
// can't be seen.
func (tab *Tab) UnseenFocus() []string {
	tab.t.Helper()
	tab.Press(kb.Shift) // the visitor uses the keyboard: the focus is shown
	return Eval[[]string](tab, `[...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, summary")]
		.filter((e) => e.tabIndex >= 0 && !e.closest(".skip-link") && e.checkVisibility({visibilityProperty: true}))
		.map((e) => { e.focus(); const problem = document.activeElement === e ? `+whereFocus+`(e) : ""; return problem && problem + ": " + e.outerHTML.slice(0, 120); })
		.filter(Boolean)`)
}

// Key presses one key as a keyboard does. Unlike Press, it leaves out the character of
// a key that did its work when it went down: Enter on a link that moves the focus
// doesn't submit the form of the field that the focus comes to. It waits for the page's
// scripts, which are what hears most keys.
func (tab *Tab) Key(key rune) {
	tab.t.Helper()
	if state, ok := tab.poll("document.readyState", is("complete")); !ok {
		tab.t.Fatalf("browsertest: the page never became complete; it is %s", state)
	}
	known, events := kb.Keys[key], kb.Encode(key)
	down, up := *events[0], *events[len(events)-1]
	down.Type, down.Text, down.UnmodifiedText = kb.KeyDown, known.Text, known.Unmodified
	tab.do("press "+known.Key, chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		if _, err := chromedp.Call(ctx, input.DispatchKeyEvent, down); err != nil {
			return err
		}
		_, err := chromedp.Call(ctx, input.DispatchKeyEvent, up)
		return err
	}))
}

// ShiftTab presses Tab with the shift key.
func (tab *Tab) ShiftTab() {
	tab.t.Helper()
	tab.do("press shift and tab", chromedp.KeyEvent(kb.Tab, chromedp.KeyModifiers(chromedp.ModifierShift)))
}

// ChooseFiles has the browser's next choice of files answered with these, absolute
// paths.
func (tab *Tab) ChooseFiles(files ...string) {
	tab.t.Helper()
	opened := chromedp.Events(tab.ctx, page.FileChooserOpened)
	tab.do("take over the choice of files", chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, page.SetInterceptFileChooserDialog, page.SetInterceptFileChooserDialogParams{Enabled: true})
		return err
	}))
	go func() {
		for chooser, err := range opened {
			if err != nil {
				return // the tab is closed
			}
			_, _ = chromedp.Call(tab.ctx, dom.SetFileInputFiles, dom.SetFileInputFilesParams{Files: files,
				BackendNodeID: chooser.BackendNodeID})
			return
		}
	}()
}
