package db_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"candor/internal/domain"
	"candor/internal/testkit"
)

// listNow is when the random sessions are looked at.
var listNow = start.AddDate(0, 0, 40)

// randomSessions fills a store with sessions of all states, some of them
// overdue but not swept, on a few days, with few references and customers.
func randomSessions(s *store, n int) []*domain.Session {
	s.Helper()
	random := rand.New(rand.NewPCG(3, 4))
	other := domain.Scope{AccountID: s.scope.AccountID, Livemode: true}
	var out []*domain.Session
	for i := range n {
		created := start.Add(time.Duration(random.Int64N(int64(5*24*time.Hour)) / 8 * 8)).Truncate(time.Hour) // many at the same moment
		session := s.session(s.scope, created, func(x *domain.Session) {
			x.CustomerEmail = []string{"jo@customer.example", "JO@customer.example", "ann@customer.example"}[random.IntN(3)]
			if reference := random.IntN(4); reference > 0 {
				text := []string{"REF 1", "REF 2", "ann@customer.example"}[reference-1]
				x.ReferenceID = &text
			}
			x.ExpiresAt = listNow.Add(time.Duration(random.IntN(3)-1) * time.Hour)
		})
		session.Status = domain.Statuses[random.IntN(len(domain.Statuses))]
		if session.Status == domain.Completed {
			at := created.Add(time.Duration(random.IntN(100)) * time.Hour)
			session.CompletedAt = &at
		}
		session.SectionsCompleted = random.IntN(8)
		if i%3 > 0 {
			session.AccessedAt = &created
		}
		_, err := s.Raw().ExecContext(s.ctx, `
			UPDATE session SET status = $2, completed_at = $3, sections_completed = $4, accessed_at = $5,
				documents = CASE WHEN $2 = 'completed' THEN 0 END WHERE id = $1`,
			session.ID, session.Status, session.CompletedAt, session.SectionsCompleted, session.AccessedAt)
		s.ok(err)
		session.SectionsFinished = max(0, session.SectionsCompleted-1) // one was left as a draft since
		_, err = s.Raw().ExecContext(s.ctx, `
			INSERT INTO section (session_id, name, completed_at, updated_at, draft)
			SELECT $1, 'section ' || n, $4, $4, CASE WHEN n > $3 THEN ''::bytea END FROM generate_series(1, $2) n`,
			session.ID, session.SectionsCompleted, session.SectionsFinished, created)
		s.ok(err)
		out = append(out, session)
		if i%10 == 0 {
			s.session(other, created) // never seen
		}
	}
	return out
}

// matching is the naive filter and order (D10, D11).
func matching(sessions []*domain.Session, f domain.SessionFilter, now time.Time) []*domain.Session {
	var out []*domain.Session
	for _, x := range sessions {
		if (f.Status == "" || x.StatusAt(now) == f.Status) &&
			(f.ReferenceID == "" || x.ReferenceID != nil && *x.ReferenceID == f.ReferenceID) &&
			(f.Misspelt && hasNearWords(x, f.Search) || !f.Misspelt && hasWords(x, f.Search)) && x.SectionsFinished >= f.Sections &&
			(f.CustomerEmail == "" || strings.EqualFold(x.CustomerEmail, f.CustomerEmail)) &&
			(f.Figure == nil || x.CompletedAt != nil) && (f.Progress == nil || x.AccessedAt == nil) && // of the examples
			(f.CreatedAfter == nil || x.CreatedAt.After(*f.CreatedAfter)) &&
			(f.CreatedBefore == nil || x.CreatedAt.Before(*f.CreatedBefore)) &&
			(f.ExpiresBefore == nil || x.StatusAt(now).Open() && x.ExpiresAt.Before(*f.ExpiresBefore)) {
			out = append(out, x)
		}
	}
	slices.SortFunc(out, func(a, b *domain.Session) int {
		if c := b.CreatedAt.Compare(a.CreatedAt); c != 0 {
			return c
		}
		return bytes.Compare(b.ID.UUID[:], a.ID.UUID[:])
	})
	return out
}

// hasNearWords reports whether the session has each of the words, or one that is a mistake
// away from it (D131).
func hasNearWords(x *domain.Session, search string) bool {
	text := strings.ToLower(searchText(x))
	words := strings.FieldsFunc(text, func(r rune) bool { return r < 0x80 && (r < 'a' || r > 'z') })
	for _, word := range strings.Fields(strings.ToLower(search)) {
		letters := !strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsLetter(r) })
		if n := len([]rune(word)); letters && n >= 4 && n <= 20 {
			if !slices.ContainsFunc(words, func(other string) bool { return mistakes([]rune(word), []rune(other)) <= 1 }) {
				return false
			}
		} else if !hasWords(x, word) {
			return false
		}
	}
	return true
}

// mistakes is the optimal string alignment distance, by its recursive definition, up to 2.
func mistakes(a, b []rune) int {
	switch {
	case len(a) == 0 || len(b) == 0:
		return len(a) + len(b)
	case len(a)-len(b) > 1 || len(b)-len(a) > 1:
		return 2
	case a[0] == b[0]:
		return mistakes(a[1:], b[1:])
	}
	least := 1 + min(exactly(a[1:], b), exactly(a, b[1:]), exactly(a[1:], b[1:]))
	if len(a) > 1 && len(b) > 1 && a[0] == b[1] && a[1] == b[0] {
		least = min(least, 1+exactly(a[2:], b[2:]))
	}
	return least
}

func exactly(a, b []rune) int {
	if slices.Equal(a, b) {
		return 0
	}
	return 2
}

// TestMisspeltWords holds the pattern of a word's mistakes to their distance.
func TestMisspeltWords(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	s := newStore(t)
	random := rand.New(rand.NewPCG(1, 2))
	word := func() string {
		letters := make([]rune, 3+random.IntN(4))
		for i := range letters {
			letters[i] = []rune("abcþ")[random.IntN(4)]
		}
		return string(letters)
	}
	other := domain.Scope{AccountID: s.scope.AccountID, Livemode: true}
	var sessions []*domain.Session
	for range 60 {
		name := word()
		sessions = append(sessions, s.session(other, start, func(x *domain.Session) { x.CustomerName = &name }))
	}
	for range 100 {
		typed := word()
		found, err := s.SearchSessions(s.ctx, other, domain.SessionFilter{Search: typed, Misspelt: true}, nil, 500, listNow)
		s.ok(err)
		for _, x := range sessions {
			got := slices.ContainsFunc(found.Sessions, func(y domain.Session) bool { return y.ID == x.ID })
			if want := hasNearWords(x, typed); got != want {
				t.Errorf("%q finds %q: %t, want %t", typed, *x.CustomerName, got, want)
			}
		}
	}
}

// TestSearchWithoutMarks finds names by the letters of any keyboard (D131).
func TestSearchWithoutMarks(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	names := []string{"Zoë Nguyễn", "Zoe\u0308 Nguyê\u0303n", "ĐẶNG Thị Mỹ", "Jørgen Łukaszewski-Strauß", "Zoe Nguyen",
		"Ælfræd 김민준", "Στέλιος Άγγελος"}
	for _, name := range names {
		s.session(s.scope, start, func(x *domain.Session) { x.CustomerName = &name })
	}
	for typed, want := range map[string][]string{
		"nguyen": {names[0], names[1], names[4]}, "NGUYỄN zoë": {names[0], names[1], names[4]},
		"dang my": {names[2]}, "đặng": {names[2]}, "d": {names[2]}, "Đ": {names[2]},
		"jorgen strauss": {names[3]}, "JØRGEN łukaszewski": {names[3]}, "aelfraed": {names[5]},
		"김민": {names[5]}, "김미": nil, "Στελιος": {names[6]}, "Άγγ": {names[6]},
	} {
		for _, misspelt := range []bool{false, true} {
			if misspelt && len([]rune(typed)) < 4 {
				continue
			}
			found, err := s.SearchSessions(s.ctx, s.scope, domain.SessionFilter{Search: typed, Misspelt: misspelt}, nil, 10, listNow)
			s.ok(err)
			var got []string
			for i := range found.Sessions {
				got = append(got, *found.Sessions[i].CustomerName)
			}
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("%q, misspelt %t: finds %q, want %q", typed, misspelt, got, want)
			}
		}
	}
}

func TestSessionsMatchANaiveFilter(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	s := newStore(t)
	sessions := randomSessions(s, 250)
	times := []*time.Time{nil}
	for _, h := range []int{-48, 5, 20, 36, 37, 200} {
		moment := start.Add(time.Duration(h) * time.Hour)
		times = append(times, &moment)
	}
	for _, status := range append([]domain.Status{""}, domain.Statuses...) {
		for _, search := range []string{"ann@customer.example", "NN@Cust", "ref 2", "f 2", "n", "none", "%", "_"} {
			checkSearch(s, sessions, domain.SessionFilter{Status: status, Search: search})
			checkSearch(s, sessions, domain.SessionFilter{Status: status, Search: search, CreatedAfter: times[3]})
			if status == "" {
				checkSearch(s, sessions, domain.SessionFilter{Search: search, ExpiresBefore: new(listNow.Add(time.Minute))})
				checkSearch(s, sessions, domain.SessionFilter{Search: search, ExpiresBefore: new(listNow.Add(2 * time.Hour))})
			}
		}
		for _, reference := range []string{"", "REF 1", "none"} {
			for _, email := range []string{"", "jO@customer.example"} {
				for _, after := range times {
					for _, before := range times {
						f := domain.SessionFilter{Status: status, ReferenceID: reference, CustomerEmail: email, CreatedAfter: after,
							CreatedBefore: before}
						if (reference != "" || email != "") && after != nil && before != nil {
							continue // the days' arithmetic is only for the unfiltered
						}
						checkList(s, sessions, f)
					}
				}
			}
		}
	}
}

// searchText is what a session is searched in, with a space before each part.
func searchText(x *domain.Session) string {
	text := " "
	if x.CustomerName != nil {
		text += *x.CustomerName
	}
	text += " " + x.CustomerEmail + " "
	if x.ReferenceID != nil {
		text += *x.ReferenceID
	}
	return text
}

// hasWords reports whether the session has each of the words, a short one at the
// beginning of a part.
func hasWords(x *domain.Session, words string) bool {
	text := searchText(x)
	for _, word := range strings.Fields(strings.ToLower(words)) {
		if len(word) < 3 {
			word = " " + word
		}
		if !strings.Contains(strings.ToLower(text), word) {
			return false
		}
	}
	return true
}

// checkSearch reads what is found page by page, all at once and for an export.
func checkSearch(s *store, sessions []*domain.Session, f domain.SessionFilter) {
	s.Helper()
	want := matching(sessions, f, listNow)
	var last *domain.Session
	var paged, exported []domain.SessionID
	for {
		found, err := s.SearchSessions(s.ctx, s.scope, f, last, 7, listNow)
		s.ok(err)
		if found.Total != len(want) || found.OrMore {
			s.Errorf("%+v: %d found, or more: %t, want %d", f, found.Total, found.OrMore, len(want))
		}
		for i := range found.Sessions {
			last = &found.Sessions[i]
			paged = append(paged, last.ID)
		}
		if len(found.Sessions) < 7 {
			break
		}
	}
	s.ok(s.EachSessionFound(s.ctx, s.scope, f, listNow, func(some []domain.Session) error {
		for _, x := range some {
			exported = append(exported, x.ID)
		}
		return nil
	}))
	var ids []domain.SessionID
	for _, x := range want {
		ids = append(ids, x.ID)
	}
	if !slices.Equal(paged, ids) || !slices.Equal(exported, ids) {
		s.Errorf("%+v finds %d, exports %d, want %d in order", f, len(paged), len(exported), len(ids))
	}
}

func checkList(s *store, sessions []*domain.Session, f domain.SessionFilter) {
	s.Helper()
	if f.Search != "" {
		checkSearch(s, sessions, f)
		return
	}
	want := matching(sessions, f, listNow)
	page := domain.Page{Number: 1 + len(want)/40, Size: 20} // the middle
	got, total, err := s.Sessions(s.ctx, s.scope, f, page, listNow)
	s.ok(err)
	from := min((page.Number-1)*page.Size, len(want))
	want, all := want[from:min(from+page.Size, len(want))], len(want)
	match := len(got) == len(want) && total == all
	for i := range want {
		match = match && got[i].ID == want[i].ID && got[i].Status == want[i].StatusAt(listNow)
	}
	if !match {
		s.Errorf("%+v (after %v, before %v): %d of %d sessions, want %d of %d in order", f, f.CreatedAfter, f.CreatedBefore, len(got),
			total, len(want), all)
	}
}

// filterExamples sets each field of a SessionFilter alone, with a value that
// some of the random sessions have, and says whether counters know it.
var filterExamples = map[string]struct {
	filter  domain.SessionFilter
	counted bool
}{
	"Status":        {domain.SessionFilter{Status: domain.Expired}, true},
	"ReferenceID":   {domain.SessionFilter{ReferenceID: "REF 1"}, false},
	"CustomerEmail": {domain.SessionFilter{CustomerEmail: "ann@customer.example"}, false},
	"Search":        {domain.SessionFilter{Search: "REF 2"}, false},
	"Misspelt":      {domain.SessionFilter{Search: "custmoer ref", Misspelt: true}, false},
	"Sections":      {domain.SessionFilter{Sections: 4}, false},
	"Figure":        {domain.SessionFilter{Figure: &domain.Figure{Name: domain.FigureDocuments, Value: "none"}}, false},
	"Progress":      {domain.SessionFilter{Progress: &domain.Progress{Did: domain.ProgressUnopened}}, false},
	"CreatedAfter":  {domain.SessionFilter{CreatedAfter: new(start.Add(30 * time.Hour))}, true},
	"ExpiresBefore": {domain.SessionFilter{ExpiresBefore: new(listNow.AddDate(0, 0, 9))}, false},
	"CreatedBefore": {domain.SessionFilter{CreatedBefore: new(start.Add(70 * time.Hour))}, true},
}

// A field that is added to the filter must be listed above, and the total of
// what it finds must not come from counters that don't know it.
func TestEveryFilterIsCountedByWhatKnowsIt(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	s := newStore(t)
	sessions := randomSessions(s, 100)
	for field := range reflect.TypeFor[domain.SessionFilter]().Fields() {
		one, ok := filterExamples[field.Name]
		if !ok || reflect.ValueOf(one.filter).FieldByIndex(field.Index).IsZero() {
			t.Errorf("filterExamples has no %s", field.Name)
			continue
		}
		if one.filter.Counted() != one.counted {
			t.Errorf("%s: counted by counters %v, want %v", field.Name, one.filter.Counted(), one.counted)
		}
		if n := len(matching(sessions, one.filter, listNow)); n == 0 || n == len(sessions) {
			t.Errorf("%s: the example finds %d of %d sessions", field.Name, n, len(sessions))
		}
		checkList(s, sessions, one.filter)
		for name, other := range filterExamples {
			both, from := one.filter, reflect.ValueOf(other.filter).FieldByName(name)
			reflect.ValueOf(&both).Elem().FieldByName(name).Set(from)
			checkList(s, sessions, both)
		}
	}
}

func TestSessionsPages(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	sessions := randomSessions(s, 45)
	for _, status := range []domain.Status{"", domain.Expired} {
		want := matching(sessions, domain.SessionFilter{Status: status}, listNow)
		var ids []domain.SessionID
		for page := 1; page <= len(want)/7+1; page++ {
			got, _, err := s.Sessions(s.ctx, s.scope, domain.SessionFilter{Status: status}, domain.Page{Number: page, Size: 7}, listNow)
			s.ok(err)
			for _, x := range got {
				ids = append(ids, x.ID)
			}
		}
		if len(ids) != len(want) {
			t.Fatalf("status %q: %d sessions on all pages, want %d", status, len(ids), len(want))
		}
		for i := range want {
			if ids[i] != want[i].ID {
				t.Errorf("status %q: session %d is %s, want %s", status, i, ids[i], want[i].ID)
			}
		}
		for _, number := range []int{100, math.MaxInt32, math.MaxInt} {
			got, total, err := s.Sessions(s.ctx, s.scope, domain.SessionFilter{Status: status}, domain.Page{Number: number, Size: 100},
				listNow)
			if err != nil || len(got) != 0 || total != len(want) {
				t.Errorf("page %d: %d of %d, %v; want none of %d", number, len(got), total, err, len(want))
			}
		}
	}
	for _, search := range []string{"", "ann@customer.example", "REF 2"} {
		for _, days := range []int{0, 3, 400} {
			until := listNow.AddDate(0, 0, days)
			checkList(s, sessions, domain.SessionFilter{ExpiresBefore: &until, Search: search})
			checkList(s, sessions, domain.SessionFilter{ExpiresBefore: &until, CreatedAfter: &start})
		}
	}
	// The ends of what a caller can write as a time.
	for _, moment := range []string{"0000-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"} {
		at, err := time.Parse(time.RFC3339, moment)
		s.ok(err)
		checkList(s, sessions, domain.SessionFilter{CreatedAfter: &at, Status: domain.Pending})
		checkList(s, sessions, domain.SessionFilter{CreatedBefore: &at, Status: domain.Expired})
		checkList(s, sessions, domain.SessionFilter{CreatedAfter: &at, CreatedBefore: &at})
	}
}

// TestSortedSessionsPages: the pages of each order that sorts a filter have each session that
// matches once, in order, also where many have the same time.
func TestSortedSessionsPages(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	s := newStore(t)
	sessions := randomSessions(s, 150)
	less := map[domain.SessionOrder]func(a, b *domain.Session) int{
		domain.NewestFirst: func(a, b *domain.Session) int { return b.CreatedAt.Compare(a.CreatedAt) },
		domain.OldestFirst: func(a, b *domain.Session) int { return a.CreatedAt.Compare(b.CreatedAt) },
		domain.EndsSoonest: func(a, b *domain.Session) int { return a.ExpiresAt.Compare(b.ExpiresAt) },
	}
	filters := []domain.SessionFilter{{}}
	for _, status := range domain.Statuses {
		filters = append(filters, domain.SessionFilter{Status: status}, domain.SessionFilter{Status: status, ReferenceID: "REF 1"},
			domain.SessionFilter{Status: status, CreatedBefore: new(start.Add(70 * time.Hour))})
	}
	for _, one := range filterExamples {
		filters = append(filters, one.filter)
	}
	sorted := map[domain.SessionOrder]int{}
	for _, f := range filters {
		for order, compare := range less {
			if !order.Sorts(&f) || f.Search != "" {
				continue
			}
			sorted[order]++
			want := matching(sessions, f, listNow) // newest first, by id
			if order != domain.NewestFirst {
				slices.Reverse(want)
			}
			slices.SortStableFunc(want, func(a, b *domain.Session) int {
				if c := compare(a, b); c != 0 || order != domain.EndsSoonest {
					return c
				}
				return bytes.Compare(a.ID.UUID[:], b.ID.UUID[:])
			})
			checkSorted(s, f, order, want)
		}
	}
	if sorted[domain.EndsSoonest] < 5 || sorted[domain.OldestFirst] < 15 {
		t.Errorf("the orders were tried with %v filters", sorted)
	}
}

// checkSorted reads an order page by page, each from what the address of the last says.
func checkSorted(s *store, f domain.SessionFilter, order domain.SessionOrder, want []*domain.Session) {
	s.Helper()
	var last *domain.Session
	var got []domain.SessionID
	for {
		page, err := s.SortedSessions(s.ctx, s.scope, f, order, last, 7, listNow)
		s.ok(err)
		for i := range page {
			last = &page[i]
			got = append(got, last.ID)
		}
		if len(page) < 7 {
			break
		}
	}
	var ids []domain.SessionID
	for _, x := range want {
		ids = append(ids, x.ID)
	}
	if !slices.Equal(got, ids) {
		s.Errorf("%+v in order %q: %d sessions on all pages, want %d in order", f, order, len(got), len(ids))
	}
}

// Usage is what a count over the sessions themselves gives (D44).
func TestUsageMatchesANaiveCount(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	s := newStore(t)
	sessions := randomSessions(s, 200)
	for _, zone := range []*time.Location{time.UTC, domain.LoadTimeZone("Australia/Sydney")} { // Sydney is the account's
		for _, days := range [][2]int{{0, 0}, {0, 4}, {1, 2}, {-3, 1}, {3, 60}, {50, 60}, {-800000, -799990}} {
			first, last := start.AddDate(0, 0, days[0]), start.AddDate(0, 0, days[1])
			got, err := s.Usage(s.ctx, s.scope, zone, first, last, listNow)
			s.ok(err)
			if want := naiveUsage(sessions, zone, first, last); fmt.Sprint(*got) != fmt.Sprint(want) {
				t.Errorf("days %v in %s:\n%v\nwant\n%v", days, zone, *got, want)
			}
			if got.Daily == nil {
				t.Errorf("days %v: no list of days", days)
			}
		}
	}
}

func naiveUsage(sessions []*domain.Session, zone *time.Location, first, last time.Time) domain.Usage {
	first, last = first.Truncate(24*time.Hour), last.Truncate(24*time.Hour)
	dayOf := func(at time.Time) time.Time { return domain.DateIn(at, zone) }
	var u domain.Usage
	for at := first; !at.After(last) && !at.After(dayOf(listNow)); at = at.AddDate(0, 0, 1) {
		daily := domain.DailyUsage{Date: at}
		for _, x := range sessions {
			if dayOf(x.CreatedAt).Equal(at) {
				daily.Created++
			}
			if x.CompletedAt != nil && dayOf(*x.CompletedAt).Equal(at) {
				daily.Completed++
			}
		}
		u.Daily = append(u.Daily, daily)
	}
	for _, x := range sessions {
		if dayOf(x.CreatedAt).Before(first) || dayOf(x.CreatedAt).After(last) {
			continue
		}
		u.Created++
		switch x.StatusAt(listNow) {
		case domain.Completed:
			u.Completed++
			u.CompletionSeconds += x.CompletedAt.Sub(x.CreatedAt).Seconds()
		case domain.Cancelled:
			u.Cancelled++
		case domain.Expired:
			u.Expired++
		case domain.InProgress:
			u.InProgress++
		}
	}
	return u
}
