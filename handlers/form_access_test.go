package handlers_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"candor/handlers"
	"candor/internal/domain"
	"candor/internal/platform/keyring"
	"candor/internal/statement"
	"candor/internal/statement/statementtest"
)

func TestLinkSetsTheCookieAndLeavesTheAddress(t *testing.T) {
	t.Parallel()
	for _, development := range []bool{false, true} {
		b := newBench(t, func(c *handlers.Config) { c.Development = development })
		session := b.newSession(b.testScope(), domain.NewSession{})
		b.clock.advance(5 * 24 * time.Hour)
		got := b.serve(httptest.NewRequest(http.MethodGet, b.link(session.ID), nil))
		path := "/f/" + session.ID.String()
		if got.Code != http.StatusSeeOther || got.Header().Get("Location") != path {
			t.Fatalf("the link answered %d to %q, want 303 to %s", got.Code, got.Header().Get("Location"), path)
		}
		cookies := got.Result().Cookies()
		if len(cookies) != 1 {
			t.Fatalf("%d cookies, want 1", len(cookies))
		}
		c := cookies[0]
		if !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != path || c.Secure == development || c.Domain != "" {
			t.Errorf("development %v: cookie = %+v, want HttpOnly, SameSite=Lax, Path %s, Secure outside development", development, c, path)
		}
		if want := 25 * 24 * 60 * 60; c.MaxAge != want {
			t.Errorf("Max-Age = %d, want %d: until the session expires", c.MaxAge, want)
		}
		if strings.Contains(c.Value, session.ID.String()) {
			t.Errorf("the cookie shows the session's id")
		}
	}
}

func TestWrongLinksAnswerAlike(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	session, other := b.newSession(b.testScope(), domain.NewSession{}), b.newSession(b.testScope(), domain.NewSession{})
	token := b.token(session.ID)
	unknown := "sess_" + strings.TrimPrefix(domain.NewAccountID().String(), "acct_")
	paths := []string{
		"/f/" + other.ID.String() + "/" + token,
		"/f/" + session.ID.String() + "/" + token[:len(token)-1],
		"/f/" + session.ID.String() + "/" + token + "A",
		"/f/" + session.ID.String() + "/" + strings.ToUpper(token),
		"/f/" + unknown + "/" + token,
		"/f/" + unknown + "/" + b.service.Ring.Token(unknown),
		"/f/nonsense/" + token,
		"/f/%00/%ff",
		"/f/" + session.ID.String() + "/" + token + "/more",
		"/f/" + session.ID.String(),
		"/f/" + session.ID.String() + "/income",
		"/f/" + session.ID.String() + "/pdf",
		"/f/", "/f", "/nothing", "/favicon.ico", "/static/nothing.css", "/static/", "/static/../routes.go",
	}
	var first string
	for _, path := range paths {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.URL.Path, _ = url.PathUnescape(path)
		got := b.serve(r)
		page := strings.ReplaceAll(got.Body.String(), got.Header().Get("X-Request-Id"), "")
		if got.Code != http.StatusNotFound || len(got.Result().Cookies()) != 0 {
			t.Errorf("%s answered %d with %d cookies, want 404 with none", path, got.Code, len(got.Result().Cookies()))
		}
		if first == "" {
			first = page
		}
		if page != first {
			t.Errorf("%s answered another page than a wrong token", path)
		}
	}
	shows(t, first, "We can’t find this page", "Open it again from the original message")
	hides(t, first, "Lender")
}

func TestCookieOpensItsOwnSessionOnly(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	one, two := b.newCustomer(), b.newCustomer()
	thief := &customer{bench: b, id: two.id, cookies: one.cookies}
	for _, section := range []string{"", "income", "documents", "declaration", "pdf"} {
		if got := thief.get(section); got.Code != http.StatusNotFound {
			t.Errorf("another session's cookie opened %q: %d", section, got.Code)
		}
	}
	if got := thief.post("income", statementtest.Values("income")); got.Code != http.StatusNotFound {
		t.Errorf("another session's cookie saved income: %d", got.Code)
	}
	if got := two.story(); len(got) != 0 {
		t.Errorf("events = %q, want none", got)
	}
	ring, err := keyring.Parse(keyring.Generate("stranger"))
	b.ok(err)
	stranger := newBench(t, func(c *handlers.Config) { c.CookieKeys = ring.CookieKeys() }).newCustomer()
	forged := &customer{bench: b, id: one.id, cookies: stranger.cookies}
	if got := forged.get(""); got.Code != http.StatusNotFound {
		t.Errorf("a cookie of other keys opened the form: %d", got.Code)
	}
	one.page(one.get(""), http.StatusOK)
}

func TestFirstOpening(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := b.newCustomer()
	ask := func(method, header, value string) {
		r := httptest.NewRequest(method, c.path(""), nil)
		if header != "" {
			r.Header.Set(header, value)
		}
		if got := c.send(r); got.Code != http.StatusOK {
			t.Fatalf("%s with %s: %s answered %d", method, header, value, got.Code)
		}
	}
	ask(http.MethodHead, "", "")
	for _, ahead := range [][2]string{{"Sec-Purpose", "prefetch"}, {"Sec-Purpose", "prefetch;prerender"}, {"Purpose", "prefetch"}, {"X-Moz", "prefetch"}, {"X-Purpose", "preview"}} {
		ask(http.MethodGet, ahead[0], ahead[1])
	}
	c.send(httptest.NewRequest(http.MethodHead, b.link(c.id), nil))
	if got := c.status(); got != domain.Pending {
		t.Fatalf("status = %s, want pending: nobody has looked yet", got)
	}
	ask(http.MethodGet, "", "")
	ask(http.MethodGet, "", "")
	if got, want := c.story(), []string{"accessed"}; !slices.Equal(got, want) || c.status() != domain.InProgress {
		t.Errorf("events = %q, status %s; want %q, in_progress", got, c.status(), want)
	}
	for name, open := range map[string]func(*customer){
		"a section": func(c *customer) { c.get("income") },
		"a post":    func(c *customer) { c.post("income", nil) },
	} {
		c := b.newCustomer()
		open(c)
		if got := c.story(); len(got) == 0 || got[0] != "accessed" {
			t.Errorf("events after opening %s = %q, want accessed first", name, got)
		}
	}
}

func TestAccessedNamesTheVisitor(t *testing.T) {
	t.Parallel()
	c := newBench(t).newCustomer()
	r := httptest.NewRequest(http.MethodGet, c.path(""), nil)
	r.RemoteAddr = "203.0.113.9:4711"
	r.Header.Set("X-Forwarded-For", "198.51.100.1")
	r.Header.Set("User-Agent", "Phone/1 \xff"+strings.Repeat("x", 2000))
	c.send(r)
	events, err := c.db.Events(t.Context(), c.id)
	c.ok(err)
	body := string(events[0].Body)
	if !strings.Contains(body, `"ip_address":"203.0.113.9"`) || !strings.Contains(body, `"user_agent":"Phone/1 `) || len(body) > 1200 {
		t.Errorf("event = %s, want the connection's address and a short user agent", body)
	}
}

func TestClosedSessionsSayWhatHappened(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tests := []struct {
		name   string
		close  func(*customer)
		status int
		says   string
	}{
		{"completed", func(c *customer) { c.answerAll(); c.redirects(c.sign()) }, http.StatusOK, "Your statement has been sent"},
		{"cancelled", func(c *customer) {
			c.answer("income")
			_, err := b.service.Sessions.Cancel(t.Context(), b.testScope(), c.id, someone)
			b.ok(err)
		}, http.StatusGone, "This statement is no longer needed"},
		{"expired", func(c *customer) { c.answer("income"); b.clock.advance(31 * 24 * time.Hour) }, http.StatusGone, "This link has expired"},
	}
	for _, test := range tests {
		c := b.newCustomer()
		early := c.again()
		test.close(c)
		events := len(c.story())
		late := &customer{bench: b, id: c.id, cookies: map[string]string{}}
		late.redirects(late.send(httptest.NewRequest(http.MethodGet, b.link(c.id), nil)))
		for who, visitor := range map[string]*customer{"another tab": early, "the link again": late} {
			for _, section := range []string{"", "income", "documents", "declaration"} {
				page := visitor.page(visitor.get(section), test.status)
				shows(t, page, test.says, "Lender &amp; Sons")
				hides(t, page, "98,750", "98750", "Zoë", "jo@customer.example", "0491", "Save it before", "/pdf")
			}
			if got := visitor.get("pdf"); got.Code != http.StatusNotFound && test.name == "completed" {
				t.Errorf("%s: %s downloaded the copy: %d", test.name, who, got.Code)
			}
			for _, section := range []string{"income", "documents"} {
				shows(t, visitor.page(visitor.post(section, statementtest.Values(section)), test.status), test.says)
			}
			shows(t, visitor.page(visitor.post("income", url.Values{"action": {"add:x"}}), test.status), test.says)
			shows(t, visitor.page(visitor.attach("other", "a.pdf", []byte("%PDF-1.7"), ""), test.status), test.says)
		}
		if got := len(c.story()); got != events {
			t.Errorf("%s: %d events after the end, want %d", test.name, got, events)
		}
	}
}

func TestCopyForTheBrowserThatSigned(t *testing.T) {
	t.Parallel()
	c := newBench(t).newCustomer()
	tab := c.again()
	c.answerAll()
	c.redirects(c.sign())
	shows(t, c.page(c.get(""), http.StatusOK), "being made", "Check again")
	if next := c.redirects(c.get("pdf")); next != "" {
		t.Errorf("a copy that isn't ready leads to %q, want the confirmation", next)
	}
	c.storePDF(c.id, []byte("%PDF-1.7 copy"))
	shows(t, c.page(c.get(""), http.StatusOK), c.path("pdf"), "Save it before you close this page")
	shows(t, c.page(c.get("income"), http.StatusOK), c.path("pdf"))
	got := c.get("pdf")
	want := `attachment; filename="financial_statement_` + c.id.String() + `.pdf"`
	if got.Code != http.StatusOK || got.Body.String() != "%PDF-1.7 copy" || got.Header().Get("Content-Disposition") != want {
		t.Errorf("copy = %d %q %q", got.Code, got.Body, got.Header())
	}
	if got := tab.get("pdf"); got.Code != http.StatusNotFound {
		t.Errorf("a cookie from before the signature downloaded the copy: %d", got.Code)
	}
	c.clock.advance(time.Hour)
	if got := c.get("pdf"); got.Code != http.StatusNotFound {
		t.Errorf("the copy is still there after an hour: %d", got.Code)
	}
	page := c.page(c.get(""), http.StatusOK)
	shows(t, page, "Your statement has been sent")
	hides(t, page, c.path("pdf"))
}

// TestOnlyTheBrowserThatSignedSubmitsTwice: right after the signature, a second
// browser with the link posts the declaration, as does the one that signed and
// never saw the answer.
func TestOnlyTheBrowserThatSignedSubmitsTwice(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := b.newCustomer()
	c.answerAll()
	open := func() *customer {
		other := &customer{bench: b, id: c.id, cookies: map[string]string{}}
		other.redirects(other.send(httptest.NewRequest(http.MethodGet, b.link(c.id), nil)))
		return other
	}
	early, doubled := open(), c.again()
	c.redirects(c.sign())
	b.storePDF(c.id, []byte("%PDF-1.7 copy"))
	late := open()
	for who, other := range map[string]*customer{"a browser with the link": early, "a browser that opens the link now": late} {
		page := other.page(other.sign(), http.StatusOK)
		shows(t, page, "Your statement has been sent")
		hides(t, page, "Save it before", c.path("pdf"))
		if got := other.get("pdf"); got.Code != http.StatusNotFound {
			t.Errorf("%s downloaded the PDF: %d", who, got.Code)
		}
	}
	b.clock.advance(59 * time.Second)
	lateClick := doubled.again()
	shows(t, doubled.page(doubled.sign(), http.StatusOK), "Save it before you close this page", c.path("pdf"))
	if got := doubled.get("pdf"); got.Code != http.StatusOK || got.Body.String() != "%PDF-1.7 copy" {
		t.Errorf("the browser that signed gets %d %q, want its copy", got.Code, got.Body)
	}
	b.clock.advance(time.Second)
	hides(t, lateClick.page(lateClick.sign(), http.StatusOK), c.path("pdf"))
	if got := c.story(); count(got, "completed") != 1 {
		t.Errorf("events = %q, want one completion", got)
	}
}

func TestOtherSitesCantPost(t *testing.T) {
	t.Parallel()
	c := newBench(t).newCustomer()
	c.get("")
	tests := []struct {
		name    string
		headers map[string]string
		status  int
	}{
		{"cross-site", map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}, http.StatusForbidden},
		{"sibling", map[string]string{"Sec-Fetch-Site": "same-site"}, http.StatusForbidden},
		{"cross-site without an origin", map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "null"}, http.StatusForbidden},
		{"old browser, other site", map[string]string{"Origin": "https://evil.example"}, http.StatusForbidden},
		{"old browser, our page", map[string]string{"Origin": "null"}, http.StatusSeeOther},
		{"old browser, our origin", map[string]string{"Origin": baseURL}, http.StatusSeeOther},
		{"our page", map[string]string{"Sec-Fetch-Site": "same-origin", "Origin": baseURL}, http.StatusSeeOther},
		{"script", nil, http.StatusSeeOther},
	}
	for _, test := range tests {
		r := httptest.NewRequest(http.MethodPost, c.path("income"), strings.NewReader("action=save"))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		for name, value := range test.headers {
			r.Header.Set(name, value)
		}
		if got := c.send(r); got.Code != test.status {
			t.Errorf("%s: answered %d, want %d", test.name, got.Code, test.status)
		}
	}
}

func TestHeadersOfEveryPage(t *testing.T) {
	t.Parallel()
	c := newBench(t).newCustomer()
	responses := map[string]*httptest.ResponseRecorder{
		"landing": c.serve(httptest.NewRequest(http.MethodGet, "/", nil)),
		"unknown": c.serve(httptest.NewRequest(http.MethodGet, "/unknown", nil)),
		"no form": c.serve(httptest.NewRequest(http.MethodGet, c.path(""), nil)),
		"method":  c.serve(httptest.NewRequest(http.MethodDelete, c.path(""), nil)),
		"hub":     c.get(""),
		"invalid": c.post("income", url.Values{"employment_income.bonuses": {"x"}}),
	}
	for _, name := range statement.SectionNames {
		responses[name] = c.get(name)
	}
	for page, got := range responses {
		h := got.Header()
		for name, want := range map[string]string{
			"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff",
			"Cross-Origin-Opener-Policy": "same-origin", "X-Robots-Tag": "noindex, nofollow",
			"Strict-Transport-Security": "max-age=31536000; includeSubDomains", "Content-Type": "text/html; charset=UTF-8",
		} {
			if h.Get(name) != want {
				t.Errorf("%s: %s = %q, want %q", page, name, h.Get(name), want)
			}
		}
		for _, rule := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"} {
			if !slices.Contains(strings.Split(h.Get("Content-Security-Policy"), "; "), rule) {
				t.Errorf("%s: the policy lacks %q: %s", page, rule, h.Get("Content-Security-Policy"))
			}
		}
		if h.Get("Permissions-Policy") == "" || h.Get("X-Request-Id") == "" {
			t.Errorf("%s: headers %v lack Permissions-Policy or X-Request-Id", page, h)
		}
	}
}

// TestLogsTellNothingPersonal walks through the form and reads the log.
func TestLogsTellNothingPersonal(t *testing.T) {
	t.Parallel()
	c := newBench(t).newCustomer()
	c.answerAll()
	c.attach("other", "Zoe-payslip.pdf", []byte("%PDF-1.7"), "")
	c.post("income", url.Values{"full_name": {"Zoë"}, "employment_income.bonuses": {"x"}})
	c.get("income?return=secret-query")
	c.answer("income")
	c.redirects(c.sign())
	c.get("")
	lines := c.logs.String()
	if strings.Count(lines, "\n") < 14 {
		t.Fatalf("only these log lines:\n%s", lines)
	}
	for _, secret := range []string{c.token(c.id), c.cookies["__Secure-candor_form"], "Zoë", "Zoe", "jo@customer", "zoe.obrien", "98750", "98,750", "secret-query", "payslip"} {
		if strings.Contains(lines, secret) {
			t.Errorf("the log tells %q", secret)
		}
	}
}
