package browsertest

import (
	"context"
	"fmt"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// Resize turns the tab into another device.
func (tab *Tab) Resize(device Device) {
	tab.t.Helper()
	tab.options.Device = device
	size := emulation.SetDeviceMetricsOverrideParams{Width: sizes[device].width, Height: sizes[device].height, DeviceScaleFactor: 1}
	tab.do("resize", chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, emulation.SetDeviceMetricsOverride, size)
		return err
	}))
}

// Dark says whether the visitor prefers a dark colour scheme.
func (tab *Tab) Dark(dark bool) {
	tab.t.Helper()
	tab.options.Dark = dark
	tab.do("change the colour scheme", chromedp.Func(tab.emulateMedia))
}

// DefaultText sets the size in pixels of text that the browser's settings ask for, 16
// at first: all that is measured in rem grows with it, and so do widths in em.
func (tab *Tab) DefaultText(size int64) {
	tab.t.Helper()
	sizes := page.SetFontSizesParams{FontSizes: &page.FontSizes{Standard: size, Fixed: size}}
	tab.do("set the size of text", chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, page.SetFontSizes, sizes)
		return err
	}))
	tab.WaitForTrue(fmt.Sprintf("getComputedStyle(document.documentElement).fontSize === '%dpx'", size))
}

// DoubleText doubles the text alone, as a browser's zoom of text does: boxes and
// spaces stay as they are.
func (tab *Tab) DoubleText() {
	tab.t.Helper()
	Eval[int](tab, `(() => {
		const all = [...document.body.querySelectorAll("*")];
		const sizes = all.map((e) => parseFloat(getComputedStyle(e).fontSize));
		all.forEach((e, i) => e.style && (e.style.fontSize = 2 * sizes[i] + "px"));
		return all.length;
	})()`)
}

// Unreadable lists what can't be read where the page stands: a page that scrolls
// sideways, text that is cut off, that leaves its box or that lies over other text,
// and choices that are wider than their field.
func (tab *Tab) Unreadable() []string {
	tab.t.Helper()
	return Eval[[]string](tab, unreadable)
}

const unreadable = `(() => {
	const problems = [], width = innerWidth;
	const name = (e) => e.tagName.toLowerCase() + (e.className ? "." + String(e.className).replaceAll(" ", ".") : "") +
		(e.id ? "#" + e.id : "");
	if (document.scrollingElement.scrollWidth > width) {
		const wide = [...document.body.querySelectorAll("*")].filter((e) => e.getBoundingClientRect().right > width + 1);
		problems.push("scrolls sideways, " + document.scrollingElement.scrollWidth + " px: " + wide.slice(0, 4).map(name).join(", "));
	}
	// Text for screen readers alone is a pixel wide.
	const hidden = (e) => e.closest(".visually-hidden, .skip-link, template, script, noscript") ||
		!e.checkVisibility({visibilityProperty: true, opacityProperty: true});
	const inner = (e) => {
		const box = e.getBoundingClientRect();
		return {left: box.left + e.clientLeft, top: box.top + e.clientTop, right: box.left + e.clientLeft + e.clientWidth,
			bottom: box.top + e.clientTop + e.clientHeight};
	};
	// Many lines are in one element: what is asked of it is kept.
	const once = (ask) => { const told = new Map(); return (e) => told.has(e) ? told.get(e) : (told.set(e, ask(e)), told.get(e)); };
	const unseen = once((owner) => owner.matches("option") || hidden(owner));
	const blockOf = once((e) => getComputedStyle(e).display === "inline" ? blockOf(e.parentElement) : e);
	const boxOf = once((e) => e.getBoundingClientRect());
	const cutters = once((e) => {
		if (e === document.documentElement) return [];
		const style = getComputedStyle(e), further = cutters(e.parentElement);
		return style.overflowX === "visible" && style.overflowY === "visible" ? further : [{e, box: inner(e)}, ...further];
	});
	const outside = (r, box) => r.left < box.left - 1.5 || r.right > box.right + 1.5;
	const lines = [];
	const range = document.createRange();
	const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let node; (node = walker.nextNode());) {
		const text = node.data.trim(), owner = node.parentElement;
		if (!text || unseen(owner)) continue;
		const block = blockOf(owner);
		range.selectNodeContents(node);
		for (const r of range.getClientRects()) {
			if (!r.width || !r.height) continue;
			if (outside(r, boxOf(block))) problems.push("leaves its box " + name(block) + ": " + text.slice(0, 60));
			for (const {e, box} of cutters(block)) {
				if (outside(r, box) || r.top < box.top - 1.5 || r.bottom > box.bottom + 1.5)
					problems.push("cut off by " + name(e) + ": " + text.slice(0, 60));
			}
			lines.push({r, node, text});
		}
	}
	lines.sort((a, b) => a.r.top - b.r.top);
	for (let i = 0; i < lines.length; i++) {
		for (let j = i + 1; j < lines.length && lines[j].r.top < lines[i].r.bottom; j++) {
			const a = lines[i], b = lines[j];
			if (a.node === b.node || a.node.parentElement.closest(".save-status") ||
				b.node.parentElement.closest(".save-status")) continue;
			const x = Math.min(a.r.right, b.r.right) - Math.max(a.r.left, b.r.left);
			// A line's box is higher than its letters.
			const y = Math.min(a.r.bottom, b.r.bottom) - Math.max(a.r.top, b.r.top);
			if (x > 2 && y > 0.35 * Math.min(a.r.height, b.r.height))
				problems.push("lies over: " + a.text.slice(0, 40) + " | " + b.text.slice(0, 40));
		}
	}
	const canvas = document.createElement("canvas").getContext("2d");
	for (const select of document.querySelectorAll("select")) {
		if (hidden(select)) continue;
		const style = getComputedStyle(select);
		canvas.font = style.font;
		const room = select.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
		const text = select.selectedOptions[0]?.text ?? "";
		// A choice can't take a second line: only a field that could be wider is wrong.
		const row = select.parentElement.getBoundingClientRect();
		if (canvas.measureText(text).width > room + 2 && select.offsetWidth < row.width - 2)
			problems.push("too narrow for its choice, " + Math.round(room) + " px: " + name(select) + ": " + text);
	}
	for (const e of document.querySelectorAll("input, select, .button")) {
		if (!hidden(e) && e.scrollHeight > e.clientHeight + 2 &&
			!e.matches("[type=file]")) problems.push("too low for its text: " + name(e));
	}
	return [...new Set(problems)];
})()`

// Print returns the page as a printer would draw it, on A4 as PDF.
func (tab *Tab) Print() []byte {
	tab.t.Helper()
	return run(tab, "print", func(ctx context.Context, _ *chromedp.Target) ([]byte, error) {
		answer, err := chromedp.Call(ctx, page.PrintToPDF, page.PrintToPDFParams{PaperWidth: 8.27, PaperHeight: 11.69})
		return answer.Data, err
	})
}
