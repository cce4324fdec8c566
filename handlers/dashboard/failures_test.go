package dashboard_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"candor/handlers"
	"candor/internal/domain"
	"candor/internal/testkit"
	"candor/internal/testkit/harness"
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
func observed(h *harness.Harness) *tally {
	h.Helper()
	counts := &tally{n: map[string]int{}}
	config := h.Service.Config
	config.Observer = counts
	h.Restart(config)
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
	h := harness.New(t)
	counts := observed(h)
	owner := h.Owner()
	h.Logs.Clear()
	for range 14 {
		strangerFrom(h, 0).Post("/dashboard/sign-in", harness.SignInForm(h.Account.Email, "typed by a stranger"))
	}
	audited(h, domain.AuditSignInFailed, 1)
	audited(h, domain.AuditThrottled, 1)
	counts.want(t, "wrong_password", 10)
	counts.want(t, "throttled", 4)
	counts.want(t, "succeeded", 1)
	strangerFrom(h, 1).Post("/dashboard/sign-in", harness.SignInForm(h.Account.Email, "typed by a stranger"))
	audited(h, domain.AuditSignInFailed, 2)
	h.Clock.Advance(15 * time.Minute)
	strangerFrom(h, 0).Post("/dashboard/sign-in", harness.SignInForm(h.Account.Email, "typed by a stranger"))
	audited(h, domain.AuditSignInFailed, 3)
	id := strangerFrom(h, 0).Post("/dashboard/sign-in", harness.SignInForm("typed@elsewhere.example", "typed by a stranger")).
		Header().Get("X-Request-Id")
	if !strings.HasPrefix(id, "req_") || !strings.Contains(h.Logs.String(),
		`"attempt refused","outcome":"wrong_password","request_id":"`+id+`"`) {
		t.Errorf("no line of the refused attempt has the request %q", id)
	}
	audited(h, domain.AuditSignInFailed, 3)
	owner.WantPage(owner.Get("/dashboard/test/audit"), http.StatusOK, "Sign-in failed", "Not signed in 198.18.0.1",
		"Too many attempts", h.Account.Email)
	logs := h.Logs.String()
	if n := strings.Count(logs, `"attempt refused","outcome":"wrong_password","account_id":"`+h.Account.AccountID.String()+
		`","staff_id":"usr_`); n != 12 {
		t.Errorf("%d lines of the log tell of a wrong password of the account, want 12:\n%s", n, logs)
	}
	wantNoTrace(h, "typed by a stranger", "elsewhere.example")
	if strings.Contains(logs, h.Account.Email) {
		t.Error("the log has the address")
	}
}

// TestAuditOfFailuresIsBounded: however many networks fail, the audit log gets
// few lines, and says that there were more.
func TestAuditOfFailuresIsBounded(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	owner := h.Staff(domain.RoleOwner)
	for i := range 120 {
		strangerFrom(h, i).Post("/dashboard/sign-in", harness.SignInForm(h.Account.Email, "wrong"))
		if i%4 == 0 {
			h.Clock.Advance(2 * time.Second)
		}
	}
	audited(h, domain.AuditSignInFailed, 21)
	audited(h, domain.AuditThrottled, 21)
	owner.WantPage(owner.Get("/dashboard/test/audit"), http.StatusOK, "more networks: true")
	strangerFrom(h, 200).Post("/dashboard/sign-in", harness.SignInForm(h.Account.Email, "wrong")) // may be the next that is admitted
	before := everyRow(h)
	for i := range 20 {
		strangerFrom(h, 60+i).Post("/dashboard/sign-in", harness.SignInForm(h.Account.Email, "wrong"))
	}
	if after := everyRow(h); after != before {
		t.Errorf("refused tries from many networks wrote:\n%s\n%s", before, after)
	}
}

// TestUnknownAddressesAreNotedAlike: the rows that are written for an address
// that no one has are as many as for one that someone has, but for the lines of
// the audit log, so that time tells nothing.
func TestUnknownAddressesAreNotedAlike(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	var rows []int
	for i, email := range []string{h.Account.Email, "nobody@lender.example"} {
		for range 12 {
			strangerFrom(h, i).Post("/dashboard/sign-in", harness.SignInForm(email, "wrong"))
		}
		n := harness.QueryOne[int](h, `WITH gone AS (DELETE FROM attempt_count RETURNING 1) SELECT count(*) FROM gone`)
		rows = append(rows, n)
	}
	if rows[0] != rows[1] || rows[0] < 8 {
		t.Errorf("%v rows, want as many for both", rows)
	}
	audited(h, domain.AuditSignInFailed, 1)
}

// TestRefusedCodesAndConfirmationsAreTold: what fails after the password, and
// what someone fails who is signed in, is in the audit log, too.
func TestRefusedCodesAndConfirmationsAreTold(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	counts := observed(h)
	owner := h.Owner()
	owner.TwoStep() // has one wrong code
	audited(h, domain.AuditCodeRefused, 1)
	half := h.HalfIn()
	half.From = "198.18.5.5"
	for range 2 {
		half.WantPage(half.Post("/dashboard/sign-in/code", harness.CodeForm("000 000")), http.StatusUnprocessableEntity)
	}
	audited(h, domain.AuditCodeRefused, 2)
	counts.want(t, "wrong_code", 3)
	for range 12 {
		owner.Post("/dashboard/confirm", url.Values{"password": {"wrong"}})
	}
	audited(h, domain.AuditConfirmRefused, 1)
	audited(h, domain.AuditThrottled, 1)
	counts.want(t, "not_confirmed", 10)
	counts.want(t, "throttled", 2)
	stranger := strangerFrom(h, 3)
	answer := stranger.Post("/dashboard/sign-in/passkey/answer", url.Values{"token": {"x"}, "response": {"{}"}})
	stranger.WantPage(answer, http.StatusUnprocessableEntity, "That passkey didn’t work")
	counts.want(t, "wrong_passkey", 1)
	owner.WantPage(owner.Get("/dashboard/test/audit"), http.StatusOK, "Sign-in code refused", "Password refused while signed in",
		h.Account.Email+" 192.0.2.1")
}

// TestForbiddenIsTold: a role's and a key's refusals are counted and logged by
// ids, and the role's are in the audit log, once for each network.
func TestForbiddenIsTold(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	counts := observed(h)
	support := h.Staff(domain.RoleSupport)
	for range 3 {
		support.WantPage(support.Get("/dashboard/test/team"), http.StatusForbidden)
	}
	audited(h, domain.AuditForbidden, 1)
	counts.want(t, "forbidden staff", 3)
	h.Staff(domain.RoleOwner).WantPage(h.Staff(domain.RoleOwner).Get("/dashboard/test/audit"), http.StatusOK, "Page refused by role",
		support.Session.Email, "needs: account")
	key := h.RestrictedKey(domain.Permissions{domain.SessionsWrite})
	h.Do(harness.Call{Method: http.MethodGet, Path: "/sessions", Key: key}).WantStatus(http.StatusForbidden)
	counts.want(t, "forbidden key", 1)
	logs := h.Logs.String()
	if line := regexp.MustCompile(`"forbidden","outcome":"account"[^\n]*"request_id":"req_`); !line.MatchString(logs) {
		t.Error("a forbidden page has no request id in the log")
	}
	for _, want := range []string{
		`"forbidden","outcome":"account","account_id":"` + h.Account.AccountID.String() + `","staff_id":"` +
			support.Session.ID.String(), `"key_id":"key_`,
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
	h := harness.New(t, func(c *handlers.Config) { c.SignedOutLimiter, c.RefusalDelay = harness.Burst(t, 1), time.Millisecond })
	counts := observed(h)
	browser := h.SignedOut()
	browser.Post("/dashboard/sign-in", harness.SignInForm(h.Account.Email, "wrong"))
	before := everyRow(h)
	wantRetry(browser, browser.Post("/dashboard/sign-in", harness.SignInForm(h.Account.Email, "wrong")), http.StatusTooManyRequests)
	counts.want(t, "limited", 1)
	if after := everyRow(h); after != before {
		t.Errorf("a limited try wrote:\n%s\n%s", before, after)
	}
}

// TestSignInEmails: a user gets an email about a sign-in from a browser that isn't
// known, not of the first one and not of a known one, and of too many attempts
// once a day.
func TestSignInEmails(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := harness.New(t)
	m := h.Mailbox()
	right := harness.SignInForm(h.Account.Email, h.Account.Password)
	owner := h.Owner()
	owner.WantRedirect(owner.Post("/dashboard/sign-out", nil), "/dashboard/sign-in")
	owner.WantRedirect(owner.Post("/dashboard/sign-in", right), "/dashboard")
	m.Idle()
	again := strangerFrom(h, 1)
	again.WantRedirect(again.Post("/dashboard/sign-in", right), "/dashboard")
	m.Email(h.Account.Email, "New browser signed in")
	again.WantRedirect(again.Post("/dashboard/sign-in", right), "/dashboard")
	m.Idle()
	tooMany := func() {
		for i := range 3 {
			for range 11 {
				strangerFrom(h, i).Post("/dashboard/sign-in", harness.SignInForm(h.Account.Email, "wrong"))
				strangerFrom(h, i).Post("/dashboard/sign-in", harness.SignInForm("nobody@lender.example", "wrong"))
			}
		}
	}
	tooMany()
	m.Email(h.Account.Email, "Too many attempts to sign in")
	h.Clock.Advance(23 * time.Hour)
	tooMany()
	m.Idle()
	h.Clock.Advance(time.Hour)
	tooMany()
	m.Email(h.Account.Email, "Too many attempts to sign in")
	m.Idle()
	wantNoTrace(h, "nobody@lender.example")
}
