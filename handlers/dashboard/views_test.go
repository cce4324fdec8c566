package dashboard_test

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"candor/internal/domain"
	"candor/internal/testkit/harness"
	"candor/internal/testkit/page"
)

const viewedList = "/dashboard/test/sessions"

// saveView saves the list at an address as the page's form does.
func saveView(s *harness.StaffBrowser, name, query string) {
	s.Helper()
	form, values := s.WantPage(s.Get(viewedList+query), http.StatusOK).Pressed("Save view", "name")
	values.Set("name", name)
	answer := s.Post(form.Action, values)
	if answer.Code != http.StatusSeeOther {
		s.Fatalf("saving %q: status %d: %.300s", name, answer.Code, answer.Body)
	}
}

// currentViews are the views that the list says it shows.
func currentViews(p *page.Page) (names []string) {
	for _, nav := range p.All("nav") {
		if nav.Attr("aria-label") != "Your views" {
			continue
		}
		for _, a := range nav.All("a") {
			if a.Attr("aria-current") == "true" {
				names = append(names, a.Text())
			}
		}
	}
	return names
}

// TestViews: a list is saved under a name for one person and mode, opened, found by its name,
// replaced and deleted (D144).
func TestViews(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	support, other := h.Staff(domain.RoleSupport), h.Staff(domain.RoleSupport)
	const query = "?columns=customer%2Cends&sort=ends&status=pending"
	saveView(support, "Mine", query+"&before=&nonsense=1")
	shown := support.WantPage(support.Get(viewedList), http.StatusOK, "View saved")
	if link := shown.Link("Mine"); link != viewedList+query {
		t.Errorf("the view leads to %q, want %q", link, viewedList+query)
	}
	if now := currentViews(shown); now != nil {
		t.Errorf("the whole list is said to be %q", now)
	}
	opened := support.WantPage(support.Get(viewedList+query), http.StatusOK, "Delete view Mine")
	if now := currentViews(opened); strings.Join(now, ",") != "Mine" {
		t.Errorf("the view is said to be %q", now)
	}
	support.WantPage(support.Get("/dashboard/live/sessions"), http.StatusOK).Hides("Mine")
	other.WantPage(other.Get(viewedList), http.StatusOK).Hides("Mine")
	typed(support, "test", "min").Shows("Your views").LeadsTo(viewedList + query)
	support.WantRedirect(support.Get("/dashboard/test/search?q=min"), viewedList+query)
	other.WantPage(other.Get("/dashboard/test/search?q=min"), http.StatusOK).Hides("Your views")
	support.WantPage(support.Get("/dashboard/live/search?q=min"), http.StatusOK).Hides("Your views")

	saveView(support, "MINE", "?status=expired")
	replaced := support.WantPage(support.Get(viewedList+"?sort=oldest"), http.StatusOK).Lacks(">Mine<")
	if link := replaced.Link("MINE"); link != viewedList+"?status=expired" {
		t.Errorf("the view that replaces leads to %q", link)
	}
	other.Post(viewedList+"/views/delete", url.Values{"name": {"mine"}})
	support.Post("/dashboard/live/sessions/views/delete", url.Values{"name": {"mine"}})
	form, values := support.WantPage(support.Get(viewedList+"?status=expired"), http.StatusOK).Pressed("Delete the view", "name")
	support.WantRedirect(support.Post(form.Action, values), viewedList)
	support.WantPage(support.Get(viewedList), http.StatusOK, "View deleted").Hides("MINE", "Your views")
	saveView(support, "Mine", "")

	execSQL(h, `DELETE FROM staff_user WHERE id = $1`, support.Session.Staff.ID)
	if left := harness.QueryOne[int](h, `SELECT count(*) FROM staff_view`); left != 0 {
		t.Errorf("%d views of a person who is gone", left)
	}
}

// TestViewsAreRefused: what isn't saved, and why. A view holds no customer.
func TestViewsAreRefused(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	support := h.Staff(domain.RoleSupport)
	refused := func(name, query, message string) {
		t.Helper()
		answer := support.Post(viewedList+"/views", url.Values{"name": {name}, "query": {query}})
		support.WantPage(answer, http.StatusUnprocessableEntity).WantError("name", message)
	}
	refused("Ann", "q=ann", "A view has no search")
	refused("Gone", "status=gone", "Correct the filters")
	refused("Never", "from=never", "Correct the filters")
	refused(" ", "", "Enter a name")
	refused("of jo@customer.example", "", "The name can’t have an email address")
	refused(strings.Repeat("x", domain.MaxViewName+1), "", "The name must")
	refused("two\nlines", "", "The name must")
	support.WantPage(support.Get(viewedList+"?q=ann"), http.StatusOK, "A view has no search")
	for i := range domain.MaxViews {
		saveView(support, "View "+strconv.Itoa(i), "")
	}
	refused("One more", "", "the most")
	saveView(support, "view 7", "?status=completed") // replaces
	if n := harness.QueryOne[int](h, `SELECT count(*) FROM staff_view`); n != domain.MaxViews {
		t.Errorf("%d views, want %d", n, domain.MaxViews)
	}

	execSQL(h, `UPDATE staff_view SET query = 'status=gone' WHERE name = 'View 1'`)
	link := support.WantPage(support.Get(viewedList), http.StatusOK).Link("View 1")
	support.WantPage(support.Get(link), http.StatusOK) // of a filter that is no more
}

// TestViewsKeepWords: "last week" of a view is always the last one.
func TestViewsKeepWords(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	h.Clock.Set(time.Date(2026, time.November, 22, 23, 30, 0, 0, domain.LoadTimeZone("Australia/Sydney"))) // a Sunday
	support := h.Staff(domain.RoleSupport)
	const query = "?from=last+week&to=last+week"
	support.WantPage(support.Get(viewedList+query), http.StatusOK, "Created from: “last week”, now 9 Nov 2026")
	saveView(support, "Weekly", query)
	for _, want := range []string{"9 Nov 2026", "16 Nov 2026"} {
		link := support.WantPage(support.Get(viewedList), http.StatusOK).Link("Weekly")
		opened := support.WantPage(support.Get(link), http.StatusOK, "Created from: "+want)
		if now := currentViews(opened); link != viewedList+query || strings.Join(now, ",") != "Weekly" {
			t.Errorf("the view leads to %q, which is said to be %q", link, now)
		}
		h.Clock.Advance(time.Hour)
	}
}
