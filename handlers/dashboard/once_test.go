package dashboard_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"candor/handlers"
	"candor/internal/domain"
	"candor/internal/testkit"
	"candor/internal/testkit/browsertest"
	"candor/internal/testkit/harness"
	"candor/internal/webhook"
)

// TestFormsThatAreSentOnce: the second click of a double click would cancel the response
// to the first, which alone shows a secret, or do the work twice.
func TestFormsThatAreSentOnce(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := harness.New(t)
	owner := h.Owner()
	session := h.NewSession(h.TestScope(), domain.NewSession{}).ID.String()
	owner.WantPage(owner.Post("/dashboard/test/keys", url.Values{"name": {"Loans"}, "access": {"full"}}), http.StatusOK)
	owner.Post("/dashboard/test/webhooks/secret/next", nil)
	failedAt(h, "https://lender.example/hook", 503, webhook.ClassStatus)
	const retry = "webhooks/redeliveries"
	retrying := owner.Post("/dashboard/test/"+retry, url.Values{"since": {"2026-01-01"}}).Header().Get("Location")
	saveView(owner, "Mine", "")
	h.Staff(domain.RoleSupport)
	owner.Post("/dashboard/test/team", url.Values{"email": {"sam@lender.example"}, "role": {"support"}})
	for path, posts := range map[string]string{
		"me": "/me/password", "sessions/new": "/sessions", "sessions": "/chosen /views /views/delete",
		"keys/new": "/keys", "keys/" + keyOf(h).String(): "/change /rotate /delete",
		"sessions/" + session + "/erase": "/erase", "webhooks/settings": "/secret/switch",
		"keys/" + keyOf(h).String() + "/leaked": "/delete", "sessions/" + session: "/cancel /email /renew",
		"settings/retention?answer_days=100": "/retention", "team": "/team /remove /revoke /resend /link",
		retry + "?preview=1&since=2026-01-01": "/" + retry, strings.TrimPrefix(retrying, "/dashboard/test/"): "/stop",
		"webhooks/outages/" + harness.Objects(h, h.TestScope())["outage"]: "/send",
	} {
		for _, to := range strings.Fields(posts) {
			sentOnce(owner, "/dashboard/test/"+path, to)
		}
	}
	setup := owner.WantPage(owner.Post("/dashboard/test/me/two-step", nil), http.StatusOK)
	if !strings.Contains(setup.Source, "data-once") {
		t.Error("two-step sign-in can be turned on twice")
	}
}

// sentOnce checks that the page's forms to an address are sent once.
func sentOnce(s *harness.StaffBrowser, path, posts string) {
	s.Helper()
	found := false
	for _, form := range s.WantPage(s.Get(path), http.StatusOK).All("form") {
		if form.Attr("method") == "post" && strings.HasSuffix(form.Attr("action"), posts) {
			found = true
			if !form.Has("data-once") {
				s.Errorf("%s: the form to %s can be sent twice", path, form.Attr("action"))
			}
		}
	}
	if !found {
		s.Errorf("%s has no form to %s", path, posts)
	}
}

// TestSignInFormsAreSentOnce: each uses up what it is sent with, so that a second click
// would be told that the link or code is wrong.
func TestSignInFormsAreSentOnce(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	m := h.Mailbox()
	browser := h.SignedOut()
	opened := func(subject, email, path string) {
		t.Helper()
		openEmail(browser, m.Link(m.Email(email, subject)), path)
		sentOnce(browser, path, path)
	}
	browser.Post("/dashboard/forgot", url.Values{"email": {h.Account.Email}})
	opened("Choose a new password", h.Account.Email, "/dashboard/reset")
	browser.Post("/dashboard/sign-up", url.Values{"company": {"New Loans"}, "name": {"Jo"}, "email": {"jo@new.example"},
		"new_password": {harness.GoodPassword}})
	opened("Confirm your email address", "jo@new.example", "/dashboard/verify")
	_, err := h.Service.Team.Invite(h.Context(), h.Account.AccountID, h.Staff(domain.RoleOwner).Session.Actor(),
		harness.NewInvitation("sam@lender.example", domain.RoleSupport))
	h.OK(err)
	opened("Join Lender & Sons on Candor", "sam@lender.example", "/dashboard/invitation")
	first, _ := firstPassword(h)
	sentOnce(first, "/dashboard/test/me", "/me/password")
	h.Owner().TwoStep()
	sentOnce(h.HalfIn(), "/dashboard/sign-in/code", "/sign-in/code")
}

// TestBrowserStoppedFormIsSentAgain clicks twice, stops the request, corrects the form and
// presses its button again.
func TestBrowserStoppedFormIsSentAgain(t *testing.T) {
	t.Parallel()
	h := harness.New(t, func(c *handlers.Config) { c.Development = true })
	var posts atomic.Int32
	arrived := make(chan struct{})
	server := testkit.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/arrived":
			<-arrived
		case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/sessions") && posts.Add(1) == 1:
			_, _ = io.Copy(io.Discard, r.Body)
			close(arrived)
			<-r.Context().Done()
		default:
			h.Handler.ServeHTTP(w, r)
		}
	}))
	tab := browsertest.New(t, browsertest.Options{Device: browsertest.Desktop, AllowCuts: true})
	signInTo(h, tab, server.URL, "/dashboard/test/sessions/new")
	tab.Type("#customer_email", "sam@example.con")
	// Chromium answers no other script while a page is being left.
	browsertest.Eval[bool](tab, `(async () => {
		const button = document.getElementById("create");
		sessionStorage.refused = "";
		document.addEventListener("submit", (event) => (sessionStorage.refused += event.defaultPrevented + " "));
		button.click();
		button.click();
		await fetch("/arrived");
		window.stop();
		document.getElementById("customer_email").value = "sam@example.com";
		setTimeout(() => button.click());
	})(), true`)
	tab.WaitForText("main", "sam@example.com")
	if got := browsertest.Eval[string](tab, "sessionStorage.refused"); got != "false true false " {
		t.Errorf("the clicks were refused: %s", got)
	}
}
