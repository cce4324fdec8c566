package statement_test

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"candor/internal/statement"
	"candor/internal/statement/statementtest"
)

// abroad is a statement of a customer in London.
func abroad() *statement.Statement {
	s := statementtest.Full()
	s.Personal.Address = statement.Address{Street: "1 High St", Suburb: "London", Postcode: "SW1A 1AA", Country: "GB"}
	s.Personal.Phone = "+44 20 7946 0958"
	return s
}

// personal decodes the answers of Full with some others.
func personal(now time.Time, others url.Values) (*statement.Statement, string) {
	values, s := statementtest.Values(statement.PersonalDetailsSection), new(statement.Statement)
	for name, typed := range others {
		values[name] = typed
	}
	var wrong []string
	for _, e := range s.Section(statement.PersonalDetailsSection, now).Decode(values) {
		wrong = append(wrong, e.Message)
	}
	return s, strings.Join(wrong, "; ")
}

// TestAbroad checks that a customer abroad has no state, any postcode and a country, and
// that an Australian gives no more than before (D82).
func TestAbroad(t *testing.T) {
	t.Parallel()
	now := statementtest.Now()
	for name, tt := range map[string]struct {
		typed url.Values
		want  statement.Address
		wrong string
	}{
		"a script that knows no country": {url.Values{"address.country": nil}, statement.Address{State: "NSW", Postcode: "2204",
			Country: "AU"}, ""},
		"a page as it starts": {url.Values{"address.country": {"preset"}, "address.state": {""}},
			statement.Address{State: "NSW", Postcode: "2204", Country: "AU"}, ""},
		"with a state that was chosen": {url.Values{"address.country": {"GB"}, "address.postcode": {"SW1A 1AA"},
			"phone": {"+442079460958"}}, statement.Address{Postcode: "SW1A 1AA", Country: "GB"}, ""},
		"without a postcode": {url.Values{"address.country": {"HK"}, "address.postcode": {""}, "phone": {"+85221234567"}},
			statement.Address{Country: "HK"}, ""},
		"digits that look like Australia": {url.Values{"address.country": {"NZ"}, "address.postcode": {"6011"}, "address.state": {""},
			"phone": {"+6444723000"}}, statement.Address{Postcode: "6011", Country: "NZ"}, ""},
		"abroad without saying so": {url.Values{"address.postcode": {"SW1A 1AA"}}, statement.Address{State: "NSW",
			Postcode: "SW1A 1AA", Country: "AU"}, "Postcode must be 4 digits. If you live abroad, choose your country"},
		"no country": {url.Values{"address.country": {"UK"}}, statement.Address{State: "NSW", Postcode: "2204",
			Country: "UK"}, "Country must be one of the options shown"},
		"a national number abroad": {url.Values{"address.country": {"DE"}, "phone": {"0412 345 678"}},
			statement.Address{Postcode: "2204", Country: "DE"},
			"Phone number must start with + and the code of its country, like +44 20 7946 0958"},
	} {
		s, wrong := personal(now, tt.typed)
		got := s.Personal.Address
		got.Street, got.Suburb = "", ""
		if got != tt.want || wrong != tt.wrong {
			t.Errorf("%s: %+v, %q; want %+v, %q", name, got, wrong, tt.want, tt.wrong)
		}
	}
	a := abroad().Personal.Address
	if _, known := a.Zone(); known {
		t.Error("the time zone of an address abroad is known")
	}
	for _, d := range abroad().Doubts(now) {
		if d.Code == "state_postcode" {
			t.Errorf("an address abroad: %v", d)
		}
	}
}

// TestCountryOfEarlierAnswers checks that answers from before D82 are in Australia.
func TestCountryOfEarlierAnswers(t *testing.T) {
	t.Parallel()
	s := new(statement.Statement)
	if err := s.Read(statement.PersonalDetailsSection,
		[]byte(`{"address":{"street":"1 High St","suburb":"Kew","state":"VIC","postcode":"3101"}}`)); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(s)
	if err != nil || !strings.Contains(string(data), `"postcode":"3101","country":"AU"`) {
		t.Errorf("the data of earlier answers: %.300s, %v", data, err)
	}
}

func TestCountries(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, o := range statement.Countries() {
		if len(o.Code) != 2 || o.Label == "" || seen[o.Code] || seen[o.Label] {
			t.Errorf("country %v", o)
		}
		seen[o.Code], seen[o.Label] = true, true
	}
	if n := len(statement.Countries()); n != 250 || statement.Countries()[0].Code != statement.Australia {
		t.Errorf("%d countries", n)
	}
	if !slices.Contains(statement.Countries(), statement.Countries()[0]) || !seen["VN"] || !seen["CN"] || !seen["XK"] {
		t.Error("countries are missing")
	}
}

// TestAge refuses a customer who is younger than 16 or older than 110 by the day where
// they live, and asks about those of 16 and 17 (D82).
func TestAge(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 14, 0, 0, 0, time.UTC) // already the 21st in Sydney, and not in Perth
	const young, old = "Date of birth must be at least 16 years ago. Check the year: younger people can’t use this form",
		"Date of birth must be at most 110 years ago. Check the year"
	for _, tt := range []struct {
		day, month, year int
		state            string
		wrong            string
		asked            bool
	}{
		{21, 11, 2010, "NSW", "", true}, {22, 11, 2010, "NSW", young, false}, {21, 11, 2010, "WA", young, false},
		{20, 11, 2010, "WA", "", true},
		{21, 11, 2008, "NSW", "", false}, {22, 11, 2008, "NSW", "", true}, {1, 1, 2020, "NSW", young, false},
		{22, 11, 1915, "NSW", "", true}, {21, 11, 1915, "NSW", old, false}, {1, 1, 1901, "NSW", old, false},
		{27, 3, 1985, "NSW", "", false},
	} {
		s, wrong := personal(now, url.Values{
			"date_of_birth.day": {strconv.Itoa(tt.day)}, "date_of_birth.month": {strconv.Itoa(tt.month)},
			"date_of_birth.year": {strconv.Itoa(tt.year)}, "address.state": {tt.state},
		})
		asked := wrong == "" && slices.ContainsFunc(s.Doubts(now), func(d statement.Doubt) bool { return d.Code == "age" })
		if wrong != tt.wrong || asked != tt.asked {
			t.Errorf("%d.%d.%d in %s: %q, asked %t; want %q, %t", tt.day, tt.month, tt.year, tt.state, wrong, asked, tt.wrong, tt.asked)
		}
	}
}
