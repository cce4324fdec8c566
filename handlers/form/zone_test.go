package form_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"candor/internal/domain"
	"candor/internal/statement"
	"candor/internal/statement/statementtest"
	"candor/internal/testkit/browsertest"
	"candor/internal/testkit/harness"
)

// Instants that are another day in UTC than in Sydney, or than in Perth, too.
var (
	lateInPerth  = time.Date(2026, 11, 20, 14, 30, 0, 0, time.UTC) // 22:30 in Perth, 01:30 of the 21st in Sydney
	earlyInPerth = time.Date(2026, 11, 20, 23, 30, 0, 0, time.UTC) // 07:30 of the 21st in Perth
)

// days are how each language writes 20 and 21 November and, 30 days on, 20 and
// 21 December 2026.
var days = map[domain.Language]map[string]string{
	domain.English: {"11-20": "20 November 2026", "11-21": "21 November 2026", "12-20": "20 December 2026",
		"12-21": "21 December 2026"},
	domain.SimplifiedChinese: {"11-20": "2026年11月20日", "11-21": "2026年11月21日", "12-20": "2026年12月20日", "12-21": "2026年12月21日"},
	domain.Vietnamese: {"11-20": "20 tháng 11, 2026", "11-21": "21 tháng 11, 2026", "12-20": "20 tháng 12, 2026",
		"12-21": "21 tháng 12, 2026"},
}

var born = map[domain.Language]string{domain.English: "27 March 1985", domain.SimplifiedChinese: "1985年3月27日",
	domain.Vietnamese: "27 tháng 3, 1985"}

// created is a session of that instant, in that language.
func created(h *harness.Harness, at time.Time, language domain.Language) *harness.Customer {
	h.Helper()
	h.Clock.Set(at)
	_, err := h.DB.Raw().ExecContext(h.Context(), `UPDATE account SET form_languages = '{vi,zh-Hans}'`)
	h.OK(err)
	return h.Customer(h.NewSession(h.TestScope(), domain.NewSession{CustomerName: "Zoë O'Brien", Language: language}))
}

func livingIn(state string) url.Values {
	values := statementtest.Values(statement.PersonalDetailsSection)
	values.Set("address.state", state)
	values.Set("address.postcode", map[string]string{"NSW": "2034", "WA": "6000"}[state])
	return values
}

// Dates are those of the customer's state, as in the PDF, once it is known. The
// date of birth, 27 March 1985, is a day of the calendar and stays as typed.
func TestDaysAreTheCustomers(t *testing.T) {
	t.Parallel()
	for language, day := range days {
		for _, tt := range []struct {
			state              string
			at                 time.Time
			signed, end, other string // other is the day elsewhere
		}{
			{"NSW", lateInPerth, "11-21", "12-21", "12-20"},
			{"WA", lateInPerth, "11-20", "12-20", "12-21"},
			{"NSW", earlyInPerth, "11-21", "12-21", "12-20"},
			{"WA", earlyInPerth, "11-21", "12-21", "12-20"},
		} {
			t.Run(string(language)+" "+tt.state+" "+tt.at.Format(time.TimeOnly), func(t *testing.T) {
				t.Parallel()
				h := harness.New(t)
				c := created(h, tt.at, language)
				c.WantPage(c.Get(""), http.StatusOK).Shows(day["12-21"]) // Sydney's
				c.AnswerAll()
				c.WantRedirect(c.Post(statement.PersonalDetailsSection, livingIn(tt.state)))
				c.WantPage(c.Get(""), http.StatusOK).Shows(day[tt.end]).Hides(day[tt.other])
				c.WantPage(c.Get(statement.DeclarationSection), http.StatusOK).Shows(born[language])
				c.WantRedirect(c.Sign())
				h.StorePDF(c.ID, harness.PDFOf(100))
				c.WantPage(c.Get(""), http.StatusOK).Shows(day[tt.signed], day[tt.end])
				c.WantPage(c.Get("copy"), http.StatusOK).Shows(day[tt.signed], born[language])
			})
		}
	}
}

// After the form has closed the device's clock counts; without script it is Sydney's.
func TestBrowserDaysOnTheDevicesClock(t *testing.T) {
	t.Parallel()
	h, base := harness.Listen(t)
	for _, tt := range []struct {
		zone, want string
		languages  []domain.Language
	}{{"Australia/Perth", "11-20", domain.Languages[:]}, {"Australia/Sydney", "11-21", domain.Languages[:1]}} {
		tab := browsertest.New(t, browsertest.Options{Zone: tt.zone, AllowStatus: []int{http.StatusGone}})
		for _, language := range tt.languages {
			c := created(h, lateInPerth, language)
			c.AnswerAll()
			c.WantRedirect(c.Sign())
			tab.Open(base + h.Link(c.ID))
			tab.WaitForText("time", days[language][tt.want])
		}
	}
}
