package browsertest

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// Open navigates to url and waits for its load event.
func (tab *Tab) Open(url string) {
	tab.t.Helper()
	tab.do("open "+url, chromedp.Navigate(url))
}

// Reload loads the page again. One that answered a form's post is posted again.
func (tab *Tab) Reload() {
	tab.t.Helper()
	tab.do("reload", chromedp.Reload())
}

// Back presses the browser's back button and waits for the page before. It
// doesn't wait for a load event: a script that restores the page causes none.
func (tab *Tab) Back() {
	tab.t.Helper()
	history := run(tab, "read the history", chromedp.NavigationEntries())
	if history.CurrentIndex == 0 {
		tab.t.Fatal("browsertest: there is no page to go back to")
	}
	before := history.Entries[history.CurrentIndex-1]
	tab.do("go back", chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, page.NavigateToHistoryEntry, page.NavigateToHistoryEntryParams{EntryID: before.ID})
		return err
	}))
	tab.WaitForURL(before.URL)
}

// WaitForURL waits until the address ends in suffix and the page is complete.
func (tab *Tab) WaitForURL(suffix string) {
	tab.t.Helper()
	const address = "document.readyState === 'complete' ? location.href : ''"
	got, ok := tab.poll(address, func(got string) bool { return strings.HasSuffix(got, suffix) })
	if ok {
		return
	}
	shown := Eval[string](tab, "document.querySelector('#main, body')?.innerText.slice(0, 1000) ?? ''")
	tab.t.Fatalf("browsertest: the address never ended in %s; it is %s, which shows\n%s", suffix, got, shown)
}

// Type replaces what the field holds by text. Only the last letter is a key's: the page
// lays itself out again after each, which is half of what typing costs.
func (tab *Tab) Type(selector, text string) {
	tab.t.Helper()
	script := fmt.Sprintf(`((field) => {
		if (!field?.checkVisibility({visibilityProperty: true})) return "it isn't there, or isn't visible";
		field.value = "";
		field.focus();
		return "ready";
	})(document.querySelector(%q))`, selector)
	if got, ok := tab.poll(script, is("ready")); !ok {
		tab.t.Fatalf("browsertest: type into %s: %s", selector, got)
	}
	_, last := utf8.DecodeLastRuneInString(text)
	if at := len(text) - last; at > 0 {
		tab.do("type", chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
			_, err := chromedp.Call(ctx, input.InsertText, input.InsertTextParams{Text: text[:at]})
			return err
		}))
		text = text[at:]
	}
	tab.Press(text)
}

// Select chooses the option with that value in a select element.
func (tab *Tab) Select(selector, value string) {
	tab.t.Helper()
	tab.do("select in "+selector, chromedp.SetValue(chromedp.CSS(selector), value))
}

// Upload chooses the files, absolute paths, in a file input.
func (tab *Tab) Upload(selector string, files ...string) {
	tab.t.Helper()
	tab.do("choose files in "+selector, chromedp.SetUploadFiles(chromedp.CSS(selector), files))
}

// Press sends keys, such as kb.Tab or "\r", to whatever has the focus.
func (tab *Tab) Press(keys string) {
	tab.t.Helper()
	tab.do("press keys", chromedp.KeyEvent(keys))
}

// WaitFor waits until an element matches the selector.
func (tab *Tab) WaitFor(selector string) {
	tab.t.Helper()
	if got, ok := tab.poll(matches(selector), is("true")); !ok {
		tab.t.Fatalf("browsertest: nothing ever matched %s; the last answer is %q", selector, got)
	}
}

// WaitGone waits until nothing matches the selector.
func (tab *Tab) WaitGone(selector string) {
	tab.t.Helper()
	if got, ok := tab.poll(matches(selector), is("false")); !ok {
		tab.t.Fatalf("browsertest: %s never went; the last answer is %q", selector, got)
	}
}

func matches(selector string) string {
	return fmt.Sprintf("String(!!document.querySelector(%q))", selector)
}

func is(wanted string) func(got string) bool {
	return func(got string) bool { return got == wanted }
}

// WaitForText waits until the selector's first element contains text.
func (tab *Tab) WaitForText(selector, text string) {
	tab.t.Helper()
	script := fmt.Sprintf("document.querySelector(%q)?.textContent ?? ''", selector)
	if got, ok := tab.poll(script, func(got string) bool { return strings.Contains(got, text) }); !ok {
		tab.t.Fatalf("browsertest: %s never contained %q; it is %q", selector, text, got)
	}
}

// WaitForFocus waits until the element with that id has the focus.
func (tab *Tab) WaitForFocus(id string) {
	tab.t.Helper()
	if got, ok := tab.poll("document.activeElement?.id ?? ''", is(id)); !ok {
		tab.t.Fatalf("browsertest: the focus never came to %q; it is on %q", id, got)
	}
}

// WaitForValue waits until a field holds the value.
func (tab *Tab) WaitForValue(selector, value string) {
	tab.t.Helper()
	if got, ok := tab.poll(fmt.Sprintf("document.querySelector(%q).value", selector), is(value)); !ok {
		tab.t.Fatalf("browsertest: %s never had the value %q; it has %q", selector, value, got)
	}
}

// WaitForTrue waits until the JavaScript expression is true.
func (tab *Tab) WaitForTrue(expression string) {
	tab.t.Helper()
	if got, ok := tab.poll("String("+expression+")", is("true")); !ok {
		tab.t.Fatalf("browsertest: never true: %s; it is %q", expression, got)
	}
}

// poll evaluates the expression, a string, until it is what is wanted, and
// returns what it was last. A page that is just being left can't answer, so an
// evaluation that fails is repeated. Between two the page and its server have the
// processor: asking without a pause takes half of it.
func (tab *Tab) poll(expression string, wanted func(got string) bool) (got string, ok bool) {
	tab.t.Helper()
	ctx, cancel := context.WithTimeout(tab.ctx, patience)
	defer cancel()
	for ctx.Err() == nil {
		now, err := chromedp.Run(ctx, chromedp.Evaluate[string](expression, chromedp.EvalAwaitPromise))
		switch {
		case err != nil && ctx.Err() == nil:
			got = err.Error()
		case err == nil:
			if got = now; wanted(got) {
				return got, true
			}
		}
		pause(ctx)
	}
	return got, false
}

// Text returns the visible text of the selector's first element.
func (tab *Tab) Text(selector string) string {
	tab.t.Helper()
	return tab.read(selector, "e.getClientRects().length ? e.innerText : ''")
}

// Value returns what the field holds.
func (tab *Tab) Value(selector string) string {
	tab.t.Helper()
	return tab.read(selector, "e.value")
}

// read waits for the element and returns what the expression says of it, e, in
// one evaluation: between two the page may replace the element.
func (tab *Tab) read(selector, expression string) string {
	tab.t.Helper()
	script := fmt.Sprintf("((e) => e ? '=' + (%s) : '')(document.querySelector(%q))", expression, selector)
	got, ok := tab.poll(script, func(got string) bool { return strings.HasPrefix(got, "=") })
	if !ok {
		tab.t.Fatalf("browsertest: read %s: it isn't there; %s", selector, got)
	}
	return got[1:]
}

// URL returns the address in the address bar.
func (tab *Tab) URL() string {
	tab.t.Helper()
	return run(tab, "read the address", chromedp.Location())
}

// Title returns the document's title.
func (tab *Tab) Title() string {
	tab.t.Helper()
	return run(tab, "read the title", chromedp.Title())
}

// Eval runs a JavaScript expression in the page and returns its value; a
// promise is waited for.
func Eval[T any](tab *Tab, expression string) T {
	tab.t.Helper()
	return run(tab, "evaluate "+expression[:min(len(expression), 100)], chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// FitsWidth fails the test where the page or a table scrolls sideways, or a text stands as a
// column of letters, and names the elements.
func (tab *Tab) FitsWidth() {
	tab.t.Helper()
	wide := Eval[[]string](tab, `(() => {
		const width = document.documentElement.clientWidth;
		const all = [...document.body.querySelectorAll("*")];
		const wide = document.documentElement.scrollWidth <= width ? [] :
			all.filter((e) => e.getBoundingClientRect().right > width + 1);
		const cut = all.filter((e) => e.matches(".table-wrap") && e.scrollWidth > e.clientWidth + 1);
		const narrow = all.filter((e) => {
			if (![...e.childNodes].some((n) => n.nodeType === Node.TEXT_NODE && n.data.trim().length > 7)) return false;
			const box = e.getBoundingClientRect(), em = parseFloat(getComputedStyle(e).fontSize);
			return box.width > 1 && box.width < 3 * em && box.height > 6 * em;
		});
		return [...wide, ...cut, ...narrow].map((e) => e.outerHTML.slice(0, 120));
	})()`)
	if len(wide) > 0 {
		tab.t.Errorf("wider than the window, or squeezed into a column:\n  %s", strings.Join(wide, "\n  "))
	}
}

// Unfolded opens all folds of the page, looks at it and closes them again.
func (tab *Tab) Unfolded(look func()) {
	tab.t.Helper()
	Eval[bool](tab, `(() => {
		window.unfolded = [...document.querySelectorAll("details:not([open])")];
		for (const fold of unfolded) fold.open = true;
		return true;
	})()`)
	look()
	Eval[bool](tab, "(() => { for (const fold of unfolded) fold.open = false; return true })()")
}

// TableTargets fails the test where a link or button in a table is less than 24
// pixels wide or high, the least of WCAG 2.5.8.
func (tab *Tab) TableTargets() {
	tab.t.Helper()
	small := Eval[[]string](tab, `[...document.querySelectorAll("table :is(a, button, summary, select, input:not([type=hidden]))")]
		.filter((e) => e.checkVisibility({visibilityProperty: true}))
		.map((e) => [e, (e.closest("label") ?? e).getBoundingClientRect()])
		.filter(([, box]) => box.width < 24 || box.height < 24)
		.map(([e, box]) => Math.round(box.width) + " × " + Math.round(box.height) + ": " + e.outerHTML.slice(0, 160))`)
	if len(small) > 0 {
		tab.t.Errorf("too small for a thumb:\n  %s", strings.Join(small, "\n  "))
	}
}

// Before runs a script in each document to come, before the document's own.
func (tab *Tab) Before(script string) {
	tab.t.Helper()
	tab.do("add a script", func(ctx context.Context, _ *chromedp.Target) (chromedp.Void, error) {
		_, err := chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
		return chromedp.Void{}, err
	})
}
