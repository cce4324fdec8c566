package dashboard_test

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"candor/internal/domain"
	"candor/internal/testkit/harness"
	"candor/internal/testkit/page"
)

// TestSessionsAreSorted: each order lists every session once, and ends soonest leaves none out
// if a link is extended between two clicks.
func TestSessionsAreSorted(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	support := h.Staff(domain.RoleSupport)
	var ids []domain.SessionID
	for i := range 30 {
		h.Clock.Advance(time.Minute)
		days := 60 - i
		session := h.NewSession(h.TestScope(), domain.NewSession{ReferenceID: "loan-" + strconv.Itoa(i), ExpiresInDays: &days})
		ids = append(ids, session.ID)
	}
	const list = "/dashboard/test/sessions"
	for _, one := range []struct{ query, next, first, last, sorted string }{
		{"", "Older", "loan-29", "loan-0", "Created descending"},
		{"?sort=oldest", "Newer", "loan-0", "loan-29", "Created ascending"},
		{"?sort=ends&status=pending", "Later", "loan-29", "loan-0", "Link ends ascending"},
		{"?sort=ends", "Older", "loan-29", "loan-0", "Created descending"}, // not offered
		{"?sort=size", "Older", "loan-29", "loan-0", "Created descending"},
	} {
		first := support.WantPage(support.Get(list+one.query), http.StatusOK, "30 sessions")
		next := support.WantPage(support.Get(first.Link(one.next)), http.StatusOK, "30 sessions")
		got := append(references(first), references(next)...)
		different := len(slices.Compact(slices.Sorted(slices.Values(got))))
		if len(got) != 30 || got[0] != one.first || got[29] != one.last || different != 30 {
			t.Errorf("%q lists %q", one.query, got)
		}
		for _, p := range []*page.Page{first, next} {
			if got := sortedHead(p); got != one.sorted {
				t.Errorf("%q: the list is said to be sorted by %q, want %q", one.query, got, one.sorted)
			}
		}
	}
	head := support.WantPage(support.Get(list), http.StatusOK).Link("Created: sort")
	if got := sortedHead(support.WantPage(support.Get(head), http.StatusOK)); got != "Created ascending" {
		t.Errorf("the head leads to a list sorted by %q", got)
	}

	first := support.WantPage(support.Get(list+"?sort=ends&status=pending"), http.StatusOK)
	seen := references(first)
	_, err := h.Service.Sessions.Extend(t.Context(), h.TestScope(), ids[5], 90, false, support.Session.Actor()) // the page's last
	h.OK(err)
	seen = append(seen, references(support.WantPage(support.Get(first.Link("Later")), http.StatusOK))...)
	for i := range ids {
		if !slices.Contains(seen, "loan-"+strconv.Itoa(i)) {
			t.Errorf("loan-%d is on no page", i)
		}
	}
	if answer := support.Get(list + "?before=" + ids[0].String() + "&at=noon"); answer.Code != http.StatusNotFound {
		t.Errorf("a page after no time: %d, want 404", answer.Code)
	}
	support.WantPage(support.Get(list+"?sort=oldest&q=loan-7"), http.StatusOK, "1 session").Lacks("Order")
}

// TestSessionsColumns: the address says which columns the list shows, filters keep them, and
// they are no filter.
func TestSessionsColumns(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	support := h.Staff(domain.RoleSupport)
	h.NewSession(h.TestScope(), domain.NewSession{ExpiresInDays: new(2)})
	usual := []string{"Choose all on this page", "Customer", "Reference", "State", "Sections", "Created", "Completed"}
	for query, want := range map[string][]string{
		"": usual, "?columns=nonsense": usual, "?columns=customer": {"Choose all on this page", "Customer"},
		"?columns=ends,activity,nonsense":              {"Choose all on this page", "Customer", "Last activity", "Link ends"},
		"?columns=customer&columns=ends&columns=state": {"Choose all on this page", "Customer", "State", "Link ends"},
		"?columns=state&sort=ends&status=pending":      {"Choose all on this page", "Customer", "State", "Link ends"},
		"?columns=state&status=expiring":               {"Choose all on this page", "Customer", "State", "Link ends"},
	} {
		shown := support.WantPage(support.Get("/dashboard/test/sessions"+query), http.StatusOK)
		var heads []string
		for _, th := range shown.All("th") {
			heads = append(heads, headTitle(th))
		}
		if !slices.Equal(heads, want) {
			t.Errorf("%q shows %q, want %q", query, heads, want)
		}
	}
	var onPhones []string
	for _, cell := range support.WantPage(support.Get("/dashboard/test/sessions?columns=activity,ends"), http.StatusOK).All("td") {
		if label := cell.Attr("data-label"); label != "" {
			onPhones = append(onPhones, label+" in "+cell.Attr("class"))
		}
	}
	if !slices.Equal(onPhones, []string{"Last activity in list-under", "Link ends in list-end"}) {
		t.Errorf("on a phone a row has %q", onPhones)
	}
	shown := support.WantPage(support.Get("/dashboard/test/sessions?columns=state"), http.StatusOK).Lacks("Clear")
	for _, link := range []string{shown.Link("Expiring soon"), shown.Link("Not opened for 3 days")} {
		if !strings.Contains(link, "columns=customer%2Cstate") {
			t.Errorf("%s loses the columns", link)
		}
	}
}

// TestSessionsColumnsAreChosen: the form keeps filters and order, and the usual columns need no
// word in the address.
func TestSessionsColumnsAreChosen(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	support := h.Staff(domain.RoleSupport)
	const list = "/dashboard/test/sessions"
	support.WantRedirect(support.Get(list+"?list=sort%3Doldest%26status%3Dpending&columns=customer&columns=state&columns=x"),
		list+"?columns=customer%2Cstate&sort=oldest&status=pending")
	support.WantRedirect(support.Get(list+
		"?list=&columns=reference&columns=state&columns=sections&columns=created&columns=completed"),
		list)
}

func references(p *page.Page) (out []string) {
	for _, cells := range p.Rows() {
		for _, cell := range cells {
			if strings.HasPrefix(cell, "loan-") {
				out = append(out, cell)
			}
		}
	}
	return out
}

// sortedHead is the head that says how the list is sorted.
func sortedHead(p *page.Page) string {
	for _, th := range p.All("th") {
		if sorted := th.Attr("aria-sort"); sorted != "" {
			return headTitle(th) + " " + sorted
		}
	}
	return ""
}

// headTitle is what a column is called: once as a link that sorts, once as a phone says it.
func headTitle(th *page.Page) string {
	if _, title, sorts := strings.Cut(th.Text(), ": sort "); sorts {
		return title
	}
	return th.Text()
}
