package browsertest

import (
	"context"
	"flag"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"candor/internal/testkit"
)

// patience is how long one step may take before the test fails.
const patience = 20 * time.Second

// A Device is a size of screen.
type Device int

// The devices pages are looked at on.
const (
	Phone   Device = iota // 390 × 844
	Desktop               // 1280 × 900
	Narrow                // 320 × 640: the least width of WCAG 1.4.10
)

func (d Device) size() (width, height int64) {
	switch d {
	case Desktop:
		return 1280, 900
	case Narrow:
		return 320, 640
	}
	return 390, 844
}

// Options say how a tab differs from a light phone with script.
type Options struct {
	Device   Device
	Dark     bool // the visitor prefers a dark colour scheme
	Forced   bool // the system forces its own few colours on pages
	Motion   bool // the visitor hasn't asked for less motion
	NoScript bool // JavaScript is off: what works here works everywhere
	Touch    bool // the visitor points with a finger
	// AllowStatus lists HTTP statuses that the test provokes on purpose, 0 for a lost
	// connection. 422, the answer to an invalid form, is always allowed.
	AllowStatus []int
	AllowCuts   bool // connections that the test cuts are no error

	slow bool
}

// A Tab is one page in a browser profile of its own. Its methods fail the
// test; they are not safe for use from several goroutines.
type Tab struct {
	t       testing.TB
	ctx     context.Context
	options Options
	console *console
	dialogs chan string
	killed  bool
}

// New opens a tab that is closed, and checked with NoErrors, when the test
// ends. Start the server first: what is started last is closed first. Under
// -short the test is skipped.
func New(t testing.TB, options Options) *Tab {
	t.Helper()
	if testing.Short() {
		t.Skip("needs Chromium: make test runs it")
	}
	root, err := shared.start()
	if err != nil {
		t.Fatalf("browsertest: %v", err)
	}
	return open(root, t, options, chromedp.WithNewBrowserContext())
}

func open(beside context.Context, t testing.TB, options Options, profile ...chromedp.ContextOption) *Tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(beside, profile...)
	t.Cleanup(cancel)
	tab := &Tab{t: t, ctx: ctx, options: options, console: listen(ctx, options),
		dialogs: make(chan string, 100)}
	go tab.acceptDialogs(chromedp.Events(ctx, page.JavascriptDialogOpening))
	width, height := options.Device.size()
	tab.do("open a tab",
		chromedp.EmulateViewport(width, height),
		chromedp.Func(tab.emulate),
	)
	t.Cleanup(func() {
		if !tab.killed {
			tab.NoErrors()
		}
	})
	return tab
}

// Kill ends the tab's process, as a phone does that needs the memory: no event
// says so to the page. It returns a new tab of the same profile.
func (tab *Tab) Kill() *Tab {
	tab.t.Helper()
	tab.NoErrors()
	tab.killed = true
	ctx, cancel := context.WithTimeout(tab.ctx, time.Second)
	defer cancel()
	_, _ = chromedp.Call(ctx, page.Crash, cdp.Empty{}) // nothing is left to answer
	return open(tab.ctx, tab.t, tab.options)
}

// Slow3G delays and throttles the tab's requests, and those of tabs that
// follow it, as Chromium's preset does.
func (tab *Tab) Slow3G() {
	tab.t.Helper()
	tab.options.slow = true
	tab.do("slow down the network", chromedp.Func(tab.emulate))
}

func (tab *Tab) emulate(ctx context.Context, _ *chromedp.Target) error {
	scheme := "light"
	if tab.options.Dark {
		scheme = "dark"
	}
	features := []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme},
	}
	if !tab.options.Motion {
		features = append(features, &emulation.MediaFeature{Name: "prefers-reduced-motion", Value: "reduce"})
	}
	if tab.options.Forced {
		features = append(features, &emulation.MediaFeature{Name: "forced-colors", Value: "active"})
	}
	if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features}); err != nil {
		return fmt.Errorf("emulate media: %w", err)
	}
	off := emulation.SetScriptExecutionDisabledParams{Value: tab.options.NoScript}
	if _, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, off); err != nil {
		return fmt.Errorf("switch script off: %w", err)
	}
	touch := emulation.SetTouchEmulationEnabledParams{Enabled: tab.options.Touch}
	if _, err := chromedp.Call(ctx, emulation.SetTouchEmulationEnabled, touch); err != nil {
		return fmt.Errorf("emulate touch: %w", err)
	}
	if tab.options.slow {
		slow := network.Conditions{Latency: 2000, DownloadThroughput: 50_000, UploadThroughput: 50_000}
		if _, err := chromedp.Call(ctx, network.EmulateNetworkConditionsByRule, network.EmulateNetworkConditionsByRuleParams{MatchedNetworkConditions: []*network.Conditions{&slow}}); err != nil {
			return fmt.Errorf("slow down the network: %w", err)
		}
	}
	report := page.AddScriptToEvaluateOnNewDocumentParams{Source: reportViolations}
	if _, err := chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument, report); err != nil {
		return fmt.Errorf("listen for policy violations: %w", err)
	}
	return nil
}

// acceptDialogs says OK to every question, as nothing else can run while one
// is open.
func (tab *Tab) acceptDialogs(opening iter.Seq2[page.EventJavascriptDialogOpening, error]) {
	for dialog, err := range opening {
		if err != nil {
			return // the tab is closed
		}
		accept := page.HandleJavaScriptDialogParams{Accept: true}
		if _, err := chromedp.Call(tab.ctx, page.HandleJavaScriptDialog, accept); err != nil {
			return
		}
		tab.dialogs <- dialog.Message
	}
}

// WaitForDialog waits for an alert or a question, to which OK is said, and
// returns its text.
func (tab *Tab) WaitForDialog() string {
	tab.t.Helper()
	select {
	case message := <-tab.dialogs:
		return message
	case <-time.After(patience):
		tab.t.Fatal("browsertest: no dialog opened")
		return ""
	}
}

func (tab *Tab) do(what string, steps ...chromedp.Action[chromedp.Void]) {
	tab.t.Helper()
	run(tab, what, chromedp.Steps(steps...))
}

func run[T any](tab *Tab, what string, action chromedp.Action[T]) T {
	tab.t.Helper()
	// The tab's own context must outlive the step: it opens the tab.
	if err := chromedp.Do(tab.ctx); err != nil {
		tab.t.Fatalf("browsertest: %s: %v", what, err)
	}
	ctx, cancel := context.WithTimeout(tab.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, action)
	if err != nil {
		tab.t.Fatalf("browsertest: %s: %v", what, err)
	}
	return value
}

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

// Type replaces what the field holds by text, key by key.
func (tab *Tab) Type(selector, text string) {
	tab.t.Helper()
	tab.do("wait for "+selector, chromedp.WaitReady(chromedp.CSS(selector)))
	// chromedp.Clear leaves what was typed where a morphed page kept the input.
	Eval[bool](tab, fmt.Sprintf("document.querySelector(%q).value = '', true", selector))
	tab.do("type into "+selector, chromedp.SendKeys(chromedp.CSS(selector), text))
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
	tab.do("wait for "+selector, chromedp.WaitReady(chromedp.CSS(selector)))
}

// WaitGone waits until nothing matches the selector.
func (tab *Tab) WaitGone(selector string) {
	tab.t.Helper()
	tab.do("wait until gone: "+selector, chromedp.WaitNotPresent(chromedp.CSS(selector)))
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
	if got, ok := tab.poll("document.activeElement?.id ?? ''", func(got string) bool { return got == id }); !ok {
		tab.t.Fatalf("browsertest: the focus never came to %q; it is on %q", id, got)
	}
}

// WaitForTrue waits until the JavaScript expression is true.
func (tab *Tab) WaitForTrue(expression string) {
	tab.t.Helper()
	if got, ok := tab.poll("String("+expression+")", func(got string) bool { return got == "true" }); !ok {
		tab.t.Fatalf("browsertest: never true: %s; it is %q", expression, got)
	}
}

// poll evaluates the expression, a string, until it is what is wanted, and
// returns what it was last. A page that is just being left can't answer, so an
// evaluation that fails is repeated.
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
	}
	return got, false
}

// Text returns the visible text of the selector's first element.
func (tab *Tab) Text(selector string) string {
	tab.t.Helper()
	return run(tab, "read "+selector, chromedp.Text(chromedp.CSS(selector)))
}

// Value returns what the field holds.
func (tab *Tab) Value(selector string) string {
	tab.t.Helper()
	return run(tab, "read the value of "+selector, chromedp.Value(chromedp.CSS(selector)))
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

// FitsWidth fails the test where the page scrolls sideways, and names the
// elements that stick out.
func (tab *Tab) FitsWidth() {
	tab.t.Helper()
	wide := Eval[[]string](tab, `(() => {
		const width = document.documentElement.clientWidth;
		if (document.documentElement.scrollWidth <= width) return [];
		return [...document.body.querySelectorAll("*")]
			.filter((e) => e.getBoundingClientRect().right > width + 1)
			.map((e) => e.outerHTML.slice(0, 120));
	})()`)
	if len(wide) > 0 {
		tab.t.Errorf("the page is wider than the window because of:\n  %s", strings.Join(wide, "\n  "))
	}
}

var pictures = flag.Bool("pictures", false, "draw the pages that tests look at")

// Pictures reports whether the tests were asked, by -pictures, to draw what they
// look at.
func Pictures() bool { return *pictures }

// Screenshot writes the whole page to artifacts/<name>-<width>-<scheme>.png
// at the module's root, where Pictures were asked for.
func (tab *Tab) Screenshot(name string) {
	tab.t.Helper()
	tab.draw(name, chromedp.FullScreenshot(100))
}

// View writes what the window shows of the page, as Screenshot writes all of it.
func (tab *Tab) View(name string) {
	tab.t.Helper()
	tab.draw(name, chromedp.CaptureScreenshot())
}

func (tab *Tab) draw(name string, take chromedp.Action[[]byte]) {
	tab.t.Helper()
	if !Pictures() {
		return
	}
	root, err := testkit.ModuleRoot()
	if err != nil {
		tab.t.Fatalf("browsertest: %v", err)
	}
	width, _ := tab.options.Device.size()
	scheme := "light"
	if tab.options.Dark {
		scheme = "dark"
	}
	if tab.options.Forced {
		scheme = "forced"
	}
	file := filepath.Join(root, "artifacts", fmt.Sprintf("%s-%d-%s.png", name, width, scheme))
	image := run(tab, "take a screenshot", take)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		tab.t.Fatalf("browsertest: %v", err)
	}
	if err := os.WriteFile(file, image, 0o644); err != nil {
		tab.t.Fatalf("browsertest: %v", err)
	}
}

// Picture writes what the window shows to a WebP file, small enough for a
// README. The file is named from the module's root.
func (tab *Tab) Picture(file string) {
	tab.t.Helper()
	root, err := testkit.ModuleRoot()
	if err != nil {
		tab.t.Fatalf("browsertest: %v", err)
	}
	image := run(tab, "take a picture", func(ctx context.Context, _ *chromedp.Target) ([]byte, error) {
		quality := int64(82)
		answer, err := chromedp.Call(ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatWebp, Quality: &quality})
		if err != nil {
			return nil, fmt.Errorf("capture: %w", err)
		}
		return answer.Data, nil
	})
	if err := os.WriteFile(filepath.Join(root, file), image, 0o644); err != nil {
		tab.t.Fatalf("browsertest: %v", err)
	}
}
