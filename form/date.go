package form

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// DateLayout is how a date stands in JSON.
const DateLayout = "2006-01-02"

// date is a calendar date, typed as day, month and year.
type date struct {
	p        *time.Time
	earliest time.Time
	latest   time.Time
	day      string // as typed
	month    string
	year     string
	problem  string
}

// PastDate describes a date between 1900 and today. Autocomplete is the
// stem of the three inputs' tokens, "bday".
func PastDate(p *time.Time, name, label string, today time.Time) Field {
	return Field{Name: name, Label: label, Kind: KindDate, Value: &date{p: p,
		earliest: time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC), latest: today}}
}

func (v *date) Parse(get func(string) string) {
	*v.p, v.problem = time.Time{}, ""
	v.day, _ = CleanText(get("day"), 100)
	v.month, _ = CleanText(get("month"), 100)
	v.year, _ = CleanText(get("year"), 100)
	if v.day == "" && v.month == "" && v.year == "" {
		return
	}
	if v.day == "" || v.month == "" || v.year == "" {
		v.problem = "must include a day, a month and a year"
		return
	}
	day, dayErr := strconv.Atoi(v.day)
	month, monthOK := parseMonth(v.month)
	year, yearErr := strconv.Atoi(v.year)
	if dayErr != nil || !monthOK || yearErr != nil || len(v.year) != 4 {
		v.problem = "must be a real date, like 27 3 1985"
		return
	}
	t := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	switch {
	case t.Day() != day || t.Month() != month:
		v.problem = "must be a real date, like 27 3 1985"
	case t.After(v.latest):
		v.problem = "must be in the past"
	case t.Before(v.earliest):
		v.problem = "must be in " + strconv.Itoa(v.earliest.Year()) + " or later"
	default:
		*v.p = t
	}
}

// parseMonth takes 1–12, or a month's name or its first three letters.
func parseMonth(s string) (time.Month, bool) {
	if n, err := strconv.Atoi(s); err == nil {
		return time.Month(n), n >= 1 && n <= 12
	}
	s = strings.ToLower(s)
	for m := time.January; m <= time.December; m++ {
		if name := strings.ToLower(m.String()); s == name || s == name[:3] {
			return m, true
		}
	}
	return 0, false
}

func (v *date) Input(part string) string {
	if v.p.IsZero() {
		return map[string]string{"day": v.day, "month": v.month, "year": v.year}[part]
	}
	switch part {
	case "day":
		return strconv.Itoa(v.p.Day())
	case "month":
		return strconv.Itoa(int(v.p.Month()))
	}
	return strconv.Itoa(v.p.Year())
}

func (v *date) Display() string {
	if v.p.IsZero() {
		return ""
	}
	return v.p.Format("2 January 2006")
}

func (v *date) Empty() bool     { return v.p.IsZero() && v.problem == "" }
func (v *date) Problem() string { return v.problem }
func (v *date) Schema() *Schema { return &Schema{Type: "string", Format: "date"} }

func (v *date) MarshalJSON() ([]byte, error) {
	if v.p.IsZero() {
		return []byte(`""`), nil
	}
	return json.Marshal(v.p.Format(DateLayout))
}

func (v *date) UnmarshalJSON(data []byte) error {
	var s string
	if err := json.Unmarshal(data, &s); err != nil || s == "" {
		return err
	}
	t, err := time.Parse(DateLayout, s)
	*v.p = t
	return err
}
