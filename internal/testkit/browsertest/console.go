package browsertest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/chromedp"
)

// reportViolations runs in every document before its own scripts, so that no
// blocked script, style or request goes unseen.
const reportViolations = `document.addEventListener("securitypolicyviolation", (e) => {
	console.error("Content-Security-Policy violation: " + e.violatedDirective + " blocked " +
		(e.blockedURI || "inline") + " " + e.sample);
});`

const flushMark = "browsertest: end of messages "

// console collects what the page and the browser complain about.
type console struct {
	allow    []int
	cuts     bool
	mu       sync.Mutex
	problems []string
	flushed  map[string]chan struct{}
	flushes  int
}

func listen(ctx context.Context, o Options) *console {
	c := &console{allow: append([]int{422}, o.AllowStatus...), cuts: o.AllowCuts, flushed: map[string]chan struct{}{}}
	messages := chromedp.Console(ctx)
	go func() {
		for m, err := range messages {
			if err != nil {
				return // the tab is closed
			}
			c.take(m)
		}
	}()
	return c
}

func (c *console) take(m chromedp.ConsoleMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if done, ok := c.flushed[m.Text]; ok {
		close(done)
		delete(c.flushed, m.Text)
		return
	}
	if m.Type != chromedp.ConsoleError && !m.IsException() {
		return
	}
	if m.Source == "network" && c.allowed(m.Text) || c.cuts && (strings.Contains(m.Text, "htmx:error: Failed to fetch") ||
		strings.Contains(m.Text, "htmx:sse:error: ")) {
		return
	}
	c.problems = append(c.problems, fmt.Sprintf("%s (%s:%d)", m.Text, m.URL, m.Line+1))
}

func (c *console) allowed(text string) bool {
	return c.cuts && strings.Contains(text, "net::ERR_") || slices.ContainsFunc(c.allow, func(status int) bool {
		return strings.Contains(text, fmt.Sprintf("status of %d ", status)) || status == 0 && strings.Contains(text, "net::ERR_")
	})
}

// expect returns a text and a channel that closes once the page has logged it.
func (c *console) expect() (mark string, seen <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flushes++
	mark = fmt.Sprint(flushMark, c.flushes)
	done := make(chan struct{})
	c.flushed[mark] = done
	return mark, done
}

func (c *console) flush() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	problems := c.problems
	c.problems = nil
	return problems
}

// NoErrors fails the test if the page logged an error, threw an exception or
// broke its Content-Security-Policy since the last check. Every tab is checked
// when its test ends.
func (tab *Tab) NoErrors() {
	tab.t.Helper()
	mark, seen := tab.console.expect()
	Eval[bool](tab, fmt.Sprintf("console.debug(%q), true", mark))
	select {
	case <-seen:
	case <-time.After(patience):
		tab.t.Error("browsertest: the console's messages did not arrive")
	}
	for _, problem := range tab.console.flush() {
		tab.t.Errorf("browser console: %s", problem)
	}
}
