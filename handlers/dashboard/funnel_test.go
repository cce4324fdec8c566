package dashboard_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"candor/internal/domain"
	"candor/internal/statement"
	"candor/internal/statement/statementtest"
	"candor/internal/testkit/harness"
	"candor/internal/testkit/page"
)

// funnel returns the home page's sections as they are read, by title: reached,
// completed, time and error; and the page.
func funnel(s *harness.StaffBrowser, mode string) (map[string]string, *page.Page) {
	s.Helper()
	home := s.WantPage(s.Get("/dashboard/"+mode), http.StatusOK)
	rows := map[string]string{}
	for _, table := range home.All("table") {
		if table.Attr("aria-labelledby") != "funnel-title" {
			continue // that of the chart
		}
		for _, cells := range table.Rows() {
			rows[cells[0]] = strings.Join(cells[1:], " ")
		}
	}
	return rows, home
}

// spend takes the customer's time over a section before its answers are sent.
func spend(c *harness.Customer, section string, time time.Duration) {
	c.Helper()
	c.WantPage(c.Get(section), http.StatusOK)
	c.Clock.Advance(time)
	switch section {
	case statement.DocumentsSection:
		c.WantRedirect(c.Post(section, url.Values{"action": {"continue"}}))
	default:
		c.Answer(section)
	}
}

// changed is the full example's answers to a section with others in it.
func changed(section string, pairs ...string) url.Values {
	values := statementtest.Values(section)
	for i := 0; i < len(pairs); i += 2 {
		values.Set(pairs[i], pairs[i+1])
	}
	return values
}

func TestWhereCustomersStop(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	support := h.Staff(domain.RoleSupport)
	rows, home := funnel(support, "test")
	home.Shows("No customer has come to a section")
	if len(rows) > 0 {
		t.Errorf("a new account sees %v", rows)
	}
	h.NewCustomer() // never opens the page
	seen := h.NewCustomer()
	seen.WantPage(seen.Get(""), http.StatusOK)
	for range 2 { // to look again is no new reaching
		seen.WantPage(seen.Get(statement.PersonalDetailsSection), http.StatusOK)
	}
	ahead := h.NewCustomer()
	ahead.WantPage(ahead.Get(""), http.StatusOK)
	prefetch, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, ahead.Path(statement.IncomeSection), nil)
	prefetch.Header.Set("Sec-Purpose", "prefetch")
	ahead.Send(prefetch)

	secret := `<script>"jo` + "\u202e"
	stuck := h.NewCustomer()
	spend(stuck, statement.PersonalDetailsSection, 4*time.Minute)
	for range 5 { // a flood of the same counts once
		wantInvalid(stuck, statement.AssetsSection, changed(statement.AssetsSection,
			"vehicles.0.value", secret, "vehicles.1.value", "no idea", "vehicles.1.description", secret))
	}
	// What is sent unseen was reached, too.
	wantInvalid(stuck, statement.IncomeSection, url.Values{"employment_income.gross_salary": {secret}})

	whole := h.NewCustomer()
	for i, section := range statement.SectionNames[:6] {
		spend(whole, section, time.Duration(i+2)*time.Minute)
	}
	whole.WantRedirect(whole.Post(statement.IncomeSection, statementtest.Values(statement.IncomeSection))) // again counts nothing
	whole.WantPage(whole.Attach("identification", secret+".exe", []byte("MZ"), "upload"), http.StatusUnprocessableEntity)
	whole.WantPage(whole.Get(statement.DeclarationSection), http.StatusOK)
	whole.WantPage(whole.Post(statement.DeclarationSection, url.Values{"full_name": {secret}}), http.StatusUnprocessableEntity)
	whole.Clock.Advance(30 * time.Second)
	whole.Answer(statement.DeclarationSection)

	rows, home = funnel(support, "test")
	for title, want := range map[string]string{
		"Not opened":          "1 (20%)",
		"1. Personal details": "3 2 (67%) 3 min –",
		"2. Income":           "2 1 (50%) 3 min Gross salary must be an amount in dollars, like 1250 or 1,250.50 in 1 session",
		"3. Assets":           "2 1 (50%) 4 min Vehicle: value must be an amount in dollars, like 1250 or 1,250.50 in 1 session",
		"4. Liabilities":      "1 1 (100%) 5 min –",
		"6. Documents":        "1 1 (100%) 7 min",
		"7. Declaration":      "1 1 (100%) under 1 min Tick the box to accept the declaration in 1 session",
	} {
		if got, ok := rows[title]; !ok || !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", title, got, want)
		}
	}
	if len(rows) != statement.SectionsTotal+1 {
		t.Errorf("sections %v", rows)
	}
	home.Shows("4 of 5 sessions were opened, 1 of 5 completed so far.")
	home.Hides(secret, "script>&", "no idea", ".exe", "jo\u202e", "&#34;jo") // which a customer typed
	if rows, _ := funnel(support, "live"); len(rows) > 0 {
		t.Errorf("live mode shows test mode's %v", rows)
	}
	if rows, _ := funnel(h.StaffOf(h.NewAccount("other@lender.example", "starter").AccountID, domain.RoleOwner),
		"test"); len(rows) > 0 {
		t.Errorf("another account sees %v", rows)
	}
}

// wantInvalid fails unless the section refuses the answers.
func wantInvalid(c *harness.Customer, section string, values url.Values) {
	c.Helper()
	c.WantPage(c.Post(section, values), http.StatusUnprocessableEntity)
}
