package dashboard_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"candor/internal/domain"
	"candor/internal/statement"
	"candor/internal/testkit"
	"candor/internal/testkit/harness"
)

// rowsOf are the rows of a CSV file, without its head.
func rowsOf(s *harness.StaffBrowser, path string) [][]string {
	s.Helper()
	rows, err := csv.NewReader(strings.NewReader(s.Get(path).Body.String())).ReadAll()
	if err != nil || len(rows) == 0 {
		s.Fatalf("%s: %v, %v", path, rows, err)
	}
	return rows[1:]
}

// TestTotalsAgree: Home, Figures, the list, the files and the API count the same sessions of a
// random range, and each number of Home and Figures leads to so many.
func TestTotalsAgree(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := harness.New(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 129))
	zone := domain.LoadTimeZone("Australia/Sydney")
	var days []time.Time // of the sessions
	for i := range 30 {
		h.Clock.Advance(time.Duration(random.IntN(24)) * time.Hour)
		product, _ := json.Marshal([]string{"home", "home ", "  ", "=1+1"}[i%4])
		s := h.NewSession(h.TestScope(), domain.NewSession{
			Metadata: domain.Metadata{"product": product, "@SUM(A1)": product, "a=b": product}})
		days = append(days, domain.DateIn(h.Clock.Now(), zone))
		switch i % 5 {
		case 0:
			h.Complete(s.ID)
		case 1: // with sections that take no time
			h.Post("/test/sessions/"+s.ID.String()+"/advance", `{"to": "completed"}`).WantStatus(http.StatusOK)
		case 2:
			h.Do(harness.Call{Method: http.MethodDelete, Path: "/sessions/" + s.ID.String()}).WantStatus(http.StatusOK)
		case 3:
			customer := h.Customer(s)
			customer.WantPage(customer.Get(""), http.StatusOK)
			spend(customer, statement.PersonalDetailsSection, time.Duration(random.IntN(20))*time.Minute)
			wantInvalid(customer, statement.IncomeSection, url.Values{"employment_income.gross_salary": {"none"}})
		}
	}
	h.CountFigures()
	owner := h.Staff(domain.RoleOwner)
	first, last := days[6+random.IntN(6)], days[18+random.IntN(12)]
	span := "from=" + first.Format(time.DateOnly) + "&to=" + last.Format(time.DateOnly)
	figures := owner.WantPage(owner.Get("/dashboard/test/figures?by=metadata.product&"+span), http.StatusOK)
	figures.Shows("Questions that come back", "product", "home", "=1+1")
	if got := figures.Field("by").Choices; !slices.Equal(got, []string{"", "documents", "metadata.@SUM(A1)", "metadata.product"}) {
		t.Errorf("sessions can be counted by %q", got)
	}
	owner.WantPage(owner.Get("/dashboard/test/figures"), http.StatusOK).Shows("How the link came Export as CSV",
		"Given to the API, never emailed").Lacks("being counted")
	leads := func(url, n string) { // to a list of so many sessions
		t.Helper()
		query := strings.TrimPrefix(url, "/dashboard/test/sessions")
		if rows := rowsOf(owner, "/dashboard/test/sessions/export"+query); fmt.Sprint(len(rows)) != n {
			t.Errorf("%s says %s and exports %d", query, n, len(rows))
		}
		owner.WantPage(owner.Get(url), http.StatusOK).Shows(n + " session")
	}
	now, before := 0, 0 // numbers that lead to their list, of the range and of the one before
	for _, table := range figures.All("table") {
		for _, a := range table.All("a") {
			if strings.Contains(a.Attr("href"), "from="+first.Format(time.DateOnly)) {
				now++
			} else {
				before++
			}
			leads(a.Attr("href"), a.Text())
		}
	}
	if now < 20 || before < 3 {
		t.Errorf("%d numbers and %d of before lead to their list", now, before)
	}
	of := func(table, span string) [][]string {
		return rowsOf(owner, "/dashboard/test/figures/export?by=metadata.product&of="+table+"&"+span)
	}
	at := func(date time.Time, more time.Duration) string {
		return url.QueryEscape(domain.StartOfDate(date, zone).Add(more).UTC().Format(time.RFC3339Nano))
	}
	ranged := "per_page=1&created_after=" + at(first, -time.Microsecond) + "&created_before=" + at(last.AddDate(0, 0, 1), 0)
	for i, status := range []string{"", "&status=pending", "&status=in_progress", "&status=completed", "&status=expired",
		"&status=cancelled"} {
		want := of("states", span)[i][1]
		total := h.Get("/sessions?" + ranged + status).Object()["pagination"].(map[string]any)["total"]
		rows := len(rowsOf(owner, "/dashboard/test/sessions/export?"+span+status))
		if fmt.Sprint(total) != want || fmt.Sprint(rows) != want {
			t.Errorf("%q: the API counts %v, the list's file %d, Figures %s", status, total, rows, want)
		}
	}
	sections, home := funnel(owner, "test") // of Figures' own days
	for _, row := range of("states", "") {
		home.Shows(row[0] + " " + row[1] + " ")
	}
	for i, row := range of("sections", "")[2:] {
		title := fmt.Sprintf("%d. %s", i+1, row[0])
		if got := strings.Fields(sections[title]); len(got) < 2 || got[0] != row[1] || got[1] != row[3] {
			t.Errorf("%s: Home has %q, Figures %q", title, got, row)
		}
	}
	links, month := 0, of("states", "")
	for _, part := range append(home.All("table"), home.All("dl")[0]) {
		for _, a := range part.All("a") {
			links++
			n := strings.TrimSuffix(strings.TrimSuffix(a.Text(), "s"), " session")
			if _, err := strconv.Atoi(n); err != nil { // a share or a time of those that were completed
				n = month[3][1]
			}
			leads(a.Attr("href"), n)
		}
	}
	if stats := len(home.All("dl")[0].All("a")); stats != 4 || links < 20 {
		t.Errorf("%d of Home's four figures and %d numbers lead to their list", stats, links)
	}
	of("times", span)
	length := int(last.Sub(first)/(24*time.Hour)) + 1
	earlier := "from=" + first.AddDate(0, 0, -length).Format(time.DateOnly) + "&to=" + first.AddDate(0, 0, -1).Format(time.DateOnly)
	for table, pairs := range map[string][]int{"states": {1}, "counted-by": {1, 3}, "sections": {1, 3, 5}, "questions": {2}} {
		was := map[string][]string{}
		for _, row := range of(table, earlier) {
			was[row[0]] = row
		}
		for _, row := range of(table, span) {
			for _, at := range pairs {
				want := "0"
				if before := was[row[0]]; before != nil {
					want = before[at]
				}
				if row[at+1] != want {
					t.Errorf("%s: %q says %s of the days before in column %d, which say %s", table, row, row[at+1], at+1, want)
				}
			}
		}
	}
	text := owner.Get("/dashboard/test/figures/export?by=metadata.%40SUM(A1)&of=counted-by").Body.String()
	if strings.Contains("\n"+text, "\n=1") || strings.HasPrefix(text, "@") {
		t.Errorf("a formula in %q", text)
	}
}

// A value that only one of both ranges has is shown, and "–" where it can be among the others.
func TestFiguresOfValuesOfOneRange(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	with := func(n int, broker func(i int) string) {
		for i := range n {
			text, _ := json.Marshal(broker(i))
			h.NewSession(h.TestScope(), domain.NewSession{Metadata: domain.Metadata{"broker": text}})
		}
	}
	with(51, func(i int) string { return fmt.Sprintf("b%02d", i) })
	h.Clock.Advance(24 * time.Hour)
	with(1, func(int) string { return "b00" })
	with(1, func(int) string { return "new" })
	h.CountFigures()
	day := domain.DateIn(h.Clock.Now(), domain.LoadTimeZone("Australia/Sydney")).Format(time.DateOnly)
	rows := rowsOf(h.Staff(domain.RoleOwner), "/dashboard/test/figures/export?of=counted-by&by=metadata.broker&from="+day+"&to="+day)
	got := map[string]string{}
	for _, row := range rows {
		got[row[0]] = strings.Join(row[1:], " ")
	}
	if len(rows) != 52 || got["b00"] != "1 1 0 0 0% 0%" || got["new"] != "1 – 0 – 0% –" || got["b01"] != "0 1 0 0 – 0%" ||
		got["other values"] != "0 1 0 0 – 0%" {
		t.Errorf("%q", rows)
	}
}

func TestFiguresSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	owner := h.Staff(domain.RoleOwner)
	h.NewSession(h.TestScope(), domain.NewSession{})
	owner.WantPage(owner.Get("/dashboard/test/figures"), http.StatusOK).Shows("The sessions of this time are being counted.")
	for query, want := range map[string]string{
		"from=2020-01-01": "at most 366 days", "from=soon": "Enter a date", "by=name": "Choose an option",
		"by=metadata.%2Bcmd":      "Choose an option",
		"from=today&to=yesterday": "last day",
	} {
		owner.WantPage(owner.Get("/dashboard/test/figures?"+query), http.StatusOK).Shows(want)
		if code := owner.Get("/dashboard/test/figures/export?of=states&" + query).Code; code != http.StatusBadRequest {
			t.Errorf("%s is exported: %d", query, code)
		}
	}
	for _, odd := range []string{"took:income:9", "submitted:2026-11-20", "submitted:2026-11-20:soon"} {
		owner.WantPage(owner.Get("/dashboard/test/sessions?figure=x&progress="+odd), http.StatusOK).Shows("Follow a link of Figures")
	}
	for _, far := range []string{"submitted:9999-12-31:9999-12-31", "submitted:0000-01-01:0000-01-01"} {
		owner.WantPage(owner.Get("/dashboard/test/sessions?progress="+far), http.StatusOK).Shows("No session matches")
	}
	owner.WantPage(owner.Get("/dashboard/test/sessions?progress=opened&q=jo"), http.StatusOK).Shows("Remove the filter of Figures")
}
