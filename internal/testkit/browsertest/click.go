package browsertest

import (
	"context"
	"fmt"
	"time"

	"github.com/chromedp/chromedp"
)

// A spot is where a click would go now.
type spot struct {
	X, Y    float64 // the middle of the element's first line, in the window
	Box     string  // changes when the element moves
	Problem string  // why a click would miss, "" where it would hit
}

// measure scrolls the selector's first visible element to the middle of the
// window and says what a click there hits: the element, something inside it or
// its label will do. On a busy machine an animation can stand for longer than a
// frame lasts, so that one is told by itself.
const measure = `((selector) => {
	const element = [...document.querySelectorAll(selector)].find((e) => e.checkVisibility({visibilityProperty: true}) &&
		e.getClientRects().length);
	if (document.readyState === "loading" || !element) return {Problem: "isn't there, or isn't visible"};
	element.scrollIntoView({block: "center", inline: "nearest", behavior: "instant"});
	const line = [...element.getClientRects()].find((r) => r.width && r.height);
	if (!line) return {Problem: "has no size"};
	if (document.getAnimations().some((a) => a.playState === "running" &&
		a.effect?.target?.contains(element))) return {Problem: "is moving"};
	const X = line.x + line.width / 2, Y = line.y + line.height / 2;
	const at = {X, Y, Box: [line.x, line.y, line.width, line.height].join(" "), Problem: ""};
	const hit = document.elementFromPoint(X, Y);
	if (!hit) return {...at, Problem: "is outside the window"};
	if (element.contains(hit) || [...element.labels ?? []].some((l) => l.contains(hit))) return at;
	return {...at, Problem: "is covered by " + hit.outerHTML.slice(0, 200)};
})`

// spot measures the element as it is now.
func (tab *Tab) spot(ctx context.Context, selector string) (spot, error) {
	return chromedp.Run(ctx, chromedp.Evaluate[spot](fmt.Sprintf("%s(%q)", measure, selector)))
}

// frameTime is longer than a frame lasts on a screen.
const frameTime = 20 * time.Millisecond

// frame waits for the page to be drawn again. Without script no page says when
// that is, nor does one that is being left: there it is the time that it takes.
func (tab *Tab) frame(ctx context.Context) {
	if !tab.options.NoScript {
		drawn := "new Promise((done) => { requestAnimationFrame(() => done(true)); setTimeout(() => done(false), 100) })"
		if _, err := chromedp.Run(ctx, chromedp.Evaluate[bool](drawn, chromedp.EvalAwaitPromise)); err == nil {
			return
		}
	}
	pause(ctx)
}

// pause lets the time of a frame pass.
func pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(frameTime):
	}
}

// Click clicks the first visible element that matches the CSS selector, with
// the mouse, once it keeps still and nothing covers it. It doesn't wait for
// what follows: use WaitFor.
func (tab *Tab) Click(selector string) {
	tab.t.Helper()
	still := tab.waitForStill(selector)
	tab.do("click "+selector, chromedp.MouseClickXY(still.X, still.Y))
}

// Spot returns the place in the window where Click would click the element.
func (tab *Tab) Spot(selector string) (x, y float64) {
	tab.t.Helper()
	still := tab.waitForStill(selector)
	return still.X, still.Y
}

// Tap clicks at a place in the window, whatever is there.
func (tab *Tab) Tap(x, y float64) {
	tab.t.Helper()
	tab.do("tap", chromedp.MouseClickXY(x, y))
}

// waitForStill waits until the element is at the same place in two frames and
// a click there hits it.
func (tab *Tab) waitForStill(selector string) spot {
	tab.t.Helper()
	ctx, cancel := context.WithTimeout(tab.ctx, patience)
	defer cancel()
	last := spot{Problem: "was never measured"}
	for {
		now, err := tab.spot(ctx, selector)
		if ctx.Err() != nil {
			break
		}
		if err != nil { // the page is being left
			now.Problem = err.Error()
		}
		if now.Problem == "" && now.Box == last.Box {
			return now
		}
		last = now
		tab.frame(ctx)
	}
	if last.Problem == "" {
		last.Problem = "never kept still"
	}
	tab.t.Fatalf("browsertest: click %s: it %s", selector, last.Problem)
	return last
}

// ClickTimes clicks the element that often in a row, as an impatient finger
// does.
func (tab *Tab) ClickTimes(selector string, times int) {
	tab.t.Helper()
	still := tab.waitForStill(selector)
	script := fmt.Sprintf("for (let i = 1; i < %d; i++) document.querySelector(%q)?.click(); true", times, selector)
	tab.do("click "+selector, chromedp.MouseClickXY(still.X, still.Y), func(ctx context.Context,
		t *chromedp.Target) (chromedp.Void, error) {
		_, err := chromedp.Evaluate[any](script)(ctx, t)
		return chromedp.Void{}, err
	})
}
