package dashboard_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
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
				if other := typed(&browser, "live", one.typed); one.typed != "home" && len(other.Leads("/dashboard/live")) > 0 {
					t.Errorf("%s finds it in live mode: %s", who.Session.Role, other.Text())
				}
			}
		})
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
		"search?q=zebedee+quill": http.StatusOK, "sessions?q=zebedee": http.StatusOK,
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
