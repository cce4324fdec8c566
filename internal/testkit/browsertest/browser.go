// Package browsertest drives a real Chromium in tests: one browser for each
// test binary, an isolated tab for each New. A tab fails its test on any
// console error, uncaught exception or Content-Security-Policy violation. It
// must not know the application: it imports nothing of this module.
//
// The names of tests that open a tab begin with TestBrowser: `make race`
// leaves them out: it would slow their server, and finds races by other tests.
package browsertest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

// browser is the test binary's one Chromium, started by the first New.
type browser struct {
	once  sync.Once
	ctx   context.Context
	close func()
	err   error
}

var shared browser

// Main runs a package's tests and then closes the browser, if one was
// started. Use it as TestMain: os.Exit(browsertest.Main(m)). Without it the
// browser still ends with the test binary, but leaves its profile behind.
func Main(m *testing.M) int {
	code := m.Run()
	if shared.close != nil {
		shared.close()
	}
	return code
}

func (b *browser) start() (context.Context, error) {
	b.once.Do(func() {
		path, err := findChromium()
		if err != nil {
			b.err = err
			return
		}
		opts := append(chromedp.DefaultExecAllocatorOptions[:],
			chromedp.ExecPath(path),
			chromedp.DisableGPU,
			// The sandbox needs user namespaces, which containers and root lack.
			// Only our own pages are opened.
			chromedp.NoSandbox,
			chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"),
			// A page from the back/forward cache loses the driver's view of it.
			chromedp.Flag("disable-features", "Translate,BackForwardCache"),
			chromedp.Flag("hide-scrollbars", true),
			// A page is open for a second: the simplest compiler, at once, and no better one later, takes least time.
			chromedp.Flag("js-flags", "--always-sparkplug --no-opt --no-maglev"),
			chromedp.Flag("force-device-scale-factor", "1"),
		)
		alloc, closeAlloc := chromedp.NewExecAllocator(context.Background(), opts...)
		ctx, closeBrowser := chromedp.NewContext(alloc)
		b.ctx = ctx
		b.close = func() {
			// A browser that doesn't close in order is killed by the allocator.
			_ = chromedp.Cancel(ctx)
			closeBrowser()
			closeAlloc()
		}
		if err := chromedp.Do(ctx); err != nil {
			b.err = fmt.Errorf("start %s: %w", path, err)
		}
	})
	return b.ctx, b.err
}

// findChromium returns the path of a Chromium or Chrome of this machine, at best of one
// that has no windows: it takes half the processor time.
func findChromium() (string, error) {
	names := []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable"}
	if path := os.Getenv("CHROME_PATH"); path != "" {
		names = []string{path}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	if runtime.GOOS == "darwin" {
		for _, app := range []string{"Google Chrome", "Chromium"} {
			path := "/Applications/" + app + ".app/Contents/MacOS/" + app
			if _, err := os.Stat(path); err == nil {
				return path, nil
			}
		}
	}
	return "",
		fmt.Errorf(
			"no %s found: install it (Debian: apt-get install chromium-headless-shell; macOS: brew install --cask chromium) or set CHROME_PATH",
			strings.Join(names, ", "))
}
