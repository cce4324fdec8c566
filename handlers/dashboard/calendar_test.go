package dashboard_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"candor/internal/domain"
	"candor/internal/testkit/browsertest"
	"candor/internal/testkit/harness"
)

// Dates of filters are typed in words, without script too, and shown as the page writes
// dates; the address has them as they were understood. It is Friday 20 November 2026.
func TestDatesOfFiltersAreTypedInWords(t *testing.T) {
	t.Parallel()
	h, log := newLogged(t)
	h.NewSession(h.TestScope(), domain.NewSession{ReferenceID: "LOAN-TODAY"})
	h.Get("/sessions")
	log.Flush(t.Context())
	owner := h.Staff(domain.RoleOwner)
	for _, tt := range []struct {
		page, field, typed, shown, address string
		rows                               bool // of today
	}{
		{"sessions", "from", "today", "20 Nov 2026", "2026-11-20", true},
		{"sessions", "from", " 20 NOV ", "20 Nov 2026", "2026-11-20", true},
		{"sessions", "to", "yesterday", "19 Nov 2026", "2026-11-19", false},
		{"sessions", "to", "last week", "15 Nov 2026", "2026-11-15", false},
		{"sessions", "from", "monday", "16 Nov 2026", "2026-11-16", true},
		{"sessions", "from", "2026-11-21", "21 Nov 2026", "2026-11-21", false},
		{"audit", "to", "this month", "30 Nov 2026", "2026-11-30", true},
		{"webhooks", "from", "23/11/2025", "23 Nov 2025", "2025-11-23", false},
		{"requests", "from", "today", "20 Nov 2026, 12:00 am", "2026-11-20T00:00", true},
		{"requests", "from", "20 Nov 2026, 2:04 pm", "20 Nov 2026, 2:04 pm", "2026-11-20T14:04", true},
		{"requests", "from", "9pm", "20 Nov 2026, 9:00 pm", "2026-11-20T21:00", false},
		{"requests", "from", "20 August 12:30 am", "20 Aug 2026, 12:30 am", "2026-08-20T00:30", true},
		{"requests", "to", "yesterday", "20 Nov 2026, 12:00 am", "2026-11-20T00:00", false},
		{"requests", "to", "2026-11-20T14:04:59", "20 Nov 2026, 2:04:59 pm", "2026-11-20T14:04:59", true},
		{"requests", "to", "today", "21 Nov 2026, 12:00 am", "2026-11-21T00:00", true},
	} {
		path := "/dashboard/test/" + tt.page
		list := owner.WantPage(owner.Get(path+"?"+url.Values{tt.field: {tt.typed}}.Encode()), http.StatusOK).
			Hides("There is a problem").WantField(tt.field, tt.shown)
		if tt.typed == "last week" {
			list.Shows(": " + tt.shown)
		}
		if rows := len(list.Rows()) > 0; rows != tt.rows {
			t.Errorf("%s of %s: %q lists rows of today: %t, want %t", tt.field, tt.page, tt.typed, rows, tt.rows)
		}
		again := owner.WantPage(owner.Get(path+"?"+url.Values{tt.field: {tt.address}}.Encode()), http.StatusOK).
			WantField(tt.field, tt.shown)
		if got, want := fmt.Sprint(again.Rows()), fmt.Sprint(list.Rows()); got != want {
			t.Errorf("%s of %s: %s lists %s, and %q lists %s", tt.field, tt.page, tt.address, got, tt.typed, want)
		}
	}
	for page, until := range map[string]string{
		"sessions": "15 Nov 2026", "audit": "15 Nov 2026", "requests": "16 Nov 2026, 12:00 am"} {
		week := owner.WantPage(owner.Get("/dashboard/test/"+page+"?from=last+week"), http.StatusOK).WantField("to", until)
		if len(week.Rows()) > 0 {
			t.Errorf("last week of %s has rows of this week: %v", page, week.Rows())
		}
	}
	for place, label := range map[string]string{"sessions?to": "Created until", "audit?from": "From", "requests?to": "Until",
		"webhooks/redeliveries?preview=1&since": "Events from"} {
		for _, typed := range []string{"soon", "31 Feb", "25:00", "13 pm", "<b>"} {
			path, field, _ := strings.Cut(place, "?")
			field = field[strings.LastIndex(field, "&")+1:]
			wrong := owner.WantPage(owner.Get("/dashboard/test/"+place+"="+url.QueryEscape(typed)), http.StatusOK).WantField(field, typed)
			wrong.WantError(field, "under “"+label+"”")
			if t.Failed() {
				t.Fatalf("%s: %s", path, typed)
			}
		}
	}
}

// TestBrowserDateInWords: what is typed applies when the field is left, and the calendar
// writes a day as the page does, in a browser of another language.
func TestBrowserDateInWords(t *testing.T) {
	t.Parallel()
	h, base := harness.Listen(t)
	tab := browsertest.New(t, browsertest.Options{Locale: "de_DE"})
	signInTo(h, tab, base, "/dashboard/test/audit")
	if own := browsertest.Eval[string](tab, `new Date(2026, 8, 7).toLocaleDateString()`); own != "7.9.2026" {
		t.Errorf("the browser writes %q, want a German date", own)
	}
	for _, look := range harness.Looks() {
		tab.As(look.Device, look.Dark, func() { datesInWords(t, tab, base+"/dashboard/test/audit") })
	}
}

// datesInWords types a day into the list's filter, and chooses one in the calendar.
func datesInWords(t *testing.T, tab *browsertest.Tab, list string) {
	t.Helper()
	tab.Open(list)
	if tab.IsPhone() {
		tab.Click(".filter-fold > summary")
	}
	tab.Type("#from", "last month")
	tab.Press("\t")
	tab.WaitForURL("audit?from=last+month")
	tab.WaitForText(".chips", "From: 1 Oct 2026")
	tab.Open(list + "?from=2026-11-03")
	opened := browsertest.Eval[string](tab, `((shown) => {
		HTMLInputElement.prototype.showPicker = function () { shown = this.value; };
		document.querySelector(".date-field [data-calendar]").click();
		return shown;
	})("nothing")`)
	if opened != "2026-11-03" {
		t.Errorf("the calendar opens at %q, want the field's day", opened)
	}
	browsertest.Eval[bool](tab, `((calendar) => {
		calendar.value = "2026-10-07";
		return calendar.dispatchEvent(new Event("change", { bubbles: true }));
	})(document.querySelector(".date-calendar"))`)
	tab.WaitForText(".chips", "From: 7 Oct 2026")
	tab.WaitForTrue(`document.activeElement.id === "from"`)
}
