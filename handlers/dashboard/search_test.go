package dashboard_test

import (
	"cmp"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"candor/internal/domain"
	"candor/internal/testkit/harness"
	"candor/internal/testkit/page"
)

// TestSearchFindsEverything: customers by parts and in any case, everything by its id,
// and nothing of another mode or beyond the role.
func TestSearchFindsEverything(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	craig := h.NewSession(h.TestScope(), domain.NewSession{CustomerName: "Craig O'Neil", CustomerEmail: "cneil@customer.example",
		ReferenceID: "LOAN-4711"})
	h.NewSession(h.TestScope(), domain.NewSession{CustomerName: "Ann Lee", CustomerEmail: "ann@customer.example"})
	h.Open(craig.ID)
	h.Upload(craig.ID, "payslip.pdf")
	document := harness.QueryOne[domain.DocumentID](h, "SELECT id FROM document")
	own := harness.Objects(h, h.TestScope())
	failed := failedDeliveries(h)
	logCalls(h, craig.ID)
	request := harness.QueryOne[domain.RequestID](h, "SELECT id FROM api_request LIMIT 1")
	last4 := harness.QueryOne[text](h, "SELECT last4 FROM api_key WHERE NOT livemode LIMIT 1")
	owner, support, finance := h.Staff(domain.RoleOwner), h.Staff(domain.RoleSupport), h.Staff(domain.RoleFinance)
	for _, one := range []struct {
		typed, leads        string
		ofSupport, ofAnyone bool
	}{
		{"craig", "sessions/" + craig.ID.String(), true, false},
		{"O'NEIL", "sessions/" + craig.ID.String(), true, false},
		{"neil 471", "sessions/" + craig.ID.String(), true, false},
		{"cneil@", "sessions/" + craig.ID.String(), true, false},
		{"cr", "sessions/" + craig.ID.String(), true, false},
		{craig.ID.String(), "sessions/" + craig.ID.String(), true, false},
		{domain.SessionReference(craig.ID), "sessions/" + craig.ID.String(), true, false},
		{document.String(), "sessions/" + craig.ID.String(), true, false},
		{failed[0].ID.String(), "webhooks/deliveries/" + failed[0].ID.String(), false, false},
		{failed[0].EventID.String(), "events/" + failed[0].EventID.String(), false, false},
		{request.String(), "requests/" + request.String(), false, false},
		{own["key"], "keys", false, false},
		{string(last4), "keys", false, false},
		{"home", "", true, true},
	} {
		t.Run(one.typed, func(t *testing.T) {
			for who, may := range map[*harness.StaffBrowser]bool{owner: true, support: one.ofSupport, finance: one.ofAnyone} {
				browser := *who
				browser.Harness = h.In(t)
				results := typed(&browser, "test", one.typed)
				if found := len(results.Leads("/dashboard/test")) > 0; found != may {
					t.Errorf("%s finds it: %t, want %t: %s", who.Session.Role, found, may, results.Text())
				}
				if may && one.leads != "" && !strings.Contains(strings.Join(results.Leads("/dashboard/test"), " "), one.leads) {
					t.Errorf("%s finds %q, want %s", who.Session.Role, results.Leads("/dashboard/test"), one.leads)
				}
				if other := typed(&browser, "live", one.typed); one.leads != "" && slices.Contains(other.Leads("/dashboard/live"),
					"/dashboard/live/"+one.leads) {
					t.Errorf("%s finds it in live mode: %s", who.Session.Role, other.Text())
				}
			}
		})
	}
	there := owner.WantPage(owner.Get("/dashboard/live/search?q="+request.String()), http.StatusOK, "API requests in test mode")
	if len(there.Leads("/dashboard/test/requests/"+request.String())) != 1 {
		t.Errorf("the other mode's request isn't led to: %s", there.Text())
	}
	logged, session := "/dashboard/test/requests/"+request.String(), "/dashboard/test/sessions/"+craig.ID.String()
	owner.WantPage(owner.Get("/dashboard/live/requests?id="+request.String()), http.StatusOK, "API requests in test mode").
		LeadsTo(logged)
	for _, path := range []string{logged, session} {
		owner.WantPage(owner.Get(strings.Replace(path, "test", "live", 1)), http.StatusNotFound, "in test mode").LeadsTo(path)
	}
	for _, nothing := range []string{"xyzzy", "%", "_", "neil lee", `\`, "sess_", own["foreign"]} {
		if results := typed(owner, "test", nothing); len(results.Leads("/dashboard/test/sessions/")) > 0 {
			t.Errorf("%q finds %s", nothing, results.Text())
		}
	}
}

type text string

// typed is what is shown below the field while that is typed.
func typed(who *harness.StaffBrowser, mode, what string) *page.Page {
	who.Helper()
	answer := who.Send(http.MethodGet, "/dashboard/"+mode+"/search?q="+url.QueryEscape(what), nil,
		http.Header{"Hx-Request": {"true"}, "Sec-Fetch-Site": {"same-origin"}})
	if answer.Code != http.StatusOK {
		who.Fatalf("%q answers %d: %s", what, answer.Code, answer.Body)
	}
	return page.Read(who, answer.Body.String())
}

// TestSearchWithoutScript: an id leads to its page, parts to a page with what they find,
// and a search for many to their list.
func TestSearchWithoutScript(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	support := h.Staff(domain.RoleSupport)
	var last *domain.Session
	for i := range 12 {
		last = h.NewSession(h.TestScope(), domain.NewSession{CustomerName: "Craig " + harness.Hostile,
			ReferenceID: fmt.Sprintf("loan-%d", i)})
	}
	get := func(path string) *httptest.ResponseRecorder { return support.Get("/dashboard/test/" + path) }
	support.WantRedirect(get("search?q="+last.ID.String()), "/dashboard/test/sessions/"+last.ID.String())
	all := support.WantPage(get("search?q=craig"), http.StatusOK, "loan-11", "Show all: 12 sessions").Link("Show all: 12 sessions")
	support.WantPage(support.Get(all), http.StatusOK, "12 sessions", "loan-0")
	support.WantRedirect(get("search?q=loan-11"), "/dashboard/test/sessions/"+last.ID.String())
	support.WantRedirect(get("search?q=sessions"), "/dashboard/test/sessions") // among others, but called so
	support.WantPage(get("search?q=no-one-here"), http.StatusOK, "Nothing found")
	support.WantPage(get("search"), http.StatusOK, "Find a customer")
	if source := get("search?q=" + url.QueryEscape(harness.Hostile)).Body.String(); strings.Contains(source, "<script>alert") {
		t.Error("what was typed is on the page as it is")
	}
	support.WantPage(get("sessions?q=CRAIG+loan-11"), http.StatusOK, "1 session")
}

// TestSearchesAreNotLogged: who looks for a customer leaves the name in no log, in
// whichever field and whatever comes of it.
func TestSearchesAreNotLogged(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	h.NewSession(h.TestScope(), domain.NewSession{CustomerName: "Zebedee Quill", CustomerEmail: "zquill@customer.example"})
	support := h.Staff(domain.RoleSupport)
	h.Logs.Clear()
	typed(support, "test", "zebedee")
	for path, status := range map[string]int{
		"search?q=zebedee+quill": http.StatusSeeOther, "sessions?q=zebedee": http.StatusOK,
		"sessions?q=zquill%40customer.example&from=zebedee": http.StatusOK,
		"search?q=zebedee%ff":                               http.StatusOK, "events?q=zebedee": http.StatusForbidden,
		"nothing?q=zebedee": http.StatusNotFound,
	} {
		if got := support.Get("/dashboard/test/" + path).Code; got != status {
			t.Errorf("%s: %d, want %d", path, got, status)
		}
	}
	h.SignedOut().Get("/dashboard/test/search?q=zebedee")
	logged := h.Logs.String()
	for _, route := range []string{"/dashboard/:mode/search", "/dashboard/:mode/sessions"} {
		if !strings.Contains(logged, route) {
			t.Errorf("the log has no request to %s:\n%s", route, logged)
		}
	}
	for _, typed := range []string{"zebedee", "quill"} {
		if strings.Contains(strings.ToLower(logged), typed) {
			t.Errorf("the log has %q:\n%s", typed, logged)
		}
	}
}

// TestSearchByPhone: a customer is found by the number that they signed, however it is
// written, in no other account and mode, and not after an erasure (D132).
func TestSearchByPhone(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	support := h.Staff(domain.RoleSupport)
	session := h.NewSession(h.TestScope(), domain.NewSession{CustomerName: "Ann Lee"})
	h.Open(session.ID)
	h.Fill(session.ID, "personal_details")
	support.WantPage(support.Get("/dashboard/test/search?q=0491570156"), http.StatusOK, "Nothing found")
	h.Complete(session.ID)
	for _, typed := range []string{"0491570156", "0491 570 156", "+61 491 570 156", "(0491) 570-156", "0011 61 491 570 156"} {
		support.WantRedirect(support.Get("/dashboard/test/search?q="+url.QueryEscape(typed)), "/dashboard/test/sessions/"+
			session.ID.String())
	}
	everything := support.WantPage(support.Get("/dashboard/test/sessions?q=0491+570+156"), http.StatusOK, "No session matches").
		Link("Search everything for “0491 570 156”")
	support.WantRedirect(support.Get(everything), "/dashboard/test/sessions/"+session.ID.String())
	support.WantPage(support.Get("/dashboard/test/search?q=0491570158"), http.StatusOK, "Nothing found")
	support.WantPage(support.Get("/dashboard/live/search?q=0491570156"), http.StatusOK, "Nothing found")
	other := h.NewAccount("other@lender.example", "starter").AccountID
	theirs := h.NewSession(domain.Scope{AccountID: other}, domain.NewSession{})
	h.Complete(theirs.ID)
	if n := harness.QueryOne[int](h, "SELECT count(DISTINCT phone_hash) FROM section WHERE phone_hash IS NOT NULL"); n != 2 {
		t.Errorf("two accounts have %d hashes of one number", n)
	}
	if found := typed(support, "test", "0491570156"); len(found.Leads("/dashboard/test/sessions/")) != 1 {
		t.Errorf("another account's customer is found: %s", found.Text())
	}
	if number := harness.QueryOne[text](h, "SELECT phone_hash FROM section WHERE phone_hash IS NOT NULL LIMIT 1"); strings.Contains(
		string(number), "491") {
		t.Errorf("the number is stored as %q", number)
	}
	h.OK(h.Service.Sessions.Erase(t.Context(), h.TestScope(), session.ID, []domain.SessionID{session.ID}, session.CustomerEmail,
		harness.Operator))
	support.WantPage(support.Get("/dashboard/test/search?q=0491570156"), http.StatusOK, "Nothing found")
	for range 9 {
		h.Complete(h.NewSession(h.TestScope(), domain.NewSession{}).ID)
	}
	all := typed(support, "test", "0491570156").Link("Show all: 8 sessions or more")
	if found := support.WantPage(support.Get(all), http.StatusOK).Lacks("Show all"); len(
		found.Leads("/dashboard/test/sessions/sess_")) != 9 {
		t.Errorf("not all of the number are shown: %s", found.Text())
	}
}

// TestSearchForgivesMistakes: a customer is found although one letter of each word is
// wrong, unless someone has the words as they are (D131).
func TestSearchForgivesMistakes(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	support := h.Staff(domain.RoleSupport)
	h.NewSession(h.TestScope(), domain.NewSession{CustomerName: "Craig Wang", CustomerEmail: "cw@customer.example",
		ReferenceID: "LOAN-4711"})
	h.NewSession(h.TestScope(), domain.NewSession{CustomerName: "Margarete Nguyễn", CustomerEmail: "mn@customer.example"})
	h.NewSession(h.TestScope(), domain.NewSession{CustomerName: "Kate O'Brien", CustomerEmail: "kb@customer.example"})
	for text, finds := range map[string]string{
		"O’Brien": "Kate", "o'brien": "Kate",
		"Craig Wnag": "Craig Wang", "Wnag": "Craig Wang", "Crag": "Craig Wang", "Craaig Wong": "Craig Wang", "Carig 4711": "Craig Wang",
		"margaret": "Margarete", "Margaretha": "", "Nguyen": "Margarete", "Nguyễm": "Margarete", "Craig 4712": "",
		"Cra g": "", "wg": "",
	} {
		typed(support, "test", text).Shows(cmp.Or(finds, "Nothing found"))
	}
	support.WantPage(support.Get("/dashboard/test/search?q=wnag"), http.StatusOK, "Sessions with a similar spelling")
	owner := h.Owner()
	owner.Post("/dashboard/test/keys", url.Values{"name": {"Wnag"}, "access": {"full"}})
	owner.WantPage(owner.Get("/dashboard/test/search?q=wnag"), http.StatusOK, "API keys", "Craig Wang")
	h.NewSession(h.TestScope(), domain.NewSession{CustomerName: "Ada Wnag", CustomerEmail: "aw@customer.example"})
	if page := typed(support, "test", "wnag"); strings.Contains(page.Text(), "Craig") || !strings.Contains(page.Text(), "Ada") {
		t.Errorf("one who is written like that is there: %s", page.Text())
	}
}

var href = regexp.MustCompile(`<a href="([^"]+)"`)

// links are where that what a text finds leads to, with the parts of pages.
func links(who *harness.StaffBrowser, text string) (out []string) {
	answer := who.Send(http.MethodGet, "/dashboard/test/search?q="+url.QueryEscape(text), nil, http.Header{"Hx-Request": {"true"}})
	for _, match := range href.FindAllStringSubmatch(answer.Body.String(), -1) {
		out = append(out, match[1])
	}
	return out
}

// TestPalette: pages, settings, actions and people are found by the words that people have
// for them, by those who may go there.
func TestPalette(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	owner, support, auditor := h.Staff(domain.RoleOwner), h.Staff(domain.RoleSupport), h.Staff(domain.RoleAuditor)
	h.NewEndpoint(h.TestScope(), "https://lender.example/candor")
	for typedText, want := range map[string]struct {
		leads   string
		support bool
	}{
		"new session": {"sessions/new", true}, "invite": {"team#email", false}, "rotate": {"keys", false},
		"webhook secret": {"webhooks#endpoints", false}, "outage": {"webhooks?state=failing", false},
		"failed deliveries": {"webhooks?state=failing", false},
		"two-step":          {"me#two-step", true}, "spend": {"billing#spend_cap", false}, "api": {"keys", false},
		"logo":       {"settings#name", false},
		"my account": {"me", true}, "sso": {"settings/sign-in", false}, "change plan": {"billing#plan", false},
		"webhook settings": {"webhooks/settings", false}, "test event": {"webhooks/settings#test", false},
		"extend": {"sessions?status=expiring", true},
		"verify": {"webhooks/verify", false}, "retries": {"webhooks/redeliveries", false},
		support.Session.Email: {"team#" + support.Session.ID.String(), false},
	} {
		if found := links(owner, typedText); !slices.Contains(found, "/dashboard/test/"+want.leads) {
			t.Errorf("an owner types %q and finds %q", typedText, found)
		}
		if found := links(support, typedText); slices.Contains(found, "/dashboard/test/"+want.leads) != want.support {
			t.Errorf("support types %q and finds %q", typedText, found)
		}
	}
	if found := links(support, "live mode"); !slices.Contains(found, "/dashboard/live") {
		t.Errorf("live mode finds %q", found)
	}
	if dark := typed(support, "test", "dark").Text(); !strings.Contains(dark, "Dark theme") {
		t.Errorf("dark finds %s", dark)
	}
	for _, who := range []*harness.StaffBrowser{owner, auditor} {
		for _, typed := range []string{"s", "c", "w", "m", "n", "r", support.Session.Email} {
			for _, link := range links(who, typed) {
				path, part, _ := strings.Cut(link, "#")
				source := who.Get(path)
				if source.Code != http.StatusOK || part != "" && !strings.Contains(source.Body.String(), ` id="`+part+`"`) {
					t.Errorf("%s answers %s %d, or has no such part", link, who.Session.Role, source.Code)
				}
			}
		}
	}
}
