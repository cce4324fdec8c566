package dashboard_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"candor/internal/domain"
	"candor/internal/testkit/harness"
)

// TestTimeZone: lists, filters, exports and forms of a day follow the account's
// zone, and the API doesn't.
func TestTimeZone(t *testing.T) {
	t.Parallel()
	h := harness.New(t) // its clock: 20 November, 03:04:05 UTC
	session := h.NewSession(h.TestScope(), domain.NewSession{CustomerEmail: "jo@customer.example"})
	owner, developer := h.Owner(), h.Staff(domain.RoleDeveloper)
	settings, sessions := "/dashboard/test/settings", "/dashboard/test/sessions"
	wantDay := func(day, shown, full, stamp string) {
		t.Helper()
		owner.WantPage(owner.Get(sessions+"/"+session.ID.String()), http.StatusOK, shown)
		page := owner.WantPage(owner.Get(sessions), http.StatusOK)
		if at := page.All("time")[0]; at.Attr("datetime") != "2026-11-20T03:04:05Z" || !strings.Contains(page.Source,
			`title="`+full+`"`) {
			t.Errorf("the time is %s, want it with the title %q", at.Attr("datetime"), full)
		}
		for _, other := range []string{"2026-11-19", "2026-11-20", "2026-11-21"} {
			text := "No session matches"
			if other == day {
				text = "jo@customer.example"
			}
			owner.WantPage(owner.Get(sessions+"?from="+other+"&to="+other), http.StatusOK, text)
		}
		if file := owner.Get(sessions + "/export?from=" + day + "&to=" + day).Body.String(); !strings.Contains(file, stamp) {
			t.Errorf("the export hasn't %s: %s", stamp, file)
		}
	}
	wantDay("2026-11-20", "20 Nov 2026, 2:04 pm", "Friday 20 November 2026, 2:04:05 pm AEDT · 2026-11-20 03:04:05 UTC",
		"2026-11-20T14:04:05+11:00")

	for _, wrong := range []string{"", "Local", "Australia/Nowhere", "UTC+10", "../etc/passwd"} {
		owner.WantPage(owner.Post(settings+"/time-zone", url.Values{"time_zone": {wrong}}), http.StatusUnprocessableEntity,
			"Choose a time zone from the list")
	}
	owner.WantRedirect(owner.Post(settings+"/time-zone", url.Values{"time_zone": {"America/New_York"}}), settings)
	owner.WantPage(owner.Get(settings), http.StatusOK, "Settings saved", "The time there is 10:04 pm").
		WantField("time_zone", "America/New_York")
	owner.WantPage(owner.Get("/dashboard/test/audit"), http.StatusOK, "time zone: Australia/Sydney → America/New_York")
	wantDay("2026-11-19", "19 Nov 2026, 10:04 pm", "Thursday 19 November 2026, 10:04:05 pm EST · 2026-11-20 03:04:05 UTC",
		"2026-11-19T22:04:05-05:00")

	// A key's last day ends at midnight there; an extension's notice has its date.
	key := url.Values{"name": {"Short"}, "access": {"full"}, "expires_at": {"2026-11-20"}}
	owner.WantPage(owner.Post("/dashboard/test/keys", key), http.StatusOK)
	developer.WantPage(developer.Get("/dashboard/test/keys"), http.StatusOK, "expires at the end of 20 Nov 2026")
	if created := h.Get("/sessions/" + session.ID.String()).WantStatus(http.StatusOK).
		Object()["created_at"]; created != "2026-11-20T03:04:05.678Z" {
		t.Errorf("the API has %v", created)
	}
}

// TestHourThatComesTwice: a filter by time misses nothing of the hour that comes
// twice when clocks are put back.
func TestHourThatComesTwice(t *testing.T) {
	t.Parallel()
	h, log := newLogged(t)
	h.Clock.Set(time.Date(2027, time.April, 3, 15, 45, 0, 0, time.UTC)) // 2:45 am
	h.Get("/sessions")
	h.Clock.Advance(time.Hour) // 2:45 am again
	h.Get("/sessions")
	log.Flush(t.Context())
	developer := h.Staff(domain.RoleDeveloper)
	answer := developer.Get("/dashboard/test/requests?from=2027-04-04T02:40&to=2027-04-04T02:50")
	if n := listedRequests(developer.WantPage(answer, http.StatusOK)); n != 2 {
		t.Errorf("%d requests, want those of both hours", n)
	}
}
