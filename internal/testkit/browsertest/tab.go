package browsertest

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/webauthn"
	"github.com/chromedp/chromedp"

	"candor/internal/testkit"
)

// patience is how long one step may take before the test fails. On a busy machine axe
// takes longer than 20 seconds for a long page.
const patience = time.Minute

// A Device is a size of screen.
type Device int

// The devices pages are looked at on.
const (
	Phone Device = iota
	Desktop
	Narrow // the least width of WCAG 1.4.10
	Small
	Wide
)

// sizes are the devices' in pixels.
var sizes = [...]struct{ width, height int64 }{
	Phone: {390, 844}, Desktop: {1280, 900}, Narrow: {320, 640}, Small: {360, 640}, Wide: {1600, 900},
}

// Options say how a tab differs from a light phone with script.
type Options struct {
	Device   Device
	Dark     bool   // the visitor prefers a dark colour scheme
	Forced   bool   // the system forces its own few colours on pages
	NoScript bool   // JavaScript is off: what works here works everywhere
	Touch    bool   // the visitor points with a finger
	Zone     string // the device's time zone, like "Australia/Perth"; "" for the machine's
	Locale   string // the browser's language, like "de_DE"; "" for the machine's
	// AllowStatus lists HTTP statuses that the test provokes on purpose, 0 for a lost
	// connection. 422, the answer to an invalid form, is always allowed.
	AllowStatus []int
	AllowCuts   bool // connections that the test cuts, and streams that it refuses, are no error

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

// IsPhone reports whether the tab is as wide as a phone.
func (tab *Tab) IsPhone() bool { return tab.options.Device == Phone }

// In is the tab in a part of its test, which then fails.
func (tab *Tab) In(t testing.TB) *Tab {
	part := *tab
	part.t = t
	return &part
}

// New opens a tab that is closed, and checked with NoErrors, when the test
// ends. Start the server first: what is started last is closed first. Under
// -short the test is skipped. The test's name must begin with TestBrowser.
func New(t testing.TB, options Options) *Tab {
	t.Helper()
	if name := t.Name(); !strings.HasPrefix(name, "TestBrowser") {
		name, _, _ = strings.Cut(name, "/")
		t.Fatalf("browsertest: %s opens a browser: rename it to TestBrowser%s, as make race leaves browser tests out by that name",
			name, strings.TrimPrefix(name, "Test"))
	}
	testkit.Slow(t) // make test-fast needs no Chromium
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
	tab := &Tab{t: t, ctx: ctx, options: options, console: listen(ctx, options), dialogs: make(chan string, 100)}
	go tab.acceptDialogs(chromedp.Events(ctx, page.JavascriptDialogOpening))
	size := sizes[options.Device]
	tab.do("open a tab",
		chromedp.EmulateViewport(size.width, size.height),
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
	ctx, cancel := context.WithTimeout(tab.ctx, patience)
	defer cancel()
	crashed := chromedp.Events(ctx, inspector.TargetCrashed)
	go func() { _, _ = chromedp.Call(ctx, page.Crash, cdp.Empty{}) }() // nothing is left to answer
	for _, err := range crashed {
		if err != nil {
			tab.t.Fatalf("browsertest: the tab doesn't crash: %v", err)
		}
		break
	}
	return open(tab.ctx, tab.t, tab.options)
}

// Slow delays the tab's requests by 300 ms and throttles them to 50 kB/s, and those of
// tabs that follow it.
func (tab *Tab) Slow() {
	tab.t.Helper()
	tab.options.slow = true
	tab.do("slow down the network", chromedp.Func(tab.emulate))
}

func (tab *Tab) emulateMedia(ctx context.Context, _ *chromedp.Target) error {
	scheme := "light"
	if tab.options.Dark {
		scheme = "dark"
	}
	features := []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}
	if tab.options.Forced {
		features = append(features, &emulation.MediaFeature{Name: "forced-colors", Value: "active"})
	}
	if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features}); err != nil {
		return fmt.Errorf("emulate media: %w", err)
	}
	return nil
}

func (tab *Tab) emulate(ctx context.Context, target *chromedp.Target) error {
	if err := tab.emulateMedia(ctx, target); err != nil {
		return err
	}
	off := emulation.SetScriptExecutionDisabledParams{Value: tab.options.NoScript}
	if _, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, off); err != nil {
		return fmt.Errorf("switch script off: %w", err)
	}
	touch := emulation.SetTouchEmulationEnabledParams{Enabled: tab.options.Touch}
	if _, err := chromedp.Call(ctx, emulation.SetTouchEmulationEnabled, touch); err != nil {
		return fmt.Errorf("emulate touch: %w", err)
	}
	if tab.options.Zone != "" {
		if _, err := chromedp.Call(ctx, emulation.SetTimezoneOverride,
			emulation.SetTimezoneOverrideParams{TimezoneID: tab.options.Zone}); err != nil {
			return fmt.Errorf("set the time zone: %w", err)
		}
	}
	if tab.options.Locale != "" {
		if _, err := chromedp.Call(ctx, emulation.SetLocaleOverride,
			emulation.SetLocaleOverrideParams{Locale: tab.options.Locale}); err != nil {
			return fmt.Errorf("set the language: %w", err)
		}
	}
	if tab.options.slow {
		slow := network.Conditions{Latency: 300, DownloadThroughput: 50_000, UploadThroughput: 50_000}
		if _, err := chromedp.Call(ctx, network.EmulateNetworkConditionsByRule,
			network.EmulateNetworkConditionsByRuleParams{MatchedNetworkConditions: []*network.Conditions{&slow}}); err != nil {
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
	for replaced(err) && ctx.Err() == nil {
		value, err = chromedp.Run(ctx, action)
	}
	if err != nil {
		tab.t.Fatalf("browsertest: %s: %v", what, err)
	}
	return value
}

// replaced reports that the page replaced an element between its being found and
// its use: the step did nothing and can be repeated.
func replaced(err error) bool {
	return err != nil && strings.Contains(err.Error(), "ode with given id")
}

// SetCookies gives the tab these cookies of the site at the URL, by their names.
func (tab *Tab) SetCookies(url string, cookies map[string]string) {
	tab.t.Helper()
	var params network.SetCookiesParams
	for name, value := range cookies {
		params.Cookies = append(params.Cookies, &network.CookieParam{Name: name, Value: value, URL: url, Path: "/", HTTPOnly: true})
	}
	tab.do("set cookies", chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, network.SetCookies, params)
		return err
	}))
}

// As shows the page as it is on another device, or in another colour scheme, while see
// looks at it. The page stays: a way to it is walked once, however often it is looked at.
func (tab *Tab) As(device Device, dark bool, see func()) {
	tab.t.Helper()
	own := tab.options
	tab.show(device, dark)
	see()
	tab.show(own.Device, own.Dark)
}

func (tab *Tab) show(device Device, dark bool) {
	tab.t.Helper()
	if tab.options.Device != device {
		tab.Resize(device)
	}
	if tab.options.Dark != dark {
		tab.Dark(dark)
	}
}

// Passkeys gives the tab a phone's passkeys, whose owner always agrees. The
// page must have a name, such as localhost: addresses have no passkeys.
func (tab *Tab) Passkeys() {
	tab.t.Helper()
	tab.do("add passkeys", chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		if _, err := chromedp.Call(ctx, webauthn.Enable, webauthn.EnableParams{}); err != nil {
			return fmt.Errorf("enable WebAuthn: %w", err)
		}
		_, err := chromedp.Call(ctx, webauthn.AddVirtualAuthenticator, webauthn.AddVirtualAuthenticatorParams{
			Options: &webauthn.VirtualAuthenticatorOptions{
				Protocol: webauthn.AuthenticatorProtocolCtap2, Transport: webauthn.AuthenticatorTransportInternal,
				HasResidentKey: true, HasUserVerification: true, IsUserVerified: true, AutomaticPresenceSimulation: true,
			},
		})
		return err
	}))
}
