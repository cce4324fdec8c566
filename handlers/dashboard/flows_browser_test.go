package dashboard_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"candor/handlers"
	"candor/internal/domain"
	"candor/internal/platform/ratelimit"
	"candor/internal/service/webhooks"
	"candor/internal/testkit"
	"candor/internal/testkit/browsertest"
	"candor/internal/testkit/harness"
	"candor/internal/testkit/hooktest"
	"candor/internal/webhook"
)

// signInTo opens a page as the bench's owner, who has signed in elsewhere: tests of
// signing in type the password.
func signInTo(h *harness.Harness, tab *browsertest.Tab, base, path string) {
	h.Helper()
	tab.SetCookies(base, h.Owner().Cookies)
	tab.Open(base + path)
}

// confirmThat types the password that is asked for again. The prompt says what it is for.
func confirmThat(h *harness.Harness, tab *browsertest.Tab, action string) {
	h.Helper()
	tab.WaitForText("h1", "Confirm it’s you")
	tab.WaitForText("main", "Enter your password to "+action)
	tab.Type("#password", h.Account.Password)
	tab.Press("\r")
}

// withTestEvents sends test events, to this machine, too.
func withTestEvents(t *testing.T) func(*handlers.Config) {
	return func(c *handlers.Config) {
		limiter, err := ratelimit.New(webhooks.TestEventLimit)
		if err != nil {
			t.Fatal(err)
		}
		policy := webhook.Policy{Development: true}
		c.Sessions.Policy, c.Webhooks.Policy = policy, policy
		c.Webhooks.TestLimiter, c.Webhooks.TestClient = limiter, webhook.NewClient(policy)
	}
}

// TestBrowserDeveloper does what developers do: renames a key, rotates it
// when the password is asked for first, and deletes the old one; sets the
// webhooks' URL, sends a test event and a failed delivery again; and makes the
// next signing secret, of an endpoint, too.
func TestBrowserDeveloper(t *testing.T) {
	t.Parallel()
	receiver := hooktest.NewReceiver(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"received": true}`)
	})
	h, base := harness.Listen(t, withTestEvents(t))
	tab := browsertest.New(t, browsertest.Options{})
	signInTo(h, tab, base, "/dashboard/test/keys")
	changesKeys(h, tab)
	tab.Open(base + "/dashboard/test/webhooks/settings")
	triesWebhooks(h, tab, base, receiver.URL)
	makesSecrets(h, tab, base)
}

// TestBrowserLateRequests exports the sessions and changes the webhooks' URL 16 minutes after
// signing in: the download starts, and a double click on the prompt's button sends once.
func TestBrowserLateRequests(t *testing.T) {
	t.Parallel()
	h, base := harness.Listen(t)
	h.NewSession(h.TestScope(), domain.NewSession{})
	tab := browsertest.New(t, browsertest.Options{AllowStatus: []int{http.StatusConflict}})
	signInTo(h, tab, base, "/dashboard/test/sessions?status=pending")
	h.Clock.Advance(domain.StaffConfirmed + time.Minute)
	tab.Click("a[data-export]")
	confirmThat(h, tab, "export sessions in test mode")
	tab.WaitForText("h1", "Your download starts now")
	view(tab, "download")
	becomes(h, 1, `SELECT count(*) FROM audit_log WHERE action = 'sessions.exported'`)
	tab.Click("main .button-primary")
	tab.WaitForURL("/dashboard/test/sessions?status=pending")

	h.Clock.Advance(domain.StaffConfirmed + time.Minute)
	tab.Open(base + "/dashboard/test/webhooks/settings")
	tab.Type("#url", "https://lender.example/hook")
	tab.Press("\r")
	tab.WaitForText("main", "Enter your password to change the webhook URL in test mode")
	prompt := tab.URL()
	tab.Type("#password", h.Account.Password)
	tab.ClickTimes("main .button-primary", 2)
	tab.WaitForText("#announcement", "Saved. Events are sent to this URL")
	audited(h, domain.AuditWebhookURL, 1)
	tab.Open(prompt)
	tab.WaitForText("h1", "This request was sent already")
	view(tab, "confirm-sent")
	tab.Click("main .button-primary")
	tab.WaitForText("h1", "Webhooks")
}

// becomes returns once the query's number is the wanted one.
func becomes(h *harness.Harness, want int, query string) {
	h.Helper()
	testkit.Await(h, fmt.Sprintf("%s never is %d", query, want), func() bool { return harness.QueryOne[int](h, query) == want })
}

// changesKeys renames the first key, makes another in its place and deletes it.
func changesKeys(h *harness.Harness, tab *browsertest.Tab) {
	h.Helper()
	tab.Click("tbody .row-link")
	tab.WaitForText("h2", "Details")
	tab.Type("[name=name]", "Loan system")
	tab.Press("\r")
	tab.WaitForText("#announcement", "Key changed")
	h.Clock.Advance(domain.StaffConfirmed + time.Minute)
	tab.Click("form[action$=rotate] button")
	tab.WaitForText("h1", "Confirm it’s you")
	tab.Type("#password", "not my password")
	tab.Press("\r")
	tab.WaitForFocus("error-summary")
	view(tab, "confirm-refused")
	tab.Click("form[action$=cancel] button")
	tab.WaitForText("#announcement", "Cancelled. Nothing was done.")
	tab.WaitForText("h1", "Loan system")
	tab.Click("form[action$=rotate] button")
	confirmThat(h, tab, "rotate this API key in test mode")
	tab.WaitForText("main", "The old key works until")
	view(tab, "key-rotated")
	made := tab.Text("#key-text")
	for _, key := range []string{made, h.Account.TestKey} {
		if status := calls(h, h.Handler, key, "192.0.2.1"); status != http.StatusOK {
			h.Errorf("the key …%s: %d, want both to work for a while", key[len(key)-4:], status)
		}
	}
	tab.Click("section a.button-primary") // leaves the page without its question
	tab.WaitForText("h1", "API keys")
	tab.Click(fmt.Sprintf("a[href$=%q]", keyOf(h)))
	tab.WaitForText("h2", "Details")
	tab.Type("[name=typed_name]", "loan")
	tab.Press("\r")
	tab.WaitForFocus("error-summary")
	view(tab, "key-delete-errors")
	tab.Type("[name=typed_name]", "Loan system")
	tab.Press("\r")
	tab.WaitForText("#announcement", "Key deleted")
	for key, want := range map[string]int{made: http.StatusOK, h.Account.TestKey: http.StatusUnauthorized} {
		if status := calls(h, h.Handler, key, "192.0.2.1"); status != want {
			h.Errorf("the key …%s: %d, want %d", key[len(key)-4:], status, want)
		}
	}
}

// triesWebhooks sets the default URL, tries it, and sends a delivery again that
// had failed.
func triesWebhooks(h *harness.Harness, tab *browsertest.Tab, base, receiver string) {
	h.Helper()
	tab.Type("#url", receiver+"/hook")
	tab.Press("\r")
	tab.WaitForText("#announcement", "Saved. Events are sent to this URL")
	tab.Click("form[action$='webhooks/test'] button")
	tab.WaitForText("h1", "Test event")
	tab.WaitForText("main", "200 OK")
	tab.WaitForText("main", `{"received": true}`)
	view(tab, "test-event")
	failedAt(h, receiver+"/hook", http.StatusServiceUnavailable, webhook.ClassStatus)
	tab.Open(base + "/dashboard/test/webhooks?state=failed")
	tab.Click("tbody .row-link[href*=deliveries]")
	tab.WaitForText("h1", "session.pdf_ready")
	tab.Click("form[action*=retry] button")
	tab.WaitForText("#announcement", "Being sent again with the same id")
	view(tab, "delivery-again")
}

// makesSecrets makes the next secret of the account and of a paused endpoint for one type of
// events.
func makesSecrets(h *harness.Harness, tab *browsertest.Tab, base string) {
	h.Helper()
	tab.Open(base + "/dashboard/test/webhooks/settings")
	tab.Click("form[action$=next] button")
	tab.WaitForText("h1", "Copy your new webhook secret")
	view(tab, "secret-next")
	tab.Click("main a.button-primary")
	tab.WaitForText("main", "New secret created")
	view(tab, "webhooks-next-secret")
	tab.Click("form[action$=show] button")
	tab.WaitForText("#secret-text", h.Account.TestWebhookSecret)
	view(tab, "secret")

	tab.Open(base + "/dashboard/test/webhooks/endpoints/new")
	tab.Type("#url", "https://crm.lender.example/hook")
	tab.Click("label[for='type-session.completed']")
	view(tab, "endpoint-new")
	tab.Click("main form .button-primary")
	tab.WaitForText("h1", "Webhook endpoint added")
	tab.Click("main a.button-primary")
	tab.Click("form[action$=pause] button")
	tab.WaitForText("main", "Webhooks are recorded and wait")
	tab.Click("form[action$='secret/next'] button")
	tab.WaitForText("h1", "Copy your new webhook secret")
	tab.Click("main a.button-primary")
	tab.WaitForText("#secret", "New secret created")
	view(tab, "endpoint-rotating")
}

// reach presses Tab until the focus is on what the selector matches.
func reach(t testing.TB, tab *browsertest.Tab, selector string) {
	t.Helper()
	for range 100 {
		tab.Press("\t")
		if browsertest.Eval[bool](tab, fmt.Sprintf("document.activeElement.matches(%q)", selector)) {
			return
		}
	}
	t.Fatalf("no Tab leads to %s", selector)
}

// TestBrowserOwnerByKeyboard does without a mouse what owners do: signs in, gives a
// colleague another role and takes another out of the team.
func TestBrowserOwnerByKeyboard(t *testing.T) {
	t.Parallel()
	h, base := harness.Listen(t)
	tab := browsertest.New(t, browsertest.Options{Device: browsertest.Desktop})
	member := func(role domain.Role) (*harness.StaffBrowser, string) {
		s := h.Staff(role)
		s.Cookies = map[string]string{"candor_staff": s.Cookies[staffCookie]}
		return s, fmt.Sprintf("tr:has([id=%q])", "role-"+s.Session.ID.String())
	}
	developer, row := member(domain.RoleDeveloper)
	support, other := member(domain.RoleSupport)
	tab.Open(base + "/dashboard/sign-in?then=%2Fdashboard%2Ftest%2Fteam")
	reach(t, tab, "#email")
	tab.Press(h.Account.Email)
	reach(t, tab, "#password")
	tab.Press(h.Account.Password + "\r")
	tab.WaitForText("h1", "Team")
	tab.Press("\t")
	if !browsertest.Eval[bool](tab, "document.activeElement.matches('.skip-link')") {
		t.Error("the first Tab isn't on the link to the content")
	}
	tab.Press("\r")
	tab.WaitForFocus("main")
	reach(t, tab, row+" summary")
	tab.Press("\r")
	reach(t, tab, row+" select")
	offered := fmt.Sprintf("document.querySelector(%q).checkVisibility() === ", row+" [name=may_download]")
	tab.WaitForTrue(offered + "false")
	tab.Press("S") // as lists are chosen from by keys
	tab.WaitForValue(row+" select", string(domain.RoleSupport))
	tab.WaitForTrue(offered + "true")
	reach(t, tab, row+" form[action$=role] button")
	tab.Press("\r")
	tab.WaitForText("#announcement", "Role changed")
	developer.WantPage(developer.Get("/dashboard/test/keys"), http.StatusForbidden, "Support")
	developer.WantPage(developer.Get("/dashboard/test/sessions"), http.StatusOK)

	support.WantPage(support.Get("/dashboard/test/sessions"), http.StatusOK)
	reach(t, tab, other+" summary")
	tab.Press(" ")
	reach(t, tab, other+" form[action$=remove] summary")
	tab.Press(" ")
	reach(t, tab, other+" form[action$=remove] button")
	tab.Press(" ")
	tab.WaitForText("#announcement", "Removed from the team")
	tab.WaitGone(other)
	support.WantRedirect(support.Get("/dashboard/test/sessions"), "/dashboard/sign-in?then=%2Fdashboard%2Ftest%2Fsessions")
}

// TestBrowserProblems looks at the pages that say why there is nothing to
// see, and at the emails that development doesn't send.
func TestBrowserProblems(t *testing.T) {
	t.Parallel()
	h, base := harness.Listen(t, func(c *handlers.Config) {
		c.DevMail = storedMail{{SentAt: harness.StartTime, To: "jo@lender.example", Subject: "Choose a new password",
			Text: "Choose one here:\n\nhttps://candor.example/dashboard/reset/x\n"}}
	})
	tab := browsertest.New(t, browsertest.Options{AllowStatus: []int{http.StatusForbidden, http.StatusNotFound,
		http.StatusInternalServerError}})
	see := func(path, name string, texts ...string) {
		tab.Open(base + path)
		for _, text := range texts {
			tab.WaitForText("main", text)
		}
		view(tab, name)
	}
	see("/dashboard/nothing/here", "404-door", "There is nothing here")
	see("/dev/mail", "dev-mail", "Choose a new password")
	signInTo(h, tab, base, "/dashboard/test")
	see("/dashboard/test/sessions/sess_01m7yv7wbwf4bvt47z0y7qs8pk", "404", "There is nothing here")
	see("/dashboard/live/sessions/"+h.NewSession(h.TestScope(), domain.NewSession{}).ID.String(), "404-other-mode",
		"Sessions in test mode")
	execSQL(h, `ALTER TABLE webhook_endpoint RENAME TO elsewhere`)
	see("/dashboard/test/webhooks", "500", "something went wrong", "Error reference: req_")
	execSQL(h, `UPDATE staff_user SET role = 'support'`)
	see("/dashboard/test/team", "403", "You can’t do this", "Your role, support, can’t open this page")
}
