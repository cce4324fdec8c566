package dashboard_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"candor/db"
	"candor/handlers"
	"candor/handlers/dashboard/auth"
	"candor/internal/domain"
	"candor/internal/testkit/harness"
)

// bursts are limiters that let so many requests through at once, and 60 a minute.
func bursts(t *testing.T, person, account, changes, exports int) auth.Limits {
	t.Helper()
	return auth.Limits{Person: harness.Burst(t, person), Account: harness.Burst(t, account), Changes: harness.Burst(t, changes),
		Exports: harness.Burst(t, exports)}
}

// wantLimited checks that the answer says what to do, and returns the page's text.
func wantLimited(s *harness.StaffBrowser, answer *httptest.ResponseRecorder, texts ...string) {
	s.Helper()
	wantRetry(s, answer, http.StatusTooManyRequests)
	s.WantPage(answer, http.StatusTooManyRequests, append(texts, "Please wait a moment", "Try again in a second.")...)
}

// TestStaffLimits: a person's requests have a limit, and so have those of all staff of an
// account. A refusal doesn't ask the database. Others go on.
func TestStaffLimits(t *testing.T) {
	t.Parallel()
	h := harness.New(t, func(c *handlers.Config) { c.StaffLimits = bursts(t, 5, 8, 100, 100) })
	jo, sam, other := h.Staff(domain.RoleOwner), h.Staff(domain.RoleDeveloper), h.StaffOf(h.NewAccount("b@lender.example",
		"starter").AccountID, domain.RoleOwner)
	const path = "/dashboard/test/sessions"
	for range 5 {
		jo.WantPage(jo.Get(path), http.StatusOK)
	}
	wantLimited(jo, jo.Get(path), "You have asked for very many pages in a short time.")
	for range 3 {
		sam.WantPage(sam.Get(path), http.StatusOK)
	}
	wantLimited(sam, sam.Get(path), "Your team has asked for very many pages in a short time.")
	other.WantPage(other.Get(path), http.StatusOK)
	part := jo.Send(http.MethodGet, "/dashboard/test/search?q=x", nil, http.Header{"Hx-Request": {"true"}})
	if wantRetry(jo, part, http.StatusTooManyRequests); part.Header().Get("HX-Reswap") != "none" {
		t.Error("the refusal would replace a part of a page")
	}
	h.OK(h.DB.Close())
	wantLimited(jo, jo.Get(path))
	wantLimited(sam, sam.Post("/dashboard/test/me/name", url.Values{"name": {"Sam"}}),
		"Reloading this page sends what you entered again.")
	if got := other.Get(path); got.Code != http.StatusInternalServerError {
		t.Errorf("without the database another account gets %d, want 500", got.Code)
	}
	h.Clock.Advance(time.Second)
	if got := jo.Get(path); got.Code == http.StatusTooManyRequests {
		t.Error("refused after the wait")
	}
}

// TestUnknownCookiesAreLimited: made-up cookies cost the database a query each, so a
// network has few of them. Who is signed in there is served.
func TestUnknownCookiesAreLimited(t *testing.T) {
	t.Parallel()
	h := harness.New(t, func(c *handlers.Config) { c.StaffLimits = bursts(t, 100, 5, 100, 100) })
	jo := h.Staff(domain.RoleOwner)
	jo.WantPage(jo.Get("/dashboard/test/sessions"), http.StatusOK)
	try := func(i int) int {
		r := httptest.NewRequest(http.MethodGet, harness.BaseURL+"/dashboard/test/sessions", nil)
		r.Header.Set("Cookie", fmt.Sprintf("__Host-candor_staff=made-up-%d", i))
		h.Address(r)
		return h.Serve(r).Code
	}
	for i := range 5 {
		if status := try(i); status != http.StatusSeeOther {
			t.Fatalf("made-up cookie %d: %d, want 303 to sign in", i, status)
		}
	}
	if status := try(9); status != http.StatusTooManyRequests {
		t.Errorf("the sixth: %d, want 429", status)
	}
	jo.WantPage(jo.Get("/dashboard/test/sessions"), http.StatusOK)
}

// TestChangesAndExportsAreLimited: what a person does with one button has a limit of its
// own. A refused change changes nothing.
func TestChangesAndExportsAreLimited(t *testing.T) {
	t.Parallel()
	h := harness.New(t, func(c *handlers.Config) { c.StaffLimits = bursts(t, 1000, 1000, 3, 2) })
	jo, sam := h.Staff(domain.RoleOwner), h.Staff(domain.RoleOwner)
	name := func(s *harness.StaffBrowser, text string) *httptest.ResponseRecorder {
		return s.Post("/dashboard/test/me/name", url.Values{"name": {text}})
	}
	for i := range 3 {
		jo.WantRedirect(name(jo, fmt.Sprint("Jo ", i)), "/dashboard/test/me")
	}
	before := h.Stored()
	wantLimited(jo, name(jo, "Jo 4"), "You have done this very often in a short time.",
		"Reloading this page sends what you entered again.")
	h.WantStored(before)
	sam.WantRedirect(name(sam, "Sam"), "/dashboard/test/me")
	if got := jo.Post("/dashboard/test/me/theme", url.Values{"theme": {"dark"}}); got.Code != http.StatusSeeOther {
		t.Errorf("another change: %d", got.Code)
	}

	session := h.NewSession(h.TestScope(), domain.NewSession{})
	h.Complete(session.ID)
	for range 3 {
		jo.WantPage(jo.Get("/dashboard/test/sessions/"+session.ID.String()+"/data"), http.StatusOK)
	}
	wantLimited(jo, jo.Get("/dashboard/test/sessions/"+session.ID.String()+"/data"))
	for range 2 {
		if got := jo.Get("/dashboard/test/sessions/export"); got.Code != http.StatusOK {
			t.Fatalf("an export: %d", got.Code)
		}
	}
	wantLimited(jo, jo.Get("/dashboard/test/sessions/export"))
	jo.WantPage(jo.Get("/dashboard/test/sessions"), http.StatusOK)
}

// TestStaffSessionsCountForTheAPI: sessions that staff create are taken from the bucket of
// the account's API, and what was typed stays on the page.
func TestStaffSessionsCountForTheAPI(t *testing.T) {
	t.Parallel()
	h := harness.New(t, func(c *handlers.Config) { c.Limiter = harness.Burst(t, 3) })
	jo := h.Staff(domain.RoleOwner)
	create := func() *httptest.ResponseRecorder {
		return jo.Post("/dashboard/test/sessions", url.Values{"customer_email": {"sam@example.com"}, "customer_name": {"Sam Typed"},
			"expires_in_days": {"30"}})
	}
	for range 2 {
		if got := create(); got.Code != http.StatusSeeOther {
			t.Fatalf("creating a session: %d", got.Code)
		}
	}
	h.Get("/sessions").WantStatus(http.StatusOK)
	refused := create()
	wantRetry(jo, refused, http.StatusTooManyRequests)
	page := jo.WantPage(refused, http.StatusTooManyRequests, "has created too many sessions in a short time. Wait a moment")
	if !strings.Contains(refused.Body.String(), "Sam Typed") {
		t.Errorf("what was typed is lost: %s", page.Text())
	}
	h.Get("/sessions").WantStatus(http.StatusTooManyRequests)
	h.Clock.Advance(time.Second)
	if got := create(); got.Code != http.StatusSeeOther {
		t.Errorf("after the wait: %d", got.Code)
	}
}

// TestAccountsWaitInLinesOfTheirOwn: an account whose API requests all hang has its places
// them under way, and neither another account nor its own staff wait for them. When they
// are done, those that waited are served.
func TestAccountsWaitInLinesOfTheirOwn(t *testing.T) {
	t.Parallel()
	const places, calls = 4, 10
	h := harness.New(t, func(c *handlers.Config) { c.PlacesEach = places })
	session, jo := h.NewSession(h.TestScope(), domain.NewSession{}), h.Staff(domain.RoleOwner)
	other := h.StaffOf(h.NewAccount("b@lender.example", "starter").AccountID, domain.RoleOwner)
	answers := make(chan int, calls)
	err := h.DB.InTx(h.Context(), func(tx *db.Tx) error {
		if _, err := tx.CancelSession(h.Context(), h.TestScope(), session.ID, h.Clock.Now()); err != nil {
			return err
		}
		for range calls {
			go func() {
				answers <- h.Serve(h.Request(harness.Call{Method: http.MethodDelete, Path: "/sessions/" + session.ID.String()})).Code
			}()
		}
		h.WaitForLocks(places)
		other.WantPage(other.Get("/dashboard/test/sessions"), http.StatusOK)
		jo.WantPage(jo.Get("/dashboard/test/sessions"), http.StatusOK)
		if waiting := harness.QueryOne[int](h,
			`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`); waiting != places {
			t.Errorf("%d calls are under way, want %d", waiting, places)
		}
		return context.Canceled
	})
	if err == nil {
		t.Fatal("the transaction was kept")
	}
	statuses := map[int]int{}
	for range calls {
		statuses[<-answers]++
	}
	if statuses[http.StatusOK] != 1 || statuses[http.StatusConflict] != calls-1 {
		t.Errorf("answered %v, want one 200 and nine 409", statuses)
	}
}

// TestRepeatsAreCounted: what a person does to the same thing again and again is counted
// above a rate, and nothing of it is lost: who, what, to which customer, how often, when.
func TestRepeatsAreCounted(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	jo, sam := h.Staff(domain.RoleOwner), h.Staff(domain.RoleOwner)
	var paths []string
	for range 2 {
		session := h.NewSession(h.TestScope(), domain.NewSession{})
		h.Complete(session.ID)
		paths = append(paths, "/dashboard/test/sessions/"+session.ID.String()+"/data")
	}
	for range 50 {
		jo.WantPage(jo.Get(paths[0]), http.StatusOK)
	}
	for range 3 {
		sam.WantPage(sam.Get(paths[0]), http.StatusOK)
		jo.WantPage(jo.Get(paths[1]), http.StatusOK)
	}
	h.OK(h.DB.RecordRepeats(h.Context(), h.Clock.Now())) // none has been counted for long enough
	read := func(path string) (entries, times int) {
		h.OK(h.DB.Raw().QueryRowContext(h.Context(),
			`SELECT count(*), coalesce(sum(times), 0) FROM audit_log WHERE action = 'session.data_read' AND target_id = $1`,
			strings.Split(path, "/")[4]).Scan(&entries, &times))
		return entries, times
	}
	if n, times := read(paths[0]); n != 23 || times != 23 {
		t.Errorf("%d entries of %d reads at first, want 23 of 23", n, times)
	}
	h.Clock.Advance(2 * time.Minute)
	for range 2 {
		h.OK(h.DB.RecordRepeats(h.Context(), h.Clock.Now().Add(-time.Minute)))
	}
	if n, times := read(paths[0]); n != 24 || times != 53 {
		t.Errorf("%d entries of %d reads, want 24 of 53", n, times)
	}
	if n, times := read(paths[1]); n != 3 || times != 3 {
		t.Errorf("%d entries of %d reads of the other customer, want 3 of 3", n, times)
	}
	jo.WantPage(jo.Get("/dashboard/test/audit"), http.StatusOK, "Data read 30 times between")
	jo.WantPage(jo.Get(strings.TrimSuffix(paths[0], "/data")), http.StatusOK, "Data read 30 times")
}
