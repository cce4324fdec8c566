package browsertest

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"candor/internal/testkit"
)

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
	scheme := "light"
	if tab.options.Dark {
		scheme = "dark"
	}
	if tab.options.Forced {
		scheme = "forced"
	}
	file := filepath.Join(root, "artifacts", fmt.Sprintf("%s-%d-%s.png", name, sizes[tab.options.Device].width, scheme))
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
		answer, err := chromedp.Call(ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatWebp,
			Quality: &quality})
		if err != nil {
			return nil, fmt.Errorf("capture: %w", err)
		}
		return answer.Data, nil
	})
	if err := os.WriteFile(filepath.Join(root, file), image, 0o644); err != nil {
		tab.t.Fatalf("browsertest: %v", err)
	}
}
