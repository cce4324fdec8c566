package dashboard_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"candor/db"
	"candor/handlers"
	"candor/internal/platform/ratelimit"
	"candor/internal/testkit"
	"candor/internal/testkit/harness"
)

const deviceCookie = "__Secure-candor_device"

// strangerFrom is a browser at the n-th of many networks.
func strangerFrom(h *harness.Harness, n int) *harness.StaffBrowser {
	s := h.SignedOut()
	s.From = fmt.Sprintf("198.18.%d.%d", n/250, n%250+1)
	return s
}

// wantRetry fails unless the answer has that status and says when to try again,
// and returns when.
func wantRetry(s *harness.StaffBrowser, answer *httptest.ResponseRecorder, status int, texts ...string) time.Duration {
	s.Helper()
	s.WantPage(answer, status, texts...)
	seconds, err := strconv.Atoi(answer.Header().Get("Retry-After"))
	if err != nil || seconds < 1 {
		s.Errorf("Retry-After: %q", answer.Header().Get("Retry-After"))
	}
	return time.Duration(seconds) * time.Second
}

// everyRow is all that the tables have that an attempt can write to, with the
// transaction that wrote each row.
func everyRow(h *harness.Harness) (all string) {
	h.Helper()
	for _, table := range []string{"attempt_count", "staff_session", "staff_request", "passkey_challenge", "audit_log"} {
		rows := harness.QueryOne[string](h,
			`SELECT coalesce(string_agg(t.xmin::text || t.xmax::text || t::text, ' ' ORDER BY t::text), '') FROM `+table+` t`)
		all += string(table) + ": " + rows + "\n"
	}
	emails := harness.QueryOne[int](h, `SELECT count(*) FROM river_job WHERE kind = 'staff_letter'`)
	return fmt.Sprint(all, emails)
}

// TestRefusedSignInsWriteNothing: once a network may not try an address again, for 15
// minutes, its tries change no row and add none.
func TestRefusedSignInsWriteNothing(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	for _, email := range []string{h.Account.Email, "nobody@lender.example"} {
		browser := h.SignedOut()
		for range 10 {
			browser.WantPage(browser.Post("/dashboard/sign-in", harness.SignInForm(email, "wrong")), http.StatusUnprocessableEntity)
		}
		wantRetry(browser, browser.Post("/dashboard/sign-in", harness.SignInForm(email, "wrong")), http.StatusTooManyRequests,
			"too many attempts", email)
		before := everyRow(h)
		for range 30 {
			wantRetry(browser, browser.Post("/dashboard/sign-in", harness.SignInForm(email, h.Account.Password)),
				http.StatusTooManyRequests)
		}
		if after := everyRow(h); after != before {
			t.Errorf("refused tries wrote:\n%s\n%s", before, after)
		}
	}
	h.Clock.Advance(15 * time.Minute)
	h.Owner()
}

// signedOutPosts are the routes that anyone can post to without being signed in.
func signedOutPosts() (paths []string) {
	for _, route := range harness.RoutesOf(handlers.SignedOut) {
		if route.Method == http.MethodPost {
			paths = append(paths, route.Path)
		}
	}
	return paths
}

// TestSignedOutPostsAreLimitedFirst: what one network posts too often is refused
// without a look at the database, which is gone here.
func TestSignedOutPostsAreLimitedFirst(t *testing.T) {
	t.Parallel()
	for _, path := range signedOutPosts() {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t, func(c *handlers.Config) {
				limiter, err := ratelimit.New(ratelimit.Config{PerMinute: 30, Burst: 3, Keys: 2})
				if err != nil {
					t.Fatal(err)
				}
				c.SignedOutLimiter = limiter
			})
			known := h.Owner()
			h.OK(h.DB.Close())
			browser := h.SignedOut()
			browser.Cookies[staffCookie] = "some token"
			for i := range 6 {
				answer := browser.Post(path, url.Values{"email": {"jo@lender.example"}, "password": {"x"}})
				if limited := answer.Code == http.StatusTooManyRequests; limited != (i >= 2) { // the owner's was the first
					t.Errorf("post %d: status %d", i+1, answer.Code)
				}
			}
			answer := browser.Post(path, nil)
			if wait := wantRetry(browser, answer, http.StatusTooManyRequests, "Please wait a moment",
				"from your network"); wait != 2*time.Second {
				t.Errorf("Retry-After %s, want 2s", wait)
			}
			for name, other := range map[string]*harness.StaffBrowser{"another network": strangerFrom(h, 1), "a known browser": known} {
				if answer := other.Post(path, nil); answer.Code == http.StatusTooManyRequests {
					t.Errorf("%s: status %d", name, answer.Code)
				}
			}
			h.Clock.Advance(2 * time.Second)
			if answer := browser.Post(path, nil); answer.Code == http.StatusTooManyRequests {
				t.Errorf("after the wait: status %d", answer.Code)
			}
		})
	}
}

// TestStrangersLockNoOneOut: however many strangers try an address, its user
// signs in from a known browser and confirms in a signed-in one at once, and from
// a new one at the moment that the refusal names.
func TestStrangersLockNoOneOut(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	signedIn, known := h.Owner(), h.Owner()
	known.WantRedirect(known.Post("/dashboard/sign-out", nil), "/dashboard/sign-in")
	admitted, refused := 0, 0
	for i := range 60 {
		stranger := strangerFrom(h, i/3) // 20 networks
		switch answer := stranger.Post("/dashboard/sign-in", harness.SignInForm(strings.ToUpper(h.Account.Email),
			"wrong")); answer.Code {
		case http.StatusUnprocessableEntity:
			admitted++
		case http.StatusTooManyRequests:
			refused++
		default:
			t.Fatalf("status %d: %s", answer.Code, answer.Body)
		}
	}
	if admitted != 20 || refused != 40 {
		t.Errorf("%d tries were admitted and %d refused, want 20 and 40", admitted, refused)
	}
	right := harness.SignInForm(h.Account.Email, h.Account.Password)
	elsewhere := strangerFrom(h, 999)
	wait := wantRetry(elsewhere, elsewhere.Post("/dashboard/sign-in", right), http.StatusTooManyRequests, "Try again in 5 seconds")
	known.From, signedIn.From = "198.18.0.1", "198.18.0.1" // where strangers are, too
	known.WantRedirect(known.Post("/dashboard/sign-in", right), "/dashboard")
	signedIn.WantRedirect(signedIn.Post("/dashboard/confirm", url.Values{"password": {h.Account.Password}}), "/dashboard")
	change := url.Values{"password": {h.Account.Password}, "new_password": {harness.GoodPassword}}
	signedIn.WantRedirect(signedIn.Post("/dashboard/test/me/password", change), "/dashboard/test/me")
	h.Clock.Advance(wait)
	elsewhere.WantRedirect(elsewhere.Post("/dashboard/sign-in", harness.SignInForm(h.Account.Email, harness.GoodPassword)),
		"/dashboard")
}

// TestPacedTriesGrowSlower: of tries from everywhere at one address, fewer are
// admitted the more fail, and never less than one a minute.
func TestPacedTriesGrowSlower(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	paced := db.Counter{Subject: []byte("address"), Free: 20, Window: time.Hour, Paced: true}
	var waits []time.Duration
	for range 100 {
		err := h.DB.CountAttempt(h.Context(), h.Clock.Now(), paced)
		if err == nil {
			continue
		}
		refused, ok := err.(*db.RefusedAttempt) //nolint:errorlint // it is not wrapped
		if !ok {
			t.Fatal(err)
		}
		wait := refused.Next.Sub(h.Clock.Now())
		if len(waits) == 0 || waits[len(waits)-1] != wait {
			waits = append(waits, wait)
		}
		h.Clock.Advance(wait)
	}
	if want := "[5s 10s 20s 40s]"; fmt.Sprint(waits) != want {
		t.Errorf("the waits are %v, want %s", waits, want)
	}
}

// TestOwnFailuresCount: a known browser is no way around: its own failures are
// counted, and it is known to its user alone and until the password changes.
func TestOwnFailuresCount(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	other := h.NewAccount("other@lender.example", "starter")
	known := h.Owner()
	cookie := known.Cookies[deviceCookie]
	fail := func(browser *harness.StaffBrowser, email string, want int) {
		browser.Helper()
		n := 0
		for ; n < 12; n++ {
			if answer := browser.Post("/dashboard/sign-in", harness.SignInForm(email,
				"wrong")); answer.Code == http.StatusTooManyRequests {
				break
			}
		}
		if n != want {
			browser.Errorf("%d tries were admitted, want %d", n, want)
		}
	}
	fail(known, h.Account.Email, 10)
	stranger := strangerFrom(h, 1)
	fail(stranger, h.Account.Email, 10) // apart from those of the known browser
	fail(known, other.Email, 10)
	fail(h.SignedOut(), other.Email, 0) // the same network: it isn't known to the other one
	h.Clock.Advance(15 * time.Minute)
	owner := h.Owner()
	change := url.Values{"password": {h.Account.Password}, "new_password": {harness.GoodPassword}}
	owner.WantRedirect(owner.Post("/dashboard/test/me/password", change), "/dashboard/test/me")
	if owner.Cookies[deviceCookie] == "" {
		t.Error("the browser in which the password was changed isn't known")
	}
	former := strangerFrom(h, 2)
	former.Cookies[deviceCookie] = cookie
	fail(former, h.Account.Email, 10)
	fail(strangerFrom(h, 2), h.Account.Email, 0)
	for name, value := range map[string]string{"cut": cookie[:len(cookie)-4], "nonsense": "a.b.c", "empty": "."} {
		bad := strangerFrom(h, 3)
		bad.Cookies[deviceCookie] = value
		bad.WantPage(bad.Post("/dashboard/sign-in", harness.SignInForm("nobody@lender.example", name)), http.StatusUnprocessableEntity)
	}
}

// TestDeviceCookie: it comes with a complete sign-in, for the dashboard alone,
// and lists the users of a shared browser.
func TestDeviceCookie(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	other := h.NewAccount("other@lender.example", "starter")
	owner := h.Owner()
	secret, _ := owner.TwoStep()
	h.Clock.Advance(time.Minute)
	half := h.HalfIn()
	if half.Cookies[deviceCookie] != "" {
		t.Error("a password alone makes the browser known")
	}
	answer := half.Post("/dashboard/sign-in/code", harness.CodeForm(h.Code(secret, 0)))
	var device *http.Cookie
	for _, cookie := range answer.Result().Cookies() {
		if cookie.Name == deviceCookie {
			device = cookie
		}
	}
	if device == nil || !device.HttpOnly || !device.Secure || device.SameSite != http.SameSiteLaxMode ||
		device.Path != "/dashboard" || device.MaxAge != 180*24*60*60 {
		t.Fatalf("cookie %+v", device)
	}
	if strings.Contains(device.Value, owner.Cookies[deviceCookie]) {
		t.Error("two browsers have the same cookie")
	}
	half.WantRedirect(half.Post("/dashboard/sign-in", harness.SignInForm(other.Email, other.Password)), "/dashboard")
	for i := range 11 {
		for _, email := range []string{h.Account.Email, other.Email} {
			strangerFrom(h, i).Post("/dashboard/sign-in", harness.SignInForm(email, "wrong"))
			strangerFrom(h, i).Post("/dashboard/sign-in", harness.SignInForm(email, "wrong"))
		}
	}
	half.WantRedirect(half.Post("/dashboard/sign-in", harness.SignInForm(other.Email, other.Password)), "/dashboard")
	half.WantRedirect(half.Post("/dashboard/sign-in", harness.SignInForm(h.Account.Email, h.Account.Password)),
		"/dashboard/sign-in/code?then=%2Fdashboard")
	h.Clock.Advance(180 * 24 * time.Hour)
	for i := range 11 {
		strangerFrom(h, i).Post("/dashboard/sign-in", harness.SignInForm(other.Email, "wrong"))
		strangerFrom(h, i).Post("/dashboard/sign-in", harness.SignInForm(other.Email, "wrong"))
	}
	wantRetry(half, half.Post("/dashboard/sign-in", harness.SignInForm(other.Email, other.Password)), http.StatusTooManyRequests)
}

// TestFiveCodesAreFive: wrong codes of a user count together, whatever the browser, so
// that a browser that is known is no five codes more.
func TestFiveCodesAreFive(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	owner := h.Owner()
	secret, _ := owner.TwoStep()
	h.Clock.Advance(time.Minute)
	thief := strangerFrom(h, 1)
	for _, browser := range []*harness.StaffBrowser{owner, thief} {
		form := harness.SignInForm(h.Account.Email, h.Account.Password)
		browser.WantRedirect(browser.Post("/dashboard/sign-in", form), "/dashboard/sign-in/code?then=%2Fdashboard")
	}
	for i, browser := range []*harness.StaffBrowser{thief, owner, thief, owner, thief} {
		if answer := browser.Post("/dashboard/sign-in/code",
			harness.CodeForm("000 000")); answer.Code != http.StatusUnprocessableEntity {
			t.Errorf("code %d is answered %d", i+1, answer.Code)
		}
	}
	for _, browser := range []*harness.StaffBrowser{owner, thief} {
		wantRetry(browser, browser.Post("/dashboard/sign-in/code", harness.CodeForm(h.Code(secret, 0))), http.StatusTooManyRequests,
			"too many attempts")
	}
	h.Clock.Advance(15 * time.Minute)
	owner.WantRedirect(owner.Post("/dashboard/sign-in", harness.SignInForm(h.Account.Email, h.Account.Password)),
		"/dashboard/sign-in/code?then=%2Fdashboard")
	owner.WantRedirect(owner.Post("/dashboard/sign-in/code", harness.CodeForm(h.Code(secret, 0))), "/dashboard")
}

// TestResetGivesNoDeviceBeforeTheSecondFactor: a mailbox is one half of two, so the link
// makes no browser known.
func TestResetGivesNoDeviceBeforeTheSecondFactor(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	m := h.Mailbox()
	secret, _ := h.Owner().TwoStep()
	h.Clock.Advance(time.Minute)
	m.Email(h.Account.Email, "Two-step sign-in is on")
	browser := strangerFrom(h, 1)
	browser.Post("/dashboard/forgot", url.Values{"email": {h.Account.Email}})
	openEmail(browser, m.Link(m.Email(h.Account.Email, "Choose a new password")), "/dashboard/reset")
	browser.WantRedirect(browser.Post("/dashboard/reset", url.Values{"new_password": {harness.GoodPassword}}), "/dashboard/sign-in")
	browser.WantRedirect(browser.Post("/dashboard/sign-in", harness.SignInForm(h.Account.Email, harness.GoodPassword)),
		"/dashboard/sign-in/code?then=%2Fdashboard")
	if browser.Cookies[deviceCookie] != "" {
		t.Error("the reset makes the browser known before the code")
	}
	browser.WantRedirect(browser.Post("/dashboard/sign-in/code", harness.CodeForm(h.Code(secret, 0))), "/dashboard")
	if browser.Cookies[deviceCookie] == "" {
		t.Error("the complete sign-in doesn’t make the browser known")
	}
}

// TestResetEmailsCannotBeBlocked: a stranger who asks for as many emails as there
// are stops no one: their links work, the page is the same, a known browser gets
// one of its own, and who has chosen a new password signs in with it at once.
func TestResetEmailsCannotBeBlocked(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := harness.New(t)
	m := h.Mailbox()
	known := h.Owner()
	ask := func(browser *harness.StaffBrowser) {
		browser.Helper()
		browser.WantRedirect(browser.Post("/dashboard/forgot", url.Values{"email": {h.Account.Email}}), "/dashboard/letter-sent")
	}
	var links []string
	for i := range 5 {
		ask(strangerFrom(h, i))
		if i < 3 {
			links = append(links, m.Link(m.Email(h.Account.Email, "Choose a new password")))
		}
	}
	before := everyRow(h)
	owner := strangerFrom(h, 50)
	ask(owner)
	if after := everyRow(h); after != before {
		t.Errorf("an email that isn't sent wrote:\n%s\n%s", before, after)
	}
	ask(known)
	links = append(links, m.Link(m.Email(h.Account.Email, "Choose a new password")))
	m.Idle()
	for _, link := range links {
		openEmail(owner, link, "/dashboard/reset")
		owner.WantPage(owner.Get("/dashboard/reset"), http.StatusOK, h.Account.Email)
	}
	owner.WantRedirect(owner.Post("/dashboard/reset", url.Values{"new_password": {harness.GoodPassword}}), "/dashboard/sign-in")
	m.Email(h.Account.Email, "Your password was changed")
	for i := range 30 {
		strangerFrom(h, i).Post("/dashboard/sign-in", harness.SignInForm(h.Account.Email, "wrong"))
	}
	owner.WantRedirect(owner.Post("/dashboard/sign-in", harness.SignInForm(h.Account.Email, harness.GoodPassword)), "/dashboard")
}

// TestFullQueueShedsLoad: passwords of strangers that find no place in the
// queue are refused at once, with what was typed, and delay no one who is known.
func TestFullQueueShedsLoad(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	config := h.Service.Config
	config.PasswordQueue.AtOnce, config.PasswordQueue.Waiting = 1, 1
	h.Restart(config)
	m, known, forgetful := h.Mailbox(), h.Owner(), strangerFrom(h, 2)
	forgetful.Post("/dashboard/forgot", url.Values{"email": {h.Account.Email}})
	openEmail(forgetful, m.Link(m.Email(h.Account.Email, "Choose a new password")), "/dashboard/reset")
	m.Idle()
	strangerFrom(h, 0).Post("/dashboard/sign-in", harness.SignInForm("nobody@lender.example", "wrong"))
	waiting := make(chan int, 2)
	h.OK(h.DB.InTx(h.Context(), func(tx *db.Tx) error {
		// Two strangers wait for the counter of their network, each in its place.
		_, err := tx.Raw().ExecContext(h.Context(), `SELECT FROM attempt_count FOR UPDATE`)
		h.OK(err)
		for range 2 {
			go func() {
				stranger := strangerFrom(h, 0)
				waiting <- stranger.Post("/dashboard/sign-in", harness.SignInForm("nobody@lender.example", "wrong")).Code
			}()
		}
		h.WaitForLocks(2)
		before := everyRow(h)
		stranger := strangerFrom(h, 1)
		for path, form := range map[string]url.Values{
			"/dashboard/sign-in": harness.SignInForm("jo@lender.example", "wrong"),
			"/dashboard/sign-up": {"company": {"New"}, "name": {"Jo"}, "email": {"jo@lender.example"},
				"new_password": {harness.GoodPassword}},
		} {
			wantRetry(stranger, stranger.Post(path, form), http.StatusServiceUnavailable, "Candor is busy. Try again in a few seconds.",
				"jo@lender.example")
		}
		elsewhere := h.SignedOut() // known to another user alone
		elsewhere.From, elsewhere.Cookies[deviceCookie] = "198.18.9.9", known.Cookies[deviceCookie]
		wantRetry(elsewhere, elsewhere.Post("/dashboard/sign-in", harness.SignInForm("jo@lender.example", "wrong")),
			http.StatusServiceUnavailable, "Candor is busy")
		wantRetry(forgetful, forgetful.Post("/dashboard/reset", url.Values{"new_password": {harness.GoodPassword}}),
			http.StatusServiceUnavailable, "Candor is busy", h.Account.Email)
		if after := everyRow(h); after != before {
			t.Errorf("what is shed wrote:\n%s\n%s", before, after)
		}
		known.WantRedirect(known.Post("/dashboard/confirm", url.Values{"password": {h.Account.Password}}), "/dashboard")
		known.WantRedirect(known.Post("/dashboard/sign-in", harness.SignInForm(h.Account.Email, h.Account.Password)), "/dashboard")
		return nil
	}))
	for range 2 {
		if status := <-waiting; status != http.StatusUnprocessableEntity {
			t.Errorf("who waited is answered %d", status)
		}
	}
}

// TestStrangersAreBounded: while as many posts of strangers are worked on as may
// be, whatever their networks, a further one is refused, and a known browser's
// isn't.
func TestStrangersAreBounded(t *testing.T) {
	t.Parallel()
	h := harness.New(t, func(c *handlers.Config) { c.StrangersAtOnce, c.RefusalDelay = 2, time.Millisecond })
	known := h.Owner()
	ask := url.Values{"email": {"nobody@lender.example"}}
	strangerFrom(h, 0).Post("/dashboard/forgot", ask)
	waiting := make(chan int, 2)
	h.OK(h.DB.InTx(h.Context(), func(tx *db.Tx) error {
		_, err := tx.Raw().ExecContext(h.Context(), `SELECT FROM attempt_count FOR UPDATE`)
		h.OK(err)
		for range 2 {
			go func() { waiting <- strangerFrom(h, 0).Post("/dashboard/forgot", ask).Code }()
		}
		h.WaitForLocks(2)
		before := everyRow(h)
		for _, path := range signedOutPosts() {
			stranger := strangerFrom(h, 1)
			wantRetry(stranger, stranger.Post(path, ask), http.StatusServiceUnavailable, "Please wait a moment", "Candor is busy")
		}
		if after := everyRow(h); after != before {
			t.Errorf("what is refused wrote:\n%s\n%s", before, after)
		}
		wantRetry(known, known.Post("/dashboard/forgot", url.Values{"email": {"jo@lender.example"}}), http.StatusServiceUnavailable,
			"Candor is busy")
		known.WantRedirect(known.Post("/dashboard/forgot", url.Values{"email": {h.Account.Email}}), "/dashboard/letter-sent")
		return nil
	}))
	for range 2 {
		if status := <-waiting; status != http.StatusSeeOther {
			t.Errorf("who was first is answered %d", status)
		}
	}
}
