package dashboard_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"candor/internal/domain"
	"candor/internal/service/keys"
	"candor/internal/testkit/harness"
)

// foreignObjects makes in the scope one of each kind that a filter can name.
func foreignObjects(h *harness.Harness, scope domain.Scope) map[string]string {
	h.Helper()
	key, _, err := h.Service.Keys.Create(h.Context(), scope, harness.Operator, keys.Params{Name: "Theirs"})
	h.OK(err)
	session := h.NewSession(scope, domain.NewSession{WebhookURL: "https://theirs.example/"})
	h.RecordEvent(session, domain.PDFReadyPayload{SessionID: session.ID})
	deliveries, err := h.DB.Deliveries(h.Context(), session.ID)
	h.OK(err)
	return map[string]string{"key": key.ID.String(), "session": session.ID.String(), "endpoint": deliveries[0].EndpointID.String()}
}

// A filter that can't be followed says so: the whole list would look like what
// was asked for. What another account or mode has isn't there.
func TestFiltersThatCanNotBeFollowed(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	owner := h.Staff(domain.RoleOwner)
	other := h.NewAccount("other@lender.example", "starter")
	wrong := map[string][]string{
		"sessions?status": {"in-progress"}, "sessions?q": {"\x01\u2028"}, "audit?action": {"api_key.made"},
		"audit?who":     {strings.Repeat("x", 501)},
		"sessions?from": {"someday"}, "audit?to": {"2026-13-01"}, "requests?id": {"req_nonsense"},
		"webhooks?state": {"done"}, "webhooks?type": {"session.nonsense"}, "webhooks?status": {"6xx"},
		"webhooks?endpoint": {"whe_nonsense", domain.NewEndpointID().String()}, "webhooks?session": {"sess_nonsense"},
		"requests?key": {"key_nonsense"}, "requests?method": {"BREW"}, "requests?status": {"418"}, "requests?code": {"teapot"},
	}
	for _, scope := range []domain.Scope{{AccountID: other.AccountID}, {AccountID: h.Account.AccountID, Livemode: true}} {
		theirs := foreignObjects(h, scope)
		wrong["webhooks?endpoint"] = append(wrong["webhooks?endpoint"], theirs["endpoint"])
		wrong["requests?key"] = append(wrong["requests?key"], theirs["key"])
		owner.WantPage(owner.Get("/dashboard/test/sessions?before="+theirs["session"]), http.StatusNotFound)
		owner.WantPage(owner.Get("/dashboard/test/webhooks?session="+theirs["session"]), http.StatusOK, "No deliveries")
	}
	for _, list := range []string{"sessions", "audit", "webhooks", "figures"} {
		page := owner.WantPage(owner.Get("/dashboard/test/"+list+"?from=2026-11-18&to=2026-11-17"), http.StatusOK)
		if got := page.Errors()["to"]; got != "Enter a last day that isn’t before the first one" {
			t.Errorf("%s until a day before the first: %q", list, got)
		}
	}
	for place, values := range wrong {
		_, field, _ := strings.Cut(place, "?")
		for _, value := range values {
			page := owner.WantPage(owner.Get("/dashboard/test/"+place+"="+url.QueryEscape(value)), http.StatusOK, "There is a problem")
			message := page.Errors()[field]
			if message == "" || !strings.Contains(page.Field(field).Description, message) {
				t.Errorf("%s=%s: the field is described by %q, and its error is %q", place, value, page.Field(field).Description, message)
			}
		}
	}
	for _, export := range []string{"sessions/export?status=in-progress", "audit/export?action=api_key.made"} {
		page := owner.Get("/dashboard/test/" + export)
		if page.Code != http.StatusBadRequest || strings.HasPrefix(page.Header().Get("Content-Type"), "text/csv") {
			t.Errorf("%s: %d, %s", export, page.Code, page.Header().Get("Content-Type"))
		}
	}
	own := foreignObjects(h, h.TestScope())
	for _, right := range []string{
		"sessions?status=in_progress", "audit?action=api_key.created",
		"webhooks?state=failed&type=session.completed&status=timeout&endpoint=" + own["endpoint"],
		"webhooks?session=" + own["session"], "requests?method=GET&status=4xx&code=not_found&key=" + own["key"], "requests?status=201",
	} {
		owner.WantPage(owner.Get("/dashboard/test/"+right), http.StatusOK).Hides("There is a problem")
	}
}

// A reference may look like an address, and an address may be a reference.
func TestSearchFindsAddressesAndReferences(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	support := h.Staff(domain.RoleSupport)
	loan := h.NewSession(h.TestScope(), domain.NewSession{ReferenceID: "loan 7 @ Branch"})
	ann := h.NewSession(h.TestScope(), domain.NewSession{CustomerEmail: "ann@customer.example"})
	about := h.NewSession(h.TestScope(), domain.NewSession{CustomerEmail: "jo@customer.example",
		ReferenceID: "ann@customer.example"})
	for search, want := range map[string][3]bool{
		"loan 7 @ Branch": {true, false, false}, "Ann@customer.example": {false, true, true}, "7 LOAN": {true, false, false},
		"jo ann@": {false, false, true}, "@c": {}, strings.Repeat("loan branch ", 10) + "7 @ a b c d e f": {},
		strings.Repeat("loan 7 ", 15): {true, false, false},
	} {
		for _, path := range []string{"sessions", "sessions/export"} {
			text := support.Get("/dashboard/test/" + path + "?q=" + url.QueryEscape(search)).Body.String()
			got := [3]bool{strings.Contains(text, loan.ID.String()), strings.Contains(text, ann.ID.String()),
				strings.Contains(text, about.ID.String())}
			if got != want {
				t.Errorf("%s for %q lists %v, want %v", path, search, got, want)
			}
		}
	}
}

// TestSearchIsShort: each number of words that are looked for is a statement of its own, which
// connections keep.
func TestSearchIsShort(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	owner := h.Owner()
	long := "?q=" + strings.Repeat("a+", 101)
	owner.WantPage(owner.Get("/dashboard/test/sessions"+long), http.StatusOK, "Enter at most 200 characters")
	owner.WantPage(owner.Get("/dashboard/test/sessions/export"+long), http.StatusBadRequest)
}

// A filter that is in a list's table is a parameter of the API and a control of
// the page.
func TestEveryListOffersItsFilters(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	doc := harness.Described.Load(t, h.Handler)
	for path, names := range map[string][]string{
		"/sessions": append(namesOf(domain.SessionFilters), "page", "per_page"), "/events": append(namesOf(domain.EventFilters),
			"limit", "wait", "include"),
	} {
		var documented []string
		for _, p := range doc.Paths.Find(path).Get.Parameters {
			if p.Value.In == "query" {
				documented = append(documented, p.Value.Name)
			}
		}
		// the page's own
		names = slices.DeleteFunc(names, func(name string) bool {
			return slices.Contains([]string{"q", "expiring", "sections", "figure", "progress"}, name)
		})
		slices.Sort(names)
		slices.Sort(documented)
		if !slices.Equal(names, documented) {
			t.Errorf("GET /v1%s documents %q, its filters are %q", path, documented, names)
		}
	}
	owner := h.Staff(domain.RoleOwner)
	control := map[string]string{"since": "from", "until": "to", "created_after": "from", "created_before": "to",
		"reference_id": "q", "customer_email": "q", "expiring": "status", "sections": "status", "actor_id": "who", "failing": "state"}
	for page, names := range map[string][]string{
		"sessions": namesOf(domain.SessionFilters), "audit": namesOf(domain.AuditFilters), "requests": namesOf(domain.RequestFilters),
		"webhooks": namesOf(domain.DeliveryFilters),
	} {
		shown := owner.WantPage(owner.Get("/dashboard/test/"+page), http.StatusOK)
		for _, name := range names {
			if other, ok := control[name]; ok && page != "requests" {
				name = other
			}
			shown.Offers(name)
		}
	}
}

func namesOf[F any](filters []domain.Filter[F]) (out []string) {
	for _, one := range filters {
		out = append(out, one.Name)
	}
	return out
}

// TestTheWayBackOutlivesChanges: after an action on a page that was opened from a
// filtered list, done or refused, the page still leads back to that list.
func TestTheWayBackOutlivesChanges(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	owner := h.Staff(domain.RoleOwner)
	session := h.NewSession(h.TestScope(), domain.NewSession{WebhookURL: "https://lender.example/hook"})
	failed := failedDeliveries(h)[0]
	for _, one := range []struct{ list, page, action string }{
		{"sessions?status=pending", "sessions/" + session.ID.String(), "extend"},
		{"sessions?status=pending", "sessions/" + session.ID.String(), "renew"},
		{"sessions?status=pending", "sessions/" + session.ID.String(), "cancel"},
		{"webhooks?state=failed&type=session.pdf_ready", "webhooks/deliveries/" + failed.ID.String(), "retry"},
		{"webhooks?state=failed&type=session.pdf_ready", "webhooks/deliveries/" + failed.ID.String(), "cancel"},
	} {
		list := "/dashboard/test/" + one.list
		_, query, _ := strings.Cut(one.list, "?")
		path := "/dashboard/test/" + one.page
		open := "?list=" + url.QueryEscape(query)
		shown := owner.WantPage(owner.Get(path+open), http.StatusOK).LeadsTo(list)
		action := ""
		for _, f := range shown.All("form") {
			if strings.HasPrefix(f.Attr("action"), path+"/"+one.action) {
				action = f.Attr("action")
			}
		}
		if one.action == "extend" {
			owner.WantPage(owner.Post(action, url.Values{"days": {"900"}}), http.StatusUnprocessableEntity).LeadsTo(list)
		}
		owner.WantRedirect(owner.Post(action, url.Values{"days": {"60"}}), path+open)
		owner.WantPage(owner.Get(path+open), http.StatusOK).LeadsTo(list)
	}
	shown := owner.WantPage(owner.Get("/dashboard/test/sessions/"+session.ID.String()+"?list=https%3A%2F%2Fevil.example%2F"),
		http.StatusOK)
	if strangers := shown.Leads("https:"); len(strangers) > 0 {
		t.Errorf("the page leads to %q", strangers)
	}
}
