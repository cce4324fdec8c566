package handlers_test

import (
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"candor/handlers"
	"candor/internal/domain"
	"candor/internal/platform/ratelimit"
)

// tally counts what attempts.Observer is told.
type tally struct {
	mu sync.Mutex
	n  map[string]int
}

// SignInAttempted counts an attempt.
func (c *tally) SignInAttempted(o domain.AttemptOutcome) { c.add(string(o)) }

// Forbidden counts a request.
func (c *tally) Forbidden(by domain.ActorKind) { c.add("forbidden " + string(by)) }

func (c *tally) add(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n[what]++
}

func (c *tally) of(what string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n[what]
}

// observed gives the bench's service an observer.
func (b *bench) observed() *tally {
	b.Helper()
	counts := &tally{n: map[string]int{}}
	config := b.service.Config
	config.Observer = counts
	b.restart(config)
	return counts
}

func (c *tally) want(t testing.TB, what string, n int) {
	t.Helper()
	if got := c.of(what); got != n {
		t.Errorf("%s was counted %d times, want %d", what, got, n)
	}
}

// TestFailedSignInsAreTold: the account's audit log, the process's log and the
// metrics have who failed to come in, once for each network and 15 minutes in
// the audit log, and without what was typed.
func TestFailedSignInsAreTold(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	counts := b.observed()
	owner := b.owner()
	b.logs.clear()
	for range 14 {
		b.strangerFrom(0).post("/dashboard/sign-in", signInForm(b.account.Email, "typed by a stranger"))
	}
	b.audited(domain.AuditSignInFailed, 1)
	b.audited(domain.AuditThrottled, 1)
	counts.want(t, "wrong_password", 10)
	counts.want(t, "throttled", 4)
	counts.want(t, "succeeded", 1)
	b.strangerFrom(1).post("/dashboard/sign-in", signInForm(b.account.Email, "typed by a stranger"))
	b.audited(domain.AuditSignInFailed, 2)
	b.clock.advance(15 * time.Minute)
	b.strangerFrom(0).post("/dashboard/sign-in", signInForm(b.account.Email, "typed by a stranger"))
	b.audited(domain.AuditSignInFailed, 3)
	b.strangerFrom(0).post("/dashboard/sign-in", signInForm("typed@elsewhere.example", "typed by a stranger"))
	b.audited(domain.AuditSignInFailed, 3)
	owner.says("/dashboard/test/audit", "Sign-in failed", "Not signed in 198.18.0.1", "Too many attempts", b.account.Email)
	logs := b.logs.String()
	if n := strings.Count(logs, `"attempt refused","outcome":"wrong_password","account_id":"`+b.account.AccountID.String()+`","staff_id":"usr_`); n != 12 {
		t.Errorf("%d lines of the log tell of a wrong password of the account, want 12:\n%s", n, logs)
	}
	b.wantNoTrace("typed by a stranger", "elsewhere.example")
	if strings.Contains(logs, b.account.Email) {
		t.Error("the log has the address")
	}
}

// TestAuditOfFailuresIsBounded: however many networks fail, the audit log gets
// few lines, and says that there were more.
func TestAuditOfFailuresIsBounded(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	owner := b.staff(domain.RoleOwner)
	for i := range 120 {
		b.strangerFrom(i).post("/dashboard/sign-in", signInForm(b.account.Email, "wrong"))
		if i%4 == 0 {
			b.clock.advance(2 * time.Second)
		}
	}
	b.audited(domain.AuditSignInFailed, 21)
	b.audited(domain.AuditThrottled, 21)
	owner.says("/dashboard/test/audit", "more networks: true")
	b.strangerFrom(200).post("/dashboard/sign-in", signInForm(b.account.Email, "wrong")) // may be the next that is admitted
	before := b.everyRow()
	for i := range 20 {
		b.strangerFrom(60+i).post("/dashboard/sign-in", signInForm(b.account.Email, "wrong"))
	}
	if after := b.everyRow(); after != before {
		t.Errorf("refused tries from many networks wrote:\n%s\n%s", before, after)
	}
}

// TestUnknownAddressesAreNotedAlike: the rows that are written for an address
// that no one has are as many as for one that someone has, but for the lines of
// the audit log, so that time tells nothing.
func TestUnknownAddressesAreNotedAlike(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var rows []int
	for i, email := range []string{b.account.Email, "nobody@lender.example"} {
		for range 12 {
			b.strangerFrom(i).post("/dashboard/sign-in", signInForm(email, "wrong"))
		}
		var n int
		b.ok(b.db.Raw().GetContext(b.Context(), &n, `WITH gone AS (DELETE FROM attempt_count RETURNING 1) SELECT count(*) FROM gone`))
		rows = append(rows, n)
	}
	if rows[0] != rows[1] || rows[0] < 8 {
		t.Errorf("%v rows, want as many for both", rows)
	}
	b.audited(domain.AuditSignInFailed, 1)
}

// TestRefusedCodesAndConfirmationsAreTold: what fails after the password, and
// what someone fails who is signed in, is in the audit log, too.
func TestRefusedCodesAndConfirmationsAreTold(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	counts := b.observed()
	owner := b.owner()
	owner.twoStep() // has one wrong code
	b.audited(domain.AuditCodeRefused, 1)
	half := b.halfIn()
	half.from = "198.18.5.5"
	for range 2 {
		half.wantPage(half.post("/dashboard/sign-in/code", codeForm("000 000")), http.StatusUnprocessableEntity)
	}
	b.audited(domain.AuditCodeRefused, 2)
	counts.want(t, "wrong_code", 3)
	for range 12 {
		owner.post("/dashboard/confirm", url.Values{"password": {"wrong"}})
	}
	b.audited(domain.AuditConfirmRefused, 1)
	b.audited(domain.AuditThrottled, 1)
	counts.want(t, "not_confirmed", 10)
	counts.want(t, "throttled", 2)
	stranger := b.strangerFrom(3)
	answer := stranger.post("/dashboard/sign-in/passkey/answer", url.Values{"token": {"x"}, "response": {"{}"}})
	stranger.wantPage(answer, http.StatusUnprocessableEntity, "That passkey didn’t work")
	counts.want(t, "wrong_passkey", 1)
	owner.says("/dashboard/test/audit", "Sign-in code refused", "Password refused while signed in", b.account.Email+" 192.0.2.1")
}

// TestForbiddenIsTold: a role's and a key's refusals are counted and logged by
// ids, and the role's are in the audit log, once for each network.
func TestForbiddenIsTold(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	counts := b.observed()
	support := b.staff(domain.RoleSupport)
	for range 3 {
		support.wantPage(support.get("/dashboard/test/team"), http.StatusForbidden)
	}
	b.audited(domain.AuditForbidden, 1)
	counts.want(t, "forbidden staff", 3)
	b.staff(domain.RoleOwner).says("/dashboard/test/audit", "Page refused by role", support.session.Email, "needs: account")
	key := b.restrictedKey(domain.Permissions{domain.SessionsWrite})
	b.call(apiCall{method: http.MethodGet, path: "/sessions", key: key}).status(http.StatusForbidden)
	counts.want(t, "forbidden key", 1)
	logs := b.logs.String()
	for _, want := range []string{
		`"forbidden","outcome":"account","account_id":"` + b.account.AccountID.String() + `","staff_id":"` + support.session.ID.String(), `"key_id":"key_`,
	} {
		if !strings.Contains(logs, want) {
			t.Errorf("the log lacks %s", want)
		}
	}
}

// TestShedAndLimitedAreCounted: what the process refuses by itself is a metric
// and no row.
func TestShedAndLimitedAreCounted(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(c *handlers.Config) {
		limiter, err := ratelimit.New(ratelimit.Config{PerMinute: 1, Burst: 1, Keys: 10})
		if err != nil {
			t.Fatal(err)
		}
		c.SignedOutLimiter, c.RefusalDelay = limiter, time.Millisecond
	})
	counts := b.observed()
	browser := b.stranger()
	browser.post("/dashboard/sign-in", signInForm(b.account.Email, "wrong"))
	before := b.everyRow()
	browser.wantRetry(browser.post("/dashboard/sign-in", signInForm(b.account.Email, "wrong")), http.StatusTooManyRequests)
	counts.want(t, "limited", 1)
	if after := b.everyRow(); after != before {
		t.Errorf("a limited try wrote:\n%s\n%s", before, after)
	}
}

// TestSignInEmails: a user gets an email about a sign-in from a browser that isn't
// known, not of the first one and not of a known one, and of too many attempts
// once a day.
func TestSignInEmails(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	m := b.mailbox()
	right := signInForm(b.account.Email, b.account.Password)
	owner := b.owner()
	owner.wantRedirect(owner.post("/dashboard/sign-out", nil), "/dashboard/sign-in")
	owner.wantRedirect(owner.post("/dashboard/sign-in", right), "/dashboard")
	m.idle()
	again := b.strangerFrom(1)
	again.wantRedirect(again.post("/dashboard/sign-in", right), "/dashboard")
	m.letter(b.account.Email, "New browser signed in")
	again.wantRedirect(again.post("/dashboard/sign-in", right), "/dashboard")
	m.idle()
	tooMany := func() {
		for i := range 3 {
			for range 11 {
				b.strangerFrom(i).post("/dashboard/sign-in", signInForm(b.account.Email, "wrong"))
				b.strangerFrom(i).post("/dashboard/sign-in", signInForm("nobody@lender.example", "wrong"))
			}
		}
	}
	tooMany()
	m.letter(b.account.Email, "Too many attempts to sign in")
	b.clock.advance(23 * time.Hour)
	tooMany()
	m.idle()
	b.clock.advance(time.Hour)
	tooMany()
	m.letter(b.account.Email, "Too many attempts to sign in")
	m.idle()
	b.wantNoTrace("nobody@lender.example")
}
