package handlers_test

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
)

const deviceCookie = "__Secure-candor_device"

// strangerFrom is a browser at the n-th of many networks.
func (b *bench) strangerFrom(n int) *staffBrowser {
	s := b.stranger()
	s.from = fmt.Sprintf("198.18.%d.%d", n/250, n%250+1)
	return s
}

// wantRetry fails unless the answer has that status and says when to try again,
// and returns when.
func (s *staffBrowser) wantRetry(answer *httptest.ResponseRecorder, status int, texts ...string) time.Duration {
	s.Helper()
	s.wantPage(answer, status, texts...)
	seconds, err := strconv.Atoi(answer.Header().Get("Retry-After"))
	if err != nil || seconds < 1 {
		s.Errorf("Retry-After: %q", answer.Header().Get("Retry-After"))
	}
	return time.Duration(seconds) * time.Second
}

// everyRow is all that the tables have that an attempt can write to, with the
// transaction that wrote each row.
func (b *bench) everyRow() (all string) {
	b.Helper()
	for _, table := range []string{"attempt_count", "staff_session", "staff_request", "passkey_challenge", "audit_log"} {
		var rows string
		b.ok(b.db.Raw().GetContext(b.Context(), &rows, `SELECT coalesce(string_agg(t.xmin::text || t.xmax::text || t::text, ' ' ORDER BY t::text), '') FROM `+table+` t`))
		all += string(table) + ": " + rows + "\n"
	}
	var letters int
	b.ok(b.db.Raw().GetContext(b.Context(), &letters, `SELECT count(*) FROM river_job WHERE kind = 'staff_letter'`))
	return fmt.Sprint(all, letters)
}

// TestRefusedSignInsWriteNothing: once a network may not try an address again,
// its tries change no row and add none.
func TestRefusedSignInsWriteNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, email := range []string{b.account.Email, "nobody@lender.example"} {
		browser := b.stranger()
		for range 10 {
			browser.wantPage(browser.post("/dashboard/sign-in", signInForm(email, "wrong")), http.StatusUnprocessableEntity)
		}
		browser.wantRetry(browser.post("/dashboard/sign-in", signInForm(email, "wrong")), http.StatusTooManyRequests, "too many attempts", `value="`+email+`"`)
		before := b.everyRow()
		for range 30 {
			browser.wantRetry(browser.post("/dashboard/sign-in", signInForm(email, b.account.Password)), http.StatusTooManyRequests)
		}
		if after := b.everyRow(); after != before {
			t.Errorf("refused tries wrote:\n%s\n%s", before, after)
		}
	}
}

// signedOutPosts are the routes that anyone can post to without being signed in.
func signedOutPosts() (paths []string) {
	for _, route := range routesOf(handlers.SignedOut) {
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
			b := newBench(t, func(c *handlers.Config) {
				limiter, err := ratelimit.New(ratelimit.Config{PerMinute: 30, Burst: 3, Keys: 2})
				if err != nil {
					t.Fatal(err)
				}
				c.SignedOutLimiter = limiter
			})
			known := b.owner()
			b.ok(b.db.Close())
			browser := b.stranger()
			browser.cookies[staffCookie] = "some token"
			for i := range 6 {
				answer := browser.post(path, url.Values{"email": {"jo@lender.example"}, "password": {"x"}})
				if limited := answer.Code == http.StatusTooManyRequests; limited != (i >= 2) { // the owner's was the first
					t.Errorf("post %d: status %d", i+1, answer.Code)
				}
			}
			answer := browser.post(path, nil)
			if wait := browser.wantRetry(answer, http.StatusTooManyRequests, "Please wait a moment", "from your network"); wait != 2*time.Second {
				t.Errorf("Retry-After %s, want 2s", wait)
			}
			for name, other := range map[string]*staffBrowser{"another network": b.strangerFrom(1), "a known browser": known} {
				if answer := other.post(path, nil); answer.Code == http.StatusTooManyRequests {
					t.Errorf("%s: status %d", name, answer.Code)
				}
			}
			b.clock.advance(2 * time.Second)
			if answer := browser.post(path, nil); answer.Code == http.StatusTooManyRequests {
				t.Errorf("after the wait: status %d", answer.Code)
			}
		})
	}
}

// TestStrangersLockNobodyOut: however many strangers try an address, its user
// signs in from a known browser and confirms in a signed-in one at once, and from
// a new one at the moment that the refusal names.
func TestStrangersLockNobodyOut(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	signedIn, known := b.owner(), b.owner()
	known.wantRedirect(known.post("/dashboard/sign-out", nil), "/dashboard/sign-in")
	admitted, refused := 0, 0
	for i := range 60 {
		stranger := b.strangerFrom(i / 3) // 20 networks
		switch answer := stranger.post("/dashboard/sign-in", signInForm(strings.ToUpper(b.account.Email), "wrong")); answer.Code {
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
	right := signInForm(b.account.Email, b.account.Password)
	elsewhere := b.strangerFrom(999)
	wait := elsewhere.wantRetry(elsewhere.post("/dashboard/sign-in", right), http.StatusTooManyRequests, "Try again in 5 seconds")
	known.from, signedIn.from = "198.18.0.1", "198.18.0.1" // where strangers are, too
	known.wantRedirect(known.post("/dashboard/sign-in", right), "/dashboard")
	signedIn.wantRedirect(signedIn.post("/dashboard/confirm", url.Values{"password": {b.account.Password}}), "/dashboard")
	change := url.Values{"password": {b.account.Password}, "new_password": {goodPassword}}
	signedIn.wantRedirect(signedIn.post("/dashboard/test/me/password", change), "/dashboard/test/me")
	b.clock.advance(wait)
	elsewhere.wantRedirect(elsewhere.post("/dashboard/sign-in", signInForm(b.account.Email, goodPassword)), "/dashboard")
}

// TestPacedTriesGrowSlower: of tries from everywhere at one address, fewer are
// admitted the more fail, and never less than one a minute.
func TestPacedTriesGrowSlower(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	paced := db.Counter{Subject: []byte("address"), Free: 20, Window: time.Hour, Paced: true}
	var waits []time.Duration
	for range 100 {
		err := b.db.CountAttempt(b.Context(), b.clock.Now(), paced)
		if err == nil {
			continue
		}
		refused, ok := err.(*db.RefusedAttempt) //nolint:errorlint // it is not wrapped
		if !ok {
			t.Fatal(err)
		}
		wait := refused.Next.Sub(b.clock.Now())
		if len(waits) == 0 || waits[len(waits)-1] != wait {
			waits = append(waits, wait)
		}
		b.clock.advance(wait)
	}
	if want := "[5s 10s 20s 40s]"; fmt.Sprint(waits) != want {
		t.Errorf("the waits are %v, want %s", waits, want)
	}
}

// TestOwnFailuresCount: a known browser is no way around: its own failures are
// counted, and it is known to its user alone and until the password changes.
func TestOwnFailuresCount(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	other := b.newAccount("other@lender.example", "starter")
	known := b.owner()
	cookie := known.cookies[deviceCookie]
	fail := func(browser *staffBrowser, email string, want int) {
		browser.Helper()
		n := 0
		for ; n < 12; n++ {
			if answer := browser.post("/dashboard/sign-in", signInForm(email, "wrong")); answer.Code == http.StatusTooManyRequests {
				break
			}
		}
		if n != want {
			browser.Errorf("%d tries were admitted, want %d", n, want)
		}
	}
	fail(known, b.account.Email, 10)
	stranger := b.strangerFrom(1)
	fail(stranger, b.account.Email, 10) // apart from those of the known browser
	fail(known, other.Email, 10)
	fail(b.stranger(), other.Email, 0) // the same network: it isn't known to the other one
	b.clock.advance(15 * time.Minute)
	owner := b.owner()
	change := url.Values{"password": {b.account.Password}, "new_password": {goodPassword}}
	owner.wantRedirect(owner.post("/dashboard/test/me/password", change), "/dashboard/test/me")
	if owner.cookies[deviceCookie] == "" {
		t.Error("the browser in which the password was changed isn't known")
	}
	former := b.strangerFrom(2)
	former.cookies[deviceCookie] = cookie
	fail(former, b.account.Email, 10)
	fail(b.strangerFrom(2), b.account.Email, 0)
	for name, value := range map[string]string{"cut": cookie[:len(cookie)-4], "nonsense": "a.b.c", "empty": "."} {
		bad := b.strangerFrom(3)
		bad.cookies[deviceCookie] = value
		bad.wantPage(bad.post("/dashboard/sign-in", signInForm("nobody@lender.example", name)), http.StatusUnprocessableEntity)
	}
}

// TestDeviceCookie: it comes with a complete sign-in, for the dashboard alone,
// and lists the users of a shared browser.
func TestDeviceCookie(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	other := b.newAccount("other@lender.example", "starter")
	owner := b.owner()
	secret, _ := owner.twoStep()
	b.clock.advance(time.Minute)
	half := b.halfIn()
	if half.cookies[deviceCookie] != "" {
		t.Error("a password alone makes the browser known")
	}
	answer := half.post("/dashboard/sign-in/code", codeForm(b.code(secret, 0)))
	var device *http.Cookie
	for _, cookie := range answer.Result().Cookies() {
		if cookie.Name == deviceCookie {
			device = cookie
		}
	}
	if device == nil || !device.HttpOnly || !device.Secure || device.SameSite != http.SameSiteLaxMode || device.Path != "/dashboard" || device.MaxAge != 180*24*60*60 {
		t.Fatalf("cookie %+v", device)
	}
	if strings.Contains(device.Value, owner.cookies[deviceCookie]) {
		t.Error("two browsers have the same cookie")
	}
	half.wantRedirect(half.post("/dashboard/sign-in", signInForm(other.Email, other.Password)), "/dashboard")
	for i := range 11 {
		for _, email := range []string{b.account.Email, other.Email} {
			b.strangerFrom(i).post("/dashboard/sign-in", signInForm(email, "wrong"))
			b.strangerFrom(i).post("/dashboard/sign-in", signInForm(email, "wrong"))
		}
	}
	half.wantRedirect(half.post("/dashboard/sign-in", signInForm(other.Email, other.Password)), "/dashboard")
	half.wantRedirect(half.post("/dashboard/sign-in", signInForm(b.account.Email, b.account.Password)), "/dashboard/sign-in/code?then=%2Fdashboard")
	b.clock.advance(180 * 24 * time.Hour)
	for i := range 11 {
		b.strangerFrom(i).post("/dashboard/sign-in", signInForm(other.Email, "wrong"))
		b.strangerFrom(i).post("/dashboard/sign-in", signInForm(other.Email, "wrong"))
	}
	half.wantRetry(half.post("/dashboard/sign-in", signInForm(other.Email, other.Password)), http.StatusTooManyRequests)
}

// TestCodesAreCountedApart: a stranger with the password who guesses codes
// doesn't take the codes of a known browser.
func TestCodesAreCountedApart(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	owner := b.owner()
	secret, _ := owner.twoStep()
	b.clock.advance(time.Minute)
	for i := range 3 {
		thief := b.strangerFrom(i)
		form := signInForm(b.account.Email, b.account.Password)
		thief.wantRedirect(thief.post("/dashboard/sign-in", form), "/dashboard/sign-in/code?then=%2Fdashboard")
		for range 5 {
			thief.post("/dashboard/sign-in/code", codeForm("000 000"))
		}
		thief.wantRetry(thief.post("/dashboard/sign-in/code", codeForm(b.code(secret, 0))), http.StatusTooManyRequests, "too many attempts")
	}
	owner.wantRedirect(owner.post("/dashboard/sign-in", signInForm(b.account.Email, b.account.Password)), "/dashboard/sign-in/code?then=%2Fdashboard")
	owner.wantPage(owner.post("/dashboard/sign-in/code", codeForm("000 000")), http.StatusUnprocessableEntity)
	owner.wantRedirect(owner.post("/dashboard/sign-in/code", codeForm(b.code(secret, 0))), "/dashboard")
}

// TestResetEmailsCannotBeBlocked: a stranger who asks for as many emails as there
// are stops no one: their links work, the page is the same, a known browser gets
// one of its own, and who has chosen a new password signs in with it at once.
func TestResetEmailsCannotBeBlocked(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	m := b.mailbox()
	known := b.owner()
	ask := func(browser *staffBrowser) {
		browser.Helper()
		browser.wantRedirect(browser.post("/dashboard/forgot", url.Values{"email": {b.account.Email}}), "/dashboard/letter-sent")
	}
	var links []string
	for i := range 5 {
		ask(b.strangerFrom(i))
		if i < 3 {
			links = append(links, m.link(m.letter(b.account.Email, "Choose a new password")))
		}
	}
	before := b.everyRow()
	owner := b.strangerFrom(50)
	ask(owner)
	if after := b.everyRow(); after != before {
		t.Errorf("an email that isn't sent wrote:\n%s\n%s", before, after)
	}
	ask(known)
	links = append(links, m.link(m.letter(b.account.Email, "Choose a new password")))
	m.idle()
	for _, link := range links {
		owner.openLetter(link, "/dashboard/reset")
		owner.wantPage(owner.get("/dashboard/reset"), http.StatusOK, b.account.Email)
	}
	owner.wantRedirect(owner.post("/dashboard/reset", url.Values{"new_password": {goodPassword}}), "/dashboard/sign-in")
	m.letter(b.account.Email, "Your password was changed")
	for i := range 30 {
		b.strangerFrom(i).post("/dashboard/sign-in", signInForm(b.account.Email, "wrong"))
	}
	owner.wantRedirect(owner.post("/dashboard/sign-in", signInForm(b.account.Email, goodPassword)), "/dashboard")
}

// TestFullQueueShedsLoad: passwords of strangers that find no place in the
// queue are refused at once, with what was typed, and delay no one who is known.
func TestFullQueueShedsLoad(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	config := b.service.Config
	config.PasswordQueue.AtOnce, config.PasswordQueue.Waiting = 1, 1
	b.restart(config)
	m, known, forgetful := b.mailbox(), b.owner(), b.strangerFrom(2)
	forgetful.post("/dashboard/forgot", url.Values{"email": {b.account.Email}})
	forgetful.openLetter(m.link(m.letter(b.account.Email, "Choose a new password")), "/dashboard/reset")
	m.idle()
	b.strangerFrom(0).post("/dashboard/sign-in", signInForm("nobody@lender.example", "wrong"))
	waiting := make(chan int, 2)
	b.ok(b.db.InTx(b.Context(), func(tx *db.Tx) error {
		// Two strangers wait for the counter of their network, each in its place.
		_, err := tx.Raw().ExecContext(b.Context(), `SELECT FROM attempt_count FOR UPDATE`)
		b.ok(err)
		for range 2 {
			go func() {
				stranger := b.strangerFrom(0)
				waiting <- stranger.post("/dashboard/sign-in", signInForm("nobody@lender.example", "wrong")).Code
			}()
		}
		b.waitingFor(2)
		before := b.everyRow()
		stranger := b.strangerFrom(1)
		for path, form := range map[string]url.Values{
			"/dashboard/sign-in": signInForm("jo@lender.example", "wrong"),
			"/dashboard/sign-up": {"company": {"New"}, "name": {"Jo"}, "email": {"jo@lender.example"}, "new_password": {goodPassword}},
		} {
			stranger.wantRetry(stranger.post(path, form), http.StatusServiceUnavailable, "Candor is busy. Try again in a few seconds.", `value="jo@lender.example"`)
		}
		forgetful.wantRetry(forgetful.post("/dashboard/reset", url.Values{"new_password": {goodPassword}}), http.StatusServiceUnavailable, "Candor is busy", b.account.Email)
		if after := b.everyRow(); after != before {
			t.Errorf("what is shed wrote:\n%s\n%s", before, after)
		}
		known.wantRedirect(known.post("/dashboard/confirm", url.Values{"password": {b.account.Password}}), "/dashboard")
		known.wantRedirect(known.post("/dashboard/sign-in", signInForm(b.account.Email, b.account.Password)), "/dashboard")
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
	b := newBench(t, func(c *handlers.Config) { c.StrangersAtOnce, c.RefusalDelay = 2, time.Millisecond })
	known := b.owner()
	ask := url.Values{"email": {"nobody@lender.example"}}
	b.strangerFrom(0).post("/dashboard/forgot", ask)
	waiting := make(chan int, 2)
	b.ok(b.db.InTx(b.Context(), func(tx *db.Tx) error {
		_, err := tx.Raw().ExecContext(b.Context(), `SELECT FROM attempt_count FOR UPDATE`)
		b.ok(err)
		for range 2 {
			go func() { waiting <- b.strangerFrom(0).post("/dashboard/forgot", ask).Code }()
		}
		b.waitingFor(2)
		before := b.everyRow()
		for _, path := range signedOutPosts() {
			stranger := b.strangerFrom(1)
			stranger.wantRetry(stranger.post(path, ask), http.StatusServiceUnavailable, "Please wait a moment", "Candor is busy")
		}
		if after := b.everyRow(); after != before {
			t.Errorf("what is refused wrote:\n%s\n%s", before, after)
		}
		known.wantRedirect(known.post("/dashboard/forgot", url.Values{"email": {b.account.Email}}), "/dashboard/letter-sent")
		return nil
	}))
	for range 2 {
		if status := <-waiting; status != http.StatusSeeOther {
			t.Errorf("who was first is answered %d", status)
		}
	}
}
