package api_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"candor/internal/domain"
	"candor/internal/testkit"
	"candor/internal/testkit/harness"
)

// record is what a test knows of a session it made.
type record struct {
	id               domain.SessionID
	stored           domain.Status
	reference, email string
	created, expires time.Time
	completed        time.Time
	livemode         bool
}

func (r record) status(now time.Time) domain.Status {
	if r.stored.Open() && !now.Before(r.expires) {
		return domain.Expired
	}
	return r.stored
}

// populate makes sessions at random moments of the days before the bench's
// time, in random states and of few customers; several share a moment, some
// are at a day's edge, and some have passed their expiry without a sweep.
func populate(h *harness.Harness, seed uint64, count int) []record {
	h.Helper()
	random := rand.New(rand.NewPCG(seed, 1))
	now := h.Clock.Now()
	// No live session is from before its subscription.
	execSQL(h, `UPDATE subscription SET started_at = started_at - interval '12 days',
		billed_to = billed_to - interval '12 days', closes_at = closes_at - interval '12 days'`)
	var out []record
	for i := range count {
		created := now.Add(-time.Duration(random.IntN(10*24*3600)) * time.Second)
		switch {
		case i%7 == 0:
			created = created.Truncate(24 * time.Hour)
		case i%7 == 1:
			created = created.Truncate(24 * time.Hour).Add(-time.Millisecond)
		case i%7 == 2 && i > 10:
			created = out[i-1].created
		}
		h.Clock.Set(created)
		days := 1 + random.IntN(12)
		r := record{
			stored: domain.Statuses[random.IntN(5)], created: created, expires: created.Add(time.Duration(days) * 24 * time.Hour),
			livemode:  random.IntN(4) == 0,
			reference: []string{"", "R1", "R2"}[random.IntN(3)], email: []string{"jo@customer.example", "Zoë@customer.example",
				"JO@customer.example"}[random.IntN(3)],
		}
		scope := domain.Scope{AccountID: h.Account.AccountID, Livemode: r.livemode}
		session := h.NewSession(scope, domain.NewSession{CustomerEmail: r.email, ReferenceID: r.reference, ExpiresInDays: &days})
		r.id = session.ID
		var completed *time.Time
		if r.stored == domain.Completed {
			r.completed = created.Add(time.Duration(random.IntN(3*24*3600*1000)) * time.Millisecond)
			completed = &r.completed
		}
		execSQL(h, `UPDATE session SET status = $2, completed_at = $3 WHERE id = $1`, r.id,
			r.stored, completed)
		out = append(out, r)
	}
	h.Clock.Set(now)
	slices.SortFunc(out, func(x, y record) int {
		if c := y.created.Compare(x.created); c != 0 {
			return c
		}
		return bytes.Compare(y.id.UUID[:], x.id.UUID[:])
	})
	return out
}

// listQuery is one combination of filters.
type listQuery struct {
	status, reference, email string
	after, before            string
}

func (q listQuery) values() url.Values {
	out := url.Values{}
	for name, value := range map[string]string{"status": q.status, "reference_id": q.reference, "customer_email": q.email,
		"created_after": q.after, "created_before": q.before} {
		if value != "" {
			out.Set(name, value)
		}
	}
	return out
}

func moment(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// swapped reports whether the query ends before it begins (D97).
func (q listQuery) swapped(t *testing.T) bool {
	t.Helper()
	return q.after != "" && q.before != "" && moment(t, q.before).Before(moment(t, q.after))
}

func (q listQuery) matches(t *testing.T, r record, now time.Time) bool {
	t.Helper()
	return !r.livemode &&
		(q.status == "" || string(r.status(now)) == q.status) &&
		(q.reference == "" || r.reference == q.reference) &&
		(q.email == "" || strings.EqualFold(r.email, q.email)) &&
		(q.after == "" || r.created.After(moment(t, q.after))) &&
		(q.before == "" || r.created.Before(moment(t, q.before)))
}

// TestListAgainstNaiveCount compares pages and totals of every combination of
// filters with a walk over all sessions (D10, D11). Of the answers, whose items are the
// same again and again, those to queries without times are held to the document.
func TestListAgainstNaiveCount(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := harness.New(t)
	all := populate(h, 1, 150)
	random := rand.New(rand.NewPCG(2, 2))
	moments := []string{
		"", all[20].created.Format(time.RFC3339Nano), all[100].created.Format(time.RFC3339Nano), "2026-11-15T00:00:00Z",
		"2026-11-14T23:59:59.9995Z", "2026-11-16T10:00:00%2B10:00",
	}
	for _, status := range []string{"", "pending", "in_progress", "completed", "expired", "cancelled"} {
		for i, after := range moments {
			for j, before := range moments {
				for k, reference := range []string{"", "R1", "none"} {
					q := listQuery{status: status, reference: reference, after: unescape(after), before: unescape(before)}
					if (i+j+k)%3 == 0 {
						q.email = "jo@CUSTOMER.example"
					}
					if q.swapped(t) {
						h.Get("/sessions?"+q.values().Encode()).WantError(http.StatusUnprocessableEntity, "validation_error", "created_before")
						continue
					}
					compareList(h, t, q, all, 1+random.IntN(3), 1+random.IntN(40))
				}
			}
		}
	}
}

func unescape(s string) string { return strings.ReplaceAll(s, "%2B", "+") }

func compareList(h *harness.Harness, t *testing.T, q listQuery, all []record, page, perPage int) {
	t.Helper()
	var want []string
	for _, r := range all {
		if q.matches(t, r, h.Clock.Now()) {
			want = append(want, r.id.String()+" "+string(r.status(h.Clock.Now())))
		}
	}
	total := len(want)
	want = want[min((page-1)*perPage, total):min(page*perPage, total)]
	values := q.values()
	values.Set("page", fmt.Sprint(page))
	values.Set("per_page", fmt.Sprint(perPage))
	r := h.Request(harness.Call{Method: http.MethodGet, Path: "/sessions?" + values.Encode()})
	w := h.Serve(r)
	if q.after == "" && q.before == "" {
		h.CheckContract(r, w)
	}
	list := harness.AnswerOf(t, w).WantStatus(http.StatusOK).Object()
	var got []string
	for _, item := range list["data"].([]any) {
		got = append(got, item.(map[string]any)["id"].(string)+" "+item.(map[string]any)["status"].(string))
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v page %d of %d: %q,\nwant %q", q, page, perPage, got, want)
	}
	pages := (total + perPage - 1) / perPage
	p := list["pagination"].(map[string]any)
	if p["page"] != float64(page) || p["per_page"] != float64(perPage) || p["total"] != float64(total) ||
		p["total_pages"] != float64(pages) {
		t.Errorf("%+v: pagination %v, want total %d on %d pages", q, p, total, pages)
	}
}

// TestListItems checks an item's fields and the defaults.
func TestListItems(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	empty := h.Get("/sessions").WantStatus(http.StatusOK)
	if !strings.Contains(empty.Body.String(), `"data":[]`) || !strings.Contains(empty.Body.String(),
		`{"page":1,"per_page":20,"total":0,"total_pages":0}`) {
		t.Errorf("an empty list is %s", empty.Body)
	}
	for range 21 {
		h.Post("/sessions", with(`"reference_id": "R", "metadata": {"a": 1}`)).WantStatus(http.StatusCreated)
	}
	list := h.Get("/sessions").WantStatus(http.StatusOK).Object()
	data := list["data"].([]any)
	if len(data) != 20 || list["pagination"].(map[string]any)["total"] != 21.0 {
		t.Fatalf("%d items, pagination %v", len(data), list["pagination"])
	}
	want := []string{"completed_at", "created_at", "customer_email", "customer_name", "form_type", "id", "livemode",
		"reference_id", "status"}
	if got := keysOf(data[0].(map[string]any)); !slices.Equal(got, want) {
		t.Errorf("an item has %q, want %q", got, want)
	}
	for path, items := range map[string]int{
		"?page=2": 1, "?page=3": 0, "?page=1000000000&per_page=100": 0, "?per_page=100": 21, "?per_page=1&page=21": 1,
		"?page=1&unknown=x&PAGE=9":              20,
		"?customer_email=jo%40CUSTOMER.EXAMPLE": 20, "?customer_email=jo": 0, "?customer_email=%20jo@customer.example%E2%80%8B": 20,
		"?reference_id=r": 0, "?reference_id=%20R": 20,
		"?created_after=2026-11-20T03:04:05.678Z": 0, "?created_after=2026-11-20T03:04:05.677999Z": 20,
		"?created_before=2026-11-20T03:04:05.678Z":    0,
		"?created_before=2026-11-20T03:04:05.678001Z": 20, "?created_after=0001-01-01T00:00:00Z": 20,
		"?created_before=9998-12-31T23:59:59Z": 20,
		"?created_after=9998-12-31T23:59:59Z":  0, "?created_before=9999-12-31T23:59:59.999Z": 20,
		"?created_before=9999-12-31T23:59:59-10:00": 20, "?created_after=9999-12-31T23:59:59Z": 0,
		"?created_before=0001-01-01T00:00:00Z":                                    0,
		"?created_after=2027-01-01T00:00:00Z&created_before=2027-01-01T00:00:00Z": 0,
	} {
		list := h.Get("/sessions" + path).WantStatus(http.StatusOK).Object()
		if n := len(list["data"].([]any)); n != items {
			t.Errorf("%s: %d items, want %d", path, n, items)
		}
		if total := list["pagination"].(map[string]any)["total"]; items > 0 && total != 21.0 {
			t.Errorf("%s: total %v", path, total)
		}
	}
}

// TestBadListParameters checks that each is refused by its name (D10).
func TestBadListParameters(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	for field, values := range map[string][]string{
		"page": {"0", "-1", "1.5", "1e1", "x", "", "%201", "%2B1", "0x1", "1_0", "9223372036854775808", "1000000001", "%00",
			"%ff", "1&page=2", "٣"},
		"per_page":       {"0", "-1", "101", "x", "", "9999999999999999999999"},
		"status":         {"open", "", "PENDING", "pending,expired", "%00", "%ff", "pending&status=expired"},
		"reference_id":   {"", "%00", "a%00b", "%ff", "%0A", "%20", "%C2%85", "a&reference_id=b"},
		"customer_email": {"", "%00", "%ff%fe", "a%0D%0Ab", "%20", "%E2%80%8B"},
		"created_after": {"", "x", "2026-11-20", "2026-11-20T03:04:05", "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z", "1763607845",
			"0000-01-01T00:00:00Z", "0001-01-01T00:00:00%2B10:00", "2026-11-20T03:04:05+10:00", "%00", "%ff"},
		"created_before": {"", "yesterday", "2026-11-20T25:00:00Z", "20261120T030405Z", "-2026-11-20T03:04:05Z", "%F0%9F%98%80"},
	} {
		for _, value := range values {
			h.Get("/sessions?"+field+"="+value).WantError(http.StatusBadRequest, "invalid_request", field)
		}
	}
	for _, query := range []string{"?page=%", "?%zz=1", "?a=1;b=2"} {
		h.Get("/sessions"+query).WantError(http.StatusBadRequest, "invalid_request", "")
	}
	a := h.Get("/sessions?page=0&per_page=x&status=y").WantError(http.StatusBadRequest, "invalid_request", "page")
	if got := wrongFields(a); !slices.Equal(got, []string{"page", "per_page", "status"}) {
		t.Errorf("details.errors names %q", got)
	}
	h.Get("/sessions?reference_id=" + strings.Repeat("x", 7000)).WantStatus(http.StatusOK)
}
