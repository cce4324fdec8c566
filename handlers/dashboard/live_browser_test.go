package dashboard_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/service/live"
	"candor/internal/testkit/browsertest"
	"candor/internal/testkit/harness"
)

// TestBrowserLivePages: a page changes by itself, and its reader keeps the focus,
// the text and the folds.
func TestBrowserLivePages(t *testing.T) {
	t.Parallel()
	h, base := harness.Listen(t)
	session := h.NewSession(h.TestScope(), domain.NewSession{CustomerName: "Jo Public", WebhookURL: "https://lender.example/hook"})
	path := "/dashboard/test/sessions/" + session.ID.String()
	one, other := browsertest.New(t, browsertest.Options{Device: browsertest.Desktop}), browsertest.New(t, browsertest.Options{})
	signInTo(h, one, base, path)
	signInTo(h, other, base, path)
	one.WaitForText("#session .dash-lede", "Not opened")
	other.Click(".danger-zone > summary")
	one.Click("#days")
	one.Press("4")
	h.Open(session.ID)
	one.WaitForText("#session .dash-lede", "In progress")
	other.WaitForText("#session .dash-lede", "In progress")
	other.WaitForText(".danger-zone button", "Cancel session")
	one.WaitForText("#session", "Opened by the customer")
	one.Press("5")
	if got := one.Value("#days"); got != "45" {
		t.Errorf("the field has %q, want what was typed before and after the change", got)
	}
	if !browsertest.Eval[bool](other, "document.querySelector('.danger-zone').open") {
		t.Error("the fold is closed")
	}

	one.Open(base + "/dashboard/test/sessions")
	one.WaitForText("#list", "1 session")
	one.Click("#q")
	one.Press("sam")
	for range 3 {
		h.NewSession(h.TestScope(), domain.NewSession{})
	}
	h.Complete(session.ID)
	one.WaitForText(".new-rows", "3 new")
	one.WaitForText("#list tbody", "Completed")
	if rows := browsertest.Eval[int](one, "document.querySelectorAll('#list tbody tr').length"); rows != 1 {
		t.Errorf("%d rows, want the one that was there", rows)
	}
	if got := one.Value("#q"); got != "sam" {
		t.Errorf("the search has %q", got)
	}
	view(one, "sessions-new")
	one.Click(".new-rows a")
	one.WaitForText("#list", "4 sessions")
}

// TestBrowserLivePagesWithoutAStream: a hidden page has none, one that lost it gets another, and
// one that can't have any looks by itself. Nothing is lost.
func TestBrowserLivePagesWithoutAStream(t *testing.T) {
	t.Parallel()
	h, base := harness.Listen(t)
	session := h.NewSession(h.TestScope(), domain.NewSession{})
	path := "/dashboard/test/sessions/" + session.ID.String()
	tab := browsertest.New(t, browsertest.Options{Device: browsertest.Desktop, AllowCuts: true, AllowStatus: []int{0, 401}})
	signInTo(h, tab, base, path)
	hide := func(hidden bool) {
		browsertest.Eval[bool](tab,
			fmt.Sprintf(
				`Object.defineProperty(document, "hidden", {value: %v, configurable: true}), document.dispatchEvent(new Event("visibilitychange"))`, hidden))
	}
	connected := func(want bool) {
		tab.WaitForTrue(fmt.Sprintf("!!document.getElementById('live')._htmx?.sse?.reader === %v", want))
	}
	connected(true)
	hide(true)
	connected(false)
	h.Open(session.ID)
	hide(false)
	connected(true)
	tab.WaitForText("#session .dash-lede", "In progress")
	// With the stream cut the extension connects again, and hears what it missed.
	browsertest.Eval[bool](tab, `document.getElementById("live")._htmx.sse.reader.cancel(), true`)
	h.Complete(session.ID)
	tab.WaitForText("#session .dash-lede", "Completed")
	connected(true)

	// Another browser signs the user out: the page leaves at the next change.
	execSQL(h, "DELETE FROM staff_session")
	h.OK(h.DB.InTx(t.Context(), func(tx *db.Tx) error {
		tx.Announce(h.TestScope(), domain.SessionChanged, &session.ID)
		return nil
	}))
	tab.WaitForText("h1", "Sign in")
}

// TestBrowserLivePagesLookByThemselves: where the stream is refused, or a proxy keeps all of it
// back, a page looks each half minute: here in a browser whose clock runs a hundred times
// as fast.
func TestBrowserLivePagesLookByThemselves(t *testing.T) {
	t.Parallel()
	const fast = `(() => {
		const {setInterval, Date: {now}} = window, start = now();
		window.setInterval = (run, pause) => setInterval(run, pause / 100);
		Date.now = () => start + (now() - start) * 100;
	})();`
	const silent = `(() => {
		const {fetch} = window;
		window.fetch = (...all) => String(all[0]?.url ?? all[0]).includes("/live?") ? new Promise(() => {}) : fetch(...all);
	})();`
	for name, script := range map[string]string{"refused": fast, "silent": fast + silent} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, base := harness.Listen(t)
			session := h.NewSession(h.TestScope(), domain.NewSession{})
			if name == "refused" {
				tooManyStreams(h)
			}
			tab := browsertest.New(t, browsertest.Options{Device: browsertest.Desktop, AllowCuts: true,
				AllowStatus: []int{http.StatusTooManyRequests}})
			tab.Before(script)
			signInTo(h, tab, base, "/dashboard/test/sessions/"+session.ID.String())
			tab.WaitForText("#session .dash-lede", "Not opened")
			h.Open(session.ID)
			tab.WaitForText("#session .dash-lede", "In progress")
			h.Complete(session.ID)
			tab.WaitForText("#session .dash-lede", "Completed")
			if browsertest.Eval[bool](tab, "!!document.getElementById('live')._htmx?.sse?.reader") {
				t.Error("the page has a stream")
			}
		})
	}
}

// tooManyStreams has as many streams open as an account may have.
func tooManyStreams(h *harness.Harness) {
	h.Helper()
	staff, begun := h.Staff(domain.RoleOwner).Session, make(chan bool)
	params := live.Params{Scope: h.TestScope(), Topics: domain.SessionChanged, Pause: time.Hour}
	for range live.StreamsPerAccount {
		go func() {
			_ = h.Service.Live.Follow(h.Context(), staff, params, func(...string) error {
				select {
				case begun <- true:
				case <-h.Context().Done():
				}
				return nil
			})
		}()
		<-begun
	}
}
