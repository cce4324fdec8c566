package form_test

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
	"candor/internal/testkit/harness"
	"candor/internal/testkit/page"
)

func TestLinkSetsTheCookieAndLeavesTheAddress(t *testing.T) {
	t.Parallel()
	for _, development := range []bool{false, true} {
		h := harness.New(t, func(c *handlers.Config) { c.Development = development })
		session := h.NewSession(h.TestScope(), domain.NewSession{})
		h.Clock.Advance(5 * 24 * time.Hour)
		got := h.Serve(httptest.NewRequest(http.MethodGet, h.Link(session.ID), nil))
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
			t.Errorf("development %v: cookie = %+v, want HttpOnly, SameSite=Lax, Path %s, Secure outside development",
				development, c, path)
		}
		if want := 91 * 24 * 60 * 60; c.MaxAge != want {
			t.Errorf("Max-Age = %d, want %d: longer than any link", c.MaxAge, want)
		}
		if strings.Contains(c.Value, session.ID.String()) {
			t.Errorf("the cookie shows the session's id")
		}
	}
}

func TestWrongLinksAnswerAlike(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	session, other := h.NewSession(h.TestScope(), domain.NewSession{}), h.NewSession(h.TestScope(), domain.NewSession{})
	token := h.Token(session.ID)
	unknown := "sess_" + strings.TrimPrefix(domain.NewAccountID().String(), "acct_")
	paths := []string{
		"/f/" + other.ID.String() + "/" + token,
		"/f/" + session.ID.String() + "/" + token[:len(token)-1],
		"/f/" + session.ID.String() + "/" + token + "A",
		"/f/" + session.ID.String() + "/" + strings.ToUpper(token),
		"/f/" + unknown + "/" + token,
		"/f/" + unknown + "/" + h.Service.Ring.Token(unknown),
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
		got := h.Serve(r)
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
	shown := page.Read(t, first)
	shown.Shows("We can’t find this page", "Open it again from the latest message")
	shown.Hides("Lender")
}

func TestCookieOpensItsOwnSessionOnly(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	one, two := h.NewCustomer(), h.NewCustomer()
	thief := &harness.Customer{Harness: h, ID: two.ID, Cookies: one.Cookies}
	for _, section := range []string{"", "income", "documents", "declaration", "pdf"} {
		if got := thief.Get(section); got.Code != http.StatusNotFound {
			t.Errorf("another session's cookie opened %q: %d", section, got.Code)
		}
	}
	if got := thief.Post("income", statementtest.Values("income")); got.Code != http.StatusNotFound {
		t.Errorf("another session's cookie saved income: %d", got.Code)
	}
	if got := two.Events(); len(got) != 0 {
		t.Errorf("events = %q, want none", got)
	}
	ring, err := keyring.Parse(keyring.Generate("stranger"))
	h.OK(err)
	stranger := harness.New(t, func(c *handlers.Config) { c.CookieKeys = ring.CookieKeys() }).NewCustomer()
	forged := &harness.Customer{Harness: h, ID: one.ID, Cookies: stranger.Cookies}
	if got := forged.Get(""); got.Code != http.StatusNotFound {
		t.Errorf("a cookie of other keys opened the form: %d", got.Code)
	}
	one.WantPage(one.Get(""), http.StatusOK)
}

func TestFirstOpening(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	c := h.NewCustomer()
	ask := func(method, header, value string) {
		r := httptest.NewRequest(method, c.Path(""), nil)
		if header != "" {
			r.Header.Set(header, value)
		}
		if got := c.Send(r); got.Code != http.StatusOK {
			t.Fatalf("%s with %s: %s answered %d", method, header, value, got.Code)
		}
	}
	ask(http.MethodHead, "", "")
	for _, ahead := range [][2]string{{"Sec-Purpose", "prefetch"}, {"Sec-Purpose", "prefetch;prerender"}, {"Purpose", "prefetch"},
		{"X-Moz", "prefetch"}, {"X-Purpose", "preview"}} {
		ask(http.MethodGet, ahead[0], ahead[1])
	}
	c.Send(httptest.NewRequest(http.MethodHead, h.Link(c.ID), nil))
	if got := c.Status(); got != domain.Pending {
		t.Fatalf("status = %s, want pending: the form wasn't opened yet", got)
	}
	ask(http.MethodGet, "", "")
	ask(http.MethodGet, "", "")
	if got, want := c.Events(), []string{"accessed"}; !slices.Equal(got, want) || c.Status() != domain.InProgress {
		t.Errorf("events = %q, status %s; want %q, in_progress", got, c.Status(), want)
	}
	for name, open := range map[string]func(*harness.Customer){
		"a section": func(c *harness.Customer) { c.Get("income") },
		"a post":    func(c *harness.Customer) { c.Post("income", nil) },
	} {
		c := h.NewCustomer()
		open(c)
		if got := c.Events(); len(got) == 0 || got[0] != "accessed" {
			t.Errorf("events after opening %s = %q, want accessed first", name, got)
		}
	}
}

func TestAccessedNamesTheVisitor(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	r := httptest.NewRequest(http.MethodGet, c.Path(""), nil)
	r.RemoteAddr = "203.0.113.9:4711"
	r.Header.Set("X-Forwarded-For", "198.51.100.1")
	r.Header.Set("User-Agent", "Phone/1 \xff"+strings.Repeat("x", 2000))
	c.Send(r)
	events, err := c.DB.Events(t.Context(), c.ID)
	c.OK(err)
	body := string(events[0].Body)
	if !strings.Contains(body, `"ip_address":"203.0.113.9"`) || !strings.Contains(body, `"user_agent":"Phone/1 `) ||
		len(body) > 1200 {
		t.Errorf("event = %s, want the connection's address and a short user agent", body)
	}
}

func TestClosedSessionsSayWhatHappened(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	tests := []struct {
		name   string
		close  func(*harness.Customer)
		status int
		says   string
	}{
		{"completed", func(c *harness.Customer) {
			c.AnswerAll()
			c.WantRedirect(c.Sign())
		}, http.StatusOK, "Your statement has been sent"},
		{"cancelled", func(c *harness.Customer) {
			c.Answer("income")
			_, err := h.Service.Sessions.Cancel(t.Context(), h.TestScope(), c.ID, harness.Operator)
			h.OK(err)
		}, http.StatusGone, "This statement is no longer needed"},
		{"expired", func(c *harness.Customer) {
			c.Answer("income")
			h.Clock.Advance(31 * 24 * time.Hour)
		}, http.StatusGone, "This link has expired"},
	}
	for _, test := range tests {
		c := h.NewCustomer()
		early := c.OtherBrowser()
		test.close(c)
		events := len(c.Events())
		late := &harness.Customer{Harness: h, ID: c.ID, Cookies: map[string]string{}}
		late.WantRedirect(late.Send(httptest.NewRequest(http.MethodGet, h.Link(c.ID), nil)))
		for who, visitor := range map[string]*harness.Customer{"another tab": early, "the link again": late} {
			for _, section := range []string{"", "income", "documents", "declaration"} {
				page := visitor.WantPage(visitor.Get(section), test.status)
				page.Shows(test.says, "Lender & Sons")
				page.Hides("98,750", "98750", "Zoë", "jo@customer.example", "0491", "Save it before", "/pdf")
			}
			if got := visitor.Get("pdf"); got.Code != http.StatusNotFound && test.name == "completed" {
				t.Errorf("%s: %s downloaded the copy: %d", test.name, who, got.Code)
			}
			for _, section := range []string{"income", "documents"} {
				visitor.WantPage(visitor.Post(section, statementtest.Values(section)), test.status).Shows(test.says)
			}
			visitor.WantPage(visitor.Post("income", url.Values{"action": {"add:x"}}), test.status).Shows(test.says)
			visitor.WantPage(visitor.Attach("other", "a.pdf", []byte("%PDF-1.7"), ""), test.status).Shows(test.says)
		}
		if got := len(c.Events()); got != events {
			t.Errorf("%s: %d events after the end, want %d", test.name, got, events)
		}
	}
}

// TestExtendedLinkStaysOpen types on after the day on which the link expired at first,
// until the new one.
func TestExtendedLinkStaysOpen(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	tab := load(c, "personal_details")
	_, err := c.Service.Sessions.Extend(t.Context(), c.TestScope(), c.ID, domain.MaxExpiresInDays, false, harness.Operator)
	c.OK(err)
	c.Clock.Advance(domain.MaxExpiresInDays*24*time.Hour - time.Second)
	tab.press("autosave", http.StatusOK, "phone", "0400 000 001")
	stored(c, "personal_details", "phone", "0400 000 001")
	c.Clock.Advance(time.Second)
	closed := tab.press("autosave", http.StatusGone, "phone", "0400 000 002").Shows("This link has expired")
	if !closed.All("main")[0].Has("data-closed") {
		t.Error("the page doesn't tell the script to delete what it kept")
	}
}

func TestCopyForTheBrowserThatSigned(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	tab := c.OtherBrowser()
	c.AnswerAll()
	c.WantRedirect(c.Sign())
	c.WantPage(c.Get(""), http.StatusOK).Shows("being made", "Check again")
	if next := c.WantRedirect(c.Get("pdf")); next != "" {
		t.Errorf("a copy that isn't ready leads to %q, want the confirmation", next)
	}
	c.StorePDF(c.ID, []byte("%PDF-1.7 copy"))
	c.WantPage(c.Get(""), http.StatusOK).Shows("You can read what you sent in this browser until").LeadsTo(c.Path("pdf"))
	c.WantPage(c.Get("income"), http.StatusOK).LeadsTo(c.Path("pdf"))
	_, err := c.DB.Raw().ExecContext(c.Context(), `UPDATE account SET retention_days = 20`)
	c.OK(err)
	c.WantPage(c.Get(""), http.StatusOK).Shows("until " + c.SessionOf(c.ID).CompletedAt.AddDate(0, 0, 20).Format("2 January 2006"))
	_, err = c.DB.Raw().ExecContext(c.Context(), `UPDATE account SET retention_days = 90`)
	c.OK(err)
	got := c.Get("pdf")
	want := `attachment; filename="financial_statement_` + c.ID.String() + `.pdf"`
	if got.Code != http.StatusOK || got.Body.String() != "%PDF-1.7 copy" || got.Header().Get("Content-Disposition") != want {
		t.Errorf("copy = %d %q %q", got.Code, got.Body, got.Header())
	}
	if got := tab.Get("pdf"); got.Code != http.StatusNotFound {
		t.Errorf("a cookie from before the signature downloaded the copy: %d", got.Code)
	}
	c.WantPage(c.Get("copy"), http.StatusOK).Shows("What you sent", "Zoë Margaret O'Brien", "$1,026,405.29", "Marrickville").
		Hides("Change")
	if got := tab.Get("copy"); got.Code != http.StatusNotFound || strings.Contains(got.Body.String(), "Marrickville") {
		t.Errorf("another browser reads the copy: %d", got.Code)
	}
	// The link, opened again in the browser that signed, takes nothing away.
	c.WantRedirect(c.Send(httptest.NewRequest(http.MethodGet, c.Link(c.ID), nil)))
	session, err := c.DB.SessionByID(t.Context(), c.ID)
	c.OK(err)
	c.Clock.Advance(session.ExpiresAt.Sub(c.Clock.Now()) - time.Second)
	c.WantPage(c.Get("copy"), http.StatusOK)
	if got := c.Get("pdf"); got.Code != http.StatusOK {
		t.Errorf("a second before the link's end: %d", got.Code)
	}
	c.Clock.Advance(time.Second)
	for _, path := range []string{"pdf", "copy"} {
		if got := c.Get(path); got.Code != http.StatusNotFound {
			t.Errorf("%s is still there after the link's end: %d", path, got.Code)
		}
	}
	page := c.WantPage(c.Get(""), http.StatusOK)
	page.Shows("Your statement has been sent")
	page.Hides(c.Path("pdf"))
}

// TestOnlyTheBrowserThatSignedSubmitsTwice: right after the signature, a second
// browser with the link posts the declaration, as does the one that signed and
// never saw the answer.
func TestOnlyTheBrowserThatSignedSubmitsTwice(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	c := h.NewCustomer()
	c.AnswerAll()
	open := func() *harness.Customer {
		other := &harness.Customer{Harness: h, ID: c.ID, Cookies: map[string]string{}}
		other.WantRedirect(other.Send(httptest.NewRequest(http.MethodGet, h.Link(c.ID), nil)))
		return other
	}
	early, doubled := open(), c.OtherBrowser()
	c.WantRedirect(c.Sign())
	h.StorePDF(c.ID, []byte("%PDF-1.7 copy"))
	late := open()
	for who, other := range map[string]*harness.Customer{"a browser with the link": early,
		"a browser that opens the link now": late} {
		page := other.WantPage(other.Sign(), http.StatusOK)
		page.Shows("Your statement has been sent")
		page.Hides("This browser keeps").Hides(c.Path("pdf"), c.Path("copy"))
		if got := other.Get("pdf"); got.Code != http.StatusNotFound {
			t.Errorf("%s downloaded the PDF: %d", who, got.Code)
		}
	}
	h.Clock.Advance(59 * time.Second)
	lateClick := doubled.OtherBrowser()
	doubled.WantPage(doubled.Sign(), http.StatusOK).Shows("You can read what you sent in this browser until").LeadsTo(c.Path("pdf"))
	if got := doubled.Get("pdf"); got.Code != http.StatusOK || got.Body.String() != "%PDF-1.7 copy" {
		t.Errorf("the browser that signed gets %d %q, want its copy", got.Code, got.Body)
	}
	h.Clock.Advance(time.Second)
	lateClick.WantPage(lateClick.Sign(), http.StatusOK).Hides(c.Path("pdf"))
	if got := c.Events(); count(got, "completed") != 1 {
		t.Errorf("events = %q, want one completion", got)
	}
}

func TestOtherSitesCantPost(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	c.Get("")
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
		{"old browser, our origin", map[string]string{"Origin": harness.BaseURL}, http.StatusSeeOther},
		{"our page", map[string]string{"Sec-Fetch-Site": "same-origin", "Origin": harness.BaseURL}, http.StatusSeeOther},
		{"script", nil, http.StatusSeeOther},
	}
	for _, test := range tests {
		r := httptest.NewRequest(http.MethodPost, c.Path("income"), strings.NewReader("action=save"))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		for name, value := range test.headers {
			r.Header.Set(name, value)
		}
		if got := c.Send(r); got.Code != test.status {
			t.Errorf("%s: answered %d, want %d", test.name, got.Code, test.status)
		}
	}
}

func TestHeadersOfEveryPage(t *testing.T) {
	t.Parallel()
	c := harness.New(t).NewCustomer()
	responses := map[string]*httptest.ResponseRecorder{
		"landing": c.Serve(httptest.NewRequest(http.MethodGet, "/", nil)),
		"unknown": c.Serve(httptest.NewRequest(http.MethodGet, "/unknown", nil)),
		"no form": c.Serve(httptest.NewRequest(http.MethodGet, c.Path(""), nil)),
		"method":  c.Serve(httptest.NewRequest(http.MethodDelete, c.Path(""), nil)),
		"hub":     c.Get(""),
		"invalid": c.Post("income", url.Values{"employment_income.bonuses": {"x"}}),
	}
	for _, name := range statement.SectionNames {
		responses[name] = c.Get(name)
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
		for _, rule := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'",
			"form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"} {
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
	c := harness.New(t).NewCustomer()
	c.AnswerAll()
	c.Attach("other", "Zoe-payslip.pdf", []byte("%PDF-1.7"), "")
	c.Post("income", url.Values{"full_name": {"Zoë"}, "employment_income.bonuses": {"x"}})
	c.Get("income?return=secret-query")
	c.Answer("income")
	c.WantRedirect(c.Sign())
	c.Get("")
	lines := c.Logs.String()
	if strings.Count(lines, "\n") < 14 {
		t.Fatalf("only these log lines:\n%s", lines)
	}
	for _, secret := range []string{c.Token(c.ID), c.Cookies["__Secure-candor_form"], "Zoë", "Zoe", "jo@customer", "zoe.obrien",
		"98750", "98,750", "secret-query", "payslip"} {
		if strings.Contains(lines, secret) {
			t.Errorf("the log tells %q", secret)
		}
	}
}
